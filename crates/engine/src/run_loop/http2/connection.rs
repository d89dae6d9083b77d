//! Connections that carry streams, and the places for streams on them.
//!
//! A carrier is an entry of the connections table with a socket and an HTTP/2 session. Each stream that may be open on it is
//! an entry of its own, a seat: it is free or active, is taken from the free ones of its origin and put back, and its
//! attempt starts, receives and ends as on a connection of HTTP/1. How many seats a carrier has, the plan and the peer
//! decide. What goes to and fro on the socket stands in `frames`.

use crate::http2::{FRAME_BYTES_MAX, Key, REQUESTS_MAX, Session};
use crate::network::{Network, Token};
use crate::owed::Owed;
use crate::plan::Plan;
use crate::run_loop::RunLoop;
use crate::run_loop::connections::transport::Transport;
use crate::run_loop::connections::{Connection, State};
use crate::run_loop::http2::encode;
use crate::run_loop::response::reader::Reader;
use crate::tls;
use http::Request;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};
use wire::response::RequestKind;
use wire::url::Scheme;

/// What a connection carries streams with.
#[derive(Debug)]
pub(in crate::run_loop) struct Carrier {
    pub session: Session,
    pub owed: Owed,
    /// Entries of its streams, free ones as well.
    pub seats: Vec<Token>,
    /// Seats with an attempt on them.
    pub active: usize,
    /// Takes no more requests; it is closed when the last of its streams is over.
    pub leaving: bool,
    pub requests: u64,
    pub answered: u64,
    /// Seats whose requests have not been handed to the kernel.
    pub unsent: Vec<Token>,
    /// When something came last.
    pub heard: Instant,
    /// Why it was lost, where frames do not tell.
    pub lost: Option<Lost>,
    /// Waits for its turn to send.
    pub queued: bool,
}

/// Why a carrier was lost.
#[derive(Debug)]
pub(in crate::run_loop) struct Lost {
    pub class: AttemptClass,
    pub cause: Option<Cause>,
    pub detail: String,
}

impl Carrier {
    fn new(session: Session, owed: Owed, now: Instant) -> Self {
        Self {
            session,
            owed,
            seats: Vec::new(),
            active: 0,
            leaving: false,
            requests: 0,
            answered: 0,
            unsent: Vec::new(),
            heard: now,
            lost: None,
            queued: false,
        }
    }
}

impl Carrier {
    /// Opens a stream for the attempt on that seat. Answers its key, and how many answers had come on the carrier before,
    /// and one: what is 1 for the first request of a connection.
    fn open(&mut self, seat: Token, request: Request<()>, body: bool) -> Option<(Key, u64)> {
        let key = self.session.open(seat, request, body)?;
        self.active += 1;
        self.requests += 1;
        self.unsent.push(seat);
        Some((key, self.answered + 1))
    }

    /// Says that no more requests come, as far as the kernel takes it. How many bytes went out.
    pub fn say_goodbye<N: Network>(&mut self, net: &mut N, transport: &mut Transport<N::Socket>) -> usize {
        self.session.say_goodbye();
        self.session.with_output(|output| transport.send(net, output)).map_or(0, |wire| wire.sent)
    }
}

/// What is known of HTTP/2 at an origin.
#[derive(Debug)]
pub(in crate::run_loop) struct Multiplex {
    /// Streams wanted on a connection.
    wanted: usize,
    /// Streams that one thread can have open at once on a connection.
    at_once: u32,
    /// Requests after which a connection takes no more.
    requests_max: u64,
    /// Streams that a new connection is expected to take.
    expected: usize,
    /// Whether the last connection that was opened carries streams, as far as is known.
    pub carries: bool,
    /// Connections that are on their way to take streams.
    making: usize,
}

impl Multiplex {
    pub fn new(plan: &Plan) -> Option<Self> {
        let http2 = plan.connections.http2.as_ref()?;
        let asked = plan.connections.requests_max.map_or(REQUESTS_MAX, |most| most.get().min(REQUESTS_MAX));
        let requests_max = if plan.http.keep_alive { asked } else { 1 };
        let wanted = requests_max.min(u64::from(http2.streams.get())) as usize;
        let slots = plan.load.in_flight_max().div_ceil(u64::from(plan.threads_used()));
        let at_once = slots.min(wanted as u64) as u32;
        Some(Self { wanted, at_once, requests_max, expected: wanted, carries: true, making: 0 })
    }

    /// Attempts that connections on their way will take, besides the one for which each is opened.
    pub fn coming(&self) -> usize {
        self.making * (self.expected - 1)
    }
}

