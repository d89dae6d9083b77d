//! Observations of a thread about itself and its network, such as stalls, load, and the paths of its connections.

pub(in crate::run_loop) mod client_stalls;
pub(in crate::run_loop) mod path_samples;
pub(in crate::run_loop) mod thread_load;
