//! The writer of a journal.

use super::disk::{Disk, HostDisk, SegmentFile};
use super::read::{Entry, Tip};
use super::record::{OBJECTS_MAX, Record, UPLOAD_ID_BYTES_MAX};
use super::replay::{self, Replay};
use super::segment::{GROUP_BYTES, Group, HEADER_BYTES, Header, Previous, SEGMENT_BYTES_MAX};
use super::source::segment_path;
use crate::error::StoreError;
use crate::files::sync_directory;
use crate::fill_directory::{FillDirectory, FillError};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum size of the records that wait for a sync.
pub const PENDING_BYTES_MAX: usize = 16 << 20;
/// Name of the file that reserves disk space for the last records.
const RESERVE_FILE: &str = "reserve";
/// Size of the reserve.
const RESERVE_BYTES: u64 = 2 << 20;

/// The writer of a journal. [`JournalWriter::append`] adds records. The records are durable after a later
/// [`JournalWriter::sync`] has succeeded.
pub struct JournalWriter {
    /// Directory of new segments.
    directory: PathBuf,
    reserve_path: PathBuf,
    identity: [u8; 32],
    disk: Box<dyn Disk>,
    segment: Segment,
    next_number: u64,
    /// Space for the first record of a group, followed by the records that are not durable yet.
    pending: Vec<u8>,
    durable_seq: u64,
    next_seq: u64,
    last_sync: Instant,
    reserve: Reserve,
    /// The lock that keeps other processes from writing.
    _lock: Option<Arc<File>>,
}

