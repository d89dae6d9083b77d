//! Files of lines in independent zstd frames. Reading ends at the first incomplete frame.
//!
//! Each frame has its own checksum. If a frame cannot be written completely, the writer removes the incomplete part, so
//! the next frame follows a complete one. After a crash, only the last frame can be incomplete.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use zstd::bulk::Compressor;
use zstd::stream::read::Decoder;
use zstd::zstd_safe::CParameter;

/// Maximum size of the lines in a frame. Larger frames are neither written nor read.
pub const FRAME_BYTES_MAX: usize = 32 << 20;
/// Compression level. This level is the fastest regular one, and reduces the size to a third. Speed is important,
/// because the compressing thread may share a core with a thread that generates load.
const LEVEL: i32 = 1;
/// Maximum window size of a frame, as an exponent of two (2^23 bytes are 8 MiB).
const WINDOW_LOG_MAX: u32 = 23;
/// The first bytes of every frame.
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The destination of frames.
pub(crate) trait Medium: Write {
    /// Truncates the data to the first `len` bytes.
    fn cut(&mut self, len: u64) -> io::Result<()>;
    /// Waits until all data is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Medium for File {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// The writer of frames.
pub(crate) struct FrameWriter {
    medium: Box<dyn Medium + Send>,
    compressor: Compressor<'static>,
    /// Total size of complete frames.
    len: u64,
    /// `true` if bytes of a failed frame may follow the complete frames.
    dirty: bool,
    /// Function that is called between the steps of appending a frame.
    give_way: fn(),
}

impl FrameWriter {
    pub(crate) fn new(medium: Box<dyn Medium + Send>) -> io::Result<Self> {
        Self::with_level(medium, LEVEL)
    }

    /// Creates a writer with another compression level.
    pub(crate) fn with_level(medium: Box<dyn Medium + Send>, level: i32) -> io::Result<Self> {
        let mut compressor = Compressor::new(level)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true))?;
        Ok(Self { medium, compressor, len: 0, dirty: false, give_way: || () })
    }

    /// Sets the function to call between the steps of appending.
    pub(crate) fn set_give_way(&mut self, give_way: fn()) {
        self.give_way = give_way;
    }

    /// Calls the function that [`Self::set_give_way`] has set.
    pub(crate) fn give_way(&self) {
        (self.give_way)();
    }

    /// Appends a frame. After an error the file contains the earlier frames, and the caller may try again.
    pub(crate) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let frame = self.compressor.compress(lines)?;
        self.give_way();
        self.clean()?;
        let written = self.medium.write_all(&frame).and_then(|()| self.medium.flush());
        match written {
            Ok(()) => self.len += frame.len() as u64,
            Err(_) => {
                self.dirty = true;
                // If this fails, the next `append` tries again.
                let _ = self.clean();
            }
        }
        written
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.medium.sync()
    }

    /// Sets the length of existing content, to which frames are appended.
    pub(crate) fn set_len(&mut self, len: u64) {
        self.len = len;
    }

    fn clean(&mut self) -> io::Result<()> {
        if self.dirty {
            self.medium.cut(self.len)?;
            self.dirty = false;
        }
        Ok(())
    }
}

/// The reason why reading stopped before the end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// A frame that cannot be decoded.
    Frame,
    /// A frame above the size limit.
    TooLarge,
    /// A line that is not a valid record.
    Record,
    /// A record at a wrong position, such as after the end record.
    OutOfPlace,
    /// An interval beyond the maximum number of intervals.
    TooMany,
}

impl DamageKind {
    /// Returns a description as a noun phrase.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Frame => "a frame that cannot be decoded",
            Self::TooLarge => "a frame above the size limit",
            Self::Record => "a line that is not a valid record",
            Self::OutOfPlace => "a record at a wrong position",
            Self::TooMany => "more intervals than this program reads",
        }
    }
}

