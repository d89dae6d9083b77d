//! Sources that are polled: HTTP endpoints, hosts, processes, and the network path.

mod host;
mod host_text;
mod http;
mod json;
mod metrics;
mod numbers;
mod picked;
mod probe;
mod process;
mod renters;
mod ssh;

pub use host::HostSource;
pub use http::{Endpoint, Format, HttpSource};
pub use json::JsonPath;
pub use metrics::{Selector, SelectorError};
pub use numbers::Numbers;
pub use picked::Picked;
pub use probe::{ConnectProbe, GetProbe};
pub use process::{ProcessSource, Select};
pub use renters::{RenterdSource, SiadSource};
pub use ssh::{SshHost, SshHostError};

use measure::series::{Column, Number, PollFailure};
use std::time::Duration;

/// The host that a source reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// This host.
    Here,
    /// A remote host, over the program `ssh`.
    Ssh(SshHost),
}

/// A source of values.
#[derive(Debug)]
pub enum Source {
    /// Values in the response of an HTTP endpoint.
    Http(HttpSource),
    /// siad's contracts, files and wallet.
    Siad(Box<SiadSource>),
    /// renterd's contracts, objects, wallet and slab buffers.
    Renterd(Box<RenterdSource>),
    /// CPU, memory, disks and network cards of a host.
    Host(HostSource),
    /// CPU and memory of processes.
    Process(ProcessSource),
    /// Time to open a TCP connection.
    Connect(ConnectProbe),
    /// Time of a small GET.
    Get(GetProbe),
}

/// The result of one poll of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The values, one per column of the source.
    pub values: Vec<Option<Number>>,
    /// Total time of the HTTP requests.
    pub requests: Duration,
    /// The failure, if any. Some of the values may still be known.
    pub failure: Option<PollFailure>,
}

impl Reading {
    /// Creates a reading of `columns` unknown values.
    #[must_use]
    pub fn failed(columns: usize, failure: PollFailure) -> Self {
        Self { values: vec![None; columns], requests: Duration::ZERO, failure: Some(failure) }
    }

    /// Creates a reading without requests.
    pub(crate) fn known(values: Vec<Option<Number>>) -> Self {
        Self { values, requests: Duration::ZERO, failure: None }
    }
}

impl Source {
    /// Returns the columns.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        match self {
            Self::Http(source) => source.columns(),
            Self::Siad(_) => SiadSource::columns(),
            Self::Renterd(_) => RenterdSource::columns(),
            Self::Host(source) => source.columns().to_vec(),
            Self::Process(source) => source.columns().to_vec(),
            Self::Connect(source) => vec![source.column().clone()],
            Self::Get(source) => vec![source.column().clone()],
        }
    }

    /// Returns a description without secrets.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Http(source) => source.endpoint().shown().to_owned(),
            Self::Siad(source) => format!("siad at {}", source.shown()),
            Self::Renterd(source) => format!("renterd at {}", source.shown()),
            Self::Host(source) => source.name(),
            Self::Process(source) => source.name(),
            Self::Connect(source) => format!("connections to {}", source.target()),
            Self::Get(source) => format!("GET {}", source.endpoint().shown()),
        }
    }

    /// Returns whether the source makes HTTP requests.
    #[must_use]
    pub fn is_http(&self) -> bool {
        match self {
            Self::Http(_) | Self::Siad(_) | Self::Renterd(_) | Self::Get(_) => true,
            Self::Host(_) | Self::Process(_) | Self::Connect(_) => false,
        }
    }

    /// Polls the source. The poll takes about `bound` at most.
    pub fn read(&mut self, bound: Duration) -> Reading {
        match self {
            Self::Http(source) => source.read(bound),
            Self::Siad(source) => source.read(bound),
            Self::Renterd(source) => source.read(bound),
            Self::Host(source) => source.read(bound),
            Self::Process(source) => source.read(bound),
            Self::Connect(source) => source.read(bound),
            Self::Get(source) => source.read(bound),
        }
    }
}
