//! Content of objects: pieces in memory or in files, each of which holds its place in the store as long as anyone reads it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// Bytes that a piece in memory has at most, and that are read from a file at once.
const MEMORY_PIECE: usize = 1 << 20;
const FILE_READ: u64 = 128 * 1024;

/// The room of a store.
#[derive(Debug)]
pub(super) struct Room {
    used: AtomicU64,
    max: Option<u64>,
}

/// The room is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

/// A part of the room, given back when it is dropped.
#[derive(Debug)]
struct Held {
    room: Arc<Room>,
    bytes: u64,
}

impl Room {
    pub(super) fn new(max: Option<u64>) -> Arc<Self> {
        Arc::new(Self { used: AtomicU64::new(0), max })
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: u64) -> Result<(), Full> {
        let take = |used: u64| used.checked_add(bytes).filter(|sum| self.max.is_none_or(|max| *sum <= max));
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map(|_| ()).map_err(|_| Full)
    }
}

impl Held {
    fn nothing(room: &Arc<Room>) -> Self {
        Self { room: Arc::clone(room), bytes: 0 }
    }

    fn grow(&mut self, bytes: u64) -> Result<(), Full> {
        self.room.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Why content could not be taken.
#[derive(Debug)]
pub(super) enum NotTaken {
    Full,
    Failed(io::Error),
}

impl From<Full> for NotTaken {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

impl From<io::Error> for NotTaken {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Failed(error),
        }
    }
}

/// The bytes of an object or a part. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    pieces: Vec<Piece>,
    bytes: u64,
}

#[derive(Debug, Clone)]
enum Piece {
    Memory(Bytes, #[expect(dead_code, reason = "held until the last reader is gone")] Arc<Held>),
    File(Arc<DataFile>),
}

impl Piece {
    fn bytes(&self) -> u64 {
        match self {
            Self::Memory(bytes, _) => bytes.len() as u64,
            Self::File(file) => file.held.bytes,
        }
    }
}

/// A file of the store.
#[derive(Debug)]
pub(super) struct DataFile {
    path: PathBuf,
    held: Held,
    /// Whether it is removed when nobody reads it any more.
    doomed: AtomicBool,
}

impl Drop for DataFile {
    fn drop(&mut self) {
        if *self.doomed.get_mut() {
            // Gone already is as good.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl DataFile {
    /// Opens the file itself, and nothing that a link in its place leads to.
    fn open(&self) -> io::Result<File> {
        open_plain(&self.path)
    }
}

/// Opens a regular file for reading; a symbolic link is an error.
pub(super) fn open_plain(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

impl Content {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends what `other` holds.
    pub(super) fn append(&mut self, other: &Self) {
        self.pieces.extend_from_slice(&other.pieces);
        self.bytes += other.bytes;
    }

    /// The files that it lies in.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Memory(..) => None,
            Piece::File(file) => Some(file.path.as_path()),
        })
    }

    /// Content that lies in files of an earlier server.
    pub(super) fn of_files(paths: Vec<PathBuf>, room: &Arc<Room>) -> Result<Self, NotTaken> {
        let mut content = Self::default();
        for path in paths {
            let bytes = open_plain(&path)?.metadata()?.len();
            let mut held = Held::nothing(room);
            held.grow(bytes)?;
            content.bytes += bytes;
            content.pieces.push(Piece::File(Arc::new(DataFile { path, held, doomed: AtomicBool::new(false) })));
        }
        Ok(content)
    }

    /// Writes all of it anew.
    pub(super) fn copy_into(&self, writing: &mut Writing) -> Result<(), NotTaken> {
        let mut reading = self.read(0, self.bytes);
        while let Some(bytes) = reading.next()? {
            writing.write(&bytes)?;
        }
        Ok(())
    }

    /// Whether its files are to be removed once nobody reads them. In memory this goes by itself.
    pub(super) fn doom(&self, doomed: bool) {
        for piece in &self.pieces {
            if let Piece::File(file) = piece {
                file.doomed.store(doomed, Ordering::Relaxed);
            }
        }
    }

