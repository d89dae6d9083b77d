//! Waits for many descriptors: epoll with nanosecond timeouts, an eventfd for wake-ups, and timers.
//!
//! [`Poller::add`] is level-triggered: a descriptor is reported again and again until it is read. [`Poller::add_edges`]
//! is edge-triggered: each event is reported once.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::kernel_call::{check, check_size, own, timespec};

/// The events that a poller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// There are bytes to read, or the stream has ended.
    Read,
    /// There is space to write, or connecting has ended.
    Write,
    /// Both reading and writing.
    ReadWrite,
}

impl Interest {
    fn flags(self) -> u32 {
        let flags = match self {
            Self::Read => libc::EPOLLIN,
            Self::Write => libc::EPOLLOUT,
            Self::ReadWrite => libc::EPOLLIN | libc::EPOLLOUT,
        };
        flags as u32
    }
}

/// A ready descriptor, as reported by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The token of the descriptor.
    pub token: u64,
    /// `true` if there are bytes to read, the stream has ended, or a read would return an error.
    pub readable: bool,
    /// `true` if there is space to write, or connecting has succeeded or failed.
    pub writable: bool,
    /// `true` if an error is pending, or both directions are closed.
    pub error: bool,
    /// `true` if the end of the stream or an error has arrived. Bytes that arrived earlier may still be unread. This
    /// field is set only for descriptors that were added with [`Poller::add_edges`], and for descriptors with an error.
    pub closing: bool,
}

/// A buffer for the results of [`Poller::wait`].
pub struct Events {
    buffer: Vec<libc::epoll_event>,
    filled: usize,
}

impl Events {
    /// Creates a buffer for `capacity` events, at least 1.
    pub fn with_capacity(capacity: usize) -> Self {
        let capacity = capacity.clamp(1, i32::MAX as usize);
        Self { buffer: vec![libc::epoll_event { events: 0, u64: 0 }; capacity], filled: 0 }
    }

    /// Returns the descriptors that were ready at the last wait.
    pub fn iter(&self) -> impl Iterator<Item = Ready> {
        self.buffer[..self.filled].iter().map(|event| {
            let flags = event.events;
            let set = |flag: libc::c_int| flags & (flag as u32) != 0;
            Ready {
                token: event.u64,
                readable: set(libc::EPOLLIN) || set(libc::EPOLLHUP),
                writable: set(libc::EPOLLOUT),
                error: set(libc::EPOLLERR) || set(libc::EPOLLHUP),
                closing: set(libc::EPOLLRDHUP) || set(libc::EPOLLERR) || set(libc::EPOLLHUP),
            }
        })
    }

    /// Returns the number of descriptors that were ready at the last wait.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Returns whether no descriptor was ready at the last wait.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Returns whether the buffer is full. More descriptors may then be ready than were reported.
    pub fn is_full(&self) -> bool {
        self.filled == self.buffer.len()
    }
}

/// An epoll instance.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    /// `true` if the kernel (before 5.11) does not have `epoll_pwait2`. Timeouts are then rounded up to milliseconds.
    coarse: AtomicBool,
}

