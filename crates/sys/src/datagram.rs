//! Options of UDP sockets for high rates: many datagrams per call, and large receive buffers.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use crate::kernel_call::{check, socklen_of};

/// Makes each send of more than `bytes` bytes send several datagrams of `bytes` bytes (UDP_SEGMENT). The last datagram
/// may be shorter. A send has at most 64 KiB and 64 datagrams.
///
/// # Errors
/// Fails with errors of the kernel, for example before Linux 4.18.
pub fn send_many(socket: &UdpSocket, bytes: u16) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_SEGMENT, bytes.into())
}

/// Makes a receive return several datagrams of the same size and sender together (UDP_GRO).
///
/// # Errors
/// Fails with errors of the kernel, for example before Linux 5.0.
pub fn receive_many(socket: &UdpSocket) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_GRO, 1)
}

/// Sets the size of the receive buffer in bytes. A size above the system's limit needs `CAP_NET_ADMIN` in the network
/// namespace of the socket. Without this capability, the size is reduced to the limit.
///
/// # Errors
/// Fails with errors of the kernel.
pub fn set_receive_buffer(socket: &UdpSocket, bytes: i32) -> io::Result<()> {
    match set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes)
        }
        result => result,
    }
}

fn set(socket: &UdpSocket, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let pointer = (&raw const value).cast();
    // SAFETY: pointer and length describe `value`, which the kernel only reads.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, pointer, socklen_of::<libc::c_int>()) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn one_call_sends_and_receives_many_datagrams() {
        let (near, far) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        far.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        near.connect(far.local_addr().unwrap()).unwrap();
        set_receive_buffer(&far, 1 << 20).unwrap();
        send_many(&near, 1000).unwrap();
        let sent: Vec<u8> = (0..2500_u32).map(|index| (index / 1000) as u8).collect();
        assert_eq!(near.send(&sent).unwrap(), 2500);
        let mut room = [0; 4096];
        // Without the option, datagrams are received one by one.
        assert_eq!(far.recv(&mut room).unwrap(), 1000);
        receive_many(&far).unwrap();
        near.send(&sent).unwrap();
        let mut received = Vec::new();
        while received.len() < 1500 + 2500 {
            let count = far.recv(&mut room).unwrap();
            received.extend_from_slice(&room[..count]);
        }
        assert_eq!(received, [&sent[1000..], &sent].concat());
    }
}
