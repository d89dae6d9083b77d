//! Requests before or after a run, with a progress line, and ended by an interrupt.

use super::interrupts::Interrupts;
use super::live::LiveLine;
use crate::failure::Failure;
use engine::Control;
use measure::Instant;
use std::time::Duration;

/// Callback about every 50 ms, with the number of responses so far.
pub type Tick<'t> = dyn FnMut(u64, &Control, Instant) + 't;

/// Makes requests and shows `describe` (responses so far, elapsed time) as their progress.
pub fn watched<T>(describe: impl Fn(u64, Duration) -> String, ask: impl FnOnce(&mut Tick<'_>) -> T) -> T {
    let begun = std::time::Instant::now();
    let (mut live, mut interrupts) = (LiveLine::new(true), Interrupts::default());
    let answer = ask(&mut |seen, control, now| {
        interrupts.obey("requests", &live, control, now);
        live.message(begun.elapsed(), &describe(seen, begun.elapsed()));
    });
    live.clear();
    answer
}

/// Returns the failure of such requests. An interrupt may be the reason.
pub fn failed(text: impl std::fmt::Display) -> Failure {
    if sys::signals::interrupts().count > 0 { interrupted(text.to_string()) } else { Failure::could_not_run(text) }
}

/// Returns the failure of requests that were interrupted.
pub fn interrupted(text: impl Into<String>) -> Failure {
    Failure::Message(super::interrupted(), text.into())
}
