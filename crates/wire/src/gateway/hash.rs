//! Incremental hashes of blocks.

use super::{Fault, Unsupported};
use blake2::Blake2b;
use blake2::digest::consts::U32;
use cid::Cid;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

// Hash functions by their multicodec numbers.
const IDENTITY: u64 = 0x00;
const SHA1: u64 = 0x11;
const SHA2_256: u64 = 0x12;
const SHA2_512: u64 = 0x13;
/// Lotus uses this hash function for the data of its clients.
const BLAKE2B_256: u64 = 0xb220;

/// Minimum size of a digest, as in IPFS. Shorter digests are too weak.
const DIGEST_BYTES_MIN: usize = 20;

/// Returns whether a CID contains the block itself instead of a hash.
pub(super) fn is_inline(cid: &Cid) -> bool {
    cid.hash().code() == IDENTITY
}

/// The hash of a block that is being read.
#[derive(Debug)]
pub(super) enum BlockHasher {
    /// The CID contains the block itself, so the bytes of the block are compared with the CID. The values are the
    /// number of bytes so far, `true` if they were all equal, and the CID.
    Identity(usize, bool, Cid),
    Sha1(Sha1),
    Sha256(Sha256),
    Sha512(Sha512),
    Blake2b256(Box<Blake2b<U32>>),
}

impl BlockHasher {
    /// Creates a hasher with the hash function of a CID.
    pub(super) fn of(cid: &Cid) -> Result<Self, Fault> {
        let unsupported = Fault::Unsupported { cid: *cid, what: Unsupported::Hash };
        let hash = cid.hash();
        if hash.code() != IDENTITY && hash.digest().len() < DIGEST_BYTES_MIN {
            return Err(unsupported);
        }
        Ok(match hash.code() {
            IDENTITY => Self::Identity(0, true, *cid),
            SHA1 => Self::Sha1(Sha1::new()),
            SHA2_256 => Self::Sha256(Sha256::new()),
            SHA2_512 => Self::Sha512(Sha512::new()),
            BLAKE2B_256 => Self::Blake2b256(Box::default()),
            _ => return Err(unsupported),
        })
    }

    pub(super) fn update(&mut self, data: &[u8]) {
        match self {
            Self::Identity(at, is_equal, cid) => {
                *is_equal &= cid.hash().digest().get(*at..*at + data.len()) == Some(data);
                *at += data.len();
            }
            Self::Sha1(hasher) => hasher.update(data),
            Self::Sha256(hasher) => hasher.update(data),
            Self::Sha512(hasher) => hasher.update(data),
            Self::Blake2b256(hasher) => hasher.update(data),
        }
    }

    /// Compares the hash with the digest in the CID. The digest may be a prefix of the hash.
    pub(super) fn check(self, cid: &Cid) -> Result<(), Fault> {
        let wanted = cid.hash().digest();
        let is_equal = match self {
            Self::Identity(length, is_equal, _) => is_equal && length == wanted.len(),
            Self::Sha1(hasher) => hasher.finalize().starts_with(wanted),
            Self::Sha256(hasher) => hasher.finalize().starts_with(wanted),
            Self::Sha512(hasher) => hasher.finalize().starts_with(wanted),
            Self::Blake2b256(hasher) => hasher.finalize().starts_with(wanted),
        };
        if is_equal { Ok(()) } else { Err(Fault::BlockDiffers(*cid)) }
    }
}
