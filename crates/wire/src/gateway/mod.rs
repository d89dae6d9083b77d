//! Incremental checks of IPFS gateway responses: CARs (CARv1) and single blocks.
//!
//! The end of the HTTP body does not prove that a CAR is complete. A gateway that cannot find a block can only stop
//! early. When this happens, kubo has already sent status 200, and ends the chunked body as usual. CARs are therefore
//! read block by block. [`Depth::Structure`] checks the framing and the presence of the requested block.
//! [`Depth::Blocks`] also checks each block against its CID, and whether the requested DAG is complete.
//!
//! The use of memory is bounded. Raw blocks are hashed and never buffered, and blocks with links are buffered one at a
//! time. The formats are CARv1 (<https://ipld.io/specs/transport/car/carv1/>) and Trustless Gateway
//! (<https://specs.ipfs.tech/http-gateways/trustless-gateway/>).

mod car;
mod cbor;
mod dag;
mod fault;
mod hash;
mod node;
mod request;

pub use cid::Cid;
pub use fault::{Fault, Unsupported};
pub use request::{Format, GatewayRequest, Scope};

use car::{CarReader, Event};
use dag::Dag;
use hash::BlockHasher;

/// The extent of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Checks the header, the framing, and the presence of the root block. Blocks are not hashed.
    Structure,
    /// Also checks the hash of each block, and the presence of every block in scope.
    Blocks,
}

/// Codecs of blocks (<https://github.com/multiformats/multicodec>).
mod codec {
    pub(super) const RAW: u64 = 0x55;
    pub(super) const DAG_PB: u64 = 0x70;
    pub(super) const DAG_CBOR: u64 = 0x71;
    /// Plain CBOR. Like JSON, it has no links.
    pub(super) const CBOR: u64 = 0x51;
    pub(super) const JSON: u64 = 0x0200;
}

/// Converts a CID to version 1 for comparison. A CID of version 0 is equivalent to a CID of version 1 with the codec
/// dag-pb.
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
    reader: CarReader,
    root: Cid,
    /// `true` if the header must list the root. If there is a path, gateways list either the root or the block at the end
    /// of the path.
    root_in_header: bool,
    root_seen: bool,
    /// `None` at [`Depth::Structure`].
    blocks: Option<Blocks>,
}

/// The state that [`Depth::Blocks`] needs.
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
    /// The bytes of the block; `None` if blocks with this codec have no links.
    data: Option<Vec<u8>>,
}

impl Check {
    /// Creates a check for the response to a request. `None` if there is nothing to check.
    ///
    /// # Errors
    /// Fails if blocks have to be hashed and the hash function of the root is not supported.
    pub fn new(request: GatewayRequest, depth: Depth) -> Result<Option<Self>, Fault> {
        let kind = match (request.format, depth) {
            (Format::Raw, Depth::Blocks) => Kind::Block(Box::new((BlockHasher::of(&request.root)?, request.root))),
            (Format::Raw | Format::Other, _) => return Ok(None),
            (Format::Car, _) => Kind::Car(Box::new(CarCheck {
                reader: CarReader::default(),
                root: normal(&request.root),
                root_in_header: request.path.is_empty(),
                // An inline CID contains the block itself.
                root_seen: hash::is_inline(&request.root),
                blocks: match depth {
                    Depth::Structure => None,
                    Depth::Blocks => Some(Blocks { dag: Dag::new(request)?, current: None }),
                },
            })),
        };
        Ok(Some(Self(kind)))
    }

    /// Checks the next piece of the body.
    ///
    /// # Errors
    /// Fails if the body is not the requested content.
    pub fn take(&mut self, piece: &[u8]) -> Result<(), Fault> {
        match &mut self.0 {
            Kind::Car(car) => car.take(piece),
            Kind::Block(block) => {
                block.0.update(piece);
                Ok(())
            }
        }
    }

    /// Finishes the check at the end of the body.
    ///
    /// # Errors
    /// Fails if the body is not the requested content.
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
        while let Some(event) = self.reader.next(&mut piece)? {
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
        self.reader.end()?;
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
        let Some(current) = self.current.take() else {
            debug_assert!(false, "a block ended without a beginning");
            return Ok(());
        };
        current.hasher.check(&current.cid)?;
        self.dag.block(&normal(&current.cid), current.data.unwrap_or_default())
    }
}

impl Current {
    fn take(&mut self, data: &[u8]) {
        self.hasher.update(data);
        if let Some(buffered) = &mut self.data {
            buffered.extend_from_slice(data);
        }
    }
}
