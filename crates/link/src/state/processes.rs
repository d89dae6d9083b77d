//! Facts about processes from `/proc`.

use crate::tun::MARK;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
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

/// Kills the processes that carry the mark of `owner` and are in one of the namespaces. Returns their numbers.
pub(super) fn kill_marked(owner: u32, namespaces: &[u64]) -> io::Result<Vec<u32>> {
    let mark = format!("{MARK}={owner}");
    let mut killed = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(process) = entry.ok().and_then(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) else {
            continue;
        };
        // The handle is opened first. If the process ends and another one gets its number, the signal reaches neither.
        let Ok(handle) = Handle::open(process) else { continue };
        if is_marked(process, &mark, namespaces) && handle.kill().is_ok() {
            killed.push(process);
        }
    }
    Ok(killed)
}

fn is_marked(process: u32, mark: &str, namespaces: &[u64]) -> bool {
    let folder = format!("/proc/{process}");
    let folder = Path::new(&folder);
    let namespace = fs::metadata(folder.join("ns/net")).map(|file| file.ino());
    let has_mark = |environment: Vec<u8>| environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes());
    namespace.is_ok_and(|id| namespaces.contains(&id)) && fs::read(folder.join("environ")).is_ok_and(has_mark)
}
