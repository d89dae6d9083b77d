//! Private addresses. A redirect from the public network must not lead to a private address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::url::Origin;

/// Returns whether the host of an origin is private, as far as this is known without a name lookup. A name counts as
/// public here, because it could resolve to any address.
pub(super) fn is_private_host(origin: &Origin) -> bool {
    let host = origin.host.as_ref();
    match host.parse::<IpAddr>() {
        Ok(address) => is_private(address),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Returns whether an address belongs to this host or to a network that is not public. Such addresses are loopback,
/// private, shared (RFC 6598), unique local (RFC 4193) and link-local addresses. Cloud providers serve credentials at
/// link-local addresses. An IPv6 address that contains an IPv4 address of one of these kinds is also private.
pub(super) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => embedded(address).map_or_else(|| is_private_v6(address), is_private_v4),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    // On Linux, addresses in 0.0.0.0/8 mean this host.
    first == 0
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || (first == 100 && second & 0xc0 == 64)
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let first = address.segments()[0];
    let site_local = first & 0xffc0 == 0xfec0;
    address.is_loopback()
        || address.is_unspecified()
        || address.is_unicast_link_local()
        || address.is_unique_local()
        || site_local
}

/// Returns the IPv4 address that an IPv6 address contains, if there is one. The IPv6 address can be mapped
/// (`::ffff:a.b.c.d`) or translated (`64:ff9b::a.b.c.d`, RFC 6052).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, high, low] = address.segments();
    let translated = [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0];
    let ([h1, h2], [l1, l2]) = (high.to_be_bytes(), low.to_be_bytes());
    address.to_ipv4_mapped().or_else(|| translated.then(|| Ipv4Addr::new(h1, h2, l1, l2)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::url::Url;

    #[test]
    fn private_addresses_are_recognized() {
        let private = [
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
        for text in private {
            assert!(is_private(text.parse().unwrap()), "{text}");
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
            assert!(!is_private(text.parse().unwrap()), "{text}");
        }
        let origin = |host: &str| Url::parse(&format!("http://{host}/")).unwrap().origin().clone();
        for host in ["localhost", "a.localhost:81", "10.0.0.1", "[::1]:80", "0x7f.1"] {
            assert!(is_private_host(&origin(host)), "{host}");
        }
        for host in ["example.com", "localhost.example.com", "8.8.8.8"] {
            assert!(!is_private_host(&origin(host)), "{host}");
        }
    }
}
