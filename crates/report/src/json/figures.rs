//! The figures of a [`JsonReport`](super::JsonReport): counts, times, speeds, bytes, and what the client cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Operations and attempts of the measured window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operations {
    /// Length of the window in seconds.
    pub window_seconds: f64,
    /// Asked for by the load.
    pub offered: u64,
    /// Taken by the client.
    pub started: u64,
    /// Ended, well or not.
    pub completed: u64,
    /// Ended well.
    pub ok: u64,
    /// Failed.
    pub failed: u64,
    /// Offered and never started.
    pub dropped: u64,
    /// In flight when the drain was over.
    pub unfinished: u64,
    /// Requests made.
    pub attempts: u64,
    /// Attempts that followed a redirect.
    pub hops: u64,
    /// Attempts that sent an operation again after a stale kept connection.
    pub resends: u64,
    /// Offered rate; null without a window.
    pub offered_per_second: Option<f64>,
    /// Started rate.
    pub started_per_second: Option<f64>,
    /// Completed rate.
    pub completed_per_second: Option<f64>,
    /// Rate of those that ended well.
    pub ok_per_second: Option<f64>,
    /// Those that ended well among those completed or dropped.
    pub success_share: Option<f64>,
    /// Operations in flight on average over the window.
    pub in_flight_mean: Option<f64>,
    /// Operations in flight at any instant of the window, at most; with several threads an upper bound.
    pub in_flight_peak: u64,
}

/// Times of operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// End − intended, of operations that ended well.
    pub response: Spread,
    /// Percentiles of response time of all operations; failed and dropped ones are beyond any time.
    pub response_of_all: Vec<QuantileNanos>,
    /// End − sent, of operations that ended well.
    pub service: Spread,
    /// First byte − sent, of operations that ended well.
    pub ttfb: Spread,
    /// End − first byte, of operations that ended well.
    pub transfer: Spread,
    /// Until the server agreed to a body or had its time, of operations that ended well and asked.
    pub agreement: Spread,
    /// Last byte of the request − first, without that wait, of uploads that ended well.
    pub sending: Spread,
    /// End − last byte of the request, of uploads that ended well.
    pub waiting: Spread,
    /// Opening connections, of operations that ended well and opened one.
    pub connect: Spread,
    /// TLS handshakes, of operations that ended well and had one.
    pub handshake: Spread,
    /// Started − intended, of all that started; empty unless they had a planned start.
    pub lateness: Spread,
    /// Waiting for a slot, of all that started and had to wait.
    pub slot_wait: Spread,
    /// Response time of failed operations, until they failed.
    pub failed_response: Spread,
}

/// Figures of the operations of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindFigures {
    /// What was asked: `get`, `put` and so on.
    pub kind: String,
    /// Ended well.
    pub ok: u64,
    /// Failed.
    pub failed: u64,
    /// In flight when the drain was over.
    pub unfinished: u64,
    /// Body bytes of those that ended well: of answers, or of the requests of uploads.
    pub ok_body_bytes: u64,
    /// End − intended, of those that ended well.
    pub response: Spread,
    /// End − sent, of those that ended well.
    pub service: Spread,
}

/// A distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Samples.
    pub count: u64,
    /// The smallest.
    pub min_nanos: Option<u64>,
    /// The arithmetic mean.
    pub mean_nanos: Option<f64>,
    /// The sample standard deviation.
    pub sd_nanos: Option<f64>,
    /// The largest.
    pub max_nanos: Option<u64>,
    /// Percentiles, ascending.
    pub quantiles: Vec<QuantileNanos>,
}

/// One quantile of a distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileNanos {
    /// Which one, in 0..=1.
    pub q: f64,
    /// Its value; a lower bound when `state` is `longer_than`.
    pub nanos: Option<u64>,
    /// The lower end of the range in which that of the target lies: without what client stalls may have added, and without time inside
    /// the client. The same as `nanos` where that makes no difference.
    pub low_nanos: Option<u64>,
    /// What `nanos` is, or why it is null.
    pub state: QuantileState,
    /// Samples that are needed to show it.
    pub samples_needed: u64,
}

/// What a quantile's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuantileState {
    /// The value.
    Value,
    /// A lower bound: it falls among operations that were unfinished.
    LongerThan,
    /// It falls among operations that failed or were dropped.
    Failed,
    /// There are too few samples.
    TooFew,
    /// There are no samples.
    Empty,
}

/// A distribution of speeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Speeds {
    /// Samples.
    pub count: u64,
    /// p5, null with too few samples.
    pub p5_bytes_per_second: Option<u64>,
    /// The median.
    pub p50_bytes_per_second: Option<u64>,
    /// p95.
    pub p95_bytes_per_second: Option<u64>,
}

