//! The behavior of the target, and the amount of load.

use std::time::Duration;

/// Behavior of the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behavior {
    /// Requests served at the same time; 0 for no limit.
    pub servers: u32,
    /// Service time of a request, or its mean.
    pub service: Duration,
    /// `true` if service times are exponentially distributed. Otherwise all of them are equal.
    pub exponential: bool,
    /// Bytes per second that all requests share; 0 for no limit.
    pub rate: u64,
    /// Size of a body in bytes.
    pub size: u64,
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

/// Amount of load in each model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Requests per second of the open model.
    pub rate: u32,
    /// Slots of the closed model.
    pub slots: u32,
}
