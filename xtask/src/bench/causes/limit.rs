//! The limits that the program can report.

use serde::{Deserialize, Serialize};

/// A limit that the program can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The target.
    Target,
    /// The link between client and target.
    Link,
    /// CPU time of one client thread.
    ClientCpu,
    /// The client's network card.
    ClientNic,
    /// File descriptors or local ports of the client.
    ClientResources,
    /// Other processes on the same cores.
    SharedHost,
    /// The number of slots.
    Concurrency,
    /// The rate of the schedule.
    Rate,
    /// No limit was determined.
    #[serde(alias = "unknown")]
    NotDetermined,
}

impl Limit {
    /// Returns a short name for the heading of a column.
    pub fn short(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Link => "link",
            Self::ClientCpu => "client CPU",
            Self::ClientNic => "NIC",
            Self::ClientResources => "resources",
            Self::SharedHost => "shared",
            Self::Concurrency => "concurr.",
            Self::Rate => "rate",
            Self::NotDetermined => "not det.",
        }
    }

    /// Returns whether the limit is on the client's side.
    pub fn is_client(self) -> bool {
        matches!(self, Self::ClientCpu | Self::ClientNic | Self::ClientResources | Self::SharedHost)
    }
}
