//! One end of a path: a network namespace with a TUN device.

use crate::error::{LinkError, MissingPermission, failed};
use crate::mark;
use crate::state::Owner;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use sys::interface::{self, Route};
use sys::namespace::Network;
use sys::tun::Tun;

/// Name of the device in each namespace.
const DEVICE: &str = "plimsoll0";
/// MTU of the path, as on Ethernet.
const MTU: u32 = 1500;
/// Maximum number of frames that wait for the emulator to read them. A frame has up to 64 KiB.
const QUEUE_FRAMES: u32 = 4096;
const CONGESTION_FILE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Settings of a new end that do not depend on its side.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewEnd<'a> {
    pub owner: Owner,
    /// Congestion control of TCP. `None` means the default of the host.
    pub congestion: Option<&'a str>,
    /// Maximum size of a TCP buffer. `None` means the size on the host.
    pub buffer_bytes: Option<u64>,
}

/// One end of a path.
#[derive(Debug)]
pub struct End {
    network: Network,
    device: Arc<Tun>,
    address: Ipv4Addr,
    address_v6: Ipv6Addr,
    congestion: String,
}

impl End {
    /// Creates an end, with its device and its route to the other end.
    pub(super) fn open(
        own: (Ipv4Addr, Ipv6Addr),
        other: (Ipv4Addr, Ipv6Addr),
        new: NewEnd<'_>,
    ) -> Result<Self, LinkError> {
        // A separate thread creates the namespace, because the thread that creates it moves into it.
        let made = thread::scope(|scope| scope.spawn(|| make(own, other, new)).join());
        let (network, device, congestion) = made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Self { network, device: Arc::new(device), address: own.0, address_v6: own.1, congestion })
    }

    /// Returns the IPv4 address of this end. Only the other end can reach this address.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Returns the IPv6 address of this end.
    #[must_use]
    pub fn address_v6(&self) -> Ipv6Addr {
        self.address_v6
    }

    /// Returns the congestion control of TCP connections from this end.
    #[must_use]
    pub fn congestion(&self) -> &str {
        &self.congestion
    }

    /// Returns the number that identifies the network namespace of this end on this host.
    #[must_use]
    pub fn namespace_id(&self) -> u64 {
        self.network.id()
    }

    /// Returns a path with which processes of the same user can enter the network namespace of this end: `nsenter
    /// --net=PATH COMMAND`. The path is valid as long as the link exists.
    #[must_use]
    pub fn place(&self) -> PathBuf {
        self.network.place()
    }

    /// Moves the calling thread to this end. Sockets that the thread creates later belong to this end. Sockets that the
    /// thread created earlier and all files are not affected.
    ///
    /// # Errors
    /// Fails without `CAP_SYS_ADMIN`.
    pub fn enter(&self) -> io::Result<()> {
        self.network.enter()
    }

    /// Runs `work` at this end in a separate thread, and returns its result.
    ///
    /// # Errors
    /// Fails if the thread cannot move to this end.
    pub fn within<R: Send>(&self, work: impl FnOnce() -> R + Send) -> io::Result<R> {
        let done = thread::scope(|scope| scope.spawn(|| self.enter().map(|()| work())).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Makes `command` run at this end. The kernel kills the command when the *thread* that starts it ends, so no
    /// process remains after a crash.
    ///
    /// # Errors
    /// Fails if there are no more descriptors.
    pub fn host(&self, command: &mut Command) -> io::Result<()> {
        self.network.host(command)
    }

    pub(super) fn device(&self) -> Arc<Tun> {
        Arc::clone(&self.device)
    }

    /// Returns the number of frames that the kernel dropped because the emulator did not read them in time.
    pub(super) fn device_drops(&self) -> u64 {
        let table = self.within(|| fs::read_to_string("/proc/thread-self/net/dev"));
        table.ok().and_then(Result::ok).and_then(|table| drops_in(&table)).unwrap_or(0)
    }
}

/// Returns the number of frames that the device dropped when sending, from `/proc/net/dev`: the fourth column after the
/// eight columns of received frames.
fn drops_in(table: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(DEVICE)?.strip_prefix(':'))?;
    line.split_whitespace().nth(8 + 3)?.parse().ok()
}

