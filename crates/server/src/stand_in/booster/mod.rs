//! booster-http: whole pieces and ranges of them (`/piece/CID`), blocks and CARs (`/ipfs/CID`).
//!
//! The stand-in stores nothing. A rule decides whether a CID exists. A piece exists if its CID has the codec of piece
//! commitments (`fil-commitment-unsealed`, `baga6ea4seaq…`) or is the fixture of FRC-0066. Below `/ipfs/`, there is one
//! directory with one file. The CIDs of both are computed from their content. The content of every piece and of the
//! file is the server's pattern.
//!
//! The gateway can also imitate kubo, which has no pieces.

mod car;
pub(crate) mod cids;
mod dag;
mod gateway;
mod piece;

use std::sync::{Arc, OnceLock};

use cid::Cid;
use percent_encoding::percent_decode_str;
use wire::{Method, RequestHead};

use super::gzip::gzipped;
use crate::config::stand_in::{Booster, Gateway};
use crate::content::Content;
use crate::request::RequestFacts;
use crate::request::fields::{elements, weight};
use crate::request::target::Target;
use crate::response::{Media, Response};
use cids::{FIXTURE, PIECE_CODEC};
use dag::Dag;
use gateway::IpfsGateway;

/// Minimum size of a compressed body (gziphandler's `DefaultMinSize`).
const GZIP_MIN: u64 = 1400;
const INDEX: &str = "<!doctype html><title>booster-http (stand-in)</title><p>/piece/CID, /ipfs/CID, /info, /metrics\n";

/// The state of a booster-http stand-in.
#[derive(Debug)]
pub(crate) struct BoosterStandIn {
    config: Booster,
    /// The DAG, created on first use because hashing its leaves takes time.
    dag: OnceLock<Arc<Dag>>,
}

/// Creates the response to a request that is refused because too many requests are in service.
pub(crate) fn overloaded(head: &RequestHead) -> Response {
    let path = Target::parse(&head.target).map_or("", |target| target.path);
    let name = path.rsplit('/').next().unwrap_or(path);
    error(500, &format!("server error getting content for piece CID {name}: getting raw data from sector"))
}

/// Creates an error response in the format of booster-http's `writeError`.
fn error(status: u16, message: &str) -> Response {
    Response::text(status, format!("Error: {message}").into_bytes())
}

impl BoosterStandIn {
    pub(crate) fn new(config: Booster) -> Self {
        Self { config, dag: OnceLock::new() }
    }

    pub(crate) fn respond(&self, head: &RequestHead, target: Target<'_>, facts: &RequestFacts<'_>) -> Response {
        let reads = matches!(head.method, Method::Get | Method::Head);
        let mut response = match target.path {
            path if self.config.gateway == Gateway::Kubo && !path.starts_with("/ipfs/") => error(404, "not found"),
            _ if !reads => Response { allow: Some("GET, HEAD"), ..Response::text(405, &b"method not allowed"[..]) },
            "/" | "/index.html" => Response {
                media: Media::Named("text/html; charset=utf-8".into()),
                ..Response::text(200, INDEX.as_bytes())
            },
            "/info" => json(b"{\"Version\":\"0.3.0\"}\n"),
            "/metrics" => Response {
                media: Media::Named("text/plain; version=0.0.4".into()),
                ..Response::text(200, &b"# TYPE booster_http_up gauge\nbooster_http_up 1\n"[..])
            },
            path => match (path.strip_prefix("/piece/"), path.strip_prefix("/ipfs/")) {
                (Some(name), _) => self.piece(name, head, facts),
                (None, Some(name)) => self.ipfs(name, head, target, facts),
                (None, None) if path == "/piece" || path == "/ipfs" => error(404, "not found"),
                // Go's mux passes all other paths to the handler of the index page.
                (None, None) => Response {
                    media: Media::Named("text/html; charset=utf-8".into()),
                    ..Response::text(200, INDEX.as_bytes())
                },
            },
        };
        response.add_header("Access-Control-Allow-Origin: *");
        response
    }

    fn piece(&self, name: &str, head: &RequestHead, facts: &RequestFacts<'_>) -> Response {
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
        let response = piece::serve(&cid, self.config.piece_size.0, wrapped, head, facts);
        self.compressed(response, wrapped, head)
    }

    fn ipfs(&self, name: &str, head: &RequestHead, target: Target<'_>, facts: &RequestFacts<'_>) -> Response {
        let wrapped = self.compresses(facts);
        let dag = self.dag.get_or_init(|| Arc::new(Dag::new(self.config.car_size.0)));
        let Booster { gateway, missing_leaf, .. } = self.config;
        let response = IpfsGateway { gateway, dag, missing_leaf, wrapped }.respond(name, head, target, facts);
        self.compressed(response, wrapped, head)
    }

    /// Returns whether the response goes through the compressing handler.
    fn compresses(&self, facts: &RequestFacts<'_>) -> bool {
        let accepted = facts.fields.accept_encoding.as_deref().unwrap_or(b"");
        let gzip = |(name, parameters): (&str, Vec<(&str, &str)>)| {
            name.eq_ignore_ascii_case("gzip") && weight(&parameters) > 0.0
        };
        let level = if self.config.gateway == Gateway::Kubo { 0 } else { self.config.compression_level };
        level > 0 && elements(accepted).any(gzip)
    }

    /// Compresses a body that is large enough. A range is cut out of the piece before compression, so `Content-Range`
    /// does not describe the bytes of the body.
    fn compressed(&self, response: Response, wrapped: bool, head: &RequestHead) -> Response {
        let large = response.length.is_none_or(|length| length >= GZIP_MIN);
        let has_body = head.method == Method::Get && !matches!(response.content, Content::Empty);
        if !(wrapped && large && has_body) {
            return response;
        }
        let mut response = gzipped(response, self.config.compression_level);
        response.add_header("Content-Encoding: gzip");
        response
    }
}

fn json(text: &'static [u8]) -> Response {
    Response { media: Media::Named("application/json".into()), ..Response::text(200, text) }
}
