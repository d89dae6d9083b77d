//! Trustless IPFS gateways: `/ipfs/CID[/path]` as a CAR or as a raw block.
//!
//! The length of a CAR is not known beforehand. The last chunk does not prove that the CAR is complete, because kubo
//! sends the last chunk even if blocks are missing. CARs are therefore always parsed into blocks (`wire::gateway`).
//! With `--verify`, each block is checked.

use super::{Access, BadName, Dialect, Form};
use measure::OpKind;
use wire::gateway::{Depth, GatewayRequest, Scope};

/// Blocks and CARs. The name of an object is a CID, optionally followed by a path and a query.
#[derive(Clone, Copy, Debug)]
pub struct Gateway {
    /// Format for names that do not specify one.
    pub format: Format,
    /// Extent of the checks of responses.
    pub depth: Depth,
}

/// The format of a gateway's responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A CAR with the requested block and all blocks below it.
    #[default]
    Car,
    /// Only the requested block.
    Raw,
}

/// Checks whether the response to a request can be verified block by block.
fn can_be_verified(request: &GatewayRequest) -> Result<(), BadName> {
    use wire::gateway::Format;
    match request.format {
        Format::Raw if !request.path.is_empty() => Err(BadName::PathOfBlock),
        Format::Other => Err(BadName::NotVerifiable),
        Format::Car if request.entity_bytes && request.scope == Scope::Entity => Err(BadName::PartOfFile),
        Format::Raw | Format::Car => Ok(()),
    }
}

impl Dialect for Gateway {
    fn form(&self, access: Access) -> Option<Form> {
        let ranges = self.format == Format::Raw;
        let blocks = Some(self.depth);
        (access == Access::Read).then(|| Form { ranges, blocks, ..Form::plain("GET", OpKind::Get) })
    }

    fn target(&self, _: Access, base: &str, name: &str) -> Result<String, BadName> {
        let (path, query) = name.split_once('?').unwrap_or((name, ""));
        let (cid, rest) = path.split_once('/').map_or((path, None), |(cid, rest)| (cid, Some(rest)));
        if cid.is_empty() {
            return Err(BadName::Empty);
        }
        let mut target = format!("{base}/ipfs/{cid}");
        if let Some(rest) = rest {
            target.push('/');
            wire::percent::push_path(rest, &mut target);
        }
        let has_format = query.split('&').any(|pair| pair.starts_with("format="));
        let format = match self.format {
            _ if has_format => "",
            Format::Car => "format=car",
            Format::Raw => "format=raw",
        };
        let parts: Vec<&str> = [query, format].into_iter().filter(|part| !part.is_empty()).collect();
        target.push('?');
        target.push_str(&parts.join("&"));
        let request = GatewayRequest::from_target(&target).ok_or(BadName::NotCid)?;
        if self.depth == Depth::Blocks {
            can_be_verified(&request)?;
        }
        Ok(target)
    }

    fn container(&self, _: Access, _: &str) -> Option<String> {
        None
    }
}
