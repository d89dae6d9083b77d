//! Tests with failed writes and syncs, full disks, kills and power losses. No counted object is lost, and none is
//! counted twice.

use super::samples::acked;
use super::sim_disk::{Fault, SimDisk, sources};
use crate::error::StoreErrorKind;
use crate::fill_directory::FillError;
use crate::journal::number_set::NumberSet;
use crate::journal::record::Record;
use crate::journal::replay::{Replay, replay_sources};
use crate::journal::segment::SEGMENT_BYTES_MAX;
use crate::journal::writer::{JournalWriter, PENDING_BYTES_MAX};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

const IDENTITY: [u8; 32] = [9; 32];

/// A fill on a failing disk, and the objects that it has counted so far.
struct Fill {
    disk: SimDisk,
    writer: Option<JournalWriter>,
    next: u64,
    /// Objects whose acknowledgement was added.
    added: BTreeSet<u64>,
    /// Objects that this session has added and that are not counted yet.
    pending: BTreeSet<u64>,
    /// Objects whose acknowledgement was counted, because a sync succeeded.
    counted: BTreeSet<u64>,
    /// Number of failed syncs.
    failures: usize,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ack(u64),
    Sync,
    /// Syncs, with a new segment after each failure, until a sync succeeds.
    SyncAnyhow,
    Kill,
    PowerLoss(u64),
}

impl Fill {
    fn new() -> Self {
        let (added, pending, counted) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { disk: SimDisk::default(), writer: None, next: 0, added, pending, counted, failures: 0 }
    }

    fn replay(&self) -> (Replay, crate::journal::read::Tip) {
        replay_sources(&sources(&self.disk.segments()), Some(&IDENTITY)).expect("a crash is no damage")
    }

    /// Starts a session unless one runs. Returns whether one runs.
    fn start(&mut self) -> bool {
        if self.writer.is_none() {
            let (replay, tip) = self.replay();
            self.check(&replay);
            // The session continues from the replayed state, so it counts all objects of this state.
            match JournalWriter::start(Box::new(self.disk.clone()), Path::new("j"), IDENTITY, tip) {
                Ok(writer) => self.writer = Some(writer),
                Err(_) => {
                    self.failures += 1;
                    return false;
                }
            }
            self.counted = replay.state.completed.iter().collect();
            self.pending.clear();
            self.next = self.next.max(self.counted.last().map_or(0, |last| last + 1));
        }
        true
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Kill => self.writer = None,
            Step::PowerLoss(seed) => {
                self.writer = None;
                let mut random = seed | 1;
                self.disk = self.disk.after_power_loss(|| {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    random.is_multiple_of(2)
                });
                let (replay, _) = self.replay();
                self.check(&replay);
            }
            Step::Ack(count) if self.start() => {
                let objects: Vec<u64> = (self.next..self.next + count).collect();
                let record = Record::Acked(objects.iter().copied().map(acked).collect());
                self.writer.as_mut().unwrap().append(&record).unwrap();
                self.next += count;
                self.added.extend(objects.iter().copied());
                self.pending.extend(objects);
            }
            Step::Sync if self.start() => self.sync(),
            Step::SyncAnyhow if self.start() => loop {
                self.sync();
                let writer = self.writer.as_mut().unwrap();
                if !writer.has_failed() {
                    assert_eq!(writer.pending_records(), 0);
                    break;
                }
                let _ = writer.open_next_segment(None);
            },
            Step::Ack(_) | Step::Sync | Step::SyncAnyhow => {}
        }
    }

    fn sync(&mut self) {
        match self.writer.as_mut().unwrap().sync(0) {
            Ok(()) => self.counted.append(&mut self.pending),
            Err(_) => self.failures += 1,
        }
    }

    /// Checks that a replay has all counted objects, and no object that was never added.
    fn check(&self, replay: &Replay) {
        let completed: BTreeSet<u64> = replay.state.completed.iter().collect();
        assert!(completed.is_superset(&self.counted), "counted, but lost: {:?}", self.counted.difference(&completed));
        assert!(completed.is_subset(&self.added), "never stored: {:?}", completed.difference(&self.added));
        assert_eq!(replay.state.duplicates, 0);
        let sum: u64 = completed.iter().map(|number| acked(*number).sent_bytes).sum();
        assert_eq!((replay.state.totals.objects, replay.state.totals.sent_bytes), (completed.len() as u64, sum));
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![Just(Fault::ShortWrite), Just(Fault::Full), Just(Fault::Broken)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..6_u64).prop_map(Step::Ack),
        4 => Just(Step::Sync),
        2 => Just(Step::SyncAnyhow),
        1 => Just(Step::Kill),
        1 => any::<u64>().prop_map(Step::PowerLoss),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn counted_objects_survive_any_faults(
        steps in prop::collection::vec(step(), 1..40),
        faults in prop::collection::btree_map(0..100_u64, fault(), 0..12),
        end in any::<u64>(),
    ) {
        let mut fill = Fill::new();
        fill.disk.plan(faults);
        steps.into_iter().for_each(|step| fill.step(step));
        fill.step(Step::PowerLoss(end));
        // Afterwards, the disk works.
        fill.step(Step::Ack(1));
        fill.step(Step::SyncAnyhow);
        fill.step(Step::PowerLoss(end));
        prop_assert!(fill.start());
    }
}

