//! Conversion of socket addresses between Rust's types and the kernel's.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::kernel_call::socklen_of;

/// An address in the kernel's representation.
pub(crate) enum RawAddress {
    V4(libc::sockaddr_in),
    V6(libc::sockaddr_in6),
    Unix(libc::sockaddr_un),
}

impl RawAddress {
    pub(crate) fn of_path(path: &Path) -> io::Result<Self> {
        let bytes = path.as_os_str().as_bytes();
        let mut raw = libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
        // One byte is reserved for the terminating zero.
        if bytes.is_empty() || bytes.len() >= raw.sun_path.len() || bytes.contains(&0) {
            let text = "a Unix socket's path must have 1 to 107 bytes and no NUL";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        for (place, byte) in raw.sun_path.iter_mut().zip(bytes) {
            *place = *byte as libc::c_char;
        }
        Ok(Self::Unix(raw))
    }

    pub(crate) fn family(&self) -> libc::c_int {
        match self {
            Self::V4(_) => libc::AF_INET,
            Self::V6(_) => libc::AF_INET6,
            Self::Unix(_) => libc::AF_UNIX,
        }
    }

    /// Returns the pointer and the length for `bind` and `connect`. The pointer is valid while `self` is borrowed.
    pub(crate) fn as_parts(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        match self {
            Self::V4(raw) => ((&raw const *raw).cast(), socklen_of::<libc::sockaddr_in>()),
            Self::V6(raw) => ((&raw const *raw).cast(), socklen_of::<libc::sockaddr_in6>()),
            Self::Unix(raw) => ((&raw const *raw).cast(), socklen_of::<libc::sockaddr_un>()),
        }
    }
}

impl From<SocketAddr> for RawAddress {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(address) => Self::V4(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(address) => Self::V6(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            }),
        }
    }
}

/// Reads an IP address that was written by the kernel or the C library. Returns `None` for any other family.
///
/// # Safety
/// `raw` is null, or points to an address whose type and length match its family field.
pub(crate) unsafe fn read_ip(raw: *const libc::sockaddr) -> Option<SocketAddr> {
    if raw.is_null() {
        return None;
    }
    // SAFETY: every address begins with its family, and the caller guarantees the rest. The read is unaligned, because
    // a `sockaddr` may be unaligned.
    let family = unsafe { raw.cast::<libc::sa_family_t>().read_unaligned() };
    match libc::c_int::from(family) {
        libc::AF_INET => {
            // SAFETY: the family field shows that this is a `sockaddr_in`.
            let v4 = unsafe { raw.cast::<libc::sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(v4.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: the family field shows that this is a `sockaddr_in6`.
            let v6 = unsafe { raw.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Some(SocketAddr::V6(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id)))
        }
        _ => None,
    }
}

/// Calls `fill` with a buffer that can store any address, as `getsockname`, `getpeername` and `accept4` need. Then
/// reads the address from the buffer.
pub(crate) fn receive_ip(
    fill: impl FnOnce(*mut libc::sockaddr, *mut libc::socklen_t) -> io::Result<libc::c_int>,
) -> io::Result<(libc::c_int, Option<SocketAddr>)> {
    // SAFETY: all-zero bytes are a valid `sockaddr_storage` (of no family).
    let mut room: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut length = socklen_of::<libc::sockaddr_storage>();
    let result = fill((&raw mut room).cast(), &raw mut length)?;
    // SAFETY: `room` is large enough for any family, and contains what the kernel wrote, or zeros.
    let address = unsafe { read_ip((&raw const room).cast()) };
    Ok((result, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ip_addresses_round_trip() {
        for text in ["127.0.0.1:80", "255.254.1.0:65535", "[::1]:443", "[fe80::1%3]:9", "[2001:db8::a:b]:1"] {
            let address: SocketAddr = text.parse().unwrap();
            let raw = RawAddress::from(address);
            let (pointer, _) = raw.as_parts();
            // SAFETY: `pointer` comes from an address that is alive and whose family field is correct.
            assert_eq!(unsafe { read_ip(pointer) }, Some(address));
        }
    }

    #[test]
    fn unix_paths_are_limited() {
        assert!(RawAddress::of_path(Path::new(&"x".repeat(107))).is_ok());
        for bad in [String::new(), "x".repeat(108), "a\0b".to_owned()] {
            let error = RawAddress::of_path(Path::new(&bad)).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
}
