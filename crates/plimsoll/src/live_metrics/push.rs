//! The thread that pushes metrics to an OpenTelemetry collector.

use super::Shared;
use super::endpoint::Endpoint;
use crate::failure::Failure;
use crate::saved::unix_ms;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use telemetry::otlp::{Times, encode};

/// Time between two pushes.
const EVERY: Duration = Duration::from_secs(10);

/// The thread that pushes. The thread ends when this value is dropped, after a last push.
pub struct Pusher {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pusher {
    /// Starts the thread. `started` is the start of the totals, in milliseconds since 1970.
    pub fn start(endpoint: Endpoint, shared: Arc<Shared>, started: u64) -> Result<Self, Failure> {
        let (stop, stopped) = channel();
        let work = move || sys::scheduling::behind_others(|| push_until_stopped(&endpoint, &shared, &stopped, started));
        let thread = std::thread::Builder::new().name("otlp".to_owned()).spawn(work);
        let thread =
            thread.map_err(|error| Failure::could_not_run(format!("--otlp: cannot start a thread: {error}")))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Pusher {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn push_until_stopped(endpoint: &Endpoint, shared: &Shared, stopped: &Receiver<()>, started: u64) {
    let instance = format!("{}-{started}", std::process::id());
    let mut failed = false;
    loop {
        let is_last = stopped.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout);
        // After a second interrupt, the program must end without delay.
        if is_last && sys::signals::interrupts().count > 1 {
            return;
        }
        let state = shared.lock().state.clone();
        let times = Times { start: started * 1_000_000, now: unix_ms() * 1_000_000 };
        let pushed = endpoint.push(encode(&state.families(), &instance, times));
        if let Err(why) = pushed
            && !failed
        {
            failed = true;
            let problem = format!("--otlp: cannot push to {}: {why}; the load goes on", endpoint.shown);
            *shared.problem() = Some(problem);
        }
        if is_last {
            return;
        }
    }
}