/// Damage that a crash does not explain. Reading stopped at this damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Number of the file in a sequence of files, from 1.
    pub file: u32,
    /// Offset of the damaged frame in the file.
    pub at_byte: u64,
    /// Number of bytes from the damaged frame to the end of the file. The reader ignored these bytes.
    pub unread_bytes: u64,
    /// The kind of damage.
    pub kind: DamageKind,
}

/// The state of the end of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Size of an incomplete last frame, which was ignored.
    pub torn_bytes: u64,
    /// Damage at which reading stopped.
    pub damage: Option<Damage>,
}

/// The next frame, or the reason why there is none.
pub(crate) enum Next<'a> {
    Lines(&'a [u8]),
    /// The end of the file. An incomplete frame of `torn_bytes` may come before the end.
    End {
        torn_bytes: u64,
    },
    Damaged(Damage),
}

/// The reader of frames. Keeps one frame in memory.
pub(crate) struct FrameReader<R> {
    input: Counted<R>,
    lines: Vec<u8>,
    frame_start: u64,
}

/// Size of the buffer of a reader.
const BUFFER_BYTES: usize = 128 << 10;
/// Size of the buffer of one of many readers that are open at the same time.
const SMALL_BUFFER_BYTES: usize = 16 << 10;

impl<R: Read> FrameReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self::with_buffer(input, BUFFER_BYTES)
    }

    /// Creates one of many readers that are open at the same time.
    pub(crate) fn small(input: R) -> Self {
        Self::with_buffer(input, SMALL_BUFFER_BYTES)
    }

    fn with_buffer(input: R, bytes: usize) -> Self {
        let input = Counted { inner: BufReader::with_capacity(bytes, input), at: 0, magic: Magic::default() };
        Self { input, lines: Vec::new(), frame_start: 0 }
    }

    /// Takes the lines of the last frame, so that the reader does not keep their memory.
    pub(crate) fn take_lines(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.lines)
    }

    /// Reads the next frame. All errors come from the input.
    pub(crate) fn next(&mut self) -> io::Result<Next<'_>> {
        self.frame_start = self.input.at;
        if self.input.fill_buf()?.is_empty() {
            return Ok(Next::End { torn_bytes: 0 });
        }
        self.lines.clear();
        self.input.magic = Magic::default();
        match self.decode() {
            Ok(_) if self.lines.len() > FRAME_BYTES_MAX => self.damage(DamageKind::TooLarge).map(Next::Damaged),
            Ok(_) => Ok(Next::Lines(&self.lines)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && self.input.magic.seen <= 1 => {
                Ok(Next::End { torn_bytes: self.input.at - self.frame_start })
            }
            Err(error) if error.raw_os_error().is_some() => Err(error),
            Err(_) => self.damage(DamageKind::Frame).map(Next::Damaged),
        }
    }

    /// Returns the offset of the next frame.
    pub(crate) fn at_byte(&self) -> u64 {
        self.input.at
    }

    /// Describes damage in the last frame and reads the input to its end.
    pub(crate) fn damage(&mut self, kind: DamageKind) -> io::Result<Damage> {
        io::copy(&mut self.input, &mut io::sink())?;
        Ok(Damage { file: 1, at_byte: self.frame_start, unread_bytes: self.input.at - self.frame_start, kind })
    }

    fn decode(&mut self) -> io::Result<usize> {
        let mut decoder = Decoder::with_buffer(&mut self.input)?.single_frame();
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        decoder.take(FRAME_BYTES_MAX as u64 + 1).read_to_end(&mut self.lines)
    }
}

/// Counter of the frames that begin in the input. If no other frame follows a broken frame, the broken frame is the
/// incomplete end of the file. If another frame follows, the broken frame is damage.
#[derive(Default)]
struct Magic {
    matched: usize,
    seen: u64,
}

impl Magic {
    fn look(&mut self, bytes: &[u8]) {
        for byte in bytes {
            // No proper prefix of the magic number is also its suffix, so after a mismatch, the search can restart at
            // this byte.
            self.matched = if *byte == MAGIC[self.matched] { self.matched + 1 } else { usize::from(*byte == MAGIC[0]) };
            if self.matched == MAGIC.len() {
                (self.matched, self.seen) = (0, self.seen + 1);
            }
        }
    }
}

