//! What becomes of memory that was freed.

/// Asks the allocator to take every piece of so many bytes or more from the system by itself, and to give it back as soon as it
/// is freed. Other pieces are cut from areas that only shrink at their end, so that what lives on keeps what was freed before.
///
/// Each such piece then costs a system call and its pages' first touch: for what is made some times a second, not for
/// each request. With an allocator other than glibc's nothing changes.
pub fn give_back_from(bytes: u32) {
    #[cfg(target_env = "gnu")]
    {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        // SAFETY: the call takes two numbers; a threshold it does not like is refused, and nothing changes.
        let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, bytes) };
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = bytes;
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    /// Bytes allocated and resident.
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
    }

    #[test]
    fn what_is_freed_between_what_stays_goes_back() {
        const BLOCK: usize = 48 << 10;
        give_back_from(32 << 10);
        let before = resident();
        let blocks: Vec<(Vec<u8>, Box<[u8; 64]>)> = (0..1500).map(|_| (vec![1; BLOCK], Box::new([1; 64]))).collect();
        let full = resident();
        assert!(full - before > 60 << 20, "70 MiB are held: {before} {full}");
        let kept: Vec<_> = blocks.into_iter().map(|(_, kept)| kept).collect();
        let after = resident();
        assert!(after < before + (30 << 20), "{before} {full} {after}, {} kept", kept.len());
    }
}
