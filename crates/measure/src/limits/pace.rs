//! The party that set the pace of the transfers between client and target: the network, the server or the client.
//!
//! [`limited_by`](super::limited_by()) returns the reason why the rate of a run was not higher. [`pace()`] returns the
//! reason why single operations were not faster. For example, in a run with few slots, concurrency limits the rate, but
//! the round trips of the network may set the pace. The client's kernel reports the flow control of its own side only.
//! In downloads, the target is the sender, so the reasons for its waits can only be inferred. If neither the network
//! nor the client explains the time of an operation, the server set the pace.

use super::limited_by::{PATH_FULL, used_path_share};
use super::{LimitedBy, OPERATIONS_MIN, limited_by};
use crate::path::EmulatorHealth;
use crate::summary::{Model, Summary};

/// The part of the system that set the pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// The network between client and target.
    Network(NetworkPace),
    /// The server, which sent or read data slowly although neither the network nor the client held it up.
    Server,
    /// The client or its host.
    Client(ClientPace),
}

/// Property of the network that set the pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NetworkPace {
    /// An emulated path was full.
    Full {
        /// Used share of its rate.
        share: f64,
    },
    /// Data waited in a queue of the network, or was lost.
    QueueOrLoss,
    /// The receive window was too small for the rate and the round trip.
    Window {
        /// Mean window, in bytes.
        window: f64,
        /// Bytes that must be in flight for the measured rate of a stream: rate × round trip.
        in_flight: f64,
    },
    /// Operations consist mostly of round trips. Each request takes one round trip. On a new connection, a large body
    /// takes further round trips, because TCP starts slowly.
    RoundTrips {
        /// Expected time of all round trips of an operation, in seconds.
        seconds: f64,
        /// Median service time, in seconds.
        service: f64,
    },
}

/// Part of the client that set the pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientPace {
    /// Its threads, its host, its card or its resources.
    Limit(LimitedBy),
    /// Its send buffers were too small for the path.
    SendBuffer,
}

/// If a stream keeps at least this share of the window in flight, the window sets the pace. The kernel usually makes
/// the window twice as large as the data that arrives in a round trip. A stream that is not limited by its window
/// therefore uses about half of it.
const WINDOW_USED: f64 = 0.7;
/// If a wait takes at least this share of the time in which data was in flight, the cause of the wait sets the pace.
const MOST_OF_BUSY: f64 = 0.5;
/// If the round trips explain at least this share of the median service time, they set the pace.
const ROUND_TRIPS_SHARE: f64 = 0.7;
/// Initial window of a connection, in bytes (RFC 6928).
const INITIAL_WINDOW: f64 = 14_600.0;

/// Returns who set the pace of the transfers. `None` if there is no network between client and target, or if too little
/// data was transferred. Large objects show the pace even before the first of them is complete, so either enough bytes
/// or enough operations are required.
#[must_use]
pub fn pace(summary: &Summary, model: &Model) -> Option<Pace> {
    let (paths, traffic) = (&summary.evidence.network_paths, &summary.measured.traffic);
    let has_network = summary.path.is_emulated || !summary.shares_host;
    let is_large = traffic.moved() as f64 >= OPERATIONS_MIN as f64 * INITIAL_WINDOW;
    if !has_network || paths.is_empty() || !(is_large || summary.all.service.count() >= OPERATIONS_MIN) {
        return None;
    }
    if summary.path.emulator != EmulatorHealth::Good {
        return Some(Pace::Client(ClientPace::Limit(LimitedBy::Emulator)));
    }
    // If the path is full, the path sets the pace, even if the client or its host was also busy.
    if let Some(share) = used_path_share(summary).filter(|share| *share >= PATH_FULL) {
        return Some(Pace::Network(NetworkPace::Full { share }));
    }
    let limit = limited_by(summary, model);
    if limit.is_client() {
        return Some(Pace::Client(ClientPace::Limit(limit)));
    }
    if is_large && paths.are_full() {
        return Some(Pace::Network(NetworkPace::QueueOrLoss));
    }
    let waits = if sends(summary) { sending(summary) } else { receive_window(summary).map(Pace::Network) };
    Some(waits.or_else(|| round_trips(summary).map(Pace::Network)).unwrap_or(Pace::Server))
}

