//! Arbitrary bytes as a CAR: the check does not panic, uses bounded memory, and does not depend on the split into pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::gateway::{Check, Depth, GatewayRequest};

/// Request targets with roots in the seeds: a directory, a path below it, a file.
const TARGETS: [&str; 4] = [
    "/ipfs/bafybeiebg3duo6yo32wpuoqlnnr74vexgcscppadpswyt63vkbui7cn6li",
    "/ipfs/bafybeiebg3duo6yo32wpuoqlnnr74vexgcscppadpswyt63vkbui7cn6li/nope",
    "/ipfs/bafkreiacgqvox2b47pugujb2zol35lrl7dtefxadvcg2yepulnacpzxbpa",
    "/ipfs/bafybeiebg3duo6yo32wpuoqlnnr74vexgcscppadpswyt63vkbui7cn6li?dag-scope=entity",
];

fuzz_target!(|data: &[u8]| {
    let [target, piece, body @ ..] = data else { return };
    let text = TARGETS[usize::from(*target) % TARGETS.len()];
    let asked = GatewayRequest::from_target(text).expect("the targets are valid");
    let judge = |size: usize, depth| {
        let mut check = Check::new(asked.clone(), depth)?.expect("CARs are checked");
        for piece in body.chunks(size) {
            check.take(piece)?;
        }
        check.end()
    };
    for depth in [Depth::Structure, Depth::Blocks] {
        assert_eq!(judge(usize::from(*piece) + 1, depth), judge(usize::MAX, depth));
    }
    // Targets come from redirects of peers, or from lines that users write.
    let _ = std::str::from_utf8(body).map(GatewayRequest::from_target);
});
