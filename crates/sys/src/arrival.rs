//! Reads the arrival times of received bytes from the kernel's software timestamps (`SO_TIMESTAMPING`).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use crate::kernel_call::{check, check_size, own, socklen_of};
use crate::socket::Socket;

/// Flag with which the kernel timestamps everything that arrives, for all sockets of the host. To timestamp what
/// arrives, the kernel reads a clock for each segment.
const TAKE: libc::c_int = libc::SOF_TIMESTAMPING_RX_SOFTWARE as libc::c_int;
/// Flag with which reads report the timestamps.
const REPORT: libc::c_int = libc::SOF_TIMESTAMPING_SOFTWARE as libc::c_int;

/// A request to the kernel to timestamp everything that arrives at this host. The request is in effect while this value
/// exists and is switched on. Starting and stopping timestamps takes the kernel much time, so callers should keep one
/// value for all sockets.
#[derive(Debug)]
pub struct ArrivalTimestamps {
    socket: OwnedFd,
}

impl ArrivalTimestamps {
    /// Requests timestamps from the kernel.
    pub fn start() -> io::Result<Self> {
        // SAFETY: the call takes only numbers, so it accesses no memory.
        let socket = own(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
        let timestamps = Self { socket };
        timestamps.set(true)?;
        Ok(timestamps)
    }

    /// Switches timestamps on or off. The change takes effect after a short delay. Timestamps stay on while another
    /// program on this host requests them.
    pub fn set(&self, on: bool) -> io::Result<()> {
        set(self.socket.as_raw_fd(), if on { TAKE } else { 0 })
    }
}

/// Sets whether reads from `socket` report timestamps. Reporting makes each read slightly slower.
pub(crate) fn report(socket: &Socket, on: bool) -> io::Result<()> {
    set(socket.as_raw_fd(), if on { REPORT } else { 0 })
}

fn set(fd: RawFd, flags: libc::c_int) -> io::Result<()> {
    let (name, length) = (libc::SO_TIMESTAMPING, socklen_of::<libc::c_int>());
    // SAFETY: pointer and length describe `flags`, which the kernel only reads.
    check(unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, name, (&raw const flags).cast(), length) })?;
    Ok(())
}

/// Size of the buffer for control messages, in 64-bit words. The buffer has space for the message with the timestamps,
/// and for one more message that may be present.
const CONTROL_WORDS: usize = 32;

/// Reads available bytes. Also returns the arrival time of the newest byte.
pub(crate) fn receive(socket: &Socket, room: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
    let mut control = [0_u64; CONTROL_WORDS];
    let mut vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: zeros are a valid `msghdr`: null pointers and lengths of zero.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: `message` points to `control` and to one vector, which describes `room`. All three stay alive during the
    // call.
    let bytes = check_size(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) })?;
    Ok((bytes, timestamp(&message)))
}

/// Returns the arrival time in the control messages that the kernel has filled in.
fn timestamp(message: &libc::msghdr) -> Option<Duration> {
    // SAFETY: the kernel has filled in the control messages, whose buffer is aligned and alive.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: the macros return a header inside this buffer, or null.
    while let Some(found) = unsafe { header.as_ref() } {
        if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) {
            // SAFETY: the macros have returned this header.
            let times = unsafe { libc::CMSG_DATA(header) }.cast::<libc::timespec>();
            // SAFETY: the data of this kind of message consists of three times. The first one is the software
            // timestamp.
            let time = unsafe { ptr::read_unaligned(times) };
            let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
            return Some(Duration::new(seconds, nanos)).filter(|time| !time.is_zero());
        }
        // SAFETY: as above.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}
