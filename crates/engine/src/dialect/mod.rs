//! Dialects: the HTTP interfaces of systems that store files.
//!
//! A dialect converts a name, such as a CID, a key or a file, to the method, target, header fields and checks of a
//! plan. Dialects are used before a run, and never while load is generated. S3 is not a dialect. For S3,
//! `wire::s3::Addressing` adds buckets to URLs, and [`crate::plan::Auth`] signs each request.

mod alluxio;
mod filestash;
mod gateway;
mod http;
mod piece;
mod renterd;
mod siad;

pub use alluxio::Alluxio;
pub use filestash::{Connection, Filestash};
pub use gateway::{Format, Gateway};
pub use http::Http;
pub use piece::Piece;
pub use renterd::Renterd;
pub use siad::Siad;

use crate::plan::Opening;
use measure::OpKind;
use std::time::Duration;
use wire::gateway::Depth;

/// Kind of access to a named object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The content is read.
    Read,
    /// The entries are listed.
    List,
    /// The content is written.
    Write,
    /// The object is deleted.
    Delete,
}

/// The method, checks and timeouts that all requests of one kind share in a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The method.
    pub method: &'static str,
    /// Kind of the operations, for the results.
    pub kind: OpKind,
    /// Header fields that are sent unless the user sets them.
    pub headers: &'static [(&'static str, &'static str)],
    /// Header fields that a successful response must have.
    pub expected: &'static [(&'static str, &'static str)],
    /// `true` if the `ETag` of a successful response is the object's name.
    pub etag_is_name: bool,
    /// `true` if ranges may be requested.
    pub ranges: bool,
    /// Depth of the block checks, for bodies that are CARs or blocks from a gateway; `None` for other bodies.
    pub blocks: Option<Depth>,
    /// Default timeout for the head of a response and for the next byte of a body; `None` for the usual default.
    pub timeout: Option<Duration>,
}

impl Form {
    /// Returns a request that has only a method and a kind.
    pub(crate) const fn plain(method: &'static str, kind: OpKind) -> Self {
        let ranges = matches!(kind, OpKind::Get);
        Self { method, kind, headers: &[], expected: &[], etag_is_name: false, ranges, blocks: None, timeout: None }
    }

    /// Returns the plain request for systems that use GET, PUT and DELETE to read, write and delete objects, and that
    /// have no lists.
    pub(crate) const fn by_method(access: Access) -> Option<Self> {
        match access {
            Access::Read => Some(Self::plain("GET", OpKind::Get)),
            Access::Write => Some(Self::plain("PUT", OpKind::Put)),
            Access::Delete => Some(Self::plain("DELETE", OpKind::Delete)),
            Access::List => None,
        }
    }
}

/// Reason why a name is invalid in a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// The URL lacks the bucket.
    #[error("the URL needs the bucket as its path, for example http://:PASSWORD@localhost:9980/BUCKET")]
    NoBucket,
    /// The name is empty.
    #[error("a name is missing")]
    Empty,
    /// The name is not a CID.
    #[error("this is not a CID: write only the CID, such as baga6ea4seaq… or bafybei…")]
    NotCid,
    /// A block can be verified only by its own CID.
    #[error("--verify of a single block needs the CID of that block, not a path to it")]
    PathOfBlock,
    /// Only CARs and blocks can be verified.
    #[error("--verify checks CARs and single blocks: use format=car or format=raw")]
    NotVerifiable,
    /// A range of a file cannot be verified, because the client does not know which blocks the range needs.
    #[error("--verify cannot check that an entity-bytes range is complete: remove one of the two")]
    PartOfFile,
}

/// HTTP interface of one kind of storage system.
pub trait Dialect: std::fmt::Debug {
    /// Returns the form of requests for this kind of access; `None` if the system does not support this access.
    fn form(&self, access: Access) -> Option<Form>;

    /// Returns the encoded path and query for a name. `base` is the encoded path of the system on its server, without a
    /// slash at the end.
    ///
    /// # Errors
    /// Fails if the name is invalid.
    fn target(&self, access: Access, base: &str, name: &str) -> Result<String, BadName> {
        self.check_base(base)?;
        let key = name.strip_prefix('/').unwrap_or(name);
        if key.is_empty() {
            return Err(BadName::Empty);
        }
        let mut target = self.container(access, base).unwrap_or_else(|| base.to_owned());
        target.push('/');
        wire::percent::push_path(key, &mut target);
        if let Some(query) = self.query(access, base) {
            target.push('?');
            target.push_str(&query);
        }
        Ok(target)
    }

    /// Returns the path of the bucket or folder, which is the part of a target in front of the slash and the key.
    /// `None` for systems in which users cannot choose keys, because names are derived from the content.
    fn container(&self, access: Access, base: &str) -> Option<String>;

