//! The liar: a server of scripted raw bytes, one case for each way in which a server can misbehave.
//!
//! A case is a TOML file that says what is done on each connection, and what a client must make of it:
//!
//! ```toml
//! about = "closes before the whole body has come"
//! row = 33
//!
//! [[connection]]                      # the first; a second table would script the second and all further ones
//! script = [
//!   "expect_request",                 # reads one whole request
//!   { send = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf" },
//!   { sleep = "20ms" },
//!   "close",
//! ]
//!
//! [[there]]                           # connections to a second port, which stands for another host; may be left out
//! script = ["expect_request", "close"]
//!
//! [client]                            # how to drive it; all keys may be left out
//! method = "GET"
//! headers = ["Cookie: a=b"]
//! body = "text"                       # or `body_size = "32MiB"`: so many bytes, up to 64 MiB
//! chunked = false                     # how the body is framed
//! expect_continue = false             # whether the server is asked to agree to the body
//! http2 = false                       # whether HTTP/2 is spoken, without TLS
//! s3 = false                          # whether requests are signed for S3
//! range = "0-1023"
//! requests = 1                        # operations, one after the other; all but the last succeed
//! expect_size = 1024
//! expect_hash = "checksum"            # as `get --expect` takes it
//! head_timeout = "300ms"
//! idle_timeout = "300ms"
//! total_timeout = "600ms"
//!
//! [expect]                            # of the last operation
//! class = "incomplete"
//! cause = "body_cut_short"
//! ok = false
//! attempts = 1                        # with more, `earlier = [{ class = "...", cause = "..." }]` names those before
//! body_bytes = 4                      # left out where it depends on timing
//! flags = []                          # of all its attempts
//! reused = false
//! connections = 1                     # opened in all, at both ports; may be left out
//! ```
//!
//! Steps are `"expect_request"`, `{ expect = { with = ["cookie"], without = ["authorization"], body = "text" } }`
//! (closes after a request that is not so; each key may be left out), `{ expect_head = { with = ["expect"] } }` (reads
//! the head alone: the next step that reads a request reads its body), `"expect_stream"` (reads one whole request of
//! HTTP/2), `{ quiet = "500ms" }` (closes if anything comes in that time), `{ send = "text" }`, `{ send_hex = "00 ff"
//! }`, `{ each_request = "text" }` (answers every request so until the client closes), `{ repeat = { what = "text",
//! times = 9 } }` or `what_hex = "00 ff"`, and `until_closed = true` instead of `times`, all with an optional `pause =
//! "50ms"`, `{ sleep = "200ms" }`, `"half_close"`, `"close"`, `"reset"` and `"close_listener"`. In what is sent,
//! `{here}` and `{there}` stand for host and port of the first and of the second port. After the last step the
//! connection stays open, and what the client sends is dropped, until it closes. A `close` with unread bytes of the
//! client, and a `reset` at once after a `send`, may lose what was sent: read first, and sleep a little before.

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

/// Connections at once; those beyond are closed as they come.
const CONNECTIONS_MAX: usize = 64;
/// How long a liar lives by itself.
const LIFETIME: Duration = Duration::from_secs(20);
const BACKLOG: u32 = 128;
const LISTENER: u64 = 0;
const WAKER: u64 = 1;

/// A server that plays a [`Case`]. Dropping it stops it.
#[derive(Debug)]
pub struct Liar {
    address: SocketAddr,
    state: Arc<LiarState>,
    accepted: Arc<AtomicU64>,
    waker: Arc<Waker>,
    /// `None` once it has been waited for.
    handle: Option<JoinHandle<()>>,
    /// The second port of a case that has one.
    there: Option<Box<Self>>,
}

impl Liar {
    /// Plays `case` on a free port of the loopback address, for at most 20 seconds.
    ///
    /// # Errors
    /// The system lacks the means.
    pub fn start(case: Case) -> io::Result<Self> {
        Self::start_on(case, (Ipv4Addr::LOCALHOST, 0).into(), LIFETIME)
    }

    /// Plays `case` on `address` for at most `lifetime`.
    ///
    /// # Errors
    /// The address cannot be listened on, or the system lacks the means.
    pub fn start_on(case: Case, address: SocketAddr, lifetime: Duration) -> io::Result<Self> {
        Self::start_at(case, address, lifetime, None)
    }

    /// `here` is the first port when this is the second.
    fn start_at(mut case: Case, address: SocketAddr, lifetime: Duration, here: Option<SocketAddr>) -> io::Result<Self> {
        let listener = Socket::listen_tcp(address, BACKLOG, false)?;
        let address = listener.local_addr()?;
        let there = match case.take_there() {
            Some(there) => Some(Self::start_at(there, (address.ip(), 0).into(), lifetime, Some(address))?),
            None => None,
        };
        case.place(here.unwrap_or(address), there.as_ref().map_or(address, |there| there.address));
        let poller = Poller::new()?;
        let waker = Arc::new(Waker::new()?);
        poller.add(&listener, LISTENER, Interest::Read)?;
        poller.add(&*waker, WAKER, Interest::Read)?;
        let now = Instant::now();
        let state = Arc::new(LiarState {
            listener: Mutex::new(Some(listener)),
            stop: AtomicBool::new(false),
            // Too long to add is as good as a year.
            until: now.checked_add(lifetime).unwrap_or(now + Duration::from_secs(31_536_000)),
            requests: AtomicU64::new(0),
        });
        let accepted = Arc::new(AtomicU64::new(0));
        let acceptor = Acceptor { case, state: Arc::clone(&state), accepted: Arc::clone(&accepted) };
        let handle = thread::Builder::new().name("liar".to_owned()).spawn(move || acceptor.run(&poller))?;
        Ok(Self { address, state, accepted, waker, handle: Some(handle), there: there.map(Box::new) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections taken so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.accepted.load(Ordering::Acquire) + self.there.as_ref().map_or(0, |there| there.connections())
    }

    /// Requests that scripts have read whole so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::Acquire) + self.there.as_ref().map_or(0, |there| there.requests())
    }

    /// Waits until its time is over.
    pub fn wait(mut self) {
        self.join();
    }

    fn join(&mut self) {
        if let Some(handle) = self.handle.take() {
            // A thread that panicked has said so on its own.
            let _ = handle.join();
        }
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Release);
        // When it cannot be woken, it ends with its time.
        let _ = self.waker.wake();
        self.join();
    }
}

/// Takes connections and gives each a thread.
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
                    // No descriptor is left: at once again it would be no better.
                    thread::sleep(Duration::from_millis(20));
                    return None;
                }
            }
        }
    }
}
