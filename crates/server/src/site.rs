//! What all threads of a server share.

use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::cluster::Member;
use crate::config::Config;
use crate::faults::Planted;
use crate::files::Directory;
use crate::pattern::Pattern;
use crate::stand_in::Player;

/// A stall is slept in such pieces, so that a server can be stopped in it.
const NAP: Duration = Duration::from_millis(20);

/// The content, the limits and the switches of one server.
pub(crate) struct Site {
    pub(crate) pattern: Pattern,
    pub(crate) directory: Option<Directory>,
    pub(crate) stand_in: Player,
    /// The place in a cluster, if there is one.
    pub(crate) member: Option<Member>,
    pub(crate) planted: Arc<Planted>,
    pub(crate) limits: Limits,
    /// Records that the log has room for; `None` when no log is kept.
    pub(crate) log_left: Option<AtomicUsize>,
    connections: AtomicUsize,
    stopping: AtomicBool,
}

/// Bounds that hold for every connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) connections_max: usize,
    pub(crate) head_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) drain: Duration,
    pub(crate) close_after: Option<NonZeroU64>,
    pub(crate) rate: Option<NonZeroU64>,
}

impl Site {
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
            stand_in: Player::new(&config.stand_in),
            member,
            planted: Arc::new(Planted::new(config.faults.clone(), sys::clock::monotonic())),
            limits,
            log_left: config.log_requests.map(|room| AtomicUsize::new(room.get())),
            connections: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        })
    }

    /// Takes a place for a connection, if there is one.
    pub(crate) fn enter(&self) -> bool {
        if self.connections.fetch_add(1, Ordering::Relaxed) < self.limits.connections_max {
            return true;
        }
        self.leave();
        false
    }

    /// Gives a place back.
    pub(crate) fn leave(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sleeps through a stall that has begun, with the whole thread; answers the time then, if there is a stall at all.
    pub(crate) fn stand_still(&self) -> Option<Duration> {
        let (begin, end) = self.planted.stall()?;
        let mut now = sys::clock::monotonic();
        if begin <= now {
            while now < end && !self.is_stopping() {
                sys::clock::sleep_until(end.min(now + NAP));
                now = sys::clock::monotonic();
            }
        }
        Some(now)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}
