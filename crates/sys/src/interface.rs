//! Configures the state, addresses and routes of network interfaces with netlink messages (rtnetlink(7)).
//!
//! All calls apply to the network namespace of the calling thread. Netlink is used instead of the program `ip`, so that
//! emulated links need no other package.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::kernel_call::{check_size, own};

/// Settings of an interface that are set when it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Maximum size of a packet in bytes.
    pub mtu: u32,
    /// Maximum number of frames that wait for the device.
    pub queue_frames: u32,
}

/// Starts an interface (sets its state to "up"). With `None`, the settings of the interface do not change.
///
/// # Errors
/// Fails with errors of the kernel, for example if there is no such interface, or without `CAP_NET_ADMIN`.
pub fn start(name: &str, settings: Option<Settings>) -> io::Result<()> {
    let mut message = Message::new(libc::RTM_NEWLINK, 0);
    message.byte(libc::AF_UNSPEC as u8);
    message.byte(0);
    message.bytes(&0_u16.to_ne_bytes());
    message.bytes(&index(name)?.to_ne_bytes());
    // The flags, and a mask of the flags that change.
    message.bytes(&(libc::IFF_UP as u32).to_ne_bytes());
    message.bytes(&(libc::IFF_UP as u32).to_ne_bytes());
    if let Some(Settings { mtu, queue_frames }) = settings {
        message.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes());
        message.attribute(libc::IFLA_TXQLEN, &queue_frames.to_ne_bytes());
    }
    message.ask_kernel()
}

/// Adds an address to an interface, without a route to other addresses.
///
/// # Errors
/// Fails with errors of the kernel, for example `AlreadyExists`.
pub fn add_address(name: &str, address: IpAddr) -> io::Result<()> {
    let mut message = Message::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
    message.byte(family(address));
    message.byte(all_bits(address));
    // Do not check whether another host has the same address, so that the address can be used immediately. No other
    // host on this interface can have this address.
    message.byte(libc::IFA_F_NODAD as u8);
    message.byte(libc::RT_SCOPE_UNIVERSE);
    message.bytes(&index(name)?.to_ne_bytes());
    message.address(libc::IFA_LOCAL, address);
    message.address(libc::IFA_ADDRESS, address);
    message.ask_kernel()
}

/// A route to one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route<'a> {
    /// The address.
    pub to: IpAddr,
    /// Congestion control of TCP connections over this route. `None` means the default of the namespace.
    pub congestion: Option<&'a str>,
    /// Priority compared with other routes to the same address; lower values take precedence. `None` means 0.
    pub priority: Option<u32>,
}

/// Adds a route over an interface.
///
/// # Errors
/// Fails with errors of the kernel, for example `InvalidInput` if the kernel does not have the congestion control.
pub fn add_route(name: &str, Route { to, congestion, priority }: Route<'_>) -> io::Result<()> {
    let mut message = Message::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
    message.byte(family(to));
    message.byte(all_bits(to));
    // The route has no source address and no type of service.
    message.bytes(&[0, 0]);
    message.bytes(&[libc::RT_TABLE_MAIN, libc::RTPROT_STATIC, libc::RT_SCOPE_LINK, libc::RTN_UNICAST]);
    message.bytes(&0_u32.to_ne_bytes());
    message.address(libc::RTA_DST, to);
    message.attribute(libc::RTA_OIF, &index(name)?.to_ne_bytes());
    if let Some(priority) = priority {
        message.attribute(libc::RTA_PRIORITY, &priority.to_ne_bytes());
    }
    if let Some(congestion) = congestion {
        let mut metrics = Vec::new();
        append_attribute(&mut metrics, RTAX_CC_ALGO, &[congestion.as_bytes(), &[0]].concat());
        message.attribute(libc::RTA_METRICS, &metrics);
    }
    message.ask_kernel()
}

/// Number of the route metric that contains the name of a congestion control (linux/rtnetlink.h).
const RTAX_CC_ALGO: u16 = 16;

/// Returns the number of an interface.
fn index(name: &str) -> io::Result<libc::c_uint> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: `name` is a C string that lives during the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

fn all_bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// Size of a netlink header: length, type, flags, sequence number and sender.
const HEADER_BYTES: usize = 16;

