//! Long uploads: when they stop, how far ahead they promise work, and how they go on after an interruption.
//!
//! Everything here is a pure function of numbers and times that the caller passes in, so that two weeks of a fill can be tried in
//! milliseconds. The caller makes the load, writes the journal and asks the target.

pub mod in_doubt;
pub mod reservation;
pub mod stop_rule;
pub mod stop_watch;
pub mod trailing;
