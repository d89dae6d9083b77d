//! A network on simulated time. This network drives the run loop of real measurements, but without sockets and without
//! waiting.
//!
//! A [`SimServer`] responds to each request with bytes, and chooses the instants at which these bytes become readable.
//! Simulated time does not pass while the loop works, unless a cost is set for each send. When the loop waits, the time
//! jumps to the next event. Ten seconds of load therefore take only milliseconds, and a test can compare every result
//! with the expected value to the nanosecond.

mod drive;

pub use drive::{simulate, simulate_under, simulate_until};

use crate::network::{Address, Connecting, NameError, Network, Ready, Resolution, ThreadUse, Token, Waited};
use measure::{Instant, ReadSample};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// A reply of a simulated server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The given bytes.
    Bytes(Vec<u8>),
    /// A number of body bytes whose values do not matter.
    Filler(u64),
    /// The end of the stream.
    End,
    /// A reset of the connection.
    Reset,
}

/// Reaction of a simulated server to a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// The connection is established after this time.
    After(Duration),
    /// The connection is refused.
    Refuse,
    /// The server does not respond.
    Ignore,
    /// The connection is not possible now, because the queue of the listening Unix socket is full.
    Full,
}

/// A simulated server.
pub trait SimServer {
    /// Accepts a connection.
    fn connect(&mut self, _now: Instant) -> Accept {
        Accept::After(Duration::ZERO)
    }

    /// Accepts a connection to an address, for servers with several addresses.
    fn connect_to(&mut self, now: Instant, _address: &Address) -> Accept {
        self.connect(now)
    }

    /// Returns the replies to a complete request, each with the time at which it arrives.
    fn request(&mut self, now: Instant, request: &str) -> Vec<(Instant, Reply)>;

    /// Handles bytes from a connection. `bytes` also contains earlier bytes that the server has not removed. The server
    /// removes the bytes that it has read. The default reads HTTP/1 requests without a body.
    fn received(&mut self, now: Instant, _connection: usize, bytes: &mut Vec<u8>) -> Vec<(Instant, Reply)> {
        if !bytes.ends_with(b"\r\n\r\n") {
            return Vec::new();
        }
        let request = String::from_utf8_lossy(&std::mem::take(bytes)).into_owned();
        self.request(now, &request)
    }
}

/// A server that is a function. The function returns the replies to a request at an instant.
impl<F: FnMut(Instant, &str) -> Vec<(Instant, Reply)>> SimServer for F {
    fn request(&mut self, now: Instant, request: &str) -> Vec<(Instant, Reply)> {
        self(now, request)
    }
}

/// One end of a simulated connection.
#[derive(Debug)]
pub struct SimSocket {
    id: usize,
}

#[derive(Debug)]
struct Pipe {
    token: Token,
    open: bool,
    /// Time at which the connection is established (`true`) or refused (`false`); `None` after the loop was notified.
    establishes: Option<(Instant, bool)>,
    sent: Vec<u8>,
    arriving: VecDeque<(Instant, Reply)>,
    /// Number of replies at the front of `arriving` that were already reported to the loop.
    reported: usize,
}

impl Pipe {
    /// Returns the time of the next event that the loop does not know yet.
    fn next_news(&self) -> Option<Instant> {
        match self.establishes {
            Some((at, _)) => Some(at),
            None => self.arriving.get(self.reported).map(|(at, _)| *at),
        }
    }

    fn pop(&mut self) {
        self.arriving.pop_front();
        self.reported = self.reported.saturating_sub(1);
    }
}

/// A simulated network with one server.
pub struct SimNetwork<'s> {
    now: Cell<Instant>,
    /// Not a type parameter: the compiler would translate the whole run loop again for each type of server, and the
    /// tests have about a hundred.
    server: Box<dyn SimServer + 's>,
    pipes: Vec<Pipe>,
    /// The time that each send costs this client.
    send_cost: Duration,
    busy_nanos: u64,
    /// Maximum number of connections that can be open at the same time.
    descriptors: usize,
    /// Start and end of each period in which the client does not run, in order.
    stalls: Vec<(Instant, Instant)>,
    /// Arrival time of the newest byte of the last read.
    newest: Option<Instant>,
    /// Function that returns the wall time in seconds since 1970, if there is a wall clock.
    wall_clock: Option<fn(Instant) -> u64>,
}

