//! The lean server: opens its sockets, runs its threads, adds up their counters, and stops.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sys::Waker;

use super::thread::Thread;
use crate::config::Config;
use crate::ledger::Ledger;
use crate::ledger::counters::Counters;
use crate::listeners::{Bound, Listeners};
use crate::ownership::member::Member;
use crate::shared::Shared;

/// Maximum time that [`Server::ledger`] waits for a thread to finish its current event.
const SETTLE_MAX: Duration = Duration::from_secs(1);

/// A running server on the lean front: plain HTTP/1. Dropping this value stops the server, as [`Server::stop`] does.
#[derive(Debug)]
pub struct Server {
    bound: Bound,
    shared: SharedState,
    threads: Vec<Running>,
}

struct SharedState(Arc<Shared>);

impl std::fmt::Debug for SharedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

#[derive(Debug)]
struct Running {
    counters: Arc<Counters>,
    waker: Arc<Waker>,
    /// `None` after the thread was joined.
    handle: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens the sockets and starts the threads. When this function returns, the server accepts connections.
    ///
    /// # Errors
    /// Fails if the server cannot listen on an address or path, the directory does not exist, or the system lacks
    /// resources.
    pub fn start(config: &Config) -> io::Result<Self> {
        Self::start_on(config, Listeners::open(config)?, None)
    }

    /// Starts a server on open sockets, as a member of a cluster or alone.
    pub(crate) fn start_on(config: &Config, listeners: Listeners, member: Option<Member>) -> io::Result<Self> {
        let Listeners { bound, by_thread } = listeners;
        let shared = Arc::new(Shared::new(config, member)?);
        let mut server = Self { bound, shared: SharedState(shared), threads: Vec::new() };
        for (index, sockets) in by_thread.into_iter().enumerate() {
            let counters = Arc::new(Counters::default());
            let waker = Arc::new(Waker::new()?);
            let thread = Thread::new(Arc::clone(&server.shared.0), Arc::clone(&counters), Arc::clone(&waker), sockets)?;
            let handle = thread::Builder::new().name(format!("serve-{index}")).spawn(move || thread.run())?;
            server.threads.push(Running { counters, waker, handle: Some(handle) });
        }
        Ok(server)
    }

    /// Returns the TCP addresses in the order of [`Config::listen`], with their actual ports.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.bound.addresses
    }

    /// Returns the paths of the Unix sockets.
    #[must_use]
    pub fn unix_paths(&self) -> &[PathBuf] {
        &self.bound.paths
    }

    /// Returns the counts so far. The function first waits until each thread has finished its current event. Unless a
    /// thread is stalled, the counts therefore include everything that a client received before this call. For a
    /// stalled thread, the function waits at most one second.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let deadline = Instant::now() + SETTLE_MAX;
        let before: Vec<u64> = self.threads.iter().map(|thread| thread.counters.rounds()).collect();
        for thread in &self.threads {
            // If a thread does not wake up, the wait below times out. The counts of this thread may then lack its
            // current event.
            let _ = thread.waker.wake();
        }
        for (thread, before) in self.threads.iter().zip(before) {
            let runs = || thread.handle.as_ref().is_some_and(|handle| !handle.is_finished());
            while thread.counters.rounds() == before && runs() && Instant::now() < deadline {
                thread::sleep(Duration::from_micros(50));
            }
        }
        self.sum()
    }

    /// Stops accepting, closes idle connections, and lets responses in flight finish within [`Config::drain`]. Returns
    /// the final ledger, in which no request is in service.
    #[must_use = "the final ledger; drop the server if it is not needed"]
    pub fn stop(mut self) -> Ledger {
        self.end();
        self.sum()
    }

    fn sum(&self) -> Ledger {
        self.shared.0.ledger(self.threads.iter().map(|thread| &*thread.counters))
    }

    fn end(&mut self) {
        self.shared.0.stop();
        for thread in &self.threads {
            // If a thread cannot be woken, it stops at its next event.
            let _ = thread.waker.wake();
        }
        for thread in &mut self.threads {
            if let Some(handle) = thread.handle.take() {
                // If the thread panicked, it has already reported the panic.
                let _ = handle.join();
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
