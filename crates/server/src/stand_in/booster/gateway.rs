//! `/ipfs/CID`: the trustless gateway of booster-http (frisbii), or the gateway of kubo. Both serve the same DAG, a
//! directory with one file (see [`super::dag`]). No other CIDs exist.
//!
//! The two gateways fail in different ways. frisbii responds with 404 to an absent CID, and breaks off the response at
//! a missing block. kubo sends status 200 before it looks for the blocks. In both cases, it omits the missing blocks,
//! and ends the response as if the CAR were complete.

use std::collections::HashSet;
use std::sync::Arc;

use cid::Cid;
use percent_encoding::percent_decode_str;
use wire::RequestHead;

use super::car::{Car, Walk};
use super::cids::PIECE_CODEC;
use super::dag::{Dag, FILE_NAME, LEAF_BYTES, Node};
use super::piece::CACHED;
use crate::config::stand_in::Gateway;
use crate::content::Content;
use crate::request::RequestFacts;
use crate::request::fields::{elements, parameter, weight};
use crate::request::target::Target;
use crate::response::range::narrow_to_range;
use crate::response::{AcceptRanges, Media, Response};
use crate::stand_in::go::GO_BUFFER;

const CAR: &str = "application/vnd.ipld.car";
const RAW: &str = "application/vnd.ipld.raw";
/// The bytes that frisbii sends when a stream fails after its first byte: the beginning of the last chunk, without its
/// end.
const UNTERMINATED: &[u8] = b"0\r\n";
/// The root in kubo's CAR if a path does not resolve. This CID is an identity CID, so it contains its block, which is
/// empty.
const NOTHING: &str = "bafkqaaa";

/// The requested format.
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
pub(super) struct IpfsGateway<'a> {
    pub(super) gateway: Gateway,
    pub(super) dag: &'a Arc<Dag>,
    /// The number of the missing leaf; `None` if the gateway has all leaves.
    pub(super) missing_leaf: Option<u64>,
    /// `true` if the response goes through the handler that compresses.
    pub(super) wrapped: bool,
}

/// A request whose path has been resolved.
struct GatewayRequest<'a> {
    cid: Cid,
    format: Format,
    /// Nodes from the root to the end of the path. If the path does not resolve, the list ends at the last node that
    /// exists.
    nodes: Vec<Node>,
    /// `true` if the whole path resolves.
    found: bool,
    has_path: bool,
    head: &'a RequestHead,
    target: Target<'a>,
}

