//! Requests before or after a run, watched: how far they have come is shown, and an interrupt ends them.

use super::interrupts::Interrupts;
use super::live::LiveLine;
use crate::failure::Failure;
use engine::Control;
use measure::Instant;
use std::time::Duration;

/// What is told about every 50 ms: how many answers have come.
pub type Tick<'t> = dyn FnMut(u64, &Control, Instant) + 't;

/// Makes requests while a line of `describe` (answers so far, time so far) shows how far they have come.
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

/// How the program ends when such requests came to nothing, for which an interrupt may be the reason.
pub fn failed(text: impl std::fmt::Display) -> Failure {
    if sys::signals::interrupts().count > 0 { interrupted(text.to_string()) } else { Failure::could_not_run(text) }
}

/// How the program ends when such requests were interrupted.
pub fn interrupted(text: impl Into<String>) -> Failure {
    Failure::Message(super::interrupted(), text.into())
}