/// The segment that records are appended to.
struct Segment {
    path: PathBuf,
    file: Box<dyn SegmentFile>,
    number: u64,
    /// Size of the part that is on the disk.
    durable_bytes: u64,
    state: SegmentState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SegmentState {
    Sound,
    /// A write or sync failed. The kernel may report later syncs as successful although data is lost.
    Failed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reserve {
    Kept,
    /// The disk is full, so the next segment may use the reserved space.
    Needed,
    Used,
}

impl JournalWriter {
    /// Replays the journal of a fill and opens a new segment. `spares` are the other directories with segments, which
    /// were passed to [`JournalWriter::open_next_segment`]. The new segment repeats the last group of the previous
    /// segment. Its header therefore states that this group, and an incomplete end, are not part of the previous
    /// segment.
    ///
    /// # Errors
    /// Fails like [`super::replay`], or with an error of the system, such as a full disk.
    pub fn open(fill: &FillDirectory, spares: &[&Path]) -> Result<(Self, Replay), StoreError> {
        Self::open_visiting(fill, spares, |_| {})
    }

    /// Like [`Self::open`], but also calls `visit` for each record in order during the replay.
    ///
    /// # Errors
    /// Fails like [`Self::open`].
    pub fn open_visiting(
        fill: &FillDirectory,
        spares: &[&Path],
        visit: impl FnMut(&Entry),
    ) -> Result<(Self, Replay), StoreError> {
        let directory = fill.journal_directory();
        fs::create_dir_all(&directory).map_err(|error| StoreError::new(&directory, error))?;
        sync_directory(fill.path()).map_err(|error| StoreError::new(fill.path(), error))?;
        let directories: Vec<&Path> = [directory.as_path()].into_iter().chain(spares.iter().copied()).collect();
        let (replay, tip) = replay::replay_directories(&directories, Some(&fill.identity_hash()), visit)?;
        let mut writer = Self::start(Box::new(HostDisk), &directory, fill.identity_hash(), tip)?;
        writer._lock = Some(fill.lock());
        Ok((writer, replay))
    }

    /// Opens the segment that follows `tip`. Writes the tail to the segment and syncs it.
    pub(crate) fn start(
        mut disk: Box<dyn Disk>,
        directory: &Path,
        identity: [u8; 32],
        tip: Tip,
    ) -> Result<Self, StoreError> {
        let Tip { previous, tail, tail_seq, tail_unix_ms, unused_files, next_number, next_seq } = tip;
        for path in unused_files {
            // If the removal fails, readers still ignore the file.
            let _ = disk.remove(&path);
        }
        let reserve_path = directory.join(RESERVE_FILE);
        disk.reserve(&reserve_path, RESERVE_BYTES).map_err(|error| StoreError::new(&reserve_path, error))?;
        let header = Header { identity, number: next_number, previous, seq: tail_seq, committed_from: next_seq };
        let segment = create_segment(&mut *disk, directory, &header)?;
        let mut writer = Self {
            directory: directory.to_owned(),
            reserve_path,
            identity,
            disk,
            segment,
            next_number: next_number + 1,
            pending: vec![0; GROUP_BYTES],
            durable_seq: tail_seq,
            next_seq,
            last_sync: Instant::now(),
            reserve: Reserve::Kept,
            _lock: None,
        };
        writer.pending.extend_from_slice(&tail);
        writer.sync(tail_unix_ms)?;
        Ok(writer)
    }

    /// Adds a record, which the next sync writes. After an error, nothing is added.
    ///
    /// # Errors
    /// Fails with [`FillError::TooMuchPending`], [`FillError::UploadIdTooLong`] or [`FillError::TooManyObjects`].
    pub fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        check(record).map_err(|error| StoreError::new(&self.segment.path, error))?;
        let before = self.pending.len();
        let next_seq = record.put(&mut self.pending, self.next_seq);
        if self.pending.len() > PENDING_BYTES_MAX {
            self.pending.truncate(before);
            return Err(StoreError::new(&self.segment.path, FillError::TooMuchPending { limit: PENDING_BYTES_MAX }));
        }
        self.next_seq = next_seq;
        Ok(())
    }

    /// Writes the pending records and waits until they are on the disk. `unix_ms` is the wall time in milliseconds
    /// since 1970. If the current segment is full, opens a new segment first.
    ///
    /// After an error, the records stay pending, and nothing is written to this segment again. Every further sync fails
    /// until [`JournalWriter::open_next_segment`] succeeds.
    ///
    /// # Errors
    /// Fails with an error of the system. [`StoreError::is_full`] is `true` if there is no space left. Later calls fail
    /// with [`FillError::SegmentFailed`].
    pub fn sync(&mut self, unix_ms: u64) -> Result<(), StoreError> {
        if self.pending_bytes() == 0 {
            return Ok(());
        }
        if self.segment.state == SegmentState::Failed {
            let pending_records = self.pending_records();
            return Err(StoreError::new(&self.segment.path, FillError::SegmentFailed { pending_records }));
        }
        let bytes = self.pending.len() as u64;
        let is_fresh = self.segment.durable_bytes == HEADER_BYTES as u64;
        if !is_fresh && self.segment.durable_bytes + bytes > SEGMENT_BYTES_MAX {
            self.roll(None)?;
        }
        let group = Group { durable_bytes: self.segment.durable_bytes, unix_ms };
        self.pending[..GROUP_BYTES].copy_from_slice(&group.encode(self.durable_seq));
        let file = &mut self.segment.file;
        if let Err(error) = file.write_all(&self.pending).and_then(|()| file.flush()).and_then(|()| file.sync()) {
            return Err(self.fail(StoreError::new(&self.segment.path, error)));
        }
        self.segment.durable_bytes += bytes;
        self.durable_seq = self.next_seq;
        self.pending.truncate(GROUP_BYTES);
        self.pending.shrink_to(PENDING_BYTES_MAX / 16);
        self.last_sync = Instant::now();
        Ok(())
    }

    /// Opens a new segment after a failure. If a directory is given, this and all later segments of the session are
    /// created in it. The pending records stay pending, so the next [`JournalWriter::sync`] writes them. If the disk is
    /// full, the new segment uses the reserved space.
    ///
    /// # Errors
    /// Fails with an error of the system. The caller may try again.
    pub fn open_next_segment(&mut self, directory: Option<&Path>) -> Result<(), StoreError> {
        if self.reserve == Reserve::Needed {
            // If the removal fails, opening the segment fails too.
            let _ = self.disk.remove(&self.reserve_path);
            self.reserve = Reserve::Used;
        }
        self.roll(directory)
    }

    /// Writes the pending records and removes the reserve.
    ///
    /// # Errors
    /// Fails like [`JournalWriter::sync`].
    pub fn close(mut self, unix_ms: u64) -> Result<(), StoreError> {
        self.sync(unix_ms)?;
        // If the removal fails, the next session replaces the file.
        let _ = self.disk.remove(&self.reserve_path);
        Ok(())
    }

    /// Returns the size of the records that are not durable.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.pending.len() - GROUP_BYTES
    }

