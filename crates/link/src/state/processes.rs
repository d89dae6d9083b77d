//! Facts about processes from `/proc`.

use super::Owner;
use crate::mark;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};
use sys::process::Handle;

/// Returns the start time of a process, in ticks since the boot of the system (field 22 of `/proc/PID/stat`). `None` if
/// the process does not exist, or is a zombie.
pub(super) fn started_ticks(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program name is in parentheses and may contain any characters. The state follows as field 3.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let started = fields.nth(22 - 4)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(started)
}

/// Returns the ID of the current boot of the system.
pub(super) fn boot() -> io::Result<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned())
}

/// Returns the user ID of this process inside its user namespace. The files that this process creates show the same
/// user ID.
pub(super) fn user() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |itself| itself.uid())
}

/// Returns the user ID of the person who runs this process. If the process is in a user namespace in which an ordinary
/// user is root ([`crate::permissions::gain`], `unshare -r`), this is the ID outside of the namespace.
pub(super) fn person() -> u32 {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    outside(&map).unwrap_or_else(user)
}

/// Returns the only user that a user namespace maps, as seen from outside. `None` if the namespace maps several users,
/// such as the first namespace of a system or the namespace of a container.
fn outside(map: &str) -> Option<u32> {
    let mut fields = map.split_whitespace().map(|field| field.parse::<u32>().ok());
    match [fields.next()??, fields.next()??, fields.next()??] {
        [_, outside, 1] if fields.next().is_none() => Some(outside),
        _ => None,
    }
}

/// Interval at which the processes at the ends are listed again.
const LOOK: Duration = Duration::from_millis(20);
/// Maximum time to wait until killed processes have ended. Killed processes end immediately, unless they wait for a
/// device.
const END_MAX: Duration = Duration::from_secs(10);

/// Kills the processes at the ends of a link, and waits until they have ended. Returns the numbers of the killed processes.
pub(super) fn end_all(owner: Owner) -> io::Result<Vec<u32>> {
    let (mut all, begun) = (Vec::new(), Instant::now());
    // A process may start another one while the list of processes is read, so the list is read again until no process is
    // left.
    loop {
        let killed = kill(owner)?;
        if killed.is_empty() || begun.elapsed() > END_MAX {
            return Ok(all);
        }
        all.extend(killed);
        all.sort_unstable();
        all.dedup();
        std::thread::sleep(LOOK);
    }
}

/// Kills the processes at the ends of a link that run now. Returns their numbers.
fn kill(owner: Owner) -> io::Result<Vec<u32>> {
    let mut killed = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(process) = entry.ok().and_then(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) else {
            continue;
        };
        // The handle is opened before the check. If the process ends and its number is reused, the signal therefore
        // reaches no other process.
        let Ok(handle) = Handle::open(process) else { continue };
        if mark::has(process, owner) && handle.kill().is_ok() {
            killed.push(process);
        }
    }
    Ok(killed)
}

#[cfg(test)]
mod tests {
    use super::outside;

    #[test]
    fn a_namespace_of_one_user_shows_that_user() {
        assert_eq!(outside("         0       1000          1\n"), Some(1000));
        for map in ["0 0 4294967295\n", "0 100000 65536\n", "0 1000 1\n1 100000 65536\n", "", "0 x 1"] {
            assert_eq!(outside(map), None, "{map}");
        }
    }
}
