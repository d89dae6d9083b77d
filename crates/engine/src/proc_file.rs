//! A file of `/proc` that is read again and again.
//!
//! Opening one costs more than reading it, so it stays open; each reading begins at its start, and shows it as it is then.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// What is read at first; grows with the file.
const ROOM_BYTES: usize = 4 << 10;
/// Longer files are cut: what is looked for stands well before, and a file that grows for ever is none of these.
const BYTES_MAX: usize = 4 << 20;

/// An open file, and room for what it says.
#[derive(Debug)]
pub(crate) struct ProcFile {
    file: Option<File>,
    bytes: Vec<u8>,
}

impl ProcFile {
    /// The file of that path; one that can not be opened says nothing.
    pub fn open(path: &str) -> Self {
        Self { file: File::open(path).ok(), bytes: Vec::new() }
    }

    /// What it says now; nothing where it can not be read, or is no text.
    pub fn read(&mut self) -> &str {
        let Some(file) = &self.file else { return "" };
        let mut len = 0;
        loop {
            if len == self.bytes.len() {
                self.bytes.resize((2 * len).clamp(ROOM_BYTES, BYTES_MAX), 0);
            }
            match file.read_at(&mut self.bytes[len..], len as u64) {
                Ok(0) => break,
                Ok(read) => len += read,
                Err(_) => return "",
            }
        }
        std::str::from_utf8(&self.bytes[..len]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn each_reading_shows_the_file_as_it_is() {
        let path = std::env::temp_dir().join(format!("plimsoll-proc-file-{}", std::process::id()));
        let mut written = File::create(&path).unwrap();
        let mut file = ProcFile::open(path.to_str().unwrap());
        assert_eq!(file.read(), "");
        written.write_all(b"one").unwrap();
        assert_eq!(file.read(), "one");
        written.write_all(&[b'x'; 3 * ROOM_BYTES]).unwrap();
        assert_eq!(file.read().len(), 3 + 3 * ROOM_BYTES, "longer than the room at first");
        written.set_len(2).unwrap();
        assert_eq!(file.read(), "on");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_is_not_there_says_nothing() {
        assert_eq!(ProcFile::open("/proc/no such file").read(), "");
        assert_eq!(ProcFile::open("/proc").read(), "", "a directory");
    }

    #[test]
    fn a_file_of_the_kernel_is_made_anew() {
        let mut uptime = ProcFile::open("/proc/uptime");
        let first = uptime.read().to_owned();
        while uptime.read() == first {
            std::thread::yield_now();
        }
        assert!(!first.is_empty());
    }
}
