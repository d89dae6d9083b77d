//! Tests of CARs from gateways, on simulated time. A response with missing blocks must fail, even if it is valid HTTP.

use crate::support::*;
use engine::plan::*;
use engine::sim::{Reply, SimNetwork, simulate};
use measure::{AttemptClass, Cause, Instant};
use std::num::NonZeroU64;
use wire::gateway::Depth;

/// CID of a file, as created by `ipfs add --cid-version=1 --chunker=size-180`. The file has two leaves of 180 bytes.
/// The first leaf contains `plimsoll ` 20 times, and the second leaf contains `Plimsoll ` 20 times.
const ROOT: &str = "bafybeidzrv2kybe6yzkmtc7nhmzojjd3pvckh3vzcacnpoeu7du35wmude";
/// CAR of the file with the CID [`ROOT`], created by kubo 0.42.0.
const CAR: &str = "3aa265726f6f747381d82a58250001701220798d74ac049ec654c98bed3b32e4a47b7d44a3eeb91004d7b894f8e9bed994196776657273696f6e018b0101701220798d74ac049ec654c98bed3b32e4a47b7d44a3eeb91004d7b894f8e9bed99419122b0a2401551220b3614d355c368ab3fa477a9ecd9a5f02f1d804f33bf4f2c299a8183f9d5957c3120018b401122b0a240155122057d3d4448a6a41df83936ce6a801f1600b5bfe545cd59cd220704a855c3506a3120018b4010a0b080218e80220b40120b401d80101551220b3614d355c368ab3fa477a9ecd9a5f02f1d804f33bf4f2c299a8183f9d5957c3706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20706c696d736f6c6c20d8010155122057d3d4448a6a41df83936ce6a801f1600b5bfe545cd59cd220704a855c3506a3506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20506c696d736f6c6c20";
/// Offset of the last block in the CAR.
const LAST: usize = 418;

fn car() -> Vec<u8> {
    (0..CAR.len() / 2).map(|at| u8::from_str_radix(&CAR[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// Returns a response in chunks of this size, with a valid last chunk.
fn chunked(body: &[u8], size: usize) -> Vec<u8> {
    let mut out = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in body.chunks(size) {
        out.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

/// Makes three operations on a path below the root. Returns the outcome of a failed operation, and the number of
/// operations that succeed.
fn outcome(path: &str, depth: Depth, body: &[u8]) -> (Option<(AttemptClass, Cause)>, u64) {
    let mut plan = at(plan(), &format!("http://sim:80/ipfs/{ROOT}{path}"));
    plan.stop = StopAfter { ops: NonZeroU64::new(3), ..StopAfter::default() };
    plan.mix.requests_mut()[0].response_body = ResponseBody::Gateway(depth);
    let reply = chunked(body, 37);
    // The response is sent in two halves, so that a block arrives in parts.
    let halves = [&reply[..reply.len() / 2], &reply[reply.len() / 2..]].map(<[u8]>::to_vec);
    let server = |now: Instant, _: &str| -> Vec<(Instant, Reply)> {
        halves.iter().enumerate().map(|(at, half)| (now + ms(at as u64 + 1), Reply::Bytes(half.clone()))).collect()
    };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server));
    let tally = summary(&plan, &intervals).stats.measured.clone();
    let class = tally.classes.nonzero().map(|(class, _)| class).find(|class| *class != AttemptClass::Ok);
    let cause = tally.causes.nonzero().map(|(cause, _)| cause).next();
    (class.zip(cause), tally.ok)
}

#[test]
fn a_whole_car_is_a_success_at_each_depth() {
    for depth in [Depth::Structure, Depth::Blocks] {
        assert_eq!(outcome("?format=car", depth, &car()), (None, 3), "{depth:?}");
    }
}

#[test]
fn blocks_missing_in_a_200_are_a_failure() {
    let car = car();
    let mut changed = car.clone();
    changed[LAST + 50] ^= 1;
    let header = 59;
    let failed = |class, cause| (Some((class, cause)), 0);
    let fine = (None, 3);
    use AttemptClass::{Incomplete, Integrity};
    for (what, path, body, structure, blocks) in [
        ("an absent root", "", &car[..header], failed(Integrity, Cause::RootMissing), None),
        ("a missing leaf", "", &car[..LAST], fine, Some(failed(Integrity, Cause::BlockMissing))),
        ("a torn block", "", &car[..LAST + 90], failed(Incomplete, Cause::CarCutShort), None),
        ("a wrong byte", "", &changed, fine, Some(failed(Integrity, Cause::BlockDiffers))),
        ("a path that is not there", "/nope", &car, fine, Some(failed(Integrity, Cause::PathMissing))),
        ("blocks too many", "?dag-scope=block", &car, fine, Some(failed(Integrity, Cause::UnrelatedBlock))),
        ("an empty body", "", b"", failed(Integrity, Cause::NotACar), None),
        ("a page", "", b"<!doctype html>", failed(Integrity, Cause::NotACar), None),
        ("another format", "?format=tar", b"<!doctype html>", fine, None),
    ] {
        assert_eq!(outcome(path, Depth::Structure, body), structure, "{what}");
        assert_eq!(outcome(path, Depth::Blocks, body), blocks.unwrap_or(structure), "{what}");
    }
}

#[test]
fn a_single_block_is_hashed_on_request() {
    let failed = (Some((AttemptClass::Integrity, Cause::BlockDiffers)), 0);
    assert_eq!(outcome("?format=raw", Depth::Structure, b"anything"), (None, 3));
    assert_eq!(outcome("?format=raw", Depth::Blocks, b"anything"), failed);
}
