//! The writer of a run in progress.

use crate::client_shares::shares;
use crate::error::{StoreError, StoreErrorKind};
use crate::files::{self, create_new, sync_name};
use crate::frames::{FRAME_BYTES_MAX, FrameWriter};
use crate::record::{Begin, End, RecordRef, Segment};
use crate::roll_up::{RollUp, RollUpRules};
use crate::segments::{self, RECORDS_FILE};
use crate::snapshot::SNAPSHOT_FILE;
use measure::{Instant, Interval};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the file that reserves disk space for the end record.
pub const RESERVE_FILE: &str = "reserve";
/// Size of the reserve.
const RESERVE_BYTES: u64 = 1 << 20;

/// The writer of the records of one run.
pub struct RunWriter {
    path: PathBuf,
    reserve: PathBuf,
    frames: FrameWriter,
    line: Vec<u8>,
    begin: Begin,
    rules: RollUpRules,
    give_way: fn(),
    /// Number of the current file of records.
    number: u32,
    /// Start of the first and end of the last interval in the current file. `None` if the file has no interval.
    span: Option<(Instant, Instant)>,
    /// The thread that rolls up old intervals. `None` until the first file is complete.
    roll_up: Option<RollUp>,
    copy: Option<RecordCopy>,
}

/// A run directory whose run has not begun. On a slow disk, creating the files may take long, so they are created in
/// advance. If this value is dropped, the files are removed.
pub struct NewRun {
    files: NewFiles,
    frames: FrameWriter,
}

/// The new files of a run, which are removed when this value is dropped.
struct NewFiles {
    directory: PathBuf,
    /// `true` if the directory did not exist before.
    made_directory: bool,
    has_begun: bool,
}

/// A function that gets a copy of each record, as a line of JSON without its line feed.
pub type RecordCopy = Box<dyn FnMut(&[u8]) + Send>;

impl NewRun {
    /// Creates the directory with an empty file of records, and reserves space for the end record.
    ///
    /// # Errors
    /// Fails with [`StoreErrorKind::Exists`] if the directory already contains a run, or with an error of the system,
    /// such as a full disk.
    pub fn create(dir: &Path) -> Result<Self, StoreError> {
        let made_directory = !dir.exists();
        fs::create_dir_all(dir).map_err(|error| StoreError::new(dir, error))?;
        let path = dir.join(RECORDS_FILE);
        // If only a part of an earlier run was removed, these files remain. Readers would treat them as parts of the
        // new run.
        for old in [segments::path(dir, 2), dir.join(SNAPSHOT_FILE)] {
            if old.exists() {
                return Err(StoreError::new(&old, StoreErrorKind::Exists));
            }
        }
        let file = create_new(&path)?;
        let files = NewFiles { directory: dir.to_owned(), made_directory, has_begun: false };
        let frames = FrameWriter::new(Box::new(file)).map_err(|error| StoreError::new(&path, error))?;
        let reserve = dir.join(RESERVE_FILE);
        files::reserve(&reserve, RESERVE_BYTES).map_err(|error| StoreError::new(&reserve, error))?;
        Ok(Self { files, frames })
    }

    /// Begins the run: writes the begin record.
    ///
    /// # Errors
    /// Fails with an error of the system, such as a full disk. The files are then removed.
    pub fn begin(self, begin: &Begin) -> Result<RunWriter, StoreError> {
        let Self { mut files, frames } = self;
        let mut writer = RunWriter {
            path: files.directory.join(RECORDS_FILE),
            reserve: files.directory.join(RESERVE_FILE),
            frames,
            line: Vec::new(),
            begin: begin.clone(),
            rules: RollUpRules::DEFAULT,
            give_way: || (),
            number: 1,
            span: None,
            roll_up: None,
            copy: None,
        };
        writer.append(&RecordRef::Begin(begin))?;
        files.has_begun = true;
        Ok(writer)
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        if self.has_begun {
            return;
        }
        // An incomplete run would make the next attempt fail.
        let _ = fs::remove_file(self.directory.join(RESERVE_FILE));
        let _ = fs::remove_file(self.directory.join(RECORDS_FILE));
        if self.made_directory {
            // This removes the directory only if it is empty.
            let _ = fs::remove_dir(&self.directory);
        }
    }
}

