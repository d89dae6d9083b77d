//! Connections and bytes, in a [`JsonReport`](super::JsonReport).

use super::times::Spread;
use crate::escape::escape;
use measure::Label;
use measure::summary::StageTotals;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SavedRun;

/// Connections of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionCounts {
    /// Number of connections that were opened.
    pub opened: u64,
    /// Number of connections that could not be opened.
    pub failed: u64,
    /// Time to open a connection, without the TLS handshake.
    pub connect: Spread,
    /// Number of TLS handshakes in which certificates were exchanged.
    pub handshakes_full: u64,
    /// Number of TLS handshakes that resumed an earlier session.
    pub handshakes_resumed: u64,
    /// Time of TLS handshakes.
    pub handshake: Spread,
    /// Opened connections by host. Empty if the run was saved by a version that did not record them.
    pub hosts: Vec<HostConnections>,
}

/// Connections to one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostConnections {
    /// The host.
    pub host: String,
    /// Number of connections that were opened.
    pub opened: u64,
}

/// Bytes received and sent, by stage of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Bytes of the warm-up.
    pub warmup: StageBytes,
    /// Bytes of the measured window.
    pub measured: StageBytes,
    /// Bytes of the drain.
    pub drain: StageBytes,
    /// Received body bytes per second of the window.
    pub throughput_bytes_per_second: Option<f64>,
    /// Throughput without attempts that failed or were redirected.
    pub goodput_bytes_per_second: Option<f64>,
    /// Body bytes that left the client per second of the window. Bytes that still wait in the client's send buffers do not count.
    pub sending_bytes_per_second: Option<f64>,
    /// `sending_bytes_per_second` without attempts that failed or were redirected.
    pub good_sending_bytes_per_second: Option<f64>,
}

/// Bytes of one stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageBytes {
    /// Length of the stage, in seconds.
    pub length_seconds: f64,
    /// Bytes of received bodies.
    pub body_bytes: u64,
    /// Bytes of received headers, framing and trailers.
    pub overhead_bytes: u64,
    /// Sent bytes.
    pub sent_bytes: u64,
    /// Bytes of sent bodies, which are included in `sent_bytes`.
    pub sent_body_bytes: u64,
}

impl ConnectionCounts {
    pub(super) fn of(run: &SavedRun) -> Self {
        let connections = &run.summary().stats.connections;
        let host = |host: &measure::stats::HostConnections| HostConnections {
            host: host_name(&host.host),
            opened: host.opened,
        };
        Self {
            opened: connections.opened,
            failed: connections.failed,
            connect: Spread::of(&connections.connect),
            handshakes_full: connections.handshakes_full,
            handshakes_resumed: connections.handshakes_resumed,
            handshake: Spread::of(&connections.handshake),
            hosts: connections.hosts.iter().map(host).collect(),
        }
    }
}

impl Bytes {
    pub(super) fn of(run: &SavedRun) -> Self {
        let summary = run.summary();
        Self {
            warmup: StageBytes::of(&summary.warmup),
            measured: StageBytes::of(&summary.measured),
            drain: StageBytes::of(&summary.drain),
            throughput_bytes_per_second: summary.throughput(),
            goodput_bytes_per_second: summary.goodput(),
            sending_bytes_per_second: summary.sending(),
            good_sending_bytes_per_second: summary.good_sending(),
        }
    }
}

impl StageBytes {
    fn of(totals: &StageTotals) -> Self {
        Self {
            length_seconds: totals.seconds,
            body_bytes: totals.traffic.body,
            overhead_bytes: totals.traffic.overhead,
            sent_bytes: totals.traffic.sent,
            sent_body_bytes: totals.traffic.sent_body,
        }
    }
}

/// Returns the name of a host. The name always includes a port, so it cannot be confused with `other`.
pub(super) fn host_name(host: &Label) -> String {
    host.value().map_or_else(|| "other".to_owned(), escape)
}
