//! Operations and attempts begin here: a slot takes an operation, a connection is found or opened, the request is sent.

use crate::network::{Address, Connecting, NameError, Network, Token};
use crate::plan::{Choice, Lot, Pick, RangeChoice, Spread, Subject};
use crate::random::{Stream, below};
use crate::run_loop::BURST;
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::end::After;
use crate::run_loop::attempt::redirect;
use crate::run_loop::connections::transport::Transport;
use crate::run_loop::connections::{Connection, Found, OriginState};
use crate::run_loop::http2::connection::Multiplex;
use crate::run_loop::operation::delete_batch::Message;
use crate::run_loop::operation::op::{Attempt, Body, Op, Pages, Slot};
use crate::run_loop::pacing::{Pacer, WARMUP_NUMBERS};
use crate::run_loop::response::checks;
use measure::sample::AttemptKind;
use measure::{AttemptClass, AttemptOutcome, Cause, Flag, Instant, Phase, Stage};
use std::io;
use std::time::Duration;
use wire::range::ByteRange;

/// How often a listener whose queue is full is tried again.
const KNOCK_EVERY: Duration = Duration::from_millis(1);

impl<N: Network> RunLoop<'_, N> {
    /// Serves the attempts that wait for a connection, then starts the operations that are due, a bounded number of them:
    /// who has waited comes before who arrives. Answers the present instant.
    #[inline]
    pub(in crate::run_loop) fn start_due(&mut self, net: &mut N, now: Instant) -> Instant {
        match &self.pacer {
            Pacer::Closed(closed) if closed.waiting.is_empty() && self.waiting == 0 && self.to_send.is_empty() => now,
            Pacer::Closed(_) => {
                self.serve_waiting(net, now);
                let now = self.start_waiting(net, now);
                self.send_queued(net, now);
                now
            }
            Pacer::Open(_) => {
                self.serve_waiting(net, now);
                let now = self.start_arrived(net, now);
                self.send_queued(net, now);
                now
            }
        }
    }

    /// Starting takes its time: from the second operation of a burst on, the clock is read anew, so that none is
    /// said to have started earlier than it did.
    #[inline]
    fn present(&mut self, net: &mut N, started: usize, now: Instant) -> Instant {
        if started == 0 {
            return now;
        }
        let now = net.now();
        self.turn(net, now);
        now
    }

    fn start_waiting(&mut self, net: &mut N, mut now: Instant) -> Instant {
        for started in 0..BURST {
            if matches!(&self.pacer, Pacer::Closed(closed) if closed.waiting.is_empty()) {
                return now;
            }
            now = self.present(net, started, now);
            let Pacer::Closed(closed) = &mut self.pacer else { return now };
            closed.exhausted |= self.control.is_spent();
            if closed.exhausted || now >= self.recorder.timeline().window_end() {
                self.recorder.exhausted(now);
                closed.waiting.clear();
                return now;
            }
            let Some((slot, since)) = closed.next(now) else { return now };
            // What became free in the warm-up and is taken in the window belongs to the warm-up, by its intended start.
            let measured = self.recorder.timeline().stage(since) == Stage::Measured;
            if measured && self.plan.stop.ops_per_slot.is_some_and(|most| self.slots[slot as usize].taken >= most.get())
            {
                closed.retire();
                continue;
            }
            let tickets = if measured { &mut closed.tickets } else { &mut closed.warmup_tickets };
            let Some(number) = tickets.next() else {
                closed.exhausted = true;
                self.recorder.exhausted(now);
                return now;
            };
            self.slots[slot as usize].taken += u64::from(measured);
            self.recorder.scheduled(since, 1);
            self.note_start(since, now);
            self.start_op(net, slot, number, (since, 0), now);
        }
        now
    }

    fn start_arrived(&mut self, net: &mut N, mut now: Instant) -> Instant {
        for started in 0..BURST {
            now = self.present(net, started, now);
            if self.control.is_spent() {
                return now;
            }
            let timeline = *self.recorder.timeline();
            let Pacer::Open(open) = &mut self.pacer else { return now };
            let Some(at) = open.next(&timeline).filter(|at| *at <= now && now < timeline.window_end()) else {
                open.starved = open.starved.filter(|_| open.free_slots.is_empty());
                return now;
            };
            let free = open.free_slots.pop().or_else(|| {
                (open.slots_made < open.slots_max).then(|| {
                    open.slots_made += 1;
                    self.slots.push(Slot { op: None, freed: Instant::ZERO, taken: 0 });
                    self.slots.len() as u32 - 1
                })
            });
            let Some(slot) = free else {
                open.starved.get_or_insert_with(|| self.control.stalls().total());
                return now;
            };
            // Waiting for a slot is the target's doing; all other delay is this client's.
            let starved = open.starved;
            let slot_wait = starved.map_or(0, |_| self.slots[slot as usize].freed.nanos_since(at));
            let number = open.take(at, &timeline);
            open.started(now);
            self.offer(now);
            self.note_start(at + Duration::from_nanos(slot_wait), now);
            self.start_op(net, slot, number, (at, slot_wait), now);
            if let (Some(stalls), Some(op)) = (starved.filter(|_| slot_wait > 0), &mut self.slots[slot as usize].op) {
                op.stalls_before = stalls;
            }
        }
        now
    }

    fn start_op(
        &mut self,
        net: &mut N,
        slot: u32,
        number: u64,
        (intended, slot_wait_nanos): (Instant, u64),
        now: Instant,
    ) {
        self.recorder.started(now, intended);
        self.in_flight += 1;
        let (request, subject, message) = self.choose(number);
        if let Subject::Fresh(made) = subject {
            match made.checked_sub(WARMUP_NUMBERS) {
                None => self.fresh_below = self.fresh_below.max(made + 1),
                Some(turn) => self.fresh_of_warmup = self.fresh_of_warmup.max(turn.saturating_add(1)),
            }
        }
        let origin = self.choose_origin(subject, number);
        let plan = &self.plan.mix.requests()[request];
        let reads = plan.is_safe() && plan.body.is_none();
        let size = if reads { self.plan.targets.size(subject) } else { None };
        let range = self.choose_range(plan.range, number, size);
        self.origins[origin].in_flight += 1;
        self.slots[slot as usize].op = Some(Op {
            number,
            request,
            subject,
            kind: plan.kind,
            range,
            size,
            intended,
            started: now,
            sent: None,
            sent_all: None,
            agreement_nanos: None,
            first_byte: None,
            slot_wait_nanos,
            handing_nanos: 0,
            stalls_before: self.control.stalls().total(),
            connect_nanos: None,
            handshake_nanos: None,
            origin,
            hop: None,
            hops: 0,
            chain: None,
            attempts: 0,
            received_before: 0,
            label: self.origins[origin].label,
            group: None,
            unasked: false,
            body: Body::Dropped,
            pages: Pages::default(),
            parts: None,
            message,
            part: None,
            attempt: Attempt::new(AttemptKind::First, now),
        });
        self.begin_attempt(net, slot, AttemptKind::First, now);
    }

    /// What operation `number` asks, of which object, and with which message where it needs one.
    #[inline]
    fn choose(&mut self, number: u64) -> (usize, Subject, Option<Box<Message>>) {
        let plan = self.plan;
        let request = plan.mix.choose(plan.seed, number);
        match plan.mix.requests()[request].pick {
            Pick::Target => {
                let count = plan.targets.count().max(1);
                let index = match plan.choice {
                    Choice::RoundRobin => number % count,
                    Choice::Random => below(plan.seed, Stream::Object, number, count),
                };
                (request, Subject::Target(index), None)
            }
            Pick::Fresh => (request, Subject::Fresh(number), None),
            Pick::Container => (request, Subject::Container, None),
            Pick::Spent { instead } => match self.made.pop_front() {
                Some(made) => (request, Subject::Fresh(made), None),
                None => (instead, Subject::Fresh(number), None),
            },
            Pick::Batch(batch) => match (self.message_of(batch, number), batch.of) {
                (None, Lot::Spent { instead }) => (instead, Subject::Fresh(number), None),
                (message, _) => (request, Subject::Container, message),
            },
        }
    }

    #[inline]
    fn choose_origin(&self, subject: Subject, number: u64) -> usize {
        let own = self.plan.targets.origin(subject).unwrap_or(0);
        let all = self.plan.targets.origins().len();
        match self.plan.connections.spread {
            Spread::Own => own,
            Spread::RoundRobin => (number % all.max(1) as u64) as usize,
            Spread::Random => below(self.plan.seed, Stream::Origin, number, all.max(1) as u64) as usize,
            Spread::LeastLoaded => {
                // Among equals each has its turn.
                let turn = (0..all).map(|step| (number as usize).wrapping_add(step) % all);
                turn.min_by_key(|origin| self.origins[*origin].in_flight).unwrap_or(own)
            }
        }
    }

    fn choose_range(&self, choice: Option<RangeChoice>, number: u64, size: Option<u64>) -> Option<ByteRange> {
        match choice? {
            RangeChoice::Fixed(range) => Some(range),
            RangeChoice::Random { length } => {
                let size = size.unwrap_or(length.get());
                let places = size.saturating_sub(length.get()) + 1;
                let first = below(self.plan.seed, Stream::Offset, number, places);
                ByteRange::of_length(first, length.get().min(size))
            }
        }
    }

    /// Makes an attempt for the slot's operation, on a kept connection when there is one.
    pub(in crate::run_loop) fn begin_attempt(&mut self, net: &mut N, slot: u32, kind: AttemptKind, now: Instant) {
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        op.attempts += 1;
        op.received_before += op.attempt.received_bytes;
        op.attempt = Attempt::new(kind, now);
        if kind == AttemptKind::Resend {
            op.attempt.flags.set(Flag::Resent);
        }
        self.find_connection(net, slot, now);
    }

    /// Finds a connection for the slot's attempt: a kept one, one that will be there soon, or a new one.
    pub(in crate::run_loop) fn find_connection(&mut self, net: &mut N, slot: u32, now: Instant) {
        let Some(op) = &self.slots[slot as usize].op else { return };
        let origin = op.attempt_origin();
        // A resend goes out on a new connection: other kept ones are likely to be as stale as the first. Those of HTTP/2
        // are few, and say when they close.
        let carries = self.origins[origin].http2.as_ref().is_some_and(|http2| http2.carries);
        let anew = op.attempt.kind == AttemptKind::Resend && !carries;
        let kept = if anew { None } else { self.origins[origin].take_idle(&self.connections) };
        match kept {
            Some(token) => self.use_kept(net, token, slot, now),
            None if self.origins[origin].seat_is_coming() || (!anew && self.must_wait(origin, now)) => {
                self.origins[origin].waiting.push_back(slot);
                self.waiting += 1;
            }
            None => self.open(net, slot, now),
        }
    }

    fn use_kept(&mut self, net: &mut N, token: Token, slot: u32, now: Instant) {
        if let Some(connection) = self.connections.get_mut(token) {
            connection.slot = slot;
        }
        if self.is_lured(slot, token) {
            self.let_go(net, token, After::Keep);
            self.deny(net, slot, now);
        } else {
            self.send_request(net, token, now);
        }
    }

    /// Whether an attempt of the open model has to wait for a connection. In the closed model every slot opens its own,
    /// since as many connections are wanted as there are slots.
    fn must_wait(&mut self, origin: usize, now: Instant) -> bool {
        matches!(self.pacer, Pacer::Open(_)) && (!self.origins[origin].waiting.is_empty() || !self.openings.take(now))
    }

    /// Gives free connections, and leave to open new ones, to the attempts that wait for one.
    #[inline]
    fn serve_waiting(&mut self, net: &mut N, now: Instant) {
        if self.waiting == 0 {
            return;
        }
        self.openings.forget();
        for origin in 0..self.origins.len() {
            if self.waiting == 0 {
                return;
            }
            while self.serve_first(net, origin, now) {}
        }
    }

    /// Serves the attempt that has waited for longest; `false` when there is none, or nothing for it.
    fn serve_first(&mut self, net: &mut N, origin: usize, now: Instant) -> bool {
        let state = &mut self.origins[origin];
        let Some(slot) = state.waiting.front().copied() else { return false };
        let Some(op) = &self.slots[slot as usize].op else { return false };
        let timed_out = now.since(op.attempt.started) >= self.plan.timeouts.connect;
        let kept = state.take_idle(&self.connections);
        if kept.is_none() && !timed_out && !self.may_open(origin, now) {
            return false;
        }
        self.origins[origin].waiting.pop_front();
        self.waiting -= 1;
        match kept {
            Some(token) => self.use_kept(net, token, slot, now),
            None if timed_out => {
                let (class, cause) = (AttemptClass::ConnectTimeout, Cause::ConnectTimedOut);
                self.unreached(net, slot, AttemptOutcome::failed(class, cause, Phase::Connect), now);
            }
            None => self.open(net, slot, now),
        }
        true
    }

    /// Whether a connection may be opened for the first of those that wait.
    fn may_open(&mut self, origin: usize, now: Instant) -> bool {
        let state = &self.origins[origin];
        let coming = state.http2.as_ref().map_or(0, Multiplex::coming);
        coming < state.waiting.len() && (matches!(self.pacer, Pacer::Closed(_)) || self.openings.take(now))
    }

    /// Opens a connection for the slot's attempt.
    fn open(&mut self, net: &mut N, slot: u32, now: Instant) {
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        let origin = op.attempt_origin();
        if op.attempt.addresses_tried == 0 {
            op.attempt.first_address = self.origins[origin].rotate();
        }
        let place = op.attempt.first_address.wrapping_add(op.attempt.addresses_tried);
        let address = match self.origins[origin].address(net, place, now) {
            Found::Address(address) => address,
            Found::Pending => {
                self.resolving.push(slot);
                return;
            }
            Found::Failed(error) => {
                let cause = match error {
                    NameError::NotFound => Cause::NameNotFound,
                    NameError::NoAnswer => Cause::ResolverFailed,
                };
                self.unreached(net, slot, AttemptOutcome::failed(AttemptClass::Dns, cause, Phase::Resolve), now);
                return;
            }
        };
        op.attempt.addresses_tried += 1;
        if op.hop.as_ref().is_some_and(|hop| redirect::is_trap(hop, &address)) {
            self.note_detail(address.to_string().as_bytes());
            self.deny(net, slot, now);
            return;
        }
        if matches!(address, Address::Unix(_)) && !self.knocking.is_empty() {
            return self.wait_for_room(slot, now);
        }
        self.make_room(net);
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        let token = self.connections.reserve();
        match net.connect(token, &address) {
            Ok((socket, connecting)) => {
                op.attempt.connection = Some(token);
                let opened = op.attempt.knocked.take().unwrap_or(now);
                let connection = Connection::new(Transport::plain(socket), origin, address, slot, opened);
                self.connections.insert(token, connection);
                self.note_making(token);
                self.set_deadline(token, opened + self.plan.timeouts.connect);
                if connecting == Connecting::Done {
                    self.established(net, token, now);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && matches!(address, Address::Unix(_)) => {
                self.next_knock = now + KNOCK_EVERY;
                self.wait_for_room(slot, now);
            }
            Err(error) => self.connect_failed(net, slot, &error, now),
        }
    }

    /// The queue of a unix socket is full: the slot's attempt waits until it is tried again.
    fn wait_for_room(&mut self, slot: u32, now: Instant) {
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        op.attempt.addresses_tried -= 1;
        op.attempt.knocked.get_or_insert(now);
        self.knocking.push(slot);
    }

    /// Tries the unix sockets again whose queue of connections was full, for as long as opening a connection may take.
    pub(in crate::run_loop) fn knock_again(&mut self, net: &mut N, now: Instant) {
        if self.knocking.is_empty() || now < self.next_knock {
            return;
        }
        let mut full = false;
        for slot in std::mem::take(&mut self.knocking) {
            let Some(op) = &self.slots[slot as usize].op else { continue };
            let since = op.attempt.knocked.unwrap_or(now);
            if now.since(since) >= self.plan.timeouts.connect {
                let (class, cause) = (AttemptClass::ConnectTimeout, Cause::ConnectTimedOut);
                self.unreached(net, slot, AttemptOutcome::failed(class, cause, Phase::Connect), now);
            } else if full {
                self.knocking.push(slot);
            } else {
                self.open(net, slot, now);
                full = self.knocking.last() == Some(&slot);
            }
        }
        self.next_knock = now + KNOCK_EVERY;
    }

    /// Closes a free connection when so many are open that a new one could find no descriptor: the one that has been free
    /// for longest at the origin with the most of them.
    fn make_room(&mut self, net: &mut N) {
        while self.connections.sockets() >= self.plan.connections.open_max {
            let fullest = self.origins.iter_mut().max_by_key(|origin| origin.idle_count());
            let Some(token) = fullest.and_then(OriginState::take_stalest) else { return };
            match self.connections.get(token).and_then(|connection| connection.transport.carrier()) {
                Some(carrier) => self.leave(net, carrier),
                None => self.close(net, token),
            }
        }
    }

    /// Asks again for the names that attempts wait for.
    pub(in crate::run_loop) fn retry_names(&mut self, net: &mut N, now: Instant) {
        for slot in std::mem::take(&mut self.resolving) {
            let Some(op) = &self.slots[slot as usize].op else { continue };
            let most =
                self.plan.timeouts.total.map_or(self.plan.timeouts.connect, |it| it.min(self.plan.timeouts.connect));
            if now.since(op.attempt.started) >= most {
                let outcome = AttemptOutcome::failed(AttemptClass::Dns, Cause::ResolverFailed, Phase::Resolve);
                self.unreached(net, slot, outcome, now);
            } else if self.origins[op.attempt_origin()].seat_is_coming() {
                self.find_connection(net, slot, now);
            } else {
                self.open(net, slot, now);
            }
        }
    }

    /// A connection that was being opened is established or has failed.
    pub(in crate::run_loop) fn opened(&mut self, net: &mut N, token: Token) -> Instant {
        let now = net.now();
        self.turn(net, now);
        let Some(connection) = self.connections.get_mut(token) else { return now };
        match connection.transport.connected(net) {
            Ok(()) => self.established(net, token, now),
            Err(error) => {
                let slot = connection.slot;
                self.close(net, token);
                self.connect_failed(net, slot, &error, now);
            }
        }
        now
    }

    fn established(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let nanos = now.nanos_since(connection.opened);
        connection.connected = now;
        if let Some(op) = &mut self.slots[connection.slot as usize].op {
            op.connect_nanos = Some(op.connect_nanos.unwrap_or(0) + nanos);
        }
        self.speak(net, token, now);
    }

    /// A connection is ready for its first request.
    pub(in crate::run_loop) fn reached(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get(token) else { return };
        let host = self.origins[connection.origin].label;
        self.recorder.connected(connection.connected.nanos_since(connection.opened), host);
        if let Some(op) = &mut self.slots[connection.slot as usize].op {
            op.attempt.opened = true;
        }
        self.connect_failures_in_a_row = 0;
        self.control.note_reached();
        if self.speaks_http2(token) {
            return self.carry(net, token, now);
        }
        self.made_single(token);
        self.send_request(net, token, now);
    }

    /// A connection could not be opened: the next address of the host is tried, if there is one.
    pub(in crate::run_loop) fn connect_failed(&mut self, net: &mut N, slot: u32, error: &io::Error, now: Instant) {
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        op.attempt.connection = None;
        let outcome = checks::of_connect_error(error);
        let own_fault = outcome.class == AttemptClass::ClientResource;
        if !own_fault && op.attempt.addresses_tried < self.origins[op.attempt_origin()].address_count() {
            op.attempt.flags.set(Flag::Failover);
            self.recorder.connect_failed();
            self.open(net, slot, now);
        } else {
            self.unreached(net, slot, outcome, now);
        }
    }

    /// An attempt ends without having got a connection.
    pub(in crate::run_loop) fn unreached(&mut self, net: &mut N, slot: u32, outcome: AttemptOutcome, now: Instant) {
        self.recorder.connect_failed();
        self.connect_failures_in_a_row = self.connect_failures_in_a_row.saturating_add(1);
        self.control.note_unreached(now, outcome);
        self.end_attempt(net, slot, outcome, After::Close, now);
    }
}
