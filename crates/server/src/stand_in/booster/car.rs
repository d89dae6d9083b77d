//! `/ipfs/CID`: the trustless gateway in booster-http (frisbii), or that of kubo. Both serve one DAG: a file of the pattern in
//! a directory (see [`super::dag`]). Every other CID is absent.
//!
//! They differ in how they fail. frisbii answers 404 for an absent CID and breaks off at a block that it misses. kubo has sent
//! its status by then: what is left out is missing from a CAR whose chunks end properly.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use cid::Cid;
use percent_encoding::percent_decode_str;

use super::super::fields::{elements, parameter, weight};
use super::dag::{Dag, FILE_NAME, LEAF_BYTES, Node};
use super::{CACHED, Gateway, PIECE_CODEC, header};
use crate::answer::{AcceptRanges, Answer, Content, Facts, Media};
use crate::pattern::Pattern;
use crate::source::{Produced, Source};
use crate::target::Target;
use wire::RequestHead;

const CAR: &str = "application/vnd.ipld.car";
const RAW: &str = "application/vnd.ipld.raw";
/// What frisbii sends when a stream fails after its first byte: the beginning of the last chunk, and not its end.
const UNTERMINATED: &[u8] = b"0\r\n";
/// Up to so many bytes, Go knows the length of a body when it sends the head.
const GO_BUFFER: u64 = 2048;
/// The root that kubo names when a path leads nowhere: an empty block that is its own CID.
const NOTHING: &str = "bafkqaaa";

/// What a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Raw,
    Car { duplicates: bool, ordered: bool },
}

impl Format {
    fn media(self, gateway: Gateway) -> String {
        let blank = if gateway == Gateway::Kubo { " " } else { "" };
        match self {
            Self::Raw => RAW.to_owned(),
            Self::Car { duplicates, ordered } => {
                let (order, dups) = (if ordered { "dfs" } else { "unk" }, if duplicates { "y" } else { "n" });
                format!("{CAR};{blank}version=1;{blank}order={order};{blank}dups={dups}")
            }
        }
    }
}

/// A gateway with its DAG.
#[derive(Debug, Clone, Copy)]
pub(super) struct Serving<'a> {
    pub(super) gateway: Gateway,
    pub(super) dag: &'a Arc<Dag>,
    /// The leaf that is not there.
    pub(super) missing_leaf: Option<u64>,
    /// Whether the answer goes through the compressing handler.
    pub(super) wrapped: bool,
}

/// What a request is about.
struct Asked<'a> {
    cid: Cid,
    format: Format,
    /// Nodes from the root to the end of the path, or as far as it leads.
    nodes: Vec<Node>,
    /// Whether the path leads to its end.
    found: bool,
    has_path: bool,
    head: &'a RequestHead,
    target: Target<'a>,
}

