//! Files that the user names. A named file may be a pipe or a device that never ends, so the number of bytes to read is
//! limited. Each error message names the file.

use crate::failure::Failure;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Maximum size of a file with headers, a cookie or a password.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// The byte order mark, which some editors write before UTF-8 text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot read {}: {error}", path.display()))
}

/// Reads a file of at most `most` bytes. `what` describes the content in error messages, for example "a request body".
pub fn read_whole(path: &Path, most: u64, what: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > most {
        return Err(Failure::usage(format!(
            "{} is too large: the maximum for {what} is {}",
            path.display(),
            measure::units::ByteSize(most)
        )));
    }
    Ok(bytes)
}

/// Reads a short text file.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = read_whole(path, TEXT_BYTES_MAX, "a file of headers, cookies or a password")?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{} is not UTF-8 text: name another file", path.display())))?;
    Ok(text.strip_prefix(BYTE_ORDER_MARK).map_or_else(|| text.clone(), str::to_owned))
}

/// Limits for reading a list.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum bytes of a line.
    pub line: u64,
    /// Maximum size of the whole list, in bytes.
    pub all: u64,
}

impl Limits {
    /// The limits for a list of URLs or names. A line may be as long as any URL that a server accepts. The whole list
    /// and the targets of its lines must fit in memory.
    pub const LIST: Self = Self { line: 64 << 10, all: 2 << 30 };
}

/// The lines of a list, one at a time, without line breaks and surrounding spaces.
pub struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    limits: Limits,
    line: Vec<u8>,
    number: u64,
    left: u64,
}

impl Lines {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path, limits: Limits) -> Result<Self, Failure> {
        let reader: Box<dyn BufRead> = if path.as_os_str() == "-" {
            Box::new(io::stdin().lock())
        } else {
            Box::new(BufReader::new(fs::File::open(path).map_err(|error| unreadable(path, &error))?))
        };
        Ok(Self { path: path.to_owned(), reader, limits, line: Vec::new(), number: 0, left: limits.all })
    }

    /// Returns the next line and its position, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<(&str, LinePosition<'_>)>, Failure> {
        Ok(self.next_whole()?.map(|(text, place)| (text.trim(), place)))
    }

    /// Like [`Self::next`], but keeps surrounding spaces.
    pub fn next_whole(&mut self) -> Result<Option<(&str, LinePosition<'_>)>, Failure> {
        self.line.clear();
        self.number += 1;
        let place = LinePosition { path: &self.path, number: self.number };
        let refused = |why: String| Err(Failure::usage(format!("{place} {why}")));
        let most = self.limits.line;
        let mut part = self.reader.by_ref().take(most + 1);
        let count = part.read_until(b'\n', &mut self.line).map_err(|error| unreadable(&self.path, &error))? as u64;
        if count == 0 {
            return Ok(None);
        }
        if count > most {
            return refused(format!("is longer than {most} bytes: write one entry per line"));
        }
        if count > self.left {
            return refused(format!("exceeds the maximum of {} bytes for a list: split the list", self.limits.all));
        }
        self.left -= count;
        let Ok(text) = std::str::from_utf8(&self.line) else {
            return refused("is not UTF-8 text: use a text file with one entry per line".to_owned());
        };
        let text = if self.number == 1 { text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text) } else { text };
        let text = text.strip_suffix('\n').unwrap_or(text);
        Ok(Some((text.strip_suffix('\r').unwrap_or(text), place)))
    }
}

/// The position of a line in its file, for messages.
#[derive(Clone, Copy, Debug)]
pub struct LinePosition<'a> {
    path: &'a Path,
    number: u64,
}

impl std::fmt::Display for LinePosition<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, line {}", self.path.display(), self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], limits: Limits) -> Result<Vec<String>, String> {
        let file = tempfile::NamedTempFile::new().expect("can create a file");
        fs::write(file.path(), bytes).expect("can write the file");
        let failure = Failure::into_message;
        let mut lines = Lines::open(file.path(), limits).map_err(failure)?;
        let mut found = Vec::new();
        loop {
            match lines.next() {
                Ok(Some((text, _))) => found.push(text.to_owned()),
                Ok(None) => return Ok(found),
                Err(error) => return Err(failure(error)),
            }
        }
    }

    #[test]
    fn lists_have_limits_and_errors_name_the_line() {
        let limits = Limits { line: 8, all: 20 };
        let lines = |bytes: &[u8]| read(bytes, limits);
        assert_eq!(lines(b"\xef\xbb\xbfa\r\n\r\n b \nc").unwrap(), ["a", "", "b", "c"]);
        assert_eq!(lines(b"").unwrap(), [""; 0]);
        assert_eq!(lines(b"1234567\n1234567\n123\n").unwrap().len(), 3);
        assert!(
            lines(b"1234567\n1234567\n1234\n").is_err_and(|error| error.contains("line 3") && error.contains("20"))
        );
        assert!(lines(b"a\n12345678\n").is_err_and(|error| error.contains("line 2") && error.contains("8 bytes")));
        assert!(lines(b"a\nb\xff\n").is_err_and(|error| error.contains("line 2") && error.contains("UTF-8")));
    }
}
