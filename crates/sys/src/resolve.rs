//! Name resolution with `getaddrinfo`, as in other programs on the machine.

use std::ffi::{CStr, CString};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ptr;

use crate::address::read_ip;

/// Reason why a name cannot be resolved, derived from the resolver's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolveError {
    /// The name does not exist, or has no address.
    NotFound,
    /// The name server did not respond, or reported an error that may go away. A retry may succeed.
    TryAgain,
    /// Any other error, with its `EAI_` code.
    Failed(i32),
}

impl ResolveError {
    fn from_code(code: libc::c_int) -> Self {
        /// glibc's `EAI_ADDRFAMILY`: the name has no address of a requested family.
        const NO_ADDRESS_OF_FAMILY: libc::c_int = -9;
        match code {
            libc::EAI_NONAME | libc::EAI_NODATA | NO_ADDRESS_OF_FAMILY => Self::NotFound,
            libc::EAI_AGAIN => Self::TryAgain,
            other => Self::Failed(other),
        }
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("the name does not exist or has no address"),
            Self::TryAgain => f.write_str("the name server did not respond"),
            Self::Failed(code) => {
                // SAFETY: the call returns a pointer to a constant C string for every code.
                let text = unsafe { libc::gai_strerror(*code) };
                // SAFETY: as above. The pointer is never null, and the string is never freed.
                let text = unsafe { CStr::from_ptr(text) };
                write!(f, "the resolver failed: {} (code {code})", text.to_string_lossy())
            }
        }
    }
}

impl std::error::Error for ResolveError {}

/// Returns the distinct addresses of `host`, with `port`, in the resolver's order of preference. An IP address without
/// brackets resolves to itself. The function blocks until the query has ended, so it must not be called from an event
/// loop.
pub fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, ResolveError> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let name = CString::new(host).map_err(|_| ResolveError::NotFound)?;
    // SAFETY: all-zero bytes are a valid `addrinfo` (no preferences, null pointers).
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    hints.ai_socktype = libc::SOCK_STREAM;
    let mut list: *mut libc::addrinfo = ptr::null_mut();
    // SAFETY: all pointers are valid during the call, which writes `list` only on success.
    let code = unsafe { libc::getaddrinfo(name.as_ptr(), ptr::null(), &raw const hints, &raw mut list) };
    if code != 0 {
        return Err(ResolveError::from_code(code));
    }
    let mut addresses = Vec::new();
    let mut entry: *const libc::addrinfo = list;
    // SAFETY: `entry` is null or an entry of the list, which is freed only below.
    while let Some(info) = unsafe { entry.as_ref() } {
        // SAFETY: the resolver's addresses have the type that their family field indicates.
        if let Some(mut address) = unsafe { read_ip(info.ai_addr) } {
            address.set_port(port);
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        entry = info.ai_next;
    }
    // SAFETY: the list came from `getaddrinfo`, is freed only once, and no pointer into it remains.
    unsafe { libc::freeaddrinfo(list) };
    if addresses.is_empty() { Err(ResolveError::NotFound) } else { Ok(addresses) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_resolve_to_themselves_and_localhost_to_loopback() {
        assert_eq!(resolve("192.0.2.7", 81).unwrap(), ["192.0.2.7:81".parse().unwrap()]);
        assert_eq!(resolve("2001:db8::1", 9).unwrap(), ["[2001:db8::1]:9".parse().unwrap()]);
        let local = resolve("localhost", 7).unwrap();
        assert!(local.iter().all(|address| address.ip().is_loopback() && address.port() == 7), "{local:?}");
    }

    #[test]
    fn errors_are_told_apart_by_code() {
        assert_eq!(resolve("a\0b", 1), Err(ResolveError::NotFound));
        assert_eq!(ResolveError::from_code(libc::EAI_NONAME), ResolveError::NotFound);
        assert_eq!(ResolveError::from_code(libc::EAI_AGAIN), ResolveError::TryAgain);
        assert_eq!(ResolveError::from_code(libc::EAI_FAIL), ResolveError::Failed(libc::EAI_FAIL));
        // RFC 6761 reserves `.invalid`, so the name never has an address. Without a name server, the result is
        // `TryAgain`.
        assert!(resolve("no-such-host.invalid", 1).is_err());
        assert!(ResolveError::Failed(libc::EAI_FAIL).to_string().contains("(code -4)"));
    }
}