impl<'s> SimNetwork<'s> {
    /// Returns a network with a server, at instant zero.
    pub fn new(server: impl SimServer + 's) -> Self {
        Self {
            now: Cell::new(Instant::ZERO),
            server: Box::new(server),
            pipes: Vec::new(),
            send_cost: Duration::ZERO,
            busy_nanos: 0,
            descriptors: usize::MAX,
            stalls: Vec::new(),
            newest: None,
            wall_clock: None,
        }
    }

    /// Adds a wall clock, which may be set during the run.
    #[must_use]
    pub fn with_wall_clock(mut self, unix_seconds: fn(Instant) -> u64) -> Self {
        self.wall_clock = Some(unix_seconds);
        self
    }

    /// Stops the client in these periods, each given by its start and end. The periods must be in order and must not
    /// overlap.
    #[must_use]
    pub fn with_stalls(mut self, stalls: Vec<(Instant, Instant)>) -> Self {
        self.stalls = stalls;
        self
    }

    /// Limits the client's file descriptors.
    #[must_use]
    pub fn with_descriptors(mut self, descriptors: usize) -> Self {
        self.descriptors = descriptors;
        self
    }

    /// Makes each send cost the client this much time.
    #[must_use]
    pub fn with_send_cost(mut self, cost: Duration) -> Self {
        self.send_cost = cost;
        self
    }

    /// Returns `at` if the client runs at this instant, or else the next instant at which it runs.
    fn awake(&self, at: Instant) -> Instant {
        let begun = self.stalls.partition_point(|(from, _)| *from <= at);
        begun.checked_sub(1).map_or(at, |last| at.max(self.stalls[last].1))
    }

    fn next_event(&self) -> Option<Instant> {
        self.pipes.iter().filter(|pipe| pipe.open).filter_map(Pipe::next_news).min()
    }
}

fn would_block() -> io::Error {
    io::ErrorKind::WouldBlock.into()
}