/// Connections of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionCounts {
    /// Opened.
    pub opened: u64,
    /// Could not be opened.
    pub failed: u64,
    /// Time that opening took, without the TLS handshake.
    pub connect: Spread,
    /// TLS handshakes in which certificates were exchanged.
    pub handshakes_full: u64,
    /// TLS handshakes that took up an earlier session.
    pub handshakes_resumed: u64,
    /// Time that TLS handshakes took.
    pub handshake: Spread,
    /// Those that were opened, by host; empty for runs that were saved without it.
    pub hosts: Vec<HostConnections>,
}

/// Connections to one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostConnections {
    /// The host.
    pub host: String,
    /// Opened.
    pub opened: u64,
}

/// Bytes by the stage in which they arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Of the warm-up.
    pub warmup: StageBytes,
    /// Of the measured window.
    pub measured: StageBytes,
    /// Of the drain.
    pub drain: StageBytes,
    /// Body bytes by the second of the window in which they arrived.
    pub throughput_bytes_per_second: Option<f64>,
    /// Throughput without the bytes of attempts that failed or were hops.
    pub goodput_bytes_per_second: Option<f64>,
    /// Body bytes of requests by the second of the window in which they were sent.
    pub sending_bytes_per_second: Option<f64>,
    /// That without the bytes of attempts that failed or were hops.
    pub good_sending_bytes_per_second: Option<f64>,
}

/// Bytes of one stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageBytes {
    /// Its length in seconds.
    pub length_seconds: f64,
    /// Bodies.
    pub body_bytes: u64,
    /// Heads, framing and trailers.
    pub overhead_bytes: u64,
    /// Sent.
    pub sent_bytes: u64,
    /// Bodies of requests among them.
    pub sent_body_bytes: u64,
}

/// Figures of the measured operations that share a label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupFigures {
    /// What the label is of: `host`, `size` or `header`.
    pub dimension: String,
    /// The label: a value, or `(absent)` or `other`, which a value can read like. What it is, says `kind`.
    pub label: String,
    /// Whether the label is a value.
    pub kind: LabelKind,
    /// Ended well.
    pub ok: u64,
    /// Failed or unfinished.
    pub not_ok: u64,
    /// Body bytes of those that ended well.
    pub ok_body_bytes: u64,
    /// Response time of those that ended well.
    pub response: Spread,
}

/// What a label is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LabelKind {
    /// That value.
    Value,
    /// There was no value.
    Absent,
    /// All values beyond those that are told apart.
    Other,
}

/// How loaded the client was, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Seconds of the window that were judged.
    pub judged_seconds: f64,
    /// Of those, seconds in which a thread was busy while answers waited unread.
    pub cpu_limited_seconds: f64,
    /// Seconds in which operations started too late.
    pub late_seconds: f64,
    /// Seconds in which a network card was full.
    pub nic_limited_seconds: f64,
    /// Seconds in which others took the host's cores.
    pub shared_host_seconds: f64,
    /// Highest busy share of a thread.
    pub busy_max_share: f64,
    /// Highest share of time spent waiting for a core.
    pub run_delay_max_share: f64,
    /// Highest share of a network card's speed.
    pub nic_max_share: f64,
    /// Share of the service time for which responses waited unread in the client; null where it was not measured.
    pub unread_share: Option<f64>,
    /// True if that is a lower bound, because some of the sampled responses did not fit one segment.
    pub unread_is_lower_bound: bool,
    /// Responses on which it was measured.
    pub unread_samples: u64,
    /// CPU time of the client in the window.
    pub cpu_nanos: u64,
    /// The same by completed operation.
    pub cpu_nanos_per_operation: Option<f64>,
    /// CPU seconds by decimal GB of body received in the window.
    pub cpu_seconds_per_gigabyte: Option<f64>,
    /// Largest resident memory.
    pub peak_memory_bytes: Option<u64>,
    /// Whether client and target shared one host.
    pub loopback: bool,
    /// Whether certificates were not checked.
    pub insecure: bool,
}

/// One interval of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPoint {
    /// Its begin, from the start of the run.
    pub start_nanos: u64,
    /// Its length.
    pub length_nanos: u64,
    /// `warmup`, `measured` or `drain`.
    pub stage: String,
    /// Measured operations that ended well in it.
    pub ok: u64,
    /// Measured operations that failed in it.
    pub failed: u64,
    /// Measured operations given up in it without having been started.
    pub dropped: u64,
    /// Body bytes that arrived in it.
    pub body_bytes: u64,
    /// Body bytes of requests that were sent in it.
    pub sent_body_bytes: u64,
    /// Median response time of those that ended well.
    pub response_p50_nanos: Option<u64>,
    /// p99 of the same; of few samples it is their largest.
    pub response_p99_nanos: Option<u64>,
    /// Operations in flight at its end.
    pub in_flight: u64,
    /// Busy share of the client's busiest thread.
    pub client_busy_share: f64,
}
