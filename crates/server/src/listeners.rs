//! The listening sockets of a server.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sys::Socket;

use crate::config::Config;

/// Maximum number of connections that wait to be accepted on one listener.
const BACKLOG: u32 = 4096;

/// The listening sockets of each thread. Every thread has its own TCP socket for each address, so that the kernel
/// distributes connections among the threads. Unix sockets are shared by all threads.
#[derive(Debug)]
pub(crate) struct Listeners {
    pub(crate) bound: Bound,
    pub(crate) by_thread: Vec<Vec<Arc<Socket>>>,
}

/// The addresses and paths of a listening server. Dropping this value removes the files of the Unix sockets.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    /// TCP addresses in the order of [`Config::listen`], with their actual ports.
    pub(crate) addresses: Vec<SocketAddr>,
    /// Paths of the Unix sockets.
    pub(crate) paths: Vec<PathBuf>,
}

impl Listeners {
    /// Opens the sockets of `config` for its number of threads.
    ///
    /// # Errors
    /// Fails if the server cannot listen on an address or path.
    pub(crate) fn open(config: &Config) -> io::Result<Self> {
        let threads = config.threads.map_or_else(sys::limits::available_cores, NonZeroUsize::get);
        let mut listeners = Self { bound: Bound::default(), by_thread: vec![Vec::new(); threads] };
        for address in &config.listen {
            listeners.open_tcp(*address)?;
        }
        for path in &config.unix {
            listeners.open_unix(path)?;
        }
        Ok(listeners)
    }

    fn open_tcp(&mut self, mut address: SocketAddr) -> io::Result<()> {
        let shared = self.by_thread.len() > 1;
        if shared && address.port() != 0 {
            // The sockets below may share their port, even with a server that already runs. This other server would
            // then silently get half of the load. The socket in this line may not share its port, so opening it fails
            // if the port is in use.
            drop(Socket::listen_tcp(address, 1, false).map_err(|error| at(&address, &error))?);
        }
        for sockets in &mut self.by_thread {
            let socket = Socket::listen_tcp(address, BACKLOG, shared).map_err(|error| at(&address, &error))?;
            // Accepted connections inherit this option.
            socket.set_nodelay(true)?;
            address = socket.local_addr()?;
            sockets.push(Arc::new(socket));
        }
        self.bound.addresses.push(address);
        Ok(())
    }

    fn open_unix(&mut self, path: &Path) -> io::Result<()> {
        let socket = Socket::listen_unix(path, BACKLOG).map_err(|error| at(&path.display(), &error))?;
        let socket = Arc::new(socket);
        self.bound.paths.push(path.to_owned());
        for sockets in &mut self.by_thread {
            sockets.push(Arc::clone(&socket));
        }
        Ok(())
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        for path in self.paths.drain(..) {
            // The file may not exist any more.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Adds the address or path, and a suggested fix, to the error of a socket that cannot listen.
fn at(place: &dyn std::fmt::Display, error: &io::Error) -> io::Error {
    let fix = match error.kind() {
        ErrorKind::AddrInUse => {
            ": another program listens there; choose another port with --listen, or port 0 for any free one"
        }
        ErrorKind::PermissionDenied => ": ports below 1024 need a privilege; choose a higher port",
        ErrorKind::AddrNotAvailable => {
            ": this machine has no such address; choose one that `ip address` lists, or 127.0.0.1"
        }
        _ => "",
    };
    io::Error::new(error.kind(), format!("cannot listen on {place}: {error}{fix}"))
}
