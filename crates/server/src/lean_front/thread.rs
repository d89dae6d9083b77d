//! The event loop of one thread. The loop waits for sockets and timers, and then continues the connections that waited
//! for them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use sys::poll::Timer;
use sys::{Events, Interest, Poller, Ready, Socket, Waker};

use super::connection::{Connection, Next};
use super::connection_table::{ConnectionTable, Token};
use super::context::ThreadContext;
use super::head::HeadWriter;
use super::owner_fetch::OwnerConnections;
use crate::ledger::counters::Counters;
use crate::shared::Shared;

/// Maximum number of events read from the kernel at once.
const EVENTS: usize = 256;
/// The size of the buffer for received requests.
const BUFFER_BYTES: usize = 64 * 1024;
/// Maximum number of connections that are accepted before open connections get their turn.
const ACCEPTS_MAX: usize = 64;
/// The interval at which time limits are checked. After file descriptors ran out, accepting resumes at the next check.
const SWEEP: Duration = Duration::from_millis(100);
/// The first token of a listener. Tokens of connections are smaller.
const LISTENERS: u64 = 1 << 63;
/// The bit in a token that is set for the upstream socket of a connection.
const UPSTREAM: u64 = 1 << 62;
const WAKER: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
/// The timer's duration when there is nothing to wait for.
const FAR: Duration = Duration::from_secs(3600);

/// The kind of readiness of a connection's socket that the thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    Nothing,
    Read,
    Write,
}

struct Entry {
    connection: Connection,
    watch: Watch,
    /// Time at which the connection continues; `None` if it waits for no timer.
    wakes: Option<Duration>,
}

/// One thread of a server.
pub(super) struct Thread {
    context: ThreadContext,
    poller: Poller,
    waker: Arc<Waker>,
    /// A timer that wakes the thread. It costs less CPU time than a timeout for each wait, because it is rarely set.
    timer: Timer,
    /// The time to which the timer is set; `None` after it has expired.
    armed: Option<Duration>,
    listeners: Vec<Arc<Socket>>,
    /// `true` if accepting is paused until the next sweep, because file descriptors ran out.
    listeners_paused: bool,
    table: ConnectionTable<Entry>,
    timers: BinaryHeap<Reverse<(Duration, Token)>>,
    next_sweep: Duration,
    /// End of the drain; set when the server stops.
    drains_until: Option<Duration>,
}

impl Thread {
    pub(super) fn new(
        shared: Arc<Shared>,
        counters: Arc<Counters>,
        waker: Arc<Waker>,
        listeners: Vec<Arc<Socket>>,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.add(&*waker, WAKER, Interest::Read)?;
        let timer = Timer::new()?;
        poller.add(&timer, TIMER, Interest::Read)?;
        for (index, listener) in (0..).zip(&listeners) {
            poller.add(&**listener, LISTENERS + index, Interest::Read)?;
        }
        let now = sys::clock::monotonic();
        let http10_style = shared.stand_in.http10_style();
        let context = ThreadContext {
            shared,
            counters,
            heads: HeadWriter::new(http10_style),
            now,
            buffer: vec![0; BUFFER_BYTES],
            scratch: Vec::new(),
            owner_connections: OwnerConnections::default(),
        };
        Ok(Self {
            context,
            poller,
            waker,
            timer,
            armed: None,
            listeners,
            listeners_paused: false,
            table: ConnectionTable::new(),
            timers: BinaryHeap::new(),
            next_sweep: now + SWEEP,
            drains_until: None,
        })
    }

