//! The engine generates load and measures the responses.
//!
//! A [`Plan`] describes a run. [`run`] starts one thread per core, each with its own run loop, slots, connections, random
//! numbers and recorder, and passes finished intervals to an [`Observer`]; [`run_to_summary`] adds them up. There is only one
//! run loop, [`run_loop::RunLoop`], for all kinds of runs. It is a state machine: its input is the sockets that became ready,
//! and it returns until when it can wait. The load model, the stop rule, checks and redirects are values in its plan. It
//! accesses sockets and the clock only through a [`network::Network`], which has two implementations: epoll over real sockets,
//! and a simulation on simulated time.
//!
//! The engine prints nothing, reads no flags and holds no body in memory.

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
pub use run::{Ending, Observer, RunError, give_way, resolve_all, run, run_to_summary};
pub use run_loop::{CreatedUpload, Handover, HopEntry, Left, OpEntry, OpenUpload, OpenUploads};
