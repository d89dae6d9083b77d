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
    /// Number of segments received out of order, such as the segments after a lost one.
    pub out_of_order: u32,
    /// Round-trip time that this side estimates from received data. Zero until enough data has arrived.
    pub receive_round_trip: Duration,
    /// Bytes that the peer may send before this side acknowledges them; 0 if the kernel does not report this number
    /// (before Linux 6.2).
    pub receive_window: u32,
    /// Bytes that this side may send before the peer acknowledges them; 0 if the kernel does not report this number
    /// (before Linux 5.4).
    pub send_window: u32,
    /// Time during which data was waiting or in flight to the peer.
    pub busy: Duration,
    /// Part of `busy` in which the peer's receive window was full.
    pub window_limited: Duration,
    /// Part of `busy` in which the send buffer of this side was too small.
    pub buffer_limited: Duration,
}

/// Size of the part of `struct tcp_info` (linux/tcp.h) that is read here: 59 words of 32 bits.
const WORDS: usize = 59;
/// Offset of the round-trip time in `struct tcp_info`, in words. The constants below are offsets of other fields.
const RTT: usize = 17;
const RCV_RTT: usize = 23;
const TOTAL_RETRANS: usize = 25;
const SEGS_OUT: usize = 34;
const SEGS_IN: usize = 35;
const MIN_RTT: usize = 37;
/// Offsets of fields with 64-bit times.
const BUSY_TIME: usize = 42;
const RWND_LIMITED: usize = 44;
const SNDBUF_LIMITED: usize = 46;
const RCV_OOOPACK: usize = 56;
const SND_WND: usize = 57;
const RCV_WND: usize = 58;

impl Socket {
    /// Reads the statistics from the kernel. Fields that an older kernel does not know are 0.
    ///
    /// # Errors
    /// Fails with errors of the kernel, and with `Unsupported` for sockets other than TCP sockets.
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
        let long = |place: usize| {
            let [low, high] =
                if cfg!(target_endian = "big") { [1, 0] } else { [0, 1] }.map(|half| u64::from(words[place + half]));
            Duration::from_micros(high << 32 | low)
        };
        Ok(PathFigures {
            round_trip: micros(RTT),
            shortest: micros(MIN_RTT),
            sent: words[SEGS_OUT],
            resent: words[TOTAL_RETRANS],
            received: words[SEGS_IN],
            out_of_order: words[RCV_OOOPACK],
            receive_round_trip: micros(RCV_RTT),
            receive_window: words[RCV_WND],
            send_window: words[SND_WND],
            busy: long(BUSY_TIME),
            window_limited: long(RWND_LIMITED),
            buffer_limited: long(SNDBUF_LIMITED),
        })
    }

    /// Returns how many sent bytes the peer has not acknowledged yet. After a reset of the connection, the number no
    /// longer changes.
    ///
    /// # Errors
    /// Fails with errors of the kernel, and with `Unsupported` for sockets other than TCP sockets.
    pub fn unacknowledged(&self) -> io::Result<u64> {
        if !self.is_tcp() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut bytes: libc::c_int = 0;
        // SAFETY: the kernel writes one integer to `bytes` (tcp(7), SIOCOUTQ, which has the same value as TIOCOUTQ).
        check(unsafe { libc::ioctl(self.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    }
}
