//! Tests of reading truncated, damaged and foreign files.

use super::samples::acked;
use super::sim_disk::{SimDisk, sources};
use crate::error::{StoreError, StoreErrorKind};
use crate::fill_directory::FillError;
use crate::journal::number_set::NumberSet;
use crate::journal::read::Tip;
use crate::journal::record::Record;
use crate::journal::replay::{Replay, replay_sources};
use crate::journal::writer::JournalWriter;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const IDENTITY: [u8; 32] = [3; 32];

type Segments = Vec<(PathBuf, Vec<u8>)>;

/// A journal of two sessions with eight groups each, of five objects per group.
static JOURNAL: LazyLock<Segments> = LazyLock::new(|| {
    let disk = SimDisk::default();
    for session in 0..2_u64 {
        let (_, tip) = replay_sources(&sources(&disk.segments()), Some(&IDENTITY)).unwrap();
        let mut writer = start(&disk, tip);
        writer.append(&Record::Intend { first: session * 40, end: session * 40 + 40 }).unwrap();
        for group in 0..8 {
            let first = session * 40 + group * 5;
            writer.append(&Record::Acked((first..first + 4).map(acked).collect())).unwrap();
            writer.append(&Record::Acked(vec![acked(first + 4)])).unwrap();
            writer.sync(1000 * group).unwrap();
        }
    }
    disk.segments()
});

fn start(disk: &SimDisk, tip: Tip) -> JournalWriter {
    JournalWriter::start(Box::new(disk.clone()), Path::new("journal"), IDENTITY, tip).unwrap()
}

fn replay(segments: &Segments) -> Result<Replay, StoreError> {
    replay_sources(&sources(segments), Some(&IDENTITY)).map(|(replay, _)| replay)
}

/// Asserts that a replay contains exactly a prefix of the journal. Returns the number of objects.
fn assert_prefix(replay: &Replay) -> u64 {
    let count = replay.state.completed.len();
    assert_eq!(replay.state.completed, (0..count).collect::<NumberSet>());
    assert_eq!(replay.state.totals.sent_bytes, (0..count).map(|number| acked(number).sent_bytes).sum::<u64>());
    assert_eq!((replay.state.duplicates, replay.state.totals.objects), (0, count));
    count
}

fn is_damage(error: &StoreError) -> bool {
    matches!(error.kind, StoreErrorKind::Fill(FillError::Damaged { .. }))
}

#[test]
fn a_whole_journal_has_no_torn_bytes() {
    let whole = replay(&JOURNAL).unwrap();
    assert_eq!(assert_prefix(&whole), 80);
    let total: usize = JOURNAL.iter().map(|(_, bytes)| bytes.len()).sum();
    let extent = whole.extent;
    assert_eq!((extent.segments, extent.records, extent.torn_bytes), (2, 34, 0));
    assert_eq!(extent.bytes + extent.abandoned_bytes, total as u64);
    assert!(extent.abandoned_bytes < 200, "the last group of the first session is repeated in the second");
}

#[test]
fn every_cut_of_the_last_segment_is_a_torn_tail() {
    let mut last = 0;
    for len in 0..=JOURNAL[1].1.len() {
        let mut cut = JOURNAL.clone();
        cut[1].1.truncate(len);
        let replay = replay(&cut).unwrap_or_else(|error| panic!("{len} bytes: {error}"));
        let count = assert_prefix(&replay);
        assert!(count >= 40 && count >= last, "{len} bytes: {count} objects");
        let sum = replay.extent.bytes + replay.extent.torn_bytes + replay.extent.abandoned_bytes;
        assert_eq!(sum, (JOURNAL[0].1.len() + len) as u64, "{len} bytes");
        last = count;
    }
    assert_eq!(last, 80);
}

#[test]
fn every_cut_can_be_continued() {
    for len in 0..=JOURNAL[1].1.len() {
        let mut cut = JOURNAL.clone();
        cut[1].1.truncate(len);
        let (before, tip) = replay_sources(&sources(&cut), Some(&IDENTITY)).unwrap();
        let disk = SimDisk::default();
        let mut writer = start(&disk, tip);
        writer.append(&Record::Acked(vec![acked(before.state.completed.len())])).unwrap();
        writer.sync(0).unwrap();
        cut.extend(disk.segments());
        let after = replay(&cut).unwrap_or_else(|error| panic!("{len} bytes: {error}"));
        assert_eq!(assert_prefix(&after), before.state.completed.len() + 1, "{len} bytes");
        assert_eq!(after.extent.torn_bytes, 0);
    }
}

#[test]
fn every_cut_of_an_earlier_segment_is_damage_unless_it_is_excluded() {
    let excluded = replay(&JOURNAL).unwrap().extent.abandoned_bytes as usize;
    for len in 0..JOURNAL[0].1.len() {
        let mut cut = JOURNAL.clone();
        let whole = cut[0].1.len();
        cut[0].1.truncate(len);
        match replay(&cut) {
            Ok(replay) => assert!(assert_prefix(&replay) == 80 && len >= whole - excluded, "{len} bytes"),
            Err(error) => assert!(is_damage(&error) && len < whole - excluded, "{len} bytes: {error}"),
        }
    }
}

#[test]
fn every_flipped_bit_is_damage_or_a_torn_tail_of_one_group() {
    for segment in 0..2 {
        for byte in 0..JOURNAL[segment].1.len() {
            let mut flipped = JOURNAL.clone();
            flipped[segment].1[byte] ^= 1 << (byte % 8);
            match replay(&flipped) {
                // The journal shows that everything before the last group of the last segment was durable.
                Ok(replay) => {
                    let count = assert_prefix(&replay);
                    let is_excluded = segment == 0 && count == 80;
                    assert!(is_excluded || (segment == 1 && count >= 75), "byte {byte}: {count} objects");
                }
                Err(error) => assert!(is_damage(&error), "byte {byte}: {error}"),
            }
        }
    }
}

#[test]
fn damage_names_file_and_offset() {
    let mut flipped = JOURNAL.clone();
    flipped[0].1[140] ^= 1;
    let error = replay(&flipped).unwrap_err().to_string();
    let expected = "journal/000001.wal: damaged at byte 126 (a record with a wrong checksum); restore the file from a \
                    copy, or start again with another --out";
    assert_eq!(error, expected);
}

#[test]
fn a_segment_that_was_swapped_or_removed_is_noticed() {
    let (first, second) = (&JOURNAL[0].1, &JOURNAL[1].1);
    for segments in [vec![(1, second), (2, first)], vec![(2, second)], vec![(1, first), (2, first)]] {
        let named =
            |(number, bytes): (u64, &Vec<u8>)| (PathBuf::from(format!("journal/{number:06}.wal")), bytes.clone());
        let segments: Segments = segments.into_iter().map(named).collect();
        assert!(replay(&segments).is_err());
    }
}

#[test]
fn an_empty_journal_has_an_empty_state() {
    let (replay, tip) = replay_sources(&[], None).unwrap();
    assert_eq!((replay, tip.next_number), (Replay::default(), 1));
}

proptest! {
    #[test]
    fn random_changes_never_panic_or_invent(
        places in prop::collection::vec((0..2_usize, any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut changed = JOURNAL.clone();
        for (segment, place, value) in places {
            *place.get_mut(&mut changed[segment].1) = value;
        }
        let len = changed[1].1.len();
        changed[1].1.truncate(len - cut.index(len) / 4);
        if let Ok(replay) = replay(&changed) {
            assert_prefix(&replay);
        }
    }
}
