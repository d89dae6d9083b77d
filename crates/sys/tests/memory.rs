//! Tests that freed memory returns to the system. This test has its own process, because other tests in the same
//! process would also allocate memory.
#![cfg(target_env = "gnu")]

use sys::memory::give_back_from;

/// Returns the resident memory in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn memory_freed_between_live_allocations_is_returned() {
    const BLOCK: usize = 48 << 10;
    give_back_from(32 << 10);
    let before = resident();
    let blocks: Vec<(Vec<u8>, Box<[u8; 64]>)> = (0..1500).map(|_| (vec![1; BLOCK], Box::new([1; 64]))).collect();
    let full = resident();
    assert!(full - before > 60 << 20, "70 MiB must be resident before they are freed: {before} {full}");
    let kept: Vec<_> = blocks.into_iter().map(|(_, kept)| kept).collect();
    let after = resident();
    assert!(after < before + (30 << 20), "{before} {full} {after}, {} kept", kept.len());
}
