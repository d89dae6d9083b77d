//! Arbitrary bytes as the files of a fill: reading them causes no panic and needs bounded memory.
//!
//! The input is used as a segment of the journal, as payloads of records with valid checksums, and as a list of files.
#![no_main]

use crc_fast::{CrcAlgorithm, checksum};
use libfuzzer_sys::fuzz_target;
use store::fill_directory::ManifestReader;
use store::journal::{Replay, replay_bytes};

fuzz_target!(|bytes: &[u8]| {
    check(replay_bytes(&[bytes], None).ok());
    check(replay_bytes(&[bytes, bytes], None).ok());
    let _ = ManifestReader::new(bytes).count();

    let mut segment = header();
    let (mut rest, mut seq) = (bytes, 0);
    while let Some(([kind, len], after)) = rest.split_first_chunk() {
        let (payload, after) = after.split_at(after.len().min(usize::from(*len)));
        put(&mut segment, kind % 16, seq, payload);
        // Headers and groups do not use up a sequence number.
        seq += u64::from(kind % 16 > 1);
        rest = after;
    }
    check(replay_bytes(&[&segment], None).ok());
});

/// Checks that the parts of a replay agree.
fn check(replay: Option<Replay>) {
    let Some(Replay { state, .. }) = replay else { return };
    assert_eq!(state.totals.objects, state.completed.len());
    assert!(state.completed.iter().take(1000).all(|number| !state.failed.contains(number)));
    let some = 1 << 20;
    assert_eq!(state.in_doubt().take(some as usize).count() as u64, state.in_doubt_count().min(some));
    assert_eq!(state.uploads.iter().count(), state.uploads.len());
}

/// Returns the header of the first segment and the beginning of a group.
fn header() -> Vec<u8> {
    let mut segment = Vec::new();
    put(&mut segment, 0, 0, &[&b"fill-wal\x01\0\0\0"[..], &[0; 32], &1_u64.to_le_bytes(), &[0; 24]].concat());
    put(&mut segment, 1, 0, &[0; 16]);
    segment
}

fn put(segment: &mut Vec<u8>, kind: u8, seq: u64, payload: &[u8]) {
    let start = segment.len();
    segment.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    segment.push(kind);
    segment.extend_from_slice(&seq.to_le_bytes());
    segment.extend_from_slice(payload);
    let crc = checksum(CrcAlgorithm::Crc32Iscsi, &segment[start..]) as u32;
    segment.extend_from_slice(&crc.to_le_bytes());
}