    /// Returns the number of records that are not durable.
    #[must_use]
    pub fn pending_records(&self) -> u64 {
        self.next_seq - self.durable_seq
    }

    /// Returns the number of durable records since the beginning of the fill.
    #[must_use]
    pub fn durable_records(&self) -> u64 {
        self.durable_seq
    }

    /// Returns the time since the last sync.
    #[must_use]
    pub fn since_last_sync(&self) -> Duration {
        self.last_sync.elapsed()
    }

    /// Returns whether a write or sync failed, so that the next segment must be opened.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.segment.state == SegmentState::Failed
    }

    /// Returns the file that records are appended to.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.segment.path
    }

    fn roll(&mut self, directory: Option<&Path>) -> Result<(), StoreError> {
        let Segment { number, durable_bytes: bytes, .. } = self.segment;
        let header = Header {
            identity: self.identity,
            number: self.next_number,
            previous: Some(Previous { number, bytes }),
            seq: self.durable_seq,
            // No caller relies on the pending records yet, so the segment is valid even without them.
            committed_from: self.durable_seq,
        };
        // A number is never used twice, because the file of a failed attempt may remain.
        self.next_number += 1;
        let directory = directory.unwrap_or(&self.directory).to_owned();
        match create_segment(&mut *self.disk, &directory, &header) {
            Ok(segment) => (self.segment, self.directory) = (segment, directory),
            Err(error) => return Err(self.fail(error)),
        }
        Ok(())
    }

    fn fail(&mut self, error: StoreError) -> StoreError {
        self.segment.state = SegmentState::Failed;
        if error.is_full() && self.reserve == Reserve::Kept {
            self.reserve = Reserve::Needed;
        }
        error
    }
}

/// Creates a segment with its header and waits until both are on the disk.
fn create_segment(disk: &mut dyn Disk, directory: &Path, header: &Header) -> Result<Segment, StoreError> {
    let path = segment_path(directory, header.number);
    let failed = |error: io::Error| StoreError::new(&path, error);
    let mut file = disk.create(&path).map_err(failed)?;
    let written = file.write_all(&header.encode()).and_then(|()| file.flush()).and_then(|()| file.sync());
    if let Err(error) = written.and_then(|()| disk.sync_directory(directory)) {
        // If the file cannot be removed, readers ignore it, because no later segment continues it.
        let _ = disk.remove(&path);
        return Err(failed(error));
    }
    let (number, durable_bytes) = (header.number, HEADER_BYTES as u64);
    Ok(Segment { path, file, number, durable_bytes, state: SegmentState::Sound })
}

/// Checks the limits of values that cannot be shortened.
fn check(record: &Record) -> Result<(), FillError> {
    let highest = match record {
        Record::Intend { end, .. } => end.saturating_sub(1),
        Record::UploadCreated { number, upload_id } | Record::UploadGone { number, upload_id } => {
            let (bytes, limit) = (upload_id.len(), UPLOAD_ID_BYTES_MAX);
            if bytes > limit {
                return Err(FillError::UploadIdTooLong { bytes, limit });
            }
            *number
        }
        Record::Acked(batch) => batch.iter().map(|object| object.number).max().unwrap_or(0),
        Record::Failed(batch) => batch.iter().map(|object| object.number).max().unwrap_or(0),
        Record::Verified(batch) => batch.iter().map(|object| object.number).max().unwrap_or(0),
        Record::Deleted(batch) | Record::NotDeleted(batch) => batch.iter().copied().max().unwrap_or(0),
        Record::SessionStarted { .. }
        | Record::SessionEnded { .. }
        | Record::RuleChanged { .. }
        | Record::Alive { .. }
        | Record::Unsettled(_)
        | Record::Event { .. } => 0,
    };
    if highest >= OBJECTS_MAX {
        return Err(FillError::TooManyObjects { number: highest, limit: OBJECTS_MAX });
    }
    Ok(())
}
