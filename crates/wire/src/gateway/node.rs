//! Reads the links of dag-pb and DAG-CBOR blocks, and the UnixFS kind of dag-pb blocks.
//!
//! The parser reads only the few protobuf fields that are needed. A library would copy all bytes of a block.

use super::car::{Read, cid_in_cbor, read_cid};
use super::cbor::{self, Item};
use super::codec;
use cid::Cid;
use unsigned_varint::decode;

/// Maximum size of a block with links. No IPFS node sends or accepts larger blocks.
pub(super) const BYTES_MAX: u64 = 2 << 20;

/// Returns whether this module can read the links of blocks with this codec.
pub(super) fn can_have_links(codec: u64) -> bool {
    matches!(codec, codec::DAG_PB | codec::DAG_CBOR)
}

/// The UnixFS kind of a dag-pb block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file or a part of a file. Links lead to further parts.
    File,
    /// A directory. Links lead to its entries.
    Directory,
    /// A shard of a large directory. If the name of a link has only `prefix` characters, the link leads to a further
    /// shard. Other links lead to entries, whose names start after `prefix` characters.
    Shard { prefix: usize },
    /// A symlink, or a block that is not UnixFS.
    #[default]
    Other,
}

/// A link of a dag-pb block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'a> {
    pub(super) name: &'a [u8],
    pub(super) cid: Cid,
}

/// A dag-pb block.
#[derive(Debug, Default)]
pub(super) struct PbNode<'a> {
    pub(super) kind: Kind,
    pub(super) links: Vec<Link<'a>>,
}

/// A field of a protobuf message.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Removes the next field from the message, and returns its number and value.
fn field<'a>(message: &mut &'a [u8]) -> Option<(u64, Field<'a>)> {
    let (key, rest) = decode::u64(message).ok()?;
    let (value, rest) = match key & 7 {
        0 => {
            let (number, rest) = decode::u64(rest).ok()?;
            (Field::Number(number), rest)
        }
        2 => {
            let (length, rest) = decode::u64(rest).ok()?;
            let (bytes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            (Field::Bytes(bytes), rest)
        }
        // Neither dag-pb nor UnixFS uses other types of fields.
        _ => return None,
    };
    *message = rest;
    Some((key >> 3, value))
}

impl<'a> PbNode<'a> {
    /// Decodes a block. `None` if it is not valid.
    pub(super) fn decode(mut block: &'a [u8]) -> Option<Self> {
        let mut node = Self::default();
        while !block.is_empty() {
            match field(&mut block)? {
                (1, Field::Bytes(data)) => node.kind = kind(data),
                (2, Field::Bytes(bytes)) => node.links.push(link(bytes)?),
                _ => return None,
            }
        }
        Some(node)
    }
}

fn link(mut message: &[u8]) -> Option<Link<'_>> {
    let (mut name, mut cid) = (&[][..], None);
    while !message.is_empty() {
        match field(&mut message)? {
            (1, Field::Bytes(bytes)) => match read_cid(bytes) {
                Read::Cid(found, length) if length == bytes.len() => cid = Some(found),
                _ => return None,
            },
            (2, Field::Bytes(bytes)) => name = bytes,
            _ => {}
        }
    }
    Some(Link { name, cid: cid? })
}

/// Returns the UnixFS kind, which is read from the data of a dag-pb block. The data may be arbitrary bytes.
fn kind(mut data: &[u8]) -> Kind {
    let (mut kind, mut fanout) = (None, 256_u64);
    while !data.is_empty() {
        match field(&mut data) {
            Some((1, Field::Number(number))) => kind = Some(number),
            Some((6, Field::Number(number))) => fanout = number,
            Some(_) => {}
            None => return Kind::Other,
        }
    }
    match kind {
        Some(0 | 2) => Kind::File,
        Some(1) => Kind::Directory,
        Some(5) => Kind::Shard { prefix: format!("{:X}", fanout.saturating_sub(1)).len() },
        _ => Kind::Other,
    }
}

/// Returns all links of a block. `None` if the block is not valid.
pub(super) fn links(codec: u64, block: &[u8]) -> Option<Vec<Cid>> {
    match codec {
        codec::DAG_PB => Some(PbNode::decode(block)?.links.iter().map(|link| link.cid).collect()),
        codec::DAG_CBOR => cbor_links(block),
        _ => Some(Vec::new()),
    }
}

fn cbor_links(mut block: &[u8]) -> Option<Vec<Cid>> {
    let mut links = Vec::new();
    while !block.is_empty() {
        if cbor::next(&mut block)? == Item::Link {
            let Item::Bytes(bytes) = cbor::next(&mut block)? else { return None };
            links.push(cid_in_cbor(bytes)?);
        }
    }
    Some(links)
}
