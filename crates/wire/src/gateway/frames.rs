//! Framing of a CARv1: a header, then sections of length, CID and bytes. Reads pieces of any size.

use super::Fault;
use super::cbor::{self, Item};
use cid::Cid;
use cid::multihash::Multihash;
use unsigned_varint::decode;

/// The largest header.
const HEADER_BYTES_MAX: u64 = 64 * 1024;
/// The largest section: what go-car allows by default. IPFS blocks have at most 2 MiB.
const SECTION_BYTES_MAX: u64 = 8 << 20;
/// The longest varint of 64 bits.
const VARINT_BYTES_MAX: usize = 10;

/// Something that was read.
#[derive(Debug)]
pub(super) enum Event<'a> {
    /// The roots in the header.
    Header(Vec<Cid>),
    /// A block of so many bytes begins.
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
        /// Bytes of CID and block.
        section: u64,
    },
    Data {
        left: u64,
    },
}

/// The reader of the framing.
#[derive(Debug, Default)]
pub(super) struct Frames {
    state: State,
    /// A length, header or CID of which a part has arrived.
    held: Vec<u8>,
    /// Bytes read.
    at: u64,
    /// Where the present section began.
    section_at: u64,
}

impl Frames {
    /// Reads on in `piece`, which is shortened by what was read. `None` once nothing is left in it.
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
                            return Err(Fault::NotCar("its length is 0 or above 64 KiB"));
                        }
                        self.state = State::Header { length: length as usize };
                    }
                }
                State::Header { length } => {
                    if self.hold(piece, length) {
                        self.state = State::Length;
                        let roots = roots(&std::mem::take(&mut self.held)).map_err(Fault::NotCar)?;
                        return Ok(Some(Event::Header(roots)));
                    }
                }
                State::Length => {
                    if self.held.is_empty() {
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
                        let length = section - self.held.len() as u64;
                        self.held.clear();
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

    /// The body is complete.
    pub(super) fn end(&self) -> Result<(), Fault> {
        let cut = |within, missing: u64| Err(Fault::CutShort { within, missing });
        match self.state {
            State::Length if self.held.is_empty() => Ok(()),
            State::HeaderLength => Err(Fault::NotCar("the body is empty or ends inside it")),
            // A map in CBOR begins so; a page or an error message does not.
            State::Header { .. } if self.held.first().is_none_or(|byte| byte & 0xe0 != 0xa0) => {
                Err(Fault::NotCar("it is no map in CBOR"))
            }
            State::Header { length } => cut("the header", (length - self.held.len()) as u64),
            State::Length => cut("the length of a block", 1),
            State::Cid { section } => cut("a block", section - self.held.len() as u64),
            State::Data { left } => cut("a block", left),
        }
    }

    fn bad(&self, what: &'static str) -> Fault {
        match self.state {
            State::HeaderLength => Fault::NotCar("its length is not valid"),
            _ => Fault::BadFraming { at: self.section_at, what },
        }
    }

    /// Holds bytes until there are `wanted`.
    fn hold(&mut self, piece: &mut &[u8], wanted: usize) -> bool {
        let (taken, rest) = piece.split_at(piece.len().min(wanted.saturating_sub(self.held.len())));
        self.held.extend_from_slice(taken);
        self.at += taken.len() as u64;
        *piece = rest;
        self.held.len() >= wanted
    }

    fn varint(&mut self, piece: &mut &[u8]) -> Result<Option<u64>, Fault> {
        while !piece.is_empty() {
            self.hold(piece, self.held.len() + 1);
            match decode::u64(&self.held) {
                Ok((number, _)) => {
                    self.held.clear();
                    return Ok(Some(number));
                }
                Err(decode::Error::Insufficient) if self.held.len() < VARINT_BYTES_MAX => {}
                Err(_) => return Err(self.bad("the length of a block is not valid")),
            }
        }
        Ok(None)
    }

    /// Holds the bytes of a CID, and none behind it.
    fn cid(&mut self, piece: &mut &[u8], section: u64) -> Result<Option<Cid>, Fault> {
        loop {
            match read_cid(&self.held) {
                Read::Cid(cid, _) => return Ok(Some(cid)),
                Read::Short(missing) => {
                    let wanted = self.held.len() + missing;
                    if wanted as u64 > section {
                        return Err(self.bad("a block is shorter than its CID"));
                    }
                    if !self.hold(piece, wanted) {
                        return Ok(None);
                    }
                }
                Read::Bad => return Err(self.bad("the CID of a block is not valid")),
            }
        }
    }
}

/// The beginning of some bytes as a CID.
pub(super) enum Read {
    /// With its length.
    Cid(Cid, usize),
    /// At least so many bytes are missing.
    Short(usize),
    Bad,
}

/// Reads a CID in binary, of version 0 or 1.
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
    // The longest digest that a `Cid` has room for.
    let Some(size) = usize::try_from(size).ok().filter(|size| *size <= 64) else { return Read::Bad };
    let Some(digest) = rest.get(..size) else { return Read::Short(size - rest.len()) };
    match Multihash::wrap(function, digest) {
        Ok(hash) => Read::Cid(Cid::new_v1(codec, hash), bytes.len() - rest.len() + size),
        Err(_) => Read::Bad,
    }
}

/// The CID in a byte string of DAG-CBOR: behind a zero byte, and nothing behind it.
pub(super) fn cid_in_cbor(bytes: &[u8]) -> Option<Cid> {
    let bytes = bytes.strip_prefix(&[0])?;
    match read_cid(bytes) {
        Read::Cid(cid, length) if length == bytes.len() => Some(cid),
        _ => None,
    }
}

/// The roots in a header, `{"roots": [CID], "version": 1}` in DAG-CBOR.
fn roots(header: &[u8]) -> Result<Vec<Cid>, &'static str> {
    const BAD: &str = "it is no map of roots and version in DAG-CBOR";
    let (roots, version) = read_header(header).ok_or(BAD)?;
    match version {
        Some(1) => Ok(roots),
        Some(2) => Err("it is a CARv2"),
        _ => Err(BAD),
    }
}

/// The roots and the version in a header.
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
