//! The real network: the sockets of the operating system, used with edge-triggered epoll and without blocking.
//!
//! A small request costs one `recv` and one `send`. Each event is reported only once, so the kernel need not check a
//! socket again after a read. Large bodies are discarded inside the kernel (`MSG_TRUNC`). io_uring was measured and is
//! no faster for this pattern.

use crate::arrival_sampling::ArrivalSampling;
use crate::busy_wait::BusyWait;
use crate::network::{Address, Connecting, Network, Ready, Resolution, ThreadUse, Token, Waited};
use crate::plan::ArrivalTimes;
use crate::resolver::Resolver;
use crate::watch::{RunDelay, cpu_nanos};
use measure::evidence::{FlowSample, PathSample};
use measure::recorder::Pacing;
use measure::{Clock, Instant, MonotonicClock, ReadSample};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use sys::poll::{Events, Poller, Timer};
use sys::socket::{Connected, Socket};

/// Maximum number of events that one call returns.
const EVENTS_MAX: usize = 256;
/// A wait up to this length counts as no wait. Such a wait ended immediately, because there were already events.
const AT_ONCE: Duration = Duration::from_micros(15);
/// Waits of at least this length use the timer that all long waits of the thread share. Setting the timer costs more
/// than a short wait. If the timer is already set for an earlier time, it therefore stays as it is: the wait ends early
/// and is repeated.
const COARSE: Duration = Duration::from_millis(2);
/// Token of the shared timer. All tokens of connections are smaller.
const TIMER: u64 = u64::MAX;
/// Timer slack of the threads. With this value, timers expire when they are due, without the kernel's usual delay.
const TIMER_SLACK: Duration = Duration::from_nanos(1);
/// Scheduler time slice of the threads. With a short slice, a thread gets a core soon after it wakes up.
const SLICE: Duration = Duration::from_micros(100);

/// Sockets and timers of one thread.
pub struct EpollNetwork {
    clock: MonotonicClock,
    poller: Poller,
    events: Events,
    timer: Timer,
    /// Time at which the timer expires.
    timer_at: Instant,
    local_addresses: Arc<[IpAddr]>,
    next_local: usize,
    resolver: Arc<Resolver>,
    busy_wait: BusyWait,
    run_delay: RunDelay,
    arrival_sampling: ArrivalSampling,
}

impl EpollNetwork {
    /// Returns the network of the calling thread. If `local_addresses` is not empty, connections are opened from these
    /// addresses in turn.
    ///
    /// # Errors
    /// Fails if the kernel does not create an epoll descriptor.
    pub fn new(
        clock: MonotonicClock,
        local_addresses: Arc<[IpAddr]>,
        resolver: Arc<Resolver>,
        pacing: Pacing,
        arrival_times: ArrivalTimes,
    ) -> io::Result<Self> {
        sys::clock::set_timer_slack(TIMER_SLACK)?;
        if pacing == Pacing::Scheduled {
            // Ignore a failure. Without the slice, this thread only wakes up later if other threads need its core.
            let _ = sys::scheduling::set_slice(SLICE);
        }
        let (poller, timer) = (Poller::new()?, Timer::new()?);
        // The timer is edge-triggered. An expired timer stays readable until it is set again, and short waits do not
        // set it. A level-triggered timer would end these waits immediately.
        poller.add_edges(&timer, TIMER)?;
        let mut run_delay = RunDelay::of_this_thread();
        Ok(Self {
            clock,
            poller,
            timer,
            timer_at: Instant::ZERO,
            events: Events::with_capacity(EVENTS_MAX),
            local_addresses,
            next_local: 0,
            resolver,
            busy_wait: BusyWait::new(pacing == Pacing::Scheduled, clock.now(), &mut run_delay),
            run_delay,
            arrival_sampling: ArrivalSampling::start(&clock, arrival_times),
        })
    }

    /// Waits until a socket is ready, or until about `until`. The wait may end early, so the caller checks the time and
    /// waits again. Returns the longest time, in nanoseconds, that the thread was awake without checking for events.
    fn poll(&mut self, before: Instant, until: Instant) -> io::Result<u64> {
        let awake_from = self.busy_wait.awake_from(before, until, &mut self.run_delay);
        if awake_from.is_none_or(|from| before < from) {
            let timeout = self.timeout(before, awake_from.unwrap_or(until))?;
            return self.poller.wait(&mut self.events, timeout).map(|()| 0);
        }
        let (mut now, mut kept) = (before, 0);
        loop {
            self.poller.wait(&mut self.events, Some(Duration::ZERO))?;
            if self.events.iter().next().is_some() || now >= until {
                return Ok(kept);
            }
            let looked = self.clock.now();
            self.busy_wait.spun_nanos += looked.nanos_since(now);
            kept = kept.max(looked.nanos_since(now));
            now = looked;
        }
    }

    /// Returns a timeout for a wait that ends at `until` or earlier. If the wait ends earlier, the loop waits again.
    fn timeout(&mut self, now: Instant, until: Instant) -> io::Result<Option<Duration>> {
        let span = until.since(now);
        if span < COARSE {
            return Ok(Some(span));
        }
        if self.timer_at <= now || self.timer_at > until {
            self.timer.set(span)?;
            self.timer_at = until;
        }
        Ok(None)
    }

