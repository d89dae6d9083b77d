//! Facts about processes from `/proc`.

use crate::tun::MARK;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use sys::process::Handle;

/// Returns the start of a process in ticks since the start of the system (field 22 of `/proc/PID/stat`). `None` if the
/// process does not exist, or has ended and only waits for its parent.
pub(super) fn started_ticks(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program is in parentheses and may contain anything. The state follows as field 3.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let started = fields.nth(22 - 4)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(started)
}

/// Returns the identifier of the start of the system.
pub(super) fn boot() -> io::Result<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned())
}

/// Returns the number of the user of this process.
pub(super) fn user() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |itself| itself.uid())
}

/// Which processes at the ends of a link are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Killed {
    /// All of them. Only the owner may do so: while it exists, the numbers of the namespaces belong to its link.
    All,
    /// Those that carry the mark of this owner. After the end of the owner, other namespaces may get the same numbers.
    Marked(u32),
}

/// Kills processes that are in one of the namespaces. Returns their numbers.
pub(super) fn kill(which: Killed, namespaces: &[u64]) -> io::Result<Vec<u32>> {
    let mut killed = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(process) = entry.ok().and_then(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) else {
            continue;
        };
        // The handle is opened first. If the process ends and another one gets its number, the signal reaches neither.
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
