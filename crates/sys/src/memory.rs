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
