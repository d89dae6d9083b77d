//! Segments: append-only files of checksummed records.
//!
//! ```text
//! record  = payload length u32 | type u8 | sequence number u64 | payload | CRC-32C u32      (little-endian)
//! segment = header, then groups
//! header  = record of type 0: magic 8 bytes | format u32 | identity 32 bytes | number u64 | committed from u64
//!                             | number of the previous segment u64 (0: none) | its length u64
//! group   = record of type 1: durable length u64 | Unix time in ms u64, then records of type 2 and above
//! ```
//!
//! The records of a group are written and synced together. The first record of a group states how many bytes of the
//! segment were on the disk before this group. A bad record within these durable bytes is damage. A bad record after
//! all durable bytes is the incomplete end that a crash leaves. Headers and group records have the sequence number of
//! the record that follows.
//!
//! The header states the size of the valid part of the previous segment, because a failed write or sync leaves
//! unreliable bytes. The new segment first repeats the records that may have been in memory only. "Committed from" is
//! the sequence number after these records. If a segment ends before this number, or has no record, a crash has cut it
//! off. Readers ignore such a segment.

use super::payload::Malformed;
use crc_fast::{CrcAlgorithm, Digest};
use std::io::{self, BufReader, Read};

/// The version of the format.
pub const FORMAT: u32 = 1;
/// Size at which a new segment begins. No segment is larger.
pub const SEGMENT_BYTES_MAX: u64 = 64 << 20;
/// Maximum size of a payload. The largest payload is a full batch of failed objects, which takes up to 615 kB.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 1 << 20;
/// Size of a record without its payload.
const FRAME_BYTES: usize = HEAD_BYTES + CRC_BYTES;
const HEAD_BYTES: usize = 4 + 1 + 8;
const CRC_BYTES: usize = 4;

const MAGIC: [u8; 8] = *b"fill-wal";
const HEADER: u8 = 0;
const HEADER_PAYLOAD_BYTES: usize = 8 + 4 + 32 + 4 * 8;
/// Size of the header of a segment.
pub(crate) const HEADER_BYTES: usize = FRAME_BYTES + HEADER_PAYLOAD_BYTES;
const GROUP: u8 = 1;
const GROUP_PAYLOAD_BYTES: usize = 16;
/// Size of the first record of a group.
pub(crate) const GROUP_BYTES: usize = FRAME_BYTES + GROUP_PAYLOAD_BYTES;

/// Returns whether a record is a header or the first record of a group. The record that follows has the same sequence
/// number.
pub(crate) fn is_control(kind: u8) -> bool {
    matches!(kind, HEADER | GROUP)
}

/// Appends a record.
pub(crate) fn put_record(out: &mut Vec<u8>, kind: u8, seq: u64, put: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.push(kind);
    out.extend_from_slice(&seq.to_le_bytes());
    put(out);
    let len = out.len() - start - HEAD_BYTES;
    assert!(len <= PAYLOAD_BYTES_MAX, "a payload of {len} bytes");
    out[start..start + 4].copy_from_slice(&(len as u32).to_le_bytes());
    let crc = checksum(&[&out[start..]]);
    out.extend_from_slice(&crc);
}

fn checksum(parts: &[&[u8]]) -> [u8; CRC_BYTES] {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    parts.iter().for_each(|part| digest.update(part));
    (digest.finalize() as u32).to_le_bytes()
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) identity: [u8; 32],
    pub(crate) number: u64,
    pub(crate) previous: Option<Previous>,
    /// Sequence number of the first record.
    pub(crate) seq: u64,
    /// Sequence number after the repeated records. Readers ignore the segment until it contains all repeated records.
    pub(crate) committed_from: u64,
}

/// The valid part of the previous segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Previous {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
}

/// The reason why the beginning of a file is not the header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFlaw {
    /// Too few bytes, or a wrong checksum.
    Broken,
    /// Not a file of this program.
    Foreign,
    /// Another version of the format.
    Format(u32),
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        let previous = self.previous.unwrap_or(Previous { number: 0, bytes: 0 });
        put_record(&mut out, HEADER, self.seq, |out| {
            out.extend_from_slice(&MAGIC);
            out.extend_from_slice(&FORMAT.to_le_bytes());
            out.extend_from_slice(&self.identity);
            for field in [self.number, self.committed_from, previous.number, previous.bytes] {
                out.extend_from_slice(&field.to_le_bytes());
            }
        });
        out
    }

    /// Reads the header from the beginning of a segment.
    pub(crate) fn read(input: impl Read) -> io::Result<Result<Self, HeaderFlaw>> {
        let mut records = RecordReader::new(input, 0);
        Ok(match records.next()? {
            Step::Record { kind: HEADER, payload, seq, .. } => Self::parse(payload, seq),
            Step::Record { .. } => Err(HeaderFlaw::Foreign),
            Step::Bad { .. } | Step::End { .. } => Err(HeaderFlaw::Broken),
        })
    }

    fn parse(payload: &[u8], seq: u64) -> Result<Self, HeaderFlaw> {
        let (magic, rest) = payload.split_first_chunk::<8>().ok_or(HeaderFlaw::Foreign)?;
        let (format, rest) = rest.split_first_chunk::<4>().ok_or(HeaderFlaw::Foreign)?;
        if *magic != MAGIC {
            return Err(HeaderFlaw::Foreign);
        }
        let format = u32::from_le_bytes(*format);
        if format != FORMAT {
            return Err(HeaderFlaw::Format(format));
        }
        let (identity, rest) = rest.split_first_chunk::<32>().ok_or(HeaderFlaw::Foreign)?;
        let (fields, []) = rest.as_chunks::<8>() else { return Err(HeaderFlaw::Foreign) };
        let Ok([number, committed_from, previous, bytes]) = <[_; 4]>::try_from(fields) else {
            return Err(HeaderFlaw::Foreign);
        };
        let [number, committed_from, previous, bytes] =
            [number, committed_from, previous, bytes].map(u64::from_le_bytes);
        let previous = (previous != 0).then_some(Previous { number: previous, bytes });
        Ok(Self { identity: *identity, number, previous, seq, committed_from })
    }
}

