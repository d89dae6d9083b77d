//! The interface through which the run loop accesses its environment. The interface consists of a clock, non-blocking
//! sockets, the readiness of sockets, and name lookups.
//!
//! The interface has two implementations: [`crate::epoll::EpollNetwork`] over the operating system, and
//! [`crate::sim::SimNetwork`] on simulated time. The loop is generic over this trait, so tests run the same code as
//! measurements. Both implementations report errors as `std::io::Error`, so that errors are classified in one place.

use measure::evidence::PathSample;
use measure::{Instant, ReadSample};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// The destination of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A Unix socket.
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

/// Identity of a connection: its place in the loop's table, and a generation. The generation distinguishes the
/// connection from earlier connections in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Place in the table.
    pub index: u32,
    /// Number of earlier connections in the same place.
    pub generation: u32,
}

/// An event of a socket. Each event is reported only once. The loop must therefore read until a read does not fill the
/// buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The connection.
    pub token: Token,
    /// `true` if bytes, an end of stream or an error can be read.
    pub readable: bool,
    /// `true` if bytes can be sent, or if the connection is established or has failed.
    pub writable: bool,
    /// `true` if the end of the stream or an error has arrived. Earlier bytes may still be unread. This event is not
    /// reported again.
    pub closing: bool,
}

/// State of a connection that was just opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connecting {
    /// The connection is established.
    Done,
    /// The connection is being established. The socket becomes writable when the connection is established or has
    /// failed.
    Pending,
}

/// Reason why a name has no addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// There is no such name.
    NotFound,
    /// The resolver did not respond.
    NoAnswer,
}

/// Result of a lookup.
#[derive(Clone, Debug)]
pub enum Resolution {
    /// The addresses, at least one.
    Found(Arc<[SocketAddr]>),
    /// The lookup is still in progress. The caller must call again later.
    Pending,
    /// The name has no addresses.
    Failed(NameError),
}

/// The result of a wait.
#[derive(Clone, Copy, Debug)]
pub struct Waited {
    /// The instant before the wait.
    pub began: Instant,
    /// The instant after the wait.
    pub now: Instant,
    /// Longest time, in nanoseconds, that the thread spent awake during the wait without checking for events.
    pub kept_nanos: u64,
    /// `true` if the thread did not have to wait, because there were already events.
    pub at_once: bool,
}

/// CPU time that a thread has used since its start, and time that it has waited for a core.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadUse {
    /// CPU time in nanoseconds, without busy waiting.
    pub cpu_nanos: u64,
    /// Time in nanoseconds that the thread was ready to run but had no core.
    pub delay_nanos: u64,
}

/// A clock, sockets and name lookups.
pub trait Network {
    /// A non-blocking stream socket.
    type Socket;

    /// Returns the current instant.
    fn now(&self) -> Instant;

    /// Returns the wall time in seconds since 1970, if the network has a wall clock. Someone may have set the wall
    /// clock since the last call.
    fn unix_seconds(&self) -> Option<u64> {
        None
    }

    /// Starts to open a connection. After this call, [`Self::wait`] reports the events of the connection.
    ///
    /// # Errors
    /// Fails with the error of the operating system.
    fn connect(&mut self, token: Token, to: &Address) -> io::Result<(Self::Socket, Connecting)>;

    /// Checks whether a pending connection that became writable is established.
    ///
    /// # Errors
    /// Fails with the reason why the connection could not be established.
    fn connected(&mut self, socket: &mut Self::Socket) -> io::Result<()>;

    /// Sends as many bytes as the socket accepts, and returns their number.
    ///
    /// # Errors
    /// Fails with `WouldBlock` if the socket accepts nothing now. Any other error means that the connection is broken.
    fn send(&mut self, socket: &mut Self::Socket, bytes: &[u8]) -> io::Result<usize>;

    /// Reads the bytes that have arrived, up to the length of `room`. Returns their number, which is 0 at the end of
    /// the stream.
    ///
    /// # Errors
    /// Fails with `WouldBlock` if nothing has arrived. Any other error means that the connection is broken.
    fn recv(&mut self, socket: &mut Self::Socket, room: &mut [u8]) -> io::Result<usize>;

    /// Returns how long the newest byte of the last read had waited to be read, if that read was sampled.
    fn sample(&self) -> Option<ReadSample> {
        None
    }

    /// Discards the bytes that have arrived, up to `max` bytes. Returns their number, which is 0 at the end of the
    /// stream.
    ///
    /// # Errors
    /// Fails like [`Network::recv`].
    fn discard(&mut self, socket: &mut Self::Socket, max: usize) -> io::Result<usize>;

    /// Sets the number of bytes that must have arrived before the kernel reports the socket as readable.
    fn set_low_water(&mut self, socket: &Self::Socket, bytes: usize);

    /// Looks up the addresses of a name.
    fn resolve(&mut self, host: &str, port: u16) -> Resolution;

    /// Waits until a socket is ready, or until the instant `until`. Writes the events to `ready`.
    ///
    /// # Errors
    /// Fails with the error of the poller.
    fn wait(&mut self, until: Instant, ready: &mut Vec<Ready>) -> io::Result<Waited>;

    /// Closes a connection. By default, dropping the socket is enough.
    fn closed(&mut self, _socket: Self::Socket) {}

    /// Returns the kernel's measurements of a connection's network path, if there are any.
    fn path(&mut self, _socket: &Self::Socket) -> Option<PathSample> {
        None
    }

    /// Returns the number of bytes that [`Self::send`] has accepted but the peer has not acknowledged, if the kernel
    /// knows this number.
    fn unacknowledged(&mut self, _socket: &Self::Socket) -> Option<u64> {
        None
    }

    /// Returns how much of the processor this thread has used so far.
    fn thread_use(&mut self) -> ThreadUse;
}
