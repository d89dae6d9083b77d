//! Goals for ratios: Plimsoll's cost divided by the cost of a peer.

use super::clients::Client;
use super::workload::Workload;

/// Returns the goal: the maximum of Plimsoll's cost divided by the cost of the peer. `None` if there is no goal.
pub fn goal(work: Workload, peer: Client) -> Option<f64> {
    match (work, peer) {
        (Workload::Small64, Client::Wrk) => Some(0.85),
        (Workload::Small64, Client::Oha) => Some(0.75),
        (Workload::Small1000, Client::Wrk) => Some(0.9),
        (Workload::Small1000, Client::Oha) => Some(0.5),
        (Workload::Large | Workload::Large100m, Client::Wrk) => Some(0.15),
        (Workload::Large | Workload::Large100m, Client::Oha) => Some(0.25),
        (Workload::Verified100m, Client::Wrk) => Some(1.0),
        (Workload::Range1000, Client::Wrk) => Some(0.35),
        (Workload::TlsSmall64, Client::Wrk) => Some(1.0),
        (Workload::TlsLarge100m, Client::Wrk | Client::H2load) => Some(1.2),
        _ => None,
    }
}
