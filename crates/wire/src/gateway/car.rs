//! Reader of the framing of CARv1: a header, followed by sections. Each section consists of a length, a CID and a block.
//! The input may come in pieces of any size.

use super::Fault;
use super::cbor::{self, Item};
use cid::Cid;
use cid::multihash::Multihash;
use unsigned_varint::decode;

/// Maximum size of the header.
const HEADER_BYTES_MAX: u64 = 64 * 1024;
/// Maximum size of a section, the same as in go-car. IPFS blocks have at most 2 MiB.
const SECTION_BYTES_MAX: u64 = 8 << 20;
/// Maximum number of bytes of a 64-bit varint.
const VARINT_BYTES_MAX: usize = 10;

/// A step in reading a CAR.
#[derive(Debug)]
pub(super) enum Event<'a> {
    /// The roots in the header.
    Header(Vec<Cid>),
    /// The beginning of a block of `length` bytes.
    Block {
        cid: Cid,
        length: u64,
    },
    /// Bytes of the block.
    Data(&'a [u8]),
    BlockEnd,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    HeaderLength,
    Header {
        length: usize,
    },
    Length,
    Cid {
        /// Total size of CID and block.
        section: u64,
    },
    Data {
        left: u64,
    },
}

/// The reader of a CAR.
#[derive(Debug, Default)]
pub(super) struct CarReader {
    state: State,
    /// The received part of a length, header or CID.
    buffered: Vec<u8>,
    /// Number of bytes read so far.
    at: u64,
    /// Offset of the current section.
    section_at: u64,
}

impl CarReader {
    /// Returns the next event. Advances `piece` past the bytes that were read. Returns `None` when `piece` is empty.
    pub(super) fn next<'p>(&mut self, piece: &mut &'p [u8]) -> Result<Option<Event<'p>>, Fault> {
        loop {
            if let State::Data { left: 0 } = self.state {
                self.state = State::Length;
                return Ok(Some(Event::BlockEnd));
            }
            if piece.is_empty() {
                return Ok(None);
            }
            match self.state {
                State::HeaderLength => {
                    if let Some(length) = self.varint(piece)? {
                        if !(1..=HEADER_BYTES_MAX).contains(&length) {
                            return Err(Fault::NotCar("the length of the header is 0 or above 64 KiB"));
                        }
                        self.state = State::Header { length: length as usize };
                    }
                }
                State::Header { length } => {
                    if self.buffer(piece, length) {
                        self.state = State::Length;
                        let roots = roots(&std::mem::take(&mut self.buffered)).map_err(Fault::NotCar)?;
                        return Ok(Some(Event::Header(roots)));
                    }
                }
                State::Length => {
                    if self.buffered.is_empty() {
                        self.section_at = self.at;
                    }
                    if let Some(section) = self.varint(piece)? {
                        if !(1..=SECTION_BYTES_MAX).contains(&section) {
                            return Err(self.bad("the length of a block is 0 or above 8 MiB"));
                        }
                        self.state = State::Cid { section };
                    }
                }
                State::Cid { section } => {
                    if let Some(cid) = self.cid(piece, section)? {
                        let length = section - self.buffered.len() as u64;
                        self.buffered.clear();
                        self.state = State::Data { left: length };
                        return Ok(Some(Event::Block { cid, length }));
                    }
                }
                State::Data { left } => {
                    let length = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    let (data, rest) = piece.split_at(length);
                    *piece = rest;
                    self.at += length as u64;
                    self.state = State::Data { left: left - length as u64 };
                    return Ok(Some(Event::Data(data)));
                }
            }
        }
    }

    /// Checks that the CAR is complete at the end of the body.
    pub(super) fn end(&self) -> Result<(), Fault> {
        let cut = |within, missing: u64| Err(Fault::CutShort { within, missing });
        match self.state {
            State::Length if self.buffered.is_empty() => Ok(()),
            State::HeaderLength => Err(Fault::NotCar("the body is empty, or ends inside the header's length")),
            // A CBOR map begins with these bits, but HTML pages and error messages do not. Their first byte is
            // therefore enough to recognize them.
            State::Header { .. } if self.buffered.first().is_none_or(|byte| byte & 0xe0 != 0xa0) => {
                Err(Fault::NotCar("the header is not a CBOR map"))
            }
            State::Header { length } => cut("the header", (length - self.buffered.len()) as u64),
            State::Length => cut("the length of a block", 1),
            State::Cid { section } => cut("a block", section - self.buffered.len() as u64),
            State::Data { left } => cut("a block", left),
        }
    }

    fn bad(&self, what: &'static str) -> Fault {
        match self.state {
            State::HeaderLength => Fault::NotCar("the length of the header is not valid"),
            _ => Fault::BadFraming { at: self.section_at, what },
        }
    }

    /// Buffers bytes until `wanted` bytes are buffered. Returns whether this number is reached.
    fn buffer(&mut self, piece: &mut &[u8], wanted: usize) -> bool {
        let (taken, rest) = piece.split_at(piece.len().min(wanted.saturating_sub(self.buffered.len())));
        self.buffered.extend_from_slice(taken);
        self.at += taken.len() as u64;
        *piece = rest;
        self.buffered.len() >= wanted
    }

    fn varint(&mut self, piece: &mut &[u8]) -> Result<Option<u64>, Fault> {
        while !piece.is_empty() {
            self.buffer(piece, self.buffered.len() + 1);
            match decode::u64(&self.buffered) {
                Ok((number, _)) => {
                    self.buffered.clear();
                    return Ok(Some(number));
                }
                Err(decode::Error::Insufficient) if self.buffered.len() < VARINT_BYTES_MAX => {}
                Err(_) => return Err(self.bad("the length of a block is not valid")),
            }
        }
        Ok(None)
    }

    /// Buffers the bytes of a CID, but none after it.
    fn cid(&mut self, piece: &mut &[u8], section: u64) -> Result<Option<Cid>, Fault> {
        loop {
            match read_cid(&self.buffered) {
                Read::Cid(cid, _) => return Ok(Some(cid)),
                Read::Short(missing) => {
                    let wanted = self.buffered.len() + missing;
                    if wanted as u64 > section {
                        return Err(self.bad("a block is shorter than its CID"));
                    }
                    if !self.buffer(piece, wanted) {
                        return Ok(None);
                    }
                }
                Read::Bad => return Err(self.bad("the CID of a block is not valid")),
            }
        }
    }
}

