//! A server's position in its cluster, and the routing of requests.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use super::owner::owner;
use crate::request::target::Target;

/// The response of a server to a request for an object that another server owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handoff {
    /// The server responds with 307.
    Redirect {
        /// `true` to add `redirect` to the query of `Location`. A server that receives such a query serves the object
        /// itself, even if it computes another owner.
        marker: bool,
        /// Delay of each redirect, which imitates a health check of the owner.
        check: Duration,
    },
    /// The server fetches the response from the owner, but only for GET and HEAD. It responds to other methods itself:
    /// the owner would discard their bodies, and so can this server.
    Proxy,
}

/// A server's position in a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) index: usize,
    pub(crate) servers: Arc<[SocketAddr]>,
    pub(crate) handoff: Handoff,
}

/// The server that responds to a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Here,
    /// The owner. The client is redirected to this URL at the owner, after this delay.
    Redirect {
        location: Box<str>,
        after: Duration,
    },
    /// This server, which fetches the response from the owner at this address.
    Fetch(SocketAddr),
}

impl Member {
    /// Returns the route of a request for `target`. `host` is the name by which the client addresses this server.
    /// `redirected_here` is true if another server has redirected the client to this one.
    pub(crate) fn route(&self, target: Target<'_>, host: Option<&str>, redirected_here: bool) -> Route {
        let count = NonZeroUsize::new(self.servers.len()).unwrap_or(NonZeroUsize::MIN);
        let owner = owner(target.path, count);
        let Some(address) = self.servers.get(owner).copied().filter(|_| owner != self.index) else {
            return Route::Here;
        };
        match self.handoff {
            Handoff::Proxy => Route::Fetch(address),
            Handoff::Redirect { marker: true, .. } if redirected_here => Route::Here,
            Handoff::Redirect { marker, check } => {
                Route::Redirect { location: location(target, address, host, marker), after: check }
            }
        }
    }
}

/// Returns the object's URL at its owner. If the owner listens on all addresses, the URL contains the host name that
/// the client uses for this server.
fn location(target: Target<'_>, owner: SocketAddr, host: Option<&str>, marker: bool) -> Box<str> {
    let authority = match host.map(host_name).filter(|name| owner.ip().is_unspecified() && !name.is_empty()) {
        Some(name) => format!("{name}:{}", owner.port()),
        None => owner.to_string(),
    };
    let query = match (target.query, marker) {
        (None, false) => String::new(),
        (None, true) => "?redirect".to_owned(),
        (Some(query), false) => format!("?{query}"),
        (Some(query), true) => format!("?{query}&redirect"),
    };
    format!("http://{authority}{}{query}", target.path).into()
}

/// Returns a `Host` value without its port. The result cannot contain a line end, because the value was parsed as a
/// header field.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(ip: [u8; 4], index: usize, handoff: Handoff) -> Member {
        let servers = (0..3).map(|at| SocketAddr::from((ip, 7000 + at))).collect();
        Member { index, servers, handoff }
    }

    #[test]
    fn one_server_serves_each_object_and_all_others_redirect_to_it() {
        let plain = Handoff::Redirect { marker: false, check: Duration::ZERO };
        for object in 0..50 {
            let text = format!("/b/{object}?x=1");
            let target = Target::parse(&text).unwrap();
            let routes: Vec<Route> =
                (0..3).map(|index| member([127, 0, 0, 1], index, plain).route(target, Some("h:1"), false)).collect();
            let here = routes.iter().position(|route| *route == Route::Here).unwrap();
            let location = format!("http://127.0.0.1:{}{text}", 7000 + here).into();
            let expected = Route::Redirect { location, after: Duration::ZERO };
            assert!(routes.iter().enumerate().all(|(at, route)| (at == here) != (*route == expected)), "{routes:?}");
            let fetched = member([127, 0, 0, 1], (here + 1) % 3, Handoff::Proxy).route(target, None, true);
            assert_eq!(fetched, Route::Fetch(SocketAddr::from(([127, 0, 0, 1], 7000 + here as u16))));
        }
    }

    #[test]
    fn marker_ends_loops_and_location_keeps_the_clients_host_name() {
        let check = Duration::from_millis(3);
        let marked = Handoff::Redirect { marker: true, check };
        let target = |text| Target::parse(text).unwrap();
        let foreign = (0..3).map(|index| member([0, 0, 0, 0], index, marked));
        let foreign = foreign.filter(|member| member.route(target("/b/1"), None, false) != Route::Here);
        for member in foreign {
            assert_eq!(member.route(target("/b/1"), None, true), Route::Here);
            for (text, query) in [("/b/1", "?redirect"), ("/b/1?a=b", "?a=b&redirect")] {
                for (host, name) in [("worker-2:80", "worker-2"), ("[::1]:80", "[::1]"), ("w", "w")] {
                    let Route::Redirect { location, after } = member.route(target(text), Some(host), false) else {
                        panic!("{text} is not redirected")
                    };
                    assert!(location.starts_with(&format!("http://{name}:700")), "{location}");
                    assert!(location.ends_with(&format!("/b/1{query}")), "{location}");
                    assert_eq!(after, check);
                }
            }
        }
    }
}
