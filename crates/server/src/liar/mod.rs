//! The liar: a server that sends scripted raw bytes, with one case for each kind of misbehavior.
//!
//! A case is a TOML file. The file contains a script for each connection, and the outcome that a client must report:
//!
//! ```toml
//! about = "closes before the body is complete"
//! row = 33
//!
//! [[connection]]                      # the first one; a second table scripts the second and all further connections
//! script = [
//!   "expect_request",                 # reads a complete request
//!   { send = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf" },
//!   { sleep = "20ms" },
//!   "close",
//! ]
//!
//! [[second_server]]                   # connections to a second port, which acts as another host; optional
//! script = ["expect_request", "close"]
//!
//! [client]                            # how to drive a client; all keys are optional
//! method = "GET"
//! headers = ["Cookie: a=b"]
//! body = "text"                       # or `body_size = "32MiB"`, up to 64 MiB
//! chunked = false                     # whether the body is framed by chunks
//! expect_continue = false             # whether the client waits for 100 Continue before it sends the body
//! http2 = false                       # whether the client speaks HTTP/2, without TLS
//! s3 = false                          # whether the client signs its requests for S3
//! range = "0-1023"
//! requests = 1                        # operations, one after the other; all but the last succeed
//! expect_size = 1024
//! expect_hash = "checksum"            # in the form of `get --expect`
//! head_timeout = "300ms"
//! idle_timeout = "300ms"
//! total_timeout = "600ms"
//!
//! [expect]                            # the outcome of the last operation
//! class = "incomplete"
//! cause = "body_cut_short"
//! ok = false
//! attempts = 1                        # with more, `earlier = [{ class = "...", cause = "..." }]` lists the earlier ones
//! body_bytes = 4                      # omitted if the number depends on timing
//! flags = []                          # flags of all attempts
//! reused = false
//! connections = 1                     # total number of connections to both servers; optional
//! ```
//!
//! | step | what the liar does |
//! |---|---|
//! | `"expect_request"` | reads a complete request |
//! | `{ expect = { with = ["cookie"], without = ["authorization"], body = "text" } }` | reads a complete request, and closes if the request differs from this; each key is optional |
//! | `{ expect_head = { with = ["expect"] } }` | reads the head of a request, but not its body; the next `expect_request` or `expect` reads the body |
//! | `"expect_stream"` | reads a complete HTTP/2 request |
//! | `{ quiet = "500ms" }` | waits for this time, and closes if anything arrives |
//! | `{ send = "text" }`, `{ send_hex = "00 ff" }` | sends these bytes |
//! | `{ each_request = "text" }` | responds with this text to every request, until the client closes |
//! | `{ repeat = { what = "text", times = 9 } }` | sends this again and again; also `what_hex`, `until_closed = true` in place of `times`, and `pause = "50ms"` |
//! | `{ sleep = "200ms" }` | waits |
//! | `"half_close"` | ends the server's stream, but continues to read |
//! | `"close"`, `"reset"` | closes the connection normally, or with a reset |
//! | `"close_listener"` | refuses further connections |
//!
//! In the bytes to send, `{first_server}` and `{second_server}` are replaced by the host and port of these servers.
//! After the last step, the connection stays open until the client closes it. Bytes from the client are then discarded.
//! Sent bytes may be lost if a `close` follows while bytes from the client are unread, or if a `reset` follows
//! immediately. To avoid this, read all bytes before a `close`, and sleep a little before a `reset`.

mod bundled_cases;
pub(crate) mod case;
mod http2_frames;
mod player;
mod step;

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sys::{Events, Interest, Poller, Socket, Waker};

use case::Case;
use player::{LiarState, ScriptPlayer};

/// Maximum number of connections at once. Further connections are closed immediately.
const CONNECTIONS_MAX: usize = 64;
/// The default lifetime of a liar.
const LIFETIME: Duration = Duration::from_secs(20);
const BACKLOG: u32 = 128;
const LISTENER: u64 = 0;
const WAKER: u64 = 1;

/// A server that plays a [`Case`]. Dropping this value stops the server.
#[derive(Debug)]
pub struct Liar {
    address: SocketAddr,
    state: Arc<LiarState>,
    accepted: Arc<AtomicU64>,
    waker: Arc<Waker>,
    /// `None` after the thread was joined.
    handle: Option<JoinHandle<()>>,
    /// The second server, if the case has one.
    second_server: Option<Box<Self>>,
}

