//! Rules for long uploads: when to stop, how many objects to reserve in the journal, and how to continue after an
//! interruption.
//!
//! All functions are pure: the caller passes in numbers and times. So tests can run two weeks of a fill in
//! milliseconds. The caller generates the load, writes the journal and sends the requests to the target.

pub mod in_doubt;
pub mod reservation;
pub mod stop_rule;
pub mod stop_watch;
pub mod trailing;
