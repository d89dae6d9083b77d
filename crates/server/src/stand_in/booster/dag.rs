//! The DAG that the gateway serves: a directory with one UnixFS file, named `file`, whose content is the pattern. The
//! DAG equals the one that `ipfs add --cid-version=1` creates with chunks of 256 KiB.
//!
//! The file is not stored. The pattern repeats every 251 bytes, so even a large file has at most 251 different whole
//! leaves.

use cid::Cid;
use cid::multihash::Multihash;
use sha2::{Digest, Sha256};

use crate::content::pattern::pattern_byte;

/// Bytes of each leaf except the last.
pub(super) const LEAF_BYTES: u64 = 256 * 1024;
/// Maximum number of links that `ipfs add` puts into one node.
const LINKS_MAX: usize = 174;
/// The number of different leaves. It equals the period of the pattern, because the period and the size of a leaf have
/// no common factor.
const LEAVES_MAX: u64 = 251;
/// The name of the file in its directory.
pub(super) const FILE_NAME: &str = "file";

const RAW_CODEC: u64 = 0x55;
const DAG_PB_CODEC: u64 = 0x70;
const SHA2_256: u64 = 0x12;

/// A block of the DAG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    /// The directory.
    Directory,
    /// The leaf with this number.
    Leaf(u64),
    /// The node with this index in [`Dag::inner`].
    Inner(usize),
}

/// A node with links.
#[derive(Debug)]
pub(super) struct InnerNode {
    pub(super) cid: Cid,
    pub(super) block: Vec<u8>,
    pub(super) children: Vec<Node>,
    /// The leaves below the node, as a half-open range of leaf numbers.
    leaves: (u64, u64),
    /// The total size in bytes of the node's block and of all blocks below it.
    total: u64,
}

/// A DAG of a directory with one file.
#[derive(Debug)]
pub(super) struct Dag {
    size: u64,
    whole_leaves: Vec<Cid>,
    last_leaf: Cid,
    pub(super) inner: Vec<InnerNode>,
    pub(super) file: Node,
    pub(super) directory: Cid,
    pub(super) directory_block: Vec<u8>,
}

fn cid_of(codec: u64, block: &[u8]) -> Cid {
    // A 32-byte digest always fits, so the default is never used.
    let hash = Multihash::wrap(SHA2_256, &Sha256::digest(block)).unwrap_or_default();
    Cid::new_v1(codec, hash)
}

fn leaf_cid(first: u64, length: u64) -> Cid {
    let bytes: Vec<u8> = (first..first + length).map(pattern_byte).collect();
    cid_of(RAW_CODEC, &bytes)
}

