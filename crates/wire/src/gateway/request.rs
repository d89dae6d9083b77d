//! The content that a gateway request selects, parsed from the request target.

use crate::percent::{Space, decoded_text};
use cid::Cid;

/// The requested content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayRequest {
    /// The CID in the path.
    pub root: Cid,
    /// The decoded names of the path after the CID.
    pub path: Vec<Box<str>>,
    /// The requested part of the DAG below the end of the path.
    pub scope: Scope,
    /// `true` if only a byte range of a file is requested.
    pub entity_bytes: bool,
    /// The format of the response.
    pub format: Format,
}

/// The value of `dag-scope`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The block only.
    Block,
    /// A file with all its blocks, or a directory without the content of its entries.
    Entity,
    /// The block and everything below it.
    All,
}

/// The value of `format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A CAR. A request without `format` counts as a request for a CAR, because this program requests CARs by default.
    Car,
    /// A single block.
    Raw,
    /// Any other format, which is not checked.
    Other,
}

impl GatewayRequest {
    /// Parses path and query of a request, such as `/ipfs/CID/a/b?dag-scope=block`. Ignores path segments before `/ipfs/`.
    #[must_use]
    pub fn from_target(target: &str) -> Option<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        const NAMESPACE: &str = "ipfs/";
        let after_slash = path.match_indices(NAMESPACE).filter(|(at, _)| path[..*at].ends_with('/'));
        let mut candidates = after_slash.map(|(at, _)| &path[at + NAMESPACE.len()..]);
        let (root, path) = candidates.find_map(|rest| {
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
            path: names.map(|name| Some(decoded_text(name, Space::Percent)?.into())).collect::<Option<_>>()?,
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
    fn targets_are_parsed() {
        let of = |text: &str| GatewayRequest::from_target(&text.replace("{CID}", CID));
        let request = of("/base/ipfs/{CID}/a%20b//c?dag-scope=entity&format=car").unwrap();
        assert_eq!(request.root.to_string(), CID);
        assert_eq!(request.path, ["a b".into(), "c".into()]);
        assert_eq!((request.scope, request.entity_bytes, request.format), (Scope::Entity, false, Format::Car));
        let raw = of("/ipfs/ipfs/{CID}?format=raw&entity-bytes=0:1").unwrap();
        assert_eq!((raw.scope, raw.entity_bytes, raw.format), (Scope::All, true, Format::Raw));
        assert_eq!(of("/ipfs/{CID}?format=tar").unwrap().format, Format::Other);
        for bad in ["/ipfs/nonsense", "/ipns/{CID}", "/ipfs/{CID}/%ff", "", "/ipfs/"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
