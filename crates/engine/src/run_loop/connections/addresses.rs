//! Destinations of the connections to an origin. This module looks up names, and uses the addresses of a host in turn.

use crate::network::{Address, NameError, Network, Resolution};
use crate::plan::{Plan, Route};
use measure::Instant;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wire::url::Origin;

/// Time after which the loop asks the resolver for a name again. The resolver itself caches its results.
const LOOK_UP_AGAIN: Duration = Duration::from_secs(1);

/// Addresses of one origin.
#[derive(Debug)]
pub(in crate::run_loop) struct Addresses {
    endpoint: Endpoint,
    known: Option<Arc<[SocketAddr]>>,
    looked_up: Instant,
    next: usize,
}

/// Destination of the connections to an origin.
#[derive(Clone, Debug)]
enum Endpoint {
    Name { host: String, port: u16 },
    Unix(PathBuf),
}

/// Result of looking up an address for a new connection.
pub(in crate::run_loop) enum AddressLookup {
    Found(Address),
    Pending,
    Failed(NameError),
}

impl Addresses {
    /// Returns the addresses of `origin` that the plan contains.
    pub fn new(plan: &Plan, origin: &Origin) -> Self {
        let endpoint = endpoint(plan, origin);
        let known = match &endpoint {
            Endpoint::Name { host, port } => plan.connections.known.get(&(host.clone(), *port)).cloned(),
            Endpoint::Unix(_) => None,
        };
        Self { endpoint, known, looked_up: Instant::ZERO, next: 0 }
    }

    /// Advances the rotation over the addresses, and returns the next place. All addresses are used in turn.
    pub fn rotate(&mut self) -> usize {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    /// Looks up the address at `place` of the rotation.
    pub fn look_up<N: Network>(&mut self, net: &mut N, place: usize, now: Instant) -> AddressLookup {
        let (host, port) = match &self.endpoint {
            Endpoint::Unix(path) => return AddressLookup::Found(Address::Unix(path.clone())),
            Endpoint::Name { host, port } => (host, *port),
        };
        if self.known.is_none() || now.since(self.looked_up) > LOOK_UP_AGAIN {
            match net.resolve(host, port) {
                Resolution::Found(addresses) => self.known = Some(addresses),
                Resolution::Pending if self.known.is_none() => return AddressLookup::Pending,
                Resolution::Failed(error) if self.known.is_none() => return AddressLookup::Failed(error),
                // The addresses from an earlier lookup remain usable.
                Resolution::Pending | Resolution::Failed(_) => {}
            }
            self.looked_up = now;
        }
        match self.known.as_ref().filter(|addresses| !addresses.is_empty()) {
            Some(addresses) => AddressLookup::Found(Address::Tcp(addresses[place % addresses.len()])),
            None => AddressLookup::Failed(NameError::NotFound),
        }
    }

    /// Returns how many addresses can be tried.
    pub fn count(&self) -> usize {
        self.known.as_ref().map_or(1, |addresses| addresses.len())
    }
}

fn endpoint(plan: &Plan, origin: &Origin) -> Endpoint {
    let origin = match &plan.connections.route {
        Route::Unix(path) => return Endpoint::Unix(path.clone()),
        Route::Proxy { origin, .. } => origin,
        Route::Direct => origin,
    };
    let rule = plan.connections.connect_to.iter().find(|rule| {
        rule.host.as_ref().is_none_or(|host| host.eq_ignore_ascii_case(&origin.host))
            && rule.port.is_none_or(|port| port == origin.port)
    });
    match rule {
        Some(rule) => Endpoint::Name { host: rule.to_host.clone(), port: rule.to_port.unwrap_or(origin.port) },
        None => Endpoint::Name { host: origin.host.to_string(), port: origin.port },
    }
}

/// Returns the name and port to which connections for `origin` are opened; `None` for a Unix socket.
#[must_use]
pub fn connects_to(plan: &Plan, origin: &Origin) -> Option<(String, u16)> {
    match endpoint(plan, origin) {
        Endpoint::Name { host, port } => Some((host, port)),
        Endpoint::Unix(_) => None,
    }
}
