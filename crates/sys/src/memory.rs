//! Settings of the memory allocator.

/// Makes the allocator map each allocation of at least this many bytes separately, and unmap it when it is freed.
/// Smaller allocations come from areas that can shrink only at their end. A single allocation near the end that is
/// still in use can prevent much freed memory from returning to the system.
///
/// Each separate allocation costs a system call and page faults. The cost is acceptable for a few allocations per
/// second, but not for an allocation in each request. With allocators other than glibc's, the function has no effect.
pub fn give_back_from(bytes: u32) {
    #[cfg(target_env = "gnu")]
    {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        // SAFETY: the call has no pointers. If the allocator rejects the threshold, nothing changes.
        let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, bytes) };
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = bytes;
}

/// Asks the kernel to use huge pages for a large range of memory that is not in use yet. This saves CPU time if the
/// whole range is used. Failures are ignored, because a kernel may not have huge pages. At both ends of the range,
/// memory that does not fill a huge page stays in ordinary pages.
pub fn prefer_huge_pages(memory: &mut [u8]) {
    let page = usize::try_from(crate::limits::page_bytes()).unwrap_or(usize::MAX);
    let skipped = memory.as_ptr().align_offset(page);
    let Some(whole) = memory.get_mut(skipped..).filter(|rest| rest.len() >= page) else { return };
    // SAFETY: the range belongs to `memory`, and the advice does not change its content. An error means that nothing
    // changes.
    let _ = unsafe { libc::madvise(whole.as_mut_ptr().cast(), whole.len() / page * page, libc::MADV_HUGEPAGE) };
}
