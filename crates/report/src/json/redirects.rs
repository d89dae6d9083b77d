//! Redirected operations, in a [`JsonReport`](super::JsonReport).

use super::times::Spread;
use super::traffic::host_name;
use measure::stats::redirect_chains::{HopStats, RedirectChains};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Measured operations that were redirected. Times are those of successful operations only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Redirects {
    /// Number of operations that were redirected.
    pub operations: u64,
    /// Operations that succeeded.
    pub operations_ok: u64,
    /// Attempts of all operations that were redirected.
    pub attempts: u64,
    /// Maximum number of redirects that one operation followed.
    pub hops_max: u64,
    /// Response time.
    pub response: Spread,
    /// Service time.
    pub service: Spread,
    /// Total time spent on responses that were redirects.
    pub redirect_nanos: u64,
    /// `redirect_nanos` as a share of response time.
    pub redirect_share: Option<f64>,
    /// Total time between the end of a redirect and the sending of the next request.
    pub follow_nanos: u64,
    /// `follow_nanos` as a share of response time.
    pub follow_share: Option<f64>,
    /// Body bytes of responses that were redirects.
    pub redirect_body_bytes: u64,
    /// Bytes of headers and framing of responses that were redirects.
    pub redirect_overhead_bytes: u64,
    /// Requests by position in the redirect chain and by host.
    pub hops: Vec<HopMetrics>,
}

/// Requests to one host at one position in a redirect chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HopMetrics {
    /// Number of redirects before these requests; 15 means 15 or more.
    pub position: u8,
    /// The host.
    pub host: String,
    /// Attempts.
    pub attempts: u64,
    /// Attempts whose response was a redirect that the client followed.
    pub redirects: u64,
    /// Connections that were opened for these requests.
    pub connections_opened: u64,
    /// Body bytes received.
    pub body_bytes: u64,
    /// Bytes of headers and framing received.
    pub overhead_bytes: u64,
    /// Total time before these requests were sent. The time before a request starts at the previous response, or at the
    /// intended start of the operation.
    pub before_sent_nanos: u64,
    /// Time from sending to the end of the response.
    pub service: Spread,
    /// Sum of `before_sent_nanos` and service time, as a share of the total response time of all redirected operations.
    pub response_share: Option<f64>,
}

impl Redirects {
    pub(super) fn of(chains: &RedirectChains) -> Self {
        let hop = |row: &HopStats| HopMetrics {
            position: row.position,
            host: host_name(&row.host),
            attempts: row.attempts,
            redirects: row.redirects,
            connections_opened: row.opened,
            body_bytes: row.body_bytes,
            overhead_bytes: row.overhead_bytes,
            before_sent_nanos: row.until_sent_nanos,
            service: Spread::of(&row.service),
            response_share: chains.share(row.nanos()),
        };
        let mut hops: Vec<HopMetrics> = chains.rows.iter().map(hop).collect();
        hops.sort_by(|a, b| (a.position, &a.host).cmp(&(b.position, &b.host)));
        Self {
            operations: chains.ops,
            operations_ok: chains.ok,
            attempts: chains.attempts,
            hops_max: chains.hops_max,
            response: Spread::of(&chains.response),
            service: Spread::of(&chains.service),
            redirect_nanos: chains.redirect_nanos,
            redirect_share: chains.share(u128::from(chains.redirect_nanos)),
            follow_nanos: chains.reach_nanos,
            follow_share: chains.share(u128::from(chains.reach_nanos)),
            redirect_body_bytes: chains.redirect_body_bytes,
            redirect_overhead_bytes: chains.redirect_overhead_bytes,
            hops,
        }
    }
}
