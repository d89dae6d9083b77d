//! Tests the checks of CARs and blocks. The inputs are made by hand, recorded from kubo, truncated, changed, or split
//! into pieces.

use cid::Cid;
use cid::multihash::Multihash;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use wire::gateway::{Check, Depth, Fault, GatewayRequest, Unsupported};

const RAW: u64 = 0x55;
const DAG_PB: u64 = 0x70;
const DAG_CBOR: u64 = 0x71;

fn cid(codec: u64, data: &[u8]) -> Cid {
    Cid::new_v1(codec, Multihash::wrap(0x12, &Sha256::digest(data)).unwrap())
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
    out
}

/// A block with its CID.
type Block = (Cid, Vec<u8>);

fn raw(data: &[u8]) -> Block {
    (cid(RAW, data), data.to_vec())
}

/// Returns a protobuf field that contains bytes.
fn bytes(number: u8, data: &[u8]) -> Vec<u8> {
    [vec![number << 3 | 2], varint(data.len()), data.to_vec()].concat()
}

/// Returns a UnixFS node with named links.
fn node(kind: u8, links: &[(&str, Cid)]) -> Block {
    let mut data = Vec::new();
    for (name, cid) in links {
        data.extend(bytes(2, &[bytes(1, &cid.to_bytes()), bytes(2, name.as_bytes()), vec![0x18, 7]].concat()));
    }
    data.extend(bytes(1, &[8, kind]));
    (cid(DAG_PB, &data), data)
}

fn file(links: &[&Block]) -> Block {
    node(2, &links.iter().map(|(cid, _)| ("", *cid)).collect::<Vec<_>>())
}

fn directory(links: &[(&str, &Block)]) -> Block {
    node(1, &links.iter().map(|(name, (cid, _))| (*name, *cid)).collect::<Vec<_>>())
}

fn shard(links: &[(&str, &Block)]) -> Block {
    node(5, &links.iter().map(|(name, (cid, _))| (*name, *cid)).collect::<Vec<_>>())
}

fn header(root: &Cid) -> Vec<u8> {
    let root = root.to_bytes();
    let cbor = [&b"\xa2\x65roots\x81\xd8\x2a\x58"[..], &[root.len() as u8 + 1, 0], &root, b"\x67version\x01"].concat();
    [varint(cbor.len()), cbor].concat()
}

fn section((cid, data): &Block) -> Vec<u8> {
    let cid = cid.to_bytes();
    [varint(cid.len() + data.len()), cid, data.clone()].concat()
}

fn car(root: &Block, blocks: &[&Block]) -> Vec<u8> {
    std::iter::once(header(&root.0)).chain(blocks.iter().map(|block| section(block))).flatten().collect()
}

fn asked(root: &Cid, rest: &str) -> GatewayRequest {
    GatewayRequest::from_target(&format!("/ipfs/{root}{rest}")).unwrap()
}

/// Checks a body that arrives in pieces of this size.
fn judge_in(pieces: usize, asked: &GatewayRequest, depth: Depth, body: &[u8]) -> Result<(), Fault> {
    let mut check = Check::new(asked.clone(), depth)?.expect("there is something to check");
    for piece in body.chunks(pieces) {
        check.take(piece)?;
    }
    check.end()
}

fn judge(root: &Block, rest: &str, depth: Depth, body: &[u8]) -> Result<(), Fault> {
    judge_in(1000, &asked(&root.0, rest), depth, body)
}

#[test]
fn a_file_is_complete_in_any_block_order_and_with_duplicates() {
    let leaves = [raw(b"one"), raw(b"two"), raw(&[7; 5000])];
    let part = file(&[&leaves[0], &leaves[1]]);
    let root = file(&[&part, &leaves[2], &leaves[0]]);
    let orders: [&[&Block]; 4] = [
        &[&root, &part, &leaves[0], &leaves[1], &leaves[2]],
        &[&root, &part, &leaves[0], &leaves[1], &leaves[2], &leaves[0]],
        &[&leaves[2], &leaves[0], &part, &leaves[1], &root],
        &[&root, &leaves[2], &leaves[1], &part, &leaves[0]],
    ];
    for order in orders {
        for depth in [Depth::Structure, Depth::Blocks] {
            assert_eq!(judge(&root, "", depth, &car(&root, order)), Ok(()));
        }
    }
}

