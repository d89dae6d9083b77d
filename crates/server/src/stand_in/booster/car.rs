//! `/ipfs/CID`: the trustless gateway in booster-http (frisbii). A CAR has a valid header and blocks whose CIDs are those
//! of their bytes, but the blocks are made up: no link leads from the root that was asked for to them.

use std::io;

use cid::Cid;
use cid::multihash::Multihash;
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};

use super::super::fields::{elements, parameter, weight};
use super::{CACHED, PIECE_CODEC, header};
use crate::answer::{AcceptRanges, Answer, Content, Facts, Media};
use crate::pattern::Pattern;
use crate::source::{Produced, Source};
use crate::target::Target;

/// Bytes of each block but the last.
const BLOCK_BYTES: u64 = 256 * 1024;
/// The codec of blocks that are bytes and nothing else.
const RAW_CODEC: u64 = 0x55;
const SHA2_256: u64 = 0x12;
const CAR: &str = "application/vnd.ipld.car";
const RAW: &str = "application/vnd.ipld.raw";
/// What frisbii sends when a stream fails after its first byte: the beginning of the last chunk, and not its end.
const UNTERMINATED: &[u8] = b"0\r\n";

/// What a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Raw,
    Car { duplicates: bool, ordered: bool },
}

impl Format {
    fn media(self) -> String {
        match self {
            Self::Raw => RAW.to_owned(),
            Self::Car { duplicates, ordered } => {
                let (order, dups) = (if ordered { "dfs" } else { "unk" }, if duplicates { "y" } else { "n" });
                format!("{CAR};version=1;order={order};dups={dups}")
            }
        }
    }
}

/// The answer for what is `name`d behind `/ipfs/`, with `size` bytes of blocks.
pub(super) fn serve(name: &str, size: u64, wrapped: bool, target: Target<'_>, facts: &Facts<'_>) -> Answer {
    match answer(name, size, wrapped, target, facts) {
        Ok(answer) => answer,
        Err((status, sentence)) => {
            Answer { accept_ranges: AcceptRanges::Unsaid, ..Answer::text(status, sentence.into_bytes()) }
        }
    }
}

fn answer(
    name: &str,
    size: u64,
    wrapped: bool,
    target: Target<'_>,
    facts: &Facts<'_>,
) -> Result<Answer, (u16, String)> {
    let refuse = |sentence: &str| (400, sentence.to_owned());
    if name.is_empty() {
        return Err((404, "not found".to_owned()));
    }
    let format = format(target, facts).map_err(refuse)?;
    let (root, path) = name.split_once('/').unwrap_or((name, ""));
    let root = percent_decode_str(root).decode_utf8_lossy();
    let cid = Cid::try_from(root.as_ref()).map_err(|_| refuse("failed to parse CID path parameter"))?;
    if format == Format::Raw && !path.is_empty() {
        return Err(refuse("path not supported for raw requests"));
    }
    if cid.codec() == PIECE_CODEC {
        let only_cached = facts.fields.cache_control.as_deref().unwrap_or(b"").eq_ignore_ascii_case(b"only-if-cached");
        let status = if only_cached { 412 } else { 500 };
        return Err((status, format!("failed to load root node: failed to load root CID: ipld: could not find {cid}")));
    }
    let blocks = blocks(size, target).map_err(refuse)?;
    let content = match format {
        Format::Raw => Car::raw(size),
        Format::Car { .. } => Car::new(&cid, size, blocks),
    };
    let media = Media::Named(format.media().into());
    let content = Content::Source(Box::new(content));
    let mut answer =
        Answer { media, accept_ranges: AcceptRanges::None, cut_tail: UNTERMINATED, ..Answer::of(200, content, None) };
    headers(&mut answer, &cid, target, wrapped);
    Ok(answer)
}

fn headers(answer: &mut Answer, cid: &Cid, target: Target<'_>, wrapped: bool) {
    let suffix = if wrapped { ".gz" } else { "" };
    // frisbii appends a hash of the request to the CID; that of a stand-in is the request's CID again.
    let path = target.path;
    let format = target.query.unwrap_or("format=car");
    for line in [
        format!("Content-Disposition: attachment; filename=\"{cid}.car\""),
        CACHED.to_owned(),
        format!("Etag: \"{cid}.car.standin{suffix}\""),
        "X-Content-Type-Options: nosniff".to_owned(),
        format!("X-Ipfs-Path: {path}"),
        format!("X-Ipfs-Roots: {cid}"),
        format!("Content-Location: {path}?{format}"),
        "Vary: Accept, Accept-Encoding".to_owned(),
    ] {
        header(answer, &line);
    }
}

/// The parameter decides before the header; with neither there is nothing to answer with.
fn format(target: Target<'_>, facts: &Facts<'_>) -> Result<Format, &'static str> {
    const DEFAULT: Format = Format::Car { duplicates: true, ordered: true };
    let accepted = facts.fields.accept.as_deref().map(accepted);
    match (parameter(target, "format"), accepted) {
        (Some("raw"), _) => Ok(Format::Raw),
        (Some("car"), Some(Some(car @ Format::Car { .. }))) => Ok(car),
        (Some("car"), _) => Ok(DEFAULT),
        (Some(_), _) => Err("invalid format parameter; unsupported"),
        (None, Some(Some(format))) => Ok(format),
        (None, Some(None)) => Err("invalid Accept header; unsupported"),
        (None, None) => Err("neither a valid Accept header nor format parameter were provided"),
    }
}

