//! Attempts of uploads without a result. The journal records their sums from time to time, so that a kill does not lose
//! their count.

use engine::{OpEntry, Sent};
use std::time::{Duration, Instant};
use store::journal::Unsettled;

/// Time between two records while no upload ends. If the process is killed, the attempts after the last record are not
/// counted.
const EVERY: Duration = Duration::from_secs(10);

/// Attempts of a session's uploads without a result.
#[derive(Debug)]
pub struct UnsettledUploads {
    /// Attempts of uploads that have ended without a result.
    ended: Unsettled,
    /// The newest record.
    recorded: Unsettled,
    /// Time of the newest record; `None` if uploads have ended since then.
    recorded_at: Option<Instant>,
}

impl UnsettledUploads {
    /// Returns the state at the start of a run. `recorded` is the newest record of the session, from an earlier run.
    pub fn after(recorded: Unsettled) -> Self {
        Self { ended: recorded, recorded, recorded_at: Some(Instant::now()) }
    }

    /// Adds an upload that has ended without a result. The next round or session asks the target about the object.
    pub fn add(&mut self, op: &OpEntry) {
        let Unsettled { attempts, sent_bytes } = &mut self.ended;
        *attempts = attempts.saturating_add(op.attempts.into());
        *sent_bytes = sent_bytes.saturating_add(op.uploaded_bytes);
    }

    /// Makes the next record due after uploads have ended, because their attempts are no longer in flight.
    pub fn note_ended(&mut self) {
        self.recorded_at = None;
    }

    /// Returns the next record if it is due.
    pub fn due(&mut self, in_flight: Sent) -> Option<Unsettled> {
        if self.recorded_at.is_some_and(|at| at.elapsed() < EVERY) {
            return None;
        }
        self.recorded_at = Some(Instant::now());
        let now = Unsettled {
            attempts: self.ended.attempts.saturating_add(in_flight.attempts),
            sent_bytes: self.ended.sent_bytes.saturating_add(in_flight.bytes),
        };
        (std::mem::replace(&mut self.recorded, now) != now).then_some(now)
    }
}
