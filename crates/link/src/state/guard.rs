//! The guard of a link: a process that waits until the owner of the link is gone. If the owner was killed, the guard
//! removes what remains of the link.

use super::{LinkState, Record, Registry};
use std::io;
use std::time::Duration;

/// Interval at which the owner is checked.
const LOOK: Duration = Duration::from_millis(20);

/// Waits for the end of the owner of a link. Then removes what remains of the link. Call this function when the owner is
/// about to end.
///
/// # Errors
/// Fails if `/proc` or the registry cannot be read.
pub fn clean_up_after(record: &Record, registry: &Registry) -> io::Result<()> {
    while record.state() == LinkState::Running {
        std::thread::sleep(LOOK);
    }
    registry.clean().map(drop)
}
