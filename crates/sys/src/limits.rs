//! Limits and resources of this process: descriptors, cores, memory, local addresses.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::ptr;

use crate::address::read_ip;
use crate::kernel_call::check;

/// Limits on the number of open descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The current (soft) limit.
    pub soft: u64,
    /// The hard limit, which is the maximum that the process may set as the soft limit.
    pub hard: u64,
}

/// Returns the current limits on open descriptors.
pub fn descriptor_limits() -> io::Result<Limits> {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limits` is valid for writing.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limits) })?;
    Ok(Limits { soft: limits.rlim_cur, hard: limits.rlim_max })
}

/// Raises the soft limit on open descriptors to the hard limit. Returns the new limits.
pub fn raise_descriptor_limit() -> io::Result<Limits> {
    let Limits { hard, .. } = descriptor_limits()?;
    let limits = libc::rlimit { rlim_cur: hard, rlim_max: hard };
    // SAFETY: `limits` is valid for reading.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limits) })?;
    descriptor_limits()
}

/// Returns the number of cores that the calling thread may run on, at least 1.
pub fn available_cores() -> usize {
    let mut set = empty_cpu_set();
    // SAFETY: `set` is valid for writing and has the given size. Thread ID 0 means the calling thread.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    if result != 0 {
        // The machine has more cores than the set can represent. The standard library handles this case.
        return std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    }
    // SAFETY: the call only counts bits in `set`.
    let count = unsafe { libc::CPU_COUNT(&set) };
    usize::try_from(count).unwrap_or(1).max(1)
}

/// Pins the calling thread to one core, numbered from 0 as in the kernel.
pub fn pin_current_thread(core: usize) -> io::Result<()> {
    if core >= libc::CPU_SETSIZE as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = empty_cpu_set();
    // SAFETY: `core` lies within the set.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: `set` is valid for reading and has the given size. Thread ID 0 means the calling thread.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) })?;
    Ok(())
}

fn empty_cpu_set() -> libc::cpu_set_t {
    // SAFETY: all-zero bytes are a valid, empty set.
    unsafe { std::mem::zeroed() }
}

/// Returns the peak resident memory of this process in bytes (`VmHWM`). The value of `getrusage` is not used, because a
/// new process starts with its parent's value.
pub fn peak_memory_bytes() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|rest| rest.split_whitespace().next()).and_then(|number| number.parse::<u64>().ok());
    kibibytes.map(|number| number.saturating_mul(1024)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Returns the size of a page of memory in bytes.
pub fn page_bytes() -> u64 {
    system_value(libc::_SC_PAGESIZE)
}

/// Returns the number of ticks per second in the kernel's reports of CPU time.
pub fn ticks_per_second() -> u64 {
    system_value(libc::_SC_CLK_TCK)
}

/// Returns a configuration value that exists on every Linux system.
fn system_value(name: libc::c_int) -> u64 {
    // SAFETY: the call takes a number, so it accesses no memory.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).unwrap_or(0)
}

/// Returns the kernel's ID of the calling thread.
pub fn thread_id() -> i32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::gettid() }
}

/// Returns the distinct IP addresses of this machine's interfaces, in the kernel's order.
pub fn local_addresses() -> io::Result<Vec<IpAddr>> {
    let mut list: *mut libc::ifaddrs = ptr::null_mut();
    // SAFETY: `list` is valid for writing.
    check(unsafe { libc::getifaddrs(&raw mut list) })?;
    let mut addresses = Vec::new();
    let mut entry: *const libc::ifaddrs = list;
    // SAFETY: `entry` is null or an entry of the list, which is freed only below.
    while let Some(interface) = unsafe { entry.as_ref() } {
        // SAFETY: the address of an interface is null, or has the type that its family field indicates.
        if let Some(address) = unsafe { read_ip(interface.ifa_addr) }
            && !addresses.contains(&address.ip())
        {
            addresses.push(address.ip());
        }
        entry = interface.ifa_next;
    }
    // SAFETY: the list came from `getifaddrs`, is freed only once, and no pointer into it remains.
    unsafe { libc::freeifaddrs(list) };
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptor_limit_rises_to_the_hard_one() {
        let before = descriptor_limits().unwrap();
        let after = raise_descriptor_limit().unwrap();
        assert_eq!(after.soft, after.hard);
        assert_eq!(after.hard, before.hard);
    }

    #[test]
    fn a_pinned_thread_has_one_core() {
        let pinned = std::thread::spawn(|| {
            let all = available_cores();
            let core = (0..libc::CPU_SETSIZE as usize).find(|core| pin_current_thread(*core).is_ok());
            (all, core, available_cores())
        });
        let (all, core, after) = pinned.join().unwrap();
        assert!(all >= 1 && core.is_some());
        assert_eq!(after, 1);
        assert_eq!(pin_current_thread(usize::MAX).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn peak_memory_grows_with_touched_pages() {
        let before = peak_memory_bytes().unwrap();
        let touched = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(peak_memory_bytes().unwrap() >= before.max(touched.len() as u64));
    }

    #[test]
    fn thread_ids_differ_and_loopback_is_local() {
        let other = std::thread::spawn(thread_id).join().unwrap();
        assert!(other > 0 && other != thread_id());
        assert!(local_addresses().unwrap().iter().any(IpAddr::is_loopback));
    }
}