impl<N: Network> RunLoop<'_, N> {
    pub(in crate::run_loop) fn carrier_mut(&mut self, token: Token) -> Option<&mut Carrier> {
        self.connections.get_mut(token)?.carrier.as_deref_mut()
    }

    /// A connection is being opened that may carry streams: those who come now wait for it.
    pub(in crate::run_loop) fn note_making(&mut self, token: Token) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        if let Some(http2) = &mut self.origins[connection.origin].http2 {
            connection.making = true;
            http2.making += 1;
        }
    }

    /// Nobody waits for that connection any more. `expected` is how many streams the next one will take, when that was learned.
    pub(in crate::run_loop) fn made(&mut self, token: Token, expected: Option<usize>) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let making = std::mem::take(&mut connection.making);
        if let Some(http2) = &mut self.origins[connection.origin].http2 {
            http2.making -= usize::from(making);
            http2.expected = expected.unwrap_or(http2.expected).clamp(1, http2.wanted);
            http2.carries |= expected.is_some_and(|expected| expected > 1);
        }
    }

    /// The server has chosen HTTP/1.1: who waits for a stream gets a connection.
    pub(in crate::run_loop) fn made_single(&mut self, token: Token) {
        self.made(token, Some(1));
        let Some(connection) = self.connections.get(token) else { return };
        if let Some(http2) = &mut self.origins[connection.origin].http2 {
            http2.carries = false;
        }
    }

    /// Whether a connection that is ready for requests takes them as HTTP/2: by ALPN inside TLS, else because the user knows
    /// it.
    pub(in crate::run_loop) fn speaks_http2(&self, token: Token) -> bool {
        let Some(connection) = self.connections.get(token) else { return false };
        let origin = &self.origins[connection.origin];
        origin.http2.is_some()
            && match connection.transport.tls() {
                Some(session) => session.agreed().alpn_protocol() == Some(b"h2"),
                None => origin.origin.scheme == Scheme::Http,
            }
    }

    /// A connection begins to carry streams, the first for the attempt that it was opened for.
    pub(in crate::run_loop) fn carry(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let slot = connection.slot;
        let streams = self.origins[connection.origin].http2.as_ref().map_or(1, |http2| http2.at_once);
        let Some(session) = Session::new(streams) else {
            let outcome = AttemptOutcome::failed(AttemptClass::Internal, Cause::Defect, Phase::Connect);
            return self.unreached(net, slot, outcome, now);
        };
        let record_bytes_max = if connection.transport.is_tls() { tls::RECORD_BYTES_MAX } else { 0 };
        let mut owed = Owed::new(FRAME_BYTES_MAX + record_bytes_max);
        owed.add(connection.transport.settle_all());
        connection.state = State::Carrying;
        connection.deadline = Instant::NEVER;
        connection.carrier = Some(Box::new(Carrier::new(session, owed, now)));
        if let Some(seat) = self.add_seat(token) {
            self.take_seat(seat, slot);
            self.send_request(net, seat, now);
        }
    }

    /// The attempt of `slot` goes out on that seat.
    fn take_seat(&mut self, seat: Token, slot: u32) {
        if let Some(connection) = self.connections.get_mut(seat) {
            connection.slot = slot;
        }
    }

    /// Makes one more place for a stream on a carrier.
    fn add_seat(&mut self, carrier: Token) -> Option<Token> {
        let connection = self.connections.get(carrier)?;
        let (origin, address) = (connection.origin, connection.address.clone());
        let (opened, connected) = (connection.opened, connection.connected);
        let seat = self.connections.reserve();
        let transport = Transport::Stream { carrier, key: None };
        let entry =
            Connection { state: State::Idle, connected, ..Connection::new(transport, origin, address, 0, opened) };
        self.connections.insert(seat, Connection { reader: Reader::http2(), ..entry });
        self.carrier_mut(carrier)?.seats.push(seat);
        Some(seat)
    }

    /// Makes as many seats as plan and peer allow. Before the peer has told there is one.
    pub(in crate::run_loop) fn add_seats(&mut self, token: Token) {
        let Some(connection) = self.connections.get(token) else { return };
        let (origin, making) = (connection.origin, connection.making);
        let Some(carrier) = connection.carrier.as_ref().filter(|carrier| !carrier.leaving) else { return };
        let Some(http2) = &self.origins[origin].http2 else { return };
        let allowed = carrier.session.streams_allowed().min(http2.wanted);
        let told = carrier.session.peer_has_told();
        for _ in carrier.seats.len()..allowed {
            let Some(seat) = self.add_seat(token) else { return };
            self.origins[origin].put_idle(seat, &self.connections);
        }
        if making && told {
            self.made(token, Some(allowed));
        }
    }

    /// Sends the slot's request on a stream of its own.
    pub(in crate::run_loop) fn open_stream(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get(token) else { return };
        let (slot, origin) = (connection.slot, connection.origin);
        let Some(carrier) = connection.transport.carrier() else { return };
        let mut upload = match self.compose(slot, origin, now) {
            Ok(upload) => upload,
            Err(error) => return self.unsendable(net, token, &error, now),
        };
        if let Some(upload) = &mut upload {
            upload.unframed();
        }
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        op.attempt.connection = Some(token);
        let head_only = self.plan.mix.requests()[op.request].method.as_ref() == "HEAD";
        let Some(request) = encode::of_head(self.origins[origin].origin.scheme, &self.scratch) else {
            let outcome = AttemptOutcome::failed(AttemptClass::Internal, Cause::Defect, Phase::Send);
            return self.cut(net, token, outcome, now);
        };
        let opened = self.carrier_mut(carrier).and_then(|it| it.open(token, request, upload.is_some()));
        let Some((key, place)) = opened else {
            // Nothing was sent: it is the same attempt that goes elsewhere.
            if let Some(op) = &mut self.slots[slot as usize].op {
                op.attempt.connection = None;
            }
            self.leave(net, carrier);
            return self.find_connection(net, slot, now);
        };
        let sends = upload.is_some();
        if let Some(connection) = self.connections.get_mut(token) {
            connection.transport.set_key(Some(key));
            connection.reader.start(if head_only { RequestKind::Head } else { RequestKind::Other });
            connection.state = State::Active;
            connection.requests = place;
            connection.upload = upload;
        }
        self.set_deadline(token, now + self.plan.timeouts.head);
        if sends {
            self.expect_progress(token, now);
        }
        self.queue(carrier);
        let requests = self.carrier_mut(carrier).map_or(0, |it| it.requests);
        if self.origins[origin].http2.as_ref().is_some_and(|http2| requests >= http2.requests_max) {
            self.leave(net, carrier);
        }
    }

    /// An attempt lets go of its seat. A stream that has not ended is cut off; its carrier is as good as before.
    pub(in crate::run_loop) fn free_seat(&mut self, net: &mut N, token: Token) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let Some(carrier) = connection.transport.carrier() else { return };
        let (origin, key) = (connection.origin, connection.transport.key());
        let was_active = connection.state == State::Active;
        connection.transport.set_key(None);
        connection.state = State::Idle;
        connection.deadline = Instant::NEVER;
        if key.is_some() {
            self.queue(carrier);
        }
        let Some(it) = self.carrier_mut(carrier) else { return };
        it.active -= usize::from(was_active);
        if let Some(key) = key {
            it.session.cancel(key);
        }
        if !it.leaving {
            return self.origins[origin].put_idle(token, &self.connections);
        }
        it.seats.retain(|seat| *seat != token);
        let last = it.active == 0;
        self.connections.remove(token);
        if last {
            self.close(net, carrier);
        }
    }

    /// A carrier takes no more requests: its free seats are gone, and it is closed when the others are.
    pub(in crate::run_loop) fn leave(&mut self, net: &mut N, token: Token) {
        let Some(carrier) = self.carrier_mut(token).filter(|carrier| !carrier.leaving) else { return };
        carrier.leaving = true;
        let (seats, active) = (std::mem::take(&mut carrier.seats), carrier.active);
        let mut left = Vec::new();
        for seat in seats {
            match self.connections.get_mut(seat) {
                Some(connection) if connection.state == State::Active => {
                    connection.closing = true;
                    left.push(seat);
                }
                _ => {
                    self.connections.remove(seat);
                }
            }
        }
        self.made(token, None);
        if let Some(carrier) = self.carrier_mut(token) {
            carrier.seats = left;
        }
        if active == 0 {
            self.close(net, token);
        }
    }

    /// A stream has timed out. When nothing at all came since its attempt began, its carrier is taken for dead.
    pub(in crate::run_loop) fn doubt(&mut self, net: &mut N, token: Token, begun: Instant) {
        let carrier = self.connections.get(token).and_then(|connection| connection.transport.carrier());
        if let Some(token) = carrier
            && self.carrier_mut(token).is_some_and(|carrier| carrier.heard < begun)
        {
            self.leave(net, token);
        }
    }

    /// Bytes that came for an attempt and are not counted yet, when it ends. On a carrier the last one gets them.
    pub(in crate::run_loop) fn settle_all(&mut self, token: Token) -> u64 {
        let Some(connection) = self.connections.get_mut(token) else { return 0 };
        match connection.transport.carrier() {
            None => connection.transport.settle_all(),
            Some(carrier) => {
                let carrier = self.carrier_mut(carrier).filter(|carrier| carrier.active == 1);
                carrier.map_or(0, |carrier| carrier.owed.settle_all())
            }
        }
    }

    /// What TLS agreed on for a connection, or for that of a stream.
    pub(in crate::run_loop) fn tls_of(&self, token: Token) -> Option<&tls::Session> {
        let connection = self.connections.get(token)?;
        let carrier = connection.transport.carrier().and_then(|carrier| self.connections.get(carrier));
        carrier.unwrap_or(connection).transport.tls()
    }
}