impl Network for SimNetwork<'_> {
    type Socket = SimSocket;

    fn now(&self) -> Instant {
        self.now.get()
    }

    fn unix_seconds(&self) -> Option<u64> {
        self.wall_clock.map(|wall_clock| wall_clock(self.now.get()))
    }

    fn connect(&mut self, token: Token, address: &Address) -> io::Result<(SimSocket, Connecting)> {
        if self.pipes.iter().filter(|pipe| pipe.open).count() >= self.descriptors {
            return Err(io::Error::from_raw_os_error(crate::run_loop::EMFILE));
        }
        let now = self.now();
        let establishes = match self.server.connect_to(now, address) {
            Accept::After(span) => Some((now + span, true)),
            Accept::Refuse => Some((now, false)),
            Accept::Ignore => Some((Instant::NEVER, false)),
            Accept::Full => return Err(would_block()),
        };
        self.pipes.push(Pipe {
            token,
            open: true,
            establishes,
            sent: Vec::new(),
            arriving: VecDeque::new(),
            reported: 0,
        });
        Ok((SimSocket { id: self.pipes.len() - 1 }, Connecting::Pending))
    }

    fn connected(&mut self, socket: &mut SimSocket) -> io::Result<()> {
        match self.pipes[socket.id].establishes.take() {
            Some((_, false)) => Err(io::ErrorKind::ConnectionRefused.into()),
            Some((_, true)) | None => Ok(()),
        }
    }

    fn send(&mut self, socket: &mut SimSocket, bytes: &[u8]) -> io::Result<usize> {
        let now = self.awake(self.now() + self.send_cost);
        self.busy_nanos += self.send_cost.as_nanos() as u64;
        self.now.set(now);
        let pipe = &mut self.pipes[socket.id];
        if pipe.arriving.iter().any(|(at, reply)| *at <= now && *reply == Reply::Reset) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        pipe.sent.extend_from_slice(bytes);
        for (at, reply) in self.server.received(now, socket.id, &mut pipe.sent) {
            // Keep the replies in the order of their arrival, because replies to other requests may arrive between
            // these replies.
            let place = pipe.arriving.partition_point(|(earlier, _)| *earlier <= at);
            pipe.arriving.insert(place, (at, reply));
        }
        Ok(bytes.len())
    }

    fn recv(&mut self, socket: &mut SimSocket, room: &mut [u8]) -> io::Result<usize> {
        let now = self.now();
        self.newest = None;
        let pipe = &mut self.pipes[socket.id];
        let mut filled = 0;
        while filled < room.len() {
            let Some((at, reply)) = pipe.arriving.front_mut().filter(|(at, _)| *at <= now) else { break };
            let left = room.len() - filled;
            if matches!(reply, Reply::Bytes(_) | Reply::Filler(_)) {
                self.newest = Some(*at);
            }
            match reply {
                Reply::Bytes(bytes) => {
                    let taken = bytes.len().min(left);
                    room[filled..filled + taken].copy_from_slice(&bytes[..taken]);
                    bytes.drain(..taken);
                    filled += taken;
                    if bytes.is_empty() {
                        pipe.pop();
                    }
                }
                Reply::Filler(bytes) => {
                    let taken = (*bytes).min(left as u64);
                    *bytes -= taken;
                    filled += taken as usize;
                    if *bytes == 0 {
                        pipe.pop();
                    }
                }
                Reply::End if filled > 0 => return Ok(filled),
                Reply::End => return Ok(0),
                Reply::Reset if filled > 0 => return Ok(filled),
                Reply::Reset => return Err(io::ErrorKind::ConnectionReset.into()),
            }
        }
        if filled == 0 { Err(would_block()) } else { Ok(filled) }
    }

    fn sample(&self) -> Option<ReadSample> {
        let nanos = self.now().nanos_since(self.newest?);
        Some(ReadSample::Timestamped { nanos, stands_for: 1 })
    }

    fn discard(&mut self, socket: &mut SimSocket, max: usize) -> io::Result<usize> {
        crate::epoll::read_away(max, |room| self.recv(socket, room))
    }

    fn set_low_water(&mut self, _: &SimSocket, _: usize) {}

    fn resolve(&mut self, host: &str, port: u16) -> Resolution {
        if host.ends_with(".invalid") {
            return Resolution::Failed(NameError::NotFound);
        }
        let address = host.parse().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        Resolution::Found(Arc::from([SocketAddr::new(address, port)]))
    }

    fn wait(&mut self, until: Instant, ready: &mut Vec<Ready>) -> io::Result<Waited> {
        let before = self.now();
        let next = self.next_event().unwrap_or(Instant::NEVER);
        let now = self.awake(until.min(next).max(before));
        self.now.set(now);
        ready.clear();
        for pipe in self.pipes.iter_mut().filter(|pipe| pipe.open && pipe.next_news().is_some_and(|at| at <= now)) {
            let establishes = pipe.establishes.is_some();
            if !establishes {
                pipe.reported = pipe.arriving.iter().take_while(|(at, _)| *at <= now).count();
            }
            let ends = |(_, reply): &(Instant, Reply)| matches!(reply, Reply::End | Reply::Reset);
            let closing = pipe.arriving.iter().take(pipe.reported).any(ends);
            ready.push(Ready { token: pipe.token, readable: !establishes, writable: establishes, closing });
        }
        Ok(Waited { began: before, now, kept_nanos: 0, at_once: !ready.is_empty() && now == before })
    }

    fn closed(&mut self, socket: SimSocket) {
        self.pipes[socket.id].open = false;
        self.pipes[socket.id].arriving.clear();
    }

    fn thread_use(&mut self) -> ThreadUse {
        ThreadUse { cpu_nanos: self.busy_nanos, delay_nanos: 0 }
    }
}
