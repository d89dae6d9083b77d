//! The list of the damaged objects of a run. A file contains these objects, up to a limit. The end record contains only
//! the first few of them.

use crate::error::StoreError;
use crate::files::create_new;
use crate::record::{DAMAGED_FILE, DAMAGED_LISTED_MAX, DAMAGED_SHOWN_MAX, Damaged, DamagedObject};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The writer of the list during a run.
pub struct DamagedWriter {
    path: PathBuf,
    /// The file. `None` until the first damaged object.
    file: Option<BufWriter<File>>,
    seen: HashSet<DamagedObject>,
    counts: Damaged,
}

impl DamagedWriter {
    /// Creates the list of the run in this directory. There is no file until the first damaged object.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self { path: dir.join(DAMAGED_FILE), file: None, seen: HashSet::new(), counts: Damaged::default() }
    }

    /// Adds a damaged object that an operation found. The same damage is listed only once.
    ///
    /// # Errors
    /// Fails with an error of the system.
    pub fn add(&mut self, damage: DamagedObject) -> Result<(), StoreError> {
        self.counts.operations += 1;
        if self.seen.contains(&damage) {
            return Ok(());
        }
        if self.seen.len() >= DAMAGED_LISTED_MAX {
            self.counts.beyond += 1;
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::new(create_new(&self.path)?)),
        };
        let written = serde_json::to_writer(&mut *file, &damage).map_err(std::io::Error::from);
        written.and_then(|()| file.write_all(b"\n")).map_err(|error| StoreError::new(&self.path, error))?;
        self.counts.listed += 1;
        if self.counts.first.len() < DAMAGED_SHOWN_MAX {
            self.counts.first.push(damage.clone());
        }
        self.seen.insert(damage);
        Ok(())
    }

    /// Writes buffered entries to the file.
    ///
    /// # Errors
    /// Fails with an error of the system.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        let flushed = self.file.as_mut().map_or(Ok(()), Write::flush);
        flushed.map_err(|error| StoreError::new(&self.path, error))
    }

    /// Returns the counts for the end record. `None` if no object was damaged.
    #[must_use]
    pub fn counts(&self) -> Option<Damaged> {
        Some(self.counts.clone()).filter(|counts| counts.operations > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Cause;

    fn damage(object: usize) -> DamagedObject {
        let offset = Some(object as u64);
        DamagedObject { object: format!("o\n{object}"), offset, cause: Cause::ContentDiffers, status: Some(200) }
    }

    #[test]
    fn each_damage_is_listed_once_up_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = DamagedWriter::new(dir.path());
        assert_eq!(writer.counts(), None);
        for object in (0..DAMAGED_LISTED_MAX + 5).chain(0..3) {
            writer.add(damage(object)).unwrap();
        }
        writer.flush().unwrap();
        let counts = writer.counts().unwrap();
        let all = DAMAGED_LISTED_MAX as u64;
        assert_eq!((counts.operations, counts.listed, counts.beyond), (all + 8, all, 5));
        assert_eq!(counts.first, (0..DAMAGED_SHOWN_MAX).map(damage).collect::<Vec<_>>());
        let text = std::fs::read_to_string(dir.path().join(DAMAGED_FILE)).unwrap();
        let read: Vec<DamagedObject> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read, (0..DAMAGED_LISTED_MAX).map(damage).collect::<Vec<_>>());
    }
}
