//! Collectors that the user names on the command line, and the thread that polls them during a run.

mod access;
mod during_run;
mod what;

pub use access::Access;
pub use during_run::Collecting;
pub use what::Collect;
