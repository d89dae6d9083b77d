//! Checks that a CAR contains the whole requested DAG and nothing else.
//!
//! A link is open while the block to which it leads has not arrived. Each block is processed once. It closes the open
//! links to it. Its own links become open if their targets belong to the requested content. Blocks may arrive in any
//! order. A block that arrives before a link to it is kept until the link arrives, within limits.

use super::node::{self, Kind, PbNode};
use super::{Fault, GatewayRequest, Scope, Unsupported, codec, hash, normal};
use cid::Cid;
use std::collections::{HashMap, HashSet};

/// Maximum number of blocks in a DAG. Each block needs 24 bytes of memory. A file of 64 GiB in blocks of 256 KiB has
/// 262,144 blocks.
const BLOCKS_MAX: usize = 1 << 20;
/// Maximum number of open links at a time.
const OPEN_MAX: usize = 1 << 17;
/// Maximum total size of blocks that wait for a link to them.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// The identity of a block: the beginning of its hash, and its codec. 128 bits of the hash are enough, because the whole
/// hash of each block is checked separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key([u8; 16], u64);

impl Key {
    fn of(cid: &Cid) -> Self {
        let mut start = [0; 16];
        let digest = cid.hash().digest();
        let length = digest.len().min(start.len());
        start[..length].copy_from_slice(&digest[..length]);
        Self(start, cid.codec())
    }
}

/// The reason why a block belongs to the requested content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The block is on the path. The value is the number of names in the path before this block.
    Path(usize),
    /// The block is part of the requested file or directory.
    Entity,
    /// The block is below the requested block, and all blocks below it are requested too.
    Below,
}

/// The known part of the DAG.
#[derive(Debug)]
pub(super) struct Dag {
    request: GatewayRequest,
    /// Targets of open links: blocks that must still arrive.
    open: HashMap<Key, (Cid, Role)>,
    /// Shards of a large directory. The path may continue in one of them, so it is not an error if the others never
    /// arrive.
    possible: HashMap<Key, Role>,
    seen: HashSet<Key>,
    /// Blocks that have arrived before any link to them.
    waiting: HashMap<Key, (Cid, Vec<u8>)>,
    waiting_bytes: usize,
    /// `true` if the end of the path was found.
    reached: bool,
}

impl Dag {
    pub(super) fn new(request: GatewayRequest) -> Result<Self, Fault> {
        let root = normal(&request.root);
        let mut dag = Self {
            request,
            open: HashMap::new(),
            possible: HashMap::new(),
            seen: HashSet::new(),
            waiting: HashMap::new(),
            waiting_bytes: 0,
            reached: false,
        };
        dag.follow(vec![(root, Role::Path(0))])?;
        Ok(dag)
    }

    /// Adds a block whose hash was checked. `data` is empty if blocks with this codec have no links.
    pub(super) fn block(&mut self, cid: &Cid, data: Vec<u8>) -> Result<(), Fault> {
        let key = Key::of(cid);
        if self.seen.contains(&key) || self.waiting.contains_key(&key) {
            return Ok(());
        }
        if self.seen.len() + self.waiting.len() >= BLOCKS_MAX {
            return Err(Fault::Unsupported { cid: *cid, what: Unsupported::Blocks });
        }
        let role = self.open.remove(&key).map(|(_, role)| role).or_else(|| self.possible.remove(&key));
        let Some(role) = role else {
            self.waiting_bytes += data.len();
            if self.waiting_bytes > WAITING_BYTES_MAX {
                return Err(Fault::Unsupported { cid: *cid, what: Unsupported::Order });
            }
            self.waiting.insert(key, (*cid, data));
            return Ok(());
        };
        self.seen.insert(key);
        let links = self.expand(cid, &data, role)?;
        self.follow(links)
    }

    /// Opens links. Processes those linked blocks that have already arrived.
    fn follow(&mut self, mut links: Vec<(Cid, Role)>) -> Result<(), Fault> {
        while let Some((cid, role)) = links.pop() {
            let key = Key::of(&cid);
            if hash::is_inline(&cid) {
                links.extend(self.expand(&cid, cid.hash().digest(), role)?);
            } else if let Some((_, data)) = self.waiting.remove(&key) {
                self.waiting_bytes -= data.len();
                self.seen.insert(key);
                links.extend(self.expand(&cid, &data, role)?);
            } else if !self.seen.contains(&key) {
                if self.open.len() >= OPEN_MAX {
                    return Err(Fault::Unsupported { cid, what: Unsupported::Blocks });
                }
                self.open.insert(key, (cid, role));
            }
        }
        Ok(())
    }

