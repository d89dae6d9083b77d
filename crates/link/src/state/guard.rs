//! The guard of a link: a process that ends what still runs at the ends of a link whose owner was killed.
//!
//! Processes at the ends may be daemons, which have no parent that could end them, and may have erased the environment
//! with the mark of their link, as nginx does. The numbers of the namespaces then identify them, but the kernel uses
//! these numbers again when the namespaces are gone. The guard keeps the namespaces, so their numbers stay valid.

use super::processes::{self, Killed};
use super::{LinkState, Record, Registry, Side};
use crate::error::{LinkError, failed};
use std::io;
use std::time::{Duration, Instant};
use sys::namespace::Network;

/// Time between two looks at the processes.
const LOOK: Duration = Duration::from_millis(20);
/// Time after which processes that still run are left to the next start. Killed processes end at once, unless they wait
/// for a device.
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

    /// Waits for the end of the owner. Then kills all processes at the ends, and removes the record. Call it when the
    /// owner is about to end.
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
        // A process may start another one while the list of processes is read, so look again until there is none.
        while !processes::kill(Killed::All, self.record.namespaces())?.is_empty() && begun.elapsed() < END_MAX {
            std::thread::sleep(LOOK);
        }
        registry.clean().map(drop)
    }
}
