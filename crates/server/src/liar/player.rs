//! The player of a script on one connection.

use std::io::{self, ErrorKind};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sys::Socket;
use wire::{Event, RequestReader};

use super::http2_frames::{Frames, NotHttp2};
use super::step::{REPEAT_BYTES_MAX, Repeat, RepeatEnd, RequestCheck, Step};

/// Interval at which waiting calls check whether the liar must stop.
const TICK: Duration = Duration::from_millis(20);

/// State that all connections of a liar share.
#[derive(Debug)]
pub(super) struct LiarState {
    /// The listening socket; `None` after it was closed.
    pub(super) listener: Mutex<Option<Socket>>,
    pub(super) stop: AtomicBool,
    pub(super) until: Instant,
    pub(super) requests: AtomicU64,
}

impl LiarState {
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire) || Instant::now() >= self.until
    }

    fn close_listener(&self) {
        drop(self.listener.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Maximum number of bytes of a request body that are kept for checks.
const BODY_KEPT_MAX: usize = 64 * 1024;

/// The parts of a request that scripts can check.
#[derive(Default)]
struct Request {
    /// Names of the header fields in lowercase.
    fields: Vec<Vec<u8>>,
    body: Vec<u8>,
}

impl Request {
    fn passes(&self, check: &RequestCheck) -> bool {
        let has = |name: &str| self.fields.iter().any(|field| field == name.to_ascii_lowercase().as_bytes());
        check.with.iter().all(|name| has(name))
            && !check.without.iter().any(|name| has(name))
            && check.body.as_ref().is_none_or(|body| body.as_bytes() == self.body)
    }
}

/// The part of a request to read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadUntil {
    HeadEnd,
    End,
}

/// The reason why a script ended before its last step.
enum Stopped {
    /// The client closed or broke the connection.
    ClientGone,
    /// The client sent something unexpected.
    Unexpected,
    /// The liar is stopping.
    Over,
    Io,
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Self::ClientGone,
            _ => Self::Io,
        }
    }
}

impl From<NotHttp2> for Stopped {
    fn from(_: NotHttp2) -> Self {
        Self::Unexpected
    }
}

/// A connection on which a script is played.
pub(super) struct ScriptPlayer<'a> {
    state: &'a LiarState,
    socket: Socket,
    /// Received bytes that are not part of a request yet.
    rest: Vec<u8>,
    /// A request of which only the head was read so far.
    begun: Option<(RequestReader, Request)>,
    frames: Frames,
}

impl<'a> ScriptPlayer<'a> {
    pub(super) fn new(state: &'a LiarState, socket: Socket) -> io::Result<Self> {
        socket.set_blocking(true)?;
        socket.set_read_timeout(Some(TICK))?;
        socket.set_write_timeout(Some(TICK))?;
        socket.set_nodelay(true)?;
        Ok(Self { state, socket, rest: Vec::new(), begun: None, frames: Frames::default() })
    }

    /// Plays `script`. After its last step, the connection stays open until the client closes it.
    pub(super) fn play(mut self, script: &[Step]) {
        for step in script {
            let done = match step {
                Step::ExpectRequest => self.read_request().map(|_| ()),
                Step::Expect(check) => match self.read_request() {
                    Ok(request) if request.passes(check) => Ok(()),
                    Ok(_) => return,
                    Err(cut) => Err(cut),
                },
                Step::ExpectHead(check) => match self.read_head() {
                    Ok(true) if self.begun.as_ref().is_some_and(|(_, request)| request.passes(check)) => Ok(()),
                    Ok(_) => return,
                    Err(cut) => Err(cut),
                },
                Step::ExpectStream => self.read_stream(),
                Step::Quiet(time) => self.quiet(*time),
                Step::Send(bytes) => self.send(bytes),
                Step::EachRequest(bytes) => self.respond_to_all(bytes),
                Step::Repeat(repeat) => self.repeat(repeat),
                Step::Sleep(time) => self.sleep(*time),
                Step::HalfClose => self.socket.shutdown_write().map_err(Stopped::from),
                Step::Close => return,
                Step::Reset => {
                    // Ignore an error here: the connection then closes without a reset, and a test that expects a reset
                    // fails anyway.
                    let _ = self.socket.reset_on_close();
                    return;
                }
                Step::CloseListener => {
                    self.state.close_listener();
                    Ok(())
                }
            };
            if done.is_err() {
                return;
            }
        }
        while self.receive().is_ok() {}
    }

    /// Waits for bytes from the client.
    fn receive(&mut self) -> Result<(), Stopped> {
        while !self.receive_once()? {}
        Ok(())
    }

