//! Long-running work: shows its progress (live view and live line), handles interrupts, and sends requests outside of runs.

mod choice;
mod interrupts;
mod live_line;
mod shown;
pub mod state;
mod view;

pub use choice::View;
pub use interrupts::{Interrupts, exit_of_interrupt, interrupting_signal};
pub use live_line::LiveLine;
pub use shown::Progress;

use crate::failure::Failure;
use engine::Control;
use measure::Instant;
use std::time::Duration;

/// Callback that gets the number of responses so far, about every 50 ms.
pub type Tick<'t> = dyn FnMut(u64, &Control, Instant) + 't;

/// Makes requests outside of a run, until all requests have ended or the user interrupts. `describe` returns the text
/// of the live line from the number of responses and the elapsed time.
pub fn with_progress<T>(describe: impl Fn(u64, Duration) -> String, ask: impl FnOnce(&mut Tick<'_>) -> T) -> T {
    let begun = std::time::Instant::now();
    let (mut live, mut interrupts) = (LiveLine::new(), Interrupts::default());
    let result = ask(&mut |seen, control, now| {
        interrupts.handle("requests", control, now);
        live.message(begun.elapsed(), &describe(seen, begun.elapsed()));
    });
    live.clear();
    result
}

/// Returns the failure for requests outside of a run. The message shows whether the user interrupted the requests.
pub fn requests_failed(text: impl std::fmt::Display) -> Failure {
    if sys::signals::interrupts().count > 0 {
        requests_interrupted(text.to_string())
    } else {
        Failure::could_not_run(text)
    }
}

/// Returns the failure for requests that were interrupted.
pub fn requests_interrupted(text: impl Into<String>) -> Failure {
    Failure::Message(exit_of_interrupt(), text.into())
}