/// A request to the kernel.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: libc::c_int) -> Self {
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
        let mut message = Self(vec![0; 4]);
        message.bytes(&kind.to_ne_bytes());
        message.bytes(&flags.to_ne_bytes());
        message.bytes(&[0; 8]);
        message
    }

    fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    fn bytes(&mut self, values: &[u8]) {
        self.0.extend_from_slice(values);
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        append_attribute(&mut self.0, kind, value);
    }

    fn address(&mut self, kind: u16, address: IpAddr) {
        match address {
            IpAddr::V4(address) => self.attribute(kind, &address.octets()),
            IpAddr::V6(address) => self.attribute(kind, &address.octets()),
        }
    }

    /// Sends the message and waits for the result. The kernel processes the message during `send`, so its response is
    /// already there when `send` returns.
    fn ask_kernel(mut self) -> io::Result<()> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        // SAFETY: the call takes only numbers, so it accesses no memory.
        let opened =
            unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
        let socket: OwnedFd = own(opened)?;
        // SAFETY: pointer and length describe the message, which the kernel only reads.
        check_size(unsafe { libc::send(socket.as_raw_fd(), self.0.as_ptr().cast(), self.0.len(), 0) })?;
        let mut room = [0_u8; 4096];
        // SAFETY: pointer and length describe `room`.
        let received =
            unsafe { libc::recv(socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT) };
        result_of(&room[..check_size(received)?])
    }
}

/// Appends an attribute, padded to four bytes: its length, type and value.
fn append_attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = (value.len() + 4) as u16;
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Parses the kernel's response to a request: an error number, which is 0 for success.
fn result_of(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    let code =
        answer.get(HEADER_BYTES..HEADER_BYTES + 4).map(|code| i32::from_ne_bytes([code[0], code[1], code[2], code[3]]));
    match (kind, code) {
        (Some(kind), Some(0)) if libc::c_int::from(kind) == libc::NLMSG_ERROR => Ok(()),
        (Some(kind), Some(code)) if libc::c_int::from(kind) == libc::NLMSG_ERROR => {
            Err(io::Error::from_raw_os_error(code.saturating_neg()))
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::Network;
    use crate::tun::{DEVICE_FILE, HEADER_BYTES, Tun};
    use std::net::{Ipv4Addr, UdpSocket};
    use std::path::Path;

    const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1));
    const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2));

    fn configured() -> io::Result<Tun> {
        let tun = Tun::create("test0")?;
        start("lo", None)?;
        start("test0", Some(Settings { mtu: 1400, queue_frames: 100 }))?;
        add_address("test0", NEAR)?;
        add_route("test0", Route { to: FAR, congestion: Some("reno"), priority: Some(7) })?;
        add_address("test0", "2001:2::1".parse().unwrap())?;
        add_route("test0", Route { to: "2001:2::2".parse().unwrap(), congestion: None, priority: None })?;
        Ok(tun)
    }

    /// Sends a datagram to the far address and reads it from the device.
    fn exchange() {
        let tun = configured().unwrap();
        let socket = UdpSocket::bind((NEAR, 0)).unwrap();
        socket.send_to(b"hello", (FAR, 9)).unwrap();
        let mut room = [0; 2000];
        // The kernel itself sends packets on a new interface.
        let found = (0..20).map_while(|_| tun.read(&mut room).ok().map(|bytes| room[..bytes].to_vec()));
        let packet = found.into_iter().find(|frame| frame.ends_with(b"hello")).expect("the datagram was not sent");
        assert_eq!(packet[HEADER_BYTES], 0x45, "no IPv4 packet after the header: {packet:?}");
        assert_eq!(add_address("test0", NEAR).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let unknown = Route { to: "198.18.0.3".parse().unwrap(), congestion: Some("nonexistent"), priority: None };
        assert!(add_route("test0", unknown).is_err());
        assert!(start("none0", None).is_err());
    }

    #[test]
    fn a_device_with_an_address_and_a_route_carries_packets() {
        let thread = std::thread::spawn(|| match Network::unshare() {
            Ok(_) if Path::new(DEVICE_FILE).exists() => exchange(),
            _ => eprintln!("skipped: this user may not create network namespaces or TUN devices"),
        });
        thread.join().unwrap();
    }

    #[test]
    fn wrong_answers_and_names_are_errors() {
        assert!(result_of(&[]).is_err() && result_of(&[0; 20]).is_err());
        assert_eq!(Tun::create("a name that is too long").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