/// What an `Accept` asks for, by weight and then by order.
fn accepted(list: &[u8]) -> Option<Format> {
    let mut best: Option<(f64, Format)> = None;
    for (media, parameters) in elements(list) {
        let get = |name: &str| parameters.iter().find(|(found, _)| *found == name).map(|(_, value)| *value);
        let format = match media {
            RAW => Some(Format::Raw),
            CAR | "application/*" | "*/*" => match (get("version"), get("order"), get("dups")) {
                (None | Some("1"), order @ (None | Some("dfs" | "unk")), dups @ (None | Some("y" | "n"))) => {
                    Some(Format::Car { duplicates: dups != Some("n"), ordered: order != Some("unk") })
                }
                _ => None,
            },
            _ => None,
        };
        let weight = weight(&parameters);
        if let Some(format) = format.filter(|_| weight > 0.0 && best.is_none_or(|(most, _)| weight > most)) {
            best = Some((weight, format));
        }
    }
    best.map(|(_, format)| format)
}

/// The numbers of the first block and the one after the last that `dag-scope` and `entity-bytes` leave.
fn blocks(size: u64, target: Target<'_>) -> Result<(u64, u64), &'static str> {
    const BAD_BYTES: &str = "invalid entity-bytes parameter";
    let all = size.div_ceil(BLOCK_BYTES).max(1);
    match parameter(target, "dag-scope") {
        None | Some("all" | "entity") => {}
        Some("block") => return Ok((0, 1)),
        Some(_) => return Err("invalid dag-scope parameter"),
    }
    let Some(range) = parameter(target, "entity-bytes") else { return Ok((0, all)) };
    let (from, to) = range.split_once(':').ok_or(BAD_BYTES)?;
    // A negative offset counts from the end.
    let offset = |text: &str| -> Result<u64, &'static str> {
        let offset: i64 = text.parse().map_err(|_| BAD_BYTES)?;
        let back = offset.unsigned_abs();
        Ok(if offset < 0 { size.saturating_sub(back) } else { back })
    };
    let first = offset(from)?;
    let last = if to == "*" { size } else { offset(to)? };
    if last < first {
        return Err(BAD_BYTES);
    }
    let first = (first / BLOCK_BYTES).min(all - 1);
    Ok((first, (last / BLOCK_BYTES + 1).clamp(first + 1, all)))
}

/// A CARv1 while it is made, or one bare block.
#[derive(Debug)]
struct Car {
    size: u64,
    next: u64,
    end: u64,
    framed: bool,
    /// What is made and not yet given away, from `at` on.
    ready: Vec<u8>,
    at: usize,
}

impl Car {
    fn new(root: &Cid, size: u64, (next, end): (u64, u64)) -> Self {
        Self { size, next, end, framed: true, ready: car_header(root), at: 0 }
    }

    fn raw(size: u64) -> Self {
        Self { size, next: 0, end: 1, framed: false, ready: Vec::new(), at: 0 }
    }

    fn make_block(&mut self, pattern: &Pattern) -> io::Result<()> {
        self.ready.clear();
        self.at = 0;
        let first = self.next * BLOCK_BYTES;
        let length = self.size.saturating_sub(first).min(BLOCK_BYTES) as usize;
        self.next += 1;
        let mut data = Vec::with_capacity(length);
        pattern.append(first, length, &mut data);
        if !self.framed {
            self.ready = data;
            return Ok(());
        }
        let hash = Multihash::<64>::wrap(SHA2_256, &Sha256::digest(&data)).map_err(io::Error::other)?;
        let cid = Cid::new_v1(RAW_CODEC, hash).to_bytes();
        write_varint((cid.len() + data.len()) as u64, &mut self.ready);
        self.ready.extend_from_slice(&cid);
        self.ready.append(&mut data);
        Ok(())
    }
}

impl Source for Car {
    fn produce(&mut self, pattern: &Pattern, room: usize, out: &mut Vec<u8>) -> io::Result<Produced> {
        if self.at == self.ready.len() {
            if self.next == self.end {
                return Ok(Produced::End);
            }
            self.make_block(pattern)?;
        }
        let end = self.ready.len().min(self.at + room);
        out.extend_from_slice(&self.ready[self.at..end]);
        self.at = end;
        // An empty block has no bytes to give.
        Ok(if out.is_empty() { Produced::End } else { Produced::Piece })
    }
}

/// The header of a CARv1 with one root: its length, then `{"roots": [CID], "version": 1}` in DAG-CBOR.
fn car_header(root: &Cid) -> Vec<u8> {
    let cid = root.to_bytes();
    let mut cbor = b"\xa2\x65roots\x81\xd8\x2a".to_vec();
    // A byte string (major type 2) of the CID behind a zero byte, the identity multibase.
    let length = cid.len() + 1;
    match u8::try_from(length) {
        Ok(short @ 0..24) => cbor.push(0x40 | short),
        Ok(length) => cbor.extend([0x58, length]),
        Err(_) => cbor.extend([0x59, (length >> 8) as u8, length as u8]),
    }
    cbor.push(0);
    cbor.extend_from_slice(&cid);
    cbor.extend_from_slice(b"\x67version\x01");
    let mut header = Vec::new();
    write_varint(cbor.len() as u64, &mut header);
    header.append(&mut cbor);
    header
}

/// Unsigned LEB128.
fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number as u8) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
