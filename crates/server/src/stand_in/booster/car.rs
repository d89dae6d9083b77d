//! CARs (content-addressable archives) of the DAG, made while they are sent.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use cid::Cid;

use super::dag::{Dag, LEAF_BYTES, Node, write_varint};
use crate::content::pattern::Pattern;
use crate::content::source::{Produced, Source};
use crate::stand_in::go::GO_BUFFER;

/// The blocks of a CAR, in order.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    pub(super) dag: Arc<Dag>,
    /// Nodes still to send, the next one last, each with whether the nodes below it follow.
    pub(super) to_send: Vec<(Node, bool)>,
    /// The leaves to send: the number of the first, and one more than that of the last.
    pub(super) leaves: (u64, u64),
    pub(super) missing_leaf: Option<u64>,
    /// Leaves sent so far, if none may be sent twice.
    pub(super) sent: Option<HashSet<Cid>>,
}

/// The next step of a walk.
enum Step {
    Block(Node),
    /// The next block is missing.
    Missing,
    End,
}

impl Walk {
    fn next(&mut self) -> Step {
        while let Some((node, below)) = self.to_send.pop() {
            if below {
                let (from, to) = self.leaves;
                let wanted = |child: &&Node| {
                    let (first, end) = self.dag.leaves(**child);
                    first < to && end > from
                };
                let children = self.dag.children(node).iter().filter(wanted).rev();
                self.to_send.extend(children.map(|child| (*child, true)));
            }
            if let Node::Leaf(leaf) = node {
                if self.missing_leaf == Some(leaf) {
                    return Step::Missing;
                }
                let is_new = self.sent.as_mut().is_none_or(|sent| sent.insert(self.dag.cid(node)));
                if !is_new {
                    continue;
                }
            }
            return Step::Block(node);
        }
        Step::End
    }
}

/// A CARv1, made while it is sent.
#[derive(Debug)]
pub(super) struct Car {
    walk: Walk,
    /// Bytes made and, from `at` on, not handed over yet.
    ready: Vec<u8>,
    at: usize,
}

impl Car {
    /// Makes the CAR with this root and these blocks.
    pub(super) fn new(root: &Cid, walk: Walk) -> Self {
        Self { walk, ready: car_header(root), at: 0 }
    }

    /// Returns its length, or `None` for a CAR that is larger than Go's buffer and complete, and whether a block is
    /// missing.
    pub(super) fn length(&self) -> (Option<u64>, bool) {
        let mut walk = self.walk.clone();
        let mut length = self.ready.len() as u64;
        loop {
            match walk.next() {
                Step::End => return (Some(length), false),
                Step::Missing => return (Some(length), true),
                Step::Block(node) => {
                    let section = walk.dag.cid(node).to_bytes().len() as u64 + walk.dag.block_bytes(node);
                    let mut varint = Vec::new();
                    write_varint(section, &mut varint);
                    length += varint.len() as u64 + section;
                }
            }
            if length > GO_BUFFER && walk.missing_leaf.is_none() {
                return (None, false);
            }
        }
    }

    fn make_block(&mut self, node: Node, pattern: &Pattern) {
        let dag = &self.walk.dag;
        let cid = dag.cid(node).to_bytes();
        self.ready.clear();
        self.at = 0;
        write_varint(cid.len() as u64 + dag.block_bytes(node), &mut self.ready);
        self.ready.extend_from_slice(&cid);
        match node {
            Node::Leaf(leaf) => pattern.append(leaf * LEAF_BYTES, dag.block_bytes(node) as usize, &mut self.ready),
            Node::Directory => self.ready.extend_from_slice(&dag.directory_block),
            Node::Inner(index) => self.ready.extend_from_slice(&dag.inner[index].block),
        }
    }
}

impl Source for Car {
    fn produce(&mut self, pattern: &Pattern, room: usize, out: &mut Vec<u8>) -> io::Result<Produced> {
        if self.at == self.ready.len() {
            match self.walk.next() {
                Step::Block(node) => self.make_block(node, pattern),
                // If a missing block is a failure, the response breaks off here.
                Step::Missing | Step::End => return Ok(Produced::End),
            }
        }
        let end = self.ready.len().min(self.at + room);
        out.extend_from_slice(&self.ready[self.at..end]);
        self.at = end;
        Ok(Produced::Piece)
    }
}

/// Returns the header of a CARv1 with one root: its length, then `{"roots": [CID], "version": 1}` in DAG-CBOR.
fn car_header(root: &Cid) -> Vec<u8> {
    let cid = root.to_bytes();
    let mut cbor = b"\xa2\x65roots\x81\xd8\x2a".to_vec();
    // A byte string (major type 2): a zero byte, which is the identity multibase, and the CID.
    let length = cid.len() + 1;
    match u8::try_from(length) {
        Ok(short @ 0..24) => cbor.push(0x40 | short),
        Ok(length) => cbor.extend([0x58, length]),
        Err(_) => cbor.extend([0x59, (length >> 8) as u8, length as u8]),
    }
    cbor.push(0);
    cbor.extend_from_slice(&cid);
    cbor.extend_from_slice(b"\x67version\x01");
    let mut header = Vec::new();
    write_varint(cbor.len() as u64, &mut header);
    header.append(&mut cbor);
    header
}
