//! Tables in CSV, to which polls are appended. A row has the time at the end of the poll, one value per column, and the
//! time that requests took. With the set `siad`, each row has exactly the bytes that the collector of the Sia study
//! would have written.

use measure::series::{Column, Poll};
use sia::table::{self, LineEnd, OtherHeader};
use sia::{UtcSecond, siad};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

/// Name of the first column.
const TIMESTAMP: &str = "timestamp";
/// Name of the last column, if the sources make requests. This column contains the total time of a poll's requests in
/// milliseconds.
const LATENCY: &str = "api_latency";

/// The last column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// The time that requests took.
    Shown,
    /// There is no such column, because the sources make no requests.
    Absent,
}

/// The reason why a table cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The file begins with another header.
    #[error(transparent)]
    OtherHeader(#[from] OtherHeader),
    /// Another program writes the file.
    #[error("another program is writing this file; wait until it exits")]
    InUse,
    /// An error of the system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The writer of a table.
#[derive(Debug)]
pub struct CsvWriter {
    file: File,
    latency: Latency,
    line_end: LineEnd,
    appended: bool,
}

impl CsvWriter {
    /// Opens a table, or creates the table with its header. If a crash has cut off the last row, ends its line first.
    ///
    /// # Errors
    /// Returns an error if the file is another table, is in use, or cannot be written.
    pub fn open(path: &Path, columns: &[Column], latency: Latency) -> Result<Self, CsvError> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => CsvError::InUse,
            TryLockError::Error(error) => CsvError::Io(error),
        })?;
        let header = header(columns, latency);
        let mut first = Vec::new();
        let header_bytes: usize = header.iter().map(|name| name.len() + 1).sum();
        (&file).take(header_bytes as u64 + 1).read_to_end(&mut first)?;
        let last = if first.is_empty() { None } else { Some(last_byte(&mut file)?) };
        let append = table::append(&header, &first, last)?;
        file.write_all(append.before.as_bytes())?;
        Ok(Self { file, latency, line_end: append.line_end, appended: !first.is_empty() })
    }

    /// Returns whether the table existed before.
    #[must_use]
    pub fn is_appended(&self) -> bool {
        self.appended
    }

    /// Appends a poll. Unknown values stay blank.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn append(&mut self, poll: &Poll) -> io::Result<()> {
        let mut line = row(poll, self.latency);
        line.push_str(self.line_end.as_str());
        self.file.write_all(line.as_bytes())
    }
}

fn header(columns: &[Column], latency: Latency) -> Vec<&str> {
    let names = columns.iter().map(|column| column.name.as_str());
    let last = (latency == Latency::Shown).then_some(LATENCY);
    std::iter::once(TIMESTAMP).chain(names).chain(last).collect()
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut byte = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Returns a poll as a row, without the end of the line.
#[must_use]
pub fn row(poll: &Poll, latency: Latency) -> String {
    let mut row = UtcSecond(poll.end_unix_ms / 1000).to_string();
    for value in &poll.values {
        row.push(',');
        if let Some(value) = value {
            row.push_str(value.as_str());
        }
    }
    if latency == Latency::Shown {
        let milliseconds = siad::collector_ms(Duration::from_micros(poll.request_micros));
        row.push_str(&format!(",{milliseconds:?}"));
    }
    row
}

#[cfg(test)]
mod tests;