/// A reader that counts consumed bytes.
struct Counted<R> {
    inner: BufReader<R>,
    at: u64,
    magic: Magic,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buf)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl<R: Read> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.inner.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(_) => break,
            }
        }
        Ok(self.inner.buffer())
    }

    fn consume(&mut self, amount: usize) {
        self.magic.look(&self.inner.buffer()[..amount]);
        self.at += amount as u64;
        self.inner.consume(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decompression_bomb_is_rejected_before_unpacking() {
        let bomb = zstd::bulk::compress(&vec![b' '; FRAME_BYTES_MAX + 2], 1).unwrap();
        assert!(bomb.len() < 100_000, "{} bytes", bomb.len());
        let mut reader = FrameReader::new(bomb.as_slice());
        let Next::Damaged(damage) = reader.next().unwrap() else { panic!("a frame above the size limit was read") };
        let expected = Damage { file: 1, at_byte: 0, unread_bytes: bomb.len() as u64, kind: DamageKind::TooLarge };
        assert_eq!(damage, expected);
        assert!(reader.lines.capacity() <= 4 * FRAME_BYTES_MAX);
    }

    /// Returns a frame with this many blocks of 128 KiB of zeros, each compressed to four bytes (RFC 8878, 3.1.1).
    fn zeros(blocks: usize) -> Vec<u8> {
        const BLOCK_BYTES: u32 = 128 << 10;
        const RUN_OF_ONE_BYTE: u32 = 1;
        // Frame header: no checksum, no content size, a window of 8 MiB.
        let mut frame = [&MAGIC[..], &[0, (WINDOW_LOG_MAX as u8 - 10) << 3]].concat();
        for index in 1..=blocks {
            let header = (BLOCK_BYTES << 3) | (RUN_OF_ONE_BYTE << 1) | u32::from(index == blocks);
            frame.extend_from_slice(&header.to_le_bytes()[..3]);
            frame.push(0);
        }
        frame
    }

    #[test]
    fn a_frame_of_ten_gigabytes_needs_bounded_memory() {
        let sound = zeros(3);
        let mut reader = FrameReader::new(sound.as_slice());
        let Next::Lines(lines) = reader.next().unwrap() else { panic!("a valid frame was rejected") };
        assert!(lines.len() == 3 * (128 << 10) && lines.iter().all(|byte| *byte == 0), "{} bytes", lines.len());

        let bomb = zeros((10 << 30) / (128 << 10));
        let mut reader = FrameReader::new(bomb.as_slice());
        let Next::Damaged(damage) = reader.next().unwrap() else { panic!("a frame above the size limit was read") };
        let expected = Damage { file: 1, at_byte: 0, unread_bytes: bomb.len() as u64, kind: DamageKind::TooLarge };
        assert_eq!(damage, expected);
        assert!(reader.lines.capacity() <= 4 * FRAME_BYTES_MAX, "{} bytes", reader.lines.capacity());
    }

    #[test]
    fn a_window_above_the_limit_is_rejected() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        encoder.set_parameter(CParameter::WindowLog(26)).unwrap();
        encoder.write_all(b"{}\n").unwrap();
        let frame = encoder.finish().unwrap();
        let mut reader = FrameReader::new(frame.as_slice());
        assert!(matches!(reader.next().unwrap(), Next::Damaged(Damage { kind: DamageKind::Frame, .. })));
    }

    #[test]
    fn the_magic_number_is_found_in_any_split() {
        let mut magic = Magic::default();
        for part in [&[0x28, 0x28, 0xB5][..], &[0x2F], &[0xFD, 0x28, 0xB5, 0x28, 0xB5, 0x2F, 0xFD]] {
            magic.look(part);
        }
        assert_eq!(magic.seen, 2);
    }
}
