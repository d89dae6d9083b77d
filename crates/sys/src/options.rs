//! Socket options.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use crate::kernel_call::{check, socklen_of};
use crate::socket::Socket;

impl Socket {
    /// Returns the pending error and clears it. After a connection attempt, `None` means that the connection is
    /// established.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let code = self.option(libc::SOL_SOCKET, libc::SO_ERROR)?;
        Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
    }

    /// Sets whether small writes are sent immediately (`TCP_NODELAY`). Has no effect on Unix sockets, which never delay
    /// writes.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        if !self.is_tcp() {
            return Ok(());
        }
        self.set_option(libc::IPPROTO_TCP, libc::TCP_NODELAY, libc::c_int::from(on))
    }

    /// Sets how many received bytes (at least 1) make the socket readable. The kernel limits this number to half of its
    /// largest receive buffer. At the end of the stream, the socket is always readable.
    pub fn set_receive_low_water(&self, bytes: usize) -> io::Result<()> {
        self.set_option(libc::SOL_SOCKET, libc::SO_RCVLOWAT, clamped(bytes))
    }

    /// Configures the socket so that dropping it resets the connection instead of closing it gracefully.
    pub fn reset_on_close(&self) -> io::Result<()> {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        self.set_value(libc::SOL_SOCKET, libc::SO_LINGER, &linger)
    }

    /// Makes calls on this socket blocking or non-blocking. New sockets are non-blocking.
    pub fn set_blocking(&self, on: bool) -> io::Result<()> {
        let mut nonblocking = libc::c_int::from(!on);
        // SAFETY: FIONBIO reads one `int`, which is `nonblocking`.
        check(unsafe { libc::ioctl(self.as_raw_fd(), libc::FIONBIO, &raw mut nonblocking) })?;
        Ok(())
    }

    /// Sets how long a read from a blocking socket waits before it fails with `WouldBlock`. `None` means no limit.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_value(libc::SOL_SOCKET, libc::SO_RCVTIMEO, &timeval(timeout))
    }

    /// Sets how long a write to a blocking socket waits before it fails with `WouldBlock`. `None` means no limit.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_value(libc::SOL_SOCKET, libc::SO_SNDTIMEO, &timeval(timeout))
    }

    pub(crate) fn set_option(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        self.set_value(level, name, &value)
    }

    fn set_value<T: Copy>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
        let pointer = (&raw const *value).cast();
        // SAFETY: pointer and length describe `value`, which the kernel only reads.
        check(unsafe { libc::setsockopt(self.as_raw_fd(), level, name, pointer, socklen_of::<T>()) })?;
        Ok(())
    }

    pub(crate) fn option(&self, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
        let mut value: libc::c_int = 0;
        let mut length = socklen_of::<libc::c_int>();
        let pointer = (&raw mut value).cast();
        // SAFETY: pointer and length describe `value`, and the kernel writes no more than `length`.
        check(unsafe { libc::getsockopt(self.as_raw_fd(), level, name, pointer, &raw mut length) })?;
        Ok(value)
    }
}

fn clamped(bytes: usize) -> libc::c_int {
    libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX).max(1)
}

/// Converts a timeout. The kernel interprets zero as "no limit", so durations below a microsecond are rounded up.
fn timeval(timeout: Option<Duration>) -> libc::timeval {
    let Some(timeout) = timeout else { return libc::timeval { tv_sec: 0, tv_usec: 0 } };
    let timeout = timeout.max(Duration::from_micros(1));
    libc::timeval {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: timeout.subsec_micros().into(),
    }
}
