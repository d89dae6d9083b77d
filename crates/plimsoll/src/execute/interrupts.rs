//! What interrupts do to requests that are under way, in a run and beside it: one lets what is in flight end, another leaves at
//! once.

use super::live::LiveLine;
use crate::say;
use engine::{Control, StopReason};
use measure::Instant;
use sys::signals::Signal;

/// The interrupts that were obeyed. One that came before the first look is obeyed too.
#[derive(Debug, Default)]
pub struct Interrupts {
    seen: usize,
    signal: i32,
}

impl Interrupts {
    /// Obeys those that have come since the last look; `what` may still end, as the user is told.
    pub fn obey(&mut self, what: &str, live: &LiveLine, control: &Control, now: Instant) {
        let seen = sys::signals::interrupts();
        if seen.count <= self.seen {
            return;
        }
        self.signal = seen.last.unwrap_or(Signal::Interrupt).number();
        self.seen = seen.count;
        if self.seen > 1 {
            control.abandon(now);
        } else {
            control.stop(now, StopReason::Interrupted);
            live.clear();
            say::note(&format!("interrupted: {what} in flight may end; once more leaves at once"));
        }
    }

    /// Number of the signal that was obeyed last, and 0 before.
    pub fn signal(&self) -> i32 {
        self.signal
    }
}
