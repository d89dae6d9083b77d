//! What a request to a gateway asks for, read from its target.

use crate::percent::{Blank, decoded_text};
use cid::Cid;

/// What the response must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The CID in the path.
    pub root: Cid,
    /// Names behind the CID, decoded.
    pub path: Vec<Box<str>>,
    /// What is wanted of the block that the path leads to.
    pub scope: Scope,
    /// Whether only a range of a file's bytes is wanted.
    pub entity_bytes: bool,
    /// The format of the response.
    pub format: Format,
}

/// The value of `dag-scope`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The block alone.
    Block,
    /// A file with all of its blocks; a directory without its entries.
    Entity,
    /// The block with everything below it.
    All,
}

/// The value of `format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A CAR. The default of this program's requests.
    Car,
    /// One block.
    Raw,
    /// Something that is not checked.
    Other,
}

impl Asked {
    /// Reads path and query of a request, like `/ipfs/CID/a/b?dag-scope=block`. What stands before `/ipfs/` is ignored.
    #[must_use]
    pub fn of_target(target: &str) -> Option<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        const PLACE: &str = "ipfs/";
        let after_slash = path.match_indices(PLACE).filter(|(at, _)| path[..*at].ends_with('/'));
        let mut places = after_slash.map(|(at, _)| &path[at + PLACE.len()..]);
        let (root, path) = places.find_map(|rest| {
            let (cid, path) = rest.split_once('/').unwrap_or((rest, ""));
            Some((Cid::try_from(cid).ok()?, path))
        })?;
        let get = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find_map(|(found, value)| (found == name).then_some(value))
        };
        let names = path.split('/').filter(|name| !name.is_empty());
        Some(Self {
            root,
            path: names.map(|name| Some(decoded_text(name, Blank::Escape)?.into())).collect::<Option<_>>()?,
            scope: match get("dag-scope") {
                Some("block") => Scope::Block,
                Some("entity") => Scope::Entity,
                _ => Scope::All,
            },
            entity_bytes: get("entity-bytes").is_some(),
            format: match get("format") {
                None | Some("car") => Format::Car,
                Some("raw") => Format::Raw,
                Some(_) => Format::Other,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CID: &str = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi";

    #[test]
    fn targets_are_read() {
        let of = |text: &str| Asked::of_target(&text.replace("{CID}", CID));
        let asked = of("/base/ipfs/{CID}/a%20b//c?dag-scope=entity&format=car").unwrap();
        assert_eq!(asked.root.to_string(), CID);
        assert_eq!(asked.path, ["a b".into(), "c".into()]);
        assert_eq!((asked.scope, asked.entity_bytes, asked.format), (Scope::Entity, false, Format::Car));
        let raw = of("/ipfs/ipfs/{CID}?format=raw&entity-bytes=0:1").unwrap();
        assert_eq!((raw.scope, raw.entity_bytes, raw.format), (Scope::All, true, Format::Raw));
        assert_eq!(of("/ipfs/{CID}?format=tar").unwrap().format, Format::Other);
        for bad in ["/ipfs/nonsense", "/ipns/{CID}", "/ipfs/{CID}/%ff", "", "/ipfs/"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
