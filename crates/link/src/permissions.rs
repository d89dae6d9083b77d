//! Gets the permissions that the back end tun needs, if possible without root.

use crate::error::{LinkError, MissingPermission, failed};
use std::{fs, io};
use sys::namespace::become_root_of_user_namespace;

/// The way in which this process got the permission to create network namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permissions {
    /// The process already had the permission, for example as root.
    Own,
    /// The process moved to a new user namespace. All network namespaces that the process creates belong to this user
    /// namespace. The process stays in the network of the host, but can no longer configure it.
    UserNamespace,
}

/// Gets the permission to create network namespaces. If necessary, moves this process to a new user namespace. Call
/// this function before the process starts its first thread.
///
/// # Errors
/// Fails if the system does not allow user namespaces, or if the process has several threads.
pub fn gain() -> Result<Permissions, LinkError> {
    // The code reads the capabilities instead of trying to create a namespace. An attempt would need a thread, and a
    // process with threads cannot change its user namespace.
    let status = fs::read_to_string("/proc/self/status").map_err(failed("read the permissions of this process"))?;
    if has_admin(&status) {
        return Ok(Permissions::Own);
    }
    match become_root_of_user_namespace() {
        Ok(()) => Ok(Permissions::UserNamespace),
        // `StorageFull` means that the limit on user namespaces is 0 or reached.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::StorageFull) => {
            Err(MissingPermission::UserNamespaces.into())
        }
        // Programs call this function before they start threads, so this is a defect.
        Err(error) => Err(failed("create a user namespace")(error)),
    }
}

/// Numbers of the capabilities needed to create namespaces and devices (linux/capability.h).
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;

/// Returns whether the effective set in `/proc/PID/status` contains both capabilities.
fn has_admin(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let both = 1 << CAP_NET_ADMIN | 1 << CAP_SYS_ADMIN;
    mask & both == both
}

#[cfg(test)]
mod tests {
    use super::has_admin;

    #[test]
    fn both_capabilities_are_needed() {
        let status = |mask: &str| format!("Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t{mask}\n");
        assert!(has_admin(&status("000001fffeffffff")) && has_admin(&status("0000000000201000")));
        for mask in ["0000000000000000", "0000000000200000", "0000000000001000", "none"] {
            assert!(!has_admin(&status(mask)), "{mask}");
        }
        assert!(!has_admin(""));
    }
}
