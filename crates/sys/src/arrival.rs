//! When received bytes came to this host, as the kernel dates them (`SO_TIMESTAMPING`, in software).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use crate::socket::Socket;
use crate::{check, check_size, own, socklen_of};

/// Date what comes from now on, for all sockets of the host. Costs the kernel a look at the clock for each segment.
const DATE: libc::c_int = libc::SOF_TIMESTAMPING_RX_SOFTWARE as libc::c_int;
/// Show the dates with what is read.
const SHOW: libc::c_int = libc::SOF_TIMESTAMPING_SOFTWARE as libc::c_int;

/// Makes the kernel date what comes to this host, for as long as this lives and is on. Beginning and ending it is work
/// for the kernel, so one is kept for a while instead of asking for dates with each socket.
#[derive(Debug)]
pub struct ArrivalDates {
    socket: OwnedFd,
}

impl ArrivalDates {
    /// Makes the kernel date what comes.
    pub fn start() -> io::Result<Self> {
        // SAFETY: the call takes no pointer.
        let socket = own(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
        let dates = Self { socket };
        dates.set(true)?;
        Ok(dates)
    }

    /// Has the kernel date what comes from now on, or no longer. It does so a little later, and goes on dating while
    /// somebody else on this host wants it.
    pub fn set(&self, on: bool) -> io::Result<()> {
        set(self.socket.as_raw_fd(), if on { DATE } else { 0 })
    }
}

/// Has the dates of what is read from `socket` shown, or no longer: each read pays a little for it.
pub(crate) fn show(socket: &Socket, on: bool) -> io::Result<()> {
    set(socket.as_raw_fd(), if on { SHOW } else { 0 })
}

fn set(fd: RawFd, flags: libc::c_int) -> io::Result<()> {
    let (name, length) = (libc::SO_TIMESTAMPING, socklen_of::<libc::c_int>());
    // SAFETY: pointer and length describe `flags`, which the kernel only reads.
    check(unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, name, (&raw const flags).cast(), length) })?;
    Ok(())
}

/// Room for one control message with three times, and for one more that nobody asked for.
const CONTROL_WORDS: usize = 32;

/// Reads what is there, with the date of its newest byte.
pub(crate) fn receive(socket: &Socket, room: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
    let mut control = [0_u64; CONTROL_WORDS];
    let mut vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: zeros are a valid `msghdr`: null pointers and lengths of zero.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: `message` points to one vector, which describes `room`, and to `control`; all live over the call.
    let bytes = check_size(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) })?;
    Ok((bytes, date(&message)))
}

/// The date among the control messages that the kernel has filled in.
fn date(message: &libc::msghdr) -> Option<Duration> {
    // SAFETY: the kernel has filled in the control messages, whose buffer is aligned and alive.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: a header that the macros find is inside that buffer, or null.
    while let Some(found) = unsafe { header.as_ref() } {
        if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) {
            // SAFETY: the header is one that the macros found.
            let times = unsafe { libc::CMSG_DATA(header) }.cast::<libc::timespec>();
            // SAFETY: the data of this kind of message is three times, the first of which is that of the software.
            let time = unsafe { ptr::read_unaligned(times) };
            let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
            return Some(Duration::new(seconds, nanos)).filter(|date| !date.is_zero());
        }
        // SAFETY: as above.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}