impl Serving<'_> {
    /// The answer for what is `name`d behind `/ipfs/`.
    pub(super) fn answer(self, name: &str, head: &RequestHead, target: Target<'_>, facts: &Facts<'_>) -> Answer {
        match self.decide(name, head, target, facts) {
            Ok(answer) => answer,
            Err((status, sentence)) => {
                Answer { accept_ranges: AcceptRanges::Unsaid, ..Answer::text(status, sentence.into_bytes()) }
            }
        }
    }

    fn decide(
        self,
        name: &str,
        head: &RequestHead,
        target: Target<'_>,
        facts: &Facts<'_>,
    ) -> Result<Answer, (u16, String)> {
        let refuse = |sentence: &str| (400, sentence.to_owned());
        if name.is_empty() {
            return Err((404, "not found".to_owned()));
        }
        let format = format(self.gateway, target, facts).map_err(refuse)?;
        let (root, path) = name.split_once('/').unwrap_or((name, ""));
        let root = percent_decode_str(root).decode_utf8_lossy();
        let cid = Cid::try_from(root.as_ref()).map_err(|cause| match self.gateway {
            Gateway::Frisbii => refuse("failed to parse CID path parameter"),
            Gateway::Kubo => (400, format!("invalid path \"{}\": invalid cid: {cause}\n", target.path)),
        })?;
        if self.gateway == Gateway::Frisbii && format == Format::Raw && !path.is_empty() {
            return Err(refuse("path not supported for raw requests"));
        }
        let absent =
            |status| (status, format!("failed to load root node: failed to load root CID: ipld: could not find {cid}"));
        if cid.codec() == PIECE_CODEC {
            let only_cached =
                facts.fields.cache_control.as_deref().unwrap_or(b"").eq_ignore_ascii_case(b"only-if-cached");
            return Err(absent(if only_cached { 412 } else { 500 }));
        }
        let (nodes, found) = self.resolve(&cid, path);
        let asked = Asked { cid, format, nodes, found, has_path: !path.is_empty(), head, target };
        match (format, self.gateway) {
            (_, Gateway::Frisbii) if asked.nodes.is_empty() => Err(absent(404)),
            (Format::Raw, _) if !found => {
                let path = target.path;
                Err((
                    404,
                    format!(
                        "failed to resolve {path}: block was not found locally (offline): ipld: could not find {cid}\n"
                    ),
                ))
            }
            (Format::Raw, _) => Ok(self.block(&asked, facts)),
            (Format::Car { duplicates, .. }, _) => self.car(&asked, duplicates).map_err(refuse),
        }
    }

    /// The nodes of a path, and whether it leads to its end.
    fn resolve(self, cid: &Cid, path: &str) -> (Vec<Node>, bool) {
        let Some(root) = self.dag.find(cid) else { return (Vec::new(), false) };
        let mut nodes = vec![root];
        for name in path.split('/').filter(|name| !name.is_empty()) {
            match nodes.last() {
                Some(Node::Directory) if name == FILE_NAME => nodes.push(self.dag.file),
                _ => return (nodes, false),
            }
        }
        (nodes, true)
    }

    /// One block.
    fn block(self, asked: &Asked<'_>, facts: &Facts<'_>) -> Answer {
        let node = asked.nodes.last().copied().unwrap_or(Node::Directory);
        let length = self.dag.block_bytes(node);
        let (content, first) = match node {
            Node::Leaf(leaf) => (Content::Pattern, leaf * LEAF_BYTES),
            Node::Directory => (Content::Text(self.dag.directory_block.clone().into()), 0),
            Node::Inner(index) => (Content::Text(self.dag.inner[index].block.clone().into()), 0),
        };
        let ranges = if self.gateway == Gateway::Kubo { AcceptRanges::Bytes } else { AcceptRanges::None };
        let media = Media::Named(RAW.into());
        let mut answer = Answer { first, media, accept_ranges: ranges, ..Answer::of(200, content, Some(length)) };
        self.headers(&mut answer, asked);
        if self.gateway == Gateway::Kubo {
            answer = crate::answer::ranged(answer, asked.head, facts);
            // The leaf lies somewhere in the pattern.
            answer.first += if answer.status == 206 { first } else { 0 };
        }
        answer
    }

    fn car(self, asked: &Asked<'_>, duplicates: bool) -> Result<Answer, &'static str> {
        let leaves = self.leaves(asked)?;
        let scope = parameter(asked.target, "dag-scope");
        let end = asked.nodes.last().copied().filter(|_| asked.found);
        let below = match (scope, end) {
            (_, None) | (Some("block"), _) | (Some("entity"), Some(Node::Directory)) => false,
            (None | Some("all" | "entity"), Some(_)) => true,
            (Some(_), Some(_)) => return Err("invalid dag-scope parameter"),
        };
        let count = asked.nodes.len();
        let to_send = asked.nodes.iter().enumerate().rev().map(|(at, node)| (*node, below && at + 1 == count));
        let root = match (self.gateway, end) {
            (Gateway::Kubo, Some(end)) => self.dag.cid(end),
            (Gateway::Kubo, None) if asked.has_path => Cid::try_from(NOTHING).unwrap_or_default(),
            _ => asked.cid,
        };
        let walk = Walk {
            dag: Arc::clone(self.dag),
            to_send: to_send.collect(),
            leaves,
            missing_leaf: self.missing_leaf,
            sent: (!duplicates).then(HashSet::new),
        };
        let car = Car { walk, ready: car_header(&root), at: 0 };
        let (length, stops) = car.length();
        let media = Media::Named(asked.format.media(self.gateway).into());
        let content = Content::Source(Box::new(car));
        let mut answer = Answer { media, accept_ranges: AcceptRanges::None, ..Answer::of(200, content, None) };
        if self.gateway == Gateway::Frisbii {
            answer.cut_tail = UNTERMINATED;
            answer.spoil.cut = length.filter(|_| stops);
        }
        if !stops {
            answer.length = length.filter(|length| *length <= GO_BUFFER);
        }
        self.headers(&mut answer, asked);
        Ok(answer)
    }

    /// The numbers of the first leaf and of the one behind the last that `entity-bytes` leaves.
    fn leaves(self, asked: &Asked<'_>) -> Result<(u64, u64), &'static str> {
        const BAD_BYTES: &str = "invalid entity-bytes parameter";
        let whole = self.dag.leaves(asked.nodes.last().copied().unwrap_or(Node::Directory));
        let Some(range) = parameter(asked.target, "entity-bytes") else { return Ok(whole) };
        // kubo heeds it in that scope alone.
        if self.gateway == Gateway::Kubo && parameter(asked.target, "dag-scope") != Some("entity") {
            return Ok(whole);
        }
        let size = (whole.1 - whole.0) * LEAF_BYTES;
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
        let count = whole.1 - whole.0;
        let first = (first / LEAF_BYTES).min(count - 1);
        Ok((whole.0 + first, whole.0 + (last / LEAF_BYTES + 1).clamp(first + 1, count)))
    }

    fn headers(self, answer: &mut Answer, asked: &Asked<'_>) {
        let Asked { cid, target, format, .. } = asked;
        let path = target.path;
        let is_raw = *format == Format::Raw;
        let name = if is_raw { format!("{cid}.bin") } else { format!("{cid}.car") };
        for line in [CACHED.to_owned(), "X-Content-Type-Options: nosniff".to_owned(), format!("X-Ipfs-Path: {path}")] {
            header(answer, &line);
        }
        match self.gateway {
            Gateway::Frisbii => {
                let suffix = if self.wrapped { ".gz" } else { "" };
                let kind = if is_raw { "raw" } else { "car" };
                header(answer, &format!("Content-Disposition: attachment; filename=\"{name}\""));
                // frisbii appends a hash of the request to the CID; that of a stand-in is a constant.
                header(answer, &format!("Etag: W/\"{cid}.{kind}.standin{suffix}\""));
                header(answer, "Vary: Accept, Accept-Encoding");
                if !asked.has_path {
                    header(answer, &format!("X-Ipfs-Roots: {cid}"));
                }
                if parameter(*target, "format").is_none() {
                    let query =
                        target.query.map_or_else(|| "format=car".to_owned(), |query| format!("{query}&format=car"));
                    header(answer, &format!("Content-Location: {path}?{query}"));
                }
            }
            Gateway::Kubo => {
                header(
                    answer,
                    &format!("Content-Disposition: attachment; filename=\"{name}\"; filename*=UTF-8''{name}"),
                );
                let etag = if is_raw { format!("\"{cid}.raw\"") } else { format!("W/\"{cid}.car.standin\"") };
                header(answer, &format!("Etag: {etag}"));
                let roots: Vec<String> = if asked.found {
                    asked.nodes.iter().map(|node| self.dag.cid(*node).to_string()).collect()
                } else {
                    vec![cid.to_string()]
                };
                header(answer, &format!("X-Ipfs-Roots: {}", roots.join(",")));
            }
        }
    }
}

/// The parameter decides before the header; with neither there is nothing to answer with.
fn format(gateway: Gateway, target: Target<'_>, facts: &Facts<'_>) -> Result<Format, &'static str> {
    let default = Format::Car { duplicates: gateway == Gateway::Frisbii, ordered: true };
    let accepted = facts.fields.accept.as_deref().map(accepted);
    match (parameter(target, "format"), accepted) {
        (Some("raw"), _) => Ok(Format::Raw),
        (Some("car"), Some(Some(car @ Format::Car { .. }))) => Ok(car),
        (Some("car"), _) => Ok(default),
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

/// The blocks of a CAR, in order.
#[derive(Debug, Clone)]
struct Walk {
    dag: Arc<Dag>,
    /// Nodes that are still to be sent, the next one last, and whether what is below them follows.
    to_send: Vec<(Node, bool)>,
    leaves: (u64, u64),
    missing_leaf: Option<u64>,
    /// The leaves that were sent, where none is to be sent twice.
    sent: Option<HashSet<Cid>>,
}

/// What comes next in a walk.
enum Step {
    Block(Node),
    /// The next block is not there.
    Missing,
    End,
}

impl Walk {
    fn next(&mut self) -> Step {
        while let Some((node, below)) = self.to_send.pop() {
            if below {
                let (from, to) = self.leaves;
                let wanted = |child: &&Node| {
                    let (first, end) = self.dag.leaves(**child);
                    first < to && end > from
                };
                let children = self.dag.children(node).iter().filter(wanted).rev();
                self.to_send.extend(children.map(|child| (*child, true)));
            }
            if let Node::Leaf(leaf) = node {
                if self.missing_leaf == Some(leaf) {
                    return Step::Missing;
                }
                let is_new = self.sent.as_mut().is_none_or(|sent| sent.insert(self.dag.cid(node)));
                if !is_new {
                    continue;
                }
            }
            return Step::Block(node);
        }
        Step::End
    }
}

/// A CARv1 while it is made.
#[derive(Debug)]
struct Car {
    walk: Walk,
    /// What is made and not yet given away, from `at` on.
    ready: Vec<u8>,
    at: usize,
}

impl Car {
    /// Its length, as far as it matters: `None` for one that is larger than Go's buffer and whole. And whether a block is missing.
    fn length(&self) -> (Option<u64>, bool) {
        let mut walk = self.walk.clone();
        let mut length = self.ready.len() as u64;
        loop {
            match walk.next() {
                Step::End => return (Some(length), false),
                Step::Missing => return (Some(length), true),
                Step::Block(node) => {
                    let section = walk.dag.cid(node).to_bytes().len() as u64 + walk.dag.block_bytes(node);
                    let mut varint = Vec::new();
                    write_varint(section, &mut varint);
                    length += varint.len() as u64 + section;
                }
            }
            if length > GO_BUFFER && walk.missing_leaf.is_none() {
                return (None, false);
            }
        }
    }

    fn make_block(&mut self, node: Node, pattern: &Pattern) {
        let dag = &self.walk.dag;
        let cid = dag.cid(node).to_bytes();
        self.ready.clear();
        self.at = 0;
        write_varint(cid.len() as u64 + dag.block_bytes(node), &mut self.ready);
        self.ready.extend_from_slice(&cid);
        match node {
            Node::Leaf(leaf) => pattern.append(leaf * LEAF_BYTES, dag.block_bytes(node) as usize, &mut self.ready),
            Node::Directory => self.ready.extend_from_slice(&dag.directory_block),
            Node::Inner(index) => self.ready.extend_from_slice(&dag.inner[index].block),
        }
    }
}

impl Source for Car {
    fn produce(&mut self, pattern: &Pattern, room: usize, out: &mut Vec<u8>) -> io::Result<Produced> {
        if self.at == self.ready.len() {
            match self.walk.next() {
                Step::Block(node) => self.make_block(node, pattern),
                // Where that is a failure, the answer breaks off here.
                Step::Missing | Step::End => return Ok(Produced::End),
            }
        }
        let end = self.ready.len().min(self.at + room);
        out.extend_from_slice(&self.ready[self.at..end]);
        self.at = end;
        Ok(Produced::Piece)
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
pub(super) fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number as u8) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
