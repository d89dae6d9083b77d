//! Rules for long uploads: when to stop, how many objects to reserve in the journal, and how to continue after an
//! interruption.
//!
//! The code does no I/O and reads no clock: the caller passes in numbers and times. Tests can therefore simulate a fill
//! of two weeks in milliseconds. The caller generates the load, writes the journal and sends the requests to the
//! target.

pub mod in_doubt;
pub mod reservation;
pub mod stop_rule;
pub mod stop_watch;
pub mod streaks;
pub mod trailing;