    /// A slice as a body.
    pub(super) fn read(&self, first: u64, length: u64) -> Reading {
        let mut pieces = self.pieces.clone();
        let mut at = first;
        let passed = pieces.iter().take_while(|piece| {
            let over = at >= piece.bytes();
            if over {
                at -= piece.bytes();
            }
            over
        });
        let passed = passed.count();
        pieces.drain(..passed);
        pieces.reverse();
        Reading { pieces, open: None, at, left: length }
    }
}

/// Content that is being taken in. Dropped, it leaves nothing.
#[derive(Debug)]
pub(super) struct Writing {
    held: Held,
    done: Content,
    into: Sink,
}

#[derive(Debug)]
enum Sink {
    Memory(Vec<u8>),
    File(File, PathBuf),
}

impl Writing {
    /// Into memory.
    pub(super) fn memory(room: &Arc<Room>) -> Self {
        Self { held: Held::nothing(room), done: Content::default(), into: Sink::Memory(Vec::new()) }
    }

    /// Into a file that does not exist yet.
    pub(super) fn file(path: PathBuf, room: &Arc<Room>) -> Result<Self, NotTaken> {
        let file = OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).open(&path)?;
        Ok(Self { held: Held::nothing(room), done: Content::default(), into: Sink::File(file, path) })
    }

    /// Takes bytes in.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<(), NotTaken> {
        self.held.grow(bytes.len() as u64)?;
        match &mut self.into {
            Sink::File(file, _) => io::Write::write_all(file, bytes)?,
            Sink::Memory(buffer) => {
                while buffer.len() + bytes.len() >= MEMORY_PIECE {
                    let (now, later) = bytes.split_at(MEMORY_PIECE - buffer.len());
                    buffer.extend_from_slice(now);
                    bytes = later;
                    let piece = std::mem::take(buffer);
                    push_memory(&mut self.done, &mut self.held, piece);
                }
                buffer.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    /// The content, all of which has come.
    pub(super) fn finish(mut self) -> Content {
        let mut content = std::mem::take(&mut self.done);
        match std::mem::replace(&mut self.into, Sink::Memory(Vec::new())) {
            Sink::Memory(buffer) => {
                if !buffer.is_empty() {
                    push_memory(&mut content, &mut self.held, buffer);
                }
            }
            Sink::File(_, path) => {
                let room = Arc::clone(&self.held.room);
                let held = std::mem::replace(&mut self.held, Held::nothing(&room));
                content.bytes = held.bytes;
                // Whoever keeps it says so.
                let file = DataFile { path, held, doomed: AtomicBool::new(true) };
                content.pieces.push(Piece::File(Arc::new(file)));
            }
        }
        content
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let Sink::File(_, path) = &self.into {
            // Gone already is as good.
            let _ = fs::remove_file(path);
        }
    }
}

/// Moves the room that a piece takes over to it.
fn push_memory(content: &mut Content, held: &mut Held, mut piece: Vec<u8>) {
    piece.shrink_to_fit();
    let bytes = piece.len() as u64;
    held.bytes -= bytes;
    let own = Held { room: Arc::clone(&held.room), bytes };
    content.bytes += bytes;
    content.pieces.push(Piece::Memory(piece.into(), Arc::new(own)));
}

/// A slice of content as a body.
#[derive(Debug)]
pub(super) struct Reading {
    /// What is still to be read, the next piece last.
    pieces: Vec<Piece>,
    open: Option<File>,
    /// Where in the next piece.
    at: u64,
    left: u64,
}

impl Reading {
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let Some(piece) = self.pieces.last().filter(|_| self.left > 0) else { return Ok(None) };
            let there = piece.bytes() - self.at;
            if there == 0 {
                self.pieces.pop();
                self.open = None;
                self.at = 0;
                continue;
            }
            let bytes = match piece {
                Piece::Memory(bytes, _) => {
                    let at = self.at as usize;
                    bytes.slice(at..at + there.min(self.left) as usize)
                }
                Piece::File(file) => {
                    let opened = match self.open.take() {
                        Some(opened) => opened,
                        None => file.open()?,
                    };
                    let mut buffer = vec![0; there.min(self.left).min(FILE_READ) as usize];
                    opened.read_exact_at(&mut buffer, self.at)?;
                    self.open = Some(opened);
                    buffer.into()
                }
            };
            self.at += bytes.len() as u64;
            self.left -= bytes.len() as u64;
            return Ok(Some(bytes));
        }
    }
}

