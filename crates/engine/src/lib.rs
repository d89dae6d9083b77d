//! How load is made.
//!
//! A [`Plan`] says what is wanted; [`run`] starts one thread for each core, each with its own run loop, slots,
//! connections, random numbers and recorder, and hands finished intervals to an [`Observer`]. There is one run loop,
//! [`run_loop::RunLoop`]: a state machine that is stepped with the sockets that became ready and answers until when it
//! can wait. Load model, stop rule, checks and redirects are values that it is given. It reaches the world through a
//! [`network::Network`] only, of which there are two: epoll over real sockets, and a simulation on simulated time.
//!
//! The engine prints nothing, reads no flags and holds no body in memory.

mod busy_wait;
pub mod cgroup;
pub mod control;
mod dating;
pub mod dialect;
pub mod epoll;
pub mod http2;
pub mod network;
pub mod object_sizes;
pub mod single_requests;

pub mod owners;
pub mod plan;
mod proc_file;
mod random;
pub mod resolver;
mod run;
pub mod run_loop;
pub mod schedule;
pub mod sessions;
pub mod sim;
mod stalls;
pub mod tls;
mod unattributed;

mod watch;

pub use control::{Control, StopReason};
pub use plan::Plan;
pub use run::{Ending, Observer, RunError, give_way, resolve_all, run};
pub use run_loop::{HopEntry, Left, OpEntry, OpenUpload, OpenUploads};
