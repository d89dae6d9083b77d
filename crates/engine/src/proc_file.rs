//! A file of `/proc` that is read repeatedly.
//!
//! The file stays open, because opening costs more than reading. Each read starts at the beginning of the file, and
//! returns its current content.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Initial size of the buffer in bytes. The size is doubled as needed.
const ROOM_BYTES: usize = 4 << 10;
/// Maximum number of bytes that are read. The files of `/proc` are usually shorter. If a file is longer, the needed
/// values are at its beginning.
const BYTES_MAX: usize = 4 << 20;

/// An open file, and a buffer for its content.
#[derive(Debug)]
pub(crate) struct ProcFile {
    file: Option<File>,
    bytes: Vec<u8>,
}

impl ProcFile {
    /// Opens a file. A file that cannot be opened is treated as empty.
    pub fn open(path: impl AsRef<Path>) -> Self {
        Self { file: File::open(path).ok(), bytes: Vec::new() }
    }

    /// Returns the current content of the file, up to 4 MiB. The result is empty if the file cannot be read or is not
    /// text.
    pub fn read(&mut self) -> &str {
        let Some(file) = &self.file else { return "" };
        let mut len = 0;
        while len < BYTES_MAX {
            if len == self.bytes.len() {
                self.bytes.resize((2 * len).clamp(ROOM_BYTES, BYTES_MAX), 0);
            }
            match file.read_at(&mut self.bytes[len..], len as u64) {
                Ok(0) => break,
                Ok(read) => len += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
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
    use tempfile::NamedTempFile;

    #[test]
    fn each_reading_shows_the_file_as_it_is() {
        let mut written = NamedTempFile::new().unwrap();
        let mut file = ProcFile::open(written.path());
        assert_eq!(file.read(), "");
        written.write_all(b"one").unwrap();
        assert_eq!(file.read(), "one");
        written.write_all(&[b'x'; 3 * ROOM_BYTES]).unwrap();
        assert_eq!(file.read().len(), 3 + 3 * ROOM_BYTES, "longer than the initial buffer");
        written.as_file().set_len(2).unwrap();
        assert_eq!(file.read(), "on");
    }

    #[test]
    fn long_files_are_cut() {
        let written = NamedTempFile::new().unwrap();
        written.as_file().set_len(BYTES_MAX as u64 + 1).unwrap();
        assert_eq!(ProcFile::open(written.path()).read().len(), BYTES_MAX);
    }

    #[test]
    fn missing_files_are_empty() {
        assert_eq!(ProcFile::open("/proc/no such file").read(), "");
        assert_eq!(ProcFile::open("/proc").read(), "", "a directory cannot be read");
    }

    #[test]
    fn a_file_of_the_kernel_is_made_anew() {
        // The test changes the name of a thread, so it uses a separate thread.
        let thread = std::thread::spawn(|| {
            const NAME: &str = "/proc/thread-self/comm";
            std::fs::write(NAME, "one").unwrap();
            let mut file = ProcFile::open(NAME);
            let first = file.read().to_owned();
            std::fs::write(NAME, "another").unwrap();
            (first, file.read().to_owned())
        });
        assert_eq!(thread.join().unwrap(), ("one\n".to_owned(), "another\n".to_owned()));
    }
}
