//! The back end *relay*: a TCP relay with a rate and a delay, which needs no special permission and works with any
//! target.
//!
//! A client connects to the relay, and the relay connects to the target. The relay delays the bytes by the
//! serialization time that they would take as segments, and by the delay of the path. Both connections end at the
//! relay, so some properties of a real path are missing ([`NOT_REPRODUCED`]).

mod connection;
mod lane;
mod run;

#[cfg(test)]
mod tests;

use crate::error::{LinkError, failed};
use crate::spec::{Direction, LinkSpec};
use lane::Lane;
use measure::time::MonotonicClock;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use sys::{Socket, Waker};

/// Sentences about the properties of a path that a relay cannot reproduce. The report of a run through a relay must
/// contain these sentences.
pub const NOT_REPRODUCED: [&str; 4] = [
    "TCP slow start over the delay: a connection reaches the full rate at once",
    "loss and its recovery: the relay drops nothing, and holds senders back instead of filling a queue",
    "the time to connect: connecting takes as long as to this host, and the first byte arrives one round trip later \
     instead",
    "the sharing of the rate by congestion control: connections take turns",
];

/// Maximum number of connections at the same time. Further connections wait in the kernel until one ends.
pub const CONNECTIONS_MAX: usize = 4096;

/// Length of the kernel's queue of new connections.
const BACKLOG: u32 = 4096;

/// Counts of a relay since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounts {
    /// Number of connections that clients have opened.
    pub connections: u64,
    /// Number of connections that failed, because the target refused them or one side reset them.
    pub failed: u64,
    /// Bytes passed on from the target to clients.
    pub down_bytes: u64,
    /// Bytes passed on from clients to the target.
    pub up_bytes: u64,
}

/// The counts that the thread publishes: connections, failures, bytes down, bytes up.
#[derive(Debug, Default)]
struct Counters([AtomicU64; 4]);

impl Counters {
    fn add(&self, place: usize, count: u64) {
        self.0[place].fetch_add(count, Relaxed);
    }

    fn bytes(&self, direction: Direction, count: u64) {
        self.add(if direction == Direction::Down { 2 } else { 3 }, count);
    }
}

/// A running relay. Dropping this value closes all connections.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    counters: Arc<Counters>,
    stop: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Starts a relay to `target` on a free port of loopback.
    ///
    /// # Errors
    /// Fails if the description has a mistake, or if it contains loss or reordering, which a relay cannot emulate. Also
    /// fails with errors of the kernel.
    pub fn start(spec: &LinkSpec, target: SocketAddr, seed: u64) -> Result<Self, LinkError> {
        spec.check()?;
        for direction in [Direction::Down, Direction::Up] {
            let direction = spec.direction(direction);
            if direction.loss > 0.0 {
                return Err(LinkError::NeedsPackets { what: "loss" });
            }
            if direction.reorder > 0.0 {
                return Err(LinkError::NeedsPackets { what: "reordering" });
            }
        }
        let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let listener = Socket::listen_tcp(loopback, BACKLOG, false).map_err(failed("listen on loopback"))?;
        let address = listener.local_addr().map_err(failed("read the address of the relay"))?;
        let counters = Arc::new(Counters::default());
        let stop = Arc::new(Waker::new().map_err(failed("create an event"))?);
        let lanes = [Direction::Down, Direction::Up].map(|direction| Lane::new(spec, direction, seed));
        let clock = MonotonicClock::start();
        let shared = Arc::clone(&counters);
        let state = run::State::new(listener, target, lanes, spec.round_trip(), clock, shared, &stop)
            .map_err(failed("start the relay"))?;
        let builder = std::thread::Builder::new().name("link relay".to_owned());
        let thread = builder.spawn(move || state.run()).map_err(failed("start the relay"))?;
        Ok(Self { address, counters, stop, thread: Some(thread) })
    }

    /// Returns the address to which clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the counts since the start.
    #[must_use]
    pub fn counts(&self) -> RelayCounts {
        let [connections, failed, down_bytes, up_bytes] = self.counters.0.each_ref().map(|count| count.load(Relaxed));
        RelayCounts { connections, failed, down_bytes, up_bytes }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.stop.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