#[test]
fn missing_blocks_are_found() {
    let leaves = [raw(b"one"), raw(b"two")];
    let root = file(&[&leaves[0], &leaves[1]]);
    let without_leaf = car(&root, &[&root, &leaves[0]]);
    assert_eq!(judge(&root, "", Depth::Structure, &without_leaf), Ok(()), "only the root must be present");
    let missing = Fault::BlockMissing { count: 1, cid: leaves[1].0 };
    assert_eq!(judge(&root, "", Depth::Blocks, &without_leaf), Err(missing));
    for depth in [Depth::Structure, Depth::Blocks] {
        assert_eq!(
            judge(&root, "", depth, &header(&root.0)),
            Err(Fault::RootMissing),
            "kubo responds with only a header if the CID is absent"
        );
        assert_eq!(judge(&root, "", depth, &car(&root, &[&leaves[0]])), Err(Fault::RootMissing));
        assert!(matches!(judge(&root, "", depth, b""), Err(Fault::NotCar(_))));
        assert!(matches!(judge(&root, "", depth, b"<!doctype html><title>x</title>"), Err(Fault::NotCar(_))));
        let other = car(&leaves[0], &[&root]);
        assert_eq!(judge(&root, "", depth, &other), Err(Fault::OtherRoot { found: Some(leaves[0].0) }));
    }
    let stranger = raw(b"stranger");
    let more = car(&root, &[&root, &leaves[0], &stranger, &leaves[1]]);
    assert_eq!(judge(&root, "", Depth::Blocks, &more), Err(Fault::Unrelated { count: 1, cid: stranger.0 }));
}

#[test]
fn the_scope_limits_the_required_blocks() {
    let leaves = [raw(b"one"), raw(b"two")];
    let part = file(&[&leaves[0], &leaves[1]]);
    let root = directory(&[("a", &part), ("b", &leaves[0])]);
    let of = |root: &Block, scope: &str, blocks: &[&Block]| {
        judge(root, &format!("?dag-scope={scope}"), Depth::Blocks, &car(root, blocks))
    };
    assert_eq!(of(&root, "block", &[&root]), Ok(()));
    assert_eq!(of(&root, "entity", &[&root]), Ok(()), "a directory is complete without its entries");
    assert_eq!(of(&root, "all", &[&root, &part, &leaves[0], &leaves[1]]), Ok(()));
    assert!(matches!(of(&root, "all", &[&root]), Err(Fault::BlockMissing { count: 2, .. })));
    assert!(matches!(of(&root, "entity", &[&root, &part]), Err(Fault::Unrelated { .. })));
    assert_eq!(of(&part, "entity", &[&part, &leaves[0], &leaves[1]]), Ok(()));
    assert!(matches!(of(&part, "entity", &[&part, &leaves[0]]), Err(Fault::BlockMissing { .. })));
    // The scope `entity` includes the shards of a large directory, but not its entries.
    let deep = shard(&[("0Bb", &leaves[1])]);
    let large = shard(&[("A1", &deep), ("B2a", &leaves[0])]);
    assert_eq!(of(&large, "entity", &[&large, &deep]), Ok(()));
    assert!(matches!(of(&large, "entity", &[&large]), Err(Fault::BlockMissing { .. })));
    assert_eq!(of(&large, "all", &[&large, &deep, &leaves[0], &leaves[1]]), Ok(()));
}

#[test]
fn paths_are_followed() {
    let leaves = [raw(b"one"), raw(b"two")];
    let inner = file(&[&leaves[0], &leaves[1]]);
    let middle = directory(&[("x y", &inner)]);
    let root = directory(&[("a", &middle), ("b", &leaves[0])]);
    let of = |rest: &str, blocks: &[&Block]| {
        // As the root in the header, gateways list the requested root, the block at the end of the path, or an empty
        // CID.
        let found: Vec<_> = [&root, &inner, &raw(b"")]
            .iter()
            .map(|named| judge(&root, rest, Depth::Blocks, &car(named, blocks)))
            .collect();
        assert_eq!(found[0], found[1]);
        assert_eq!(found[0], found[2]);
        found[0].clone()
    };
    let whole: &[&Block] = &[&root, &middle, &inner, &leaves[0], &leaves[1]];
    assert_eq!(of("/a/x%20y", whole), Ok(()));
    assert_eq!(of("/a/x%20y?dag-scope=block", &[&root, &middle, &inner]), Ok(()));
    assert!(matches!(of("/a/x%20y", &whole[..4]), Err(Fault::BlockMissing { .. })));
    assert!(matches!(of("/a/x%20y", &[&root]), Err(Fault::BlockMissing { count: 1, .. })));
    assert_eq!(of("/nope", &[&root]), Err(Fault::PathMissing("nope".into())));
    assert_eq!(of("/b/c", &[&root, &leaves[0]]), Err(Fault::PathMissing("c".into())));
    assert_eq!(
        judge(&root, "/nope", Depth::Structure, &car(&root, &[&root])),
        Ok(()),
        "paths can only be checked with all blocks"
    );
    // For a large directory, the CAR contains only the shard on the path.
    let deep = shard(&[("0Bname", &leaves[1])]);
    let other = shard(&[("0Cname2", &leaves[0])]);
    let large = shard(&[("A1", &deep), ("A2", &other), ("B2n", &leaves[0])]);
    let of = |rest: &str, blocks: &[&Block]| judge(&large, rest, Depth::Blocks, &car(&large, blocks));
    assert_eq!(of("/n", &[&large, &leaves[0]]), Ok(()));
    assert_eq!(of("/name", &[&large, &deep, &leaves[1]]), Ok(()));
    assert_eq!(of("/name", &[&leaves[1], &deep, &large]), Ok(()));
    assert_eq!(of("/name", &[&large]), Err(Fault::PathMissing("name".into())));
    assert_eq!(of("/zzz", &[&large, &other]), Err(Fault::PathMissing("zzz".into())));
}

