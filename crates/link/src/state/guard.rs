//! The guard of a link: a process that waits until the owner of the link is gone. If the owner was killed, the guard
//! kills the processes that still run at the ends of the link.
//!
//! Processes at the ends may be daemons, which have no parent that could kill them. They may also have erased the
//! environment variable that marks them as processes of the link, as nginx does. In this case, only the numbers of the
//! network namespaces identify them. When a namespace is gone, the kernel may reuse its number. The guard keeps the
//! namespaces open, so their numbers are not reused.

use super::processes::{self, Killed};
use super::{LinkState, Record, Registry, Side};
use crate::error::{LinkError, failed};
use std::io;
use std::time::{Duration, Instant};
use sys::namespace::Network;

/// Interval at which the processes are checked.
const LOOK: Duration = Duration::from_millis(20);
/// Maximum time to wait until killed processes have ended. Killed processes end immediately, unless they wait for a
/// device. Processes that still run after this time are left to the cleanup at the next start of a link.
const END_MAX: Duration = Duration::from_secs(10);

/// Guard of the link of another process.
#[derive(Debug)]
pub struct Guard {
    record: Record,
    _ends: [Option<Network>; 2],
}

impl Guard {
    /// Starts to guard a link, which must exist.
    ///
    /// # Errors
    /// Fails if the link has ended, or belongs to another user.
    pub fn of(record: Record) -> Result<Self, LinkError> {
        let ends = [record.network(Side::Near)?, record.network(Side::Far)?];
        Ok(Self { record, _ends: ends })
    }

    /// Waits for the end of the owner. Then kills all processes at the ends, and removes the record. Call this function
    /// when the owner is about to end.
    ///
    /// # Errors
    /// Fails if `/proc` or the registry cannot be read.
    pub fn clean(self, registry: &Registry) -> Result<(), LinkError> {
        self.clean_up(registry).map_err(failed("clean up after the link"))
    }

    fn clean_up(self, registry: &Registry) -> io::Result<()> {
        while self.record.state() == LinkState::Running {
            std::thread::sleep(LOOK);
        }
        let begun = Instant::now();
        // A process may start another one while the list of processes is read, so the list is read again until no
        // process is left.
        while !processes::kill(Killed::All, self.record.namespaces())?.is_empty() && begun.elapsed() < END_MAX {
            std::thread::sleep(LOOK);
        }
        registry.clean().map(drop)
    }
}
