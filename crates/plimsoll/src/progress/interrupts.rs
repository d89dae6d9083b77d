//! Interrupts during requests. After the first interrupt, the program waits for the requests in flight. The second
//! interrupt cuts them off.

use crate::console;
use crate::failure::Exit;
use engine::{Control, StopReason};
use measure::Instant;
use sys::signals::Signal;

/// The interrupts that were handled so far. The first check also handles interrupts that came before this value was
/// created.
#[derive(Debug, Default)]
pub struct Interrupts {
    seen: usize,
    signal: i32,
}

impl Interrupts {
    /// Handles the interrupts since the last check. `what` is the name of the work in flight, for the message.
    pub fn handle(&mut self, what: &str, control: &Control, now: Instant) {
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
            console::eprintln(&format!("interrupted: waiting for {what} in flight; interrupt again to leave at once"));
        }
    }

    /// Returns the number of the last signal that was handled, or 0.
    pub fn signal(&self) -> i32 {
        self.signal
    }
}

/// Returns the exit code after an interrupt.
pub fn exit_of_interrupt() -> Exit {
    Exit::Interrupted(interrupting_signal())
}

/// Returns the number of the signal that interrupted the program.
pub fn interrupting_signal() -> i32 {
    sys::signals::interrupts().last.map_or(2, Signal::number)
}