#[test]
fn a_failed_sync_ends_the_segment() {
    let mut fill = Fill::new();
    fill.step(Step::Ack(3));
    fill.step(Step::Sync);
    // The disk counts the write of the group first, then its sync.
    fill.disk.plan([(1, Fault::Broken)]);
    fill.step(Step::Ack(2));
    let writer = fill.writer.as_mut().unwrap();
    assert!(matches!(writer.sync(0).unwrap_err().kind, StoreErrorKind::Io(_)));
    assert!(writer.has_failed());
    let error = writer.sync(0).unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::Fill(FillError::SegmentFailed { pending_records: 1 })), "{error}");
    assert_eq!(writer.durable_records(), 1);
    writer.open_next_segment(Some(Path::new("spare"))).unwrap();
    assert_eq!(writer.path(), Path::new("spare/000002.wal"));
    writer.sync(0).unwrap();
    assert_eq!((writer.durable_records(), writer.pending_bytes()), (2, 0));
    writer.open_next_segment(None).unwrap();
    assert_eq!(writer.path(), Path::new("spare/000003.wal"), "not back to the disk that failed");

    let (replay, _) = fill.replay();
    assert_eq!(replay.state.completed, (0..5).collect::<NumberSet>());
    assert_eq!((replay.state.duplicates, replay.extent.segments), (0, 2));
    assert!(replay.extent.abandoned_bytes > 0);
}

#[test]
fn a_second_sync_of_the_same_segment_would_lose_what_it_reports_as_durable() {
    // This behavior is the reason for new segments. The test also shows that the simulated disk behaves like Linux.
    use crate::journal::disk::Disk;
    let mut disk = SimDisk::default();
    let path = Path::new("j/000001.wal");
    let mut file = disk.create(path).unwrap();
    disk.sync_directory(Path::new("j")).unwrap();
    file.write_all(b"acknowledged").unwrap();
    disk.plan([(0, Fault::Broken)]);
    assert!(file.sync().is_err());
    file.sync().unwrap();
    assert_eq!(disk.segments()[0].1, b"acknowledged");
    assert_eq!(disk.after_power_loss(|| true).segments()[0].1, [0; 12]);
}

#[test]
fn short_writes_are_continued() {
    let mut fill = Fill::new();
    fill.step(Step::Ack(50));
    fill.disk.plan((0..3).map(|operation| (operation, Fault::ShortWrite)));
    fill.step(Step::Sync);
    assert_eq!((fill.failures, fill.counted.len()), (0, 50));
    fill.step(Step::PowerLoss(1));
    assert_eq!(fill.replay().0.state.completed.len(), 50);
}

