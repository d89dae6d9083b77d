//! The hyper server: opens its sockets, runs its threads, adds up their counters, and stops.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sys::Socket;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};

use super::connection::serve;
use super::content_service::ContentService;
use super::context::ThreadContext;
use super::service::Service;
use super::socket::Duplex;
use super::tls::{PreparedTls, Tls};
use crate::config::Config;
use crate::ledger::Ledger;
use crate::ledger::counters::Counters;
use crate::listeners::{Bound, Listeners};
use crate::shared::Shared;

/// Time for which a listener accepts no connections after file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Interval at which a thread checks whether the first request has arrived. Only used if a stall is to begin some time
/// after this request.
const FIRST_REQUEST_CHECK: Duration = Duration::from_millis(1);

/// A running server on the hyper front. Dropping this value stops the server, as [`HyperServer::stop`] does.
pub struct HyperServer {
    bound: Bound,
    ca_pem: Option<String>,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    threads: Vec<Running>,
}

struct Running {
    counters: Arc<Counters>,
    /// `None` after the thread was joined.
    handle: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for HyperServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HyperServer").field("bound", &self.bound).finish_non_exhaustive()
    }
}

impl HyperServer {
    /// Starts a server that serves the same content as [`crate::Server`], over TLS if `tls` is given. Clients choose
    /// between HTTP/1.1 and HTTP/2 (without TLS, they use HTTP/2 by prior knowledge). When this function returns, the
    /// server accepts connections.
    ///
    /// # Errors
    /// Fails if the server cannot listen on an address or path, the directory does not exist, the files of `tls` cannot
    /// be used, or the system lacks resources.
    pub fn start(config: &Config, tls: Option<&Tls>) -> io::Result<Self> {
        Self::start_with(config, tls, |shared| Ok(Arc::new(ContentService::new(Arc::clone(shared)))))
    }

    /// Starts a server with the service that `make` returns.
    pub(crate) fn start_with(
        config: &Config,
        tls: Option<&Tls>,
        make: impl FnOnce(&Arc<Shared>) -> io::Result<Arc<dyn Service>>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(config, None)?);
        let service = make(&shared)?;
        let Listeners { bound, by_thread } = Listeners::open(config)?;
        let prepared = tls.map(|tls| tls.prepare(&bound.addresses)).transpose()?;
        let (acceptor, ca_pem) = match prepared {
            Some(PreparedTls { acceptor, ca_pem }) => (Some(acceptor), ca_pem),
            None => (None, None),
        };
        let (stop, stops) = watch::channel(false);
        let mut front = Self { bound, ca_pem, shared, stop, threads: Vec::new() };
        for (index, sockets) in by_thread.into_iter().enumerate() {
            let counters = Arc::new(Counters::default());
            let context = ThreadContext {
                shared: Arc::clone(&front.shared),
                counters: Arc::clone(&counters),
                service: Arc::clone(&service),
                tls: acceptor.clone(),
                stop: stops.clone(),
            };
            let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
            let accepting = open_all(&runtime, &sockets)?;
            let handle = thread::Builder::new().name(format!("front-{index}"));
            let handle = handle.spawn(move || run(&runtime, context, accepting))?;
            front.threads.push(Running { counters, handle: Some(handle) });
        }
        Ok(front)
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

    /// Returns the CA certificate (PEM) that clients must trust, if it was generated when the server started.
    #[must_use]
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// Returns the counts so far. The counts include every response that a client has received completely before this
    /// call.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.shared.ledger(self.threads.iter().map(|thread| &*thread.counters))
    }

    /// Stops accepting, closes idle connections, and lets responses in flight finish within [`Config::drain`]. Returns
    /// the final ledger, in which no request is in service.
    #[must_use = "the final ledger; drop the server if it is not needed"]
    pub fn stop(mut self) -> Ledger {
        self.end();
        self.ledger()
    }

    fn end(&mut self) {
        self.shared.stop();
        self.stop.send_replace(true);
        for thread in &mut self.threads {
            if let Some(handle) = thread.handle.take() {
                // If the thread panicked, it has already reported the panic.
                let _ = handle.join();
            }
        }
    }
}

impl Drop for HyperServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// A listening socket.
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

fn open_all(runtime: &Runtime, sockets: &[Arc<Socket>]) -> io::Result<Vec<Listener>> {
    let _guard = runtime.enter();
    let open = |socket: &Arc<Socket>| {
        let descriptor = socket.as_fd().try_clone_to_owned()?;
        Ok(if socket.is_tcp() {
            Listener::Tcp(TcpListener::from_std(descriptor.into())?)
        } else {
            Listener::Unix(UnixListener::from_std(descriptor.into())?)
        })
    };
    sockets.iter().map(open).collect()
}

/// Runs one thread: accepts connections until the server stops, then waits until the connections close or the drain
/// ends.
fn run(runtime: &Runtime, context: ThreadContext, accepting: Vec<Listener>) {
    let drain = context.shared.limits.drain;
    runtime.block_on(async {
        let mut stop = context.stop.clone();
        // Each connection has a sender, so the channel closes when the last connection ends.
        let (open, mut all_closed) = mpsc::channel::<Infallible>(1);
        let stalling = tokio::spawn(stall(Arc::clone(&context.shared)));
        let accepting: Vec<_> =
            accepting.into_iter().map(|socket| tokio::spawn(accept(socket, context.clone(), open.clone()))).collect();
        drop((context, open));
        // An error means that the server was dropped, which ends the wait too.
        let _ = stop.wait_for(|stops| *stops).await;
        accepting.iter().for_each(tokio::task::JoinHandle::abort);
        stalling.abort();
        let _ = tokio::time::timeout(drain, all_closed.recv()).await;
    });
}

async fn accept(socket: Listener, context: ThreadContext, open: mpsc::Sender<Infallible>) {
    loop {
        let accepted = match &socket {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| admit(stream, &context, &open)),
            Listener::Unix(listener) => listener.accept().await.map(|(stream, _)| admit(stream, &context, &open)),
        };
        match accepted {
            // The client left before we accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            Ok(()) => {}
        }
    }
}

fn admit(stream: impl Duplex + 'static, context: &ThreadContext, open: &mpsc::Sender<Infallible>) {
    if !context.shared.enter() {
        context.counters.connections_refused.add(1);
        return;
    }
    context.counters.connections_accepted.add(1);
    let (context, open) = (context.clone(), open.clone());
    tokio::spawn(async move {
        serve(context, stream).await;
        drop(open);
    });
}

/// Waits until the configured stall begins, then stalls this thread.
async fn stall(shared: Arc<Shared>) {
    if shared.faults.config.stall.is_none() {
        return;
    }
    loop {
        let wait = match shared.faults.stall() {
            None => FIRST_REQUEST_CHECK,
            Some((begin, _)) => begin.saturating_sub(sys::clock::monotonic()),
        };
        if wait.is_zero() {
            // Block the whole thread on purpose: the injected fault is a stall of all threads.
            shared.sleep_through_stall();
            return;
        }
        tokio::time::sleep(wait).await;
    }
}
