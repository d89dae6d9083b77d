//! A cluster of servers in one process. Each object has one owner. A client may send its request to any server.
//!
//! If another server owns the object, the server either redirects the client to the owner with status 307
//! ([`Handoff::Redirect`]), or fetches the object from the owner ([`Handoff::Proxy`]). Ownership is a pure function of
//! the path ([`owner()`](crate::owner())), so all servers compute the same owner without communication. Every server
//! has its own ledger of requests. A redirected operation therefore appears in two ledgers: as a 307 in the ledger of
//! the first server, and as the final response in the ledger of the owner.
//!
//! Listings have no owner, so every server responds to paths that end with `/`. In a cluster of Alluxio stand-ins,
//! every server also responds to requests for buckets.

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

/// The configuration of a cluster as a whole. [`Config`] configures each server.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// One address for each server. Port 0 means any free port.
    pub listen: Vec<SocketAddr>,
    /// The response to a request for an object that another server owns.
    pub handoff: Handoff,
    /// The index, starting at 0, of the only server that has the faults of the [`Config`]. With `None`, all servers
    /// have these faults.
    pub faults_on: Option<usize>,
}

/// A running cluster. Dropping this value stops the servers, as [`Cluster::stop`] does.
#[derive(Debug)]
pub struct Cluster {
    servers: Vec<Server>,
}

impl Cluster {
    /// Opens all sockets, then starts all servers, each with one thread unless [`Config::threads`] is set. Ignores
    /// [`Config::listen`] and [`Config::unix`].
    ///
    /// # Errors
    /// Fails in the same cases as [`Server::start`].
    pub fn start(config: &Config, cluster: &ClusterConfig) -> io::Result<Self> {
        let threads = Some(config.threads.unwrap_or(NonZeroUsize::MIN));
        let config = Config { unix: Vec::new(), threads, ..config.clone() };
        let opened: Vec<Listeners> = (cluster.listen.iter())
            .map(|address| Listeners::open(&Config { listen: vec![*address], ..config.clone() }))
            .collect::<io::Result<_>>()?;
        let addresses: Arc<[SocketAddr]> =
            opened.iter().flat_map(|listeners| listeners.bound.addresses.iter().copied()).collect();
        let mut servers = Vec::new();
        for (index, listeners) in opened.into_iter().enumerate() {
            let spared = cluster.faults_on.is_some_and(|only| only != index);
            let faults = if spared { Faults::default() } else { config.faults.clone() };
            let member = Member { index, servers: Arc::clone(&addresses), handoff: cluster.handoff };
            servers.push(Server::start_on(&Config { faults, ..config.clone() }, listeners, Some(member))?);
        }
        Ok(Self { servers })
    }

    /// Returns the servers' addresses. The position of an address is the number of the server in
    /// [`owner()`](crate::owner()).
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().flat_map(Server::addresses).copied().collect()
    }

    /// Returns the current ledger of each server; see [`Server::ledger`].
    #[must_use]
    pub fn ledgers(&self) -> Vec<Ledger> {
        self.servers.iter().map(Server::ledger).collect()
    }

    /// Stops all servers and returns their final ledgers. [`Ledger::joint`] adds several ledgers up.
    #[must_use = "the final ledgers; drop the cluster if they are not needed"]
    pub fn stop(self) -> Vec<Ledger> {
        self.servers.into_iter().map(Server::stop).collect()
    }
}