/// Appends a protobuf field with bytes.
fn push_bytes(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(number << 3 | 2);
    write_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends a protobuf field with a number.
fn push_number(number: u8, value: u64, out: &mut Vec<u8>) {
    out.push(number << 3);
    write_varint(value, out);
}

/// Returns a dag-pb block, which consists of the links and then the data. Each link has a name, and the total size of
/// the blocks below it.
fn dag_pb(links: &[(Cid, &str, u64)], data: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    for (cid, name, total) in links {
        let mut link = Vec::new();
        push_bytes(1, &cid.to_bytes(), &mut link);
        push_bytes(2, name.as_bytes(), &mut link);
        push_number(3, *total, &mut link);
        push_bytes(2, &link, &mut block);
    }
    push_bytes(1, data, &mut block);
    block
}

impl Dag {
    pub(super) fn new(size: u64) -> Self {
        let count = size.div_ceil(LEAF_BYTES).max(1);
        let last = (count - 1) * LEAF_BYTES;
        let whole = (0..(count - 1).min(LEAVES_MAX)).map(|leaf| leaf_cid(leaf * LEAF_BYTES, LEAF_BYTES)).collect();
        let mut dag = Self {
            size,
            whole_leaves: whole,
            last_leaf: leaf_cid(last, size - last),
            inner: Vec::new(),
            file: Node::Leaf(0),
            directory: Cid::default(),
            directory_block: Vec::new(),
        };
        let mut level: Vec<Node> = (0..count).map(Node::Leaf).collect();
        while level.len() > 1 {
            level = level.chunks(LINKS_MAX).map(|children| dag.join(children.to_vec())).collect();
        }
        dag.file = level.first().copied().unwrap_or(Node::Leaf(0));
        // The UnixFS data of a directory node.
        dag.directory_block = dag_pb(&[(dag.cid(dag.file), FILE_NAME, dag.total(dag.file))], &[8, 1]);
        dag.directory = cid_of(DAG_PB_CODEC, &dag.directory_block);
        dag
    }

    fn join(&mut self, children: Vec<Node>) -> Node {
        let links: Vec<_> = children.iter().map(|child| (self.cid(*child), "", self.total(*child))).collect();
        // The UnixFS data of a file: its size and the sizes of its parts.
        let mut data = vec![8, 2];
        push_number(3, children.iter().map(|child| self.bytes(*child)).sum(), &mut data);
        for child in &children {
            push_number(4, self.bytes(*child), &mut data);
        }
        let block = dag_pb(&links, &data);
        let total = block.len() as u64 + links.iter().map(|(_, _, total)| total).sum::<u64>();
        let first = children.first().map_or(0, |child| self.leaves(*child).0);
        let end = children.last().map_or(0, |child| self.leaves(*child).1);
        self.inner.push(InnerNode { cid: cid_of(DAG_PB_CODEC, &block), block, children, leaves: (first, end), total });
        Node::Inner(self.inner.len() - 1)
    }

    pub(super) fn cid(&self, node: Node) -> Cid {
        match node {
            Node::Directory => self.directory,
            Node::Inner(index) => self.inner[index].cid,
            Node::Leaf(leaf) if leaf + 1 == self.size.div_ceil(LEAF_BYTES).max(1) => self.last_leaf,
            Node::Leaf(leaf) => self.whole_leaves[(leaf % LEAVES_MAX) as usize],
        }
    }

    /// Returns the leaves below a node, as a half-open range of leaf numbers.
    pub(super) fn leaves(&self, node: Node) -> (u64, u64) {
        match node {
            Node::Directory => self.leaves(self.file),
            Node::Inner(index) => self.inner[index].leaves,
            Node::Leaf(leaf) => (leaf, leaf + 1),
        }
    }

    /// Returns the number of file bytes below a node.
    fn bytes(&self, node: Node) -> u64 {
        let (first, end) = self.leaves(node);
        (end * LEAF_BYTES).min(self.size).saturating_sub(first * LEAF_BYTES)
    }

    fn total(&self, node: Node) -> u64 {
        match node {
            Node::Inner(index) => self.inner[index].total,
            Node::Directory | Node::Leaf(_) => self.bytes(node),
        }
    }

    /// Returns the size of a node's block in bytes.
    pub(super) fn block_bytes(&self, node: Node) -> u64 {
        match node {
            Node::Directory => self.directory_block.len() as u64,
            Node::Inner(index) => self.inner[index].block.len() as u64,
            Node::Leaf(_) => self.bytes(node),
        }
    }

    /// Returns the node with this CID. If several leaves have the same content and therefore this CID, returns the
    /// first.
    pub(super) fn find(&self, cid: &Cid) -> Option<Node> {
        if *cid == self.directory {
            return Some(Node::Directory);
        }
        if let Some(index) = self.inner.iter().position(|inner| inner.cid == *cid) {
            return Some(Node::Inner(index));
        }
        let leaves = self.leaves(self.file).1;
        (0..leaves.min(LEAVES_MAX)).chain([leaves - 1]).map(Node::Leaf).find(|leaf| self.cid(*leaf) == *cid)
    }

    /// Returns the nodes directly below a node, in order.
    pub(super) fn children(&self, node: Node) -> &[Node] {
        match node {
            Node::Directory => std::slice::from_ref(&self.file),
            Node::Inner(index) => &self.inner[index].children,
            Node::Leaf(_) => &[],
        }
    }
}

/// Appends a number as unsigned LEB128.
pub(super) fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number as u8) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The CIDs that `ipfs add --cid-version=1` of kubo 0.42.0 prints for the first bytes of the pattern.
    #[test]
    fn files_have_the_cids_of_kubo() {
        for (size, cid) in [
            (700_000, "bafybeiat65mgaomregcezwr6uzau6iumvujm3xlrtud36wlbpivuexuu24"),
            (1000, "bafkreicojquuwmy7piqjti3zx3buxh47ya64i2vumxmzr5gwqpnfgsd6nu"),
            (64 << 20, "bafybeih3jjhzpgxqc26vzovvpeqgm7ovzwevt3ck7jykbjx5low3zmv6s4"),
        ] {
            let dag = Dag::new(size);
            assert_eq!(dag.cid(dag.file).to_string(), cid, "{size}");
        }
        assert_eq!(Dag::new(1000).directory.to_string(), "bafybeiglvk4nuojcl6hpbxxd536lyyxj3y4aby6popnh2iffj4wfr55pku");
        let dag = Dag::new(64 << 20);
        for node in [Node::Directory, dag.file, Node::Inner(0), Node::Leaf(0), Node::Leaf(250), Node::Leaf(255)] {
            // Leaves with the same bytes have the same CID.
            let found = dag.find(&dag.cid(node)).map(|found| dag.cid(found));
            assert_eq!(found, Some(dag.cid(node)));
        }
    }
}
