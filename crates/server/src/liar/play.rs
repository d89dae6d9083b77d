//! Plays a script on one connection.

use std::io::{self, ErrorKind};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sys::Socket;
use wire::{Event, RequestReader};

use super::step::{REPEAT_BYTES_MAX, Repeat, Step, Until};

/// Calls that wait look so often whether they still should.
const TICK: Duration = Duration::from_millis(20);

/// What all connections of one liar share.
#[derive(Debug)]
pub(super) struct Stage {
    /// The listening socket; taken out to close it.
    pub(super) listener: Mutex<Option<Socket>>,
    pub(super) stop: AtomicBool,
    pub(super) until: Instant,
    pub(super) requests: AtomicU64,
}

impl Stage {
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire) || Instant::now() >= self.until
    }

    fn close_listener(&self) {
        drop(self.listener.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Why a script ends before its last step.
enum Cut {
    /// The client has closed, or broken the connection.
    ClientGone,
    /// The liar is to stop.
    Over,
    Io,
}

impl From<io::Error> for Cut {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Self::ClientGone,
            _ => Self::Io,
        }
    }
}

/// A connection with its script.
pub(super) struct Player<'a> {
    stage: &'a Stage,
    socket: Socket,
    /// Received, and not yet part of a request.
    rest: Vec<u8>,
}

impl<'a> Player<'a> {
    pub(super) fn new(stage: &'a Stage, socket: Socket) -> io::Result<Self> {
        socket.set_blocking(true)?;
        socket.set_read_timeout(Some(TICK))?;
        socket.set_write_timeout(Some(TICK))?;
        socket.set_nodelay(true)?;
        Ok(Self { stage, socket, rest: Vec::new() })
    }

    /// Plays `script`. After its last step the connection stays open until the client closes it.
    pub(super) fn play(mut self, script: &[Step]) {
        for step in script {
            let done = match step {
                Step::ExpectRequest => self.read_request(),
                Step::Send(bytes) => self.send(bytes),
                Step::Repeat(repeat) => self.repeat(repeat),
                Step::Sleep(time) => self.sleep(*time),
                Step::HalfClose => self.socket.shutdown_write().map_err(Cut::from),
                Step::Close => return,
                Step::Reset => {
                    // Without it the close is an orderly one, and the test that expects a reset says so.
                    let _ = self.socket.reset_on_close();
                    return;
                }
                Step::CloseListener => {
                    self.stage.close_listener();
                    Ok(())
                }
            };
            if done.is_err() {
                return;
            }
        }
        while self.receive().is_ok() {}
    }

    /// Bytes from the client; 0 when it has closed.
    fn receive(&mut self) -> Result<usize, Cut> {
        let mut buffer = [0; 16 * 1024];
        loop {
            if self.stage.is_over() {
                return Err(Cut::Over);
            }
            match self.socket.recv(&mut buffer) {
                Ok(0) => return Err(Cut::ClientGone),
                Ok(bytes) => {
                    self.rest.clear();
                    self.rest.extend_from_slice(&buffer[..bytes]);
                    return Ok(bytes);
                }
                Err(error) if is_tick(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn read_request(&mut self) -> Result<(), Cut> {
        let mut reader = RequestReader::new();
        loop {
            let mut at = 0;
            loop {
                let progress = reader.read(&self.rest[at..], &mut |_, _| {}).map_err(|_| Cut::Io)?;
                at += progress.consumed;
                match progress.event {
                    Event::NeedMore => break,
                    Event::Head | Event::Body(_) => {}
                    Event::End => {
                        self.rest.drain(..at);
                        self.stage.requests.fetch_add(1, Ordering::AcqRel);
                        return Ok(());
                    }
                }
            }
            self.receive()?;
        }
    }

    fn send(&self, mut bytes: &[u8]) -> Result<(), Cut> {
        while !bytes.is_empty() {
            if self.stage.is_over() {
                return Err(Cut::Over);
            }
            match self.socket.send(bytes) {
                Ok(taken) => bytes = &bytes[taken..],
                Err(error) if is_tick(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn repeat(&self, repeat: &Repeat) -> Result<(), Cut> {
        // Without pauses many go at once: what the client sees is the same.
        let at_once = if repeat.pause.is_zero() { (64 * 1024 / repeat.what.len()).max(1) as u64 } else { 1 };
        let most = REPEAT_BYTES_MAX / repeat.what.len() as u64;
        let mut left = match repeat.until {
            Until::Times(times) => u64::from(times).min(most),
            Until::Closed => most,
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

    fn sleep(&self, time: Duration) -> Result<(), Cut> {
        let until = Instant::now() + time;
        loop {
            if self.stage.is_over() {
                return Err(Cut::Over);
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
