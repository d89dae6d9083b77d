//! TUN devices: network interfaces whose packets a program reads and writes.
//!
//! Each packet is preceded by a header (`virtio_net_hdr`, linux/virtio_net.h). The header describes the work that the
//! sender left to the device: computing checksums, and splitting large frames into segments. The device accepts such
//! frames in both directions, so a frame of 64 KiB needs one call instead of 45.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::kernel_call::check;

/// Size of the header in front of each packet, in bytes.
pub const HEADER_BYTES: usize = 10;

/// Path of the file from which devices are created.
pub const DEVICE_FILE: &str = "/dev/net/tun";

/// A TUN device. The kernel removes the device when this value is dropped or the process ends.
#[derive(Debug)]
pub struct Tun {
    file: File,
    datagrams: bool,
}

impl Tun {
    /// Creates a device in the network namespace of the calling thread. The name has 1 to 15 bytes. Reads and writes do
    /// not wait.
    ///
    /// # Errors
    /// Fails with `NotFound` or `PermissionDenied` if the process may not open [`DEVICE_FILE`], and with
    /// `PermissionDenied` without `CAP_NET_ADMIN` in the namespace.
    pub fn create(name: &str) -> io::Result<Self> {
        let mut request = request(name)?;
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE_FILE)?;
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        // SAFETY: TUNSETIFF reads and writes one `ifreq`, which is `request`.
        check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
        let streams = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
        let datagrams = streams | libc::TUN_F_USO4 | libc::TUN_F_USO6;
        // Kernels before 6.2 do not know the flags of datagrams.
        let all = offload(&file, datagrams).is_ok();
        if !all {
            offload(&file, streams)?;
        }
        Ok(Self { file, datagrams: all })
    }

    /// Returns whether the device accepts frames of several datagrams. Large frames of TCP are always accepted.
    pub fn takes_datagram_frames(&self) -> bool {
        self.datagrams
    }

    /// Reads the header and the packet of the next frame. Returns their size in bytes. A frame that is larger than `room`
    /// is cut off. Fails with `WouldBlock` if no frame is waiting.
    pub fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(room)
    }

    /// Writes one frame (header and packet) that consists of two parts. The second part may be empty.
    pub fn write(&self, first: &[u8], second: &[u8]) -> io::Result<()> {
        match second.is_empty() {
            true => (&self.file).write(first),
            false => (&self.file).write_vectored(&[IoSlice::new(first), IoSlice::new(second)]),
        }
        .map(|_| ())
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Selects the work that senders in the namespace leave to the program, such as computing checksums.
fn offload(file: &File, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes a number, so it accesses no memory.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) })?;
    Ok(())
}

/// Creates a request about the interface `name`.
fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero bytes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One byte is reserved for the terminating zero.
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.bytes().any(|byte| byte == 0 || byte == b'/') {
        let text = "the name of an interface has 1 to 15 bytes, without `/` and NUL";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    Ok(request)
}
