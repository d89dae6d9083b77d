//! CIDs (content identifiers) of pieces and files.

use cid::Cid;
use cid::multihash::Multihash;
use sha2::{Digest, Sha256};

use super::dag::Dag;
use crate::config::stand_in::Booster;

/// The codec of a piece's CID, `fil-commitment-unsealed`.
pub(super) const PIECE_CODEC: u64 = 0xf101;
/// The hash of a piece's CID, `sha2-256-trunc254-padded`.
const PIECE_HASH: u64 = 0x1012;
/// The piece in FRC-0066's test fixture. The CID of this piece does not have the codec of a piece commitment.
pub(super) const FIXTURE: &str = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi";

/// Returns the CIDs of the file that `/ipfs/` serves, and of the directory that contains it under the name `file`.
#[must_use]
pub fn file_cids(booster: &Booster) -> (String, String) {
    let dag = Dag::new(booster.car_size.0);
    (dag.cid(dag.file).to_string(), dag.directory.to_string())
}

/// Returns the CID of piece number `index`. Every number has a piece.
#[must_use]
pub fn piece_cid(index: u64) -> String {
    let mut digest: [u8; 32] = Sha256::digest(format!("plimsoll piece {index}")).into();
    // A piece commitment is an element of a 254-bit field, so its two upper bits are zero.
    digest[31] &= 0x3f;
    Multihash::<64>::wrap(PIECE_HASH, &digest)
        .map_or_else(|_| String::new(), |hash| Cid::new_v1(PIECE_CODEC, hash).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn piece_cids_are_distinct_and_have_the_codec_of_pieces() {
        let names: Vec<String> = (0..100).map(piece_cid).collect();
        for name in &names {
            assert!(name.starts_with("baga6ea4seaq"), "{name}");
            assert_eq!(Cid::try_from(name.as_str()).unwrap().codec(), PIECE_CODEC);
        }
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)));
    }

    #[test]
    fn piece_of_32_gib_holds_127_of_128_bytes_of_data() {
        assert_eq!(Booster::default().piece_size.0, 34_091_302_912);
    }
}
