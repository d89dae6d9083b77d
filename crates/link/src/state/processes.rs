//! Facts about processes from `/proc`.

use crate::tun::MARK;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
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

/// The processes at the ends of a link that are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Killed {
    /// All processes. This is safe only while the owner or its [`Guard`](super::Guard) keeps the namespaces, because no
    /// other link can then have namespaces with the same numbers.
    All,
    /// Processes that have the mark of this owner. After the owner has ended, other namespaces may get the same
    /// numbers.
    Marked(u32),
}

/// Kills processes that are in one of the namespaces. Returns the numbers of the killed processes.
pub(super) fn kill(which: Killed, namespaces: &[u64]) -> io::Result<Vec<u32>> {
    let mut killed = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(process) = entry.ok().and_then(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) else {
            continue;
        };
        // The handle is opened before the checks. If the process ends and its number is reused, the signal therefore
        // reaches no other process.
        let Ok(handle) = Handle::open(process) else { continue };
        if is_inside(process, namespaces) && has_mark(process, which) && handle.kill().is_ok() {
            killed.push(process);
        }
    }
    Ok(killed)
}

fn is_inside(process: u32, namespaces: &[u64]) -> bool {
    fs::metadata(format!("/proc/{process}/ns/net")).is_ok_and(|file| namespaces.contains(&file.ino()))
}

fn has_mark(process: u32, which: Killed) -> bool {
    let Killed::Marked(owner) = which else { return true };
    let mark = format!("{MARK}={owner}");
    let is_mark = |entry: &[u8]| entry == mark.as_bytes();
    fs::read(format!("/proc/{process}/environ")).is_ok_and(|text| text.split(|byte| *byte == 0).any(is_mark))
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