/// The first record of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Number of bytes of the segment that were durable before this group.
    pub(crate) durable_bytes: u64,
    /// Wall time at which the group was written, in milliseconds since 1970.
    pub(crate) unix_ms: u64,
}

impl Group {
    pub(crate) fn encode(self, seq: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(GROUP_BYTES);
        put_record(&mut out, GROUP, seq, |out| {
            out.extend_from_slice(&self.durable_bytes.to_le_bytes());
            out.extend_from_slice(&self.unix_ms.to_le_bytes());
        });
        out
    }

    fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let ([durable, unix_ms], []) = payload.as_chunks::<8>() else {
            return Err(Malformed("a group record of the wrong size"));
        };
        Ok(Self { durable_bytes: u64::from_le_bytes(*durable), unix_ms: u64::from_le_bytes(*unix_ms) })
    }

    /// Parses the first record of a group. Returns `None` for records of other types.
    pub(crate) fn of(kind: u8, payload: &[u8]) -> Option<Result<Self, Malformed>> {
        (kind == GROUP).then(|| Self::parse(payload))
    }

    /// Searches `bytes` for valid group records, and returns the largest number of durable bytes that one of them
    /// states. `start` is the position of the first byte. A length that is larger than the position of its record is
    /// not valid.
    pub(crate) fn search(bytes: &[u8], start: u64) -> Option<u64> {
        let mut head = [0; 5];
        head[..4].copy_from_slice(&(GROUP_PAYLOAD_BYTES as u32).to_le_bytes());
        head[4] = GROUP;
        let windows = bytes.windows(GROUP_BYTES).enumerate().filter(|(_, window)| window.starts_with(&head));
        let durable = windows.filter_map(|(offset, window)| {
            let (body, crc) = window.split_last_chunk::<CRC_BYTES>()?;
            let group = (checksum(&[body]) == *crc).then(|| Self::parse(&body[HEAD_BYTES..]))?.ok()?;
            Some(group.durable_bytes).filter(|durable| *durable <= start + offset as u64)
        });
        durable.max()
    }
}

/// The next record of a segment, or the reason why there is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    Record {
        kind: u8,
        seq: u64,
        payload: &'a [u8],
        at_byte: u64,
    },
    /// The end of the input after a complete record.
    End {
        at_byte: u64,
    },
    /// A record that is incomplete or damaged.
    Bad {
        at_byte: u64,
        flaw: &'static str,
    },
}

/// The reader of records. Keeps one record in memory.
pub(crate) struct RecordReader<R> {
    input: BufReader<R>,
    at_byte: u64,
    payload: Vec<u8>,
}

impl<R: Read> RecordReader<R> {
    /// Creates a reader of an input that begins at this offset of its segment.
    pub(crate) fn new(input: R, at_byte: u64) -> Self {
        Self { input: BufReader::with_capacity(256 << 10, input), at_byte, payload: Vec::new() }
    }

    /// Reads the next record. All errors come from the input.
    pub(crate) fn next(&mut self) -> io::Result<Step<'_>> {
        let at_byte = self.at_byte;
        let mut head = [0; HEAD_BYTES];
        match read_up_to(&mut self.input, &mut head)? {
            0 => return Ok(Step::End { at_byte }),
            HEAD_BYTES => {}
            _ => return Ok(Step::Bad { at_byte, flaw: "an incomplete record" }),
        }
        let [a, b, c, d, kind, seq @ ..] = head;
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        if len > PAYLOAD_BYTES_MAX {
            return Ok(Step::Bad { at_byte, flaw: "a record above the size limit" });
        }
        self.payload.resize(len + CRC_BYTES, 0);
        if read_up_to(&mut self.input, &mut self.payload)? < len + CRC_BYTES {
            return Ok(Step::Bad { at_byte, flaw: "an incomplete record" });
        }
        let (payload, crc) = self.payload.split_at(len);
        if checksum(&[&head, payload]) != *crc {
            return Ok(Step::Bad { at_byte, flaw: "a record with a wrong checksum" });
        }
        self.at_byte += (FRAME_BYTES + len) as u64;
        Ok(Step::Record { kind, seq: u64::from_le_bytes(seq), payload, at_byte })
    }
}

/// Reads until the buffer is full or the input ends.
fn read_up_to(input: &mut impl Read, mut buf: &mut [u8]) -> io::Result<usize> {
    let all = buf.len();
    while !buf.is_empty() {
        match input.read(buf) {
            Ok(0) => break,
            Ok(count) => buf = &mut buf[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all - buf.len())
}