impl Body for Reading {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Poll::Ready(self.next().transpose().map(|read| read.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(mut reading: Reading) -> Vec<u8> {
        let mut out = Vec::new();
        while let Some(bytes) = reading.next().unwrap() {
            out.extend_from_slice(&bytes);
        }
        out
    }

    fn written(mut writing: Writing, bytes: &[u8]) -> Content {
        bytes.chunks(300_000).for_each(|chunk| writing.write(chunk).unwrap());
        writing.finish()
    }

    #[test]
    fn room_is_given_back_with_the_last_reader() {
        let room = Room::new(Some(1000));
        let first = written(Writing::memory(&room), &[7; 600]);
        let mut second = Writing::memory(&room);
        second.write(&[0; 400]).unwrap();
        assert!(matches!(second.write(&[0; 1]), Err(NotTaken::Full)));
        assert_eq!(room.used(), 1000);
        drop(second);
        let reading = first.read(0, 600);
        drop(first);
        assert_eq!((room.used(), all(reading)), (600, vec![7; 600]));
        assert_eq!(room.used(), 0);
    }

    #[test]
    fn files_go_when_they_are_doomed_and_stay_when_they_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let room = Room::new(None);
        let file = |name: &str| directory.path().join(name);
        drop(written(Writing::file(file("given-up"), &room).unwrap(), b"x"));
        let kept = written(Writing::file(file("kept"), &room).unwrap(), b"abc");
        kept.doom(false);
        drop(kept);
        let doomed = Content::of_files(vec![file("kept")], &room).unwrap();
        doomed.doom(true);
        let reading = doomed.read(1, 2);
        drop(doomed);
        assert_eq!(all(reading), b"bc");
        assert_eq!((room.used(), fs::read_dir(directory.path()).unwrap().count()), (0, 0));
    }

    #[test]
    fn a_link_in_place_of_a_file_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (secret, link) = (directory.path().join("secret"), directory.path().join("link"));
        fs::write(&secret, "secret").unwrap();
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        let room = Room::new(None);
        assert!(Content::of_files(vec![link.clone()], &room).is_err());
        assert!(Writing::file(link, &room).is_err());
        assert_eq!(fs::read(&secret).unwrap(), b"secret");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_slice_of_any_parts_is_right(
            sizes in prop::collection::vec(0_usize..2_500_000, 1..4),
            in_files in any::<bool>(),
            first in any::<prop::sample::Index>(),
            last in any::<prop::sample::Index>(),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let room = Room::new(None);
            let (mut content, mut truth) = (Content::default(), Vec::new());
            for (number, size) in sizes.into_iter().enumerate() {
                let bytes: Vec<u8> = (0..size).map(|at| (at % 251 + number) as u8).collect();
                let writing = if in_files {
                    Writing::file(directory.path().join(number.to_string()), &room).unwrap()
                } else {
                    Writing::memory(&room)
                };
                content.append(&written(writing, &bytes));
                truth.extend_from_slice(&bytes);
            }
            prop_assert_eq!((content.bytes(), room.used()), (truth.len() as u64, truth.len() as u64));
            let (first, last) = (first.index(truth.len() + 1), last.index(truth.len() + 1));
            let (first, last) = (first.min(last), first.max(last));
            prop_assert!(all(content.read(first as u64, (last - first) as u64)) == truth[first..last]);
        }
    }
}
