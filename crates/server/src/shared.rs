//! State that all threads of a server share.

use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::config::Config;
use crate::content::files::Directory;
use crate::content::pattern::Pattern;
use crate::faults::FaultInjector;
use crate::ledger::Ledger;
use crate::ledger::counters::Counters;
use crate::ownership::member::Member;
use crate::stand_in::ActiveStandIn;

/// Maximum duration of a single sleep within a stall, so that the server can be stopped during a stall.
const NAP: Duration = Duration::from_millis(20);

/// The content, limits and state of one server.
pub(crate) struct Shared {
    pub(crate) pattern: Pattern,
    pub(crate) directory: Option<Directory>,
    pub(crate) stand_in: ActiveStandIn,
    /// The server's position in a cluster, if it is part of one.
    pub(crate) member: Option<Member>,
    pub(crate) faults: Arc<FaultInjector>,
    pub(crate) limits: Limits,
    /// The number of records that still fit into the log; `None` if there is no log.
    pub(crate) log_left: Option<AtomicUsize>,
    connections: AtomicUsize,
    stopping: AtomicBool,
}

/// Limits of every connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) connections_max: usize,
    pub(crate) head_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) drain: Duration,
    pub(crate) close_after: Option<NonZeroU64>,
    pub(crate) rate: Option<NonZeroU64>,
}

impl Shared {
    pub(crate) fn new(config: &Config, member: Option<Member>) -> io::Result<Self> {
        let limits = Limits {
            connections_max: config.connections_max.get(),
            head_timeout: config.head_timeout,
            idle_timeout: config.idle_timeout,
            drain: config.drain,
            close_after: config.faults.close_after,
            rate: config.faults.rate,
        };
        Ok(Self {
            pattern: Pattern::new()?,
            directory: config.directory.as_deref().map(Directory::new).transpose()?,
            stand_in: ActiveStandIn::new(&config.stand_in),
            member,
            faults: Arc::new(FaultInjector::new(config.faults.clone(), sys::clock::monotonic())),
            limits,
            log_left: config.log_requests.map(|room| AtomicUsize::new(room.get())),
            connections: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        })
    }

    /// Counts a new connection, unless this would exceed the limit. Returns whether the connection was counted.
    pub(crate) fn enter(&self) -> bool {
        if self.connections.fetch_add(1, Ordering::Relaxed) < self.limits.connections_max {
            return true;
        }
        self.leave();
        false
    }

    /// Removes a closed connection from the count.
    pub(crate) fn leave(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Blocks the thread until the end of the stall, if one has begun. Returns the time after the stall. `None` if
    /// there is no stall, or if the beginning of the stall is not known yet.
    pub(crate) fn sleep_through_stall(&self) -> Option<Duration> {
        let (begin, end) = self.faults.stall()?;
        let mut now = sys::clock::monotonic();
        if begin <= now {
            while now < end && !self.is_stopping() {
                sys::clock::sleep_until(end.min(now + NAP));
                now = sys::clock::monotonic();
            }
        }
        Some(now)
    }

    /// Returns the server's ledger, computed from the counters of its threads.
    pub(crate) fn ledger<'a>(&self, threads: impl Iterator<Item = &'a Counters>) -> Ledger {
        let mut ledger = Ledger { faults: self.faults.counts(), ..Ledger::default() };
        threads.for_each(|counters| counters.add_to(&mut ledger));
        ledger
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}
