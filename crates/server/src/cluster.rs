//! A cluster of servers in one process, as storage systems build them: each object has one owner, and a client may ask
//! any server.
//!
//! A request for an object that another server owns is answered with 307 and the object's URL at its owner in `Location`
//! ([`Handoff::Redirect`]), or is fetched from there and passed on ([`Handoff::Proxy`]). Ownership is a pure function
//! of the path ([`owner()`]), so that servers need no talk about it. Every server has a ledger of its own; a redirected
//! operation stands in two of them, as a 307 and as what the owner answered.
//!
//! Paths that end with `/` (listings), and of the stand-in of Alluxio the buckets, are answered by every server.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::config::Config;
use crate::config::faults::Faults;
use crate::lean_front::server::Server;
use crate::ledger::Ledger;
use crate::listeners::Listeners;
use crate::ownership::member::{Handoff, Member};

/// What makes servers a cluster.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// One address for each server; port 0 is any free one.
    pub listen: Vec<SocketAddr>,
    /// What becomes of a request for another server's object.
    pub handoff: Handoff,
    /// The only server (counted from 0) that has the faults of the [`Config`]; without a number, all have them.
    pub faults_on: Option<usize>,
}

/// The running servers of a cluster. Dropping it stops them, as [`Cluster::stop`] does.
#[derive(Debug)]
pub struct Cluster {
    servers: Vec<Server>,
}

impl Cluster {
    /// Opens all sockets, then starts all servers, each with one thread unless [`Config::threads`] says otherwise.
    /// [`Config::listen`] and [`Config::unix`] are not looked at.
    ///
    /// # Errors
    /// As those of [`Server::start`].
    pub fn start(config: &Config, cluster: &ClusterConfig) -> io::Result<Self> {
        let threads = Some(config.threads.unwrap_or(NonZeroUsize::MIN));
        let config = Config { unix: Vec::new(), threads, ..config.clone() };
        let opened: Vec<Listeners> = (cluster.listen.iter())
            .map(|address| Listeners::open(&Config { listen: vec![*address], ..config.clone() }))
            .collect::<io::Result<_>>()?;
        let addresses: Arc<[SocketAddr]> =
            opened.iter().flat_map(|listeners| listeners.addresses.iter().copied()).collect();
        let mut servers = Vec::new();
        for (index, listeners) in opened.into_iter().enumerate() {
            let spared = cluster.faults_on.is_some_and(|only| only != index);
            let faults = if spared { Faults::default() } else { config.faults.clone() };
            let member = Member { index, servers: Arc::clone(&addresses), handoff: cluster.handoff };
            servers.push(Server::start_on(&Config { faults, ..config.clone() }, listeners, Some(member))?);
        }
        Ok(Self { servers })
    }

    /// The servers' addresses, in the order that ownership counts them.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().flat_map(Server::addresses).copied().collect()
    }

    /// Each server's books so far; see [`Server::ledger`].
    #[must_use]
    pub fn ledgers(&self) -> Vec<Ledger> {
        self.servers.iter().map(Server::ledger).collect()
    }

    /// Stops all servers, and answers the final books of each; [`Ledger::joint`] adds them up.
    #[must_use = "the final books; drop the cluster when they are of no use"]
    pub fn stop(self) -> Vec<Ledger> {
        self.servers.into_iter().map(Server::stop).collect()
    }
}
