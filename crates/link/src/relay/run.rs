//! The thread of a relay, which runs one loop over all connections, with edge-triggered events.

use super::connection::{Connection, Key, Pipe};
use super::lane::Lane;
use super::{CONNECTIONS_MAX, Counters};
use crate::spec::Direction;
use measure::time::{Clock, Instant, MonotonicClock};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use sys::{Events, Interest, Poller, Ready, Socket, Waker, clock};

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
/// Maximum wait of an idle loop.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// Wait of the loop while connections have bytes to read but the bottleneck is busy.
const WAIT_FOR_SPACE: Duration = Duration::from_micros(200);
/// Maximum number of connections that are accepted before other work is done.
const ACCEPT_BATCH: usize = 64;
/// Maximum number of reads per direction before other work is done.
const READ_BATCH: usize = 64;

/// The sides of a connection. The lowest bit of a token identifies the side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Target,
}

/// A task that is due for a connection at a certain instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// Start to read from the client.
    Open,
    /// Pass on bytes from the target to the client.
    PassDown,
    /// Pass on bytes from the client to the target.
    PassUp,
}

pub(super) struct State {
    listener: Socket,
    target: SocketAddr,
    lanes: [Lane; 2],
    round_trip: Duration,
    clock: MonotonicClock,
    counters: Arc<Counters>,
    poller: Poller,
    places: Vec<Option<Connection>>,
    free: Vec<u32>,
    generation: u32,
    tasks: BinaryHeap<Reverse<(Instant, Key, Task)>>,
    /// `true` if clients may be waiting to be accepted, because the maximum number of connections was reached.
    clients_wait: bool,
}

impl State {
    pub fn new(
        listener: Socket,
        target: SocketAddr,
        lanes: [Lane; 2],
        round_trip: Duration,
        clock: MonotonicClock,
        counters: Arc<Counters>,
        stop: &Waker,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.add_edges(&listener, LISTENER)?;
        poller.add(stop, STOP, Interest::Read)?;
        Ok(Self {
            listener,
            target,
            lanes,
            round_trip,
            clock,
            counters,
            poller,
            places: Vec::new(),
            free: Vec::new(),
            generation: 0,
            tasks: BinaryHeap::new(),
            clients_wait: false,
        })
    }

    pub fn run(mut self) {
        let _ = clock::set_timer_slack(Duration::from_nanos(1));
        let mut events = Events::with_capacity(256);
        // The poller fails only if its descriptor is invalid. In this case, the loop can only stop.
        while self.poller.wait(&mut events, Some(self.wait())).is_ok() {
            for ready in events.iter() {
                match ready.token {
                    STOP => return,
                    LISTENER => self.clients_wait = true,
                    _ => self.note(ready),
                }
            }
            self.accept();
            self.do_tasks();
            for direction in [Direction::Down, Direction::Up] {
                self.take_turns(direction);
            }
        }
    }

    /// Returns how long the loop may wait for events.
    fn wait(&self) -> Duration {
        let now = self.clock.now();
        let until_task = self.tasks.peek().map_or(WAIT_MAX, |Reverse((at, ..))| at.since(now));
        let turns: Vec<&Lane> = self.lanes.iter().filter(|lane| !lane.turns.is_empty()).collect();
        let until_turn = match turns.iter().any(|lane| lane.has_space(now)) {
            true => Duration::ZERO,
            false if turns.is_empty() => WAIT_MAX,
            false => WAIT_FOR_SPACE,
        };
        let has_clients = self.clients_wait && self.has_place();
        if has_clients { Duration::ZERO } else { until_task.min(until_turn).min(WAIT_MAX) }
    }

    fn has_place(&self) -> bool {
        self.places.len() - self.free.len() < CONNECTIONS_MAX
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPT_BATCH {
            if !self.clients_wait || !self.has_place() {
                return;
            }
            match self.listener.accept() {
                Ok((client, _)) => {
                    self.counters.add(0, 1);
                    if self.open(client).is_err() {
                        self.counters.add(1, 1);
                    }
                }
                // If no descriptor is left, the client waits until a connection ends.
                Err(_) => self.clients_wait = false,
            }
        }
    }

