//! Responses of IPFS gateways, checked while they arrive: CARs (CARv1) and single blocks.
//!
//! The end of an HTTP body proves nothing here. A gateway that misses a block can only stop early, and kubo then ends the
//! chunks properly with status 200. So a CAR is read block by block. [`Depth::Structure`] checks its framing and that the
//! requested block is in it. [`Depth::Blocks`] also checks each block against its CID, and that the requested DAG is complete.
//!
//! Memory is bounded: blocks of bytes are hashed and never held, blocks with links are held one at a time.
//! Formats: CARv1 (<https://ipld.io/specs/transport/car/carv1/>), Trustless Gateway
//! (<https://specs.ipfs.tech/http-gateways/trustless-gateway/>).

mod asked;
mod cbor;
mod dag;
mod fault;
mod frames;
mod hash;
mod node;

pub use asked::{Asked, Format, Scope};
pub use cid::Cid;
pub use fault::{Fault, Unsupported};

use dag::Dag;
use frames::{Event, Frames};
use hash::BlockHasher;

/// How closely a body is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Header, framing, and that the root block is present. Blocks are not hashed.
    Structure,
    /// Also the hash of each block, and that every block in scope is present.
    Blocks,
}

/// Codecs of blocks (<https://github.com/multiformats/multicodec>).
mod codec {
    pub(super) const RAW: u64 = 0x55;
    pub(super) const DAG_PB: u64 = 0x70;
    pub(super) const DAG_CBOR: u64 = 0x71;
    /// Plain CBOR and JSON, which have no links.
    pub(super) const CBOR: u64 = 0x51;
    pub(super) const JSON: u64 = 0x0200;
}

/// A CID in the one form in which CIDs are compared: version 0 is short for version 1 with dag-pb.
fn normal(cid: &Cid) -> Cid {
    Cid::new_v1(cid.codec(), *cid.hash())
}

/// The check of one body.
#[derive(Debug)]
pub struct Check(Kind);

#[derive(Debug)]
enum Kind {
    Car(Box<CarCheck>),
    /// A single block.
    Block(Box<(BlockHasher, Cid)>),
}

#[derive(Debug)]
struct CarCheck {
    frames: Frames,
    root: Cid,
    /// Whether the header must list the root. With a path, gateways list the root or what the path leads to.
    root_in_header: bool,
    root_seen: bool,
    /// `None` at [`Depth::Structure`].
    blocks: Option<Blocks>,
}

/// What [`Depth::Blocks`] needs.
#[derive(Debug)]
struct Blocks {
    dag: Dag,
    current: Option<Current>,
}

/// The block that is being read.
#[derive(Debug)]
struct Current {
    cid: Cid,
    hasher: BlockHasher,
    /// Its bytes, if it can have links.
    data: Option<Vec<u8>>,
}

impl Check {
    /// A check of the response to a request.
    ///
    /// # Errors
    /// The root's hash function is not supported, and the depth needs it.
    pub fn new(asked: Asked, depth: Depth) -> Result<Option<Self>, Fault> {
        let kind = match (asked.format, depth) {
            (Format::Raw, Depth::Blocks) => Kind::Block(Box::new((BlockHasher::of(&asked.root)?, asked.root))),
            (Format::Raw | Format::Other, _) => return Ok(None),
            (Format::Car, _) => Kind::Car(Box::new(CarCheck {
                frames: Frames::default(),
                root: normal(&asked.root),
                root_in_header: asked.path.is_empty(),
                // A CID that holds its own block needs none.
                root_seen: hash::is_inline(&asked.root),
                blocks: match depth {
                    Depth::Structure => None,
                    Depth::Blocks => Some(Blocks { dag: Dag::new(asked)?, current: None }),
                },
            })),
        };
        Ok(Some(Self(kind)))
    }

    /// Takes the next piece of the body.
    ///
    /// # Errors
    /// The body is not what was asked for.
    pub fn take(&mut self, piece: &[u8]) -> Result<(), Fault> {
        match &mut self.0 {
            Kind::Car(car) => car.take(piece),
            Kind::Block(block) => {
                block.0.update(piece);
                Ok(())
            }
        }
    }

    /// Judges a body that is complete.
    ///
    /// # Errors
    /// The body is not what was asked for.
    pub fn end(self) -> Result<(), Fault> {
        match self.0 {
            Kind::Car(car) => car.end(),
            Kind::Block(block) => {
                let (hasher, cid) = *block;
                hasher.check(&cid)
            }
        }
    }
}

impl CarCheck {
    fn take(&mut self, mut piece: &[u8]) -> Result<(), Fault> {
        while let Some(event) = self.frames.next(&mut piece)? {
            match event {
                Event::Header(roots) => {
                    if self.root_in_header && !roots.iter().any(|root| normal(root) == self.root) {
                        return Err(Fault::OtherRoot { found: roots.first().copied() });
                    }
                }
                Event::Block { cid, length } => {
                    self.root_seen |= normal(&cid) == self.root;
                    if let Some(blocks) = &mut self.blocks {
                        blocks.begin(cid, length)?;
                    }
                }
                Event::Data(data) => {
                    if let Some(current) = self.blocks.as_mut().and_then(|blocks| blocks.current.as_mut()) {
                        current.take(data);
                    }
                }
                Event::BlockEnd => {
                    if let Some(blocks) = &mut self.blocks {
                        blocks.end_block()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn end(self) -> Result<(), Fault> {
        self.frames.end()?;
        if !self.root_seen {
            return Err(Fault::RootMissing);
        }
        self.blocks.map_or(Ok(()), |blocks| blocks.dag.end())
    }
}

impl Blocks {
    fn begin(&mut self, cid: Cid, length: u64) -> Result<(), Fault> {
        let has_links = node::can_have_links(cid.codec());
        if has_links && length > node::BYTES_MAX {
            return Err(Fault::Unsupported { cid, what: Unsupported::NodeSize });
        }
        let data = has_links.then(|| Vec::with_capacity(usize::try_from(length).unwrap_or_default()));
        self.current = Some(Current { cid, hasher: BlockHasher::of(&cid)?, data });
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), Fault> {
        let Some(current) = self.current.take() else { return Ok(()) };
        current.hasher.check(&current.cid)?;
        self.dag.block(&normal(&current.cid), current.data.unwrap_or_default())
    }
}

impl Current {
    fn take(&mut self, data: &[u8]) {
        self.hasher.update(data);
        if let Some(held) = &mut self.data {
            held.extend_from_slice(data);
        }
    }
}
