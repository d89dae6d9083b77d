//! The owner of an object: a pure function of the object's path and the number of servers. Every server computes the
//! same owner, so servers need not communicate.
//!
//! The path's 64-bit hash is the input of the algorithm *jump consistent hash* (J. Lamping and E. Veach, "A fast,
//! minimal memory, consistent hash algorithm", 2014, arXiv:1406.2294), which distributes objects evenly. If a server is
//! added at the end, each object either keeps its owner or moves to the new server. With `n + 1` servers, 1 in `n + 1`
//! objects moves.

use std::num::NonZeroUsize;

use percent_encoding::percent_decode_str;

/// Returns the owner of the object at `path`, as the number of one of the `servers`, starting at 0. The path is
/// percent-encoded and has no query.
///
/// Different encodings of the same path have the same owner.
#[must_use]
pub fn owner(path: &str, servers: NonZeroUsize) -> usize {
    jump(hash(percent_decode_str(path)), servers.get() as u64) as usize
}

/// Returns the FNV-1a hash (64 bits) of the bytes, mixed by the finalizer of `SplitMix64`. The mixing is needed because
/// [`jump`] depends on the upper bits of the hash, and FNV alone gives short names similar upper bits.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let fnv =
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (fnv ^ (fnv >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Returns the bucket of `key`, from 0 to `buckets - 1`, as in figure 1 of the paper.
fn jump(mut key: u64, buckets: u64) -> u64 {
    let (mut bucket, mut next) = (0, 0);
    while next < buckets {
        bucket = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = ((bucket + 1) as f64 * ((1_u64 << 31) as f64 / ((key >> 33) + 1) as f64)) as u64;
    }
    bucket
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn servers(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    fn paths() -> Vec<String> {
        (0..10_000).map(|index| format!("/bucket/1MiB-{index:06}")).collect()
    }

    #[test]
    fn ten_thousand_names_spread_over_eight_servers_within_20_percent() {
        let mut owned = [0_u32; 8];
        for path in paths() {
            owned[owner(&path, servers(8))] += 1;
        }
        assert!(owned.iter().all(|count| (1_000..=1_500).contains(count)), "{owned:?}; an even spread is 1250 each");
    }

    #[test]
    fn an_added_server_takes_its_share_and_nothing_else_moves() {
        for before in [1, 2, 7, 8, 31] {
            let mut moved = 0;
            for path in paths() {
                let (old, new) = (owner(&path, servers(before)), owner(&path, servers(before + 1)));
                assert!(new == old || new == before, "{path} moved from {old} to {new}, not to the new server");
                moved += u32::from(new != old);
            }
            let share = 10_000.0 / (before + 1) as f64;
            assert!((f64::from(moved) - share).abs() < 0.2 * share, "{moved} of 10,000 moved to server {before}");
        }
    }

    #[test]
    fn owners_stay_the_same_from_version_to_version() {
        let owners: Vec<usize> = (0..8).map(|index| owner(&format!("/b/{index}"), servers(8))).collect();
        assert_eq!(owners, PINNED);
        assert_eq!(owner("/b/a%20b", servers(1000)), owner("/b/a b", servers(1000)));
    }

    /// The owners that another program computed from the description above.
    const PINNED: [usize; 8] = [3, 6, 1, 0, 0, 2, 3, 3];

    proptest! {
        #[test]
        fn any_path_has_an_owner(path in "\\PC{0,40}", count in 1_usize..2_000) {
            prop_assert!(owner(&path, servers(count)) < count);
        }
    }
}
