//! TCP and Unix stream sockets, created non-blocking and close-on-exec.
//!
//! In addition to the usual calls, [`Socket::discard`] drops received bytes inside the kernel. In measurements, this
//! was six to ten times cheaper than reading the bytes.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::ptr;
use std::time::Duration;

use crate::address::{RawAddress, receive_ip};
use crate::arrival;
use crate::kernel_call::{check, check_size, own};

/// The state of a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connected {
    /// The connection is established.
    Now,
    /// The connection is in progress. Wait until the socket is writable, then check [`Socket::take_error`].
    Pending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tcp,
    Unix,
}

/// A stream socket, connected or listening. Closed on drop.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    kind: Kind,
}

impl Socket {
    /// Starts to open a TCP connection to `to`, with Nagle's algorithm switched off. If `from` is given, the socket is
    /// bound to this local address. The kernel chooses the local port only when the socket connects, so connections to
    /// different destinations can have the same port.
    pub fn connect_tcp(to: SocketAddr, from: Option<IpAddr>) -> io::Result<(Self, Connected)> {
        let to = RawAddress::from(to);
        let socket = Self::open(&to, Kind::Tcp)?;
        socket.set_nodelay(true)?;
        if let Some(from) = from {
            socket.set_option(libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
            socket.bind(&RawAddress::from(SocketAddr::new(from, 0)))?;
        }
        let connected = socket.connect(&to)?;
        Ok((socket, connected))
    }

    /// Starts a connection to the Unix socket at `path`. Fails with `WouldBlock` if the listener's queue is full.
    pub fn connect_unix(path: &Path) -> io::Result<(Self, Connected)> {
        let to = RawAddress::of_path(path)?;
        let socket = Self::open(&to, Kind::Unix)?;
        let connected = socket.connect(&to)?;
        Ok((socket, connected))
    }

    /// Listens for TCP connections on `address`. Port 0 means any free port (see [`Socket::local_addr`]). With
    /// `reuse_port`, several sockets may listen on the same address, and the kernel distributes connections among them.
    pub fn listen_tcp(address: SocketAddr, backlog: u32, reuse_port: bool) -> io::Result<Self> {
        let address = RawAddress::from(address);
        let socket = Self::open(&address, Kind::Tcp)?;
        socket.set_option(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        if reuse_port {
            socket.set_option(libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
        }
        socket.bind(&address)?;
        socket.listen(backlog)?;
        Ok(socket)
    }

    /// Listens on a new Unix socket at `path`, which must not exist.
    pub fn listen_unix(path: &Path, backlog: u32) -> io::Result<Self> {
        let address = RawAddress::of_path(path)?;
        let socket = Self::open(&address, Kind::Unix)?;
        socket.bind(&address)?;
        socket.listen(backlog)?;
        Ok(socket)
    }

    fn open(address: &RawAddress, kind: Kind) -> io::Result<Self> {
        let flags = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: the call takes only numbers, so it accesses no memory.
        let fd = own(unsafe { libc::socket(address.family(), flags, 0) })?;
        Ok(Self { fd, kind })
    }

    fn bind(&self, address: &RawAddress) -> io::Result<()> {
        let (pointer, length) = address.as_parts();
        // SAFETY: pointer and length describe `address`, which lives during the call.
        check(unsafe { libc::bind(self.as_raw_fd(), pointer, length) })?;
        Ok(())
    }

    fn listen(&self, backlog: u32) -> io::Result<()> {
        let backlog = libc::c_int::try_from(backlog).unwrap_or(libc::c_int::MAX);
        // SAFETY: the call takes only numbers, so it accesses no memory.
        check(unsafe { libc::listen(self.as_raw_fd(), backlog) })?;
        Ok(())
    }

    fn connect(&self, to: &RawAddress) -> io::Result<Connected> {
        let (pointer, length) = to.as_parts();
        // SAFETY: pointer and length describe `to`, which lives during the call.
        let result = check(unsafe { libc::connect(self.as_raw_fd(), pointer, length) });
        match result {
            Ok(_) => Ok(Connected::Now),
            // A signal does not stop a connection in progress, so `EINTR` means the same as `EINPROGRESS`.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR)) => {
                Ok(Connected::Pending)
            }
            Err(error) => Err(error),
        }
    }

    /// Accepts a waiting connection, which becomes non-blocking and close-on-exec. Also returns the peer's address, or
    /// `None` for Unix sockets. Fails with `WouldBlock` if no connection is waiting.
    pub fn accept(&self) -> io::Result<(Self, Option<SocketAddr>)> {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let (fd, peer) = receive_ip(|address, length| {
            // SAFETY: `address` has space for `*length` bytes, as `receive_ip` guarantees.
            check(unsafe { libc::accept4(self.as_raw_fd(), address, length, flags) })
        })?;
        Ok((Self { fd: own(fd)?, kind: self.kind }, peer))
    }

    /// Sends as many bytes as fit now, and returns their number. If the peer has closed the connection, this returns an
    /// error and never raises a signal.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send_with(bytes, libc::MSG_NOSIGNAL)
    }

    /// Sends like [`Socket::send`], with a flag that more data follows. The kernel may then hold back a partial packet
    /// until this data arrives.
    pub fn send_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send_with(bytes, libc::MSG_NOSIGNAL | libc::MSG_MORE)
    }

