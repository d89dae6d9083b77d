//! booster-http: whole pieces and ranges of them (`/piece/CID`), blocks and CARs (`/ipfs/CID`).
//!
//! Which CIDs exist is a rule, since nothing is stored: a piece is there when its CID has the codec of piece commitments
//! (`fil-commitment-unsealed`, `baga6ea4seaq…`), or is the fixture of FRC-0066; below `/ipfs/` there is one file in one
//! directory, with the CIDs that they really have. Every piece, and the file, holds the server's pattern.
//!
//! The same gateway can be that of kubo, which has no pieces.

mod car;
mod dag;
mod piece;

use std::sync::{Arc, OnceLock};

use cid::Cid;
use cid::multihash::Multihash;
use measure::units::ByteSize;
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};
use wire::{Header, Method, RequestHead};

use super::fields::{elements, weight};
use super::make::gzipped;
use crate::answer::{Answer, Content, Facts, Media};
use crate::target::Target;
use dag::Dag;

/// The codec of a piece's CID, `fil-commitment-unsealed`.
const PIECE_CODEC: u64 = 0xf101;
/// The hash of a piece's CID, `sha2-256-trunc254-padded`.
const PIECE_HASH: u64 = 0x1012;
/// The piece of FRC-0066's test fixture, whose CID is not one of a piece commitment.
const FIXTURE: &str = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi";
/// A body below this is not compressed (gziphandler's `DefaultMinSize`).
const GZIP_MIN: u64 = 1400;
const CACHED: &str = "Cache-Control: public, max-age=29030400, immutable";
const INDEX: &str = "<!doctype html><title>booster-http (stand-in)</title><p>/piece/CID, /ipfs/CID, /info, /metrics\n";

/// What a [`Booster`] serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booster {
    /// The size of every piece.
    pub piece_size: ByteSize,
    /// The size of the file below `/ipfs/`.
    pub car_size: ByteSize,
    /// The level of compression for clients that accept gzip; 0 is none.
    pub compression_level: u32,
    /// Whose gateway it is.
    pub gateway: Gateway,
    /// The leaf of the file that is not there, counted from 0.
    pub missing_leaf: Option<u64>,
}

/// Gateways of IPFS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gateway {
    /// That of booster-http.
    #[default]
    Frisbii,
    /// That of kubo, alone.
    Kubo,
}

/// A [`Booster`] at work.
#[derive(Debug)]
pub(crate) struct BoosterPlayer {
    config: Booster,
    /// Made when it is asked for: its leaves have to be hashed.
    dag: OnceLock<Arc<Dag>>,
}

/// The CIDs of the file below `/ipfs/`, and of the directory that has it as `file`.
#[must_use]
pub fn file_cids(booster: &Booster) -> (String, String) {
    let dag = Dag::new(booster.car_size.0);
    (dag.cid(dag.file).to_string(), dag.directory.to_string())
}

impl Default for Booster {
    /// A piece of 32 GiB, which holds 127/128 of that in data; booster-http's own level of compression.
    fn default() -> Self {
        let (gateway, missing_leaf) = (Gateway::Frisbii, None);
        let piece_size = ByteSize((32 << 30) / 128 * 127);
        Self { piece_size, car_size: ByteSize(64 << 20), compression_level: 1, gateway, missing_leaf }
    }
}

/// The CID of the `index`-th of as many pieces as are wanted.
#[must_use]
pub fn piece_cid(index: u64) -> String {
    let mut digest: [u8; 32] = Sha256::digest(format!("plimsoll piece {index}")).into();
    // A piece's commitment is an element of a field of 254 bits.
    digest[31] &= 0x3f;
    Multihash::<64>::wrap(PIECE_HASH, &digest)
        .map_or_else(|_| String::new(), |hash| Cid::new_v1(PIECE_CODEC, hash).to_string())
}

/// The answer to a range when there are too many at once.
pub(crate) fn overloaded(head: &RequestHead) -> Answer {
    let path = Target::parse(&head.target).map_or("", |target| target.path);
    let name = path.rsplit('/').next().unwrap_or(path);
    error(500, &format!("server error getting content for piece CID {name}: getting raw data from sector"))
}

/// As `writeError` writes it.
fn error(status: u16, message: &str) -> Answer {
    Answer::text(status, format!("Error: {message}").into_bytes())
}

fn header(answer: &mut Answer, line: &str) {
    // All are made of constants, CIDs and paths that were read as such; what is not a header is not sent.
    answer.headers.extend(Header::parse(line));
}

impl BoosterPlayer {
    pub(crate) fn new(config: Booster) -> Self {
        Self { config, dag: OnceLock::new() }
    }