#[test]
fn links_of_dag_cbor_are_followed() {
    let leaf = raw(b"one");
    let link = |cid: &Cid| [&[0xd8, 42, 0x58, 37, 0][..], &cid.to_bytes()].concat();
    let data = [&b"\xa2\x61a\x82\x01\x81"[..], &link(&leaf.0), b"\x61b\xf6"].concat();
    let root = (cid(DAG_CBOR, &data), data);
    assert_eq!(judge(&root, "", Depth::Blocks, &car(&root, &[&root, &leaf])), Ok(()));
    assert!(matches!(judge(&root, "", Depth::Blocks, &car(&root, &[&root])), Err(Fault::BlockMissing { .. })));
    assert_eq!(judge(&root, "?dag-scope=entity", Depth::Blocks, &car(&root, &[&root])), Ok(()));
    let path = judge(&root, "/a/1", Depth::Blocks, &car(&root, &[&root, &leaf]));
    assert_eq!(path, Err(Fault::Unsupported { cid: root.0, what: Unsupported::Path }));
}

#[test]
fn unknown_hashes_and_codecs_are_unsupported() {
    let of = |codec, function, digest: &[u8], data: &[u8]| {
        let cid = Cid::new_v1(codec, Multihash::wrap(function, digest).unwrap());
        judge(&(cid, data.to_vec()), "", Depth::Blocks, &car(&(cid, data.to_vec()), &[&(cid, data.to_vec())]))
    };
    let data = b"some block";
    assert_eq!(of(RAW, 0x12, &Sha256::digest(data), data), Ok(()));
    assert_eq!(of(RAW, 0x12, &Sha256::digest(data)[..20], data), Ok(()));
    assert!(matches!(of(RAW, 0x12, &Sha256::digest(data)[..19], data), Err(Fault::Unsupported { .. })));
    assert!(matches!(of(RAW, 0x1e, &[1; 32], data), Err(Fault::Unsupported { what: Unsupported::Hash, .. })));
    assert!(matches!(of(RAW, 0xb220, &[1; 32], data), Err(Fault::BlockDiffers(_))));
    assert!(matches!(
        of(0x78, 0x12, &Sha256::digest(data), data),
        Err(Fault::Unsupported { what: Unsupported::Codec, .. })
    ));
    assert!(matches!(of(DAG_PB, 0x12, &Sha256::digest(data), data), Err(Fault::BadNode(_))));
}

#[test]
fn a_single_block_is_hashed() {
    let leaf = raw(b"one");
    let of = |body: &[u8]| judge(&leaf, "?format=raw", Depth::Blocks, body);
    assert_eq!(of(b"one"), Ok(()));
    assert_eq!(of(b"onf"), Err(Fault::BlockDiffers(leaf.0)));
    assert_eq!(of(b"on"), Err(Fault::BlockDiffers(leaf.0)));
    assert!(Check::new(asked(&leaf.0, "?format=raw"), Depth::Structure).unwrap().is_none());
    assert!(Check::new(asked(&leaf.0, "?format=tar"), Depth::Blocks).unwrap().is_none());
}

#[test]
fn absurd_lengths_are_rejected_before_buffering() {
    let root = raw(b"one");
    let head = header(&root.0);
    for (tail, what) in [
        (vec![0], "0 or above"),
        (varint(9 << 20), "0 or above"),
        (vec![0xff; 10], "not valid"),
        ([varint(5), vec![1, 0x55, 0x12, 0x20, 0]].concat(), "shorter than its CID"),
        ([varint(40), vec![9; 40]].concat(), "CID of a block"),
    ] {
        let fault = judge(&root, "", Depth::Structure, &[head.clone(), tail].concat()).unwrap_err();
        assert!(matches!(fault, Fault::BadFraming { at: 59, .. }) && fault.to_string().contains(what), "{fault}");
    }
    assert!(matches!(judge(&root, "", Depth::Structure, &varint(1 << 40)), Err(Fault::NotCar(_))));
    let large = (cid(DAG_PB, b""), vec![0; (2 << 20) + 1]);
    let found = judge(&large, "", Depth::Blocks, &car(&large, &[&large]));
    assert!(matches!(found, Err(Fault::Unsupported { what: Unsupported::NodeSize, .. })), "{found:?}");
}