impl Poller {
    /// Creates an empty poller.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes only numbers, so it accesses no memory.
        let epoll = own(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Self { epoll, coarse: AtomicBool::new(false) })
    }

    /// Starts to watch `fd`. The events of `fd` contain `token`. When the descriptor is closed, the watch ends.
    pub fn add(&self, fd: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd.as_raw_fd(), token, interest.flags())
    }

    /// Changes the token or the interest of a watched `fd`.
    pub fn modify(&self, fd: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd.as_raw_fd(), token, interest.flags())
    }

    /// Starts to watch `fd` for all events, edge-triggered. An event is reported when:
    ///
    /// * *new* bytes arrive,
    /// * there is space again after a send did not fit,
    /// * connecting ends,
    /// * the peer closes the connection.
    ///
    /// Callers must read until a read returns less than requested. If [`Ready::closing`] is set, they must read until
    /// the end of the stream. The advantage is that the kernel need not check each descriptor a second time after each
    /// event.
    pub fn add_edges(&self, fd: &impl AsRawFd, token: u64) -> io::Result<()> {
        let flags = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        self.control(libc::EPOLL_CTL_ADD, fd.as_raw_fd(), token, flags as u32)
    }

    /// Stops watching `fd`.
    pub fn remove(&self, fd: &impl AsRawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd.as_raw_fd(), 0, 0)
    }

    fn control(&self, operation: libc::c_int, fd: RawFd, token: u64, flags: u32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: flags, u64: token };
        // SAFETY: `event` lives during the call, which copies it.
        check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &raw mut event) })?;
        Ok(())
    }

    /// Waits until a descriptor is ready or `timeout` has passed. `None` means no limit. A signal ends the wait early,
    /// without events.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.filled = 0;
        let result = match self.wait_fine(events, timeout) {
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
                self.coarse.store(true, Ordering::Relaxed);
                self.wait_coarse(events, timeout)
            }
            result => result,
        };
        match result {
            Ok(filled) => events.filled = filled,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Calls `epoll_pwait2`, which supports timeouts in nanoseconds. The system call is made by its number, because not
    /// every C library has a function for it.
    fn wait_fine(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        if self.coarse.load(Ordering::Relaxed) {
            return self.wait_coarse(events, timeout);
        }
        let limit = timeout.map(timespec);
        let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: during the whole call, the event buffer has space for `len` events, and `limit` is null or valid. The
        // signal mask is null.
        let result = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                events.buffer.as_mut_ptr(),
                events.buffer.len() as libc::c_int,
                limit,
                ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        check_size(result as libc::ssize_t)
    }

    fn wait_coarse(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        // SAFETY: during the whole call, the event buffer has space for `len` events.
        let result = unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                events.buffer.as_mut_ptr(),
                events.buffer.len() as libc::c_int,
                timeout.map_or(-1, milliseconds_rounded_up),
            )
        };
        check_size(result as libc::ssize_t)
    }
}

fn milliseconds_rounded_up(duration: Duration) -> libc::c_int {
    libc::c_int::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
}

/// An eventfd that wakes a [`Poller`] from another thread. Add it to the poller with [`Interest::Read`].
#[derive(Debug)]
pub struct Waker {
    event: OwnedFd,
}

impl Waker {
    /// Creates a waker.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes only numbers, so it accesses no memory.
        let event = own(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        Ok(Self { event })
    }

