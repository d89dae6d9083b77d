//! Trustless gateways of IPFS: `/ipfs/CID[/path]` as a CAR or as a raw block.
//!
//! A CAR has no length. A gateway that fails on the way can only close without the end of the chunks: the reader of
//! answers counts that as cut short.

use super::{Ask, BadName, Dialect, Form, check_cid};
use measure::OpKind;

/// Blocks and CARs, named by their CIDs; a path and a query may follow.
#[derive(Clone, Copy, Debug)]
pub struct Gateway {
    /// What is asked for where a name does not say.
    pub format: Format,
}

/// What a gateway sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A CAR: the block with those below it.
    #[default]
    Car,
    /// The block alone.
    Raw,
}

impl Dialect for Gateway {
    fn form(&self, ask: Ask) -> Option<Form> {
        let ranges = self.format == Format::Raw;
        (ask == Ask::Read).then(|| Form { ranges, ..Form::plain("GET", OpKind::Get) })
    }

    fn target(&self, _: Ask, base: &str, name: &str) -> Result<String, BadName> {
        let (path, query) = name.split_once('?').unwrap_or((name, ""));
        let (cid, rest) = path.split_once('/').map_or((path, None), |(cid, rest)| (cid, Some(rest)));
        check_cid(cid)?;
        let mut target = format!("{base}/ipfs/{cid}");
        if let Some(rest) = rest {
            target.push('/');
            wire::percent::push_path(rest, &mut target);
        }
        let told = query.split('&').any(|pair| pair.starts_with("format="));
        let format = match self.format {
            _ if told => "",
            Format::Car => "format=car",
            Format::Raw => "format=raw",
        };
        let parts: Vec<&str> = [query, format].into_iter().filter(|part| !part.is_empty()).collect();
        target.push('?');
        target.push_str(&parts.join("&"));
        Ok(target)
    }

    fn container(&self, _: Ask, _: &str) -> Option<String> {
        None
    }
}