/// Responses of kubo 0.42.0, recorded on 2026-11-22 with `Gateway.NoFetch`.
#[test]
fn recorded_cars_of_kubo_are_checked() {
    // The CID is absent. kubo sends status 200 and Content-Length 59.
    let absent = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
    let header_alone = header(&Cid::try_from(absent).unwrap());
    assert_eq!(header_alone.len(), 59);
    // The path does not exist. kubo lists an empty root, and sends the directory.
    let directory = "bafybeiebg3duo6yo32wpuoqlnnr74vexgcscppadpswyt63vkbui7cn6li";
    let asked = GatewayRequest::from_target(&format!("/ipfs/{directory}/nope?format=car")).unwrap();
    let body = hex(PATH_NOT_THERE);
    assert_eq!(body.len(), 162);
    assert_eq!(judge_in(7, &asked, Depth::Structure, &body), Ok(()));
    assert_eq!(judge_in(7, &asked, Depth::Blocks, &body), Err(Fault::PathMissing("nope".into())));
    // A small file.
    let small = "bafkreiacgqvox2b47pugujb2zol35lrl7dtefxadvcg2yepulnacpzxbpa";
    let asked = GatewayRequest::from_target(&format!("/ipfs/{small}?format=car")).unwrap();
    let root = (Cid::try_from(small).unwrap(), b"hello gateway".to_vec());
    let body = car(&root, &[&root]);
    assert_eq!(body.len(), 109);
    assert_eq!(judge_in(1, &asked, Depth::Blocks, &body), Ok(()));
}

const PATH_NOT_THERE: &str = "19a265726f6f747381d82a4500015500006776657273696f6e018601017012208136c7477b0edeacfa3a0b6b63fe549730a427bc037cad89fb7550688f89be5a122b0a2401551220bf2cb58a68f684d95a3b78ef8f661c9a4e5b09e82cc8f9cc88cce90528caeb27120161180a122f0a240170122082ffc6b267b639786234dd44f92bf36ab5cd4f3ed7f449a54bcf5d7c844d7b4e12037375621882a9120a020801";

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// Returns a file with these leaves and intermediate nodes of three links.
fn tree(leaves: &[Vec<u8>]) -> (Block, Vec<Block>) {
    let mut level: Vec<Block> = leaves.iter().map(|data| raw(data)).collect();
    let mut all = level.clone();
    while level.len() > 1 {
        level = level.chunks(3).map(|some| file(&some.iter().collect::<Vec<_>>())).collect();
        all.extend(level.iter().cloned());
    }
    (level[0].clone(), all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn truncation_changes_and_missing_blocks_are_found(
        leaves in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..12),
        pieces in 1_usize..400,
        at in any::<prop::sample::Index>(),
        bit in 0_u8..8,
        order in any::<u64>(),
    ) {
        let (root, mut blocks) = tree(&leaves);
        blocks.sort_by_key(|(cid, _)| cid.to_string());
        blocks.dedup();
        let turn = order as usize % blocks.len();
        blocks.rotate_left(turn);
        let body = car(&root, &blocks.iter().collect::<Vec<_>>());
        let asked = asked(&root.0, "");
        prop_assert_eq!(judge_in(pieces, &asked, Depth::Blocks, &body), Ok(()));
        prop_assert_eq!(judge_in(pieces, &asked, Depth::Structure, &body), Ok(()));
        let cut = at.index(body.len());
        prop_assert!(judge_in(pieces, &asked, Depth::Blocks, &body[..cut]).is_err());
        let mut changed = body.clone();
        changed[cut] ^= 1 << bit;
        prop_assert!(judge_in(pieces, &asked, Depth::Blocks, &changed).is_err(), "bit {} of byte {}", bit, cut);
        let left_out = at.index(blocks.len());
        blocks.remove(left_out);
        let body = car(&root, &blocks.iter().collect::<Vec<_>>());
        prop_assert!(judge_in(pieces, &asked, Depth::Blocks, &body).is_err());
    }

    #[test]
    fn the_result_does_not_depend_on_the_piece_size(body in prop::collection::vec(any::<u8>(), 0..300), pieces in 1_usize..50) {
        let root = raw(b"one");
        let asked = asked(&root.0, "");
        let body = [header(&root.0), body].concat();
        for depth in [Depth::Structure, Depth::Blocks] {
            prop_assert_eq!(judge_in(pieces, &asked, depth, &body), judge_in(usize::MAX, &asked, depth, &body));
        }
    }
}
