//! Tests of the journal.

mod faults;
mod format;
mod samples;
mod sim_disk;
mod tails;