    /// Returns those links of a block that are in scope.
    fn expand(&mut self, cid: &Cid, data: &[u8], role: Role) -> Result<Vec<(Cid, Role)>, Fault> {
        match role {
            Role::Path(depth) if depth < self.request.path.len() => self.along_path(cid, data, depth),
            Role::Path(_) => {
                self.reached = true;
                match self.request.scope {
                    Scope::Block => Ok(Vec::new()),
                    Scope::Entity => entity(cid, data),
                    Scope::All => below(cid, data),
                }
            }
            Role::Entity => entity(cid, data),
            Role::Below => below(cid, data),
        }
    }

    /// Returns the link to the next name of the path.
    fn along_path(&mut self, cid: &Cid, data: &[u8], depth: usize) -> Result<Vec<(Cid, Role)>, Fault> {
        let name = self.request.path.get(depth).map_or("", AsRef::as_ref);
        if cid.codec() != codec::DAG_PB {
            let is_leaf = cid.codec() == codec::RAW;
            return Err(match is_leaf {
                true => Fault::PathMissing(name.into()),
                false => Fault::Unsupported { cid: *cid, what: Unsupported::Path },
            });
        }
        let node = PbNode::decode(data).ok_or(Fault::BadNode(*cid))?;
        let prefix = if let Kind::Shard { prefix } = node.kind { prefix } else { 0 };
        let is_next = |link: &&node::Link<'_>| link.name.get(prefix..) == Some(name.as_bytes());
        if let Some(next) = node.links.iter().find(is_next).filter(|_| node.kind != Kind::File) {
            return Ok(vec![(normal(&next.cid), Role::Path(depth + 1))]);
        }
        if prefix == 0 {
            return Err(Fault::PathMissing(name.into()));
        }
        // A hash of the name determines which shard contains the name. The CAR contains only this shard.
        let mut here = Vec::new();
        for link in node.links.iter().filter(|link| link.name.len() == prefix) {
            let (next, role) = (normal(&link.cid), Role::Path(depth));
            let key = Key::of(&next);
            if self.waiting.contains_key(&key) {
                here.push((next, role));
            } else if !self.seen.contains(&key) {
                self.possible.insert(key, role);
            }
        }
        Ok(here)
    }

    /// Checks at the end of the CAR that nothing is missing.
    pub(super) fn end(self) -> Result<(), Fault> {
        // The smallest CID is reported, so that the same body always produces the same message.
        if let Some(cid) = self.open.values().map(|(cid, _)| *cid).min() {
            return Err(Fault::BlockMissing { count: self.open.len(), cid });
        }
        if !self.reached {
            return Err(Fault::PathMissing(self.request.path.last().cloned().unwrap_or_default()));
        }
        match self.waiting.values().map(|(cid, _)| *cid).min() {
            Some(cid) => Err(Fault::Unrelated { count: self.waiting.len(), cid }),
            None => Ok(()),
        }
    }
}

/// Returns the links to other blocks of the same file or directory.
fn entity(cid: &Cid, data: &[u8]) -> Result<Vec<(Cid, Role)>, Fault> {
    if cid.codec() != codec::DAG_PB {
        return Ok(Vec::new());
    }
    let node = PbNode::decode(data).ok_or(Fault::BadNode(*cid))?;
    let belongs = |link: &&node::Link<'_>| match node.kind {
        Kind::File => true,
        Kind::Shard { prefix } => link.name.len() == prefix,
        Kind::Directory | Kind::Other => false,
    };
    Ok(node.links.iter().filter(belongs).map(|link| (normal(&link.cid), Role::Entity)).collect())
}

/// Returns all links of a block.
fn below(cid: &Cid, data: &[u8]) -> Result<Vec<(Cid, Role)>, Fault> {
    match cid.codec() {
        codec::RAW | codec::DAG_PB | codec::DAG_CBOR | codec::CBOR | codec::JSON => {}
        _ => return Err(Fault::Unsupported { cid: *cid, what: Unsupported::Codec }),
    }
    let links = node::links(cid.codec(), data).ok_or(Fault::BadNode(*cid))?;
    Ok(links.iter().map(|link| (normal(link), Role::Below)).collect())
}
