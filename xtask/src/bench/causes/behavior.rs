//! The behavior of the target, and the amount of load.

use std::time::Duration;

/// Behavior of the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behavior {
    /// Maximum number of requests served at the same time; 0 for no limit.
    pub servers: u32,
    /// `true` if only uploads take service time, and all other requests get their response at once.
    pub uploads_only: bool,
    /// Service time of every request, or the mean service time if `exponential` is set.
    pub service: Duration,
    /// `true` if service times are exponentially distributed. Otherwise all service times are equal.
    pub exponential: bool,
    /// Bytes per second that all requests share; 0 for no limit.
    pub rate: u64,
    /// Size of a body in bytes.
    pub size: u64,
    /// Maximum number of requests served per second. Further requests are refused at once; 0 for no limit.
    pub tokens: u32,
    /// Pauses of the target.
    pub stall: Option<Stall>,
}

/// Pauses of a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// Time from the first request to the start of the first pause.
    pub at: Duration,
    /// Duration of each pause.
    pub length: Duration,
    /// Time from the start of a pause to the start of the next one; `None` if there is only one pause.
    pub every: Option<Duration>,
}

/// Amount of load, for the open and for the closed model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Requests per second in the open model.
    pub rate: u32,
    /// Number of slots in the closed model.
    pub slots: u32,
}
