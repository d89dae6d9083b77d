//! Collectors that the command line names: what they poll, and the thread that polls during a run.

mod access;
mod during_run;
mod what;

pub use access::Access;
pub use during_run::Collecting;
pub use what::Collect;