impl Liar {
    /// Plays `case` on a free port of the loopback address, for at most 20 seconds.
    ///
    /// # Errors
    /// Fails if the system lacks resources.
    pub fn start(case: Case) -> io::Result<Self> {
        Self::start_on(case, (Ipv4Addr::LOCALHOST, 0).into(), LIFETIME)
    }

    /// Plays `case` on `address` for at most `lifetime`.
    ///
    /// # Errors
    /// Fails if the server cannot listen on the address, or if the system lacks resources.
    pub fn start_on(case: Case, address: SocketAddr, lifetime: Duration) -> io::Result<Self> {
        Self::start_at(case, address, lifetime, None)
    }

    /// Starts one of the servers. For the second server, `first` is the address of the first one.
    fn start_at(
        mut case: Case,
        address: SocketAddr,
        lifetime: Duration,
        first: Option<SocketAddr>,
    ) -> io::Result<Self> {
        let listener = Socket::listen_tcp(address, BACKLOG, false)?;
        let address = listener.local_addr()?;
        let second_server = match case.take_second_server() {
            Some(second) => Some(Self::start_at(second, (address.ip(), 0).into(), lifetime, Some(address))?),
            None => None,
        };
        let second = second_server.as_ref().map_or(address, |second| second.address);
        case.insert_addresses(first.unwrap_or(address), second);
        let poller = Poller::new()?;
        let waker = Arc::new(Waker::new()?);
        poller.add(&listener, LISTENER, Interest::Read)?;
        poller.add(&*waker, WAKER, Interest::Read)?;
        let now = Instant::now();
        let state = Arc::new(LiarState {
            listener: Mutex::new(Some(listener)),
            stop: AtomicBool::new(false),
            // If the lifetime is so long that adding it to the clock would overflow, use one year.
            until: now.checked_add(lifetime).unwrap_or(now + Duration::from_secs(31_536_000)),
            requests: AtomicU64::new(0),
        });
        let accepted = Arc::new(AtomicU64::new(0));
        let acceptor = Acceptor { case, state: Arc::clone(&state), accepted: Arc::clone(&accepted) };
        let handle = thread::Builder::new().name("liar".to_owned()).spawn(move || acceptor.run(&poller))?;
        Ok(Self { address, state, accepted, waker, handle: Some(handle), second_server: second_server.map(Box::new) })
    }

    /// Returns the listening address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.accepted.load(Ordering::Acquire) + self.second_server.as_ref().map_or(0, |second| second.connections())
    }

    /// Returns the number of requests that scripts have read completely so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::Acquire) + self.second_server.as_ref().map_or(0, |second| second.requests())
    }

    /// Waits until the lifetime of the liar is over.
    pub fn wait(mut self) {
        self.join();
    }

    fn join(&mut self) {
        if let Some(handle) = self.handle.take() {
            // If the thread panicked, it has already reported the panic.
            let _ = handle.join();
        }
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Release);
        // If the thread cannot be woken, it ends when its lifetime is over.
        let _ = self.waker.wake();
        self.join();
    }
}

/// Accepts connections and starts a thread for each.
struct Acceptor {
    case: Case,
    state: Arc<LiarState>,
    accepted: Arc<AtomicU64>,
}

impl Acceptor {
    fn run(&self, poller: &Poller) {
        let mut events = Events::with_capacity(4);
        thread::scope(|scope| {
            let mut playing = Vec::new();
            while !self.state.is_over() {
                let left = self.state.until.saturating_duration_since(Instant::now());
                if poller.wait(&mut events, Some(left)).is_err() {
                    return;
                }
                while let Some(socket) = self.accept() {
                    playing.retain(|thread: &thread::ScopedJoinHandle<'_, ()>| !thread.is_finished());
                    let index = self.accepted.fetch_add(1, Ordering::AcqRel);
                    let script = self.case.script(usize::try_from(index).unwrap_or(usize::MAX));
                    if playing.len() == CONNECTIONS_MAX {
                        continue;
                    }
                    let Ok(player) = ScriptPlayer::new(&self.state, socket) else { continue };
                    let started = thread::Builder::new().spawn_scoped(scope, move || player.play(script));
                    playing.extend(started.ok());
                }
            }
        });
        drop(self.state.listener.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn accept(&self) -> Option<Socket> {
        let listener = self.state.listener.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match listener.as_ref()?.accept() {
                Ok((socket, _)) => return Some(socket),
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(_) => {
                    // All file descriptors are in use, so trying again at once would fail too.
                    thread::sleep(Duration::from_millis(20));
                    return None;
                }
            }
        }
    }
}