    pub(crate) fn answer(&self, head: &RequestHead, target: Target<'_>, facts: &Facts<'_>) -> Answer {
        let reads = matches!(head.method, Method::Get | Method::Head);
        let mut answer = match target.path {
            path if self.config.gateway == Gateway::Kubo && !path.starts_with("/ipfs/") => error(404, "not found"),
            _ if !reads => Answer { allow: Some("GET, HEAD"), ..Answer::text(405, &b"method not allowed"[..]) },
            "/" | "/index.html" => {
                Answer { media: Media::Named("text/html; charset=utf-8".into()), ..Answer::text(200, INDEX.as_bytes()) }
            }
            "/info" => json(b"{\"Version\":\"0.3.0\"}\n"),
            "/metrics" => Answer {
                media: Media::Named("text/plain; version=0.0.4".into()),
                ..Answer::text(200, &b"# TYPE booster_http_up gauge\nbooster_http_up 1\n"[..])
            },
            path => match (path.strip_prefix("/piece/"), path.strip_prefix("/ipfs/")) {
                (Some(name), _) => self.piece(name, head, facts),
                (None, Some(name)) => self.ipfs(name, head, target, facts),
                (None, None) if path == "/piece" || path == "/ipfs" => error(404, "not found"),
                // Go's mux sends whatever else there is to the index.
                (None, None) => Answer {
                    media: Media::Named("text/html; charset=utf-8".into()),
                    ..Answer::text(200, INDEX.as_bytes())
                },
            },
        };
        header(&mut answer, "Access-Control-Allow-Origin: *");
        answer
    }

    fn piece(&self, name: &str, head: &RequestHead, facts: &Facts<'_>) -> Answer {
        if name.is_empty() {
            return error(400, "path '/piece/' is missing piece CID");
        }
        let name = percent_decode_str(name).decode_utf8_lossy();
        let cid = match Cid::try_from(name.as_ref()) {
            Ok(cid) => cid,
            Err(cause) => return error(400, &format!("parsing piece CID '{name}': {cause}")),
        };
        if cid.codec() != PIECE_CODEC && name != FIXTURE {
            return error(
                404,
                &format!("getting sector info for piece {cid}: there are no deals containing piece {cid}: not found"),
            );
        }
        let wrapped = self.compresses(facts);
        let answer = piece::serve(&cid, self.config.piece_size.0, wrapped, head, facts);
        self.compressed(answer, wrapped, head)
    }

    fn ipfs(&self, name: &str, head: &RequestHead, target: Target<'_>, facts: &Facts<'_>) -> Answer {
        let wrapped = self.compresses(facts);
        let dag = self.dag.get_or_init(|| Arc::new(Dag::new(self.config.car_size.0)));
        let Booster { gateway, missing_leaf, .. } = self.config;
        let answer = car::Serving { gateway, dag, missing_leaf, wrapped }.answer(name, head, target, facts);
        self.compressed(answer, wrapped, head)
    }

    /// Whether the answer goes through the compressing handler.
    fn compresses(&self, facts: &Facts<'_>) -> bool {
        let accepted = facts.fields.accept_encoding.as_deref().unwrap_or(b"");
        let gzip = |(name, parameters): (&str, Vec<(&str, &str)>)| {
            name.eq_ignore_ascii_case("gzip") && weight(&parameters) > 0.0
        };
        let level = if self.config.gateway == Gateway::Kubo { 0 } else { self.config.compression_level };
        level > 0 && elements(accepted).any(gzip)
    }

    /// Compresses what is large enough, also a range, after it was cut out of the piece: `Content-Range` speaks of bytes
    /// that are not those of the body.
    fn compressed(&self, answer: Answer, wrapped: bool, head: &RequestHead) -> Answer {
        let large = answer.length.is_none_or(|length| length >= GZIP_MIN);
        let has_body = head.method == Method::Get && !matches!(answer.content, Content::Empty);
        if !(wrapped && large && has_body) {
            return answer;
        }
        let mut answer = gzipped(answer, self.config.compression_level);
        header(&mut answer, "Content-Encoding: gzip");
        answer
    }
}

fn json(text: &'static [u8]) -> Answer {
    Answer { media: Media::Named("application/json".into()), ..Answer::text(200, text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_pieces_are_cids_of_pieces() {
        let names: Vec<String> = (0..100).map(piece_cid).collect();
        for name in &names {
            assert!(name.starts_with("baga6ea4seaq"), "{name}");
            assert_eq!(Cid::try_from(name.as_str()).unwrap().codec(), PIECE_CODEC);
        }
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)));
    }

    #[test]
    fn a_piece_of_32_gib_holds_less() {
        assert_eq!(Booster::default().piece_size.0, 34_091_302_912);
    }
}
