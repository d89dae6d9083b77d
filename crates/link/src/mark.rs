//! The mark in the network namespaces of a link. It names the owner of the link, so the processes of a link can be found
//! even if nothing else of the link exists any more.
//!
//! The mark is a route in the namespace: a route to a loopback address that contains the number of the owner, with the
//! start time of the owner as its priority. The route does not affect packets, because the kernel's own route to all
//! loopback addresses takes precedence. All processes in the namespace have the mark, also daemons that have erased their
//! environment. They cannot lose it without `CAP_NET_ADMIN`. The number of a namespace would not be enough, because the
//! kernel may give it to another namespace. Other processes read the mark in `/proc/PID/net`, which needs no permission,
//! not even for a process in another user namespace.

use crate::state::Owner;
use std::fs::File;
use std::io::{self, Read};
use std::net::Ipv4Addr;
use sys::interface::{self, Route};

/// Maximum size of the read part of the routing table. A namespace of a link has few routes, but a host may have millions.
const TABLE_MAX_BYTES: u64 = 8 << 10;

/// Device of the route, which every namespace has.
const DEVICE: &str = "lo";

/// Marks the network namespace of the calling thread. Its loopback device must be started.
pub fn set(owner: Owner) -> io::Result<()> {
    let (to, priority) = route_of(owner);
    interface::add_route(DEVICE, Route { to: to.into(), congestion: None, priority: Some(priority) })
}

/// Returns whether a process is in a namespace with the mark of `owner`.
pub fn has(process: u32, owner: Owner) -> bool {
    let mut table = String::new();
    let read = File::open(format!("/proc/{process}/net/route"))
        .and_then(|file| file.take(TABLE_MAX_BYTES).read_to_string(&mut table));
    read.is_ok() && is_in(&table, owner)
}

/// Returns the destination and the priority of the route for an owner.
fn route_of(owner: Owner) -> (Ipv4Addr, u32) {
    // Linux has at most 2^22 processes. The kernel prints priorities as signed numbers of 32 bits.
    let [_, high, middle, low] = owner.process.to_be_bytes();
    (Ipv4Addr::new(127, high, middle, low), (owner.started_ticks & u64::from(u32::MAX >> 1)) as u32)
}

/// Returns whether a routing table in the format of `/proc/PID/net/route` has the route for an owner. The first columns are
/// the device, the destination, the gateway, the flags, two counts and the priority.
fn is_in(table: &str, owner: Owner) -> bool {
    let (to, priority) = route_of(owner);
    // The kernel prints the bytes of an address as one number in the byte order of the machine.
    let to = format!("{:08X}", u32::from_ne_bytes(to.octets()));
    table.lines().any(|line| {
        let mut columns = line.split_whitespace();
        columns.next() == Some(DEVICE)
            && columns.next() == Some(&to)
            && columns.nth(4).and_then(|text| text.parse().ok()) == Some(priority)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::namespace::Network;

    const OWNER: Owner = Owner { process: 4_194_303, started_ticks: 0x1_ffff_ffff };

    #[test]
    fn only_a_namespace_with_the_mark_of_the_same_owner_is_found() {
        let process = std::process::id();
        assert!(!has(process, OWNER), "the namespace of the host has a mark");
        let marked = std::thread::spawn(|| match Network::unshare() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            made => {
                made.unwrap();
                interface::start(DEVICE, None).unwrap();
                set(OWNER).unwrap();
                Some(std::fs::read_to_string("/proc/thread-self/net/route").unwrap())
            }
        });
        let Some(table) = marked.join().unwrap() else {
            eprintln!("skipped: this user may not create network namespaces");
            return;
        };
        assert!(is_in(&table, OWNER), "{table}");
        for other in [Owner { process: 7, ..OWNER }, Owner { started_ticks: OWNER.started_ticks - 1, ..OWNER }] {
            assert!(!is_in(&table, other), "{table}");
        }
        assert!(!is_in("lo", OWNER) && !is_in("", OWNER));
    }
}