impl RunWriter {
    /// Creates the directory, reserves space for the end record, and writes the begin record.
    ///
    /// # Errors
    /// Fails with [`StoreErrorKind::Exists`] if the directory already contains a run, or with an error of the system,
    /// such as a full disk.
    pub fn create(dir: &Path, begin: &Begin) -> Result<Self, StoreError> {
        NewRun::create(dir)?.begin(begin)
    }

    /// Sets a function that [`RunWriter::interval`] calls between its steps. Serializing, compressing and writing take
    /// a fraction of a millisecond each. The function can let another thread on the same core run between two of these
    /// steps.
    #[must_use]
    pub fn giving_way(mut self, give_way: fn()) -> Self {
        self.frames.set_give_way(give_way);
        self.give_way = give_way;
        self
    }

    /// Passes a copy of each record to `copy`: the begin record now, and each later record after it was written.
    ///
    /// # Errors
    /// Fails with [`StoreErrorKind::Json`] if the begin record cannot be converted.
    pub fn copying_to(mut self, mut copy: RecordCopy) -> Result<Self, StoreError> {
        let line = serde_json::to_vec(&RecordRef::Begin(&self.begin));
        copy(&line.map_err(|error| StoreError::new(&self.path, error))?);
        self.copy = Some(copy);
        Ok(self)
    }

    /// Sets other rules for rolling up old intervals.
    #[must_use]
    pub fn rolling_up(mut self, rules: RollUpRules) -> Self {
        self.rules = rules;
        self
    }

    /// Waits until all old intervals are rolled up. Tests need this, and so do runs that are written faster than real
    /// time.
    pub fn settle(&self) {
        self.roll_up.iter().for_each(RollUp::settle);
    }

    /// Appends an interval and passes it to the kernel, without waiting for the disk. After an error, the earlier records
    /// are intact, and [`RunWriter::end`] can still be called.
    ///
    /// # Errors
    /// Fails if the interval cannot be written. [`StoreError::is_full`] is `true` if there is no space left.
    pub fn interval(&mut self, interval: &Interval) -> Result<(), StoreError> {
        self.add_interval(interval, |writer| writer.append(&RecordRef::Interval(interval)))
    }

    /// Like [`RunWriter::interval`], for an interval that was parsed from this line by [`Record::parse`]. The line is written
    /// unchanged, because making it again would double the CPU time of a coordinator.
    ///
    /// # Errors
    /// Fails like [`RunWriter::interval`].
    ///
    /// # Panics
    /// Panics in debug builds if the line contains a line feed.
    ///
    /// [`Record::parse`]: crate::record::Record::parse
    pub fn interval_of_line(&mut self, interval: &Interval, line: &str) -> Result<(), StoreError> {
        debug_assert!(!line.contains('\n'), "a line feed would end the line");
        self.add_interval(interval, |writer| {
            writer.line.clear();
            writer.line.extend_from_slice(line.as_bytes());
            writer.append_line()
        })
    }

