//! The engine generates load and measures the responses.
//!
//! A [`Plan`] describes a run. [`run`] starts one thread per core. Each thread has its own run loop, slots,
//! connections, random numbers and recorder. The loop passes finished intervals to an [`Observer`]. [`run_to_summary`]
//! adds up the intervals of a run. All kinds of runs use the same run loop, [`run_loop::RunLoop`]. The run loop is a
//! state machine. Each step takes the sockets that became ready, and returns the instant until which the thread can
//! wait. The load model, the stop rule, checks and redirects are values in the plan. The loop accesses sockets and the
//! clock only through the trait [`network::Network`]. One implementation of the trait uses epoll and real sockets. The
//! other implementation simulates sockets and time.
//!
//! The engine prints nothing, reads no flags and keeps no body in memory.

mod accessed_objects;
mod arrival_sampling;
mod busy_wait;
pub mod cgroup;
pub mod control;
pub mod dialect;
pub mod epoll;
pub mod host_counters;
pub mod http2_session;
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
pub use run::{Ending, Observer, RunError, give_way, resolve_all, run, run_from, run_to_summary};
pub use run_loop::{CreatedUpload, Handover, HopEntry, Left, OpEntry, OpenUpload, OpenUploads, Sent};