impl IpfsGateway<'_> {
    /// Returns the response for `name`, the part of the path after `/ipfs/`.
    pub(super) fn respond(
        self,
        name: &str,
        head: &RequestHead,
        target: Target<'_>,
        facts: &RequestFacts<'_>,
    ) -> Response {
        match self.decide(name, head, target, facts) {
            Ok(response) => response,
            Err((status, sentence)) => {
                Response { accept_ranges: AcceptRanges::Omitted, ..Response::text(status, sentence.into_bytes()) }
            }
        }
    }

    fn decide(
        self,
        name: &str,
        head: &RequestHead,
        target: Target<'_>,
        facts: &RequestFacts<'_>,
    ) -> Result<Response, (u16, String)> {
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
        let request = GatewayRequest { cid, format, nodes, found, has_path: !path.is_empty(), head, target };
        match (format, self.gateway) {
            (_, Gateway::Frisbii) if request.nodes.is_empty() => Err(absent(404)),
            (Format::Raw, _) if !found => {
                let path = target.path;
                Err((
                    404,
                    format!(
                        "failed to resolve {path}: block was not found locally (offline): ipld: could not find {cid}\n"
                    ),
                ))
            }
            (Format::Raw, _) => Ok(self.block(&request, facts)),
            (Format::Car { duplicates, .. }, _) => self.car(&request, duplicates).map_err(refuse),
        }
    }

    /// Returns the nodes of a path, and whether the whole path resolves.
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

    /// Returns the response with one block.
    fn block(self, request: &GatewayRequest<'_>, facts: &RequestFacts<'_>) -> Response {
        let node = request.nodes.last().copied().unwrap_or(Node::Directory);
        let length = self.dag.block_bytes(node);
        let (content, first) = match node {
            Node::Leaf(leaf) => (Content::Pattern, leaf * LEAF_BYTES),
            Node::Directory => (Content::Text(self.dag.directory_block.clone().into()), 0),
            Node::Inner(index) => (Content::Text(self.dag.inner[index].block.clone().into()), 0),
        };
        let ranges = if self.gateway == Gateway::Kubo { AcceptRanges::Bytes } else { AcceptRanges::None };
        let media = Media::Named(RAW.into());
        let mut response =
            Response { first, media, accept_ranges: ranges, ..Response::new(200, content, Some(length)) };
        self.add_headers(&mut response, request);
        if self.gateway == Gateway::Kubo {
            response = narrow_to_range(response, request.head, facts);
            // The range counts from the start of the leaf, but the content of the response counts from the start of the
            // pattern.
            response.first += if response.status == 206 { first } else { 0 };
        }
        response
    }

    /// Returns the response with a CAR.
    fn car(self, request: &GatewayRequest<'_>, duplicates: bool) -> Result<Response, &'static str> {
        let leaves = self.leaves(request)?;
        let scope = parameter(request.target, "dag-scope");
        let end = request.nodes.last().copied().filter(|_| request.found);
        let below = match (scope, end) {
            (_, None) | (Some("block"), _) | (Some("entity"), Some(Node::Directory)) => false,
            (None | Some("all" | "entity"), Some(_)) => true,
            (Some(_), Some(_)) => return Err("invalid dag-scope parameter"),
        };
        let count = request.nodes.len();
        let to_send = request.nodes.iter().enumerate().rev().map(|(at, node)| (*node, below && at + 1 == count));
        let root = match (self.gateway, end) {
            (Gateway::Kubo, Some(end)) => self.dag.cid(end),
            (Gateway::Kubo, None) if request.has_path => Cid::try_from(NOTHING).unwrap_or_default(),
            _ => request.cid,
        };
        let walk = Walk {
            dag: Arc::clone(self.dag),
            to_send: to_send.collect(),
            leaves,
            missing_leaf: self.missing_leaf,
            sent: (!duplicates).then(HashSet::new),
        };
        let car = Car::new(&root, walk);
        let (length, stops) = car.length();
        let media = Media::Named(request.format.media(self.gateway).into());
        let content = Content::Source(Box::new(car));
        let mut response = Response { media, accept_ranges: AcceptRanges::None, ..Response::new(200, content, None) };
        if self.gateway == Gateway::Frisbii {
            response.cut_tail = UNTERMINATED;
            response.body_faults.cut = length.filter(|_| stops);
        }
        if !stops {
            response.length = length.filter(|length| *length <= GO_BUFFER);
        }
        self.add_headers(&mut response, request);
        Ok(response)
    }

    /// Returns the leaves that `entity-bytes` selects, as a half-open range of their numbers.
    fn leaves(self, request: &GatewayRequest<'_>) -> Result<(u64, u64), &'static str> {
        const BAD_BYTES: &str = "invalid entity-bytes parameter";
        let whole = self.dag.leaves(request.nodes.last().copied().unwrap_or(Node::Directory));
        let Some(range) = parameter(request.target, "entity-bytes") else { return Ok(whole) };
        // kubo applies `entity-bytes` only with `dag-scope=entity`.
        if self.gateway == Gateway::Kubo && parameter(request.target, "dag-scope") != Some("entity") {
            return Ok(whole);
        }
        let size = (whole.1 - whole.0) * LEAF_BYTES;
        let (from, to) = range.split_once(':').ok_or(BAD_BYTES)?;
        // A negative offset is relative to the end.
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

    /// Adds the header fields that the imitated gateway sends.
    fn add_headers(self, response: &mut Response, request: &GatewayRequest<'_>) {
        let GatewayRequest { cid, target, format, .. } = request;
        let path = target.path;
        let is_raw = *format == Format::Raw;
        let name = if is_raw { format!("{cid}.bin") } else { format!("{cid}.car") };
        for line in [CACHED.to_owned(), "X-Content-Type-Options: nosniff".to_owned(), format!("X-Ipfs-Path: {path}")] {
            response.add_header(&line);
        }
        match self.gateway {
            Gateway::Frisbii => {
                let suffix = if self.wrapped { ".gz" } else { "" };
                let kind = if is_raw { "raw" } else { "car" };
                response.add_header(&format!("Content-Disposition: attachment; filename=\"{name}\""));
                // frisbii appends a hash of the request to the CID. The stand-in appends a constant instead.
                response.add_header(&format!("Etag: W/\"{cid}.{kind}.standin{suffix}\""));
                response.add_header("Vary: Accept, Accept-Encoding");
                if !request.has_path {
                    response.add_header(&format!("X-Ipfs-Roots: {cid}"));
                }
                if parameter(*target, "format").is_none() {
                    let query =
                        target.query.map_or_else(|| "format=car".to_owned(), |query| format!("{query}&format=car"));
                    response.add_header(&format!("Content-Location: {path}?{query}"));
                }
            }
            Gateway::Kubo => {
                response.add_header(&format!(
                    "Content-Disposition: attachment; filename=\"{name}\"; filename*=UTF-8''{name}"
                ));
                let etag = if is_raw { format!("\"{cid}.raw\"") } else { format!("W/\"{cid}.car.standin\"") };
                response.add_header(&format!("Etag: {etag}"));
                let roots: Vec<String> = if request.found {
                    request.nodes.iter().map(|node| self.dag.cid(*node).to_string()).collect()
                } else {
                    vec![cid.to_string()]
                };
                response.add_header(&format!("X-Ipfs-Roots: {}", roots.join(",")));
            }
        }
    }
}

/// Returns the format requested by the query parameter, or else by `Accept`. A request with neither is an error.
fn format(gateway: Gateway, target: Target<'_>, facts: &RequestFacts<'_>) -> Result<Format, &'static str> {
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

/// Returns the format with the highest weight in an `Accept` header. If several have this weight, returns the first.
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
