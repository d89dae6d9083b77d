//! What redirects cost, in the report for machines.

use super::Spread;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Measured operations that were redirected. Times are of those that ended well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Redirects {
    /// How many.
    pub operations: u64,
    /// Those that ended well.
    pub operations_ok: u64,
    /// Attempts of all of them.
    pub attempts: u64,
    /// Redirects that the longest one followed.
    pub hops_max: u64,
    /// Their response time.
    pub response: Spread,
    /// Their service time.
    pub service: Spread,
    /// Time that they waited for answers which were only redirects.
    pub redirect_nanos: u64,
    /// The same as a share of their response time.
    pub redirect_share: Option<f64>,
    /// Time from the end of each redirect until the next request was sent.
    pub reach_nanos: u64,
    /// The same as a share of their response time.
    pub reach_share: Option<f64>,
    /// Body bytes of redirects.
    pub redirect_body_bytes: u64,
    /// Bytes of heads and framing of redirects.
    pub redirect_overhead_bytes: u64,
    /// Their requests by position and host.
    pub hops: Vec<HopFigures>,
}

/// The requests that stood at one position and went to one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HopFigures {
    /// Redirects followed before them; 15 stands for all further ones too.
    pub position: u8,
    /// The host.
    pub host: String,
    /// Attempts made.
    pub attempts: u64,
    /// Those whose answer was a redirect that was followed.
    pub redirects: u64,
    /// Connections opened for them.
    pub connections_opened: u64,
    /// Body bytes received.
    pub body_bytes: u64,
    /// Bytes of heads and framing received.
    pub overhead_bytes: u64,
    /// Time before they were sent, all together: since the answer before, or since the intended start.
    pub until_sent_nanos: u64,
    /// From sending to the end of the answer.
    pub service: Spread,
    /// Both as a share of the response time of the whole operations.
    pub response_share: Option<f64>,
}