    /// Returns the query of every request, without the question mark; `None` if there is none.
    fn query(&self, _access: Access, _base: &str) -> Option<String> {
        None
    }

    /// Checks the path of the user's URL.
    ///
    /// # Errors
    /// Fails if the path lacks a part that the system needs.
    fn check_base(&self, _base: &str) -> Result<(), BadName> {
        Ok(())
    }

    /// Returns the request that opens a session, if the system needs one.
    fn opening(&self, _base: &str) -> Option<Opening> {
        None
    }
}

/// Checks that a text has only characters that can occur in a CID. The text is not decoded, because only the server
/// knows which CIDs it accepts.
fn check_cid(text: &str) -> Result<(), BadName> {
    match text {
        "" => Err(BadName::Empty),
        _ if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) => Ok(()),
        _ => Err(BadName::NotCid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CID: &str = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi";

    fn gateway(format: Format, depth: Depth) -> Gateway {
        Gateway { format, depth }
    }

    #[test]
    fn names_become_targets() {
        let car = gateway(Format::Car, Depth::Structure);
        let raw = gateway(Format::Raw, Depth::Structure);
        let filestash = Filestash::new(None);
        let cases: [(&dyn Dialect, Access, &str, &str, &str); 17] = [
            (&Http, Access::Read, "", "a b/c", "/a%20b/c"),
            (&Http, Access::Write, "/files", "/c?d", "/files/c%3Fd"),
            (&Piece, Access::Read, "", CID, "/piece/{CID}"),
            (&Piece, Access::Read, "/base", CID, "/base/piece/{CID}"),
            (&car, Access::Read, "", CID, "/ipfs/{CID}?format=car"),
            (&raw, Access::Read, "", CID, "/ipfs/{CID}?format=raw"),
            (&car, Access::Read, "", "{CID}/a b?dag-scope=block", "/ipfs/{CID}/a%20b?dag-scope=block&format=car"),
            (&car, Access::Read, "", "{CID}?format=raw", "/ipfs/{CID}?format=raw"),
            (&Alluxio, Access::Read, "/bucket", "k/1+2", "/bucket/k/1%2B2"),
            (&filestash, Access::List, "", "/", "/api/files/ls?path=/"),
            (&filestash, Access::Read, "/fs", "/d/1 M.bin", "/fs/api/files/cat?path=/d/1%20M.bin"),
            (&filestash, Access::Write, "", "new&a", "/api/files/save?path=/new%26a"),
            (&Renterd, Access::Write, "/bucket", "a b/c", "/api/worker/object/a%20b/c?bucket=bucket"),
            (&Renterd, Access::Delete, "/b/x/y", "/k", "/api/worker/object/x/y/k?bucket=b"),
            (&Siad, Access::Read, "", "a b", "/renter/download/a%20b?httpresp=true"),
            (&Siad, Access::Write, "/x", "a/b", "/renter/upload/x/a/b"),
            (&Siad, Access::Delete, "/x", "a/b", "/renter/delete/x/a/b"),
        ];
        for (dialect, access, base, name, target) in cases {
            let (name, target) = (name.replace("{CID}", CID), target.replace("{CID}", CID));
            assert_eq!(dialect.target(access, base, &name), Ok(target), "{dialect:?} {name}");
        }
    }

    #[test]
    fn invalid_names_are_refused() {
        let car = gateway(Format::Car, Depth::Structure);
        let verified = gateway(Format::Car, Depth::Blocks);
        let named = |rest: &str| format!("{CID}{rest}");
        for (dialect, name, why) in [
            (&Piece as &dyn Dialect, "", BadName::Empty),
            (&Piece, "a/b", BadName::NotCid),
            (&Piece, "http://host/piece/a", BadName::NotCid),
            (&car, "?format=car", BadName::Empty),
            (&car, "a b/c", BadName::NotCid),
            (&car, "bafyabc", BadName::NotCid),
            (&verified, &named("?format=tar"), BadName::NotVerifiable),
            (&verified, &named("/a?format=raw"), BadName::PathOfBlock),
            (&verified, &named("?dag-scope=entity&entity-bytes=0:9"), BadName::PartOfFile),
            (&Http, "/", BadName::Empty),
            (&Renterd, "a", BadName::NoBucket),
        ] {
            assert_eq!(dialect.target(Access::Read, "", name), Err(why), "{dialect:?} {name}");
        }
    }

    #[test]
    fn systems_have_their_requests() {
        let car = gateway(Format::Car, Depth::Structure);
        assert!(
            Piece.form(Access::Write).is_none()
                && car.form(Access::List).is_none()
                && Alluxio.form(Access::List).is_none()
        );
        assert!(!car.form(Access::Read).unwrap().ranges, "a CAR has no ranges");
        assert!(Piece.form(Access::Read).unwrap().ranges);
        assert!(Piece.container(Access::Read, "").is_none());
    }
}