    /// Receives bytes from the client. Returns whether any arrived within [`TICK`].
    fn receive_once(&mut self) -> Result<bool, Stopped> {
        let mut buffer = [0; 16 * 1024];
        if self.state.is_over() {
            return Err(Stopped::Over);
        }
        match self.socket.recv(&mut buffer) {
            Ok(0) => Err(Stopped::ClientGone),
            Ok(bytes) => {
                self.rest.clear();
                self.rest.extend_from_slice(&buffer[..bytes]);
                Ok(true)
            }
            Err(error) if is_tick(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn read_request(&mut self) -> Result<Request, Stopped> {
        let (mut reader, mut request) = self.begun.take().unwrap_or_else(|| (RequestReader::new(), Request::default()));
        while !self.read_some(&mut reader, &mut request, ReadUntil::End)? {
            self.receive()?;
        }
        self.state.requests.fetch_add(1, Ordering::AcqRel);
        Ok(request)
    }

    /// Reads a complete HTTP/2 request.
    fn read_stream(&mut self) -> Result<(), Stopped> {
        while !self.frames.take(&mut self.rest)? {
            self.receive()?;
        }
        self.state.requests.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Reads the head of the next request. Returns false if the head was already read.
    fn read_head(&mut self) -> Result<bool, Stopped> {
        if self.begun.is_some() {
            return Ok(false);
        }
        let (mut reader, mut request) = (RequestReader::new(), Request::default());
        while !self.read_some(&mut reader, &mut request, ReadUntil::HeadEnd)? {
            self.receive()?;
        }
        self.begun = Some((reader, request));
        Ok(true)
    }

    /// Parses the received bytes. Returns whether they contain the request up to `until`.
    fn read_some(
        &mut self,
        reader: &mut RequestReader,
        request: &mut Request,
        until: ReadUntil,
    ) -> Result<bool, Stopped> {
        let mut at = 0;
        let done = loop {
            let fields = &mut request.fields;
            let mut note = |name: &[u8], _: &[u8]| fields.push(name.to_ascii_lowercase());
            let progress = reader.read(&self.rest[at..], &mut note).map_err(|_| Stopped::Io)?;
            let from = at;
            at += progress.consumed;
            match progress.event {
                Event::NeedMore => break false,
                Event::Head if until == ReadUntil::HeadEnd => break true,
                Event::Head => {}
                Event::Body(range) => {
                    let piece = &self.rest[from + range.start..from + range.end];
                    let room = BODY_KEPT_MAX - request.body.len().min(BODY_KEPT_MAX);
                    request.body.extend_from_slice(&piece[..piece.len().min(room)]);
                }
                Event::End => break true,
            }
        };
        self.rest.drain(..at);
        Ok(done)
    }

    /// Waits for this time. Stops the script if anything arrives.
    fn quiet(&mut self, time: Duration) -> Result<(), Stopped> {
        let until = Instant::now() + time;
        while self.rest.is_empty() {
            if Instant::now() >= until {
                return Ok(());
            }
            if self.receive_once()? {
                break;
            }
        }
        Err(Stopped::Unexpected)
    }

    fn respond_to_all(&mut self, bytes: &[u8]) -> Result<(), Stopped> {
        loop {
            self.read_request()?;
            self.send(bytes)?;
        }
    }

    fn send(&self, mut bytes: &[u8]) -> Result<(), Stopped> {
        while !bytes.is_empty() {
            if self.state.is_over() {
                return Err(Stopped::Over);
            }
            match self.socket.send(bytes) {
                Ok(taken) => bytes = &bytes[taken..],
                Err(error) if is_tick(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn repeat(&self, repeat: &Repeat) -> Result<(), Stopped> {
        // Without pauses, many repetitions are sent in one call. The client sees no difference.
        let at_once = if repeat.pause.is_zero() { (64 * 1024 / repeat.what.len()).max(1) as u64 } else { 1 };
        let most = REPEAT_BYTES_MAX / repeat.what.len() as u64;
        let mut left = match repeat.until {
            RepeatEnd::Times(times) => u64::from(times).min(most),
            RepeatEnd::Closed => most,
        };
        while left > 0 {
            let now = left.min(at_once);
            self.send(&repeat.what.repeat(now as usize))?;
            left -= now;
            if left > 0 {
                self.sleep(repeat.pause)?;
            }
        }
        Ok(())
    }

    fn sleep(&self, time: Duration) -> Result<(), Stopped> {
        let until = Instant::now() + time;
        loop {
            if self.state.is_over() {
                return Err(Stopped::Over);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(TICK));
        }
    }
}

fn is_tick(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
