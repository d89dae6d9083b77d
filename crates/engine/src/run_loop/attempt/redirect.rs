//! Where a redirect leads, and which redirects are not followed.
//!
//! A server can send a client anywhere: in circles, away from https, or into the client's own network, where the client may
//! reach what the server can not. Each of these ends in a cause of its own. What is private is judged by the address that
//! is connected to, after the name was looked up, so that no name of a public host can hide it.

use crate::network::{Address, Network, Token};
use crate::plan::{Follow, ORIGINS_MAX, Route, Trap, Traps};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::end::After;
use crate::run_loop::connections::OriginState;
use crate::run_loop::operation::op::{Hop, Op};
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::response::Location;
use wire::url::{Origin, Scheme, Url, UrlError};

fn refused(cause: Cause) -> AttemptOutcome {
    AttemptOutcome::failed(AttemptClass::Redirect, cause, Phase::Head)
}

fn denied(cause: Cause, phase: Phase) -> AttemptOutcome {
    AttemptOutcome::failed(AttemptClass::RedirectDenied, cause, phase)
}

impl<N: Network> RunLoop<'_, N> {
    /// Where the redirect that was just read leads.
    pub(in crate::run_loop) fn next_hop(&mut self, slot: u32) -> Result<Hop, AttemptOutcome> {
        let Some(op) = &self.slots[slot as usize].op else { return Err(refused(Cause::Defect)) };
        let connection = op.attempt.connection.and_then(|token| self.connections.get(token));
        let Some((connection, head)) = connection.and_then(|it| Some((it, it.reader.head()?))) else {
            return Err(refused(Cause::Defect));
        };
        // 301, 302 and 303 may turn other methods into GET; only those that stay themselves are followed.
        let keeps_method = matches!(self.plan.mix.requests()[op.request].method.as_ref(), "GET" | "HEAD")
            || matches!(head.status, 307 | 308);
        if !keeps_method {
            return Err(AttemptOutcome::failed(AttemptClass::Http3xx, Cause::MethodChange, Phase::Head));
        }
        let Follow::UpTo(most, traps) = self.plan.follow else { return Err(refused(Cause::NotFollowed)) };
        let base = match &op.hop {
            Some(hop) => hop.url.clone(),
            None => self.url_of(op).parse::<Url>().map_err(|_| refused(Cause::Defect))?,
        };
        let url = redirected_to(&base, &head.location)?;
        let mut visited = op.hop.as_ref().map_or_else(Vec::new, |hop| hop.visited.clone());
        visited.push(hash(&base));
        // Each request of an operation has the whole limit, as each page of a listing: `visited` is of this one alone.
        if visited.len() > usize::from(most) {
            // A second visit may end elsewhere than the first; only one too many is known to lead nowhere.
            let loops = visited.contains(&hash(&url));
            return Err(refused(if loops { Cause::RedirectLoop } else { Cause::TooManyRedirects }));
        }
        let from = connection.address.clone();
        let origin = self.origin_index(&url).ok_or_else(|| refused(Cause::TooManyOrigins))?;
        let only_public = self.beware(&base, &from, &url, origin, traps)?;
        Ok(Hop { url, origin, only_public, visited })
    }

    /// Keeps away from traps that show by the URL alone. Answers whether the hop is for public addresses only.
    fn beware(
        &mut self,
        base: &Url,
        from: &Address,
        url: &Url,
        origin: usize,
        traps: Traps,
    ) -> Result<bool, AttemptOutcome> {
        let proxied = matches!(self.plan.connections.route, Route::Proxy { .. });
        if url.origin().scheme == Scheme::Https && proxied {
            return Err(refused(Cause::SchemeNotSpoken));
        }
        if beyond_tls(base, url) && traps.downgrade == Trap::Refused {
            self.note_target(url);
            return Err(denied(Cause::Downgrade, Phase::Head));
        }
        // Through a proxy nobody here sees an address: what the URL says must do.
        let from_public = match from {
            _ if proxied => !is_inside_by_name(base.origin()),
            Address::Tcp(address) => !is_inside(address.ip()),
            Address::Unix(_) => false,
        };
        // Where the user sends load anyway, a redirect leads nowhere new.
        let named = origin < self.plan.targets.origins().len();
        let only_public = from_public && !named && traps.private == Trap::Refused;
        if only_public && proxied && is_inside_by_name(url.origin()) {
            self.note_target(url);
            return Err(denied(Cause::PrivateAddress, Phase::Head));
        }
        Ok(only_public)
    }

    /// Remembers where a redirect that is not followed leads, without path and query, which may hold a secret.
    fn note_target(&mut self, url: &Url) {
        let origin = url.origin();
        self.note_detail(format!("to {}://{}", origin.scheme, origin.host_header()).as_bytes());
    }

    /// The URL that an operation is about, where it was addressed to.
    pub(in crate::run_loop) fn url_of(&self, op: &Op<'_>) -> String {
        let origin = &self.origins[op.origin].origin;
        let mut url = format!("{}://{}", origin.scheme, origin.host_header());
        self.plan.targets.write_path(op.subject, &mut String::new(), &mut url);
        url
    }

    fn origin_index(&mut self, url: &Url) -> Option<usize> {
        let known = self.origins.iter().position(|state| state.origin == *url.origin());
        if known.is_none() && self.origins.len() < self.plan.targets.origins().len() + ORIGINS_MAX {
            let label = self.recorder.host_label(&url.origin().to_string());
            self.origins.push(OriginState::new(self.plan, url.origin().clone(), false, label));
            return Some(self.origins.len() - 1);
        }
        known
    }

    /// Whether the slot's attempt was redirected to where it must not go on this kept connection.
    #[inline]
    pub(in crate::run_loop) fn is_lured(&mut self, slot: u32, token: Token) -> bool {
        let hop = self.slots[slot as usize].op.as_ref().and_then(|op| op.hop.as_ref());
        let Some((hop, connection)) = hop.zip(self.connections.get(token)) else { return false };
        let lured = is_trap(hop, &connection.address);
        if lured {
            let shown = connection.address.to_string();
            self.note_detail(shown.as_bytes());
        }
        lured
    }

    /// Ends the slot's operation instead of reaching for a private address.
    pub(in crate::run_loop) fn deny(&mut self, net: &mut N, slot: u32, now: Instant) {
        self.end_attempt(net, slot, denied(Cause::PrivateAddress, Phase::Connect), After::Close, now);
    }
}