    /// Connects to the target for a client. If this fails, the client's connection is reset.
    fn open(&mut self, client: Socket) -> io::Result<()> {
        client.set_nodelay(true)?;
        let (target, _) = Socket::connect_tcp(self.target, None).inspect_err(|_| {
            let _ = client.reset_on_close();
        })?;
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            (self.places.len() - 1) as u32
        });
        self.generation = self.generation.wrapping_add(1);
        let key = Key { place, generation: self.generation };
        let opens_at = self.clock.now() + self.round_trip;
        let watched = self
            .poller
            .add_edges(&client, token(key, Side::Client))
            .and_then(|()| self.poller.add_edges(&target, token(key, Side::Target)));
        let (down, up) = (Pipe::default(), Pipe::default());
        self.places[place as usize] =
            Some(Connection { generation: key.generation, client, target, connected: false, opens_at, down, up });
        self.tasks.push(Reverse((opens_at, key, Task::Open)));
        watched.inspect_err(|_| self.close(key))
    }

    /// Records the readiness that an event reports for a connection.
    fn note(&mut self, ready: Ready) {
        let place = (ready.token >> 1) as usize;
        let side = if ready.token & 1 == 0 { Side::Client } else { Side::Target };
        let Some(connection) = self.places.get_mut(place).and_then(Option::as_mut) else { return };
        let key = Key { place: place as u32, generation: connection.generation };
        let (reads, writes) = match side {
            Side::Client => (&mut connection.up, &mut connection.down),
            Side::Target => (&mut connection.down, &mut connection.up),
        };
        reads.readable |= ready.readable || ready.closing;
        writes.writable |= ready.writable;
        if side == Side::Target && !connection.connected && (ready.writable || ready.error) {
            if !matches!(connection.target.take_error(), Ok(None)) {
                self.fail(key);
                return;
            }
            connection.connected = true;
        }
        let written = if side == Side::Client { Direction::Down } else { Direction::Up };
        self.pass_on(key, written);
        self.queue_turns(key);
    }

    /// Adds each direction of a connection that has bytes to read to the queue of its lane.
    fn queue_turns(&mut self, key: Key) {
        let now = self.clock.now();
        let Some(connection) = find(&mut self.places, key) else { return };
        let is_open = connection.connected && now >= connection.opens_at;
        for (lane, pipe, may_read) in
            [(0, &mut connection.down, connection.connected), (1, &mut connection.up, is_open)]
        {
            if may_read && pipe.wants_turn() {
                pipe.has_turn = true;
                self.lanes[lane].turns.push_back(key);
            }
        }
    }

    fn do_tasks(&mut self) {
        let now = self.clock.now();
        while self.tasks.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((_, key, task))) = self.tasks.pop() else { return };
            match task {
                Task::Open => {}
                Task::PassDown => self.pass_on(key, Direction::Down),
                Task::PassUp => self.pass_on(key, Direction::Up),
            }
            self.queue_turns(key);
        }
    }

    /// Lets the connections of a direction read in turn, as long as the lane has space.
    fn take_turns(&mut self, direction: Direction) {
        for _ in 0..READ_BATCH {
            let now = self.clock.now();
            let lane = &mut self.lanes[direction as usize];
            if !lane.has_space(now) {
                return;
            }
            let Some(key) = lane.turns.pop_front() else { return };
            let Some(connection) = find(&mut self.places, key) else { continue };
            let (source, pipe, task) = match direction {
                Direction::Down => (&connection.target, &mut connection.down, Task::PassDown),
                Direction::Up => (&connection.client, &mut connection.up, Task::PassUp),
            };
            pipe.has_turn = false;
            let mut bytes = vec![0; lane.chunk_bytes];
            match source.recv(&mut bytes) {
                Ok(count) => {
                    bytes.truncate(count);
                    bytes.shrink_to_fit();
                    let due = lane.carry(now, count);
                    pipe.store(bytes, due);
                    self.tasks.push(Reverse((due, key, task)));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => pipe.readable = false,
                Err(_) => {
                    self.fail(key);
                    continue;
                }
            }
            self.queue_turns(key);
        }
    }

    /// Passes on the bytes of a direction that are due, and closes the connection when both directions have ended.
    fn pass_on(&mut self, key: Key, direction: Direction) {
        let now = self.clock.now();
        let Some(connection) = find(&mut self.places, key) else { return };
        let (to, pipe) = match direction {
            Direction::Down => (&connection.client, &mut connection.down),
            Direction::Up => (&connection.target, &mut connection.up),
        };
        let Ok(passed) = pipe.pass_on(now, to) else {
            self.fail(key);
            return;
        };
        let is_over = connection.down.closed && connection.up.closed;
        let lane = &mut self.lanes[direction as usize];
        lane.stored_bytes = lane.stored_bytes.saturating_sub(passed as u64);
        self.counters.bytes(direction, passed as u64);
        if is_over {
            self.close(key);
        }
    }

    /// Resets both sides of a connection.
    fn fail(&mut self, key: Key) {
        self.counters.add(1, 1);
        if let Some(connection) = find(&mut self.places, key) {
            let _ = connection.client.reset_on_close();
            let _ = connection.target.reset_on_close();
        }
        self.close(key);
    }

    /// Closes both sockets. The kernel still sends the bytes that it has accepted.
    fn close(&mut self, key: Key) {
        let place = key.place as usize;
        let Some(connection) = self.places[place].take() else { return };
        for (lane, pipe) in self.lanes.iter_mut().zip([&connection.down, &connection.up]) {
            lane.stored_bytes = lane.stored_bytes.saturating_sub(pipe.stored_bytes() as u64);
        }
        self.free.push(key.place);
        // Clients may be waiting for the file descriptors that are now free.
        self.clients_wait = true;
    }
}

/// Returns the connection with this key, unless it has ended.
fn find(places: &mut [Option<Connection>], key: Key) -> Option<&mut Connection> {
    let connection = places.get_mut(key.place as usize)?.as_mut()?;
    (connection.generation == key.generation).then_some(connection)
}

fn token(key: Key, side: Side) -> u64 {
    u64::from(key.place) << 1 | u64::from(side == Side::Target)
}
