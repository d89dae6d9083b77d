//! siad's list of files. It shows which objects siad has completely uploaded in the background. Reading the list is
//! free, while downloading the objects would cost money.

use super::super::objects::Objects;
use super::Renter;
use crate::failure::Failure;
use crate::progress::requests_failed;
use sia::siad::Files;
use sia::snapshot::System;

/// The files of siad that may belong to a fill.
pub struct SiadFiles(Files);

/// State of an object at siad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtSiad {
    /// The upload is complete.
    Complete,
    /// The upload has begun.
    UnderWay,
    /// There is no such file.
    Missing,
    /// A file with the name of the object has another size, so it is not this object.
    OtherSize,
}

impl SiadFiles {
    /// Reads the list of files. Returns `None` if the renter is not siad.
    pub fn of(renter: Option<&Renter>) -> Result<Option<Self>, Failure> {
        let Some(renter) = renter.filter(|renter| renter.system == System::Siad) else { return Ok(None) };
        let documents = System::Siad.documents().iter().filter(|document| document.name == "files");
        let snapshot = renter.snapshot(&documents.copied().collect::<Vec<_>>());
        snapshot.siad_files().map(|files| Some(Self(files))).map_err(requests_failed)
    }

    /// Returns the state of an object.
    pub fn state(&self, objects: &Objects, number: u64) -> AtSiad {
        match objects.siapath(number).and_then(|path| self.0.get(&path)) {
            None => AtSiad::Missing,
            Some(file) if file.bytes != objects.size(number) => AtSiad::OtherSize,
            Some(file) if file.is_in_progress() => AtSiad::UnderWay,
            Some(_) => AtSiad::Complete,
        }
    }

    /// Returns the numbers of the objects that are not completely uploaded.
    ///
    /// # Errors
    /// Fails if a file has the name of an object, but another size.
    pub fn incomplete(&self, objects: &Objects, numbers: &[u64]) -> Result<Vec<u64>, Failure> {
        let mut incomplete = Vec::new();
        for number in numbers {
            match self.state(objects, *number) {
                AtSiad::Complete => {}
                AtSiad::UnderWay | AtSiad::Missing => incomplete.push(*number),
                AtSiad::OtherSize => {
                    let path = objects.siapath(*number).unwrap_or_default();
                    return Err(Failure::could_not_run(format!(
                        "siad has a file {path} of another size: delete this file, or add a folder to the URL"
                    )));
                }
            }
        }
        Ok(incomplete)
    }

    /// Returns the numbers of the objects that siad does not have.
    pub fn missing(&self, objects: &Objects, numbers: &[u64]) -> Vec<u64> {
        let is_missing = |number: &u64| self.state(objects, *number) == AtSiad::Missing;
        numbers.iter().copied().filter(is_missing).collect()
    }
}