/// Returns whether the run sent more body bytes than it received.
fn sends(summary: &Summary) -> bool {
    summary.measured.traffic.sent_body > summary.measured.traffic.body
}

/// Returns the rate of one stream, in bytes per second.
fn stream_rate(summary: &Summary, bytes: u64) -> Option<f64> {
    let in_flight = summary.mean_in_flight().filter(|mean| *mean > 0.0)?;
    Some(bytes as f64 / summary.measured.seconds / in_flight)
}

fn receive_window(summary: &Summary) -> Option<NetworkPace> {
    let flow = &summary.evidence.network_paths.flow;
    let samples = (flow.receiving > 0).then_some(flow.receiving as f64)?;
    let (window, round_trip) =
        (flow.receive_window_bytes as f64 / samples, flow.receive_round_trip_nanos as f64 / samples / 1e9);
    window_of(stream_rate(summary, summary.measured.traffic.body)?, window, round_trip)
}

fn window_of(rate: f64, window: f64, round_trip: f64) -> Option<NetworkPace> {
    let in_flight = rate * round_trip;
    (in_flight >= WINDOW_USED * window).then_some(NetworkPace::Window { window, in_flight })
}

/// Returns what kept the client from sending faster.
fn sending(summary: &Summary) -> Option<Pace> {
    let paths = &summary.evidence.network_paths;
    let (flow, samples) = (&paths.flow, paths.sampled.max(1) as f64);
    let most = |nanos: u64| nanos as f64 > MOST_OF_BUSY * flow.busy_nanos as f64;
    if flow.busy_nanos == 0 {
        return None;
    }
    if most(flow.buffer_limited_nanos) {
        return Some(Pace::Client(ClientPace::SendBuffer));
    }
    if most(flow.window_limited_nanos) {
        let (window, round_trip) =
            (flow.send_window_bytes as f64 / samples, flow.shortest_nanos as f64 / samples / 1e9);
        let rate = stream_rate(summary, summary.left_in_window(summary.measured.traffic.sent_body))?;
        // The server's receive window was full most of the time. If the stream sent less than a window per round trip,
        // the window stayed full because the server read slowly.
        return Some(window_of(rate, window, round_trip).map_or(Pace::Server, Pace::Network));
    }
    None
}