    fn send_with(&self, bytes: &[u8], flags: libc::c_int) -> io::Result<usize> {
        // SAFETY: pointer and length describe `bytes`, which the kernel only reads.
        check_size(unsafe { transfer(libc::SYS_sendto, self, bytes.as_ptr().cast_mut(), bytes.len(), flags) })
    }

    /// Reads available bytes into `room` and returns their number. 0 means the end of the stream, or that `room` is
    /// empty.
    pub fn recv(&self, room: &mut [u8]) -> io::Result<usize> {
        // SAFETY: pointer and length describe `room`, which nothing else uses.
        check_size(unsafe { transfer(libc::SYS_recvfrom, self, room.as_mut_ptr(), room.len(), 0) })
    }

    /// Reads like [`Socket::recv`]. Also returns the wall time (since 1970) at which the newest byte arrived at this
    /// host, if the kernel knows this time. The kernel records arrival times for TCP sockets while an
    /// [`crate::arrival::ArrivalTimestamps`] exists.
    pub fn recv_with_arrival(&self, room: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
        if self.kind != Kind::Tcp || arrival::report(self, true).is_err() {
            return self.recv(room).map(|bytes| (bytes, None));
        }
        let received = arrival::receive(self, room);
        let _ = arrival::report(self, false);
        received
    }

    /// Drops up to `max` received bytes inside the kernel, without copying them. Returns their number. 0 means the end
    /// of the stream, or that `max` is 0. Only TCP supports this. On a Unix socket, the call fails with `Unsupported`,
    /// and the caller must read the bytes instead (see [`Socket::is_tcp`]).
    pub fn discard(&self, max: usize) -> io::Result<usize> {
        if self.kind != Kind::Tcp {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: with MSG_TRUNC, a TCP socket never writes to the buffer, so the pointer may be null (tcp(7)).
        check_size(unsafe { transfer(libc::SYS_recvfrom, self, ptr::null_mut(), max, libc::MSG_TRUNC) })
    }

    /// Returns whether this is a TCP socket. [`Socket::discard`] works only on TCP sockets, not on Unix sockets.
    pub fn is_tcp(&self) -> bool {
        self.kind == Kind::Tcp
    }

    /// Closes the sending direction of the stream. The peer may still send.
    pub fn shutdown_write(&self) -> io::Result<()> {
        // SAFETY: the call takes only numbers, so it accesses no memory.
        check(unsafe { libc::shutdown(self.as_raw_fd(), libc::SHUT_WR) })?;
        Ok(())
    }

    /// Returns the local address. Fails on a Unix socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let (_, address) = receive_ip(|address, length| {
            // SAFETY: `address` has space for `*length` bytes, as `receive_ip` guarantees.
            check(unsafe { libc::getsockname(self.as_raw_fd(), address, length) })
        })?;
        address.ok_or_else(|| io::ErrorKind::Unsupported.into())
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Calls `sendto` or `recvfrom` without an address, by the number of the system call. The C library's wrappers are
/// thread cancellation points, which costs about 1 % of a small request in programs with several threads.
///
/// # Safety
/// `call` is `SYS_sendto` or `SYS_recvfrom`. `bytes` and `len` describe memory that the kernel may read (for `sendto`)
/// or write (for `recvfrom`, unless `flags` make the kernel drop the received bytes).
unsafe fn transfer(
    call: libc::c_long,
    socket: &Socket,
    bytes: *mut u8,
    len: usize,
    flags: libc::c_int,
) -> libc::ssize_t {
    let (no_address, no_length) = (ptr::null_mut::<libc::c_void>(), ptr::null_mut::<libc::c_void>());
    // SAFETY: the caller guarantees that the memory is valid, and there is no address to read or write.
    unsafe { libc::syscall(call, socket.as_raw_fd(), bytes, len, flags, no_address, no_length) as libc::ssize_t }
}
