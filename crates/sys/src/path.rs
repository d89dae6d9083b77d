//! The kernel's statistics about the network path of a TCP connection.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use crate::kernel_call::check;
use crate::socket::Socket;

/// Statistics of one TCP connection since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathFigures {
    /// Smoothed round-trip time.
    pub round_trip: Duration,
    /// Minimum recent round-trip time.
    pub shortest: Duration,
    /// Number of sent segments.
    pub sent: u32,
    /// Number of retransmitted segments.
    pub resent: u32,
    /// Number of received segments.
    pub received: u32,
    /// Number of segments received out of order, such as those after a lost one.
    pub out_of_order: u32,
}

/// Size of the part of `struct tcp_info` (linux/tcp.h) that is read here: 58 words of 32 bits.
const WORDS: usize = 58;
/// Offset of the round-trip time in this part, in words. The constants below are offsets of other fields.
const RTT: usize = 17;
const TOTAL_RETRANS: usize = 25;
const SEGS_OUT: usize = 34;
const SEGS_IN: usize = 35;
const MIN_RTT: usize = 37;
const RCV_OOOPACK: usize = 56;

impl Socket {
    /// Reads the statistics from the kernel. Fields that an older kernel does not know are 0.
    ///
    /// # Errors
    /// Fails with errors of the kernel. Sockets other than TCP sockets have no such statistics. For them, the kernel
    /// reports an unknown option.
    pub fn path_figures(&self) -> io::Result<PathFigures> {
        if !self.is_tcp() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut words = [0_u32; WORDS];
        let mut length = size_of_val(&words) as libc::socklen_t;
        let pointer = words.as_mut_ptr().cast();
        // SAFETY: pointer and length describe `words`, and the kernel writes no more than `length`.
        check(unsafe {
            libc::getsockopt(self.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, pointer, &raw mut length)
        })?;
        let micros = |place: usize| Duration::from_micros(words[place].into());
        Ok(PathFigures {
            round_trip: micros(RTT),
            shortest: micros(MIN_RTT),
            sent: words[SEGS_OUT],
            resent: words[TOTAL_RETRANS],
            received: words[SEGS_IN],
            out_of_order: words[RCV_OOOPACK],
        })
    }
}
