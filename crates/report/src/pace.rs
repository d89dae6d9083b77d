//! The party that set the pace of the transfers, as text. The rules are in [`measure::limits::pace`].

use crate::number::{bytes, share, time};
use measure::limits::pace::{self, ClientPace, NetworkPace, Pace};
use store::SavedRun;

/// Nanoseconds in a second.
const NANOS: f64 = 1e9;

/// Returns who set the pace, for programs: `network`, `server` or `client`. `None` if there is no network between
/// client and target, or if too little data was transferred.
#[must_use]
pub fn name(run: &SavedRun) -> Option<&'static str> {
    of(run).map(|pace| match pace {
        Pace::Network(_) => "network",
        Pace::Server => "server",
        Pace::Client(_) => "client",
    })
}

/// Returns who set the pace, and why, in a few words for tables.
#[must_use]
pub fn short(run: &SavedRun) -> Option<&'static str> {
    of(run).map(|pace| match pace {
        Pace::Network(NetworkPace::Full { .. }) => "network, path full",
        Pace::Network(NetworkPace::QueueOrLoss) => "network, queue or loss",
        Pace::Network(NetworkPace::Window { .. }) => "network, window",
        Pace::Network(NetworkPace::RoundTrips { .. }) => "network, round trips",
        Pace::Server => "server",
        Pace::Client(_) => "client",
    })
}

/// Returns who set the pace, and why, as a sentence.
#[must_use]
pub fn text(run: &SavedRun) -> Option<String> {
    let why = match of(run)? {
        Pace::Network(network) => format!("network, because {}", of_network(&network)),
        Pace::Server => {
            "server, because neither the network nor the client explains the time of the operations".to_owned()
        }
        Pace::Client(ClientPace::Limit(limit)) => format!("client ({limit})"),
        Pace::Client(ClientPace::SendBuffer) => {
            "client, because most of the time, its send buffers were too small for the path".to_owned()
        }
    };
    Some(format!("pace set by: {why}"))
}

fn of(run: &SavedRun) -> Option<Pace> {
    pace::pace(run.summary(), &run.begin.model)
}

fn of_network(pace: &NetworkPace) -> String {
    match pace {
        NetworkPace::Full { share: used } => format!("the run used {} of the rate of the path", share(*used)),
        NetworkPace::QueueOrLoss => "data was queued or lost between client and target".to_owned(),
        NetworkPace::Window { window, in_flight } => format!(
            "the receive window of {} was too small: at the rate of a stream, {} are in flight",
            bytes(*window as u64),
            bytes(*in_flight as u64)
        ),
        NetworkPace::RoundTrips { seconds, service } => {
            format!("round trips took {} of the {} of an operation", time(seconds * NANOS), time(service * NANOS))
        }
    }
}