/// Moves the calling thread to a new namespace, and creates the device there.
fn make(
    own: (Ipv4Addr, Ipv6Addr),
    other: (Ipv4Addr, Ipv6Addr),
    NewEnd { owner, congestion, buffer_bytes }: NewEnd<'_>,
) -> Result<(Network, Tun, String), LinkError> {
    let network = Network::unshare().map_err(denied(MissingPermission::Namespaces, "create a network namespace"))?;
    let device = Tun::create(DEVICE).map_err(refused_device)?;
    interface::start("lo", None).map_err(failed("start loopback"))?;
    mark::set(owner).map_err(failed("mark the network namespace"))?;
    // A system without IPv6 has no such file. The device then has only an IPv4 address.
    let with_v6 = fs::write(format!("/proc/sys/net/ipv6/conf/{DEVICE}/addr_gen_mode"), "1").is_ok();
    let settings = interface::Settings { mtu: MTU, queue_frames: QUEUE_FRAMES };
    interface::start(DEVICE, Some(settings)).map_err(failed("start the TUN device"))?;
    let mut addresses = vec![(IpAddr::V4(own.0), IpAddr::V4(other.0))];
    if with_v6 {
        addresses.push((IpAddr::V6(own.1), IpAddr::V6(other.1)));
    }
    for (own, other) in addresses {
        interface::add_address(DEVICE, own).map_err(failed("set the address of the TUN device"))?;
        let route = Route { to: other, congestion, priority: None };
        interface::add_route(DEVICE, route).map_err(|error| refused_route(error, congestion))?;
    }
    if let Some(bytes) = buffer_bytes {
        raise_buffers(bytes).map_err(failed("set the TCP buffers of the namespace"))?;
    }
    let default = fs::read_to_string(CONGESTION_FILE).unwrap_or_default();
    let congestion = congestion.map_or_else(|| default.trim().to_owned(), str::to_owned);
    Ok((network, device, congestion))
}

/// Raises the maximum sizes of TCP buffers in the namespace of the calling thread to `bytes`. Sizes that are already
/// larger do not change.
fn raise_buffers(bytes: u64) -> io::Result<()> {
    for file in ["/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_wmem"] {
        let text = fs::read_to_string(file)?;
        let mut sizes: Vec<u64> = text.split_whitespace().filter_map(|size| size.parse().ok()).collect();
        if let Some(largest) = sizes.get_mut(2).filter(|largest| **largest < bytes) {
            *largest = bytes;
            let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
            fs::write(file, sizes.join(" "))?;
        }
    }
    Ok(())
}

fn denied(permission: MissingPermission, action: &'static str) -> impl FnOnce(io::Error) -> LinkError {
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied => permission.into(),
        _ => failed(action)(error),
    }
}

/// Returns the error for a device that could not be created. If the device file can be opened, the process lacks the
/// permission to create devices in the namespace.
fn refused_device(error: io::Error) -> LinkError {
    match error.kind() {
        io::ErrorKind::NotFound => MissingPermission::NoDeviceFile.into(),
        io::ErrorKind::PermissionDenied if fs::File::open(sys::tun::DEVICE_FILE).is_err() => {
            MissingPermission::DeviceFile.into()
        }
        io::ErrorKind::PermissionDenied => MissingPermission::Devices.into(),
        _ => failed("create a TUN device")(error),
    }
}

fn refused_route(error: io::Error, congestion: Option<&str>) -> LinkError {
    let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    match congestion {
        Some(name) if error.kind() == io::ErrorKind::InvalidInput => {
            let available = fs::read_to_string(file).unwrap_or_default().trim().replace(' ', ", ");
            LinkError::Congestion { name: name.to_owned(), available }
        }
        _ => failed("set the route of the TUN device")(error),
    }
}
