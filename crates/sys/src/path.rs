//! What the kernel knows of the network path of a TCP connection.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use crate::check;
use crate::socket::Socket;

/// The kernel's figures of one TCP connection since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathFigures {
    /// Smoothed round trip time of what was sent, up to its acknowledgement.
    pub round_trip: Duration,
    /// The shortest round trip that was seen lately.
    pub shortest: Duration,
    /// Segments that were sent.
    pub sent: u32,
    /// Segments that had to be sent again.
    pub resent: u32,
    /// Segments that came.
    pub received: u32,
    /// Segments that came out of order, as those behind a lost one do.
    pub out_of_order: u32,
}

/// `struct tcp_info` of linux/tcp.h, as far as it is read here: 58 words of 32 bits.
const WORDS: usize = 58;
/// Places of its fields, in words.
const RTT: usize = 17;
const TOTAL_RETRANS: usize = 25;
const SEGS_OUT: usize = 34;
const SEGS_IN: usize = 35;
const MIN_RTT: usize = 37;
const RCV_OOOPACK: usize = 56;

impl Socket {
    /// Asks the kernel for its figures. Fields that an older kernel does not know are 0.
    ///
    /// # Errors
    /// What the operating system says; on a socket that is none of TCP, that it does not know the question.
    pub fn path_figures(&self) -> io::Result<PathFigures> {
        if !self.is_tcp() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut words = [0_u32; WORDS];
        let mut length = size_of_val(&words) as libc::socklen_t;
        let pointer = words.as_mut_ptr().cast();
        // SAFETY: pointer and length describe `words`; the kernel writes no more than `length`.
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