    /// Serves until the server stops and either responses in flight have finished or the drain is over.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        while !self.is_over() {
            self.context.counters.settle();
            if self.arm().and_then(|()| self.poller.wait(&mut events, None)).is_err() {
                break;
            }
            self.context.now = sys::clock::monotonic();
            for ready in events.iter() {
                self.sleep_through_stall();
                self.handle(ready);
            }
            self.sleep_through_stall();
            self.fire_timers();
            if self.context.now >= self.next_sweep {
                self.sweep();
            }
            if self.context.shared.is_stopping() && self.drains_until.is_none() {
                self.begin_to_stop();
            }
        }
        for token in self.table.tokens() {
            self.close(token);
        }
        self.context.counters.settle();
    }

    fn is_over(&self) -> bool {
        self.drains_until.is_some_and(|until| self.table.is_empty() || self.context.now >= until)
    }

    /// Sets the timer to the earliest time that a connection waits for. If no connection waits for a time, the timer
    /// does not change.
    fn arm(&mut self) -> io::Result<()> {
        let sweep = (!self.table.is_empty() || self.listeners_paused).then_some(self.next_sweep);
        let timer = self.timers.peek().map(|Reverse((instant, _))| *instant);
        let next = [sweep, timer, self.drains_until].into_iter().flatten().min();
        let next = next.or(self.armed).unwrap_or(self.context.now + FAR);
        if self.armed != Some(next) {
            self.timer.set(next.saturating_sub(sys::clock::monotonic()))?;
            self.armed = Some(next);
        }
        Ok(())
    }

    /// Sleeps through a stall.
    fn sleep_through_stall(&mut self) {
        if let Some(now) = self.context.shared.sleep_through_stall() {
            self.context.now = now;
        }
    }

    fn handle(&mut self, ready: Ready) {
        match ready.token {
            // The result does not matter, because the thread is awake.
            WAKER => drop(self.waker.drain()),
            TIMER => self.armed = None,
            token if token >= LISTENERS => self.accept((token - LISTENERS) as usize),
            token if token & UPSTREAM != 0 => self.upstream_ready(Token(token & !UPSTREAM)),
            token => {
                let token = Token(token);
                // An earlier event of the same batch may have closed the connection.
                let Some(entry) = self.table.get_mut(token) else { return };
                let next = match entry.watch {
                    Watch::Write => entry.connection.proceed(&mut self.context),
                    Watch::Read | Watch::Nothing => entry.connection.readable(&mut self.context),
                };
                self.register(token, next);
            }
        }
    }

    /// Continues a connection whose upstream socket is ready. The upstream socket is watched for only one event at a
    /// time.
    fn upstream_ready(&mut self, token: Token) {
        // An earlier event of the same batch may have closed the connection.
        let Some(entry) = self.table.get_mut(token) else { return };
        if let Some(socket) = entry.connection.upstream() {
            // This fails only for a socket that is not watched.
            let _ = self.poller.remove(socket);
        }
        let next = entry.connection.proceed(&mut self.context);
        self.register(token, next);
    }

    fn accept(&mut self, index: usize) {
        for _ in 0..ACCEPTS_MAX {
            // After the server stops, there are no listeners.
            let Some(listener) = self.listeners.get(index) else { return };
            match listener.accept() {
                Ok((socket, _)) => self.admit(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The client left before we accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => return self.pause_listeners(),
            }
        }
    }

    fn admit(&mut self, socket: Socket) {
        if !self.context.shared.enter() {
            self.context.counters.connections_refused.add(1);
            return;
        }
        self.context.counters.connections_accepted.add(1);
        let connection = Connection::new(socket, self.context.now);
        let token = self.table.insert(Entry { connection, watch: Watch::Read, wakes: None });
        let Some(entry) = self.table.get_mut(token) else {
            debug_assert!(false, "an entry that was just inserted is missing");
            return;
        };
        if self.poller.add(&entry.connection.socket, token.0, Interest::Read).is_err() {
            self.close(token);
        }
    }

    /// Pauses accepting, because there is no file descriptor for another connection. Without the pause, the same event
    /// would occur again immediately, and the thread would spin.
    fn pause_listeners(&mut self) {
        for listener in &self.listeners {
            // This fails only for a socket that is not watched.
            let _ = self.poller.remove(&**listener);
        }
        self.listeners_paused = true;
    }

    /// Makes the thread wait for the event that the connection needs next.
    fn register(&mut self, token: Token, next: Next) {
        let Some(entry) = self.table.get_mut(token) else {
            debug_assert!(false, "a connection that is to be registered is missing");
            return;
        };
        let wanted = match next {
            Next::Close => return self.close(token),
            Next::Write => Watch::Write,
            Next::Read => Watch::Read,
            Next::Later(_) | Next::Upstream(_) | Next::Same => {
                if entry.connection.has_room() {
                    Watch::Read
                } else {
                    Watch::Nothing
                }
            }
        };
        match next {
            Next::Later(instant) => {
                entry.wakes = Some(instant);
                self.timers.push(Reverse((instant, token)));
            }
            Next::Upstream(interest) => {
                entry.wakes = None;
                let socket = entry.connection.upstream();
                if socket.is_none_or(|socket| self.poller.add(socket, token.0 | UPSTREAM, interest).is_err()) {
                    return self.close(token);
                }
            }
            Next::Same => {}
            Next::Read | Next::Write | Next::Close => entry.wakes = None,
        }
        if entry.watch == wanted {
            return;
        }
        let socket = &entry.connection.socket;
        let done = match (entry.watch, wanted) {
            (_, Watch::Nothing) => self.poller.remove(socket),
            (Watch::Nothing, Watch::Read) => self.poller.add(socket, token.0, Interest::Read),
            (Watch::Nothing, Watch::Write) => self.poller.add(socket, token.0, Interest::Write),
            (_, Watch::Read) => self.poller.modify(socket, token.0, Interest::Read),
            (_, Watch::Write) => self.poller.modify(socket, token.0, Interest::Write),
        };
        entry.watch = wanted;
        if done.is_err() {
            self.close(token);
        }
    }

    fn fire_timers(&mut self) {
        while let Some(Reverse((instant, token))) = self.timers.peek().copied() {
            if instant > self.context.now {
                return;
            }
            self.timers.pop();
            // By now, the connection may be closed or may wait for something else.
            let Some(entry) = self.table.get_mut(token).filter(|entry| entry.wakes == Some(instant)) else { continue };
            entry.wakes = None;
            let next = entry.connection.proceed(&mut self.context);
            self.register(token, next);
        }
    }

    /// Closes connections that exceed a time limit, and resumes accepting.
    fn sweep(&mut self) {
        self.next_sweep = self.context.now + SWEEP;
        if mem::take(&mut self.listeners_paused) {
            for (index, listener) in (0..).zip(&self.listeners) {
                self.listeners_paused |= self.poller.add(&**listener, LISTENERS + index, Interest::Read).is_err();
            }
        }
        for token in self.table.tokens() {
            let overdue = |entry: &mut Entry| entry.connection.is_overdue(&self.context.shared, self.context.now);
            if self.table.get_mut(token).is_some_and(overdue) {
                self.close(token);
            }
        }
    }

    fn begin_to_stop(&mut self) {
        self.drains_until = Some(self.context.now + self.context.shared.limits.drain);
        self.pause_listeners();
        self.listeners_paused = false;
        self.listeners.clear();
        for token in self.table.tokens() {
            if self.table.get_mut(token).is_some_and(|entry| entry.connection.is_idle()) {
                self.close(token);
            }
        }
    }

    fn close(&mut self, token: Token) {
        if let Some(mut entry) = self.table.remove(token) {
            entry.connection.abandon(&self.context);
            self.context.shared.leave();
        }
    }
}
