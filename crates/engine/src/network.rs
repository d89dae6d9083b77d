//! The world as the run loop sees it: a clock, non-blocking sockets, readiness, names.
//!
//! Two implementations: [`crate::epoll::EpollNetwork`] over the operating system, and [`crate::sim::SimNetwork`] on
//! simulated time. The loop is generic over it, so the same machine code path that is measured is the one that is
//! tested. Errors are `std::io::Error` in both, so that they are classified in one place.

use measure::evidence::PathSample;
use measure::{Instant, ReadSample};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a connection is opened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Names a connection to the poller: its place in the loop's table, and which of the connections that held this place
/// in the course of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Place in the table.
    pub index: u32,
    /// Number of connections that held the place before.
    pub generation: u32,
}

/// What is new at a socket. It is told once: whoever hears of it reads until less comes than there was room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The connection.
    pub token: Token,
    /// Bytes, an end of stream or an error can be read.
    pub readable: bool,
    /// Bytes can be sent, or the connection is established or has failed.
    pub writable: bool,
    /// The end of the stream or an error has come, perhaps behind bytes that are still to be read: it is not told again.
    pub closing: bool,
}

/// Whether a connection is there at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connecting {
    /// It is established.
    Done,
    /// It will be ready for writing when it is established or has failed.
    Pending,
}

/// Why a name has no addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// There is no such name.
    NotFound,
    /// The resolver did not answer.
    NoAnswer,
}

/// The answer to a look-up.
#[derive(Clone, Debug)]
pub enum Resolution {
    /// The addresses, at least one.
    Found(Arc<[SocketAddr]>),
    /// Ask again a little later.
    Pending,
    /// There are none.
    Failed(NameError),
}

/// How one wait went.
#[derive(Clone, Copy, Debug)]
pub struct Waited {
    /// The instant before the wait.
    pub began: Instant,
    /// The instant after the wait.
    pub now: Instant,
    /// The longest time, in nanoseconds, for which the thread was awake in the wait and did not come to look.
    pub kept_nanos: u64,
    /// Whether something was ready without having been waited for.
    pub at_once: bool,
}

/// What a thread has used of the processor since it began.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadUse {
    /// CPU time, in nanoseconds; not what it spent awake with nothing to do.
    pub cpu_nanos: u64,
    /// Time for which it was ready to run and had no core, in nanoseconds.
    pub delay_nanos: u64,
}

/// A clock, sockets and names.
pub trait Network {
    /// A non-blocking stream socket.
    type Socket;

    /// The present instant.
    fn now(&self) -> Instant;

    /// Begins to open a connection and watches it.
    ///
    /// # Errors
    /// What the operating system says.
    fn connect(&mut self, token: Token, to: &Address) -> io::Result<(Self::Socket, Connecting)>;

    /// Asks a pending connection that became writable whether it is established.
    ///
    /// # Errors
    /// Why it could not be established.
    fn connected(&mut self, socket: &mut Self::Socket) -> io::Result<()>;

    /// Sends what fits; how many bytes did.
    ///
    /// # Errors
    /// `WouldBlock` when nothing fits; else why the connection is broken.
    fn send(&mut self, socket: &mut Self::Socket, bytes: &[u8]) -> io::Result<usize>;

    /// Reads what is there; 0 is the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there; else why the connection is broken.
    fn recv(&mut self, socket: &mut Self::Socket, room: &mut [u8]) -> io::Result<usize>;

    /// For how long the newest byte of the last read had waited unread, where that read was one of a sample.
    fn sample(&self) -> Option<ReadSample> {
        None
    }

    /// Drops what is there, up to `max` bytes, without looking at it; 0 is the end of the stream.
    ///
    /// # Errors
    /// As [`Network::recv`].
    fn discard(&mut self, socket: &mut Self::Socket, max: usize) -> io::Result<usize>;

    /// Asks not to be woken before so many bytes have arrived.
    fn set_low_water(&mut self, socket: &Self::Socket, bytes: usize);

    /// The address that a name stands for.
    fn resolve(&mut self, host: &str, port: u16) -> Resolution;

    /// Waits until a socket is ready, or until the instant `until`. Fills `ready`.
    ///
    /// # Errors
    /// What the operating system says of the poller itself.
    fn wait(&mut self, until: Instant, ready: &mut Vec<Ready>) -> io::Result<Waited>;

    /// A connection is given up; dropping the socket closes it.
    fn closed(&mut self, _socket: Self::Socket) {}

    /// What the kernel knows of a connection's path through the network, where it knows anything.
    fn path(&mut self, _socket: &Self::Socket) -> Option<PathSample> {
        None
    }

    /// What this thread has used of the processor so far.
    fn thread_use(&mut self) -> ThreadUse;
}
