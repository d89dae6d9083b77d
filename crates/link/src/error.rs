//! Errors of links. The error for a missing permission contains a way to get the permission.

use std::io;

/// Reason why a link cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The description of the link has a mistake.
    #[error(transparent)]
    Spec(#[from] crate::spec::SpecError),
    /// This process lacks a permission that the back end needs.
    #[error(transparent)]
    Permission(#[from] MissingPermission),
    /// The kernel does not have the congestion control.
    #[error(
        "the kernel has no congestion control `{name}` (it has {available}): load its module, or choose another one"
    )]
    Congestion {
        /// The requested congestion control.
        name: String,
        /// The congestion controls that the kernel has.
        available: String,
    },
    /// The part of the description that the back end cannot reproduce.
    #[error(
        "the relay cannot reproduce {what} (packets are needed for it): remove it, or use `plimsoll link run` or `link up`"
    )]
    NeedsPackets {
        /// The part of the description.
        what: &'static str,
    },
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// The action that failed, as it follows "cannot" in a message.
        action: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
}

/// A permission that the back end `tun` needs and this process does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingPermission {
    /// Creating network namespaces.
    #[error(
        "creating a network namespace needs CAP_SYS_ADMIN: run as root or with `unshare -Urn`, or use \
         `plimsoll link relay`, which needs no permission"
    )]
    Namespaces,
    /// Creating user namespaces.
    #[error(
        "this system does not allow user namespaces (see user.max_user_namespaces, and AppArmor's \
         apparmor_restrict_unprivileged_userns): run as root, or use `plimsoll link relay`, which needs no permission"
    )]
    UserNamespaces,
    /// Opening the file from which TUN devices are created.
    #[error(
        "opening /dev/net/tun is not allowed: run as root or `chmod 666 /dev/net/tun` (the default of many \
         distributions), or use `plimsoll link relay`, which needs no permission"
    )]
    DeviceFile,
    /// The file from which TUN devices are created does not exist.
    #[error(
        "there is no /dev/net/tun: run `modprobe tun`, or pass the device to the container (--device /dev/net/tun), or \
         use `plimsoll link relay`, which needs no permission"
    )]
    NoDeviceFile,
    /// Creating devices in a network namespace.
    #[error(
        "creating a TUN device needs CAP_NET_ADMIN: run as root or in a container with NET_ADMIN, or use \
         `plimsoll link relay`, which needs no permission"
    )]
    Devices,
}

/// Returns a function that adds `action` to an error of the kernel. `action` follows "cannot".
pub(crate) fn failed(action: &'static str) -> impl FnOnce(io::Error) -> LinkError {
    move |source| LinkError::System { action, source }
}
