//! The server as a whole: opens its sockets, runs its threads, adds up its books, stops.

use std::io::{self, ErrorKind};
use std::mem;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sys::{Socket, Waker};

use crate::cluster::Member;
use crate::config::Config;
use crate::ledger::{Counters, Ledger};
use crate::site::Site;
use crate::thread::Thread;

/// Connections that wait to be accepted, for each listener.
const BACKLOG: u32 = 4096;
/// How long [`Server::ledger`] waits for a thread to finish what it is at.
const SETTLE_MAX: Duration = Duration::from_secs(1);

/// A running server. Dropping it stops it, as [`Server::stop`] does.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<SocketAddr>,
    unix: Vec<PathBuf>,
    site: SharedSite,
    threads: Vec<Running>,
}

struct SharedSite(Arc<Site>);

impl std::fmt::Debug for SharedSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Site")
    }
}

#[derive(Debug)]
struct Running {
    counters: Arc<Counters>,
    waker: Arc<Waker>,
    /// `None` once it has been waited for.
    handle: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens the sockets and starts the threads. When this returns, connections are accepted.
    ///
    /// # Errors
    /// An address or path cannot be listened on, the directory is none, or the system lacks the means.
    pub fn start(config: &Config) -> io::Result<Self> {
        Self::start_on(config, Listeners::open(config)?, None)
    }

    /// As [`Self::start`], on sockets that are open already, as a member of a cluster or alone.
    pub(crate) fn start_on(config: &Config, mut listeners: Listeners, member: Option<Member>) -> io::Result<Self> {
        let site = Arc::new(Site::new(config, member)?);
        let mut server = Self {
            addresses: mem::take(&mut listeners.addresses),
            unix: mem::take(&mut listeners.paths),
            site: SharedSite(site),
            threads: Vec::new(),
        };
        for (index, sockets) in mem::take(&mut listeners.by_thread).into_iter().enumerate() {
            let counters = Arc::new(Counters::default());
            let waker = Arc::new(Waker::new()?);
            let thread = Thread::new(Arc::clone(&server.site.0), Arc::clone(&counters), Arc::clone(&waker), sockets)?;
            let handle = thread::Builder::new().name(format!("serve-{index}")).spawn(move || thread.run())?;
            server.threads.push(Running { counters, waker, handle: Some(handle) });
        }
        Ok(server)
    }

    /// The TCP addresses listened on, in the order of [`Config::listen`], with their real ports.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The Unix sockets listened on.
    #[must_use]
    pub fn unix_paths(&self) -> &[PathBuf] {
        &self.unix
    }

    /// What has been counted so far. Waits until each thread has finished what it is at (at most a second, in a stall),
    /// so that whatever a client has received before this call is in the books.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let deadline = Instant::now() + SETTLE_MAX;
        let before: Vec<u64> = self.threads.iter().map(|thread| thread.counters.rounds()).collect();
        for thread in &self.threads {
            // A thread that cannot be woken is waited for in vain, and its counts are those of its last round.
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

    /// Stops accepting, closes idle connections, lets answers in flight end within [`Config::drain`], and answers the
    /// final books: then nothing is in service any more.
    #[must_use = "the final books; drop the server when they are of no use"]
    pub fn stop(mut self) -> Ledger {
        self.end();
        self.sum()
    }

    fn sum(&self) -> Ledger {
        let mut ledger = Ledger::default();
        for thread in &self.threads {
            thread.counters.add_to(&mut ledger);
        }
        ledger
    }

    fn end(&mut self) {
        self.site.0.stop();
        for thread in &self.threads {
            // A thread that cannot be woken ends with its next event.
            let _ = thread.waker.wake();
        }
        for thread in &mut self.threads {
            if let Some(handle) = thread.handle.take() {
                // A thread that panicked has said so on its own.
                let _ = handle.join();
            }
        }
        remove_sockets(&mut self.unix);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// The listening sockets, by thread: each thread has a TCP socket of its own for each address, so that the kernel
/// spreads connections; Unix sockets are shared.
pub(crate) struct Listeners {
    addresses: Vec<SocketAddr>,
    paths: Vec<PathBuf>,
    by_thread: Vec<Vec<Arc<Socket>>>,
}

impl Listeners {
    pub(crate) fn open(config: &Config) -> io::Result<Self> {
        let threads = config.threads.map_or_else(sys::limits::available_cores, NonZeroUsize::get);
        let mut listeners = Self { addresses: Vec::new(), paths: Vec::new(), by_thread: vec![Vec::new(); threads] };
        for address in &config.listen {
            listeners.open_tcp(*address)?;
        }
        for path in &config.unix {
            listeners.open_unix(path)?;
        }
        Ok(listeners)
    }

    /// The TCP addresses, with their real ports.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.addresses.iter().copied()
    }

    fn open_tcp(&mut self, mut address: SocketAddr) -> io::Result<()> {
        let shared = self.by_thread.len() > 1;
        if shared && address.port() != 0 {
            // Sockets that share a port also share it with another server that does: that would halve the load unseen.
            drop(Socket::listen_tcp(address, 1, false).map_err(|error| at(&address, &error))?);
        }
        for sockets in &mut self.by_thread {
            let socket = Socket::listen_tcp(address, BACKLOG, shared).map_err(|error| at(&address, &error))?;
            // Accepted connections inherit it.
            socket.set_nodelay(true)?;
            address = socket.local_addr()?;
            sockets.push(Arc::new(socket));
        }
        self.addresses.push(address);
        Ok(())
    }

    fn open_unix(&mut self, path: &Path) -> io::Result<()> {
        let socket = Socket::listen_unix(path, BACKLOG).map_err(|error| at(&path.display(), &error))?;
        let socket = Arc::new(socket);
        self.paths.push(path.to_owned());
        for sockets in &mut self.by_thread {
            sockets.push(Arc::clone(&socket));
        }
        Ok(())
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        remove_sockets(&mut self.paths);
    }
}

/// Removes the files of Unix sockets that we made.
fn remove_sockets(paths: &mut Vec<PathBuf>) {
    for path in paths.drain(..) {
        // Gone already is as good.
        let _ = std::fs::remove_file(path);
    }
}

/// Says where listening failed, and what may be done about it.
fn at(place: &dyn std::fmt::Display, error: &io::Error) -> io::Error {
    let mend = match error.kind() {
        ErrorKind::AddrInUse => ": something listens there already; choose another, or port 0 for any free one",
        ErrorKind::PermissionDenied => ": ports below 1024 need a privilege",
        ErrorKind::AddrNotAvailable => ": this machine has no such address",
        _ => "",
    };
    io::Error::new(error.kind(), format!("cannot listen on {place}: {error}{mend}"))
}