/// The URL in a `Location`, which may be relative to that of the request.
///
/// # Errors
/// How a request ends that is answered so.
pub(crate) fn redirected_to(base: &Url, location: &Location) -> Result<Url, AttemptOutcome> {
    let location = match location {
        Location::One(location) => location,
        Location::Absent => return Err(refused(Cause::NoLocation)),
        Location::Several => return Err(refused(Cause::TwoLocations)),
        Location::Invalid => return Err(refused(Cause::BadLocation)),
    };
    base.join(location).map_err(|error| match error {
        UrlError::OtherScheme(_) => refused(Cause::SchemeNotSpoken),
        _ => refused(Cause::BadLocation),
    })
}

/// Whether a redirect leads from https to http.
pub(crate) fn beyond_tls(from: &Url, to: &Url) -> bool {
    (from.origin().scheme, to.origin().scheme) == (Scheme::Https, Scheme::Http)
}

/// Whether a hop must not be made to that address.
pub(in crate::run_loop) fn is_trap(hop: &Hop, address: &Address) -> bool {
    hop.only_public && matches!(address, Address::Tcp(address) if is_inside(address.ip()))
}

/// Within one run it only matters that the same URL has the same hash.
fn hash(url: &Url) -> u64 {
    let mut hasher = DefaultHasher::new();
    url.to_string().hash(&mut hasher);
    hasher.finish()
}

/// Whether an origin says by itself that it is not public; a name could stand for anything, and is taken for public.
fn is_inside_by_name(origin: &Origin) -> bool {
    let host = origin.host.as_ref();
    match host.parse::<IpAddr>() {
        Ok(address) => is_inside(address),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Whether an address belongs to this host or to a network that is not public: loopback, private, link-local (among them
/// those where clouds keep credentials), shared (RFC 6598), unique local (RFC 4193), and IPv4 ones of that kind in IPv6.
fn is_inside(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_inside_v4(address),
        IpAddr::V6(address) => embedded(address).map_or_else(|| is_inside_v6(address), is_inside_v4),
    }
}

fn is_inside_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    // 0.0.0.0/8 reaches this host on Linux.
    first == 0
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || (first == 100 && second & 0xc0 == 64)
}

fn is_inside_v6(address: Ipv6Addr) -> bool {
    let first = address.segments()[0];
    let site_local = first & 0xffc0 == 0xfec0;
    address.is_loopback()
        || address.is_unspecified()
        || address.is_unicast_link_local()
        || address.is_unique_local()
        || site_local
}

/// The IPv4 address that an IPv6 one stands for: mapped (`::ffff:a.b.c.d`), or translated (`64:ff9b::a.b.c.d`, RFC 6052).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, high, low] = address.segments();
    let translated = [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0];
    let ([h1, h2], [l1, l2]) = (high.to_be_bytes(), low.to_be_bytes());
    address.to_ipv4_mapped().or_else(|| translated.then(|| Ipv4Addr::new(h1, h2, l1, l2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_host_and_of_private_networks_are_told_from_public_ones() {
        let inside = [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "fec0::1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
            "64:ff9b::169.254.169.254",
        ];
        for text in inside {
            assert!(is_inside(text.parse().unwrap()), "{text}");
        }
        let public = [
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.169.0.1",
            "169.253.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "11.0.0.1",
            "2001:db8::1",
            "2606:4700::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ];
        for text in public {
            assert!(!is_inside(text.parse().unwrap()), "{text}");
        }
        let origin = |host: &str| Url::parse(&format!("http://{host}/")).unwrap().origin().clone();
        for host in ["localhost", "a.localhost:81", "10.0.0.1", "[::1]:80", "0x7f.1"] {
            assert!(is_inside_by_name(&origin(host)), "{host}");
        }
        for host in ["example.com", "localhost.example.com", "8.8.8.8"] {
            assert!(!is_inside_by_name(&origin(host)), "{host}");
        }
    }
}
