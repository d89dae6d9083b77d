//! Connections that were opened, and the times of opening them.

use super::groups::GROUPS_MAX;
use super::label::Label;
use crate::values::{Distribution, add, bounded};
use serde::{Deserialize, Serialize};

/// Maximum number of hosts in a record, which is [`GROUPS_MAX`], plus one for [`Label::Other`].
const HOSTS_IN_RECORD: usize = GROUPS_MAX + 1;

/// Connections to one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostConnections {
    /// Host. [`Label::Other`] contains all hosts beyond the first [`GROUPS_MAX`].
    pub host: Label,
    /// Connections opened.
    pub opened: u64,
}

/// Connections of an interval or of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Connections opened.
    pub opened: u64,
    /// Connections that could not be opened.
    pub failed: u64,
    /// Times of opening connections, without the TLS handshake, in nanoseconds.
    pub connect: Distribution,
    /// TLS handshakes in which certificates were exchanged.
    #[serde(default)]
    pub handshakes_full: u64,
    /// TLS handshakes that resumed an earlier session.
    #[serde(default)]
    pub handshakes_resumed: u64,
    /// Times of TLS handshakes, in nanoseconds.
    #[serde(default)]
    pub handshake: Distribution,
    /// Number of opened connections by host.
    #[serde(default, deserialize_with = "bounded::list::<_, _, HOSTS_IN_RECORD>")]
    pub hosts: Vec<HostConnections>,
}

impl Connections {
    pub(super) fn merge(&mut self, other: &Self) {
        let Self { opened, failed, connect, handshakes_full, handshakes_resumed, handshake, hosts } = other;
        add(&mut self.opened, *opened);
        add(&mut self.failed, *failed);
        self.connect.merge(connect);
        add(&mut self.handshakes_full, *handshakes_full);
        add(&mut self.handshakes_resumed, *handshakes_resumed);
        self.handshake.merge(handshake);
        for HostConnections { host, opened } in hosts {
            self.add_host(host, *opened);
        }
    }

    /// Counts connections opened to a host, or to [`Label::Other`] when the list is full.
    pub(crate) fn add_host(&mut self, host: &Label, opened: u64) {
        let find = |hosts: &[HostConnections], host: &Label| hosts.iter().position(|known| known.host == *host);
        let full = self.hosts.len() >= GROUPS_MAX;
        let known = find(&self.hosts, host).or_else(|| if full { find(&self.hosts, &Label::Other) } else { None });
        match known {
            Some(index) => add(&mut self.hosts[index].opened, opened),
            None => {
                let host = if full { Label::Other } else { host.clone() };
                self.hosts.push(HostConnections { host, opened });
            }
        }
    }

    /// Returns the number of TLS handshakes that succeeded.
    #[must_use]
    pub fn handshakes(&self) -> u64 {
        self.handshakes_full.saturating_add(self.handshakes_resumed)
    }
}
