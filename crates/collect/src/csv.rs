//! Tables in CSV to which polls are appended: the time at the end of the poll, the columns, and the time that requests
//! took. With the set `siad`, each row has exactly the bytes that the study's collector would have written.

use measure::series::{Column, Poll};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use wire::date::Date;

/// Name of the first column.
const TIMESTAMP: &str = "timestamp";
/// Name of the last column, if there are requests: the time that all requests of a poll took together, in milliseconds.
const LATENCY: &str = "api_latency";
/// The longest part of another header that is shown, in characters.
const SHOWN_MAX: usize = 80;

/// The last column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// The time that requests took.
    Shown,
    /// None, because there are no requests.
    Absent,
}

/// The reason why a table cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The file begins with another header.
    #[error("the file begins with another header ({0:?}): name another file, or move this one away")]
    OtherHeader(String),
    /// Another program writes the file.
    #[error("another program is writing it: wait until that program ends")]
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
    line_end: &'static str,
    appended: bool,
}

impl CsvWriter {
    /// Opens a table, or creates it with its header. An incomplete last row is ended first.
    ///
    /// # Errors
    /// When the file is another table, or in use, or cannot be written.
    pub fn open(path: &Path, columns: &[Column], latency: Latency) -> Result<Self, CsvError> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => CsvError::InUse,
            TryLockError::Error(error) => CsvError::Io(error),
        })?;
        let header = header(columns, latency);
        let mut first = Vec::new();
        (&file).take(header.len() as u64 + 2).read_to_end(&mut first)?;
        let (before, line_end) = match first.is_empty() {
            true => (format!("{header}\n"), "\n"),
            false => {
                let (line_end, complete) = check_header(&first, &header)?;
                let torn = !complete || last_byte(&mut file)? != b'\n';
                (if torn { line_end.to_owned() } else { String::new() }, line_end)
            }
        };
        file.write_all(before.as_bytes())?;
        Ok(Self { file, latency, line_end, appended: !first.is_empty() })
    }

    /// Returns whether the table existed before.
    #[must_use]
    pub fn is_appended(&self) -> bool {
        self.appended
    }

    /// Appends a poll. Unknown values stay blank.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn append(&mut self, poll: &Poll) -> io::Result<()> {
        let mut line = row(poll, self.latency);
        line.push_str(self.line_end);
        self.file.write_all(line.as_bytes())
    }
}

fn header(columns: &[Column], latency: Latency) -> String {
    let names = columns.iter().map(|column| column.name.as_str());
    let last = (latency == Latency::Shown).then_some(LATENCY);
    std::iter::once(TIMESTAMP).chain(names).chain(last).collect::<Vec<_>>().join(",")
}

/// Compares the header of a file. Returns how its lines end, and whether the header's line is complete.
fn check_header(first: &[u8], header: &str) -> Result<(&'static str, bool), CsvError> {
    let end = first.iter().position(|byte| *byte == b'\n');
    let line = &first[..end.unwrap_or(first.len())];
    let (line, line_end) = match line.strip_suffix(b"\r") {
        Some(line) => (line, "\r\n"),
        None => (line, "\n"),
    };
    if line == header.as_bytes() {
        return Ok((line_end, end.is_some()));
    }
    let shown = String::from_utf8_lossy(line).chars().filter(|letter| !letter.is_control()).take(SHOWN_MAX).collect();
    Err(CsvError::OtherHeader(shown))
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
    let mut row = timestamp(poll.end_unix_ms / 1000);
    for value in &poll.values {
        row.push(',');
        if let Some(value) = value {
            row.push_str(value.as_str());
        }
    }
    if latency == Latency::Shown {
        // The study's collector counted microseconds, converted to seconds and multiplied. The digits depend on that.
        let milliseconds = poll.request_micros as f64 / 1e6 * 1000.0;
        row.push_str(&format!(",{milliseconds:?}"));
    }
    row
}

/// Returns a wall time in UTC, without a time zone, as the study's collector wrote it.
#[must_use]
pub fn timestamp(unix_seconds: u64) -> String {
    let (Date { year, month, day }, second) = (Date::from_days(unix_seconds / 86_400), unix_seconds % 86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests;