    #[cold]
    fn recv_sampled(&mut self, socket: &Socket, room: &mut [u8]) -> io::Result<usize> {
        let (bytes, arrived) = socket.recv_with_arrival(room)?;
        self.arrival_sampling.add(arrived, &self.clock);
        Ok(bytes)
    }

    fn local_address(&mut self, wanted: &Address) -> Option<IpAddr> {
        let Address::Tcp(to) = wanted else { return None };
        // Only local addresses of the target's address family can be used.
        let usable = self.local_addresses.iter().filter(|from| from.is_ipv4() == to.is_ipv4());
        let count = usable.clone().count();
        self.next_local = self.next_local.wrapping_add(1);
        usable.copied().nth(self.next_local.checked_rem(count)?)
    }
}

fn number(token: Token) -> u64 {
    u64::from(token.generation) << 32 | u64::from(token.index)
}

/// Reads and discards up to `max` bytes, for sockets that cannot discard in the kernel. Continues until a read does not
/// fill the buffer. If it stopped earlier, bytes could remain in the socket, and no event would report them.
pub(crate) fn read_away(max: usize, mut recv: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
    let mut room = [0_u8; 16 * 1024];
    let mut total = 0;
    while total < max {
        let wanted = room.len().min(max - total);
        match recv(&mut room[..wanted]) {
            Ok(bytes) => {
                total += bytes;
                if bytes < wanted {
                    break;
                }
            }
            // The caller gets the number of bytes that were read before the error. The next call returns the error.
            Err(_) if total > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(total)
}

impl Network for EpollNetwork {
    type Socket = Socket;

    #[inline]
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn unix_seconds(&self) -> Option<u64> {
        Some(sys::clock::realtime().as_secs())
    }

    fn connect(&mut self, token: Token, to: &Address) -> io::Result<(Socket, Connecting)> {
        let from = self.local_address(to);
        let (socket, connected) = match to {
            Address::Tcp(address) => Socket::connect_tcp(*address, from)?,
            Address::Unix(path) => Socket::connect_unix(path)?,
        };
        self.poller.add_edges(&socket, number(token))?;
        let connecting = match connected {
            Connected::Now => Connecting::Done,
            Connected::Pending => Connecting::Pending,
        };
        Ok((socket, connecting))
    }

    fn connected(&mut self, socket: &mut Socket) -> io::Result<()> {
        socket.take_error()?.map_or(Ok(()), Err)
    }

    #[inline]
    fn send(&mut self, socket: &mut Socket, bytes: &[u8]) -> io::Result<usize> {
        socket.send(bytes)
    }

    #[inline]
    fn recv(&mut self, socket: &mut Socket, room: &mut [u8]) -> io::Result<usize> {
        if self.arrival_sampling.is_due(&self.clock) { self.recv_sampled(socket, room) } else { socket.recv(room) }
    }

    #[inline]
    fn sample(&self) -> Option<ReadSample> {
        self.arrival_sampling.sample()
    }

    #[inline]
    fn discard(&mut self, socket: &mut Socket, max: usize) -> io::Result<usize> {
        if socket.is_tcp() {
            return socket.discard(max);
        }
        read_away(max, |room| socket.recv(room))
    }

    fn set_low_water(&mut self, socket: &Socket, bytes: usize) {
        // Ignore a failure. Without the low-water mark, the thread only wakes up more often.
        let _ = socket.set_receive_low_water(bytes);
    }

    fn resolve(&mut self, host: &str, port: u16) -> Resolution {
        self.resolver.look_up(host, port)
    }

    fn wait(&mut self, until: Instant, ready: &mut Vec<Ready>) -> io::Result<Waited> {
        let before = self.clock.now();
        let kept_nanos = self.poll(before, until)?;
        let now = self.clock.now();
        ready.clear();
        let sockets = self.events.iter().filter(|event| event.token != TIMER);
        ready.extend(sockets.map(|event| Ready {
            token: Token { index: event.token as u32, generation: (event.token >> 32) as u32 },
            readable: event.readable || event.error,
            writable: event.writable || event.error,
            closing: event.closing,
        }));
        Ok(Waited { began: before, now, kept_nanos, at_once: !ready.is_empty() && now.since(before) <= AT_ONCE })
    }

    fn path(&mut self, socket: &Socket) -> Option<PathSample> {
        let figures = socket.path_figures().ok()?;
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Some(PathSample {
            round_trip: nanos(figures.round_trip),
            shortest: nanos(figures.shortest),
            segments: u64::from(figures.sent) + u64::from(figures.received),
            lost: u64::from(figures.resent) + u64::from(figures.out_of_order),
            flow: FlowSample {
                receive_round_trip: nanos(figures.receive_round_trip),
                receive_window: u64::from(figures.receive_window),
                send_window: u64::from(figures.send_window),
                busy: nanos(figures.busy),
                window_limited: nanos(figures.window_limited),
                buffer_limited: nanos(figures.buffer_limited),
            },
        })
    }

    fn unacknowledged(&mut self, socket: &Socket) -> Option<u64> {
        socket.unacknowledged().ok()
    }

    fn thread_use(&mut self) -> ThreadUse {
        let cpu_nanos = cpu_nanos().saturating_sub(self.busy_wait.spun_nanos);
        ThreadUse { cpu_nanos, delay_nanos: self.run_delay.nanos() }
    }
}