    /// Makes the waker readable. Several calls before [`Self::drain`] have the same effect as one.
    pub fn wake(&self) -> io::Result<()> {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: `one` is 8 readable bytes.
        let result = unsafe { libc::write(self.event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
        match check_size(result) {
            // If the counter is full, the waker is already readable.
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Resets the waker, so that the poller waits again. Does nothing if the waker was not woken.
    pub fn drain(&self) -> io::Result<()> {
        let mut count = [0_u8; 8];
        // SAFETY: `count` is 8 writable bytes.
        let result = unsafe { libc::read(self.event.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        match check_size(result) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// A timer for a [`Poller`]. After the timer has expired, it stays readable until it is set again.
#[derive(Debug)]
pub struct Timer {
    fd: OwnedFd,
}

impl Timer {
    /// Creates a timer on the monotonic clock. The timer is not set yet.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = own(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) })?;
        Ok(Self { fd })
    }

    /// Sets the timer to expire once, `after` from now (at least one nanosecond). This replaces an earlier setting.
    pub fn set(&self, after: Duration) -> io::Result<()> {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = timespec(after.max(Duration::from_nanos(1)));
        let setting = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: `setting` lives during the call, and the old setting is not requested.
        check(unsafe { libc::timerfd_settime(self.fd.as_raw_fd(), 0, &raw const setting, ptr::null_mut()) })?;
        Ok(())
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    const LONG: Option<Duration> = Some(Duration::from_secs(10));

    fn ready(poller: &Poller, events: &mut Events, timeout: Option<Duration>) -> Vec<Ready> {
        poller.wait(events, timeout).unwrap();
        events.iter().collect()
    }

    #[test]
    fn tokens_and_readiness_are_reported_until_removal() {
        let poller = Poller::new().unwrap();
        let mut events = Events::with_capacity(8);
        let (near, mut far) = UnixStream::pair().unwrap();
        poller.add(&near, u64::MAX, Interest::Read).unwrap();
        assert_eq!(ready(&poller, &mut events, Some(Duration::ZERO)), []);
        far.write_all(b"x").unwrap();
        let reported = Ready { token: u64::MAX, readable: true, writable: false, error: false, closing: false };
        assert_eq!(ready(&poller, &mut events, LONG), [reported]);
        assert_eq!(
            ready(&poller, &mut events, LONG),
            [reported],
            "level-triggered events must be reported again until the data is read"
        );

        poller.modify(&near, 7, Interest::ReadWrite).unwrap();
        let reported = Ready { token: 7, readable: true, writable: true, error: false, closing: false };
        assert_eq!(ready(&poller, &mut events, LONG), [reported]);
        poller.modify(&near, 7, Interest::Write).unwrap();
        assert_eq!(ready(&poller, &mut events, LONG), [Ready { readable: false, ..reported }]);

        poller.remove(&near).unwrap();
        assert_eq!(ready(&poller, &mut events, Some(Duration::ZERO)), []);
    }

    #[test]
    fn a_timer_is_readable_from_its_expiry_until_it_is_set_again() {
        let (poller, mut events) = (Poller::new().unwrap(), Events::with_capacity(4));
        let timer = Timer::new().unwrap();
        poller.add(&timer, 7, Interest::Read).unwrap();
        assert!(ready(&poller, &mut events, Some(Duration::ZERO)).is_empty());
        let start = Instant::now();
        timer.set(Duration::from_millis(30)).unwrap();
        for _ in 0..2 {
            assert_eq!(ready(&poller, &mut events, LONG).first().map(|ready| ready.token), Some(7));
        }
        assert!(start.elapsed() >= Duration::from_millis(30));
        timer.set(Duration::from_secs(100)).unwrap();
        assert!(ready(&poller, &mut events, Some(Duration::ZERO)).is_empty());
    }

    #[test]
    fn a_hang_up_is_an_end_of_stream() {
        let poller = Poller::new().unwrap();
        let mut events = Events::with_capacity(1);
        let (near, far) = UnixStream::pair().unwrap();
        poller.add(&near, 1, Interest::Write).unwrap();
        drop(far);
        let reported = ready(&poller, &mut events, LONG);
        assert_eq!(reported, [Ready { token: 1, readable: true, writable: true, error: true, closing: true }]);
        assert!(events.is_full() && !events.is_empty());
    }

    #[test]
    fn a_full_buffer_is_reported_and_no_event_is_lost() {
        let poller = Poller::new().unwrap();
        let mut events = Events::with_capacity(2);
        let wakers: Vec<Waker> = (0..3).map(|_| Waker::new().unwrap()).collect();
        for (token, waker) in wakers.iter().enumerate() {
            poller.add(waker, token as u64, Interest::Read).unwrap();
            waker.wake().unwrap();
        }
        let mut tokens = Vec::new();
        poller.wait(&mut events, LONG).unwrap();
        assert!(events.is_full());
        while tokens.len() < 3 {
            for ready in events.iter() {
                wakers[ready.token as usize].drain().unwrap();
                tokens.push(ready.token);
            }
            poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        }
        tokens.sort_unstable();
        assert_eq!(tokens, [0, 1, 2]);
    }

    #[test]
    fn both_kinds_of_wait_last_at_least_the_timeout() {
        let mut events = Events::with_capacity(1);
        for coarse in [false, true] {
            let poller = Poller::new().unwrap();
            poller.coarse.store(coarse, Ordering::Relaxed);
            let timeout = Duration::from_micros(1_300);
            let begun = Instant::now();
            poller.wait(&mut events, Some(timeout)).unwrap();
            assert!(begun.elapsed() >= timeout, "coarse: {coarse}, waited {:?}", begun.elapsed());
            assert_eq!(events.len(), 0);
        }
        assert_eq!(milliseconds_rounded_up(Duration::from_nanos(1)), 1);
        assert_eq!(milliseconds_rounded_up(Duration::MAX), libc::c_int::MAX);
        assert_eq!(timespec(Duration::MAX).tv_sec, libc::time_t::MAX);
    }

    #[test]
    fn a_waker_wakes_another_thread_and_drains() {
        let poller = Poller::new().unwrap();
        let mut events = Events::with_capacity(1);
        let waker = Waker::new().unwrap();
        waker.drain().unwrap();
        poller.add(&waker, 5, Interest::Read).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                waker.wake().unwrap();
                waker.wake().unwrap();
            });
            poller.wait(&mut events, LONG).unwrap();
        });
        assert_eq!(events.iter().map(|ready| ready.token).collect::<Vec<_>>(), [5]);
        waker.drain().unwrap();
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert_eq!(events.len(), 0);
    }
}