#[test]
fn the_last_records_fit_on_a_full_disk() {
    let mut fill = Fill::new();
    fill.step(Step::Ack(100));
    fill.step(Step::Sync);
    fill.disk.limit(50);
    fill.step(Step::Ack(1000));
    let writer = fill.writer.as_mut().unwrap();
    let error = writer.sync(0).unwrap_err();
    assert!(error.is_full(), "{error}");
    writer.open_next_segment(None).unwrap();
    writer.append(&Record::Event { unix_ms: 0, text: "the disk is full".to_owned() }).unwrap();
    writer.sync(0).unwrap();
    let (replay, _) = fill.replay();
    assert_eq!((replay.state.completed.len(), replay.state.events.len()), (1100, 1));
}

#[test]
fn a_disk_without_space_is_reported_at_the_start() {
    let mut fill = Fill::new();
    fill.disk.plan([(0, Fault::Full)]);
    let (_, tip) = fill.replay();
    let error = JournalWriter::start(Box::new(fill.disk.clone()), Path::new("j"), IDENTITY, tip).err().unwrap();
    assert!(error.is_full() && error.to_string().starts_with("j/000001.wal: "), "{error}");
    fill.disk.plan([]);
    fill.step(Step::Ack(1));
    fill.step(Step::Sync);
    assert_eq!(fill.counted.len(), 1);
}

#[test]
fn segments_roll_before_their_limit() {
    let mut fill = Fill::new();
    fill.start();
    let writer = fill.writer.as_mut().unwrap();
    let text = "x".repeat(1000);
    let mut records = 0;
    for _ in 0..10 {
        while writer.append(&Record::Event { unix_ms: 0, text: text.clone() }).is_ok() {
            records += 1;
        }
        assert!(writer.pending_bytes() <= PENDING_BYTES_MAX && writer.pending_bytes() > PENDING_BYTES_MAX - 2000);
        writer.sync(0).unwrap();
    }
    let segments = fill.disk.segments();
    assert!(segments.len() == 4 || segments.len() == 3, "{} segments", segments.len());
    assert!(segments.iter().all(|(_, bytes)| bytes.len() as u64 <= SEGMENT_BYTES_MAX));
    let (replay, _) = fill.replay();
    assert_eq!((replay.extent.records, replay.extent.abandoned_bytes), (records, 0));
    assert_eq!(replay.state.events.len() as u64 + replay.state.more_events, records);
}

#[test]
fn too_much_pending_and_values_above_the_limits_are_refused() {
    let mut fill = Fill::new();
    fill.start();
    let writer = fill.writer.as_mut().unwrap();
    let big = Record::Failed(vec![
        crate::journal::FailedObject {
            number: 1,
            attempts: 1,
            sent_bytes: u64::MAX,
            class: "x".repeat(64),
            cause: "y".repeat(64),
        };
        200_000
    ]);
    let error = writer.append(&big).unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::Fill(FillError::TooMuchPending { .. })), "{error}");
    assert_eq!((writer.pending_bytes(), writer.pending_records()), (0, 0));
    let upload_id = "x".repeat(1025);
    let error = writer.append(&Record::UploadCreated { number: 1, upload_id }).unwrap_err();
    assert!(error.to_string().contains("an upload ID of 1025 bytes is above the limit of 1024 bytes"), "{error}");
    for record in [Record::Deleted(vec![1 << 32]), Record::Intend { first: 0, end: (1 << 32) + 1 }] {
        let error = writer.append(&record).unwrap_err();
        assert!(error.to_string().contains("the object number 4294967296 is above the limit"), "{error}");
    }
    writer.append(&Record::Intend { first: 0, end: 1 << 32 }).unwrap();
    writer.sync(0).unwrap();
    assert_eq!(fill.replay().0.state.intended_end, 1 << 32);
}