/// The result of reading a CID from the beginning of a buffer.
pub(super) enum Read {
    /// A CID and its length.
    Cid(Cid, usize),
    /// At least this many bytes are missing.
    Short(usize),
    Bad,
}

/// Reads a binary CID of version 0 or 1.
pub(super) fn read_cid(bytes: &[u8]) -> Read {
    const SHA2_256: u64 = 0x12;
    const V0_BYTES: usize = 34;
    let rest = match bytes {
        [] => return Read::Short(2),
        // Version 0 is a bare SHA-256 multihash.
        [0x12] => return Read::Short(1),
        [0x12, 0x20, ..] => {
            let Some(digest) = bytes.get(2..V0_BYTES) else { return Read::Short(V0_BYTES - bytes.len()) };
            let cid = Multihash::wrap(SHA2_256, digest).ok().and_then(|hash| Cid::new_v0(hash).ok());
            return cid.map_or(Read::Bad, |cid| Read::Cid(cid, V0_BYTES));
        }
        [1, rest @ ..] => rest,
        _ => return Read::Bad,
    };
    let mut numbers = [0_u64; 3];
    let mut rest = rest;
    for number in &mut numbers {
        match decode::u64(rest) {
            Ok((found, after)) => (*number, rest) = (found, after),
            Err(decode::Error::Insufficient) => return Read::Short(1),
            Err(_) => return Read::Bad,
        }
    }
    let [codec, function, size] = numbers;
    // A `Cid` has space for digests of up to 64 bytes.
    let Some(size) = usize::try_from(size).ok().filter(|size| *size <= 64) else { return Read::Bad };
    let Some(digest) = rest.get(..size) else { return Read::Short(size - rest.len()) };
    match Multihash::wrap(function, digest) {
        Ok(hash) => Read::Cid(Cid::new_v1(codec, hash), bytes.len() - rest.len() + size),
        Err(_) => Read::Bad,
    }
}

/// Parses the CID in a DAG-CBOR byte string: a zero byte, then the CID.
pub(super) fn cid_in_cbor(bytes: &[u8]) -> Option<Cid> {
    let bytes = bytes.strip_prefix(&[0])?;
    match read_cid(bytes) {
        Read::Cid(cid, length) if length == bytes.len() => Some(cid),
        _ => None,
    }
}

/// Parses the roots of a header, `{"roots": [CID], "version": 1}` in DAG-CBOR.
fn roots(header: &[u8]) -> Result<Vec<Cid>, &'static str> {
    const BAD: &str = "the header is not a DAG-CBOR map of roots and version";
    let (roots, version) = read_header(header).ok_or(BAD)?;
    match version {
        Some(1) => Ok(roots),
        Some(2) => Err("the header is that of a CARv2"),
        _ => Err(BAD),
    }
}

/// Parses roots and version of a header.
fn read_header(mut header: &[u8]) -> Option<(Vec<Cid>, Option<u64>)> {
    let (mut roots, mut version) = (Vec::new(), None);
    let Item::Map(entries) = cbor::next(&mut header)? else { return None };
    for _ in 0..entries {
        match (cbor::next(&mut header)?, cbor::next(&mut header)?) {
            (Item::Text(b"version"), Item::Unsigned(number)) => version = Some(number),
            (Item::Text(b"roots"), Item::Array(count)) => {
                for _ in 0..count {
                    let (Item::Link, Item::Bytes(bytes)) = (cbor::next(&mut header)?, cbor::next(&mut header)?) else {
                        return None;
                    };
                    roots.push(cid_in_cbor(bytes)?);
                }
            }
            _ => return None,
        }
    }
    Some((roots, version))
}