    fn add_interval(
        &mut self,
        interval: &Interval,
        append: impl FnOnce(&mut Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if !shares(&interval.client).into_iter().all(f64::is_finite) {
            return Err(StoreError::new(&self.path, StoreErrorKind::NotFinite));
        }
        if self.span.is_some_and(|(start, end)| end.since(start) >= self.rules.file) {
            // After an error, such as too many open files, the current file becomes longer.
            let _ = self.next_file();
        }
        append(self)?;
        let start = self.span.map_or(interval.start, |(start, _)| start);
        self.span = Some((start, interval.end));
        Ok(())
    }

    /// Continues in a new file of records. The current file is passed to the roll-up thread.
    fn next_file(&mut self) -> Result<(), StoreError> {
        let number = self.number.saturating_add(1);
        let dir = self.path.parent().unwrap_or(Path::new("")).to_owned();
        let path = segments::path(&dir, number);
        let frames = FrameWriter::new(Box::new(create_new(&path)?)).map_err(|error| StoreError::new(&path, error))?;
        let old = (std::mem::replace(&mut self.frames, frames), std::mem::replace(&mut self.path, path));
        if let Err(error) = self.append(&RecordRef::Segment(&Segment { number })) {
            // A file without its first record would count as damage as soon as the next file exists.
            let _ = fs::remove_file(&self.path);
            (self.frames, self.path) = old;
            return Err(error);
        }
        self.frames.set_give_way(self.give_way);
        if self.roll_up.is_none() {
            // Without the thread, the files only stay larger.
            self.roll_up = RollUp::start(dir, self.begin.clone(), self.rules).ok();
        }
        self.roll_up.iter().for_each(|roll_up| roll_up.completed(self.number));
        (self.number, self.span) = (number, None);
        Ok(())
    }

    /// Appends the end record, using the reserved space if necessary, and waits until all data is on the disk.
    ///
    /// # Errors
    /// Fails with an error of the system. Earlier records remain.
    pub fn end(mut self, end: &End) -> Result<(), StoreError> {
        // The load has ended, so no other thread needs the core.
        self.frames.set_give_way(|| ());
        self.roll_up = None;
        let record = RecordRef::End(end);
        let mut written = self.append(&record);
        let freed = fs::remove_file(&self.reserve);
        if written.as_ref().is_err_and(StoreError::is_full) && freed.is_ok() {
            written = self.append(&record);
        }
        written?;
        self.frames.sync().map_err(|error| StoreError::new(&self.path, error))?;
        // The content is on the disk, so the run succeeds even if the file system cannot sync names.
        let _ = sync_name(&self.path);
        Ok(())
    }

    fn append(&mut self, record: &RecordRef<'_>) -> Result<(), StoreError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, record).map_err(|error| StoreError::new(&self.path, error))?;
        self.append_line()?;
        // Do not copy the first record of a file, because it only describes the directory.
        if let Some(copy) = self.copy.as_mut().filter(|_| !matches!(record, RecordRef::Segment(_))) {
            copy(self.line.strip_suffix(b"\n").unwrap_or(&self.line));
        }
        Ok(())
    }

    /// Appends the content of `line`, and adds its line feed.
    fn append_line(&mut self) -> Result<(), StoreError> {
        self.line.push(b'\n');
        let bytes = self.line.len();
        if bytes > FRAME_BYTES_MAX {
            return Err(StoreError::new(&self.path, StoreErrorKind::TooLarge { bytes, limit: FRAME_BYTES_MAX }));
        }
        self.frames.give_way();
        self.frames.append(&self.line).map_err(|error| StoreError::new(&self.path, error))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::frames::Medium;
    use crate::record::{EndReason, FORMAT, Host};
    use crate::saved_run::SavedRun;
    use measure::Model;
    use measure::{Instant, Stage};
    use std::fs::{File, OpenOptions};
    use std::io::{self, Write};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A disk with limited capacity. Removing the reserve frees its space.
    struct SmallDisk {
        file: File,
        capacity: usize,
        reserve: PathBuf,
    }

    impl Write for SmallDisk {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            let freed = if self.reserve.exists() { 0 } else { RESERVE_BYTES as usize };
            let used = self.file.metadata()?.len() as usize;
            match (self.capacity + freed).saturating_sub(used).min(buf.len()) {
                0 => Err(io::ErrorKind::StorageFull.into()),
                // Like the kernel, write as much as fits.
                fits => self.file.write(&buf[..fits]),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Medium for SmallDisk {
        fn cut(&mut self, len: u64) -> io::Result<()> {
            self.file.set_len(len)
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    pub fn begin() -> Begin {
        Begin {
            format: FORMAT,
            version: "0".into(),
            debug_build: false,
            started_unix_ms: 0,
            command: Vec::new(),
            targets: Vec::new(),
            urls: 1,
            model: Model::Closed { concurrency: 1 },
            load: String::new(),
            levels: None,
            warmup_ms: 0,
            duration_ms: None,
            seed: 0,
            threads: 1,
            settings: Vec::new(),
            objectives: Vec::new(),
            accept_not_enough_data: false,
            host: Host::default(),
            loopback: false,
            header: None,
            insecure: false,
            path: None,
            part: None,
        }
    }

    fn second(index: u64) -> Interval {
        let at = |second: u64| Instant::from_nanos(second * 1_000_000_000);
        Interval::new(Stage::Measured, at(index), at(index + 1))
    }

    fn end() -> End {
        End {
            reason: EndReason::DiskFull,
            at: Instant::ZERO,
            server: None,
            peak_memory_bytes: 1,
            cpu_nanos: 2,
            uploads: None,
            path: None,
            damaged: None,
            fresh_below: 0,
            fleet: None,
            probes: None,
        }
    }

    #[test]
    fn the_end_record_fits_on_a_full_disk() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = RunWriter::create(dir.path(), &begin()).unwrap();
        let file = OpenOptions::new().append(true).open(dir.path().join(RECORDS_FILE)).unwrap();
        let capacity = file.metadata().unwrap().len() as usize + 1000;
        let disk = SmallDisk { file, capacity, reserve: dir.path().join(RESERVE_FILE) };
        writer.frames = FrameWriter::new(Box::new(disk)).unwrap();
        // The writer now writes to `disk`, which continues after the begin record.
        writer.frames.set_len(capacity as u64 - 1000);

        let mut stored = 0;
        let error = loop {
            match writer.interval(&second(stored)) {
                Ok(()) => stored += 1,
                Err(error) => break error,
            }
        };
        assert!(error.is_full(), "{error}");
        assert!(stored > 0, "some intervals fit on the disk");
        let end = end();
        writer.end(&end).unwrap();
        let saved = SavedRun::read(dir.path()).unwrap();
        assert_eq!((saved.points.len() as u64, saved.end, saved.damage), (stored, Some(end), None));
        assert!(!dir.path().join(RESERVE_FILE).exists());
    }

    #[test]
    fn the_writer_gives_way_between_the_steps_of_an_interval_but_not_at_the_end() {
        static GIVEN: AtomicU32 = AtomicU32::new(0);
        let dir = tempfile::tempdir().unwrap();
        let writer = RunWriter::create(dir.path(), &begin()).unwrap();
        let mut writer = writer.giving_way(|| {
            GIVEN.fetch_add(1, Ordering::Relaxed);
        });
        writer.interval(&second(0)).unwrap();
        assert_eq!(GIVEN.load(Ordering::Relaxed), 2, "the function is called after serializing and after compressing");
        writer.end(&end()).unwrap();
        assert_eq!(GIVEN.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_copy_has_every_record_of_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, copies) = std::sync::mpsc::channel();
        let copy: RecordCopy = Box::new(move |line| sender.send(line.to_vec()).unwrap());
        let rules = RollUpRules { file: std::time::Duration::from_secs(2), ..RollUpRules::DEFAULT };
        let writer = RunWriter::create(dir.path(), &begin()).unwrap().rolling_up(rules);
        let mut writer = writer.copying_to(copy).unwrap();
        (0..5).for_each(|index| writer.interval(&second(index)).unwrap());
        writer.end(&end()).unwrap();
        let copies: Vec<crate::Record> = copies.iter().map(|line| serde_json::from_slice(&line).unwrap()).collect();
        assert!(matches!(&copies[0], crate::Record::Begin(copied) if **copied == begin()));
        assert_eq!(copies.iter().filter(|record| matches!(record, crate::Record::Interval(_))).count(), 5);
        assert!(matches!(&copies[6], crate::Record::End(copied) if **copied == end()));
        assert_eq!(copies.len(), 7);
    }

    #[test]
    fn a_share_that_json_cannot_express_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = RunWriter::create(dir.path(), &begin()).unwrap();
        let mut interval = second(0);
        interval.client.nic = f64::NAN;
        assert!(matches!(writer.interval(&interval).unwrap_err().kind, StoreErrorKind::NotFinite));
    }

    #[test]
    fn a_run_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let writer = RunWriter::create(dir.path(), &begin()).unwrap();
        assert_eq!(fs::metadata(dir.path().join(RESERVE_FILE)).unwrap().len(), RESERVE_BYTES);
        let Err(error) = RunWriter::create(dir.path(), &begin()) else { panic!("overwritten") };
        assert!(matches!(error.kind, StoreErrorKind::Exists), "{error}");
        drop(writer);
        assert_eq!(SavedRun::read(dir.path()).unwrap().begin, begin());
    }

    #[test]
    fn a_run_that_never_begins_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs/1");
        let new = NewRun::create(&path).unwrap();
        assert!(path.join(RECORDS_FILE).exists() && path.join(RESERVE_FILE).exists());
        assert!(matches!(NewRun::create(&path), Err(error) if matches!(error.kind, StoreErrorKind::Exists)));
        assert!(path.join(RECORDS_FILE).exists(), "the files of the first run were removed");
        drop(new);
        assert!(!path.exists());
        let writer = NewRun::create(&path).unwrap().begin(&begin()).unwrap();
        drop(writer);
        assert_eq!(SavedRun::read(&path).unwrap().begin, begin());
    }

    #[test]
    fn the_error_names_a_directory_that_cannot_be_created() {
        let Err(error) = RunWriter::create(Path::new("/proc/nowhere"), &begin()) else {
            panic!("a directory was created in /proc")
        };
        assert!(error.to_string().starts_with("/proc/nowhere: "), "{error}");
        assert!(!error.is_full());
    }
}
