//! Faults in the responses of gateways.

use cid::Cid;

/// The reason why a body is not the requested content, or cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The body does not begin with the header of a CARv1.
    #[error("no CARv1 header: {0}")]
    NotCar(&'static str),
    /// The header lists roots other than the requested one.
    #[error("the CAR's header names {}", found.map_or("no root".to_owned(), |cid| format!("the root {cid}")))]
    OtherRoot {
        /// The first root in the header.
        found: Option<Cid>,
    },
    /// A block's length or CID is not valid.
    #[error("at byte {at}: {what}")]
    BadFraming {
        /// Offset of the block in the body.
        at: u64,
        /// The reason.
        what: &'static str,
    },
    /// The body ends inside a block or inside the header.
    #[error("the body ends inside {within}, which lacks {missing} bytes")]
    CutShort {
        /// The incomplete part.
        within: &'static str,
        /// Number of missing bytes.
        missing: u64,
    },
    /// The requested block is not in the CAR.
    #[error("the CAR has no block for the requested root")]
    RootMissing,
    /// Linked blocks are not in the CAR.
    #[error("{count} linked {} missing, such as {cid}", if *.count == 1 { "block is" } else { "blocks are" })]
    BlockMissing {
        /// Number of known missing blocks.
        count: usize,
        /// One of them.
        cid: Cid,
    },
    /// The requested path does not lead to a block of the DAG.
    #[error("the path ends before `{0}`")]
    PathMissing(Box<str>),
    /// The bytes of a block do not have the hash in its CID.
    #[error("the bytes of block {0} do not match its hash")]
    BlockDiffers(Cid),
    /// The CAR contains blocks that are not part of the requested content.
    #[error("{count} unrelated {}, such as {cid}", if *.count == 1 { "block" } else { "blocks" })]
    Unrelated {
        /// Number of such blocks.
        count: usize,
        /// One of them.
        cid: Cid,
    },
    /// A block with links cannot be decoded, although its hash is correct.
    #[error("the block {0} is not valid for its codec")]
    BadNode(Cid),
    /// The response may be correct, but cannot be checked.
    #[error("{cid}: {what}")]
    Unsupported {
        /// The block.
        cid: Cid,
        /// Unsupported feature.
        what: Unsupported,
    },
}

/// The reason why a response cannot be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The hash function of a CID is not supported.
    #[error("hash functions other than sha1, sha2-256, sha2-512, blake2b-256 and identity are not supported")]
    Hash,
    /// The links of a block are needed, but its codec is not supported.
    #[error("the links of blocks with codecs other than raw, dag-pb, dag-cbor, cbor and json are not supported")]
    Codec,
    /// The path leads through a block that is not dag-pb.
    #[error("paths through blocks other than dag-pb are not supported")]
    Path,
    /// A block with links is too large to be buffered.
    #[error("blocks that contain links must not be larger than 2 MiB")]
    NodeSize,
    /// There are too many blocks or links to keep track of.
    #[error("the DAG has more than 1,048,576 blocks, or more than 131,072 links are open at once")]
    Blocks,
    /// Blocks arrive long before the links to them.
    #[error("more than 4 MiB of blocks arrive before the links to them")]
    Order,
}