/// Returns the round trips of an operation, if they explain its time.
fn round_trips(summary: &Summary) -> Option<NetworkPace> {
    let paths = &summary.evidence.network_paths;
    let round_trip = paths.flow.shortest_nanos as f64 / paths.sampled as f64 / 1e9;
    let service = summary.all.service.quantile(0.5)? as f64 / 1e9;
    let attempts = summary.stats.measured.attempts.max(1) as f64;
    let moved = summary.measured.traffic.moved() as f64 / attempts;
    let opened: u64 = summary.stats.connections.hosts.iter().map(|host| host.opened).sum();
    let is_new = opened as f64 > attempts / 2.0;
    // On a new connection, the sender sends its initial window first. In each later round trip, it sends twice as much
    // as in the previous one.
    let more = if is_new { (moved / INITIAL_WINDOW + 1.0).log2().floor() } else { 0.0 };
    let seconds = round_trip * (1.0 + more);
    (seconds >= ROUND_TRIPS_SHARE * service).then_some(NetworkPace::RoundTrips { seconds, service })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{FlowSample, PathSample};
    use crate::interval::Interval;
    use crate::path::PathLimits;
    use crate::sample::OpKind;
    use crate::time::{Instant, Stage};
    use crate::units::DataRate;

    const MODEL: Model = Model::Closed { concurrency: 4 };
    const MS: u64 = 1_000_000;

    /// Returns a run of 4 slots over a path of 40 ms. Each operation takes `service_ms` and moves `bytes`.
    fn run(service_ms: u64, (received, sent): (u64, u64), flow: FlowSample) -> Summary {
        let mut interval = Interval::new(Stage::Measured, Instant::ZERO, Instant::from_nanos(10_000 * MS));
        let operations = 4 * 10_000 / service_ms;
        interval.stats.in_flight_nanos = 4 * 10_000 * MS;
        interval.stats.traffic.body = operations * received;
        interval.stats.traffic.sent_body = operations * sent;
        interval.stats.measured.attempts = operations;
        for _ in 0..operations {
            interval.stats.kind_mut(OpKind::Get).service.record(service_ms * MS);
        }
        let sample = PathSample { round_trip: 41 * MS, shortest: 40 * MS, segments: 1000, lost: 0, flow };
        interval.evidence.network_paths.add(&sample);
        let path = PathLimits { is_emulated: true, ..PathLimits::default() };
        Summary { shares_host: true, path, ..Summary::of(&MODEL, &[interval]) }
    }

    fn received(window: u64) -> FlowSample {
        FlowSample { receive_round_trip: 40 * MS, receive_window: window, ..FlowSample::default() }
    }

    fn of(summary: &Summary) -> Pace {
        pace(summary, &MODEL).expect("the pace is known")
    }

    #[test]
    fn small_receive_windows_are_told_from_slow_servers() {
        // A stream of 1 MB in 640 ms keeps 62.5 kB in flight in 40 ms.
        let at = |window| of(&run(640, (1_000_000, 0), received(window)));
        assert!(matches!(at(65_536), Pace::Network(NetworkPace::Window { .. })), "{:?}", at(65_536));
        assert_eq!(at(131_072), Pace::Server, "the kernel keeps the window twice as large as needed");
        // Without a round-trip time, the size of the window shows nothing.
        let unknown = FlowSample { receive_window: 1, ..FlowSample::default() };
        assert_eq!(of(&run(640, (1_000_000, 0), unknown)), Pace::Server);
    }

    #[test]
    fn waits_of_uploads_are_those_of_the_kernel() {
        let flow = |window_limited, buffer_limited, send_window| FlowSample {
            busy: 1000,
            window_limited,
            buffer_limited,
            send_window,
            ..FlowSample::default()
        };
        let at = |flow| of(&run(640, (0, 1_000_000), flow));
        assert_eq!(at(flow(0, 600, 1_000_000)), Pace::Client(ClientPace::SendBuffer));
        assert!(matches!(at(flow(600, 0, 65_536)), Pace::Network(NetworkPace::Window { .. })));
        assert_eq!(
            at(flow(600, 0, 1_000_000)),
            Pace::Server,
            "a large window that stays full: the server does not read"
        );
        assert_eq!(at(flow(100, 100, 65_536)), Pace::Server);
    }

    #[test]
    fn full_paths_and_round_trips_are_the_networks() {
        let mut full = run(640, (1_000_000, 0), received(10_000_000));
        // 25 operations of 1 MB in 4 s are 52 Mbit/s on the wire.
        full.path.down = Some(DataRate::bits_per_second(54_000_000));
        assert!(matches!(of(&full), Pace::Network(NetworkPace::Full { share }) if share > 0.9), "{:?}", of(&full));
        full.path.emulator = EmulatorHealth::CpuTooSlow;
        assert_eq!(of(&full), Pace::Client(ClientPace::Limit(LimitedBy::Emulator)));
        let small = run(44, (100, 0), FlowSample::default());
        assert!(matches!(of(&small), Pace::Network(NetworkPace::RoundTrips { .. })), "{:?}", of(&small));
        assert_eq!(of(&run(400, (100, 0), FlowSample::default())), Pace::Server);
    }

    #[test]
    fn without_a_network_or_operations_nothing_is_said() {
        let mut local = run(44, (100, 0), FlowSample::default());
        local.path.is_emulated = false;
        assert_eq!(pace(&local, &MODEL), None);
        local.shares_host = false;
        assert!(pace(&local, &MODEL).is_some());
        assert_eq!(pace(&Summary { shares_host: false, ..Summary::default() }, &MODEL), None);
    }
}
