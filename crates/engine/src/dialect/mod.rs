//! Dialects: how a system that stores files is asked for them over HTTP.
//!
//! A dialect turns what a user names (a CID, a key, a file) into the method, target, header fields and checks of a plan. It
//! works at the edge, before a run: nothing here is called while load is made. S3 has none: where its buckets stand is
//! `wire::s3::Addressing`, and its signatures are [`crate::plan::Auth`], which every request needs anew.

mod alluxio;
mod filestash;
mod gateway;
mod http;
mod piece;

pub use alluxio::Alluxio;
pub use filestash::{Connection, Filestash};
pub use gateway::{Format, Gateway};
pub use http::Http;
pub use piece::Piece;

use crate::plan::Opening;
use measure::OpKind;
use wire::gateway::Depth;

/// What is asked of a thing that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Its content.
    Read,
    /// What is in it.
    List,
    /// To become what is sent.
    Write,
}

/// What all requests of one kind have in common in a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The method.
    pub method: &'static str,
    /// What the operations are called in the figures.
    pub kind: OpKind,
    /// Header fields that are sent unless the user gives others of that name.
    pub headers: &'static [(&'static str, &'static str)],
    /// Header fields that a good answer has.
    pub expected: &'static [(&'static str, &'static str)],
    /// Whether `ETag` of a good answer is the object's name.
    pub etag_is_name: bool,
    /// Whether a slice may be asked for.
    pub ranges: bool,
    /// How closely bodies are looked at that are CARs or blocks of a gateway.
    pub blocks: Option<Depth>,
}

impl Form {
    /// A request that nothing is to be said about but its method.
    pub(crate) const fn plain(method: &'static str, kind: OpKind) -> Self {
        let ranges = matches!(kind, OpKind::Get);
        Self { method, kind, headers: &[], expected: &[], etag_is_name: false, ranges, blocks: None }
    }
}

/// Why a name means nothing in a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// It is empty.
    #[error("a name is missing")]
    Empty,
    /// A CID was needed.
    #[error("this is no CID: write it alone, like baga6ea4seaq… or bafybei…")]
    NotCid,
    /// A block is verified by its own CID.
    #[error("--verify of a single block needs the CID of that block, not a path to it")]
    PathOfBlock,
    /// Only CARs and blocks can be verified.
    #[error("--verify checks CARs and single blocks: write format=car or format=raw")]
    NotVerifiable,
    /// Which blocks hold a range of a file is not known here.
    #[error("--verify cannot check that an entity-bytes range is complete: leave out one of the two")]
    PartOfFile,
}

/// How a system is asked.
pub trait Dialect: std::fmt::Debug {
    /// The form of such a request; `None` when the system has none.
    fn form(&self, ask: Ask) -> Option<Form>;

    /// Path and query of a thing, in the form in which they are sent. `base` is the path of the system at its server, encoded,
    /// without a slash at its end.
    ///
    /// # Errors
    /// When nothing can be called that.
    fn target(&self, ask: Ask, base: &str, name: &str) -> Result<String, BadName> {
        let key = name.strip_prefix('/').unwrap_or(name);
        if key.is_empty() {
            return Err(BadName::Empty);
        }
        let mut target = self.container(ask, base).unwrap_or_else(|| base.to_owned());
        target.push('/');
        wire::percent::push_path(key, &mut target);
        Ok(target)
    }

    /// What comes before a slash and a key, where users choose the keys; `None` where names follow from content.
    fn container(&self, ask: Ask, base: &str) -> Option<String>;

    /// How a session is opened, where one is needed.
    fn opening(&self, _base: &str) -> Option<Opening> {
        None
    }
}

/// Whether a text can be a CID: it is not decoded, since only the server knows which ones it takes.
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
        let cases: [(&dyn Dialect, Ask, &str, &str, &str); 12] = [
            (&Http, Ask::Read, "", "a b/c", "/a%20b/c"),
            (&Http, Ask::Write, "/files", "/c?d", "/files/c%3Fd"),
            (&Piece, Ask::Read, "", CID, "/piece/{CID}"),
            (&Piece, Ask::Read, "/base", CID, "/base/piece/{CID}"),
            (&car, Ask::Read, "", CID, "/ipfs/{CID}?format=car"),
            (&raw, Ask::Read, "", CID, "/ipfs/{CID}?format=raw"),
            (&car, Ask::Read, "", "{CID}/a b?dag-scope=block", "/ipfs/{CID}/a%20b?dag-scope=block&format=car"),
            (&car, Ask::Read, "", "{CID}?format=raw", "/ipfs/{CID}?format=raw"),
            (&Alluxio, Ask::Read, "/bucket", "k/1+2", "/bucket/k/1%2B2"),
            (&filestash, Ask::List, "", "/", "/api/files/ls?path=/"),
            (&filestash, Ask::Read, "/fs", "/d/1 M.bin", "/fs/api/files/cat?path=/d/1%20M.bin"),
            (&filestash, Ask::Write, "", "new&a", "/api/files/save?path=/new%26a"),
        ];
        for (dialect, ask, base, name, target) in cases {
            let (name, target) = (name.replace("{CID}", CID), target.replace("{CID}", CID));
            assert_eq!(dialect.target(ask, base, &name), Ok(target), "{dialect:?} {name}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
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
        ] {
            assert_eq!(dialect.target(Ask::Read, "", name), Err(why), "{dialect:?} {name}");
        }
    }

    #[test]
    fn systems_have_the_requests_they_have() {
        let car = gateway(Format::Car, Depth::Structure);
        assert!(Piece.form(Ask::Write).is_none() && car.form(Ask::List).is_none() && Alluxio.form(Ask::List).is_none());
        assert!(!car.form(Ask::Read).unwrap().ranges, "a CAR has no ranges");
        assert!(Piece.form(Ask::Read).unwrap().ranges);
        assert!(Piece.container(Ask::Read, "").is_none());
    }
}
