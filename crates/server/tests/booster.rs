//! Tests each quirk of the stand-in for booster-http.

use crate::common::{Client, Response, balanced, config, start};
use flate2::read::GzDecoder;
use measure::units::ByteSize;
use server::{
    Booster, Capacity, Config, CountedRequests, Faults, RefusedRequests, StandIn, Truncate, file_cids, pattern_byte,
    piece_cid,
};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::num::NonZeroU64;
use std::time::Duration;

const PIECE: u64 = 5_000_000;
const CAR_BYTES: u64 = 700_000;
const ANY_CID: &str = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi";

fn booster() -> Config {
    let booster = Booster { piece_size: ByteSize(PIECE), car_size: ByteSize(CAR_BYTES), ..Booster::default() };
    Config { stand_in: StandIn::BoosterHttp(booster), ..config() }
}

/// Returns the CIDs of the file that `/ipfs/` serves, and of its directory.
fn files() -> (String, String) {
    file_cids(&Booster { car_size: ByteSize(CAR_BYTES), ..Booster::default() })
}

fn pattern(first: u64, length: u64) -> Vec<u8> {
    (first..first + length).map(pattern_byte).collect()
}

fn piece() -> String {
    format!("/piece/{}", piece_cid(0))
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}

#[test]
fn pieces_have_the_headers_of_booster_http() {
    let (server, address) = start(&booster());
    let mut client = Client::connect(address);
    let response = client.get(&piece(), "");
    assert!(response.body == pattern(0, PIECE));
    let etag = format!("\"{}\"", piece_cid(0));
    for (name, value) in [
        ("etag", etag.as_str()),
        ("content-type", "application/piece"),
        ("cache-control", "public, max-age=29030400, immutable"),
        ("vary", "Accept-Encoding"),
        ("accept-ranges", "bytes"),
        ("last-modified", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("content-length", "5000000"),
    ] {
        assert_eq!(response.header(name), Some(value), "{name}");
    }
    client.send(&format!("HEAD {} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n", piece()));
    let head = client.response_to(true);
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("5000000")),
        "the header must state the length without compression"
    );
    assert_eq!((head.header("last-modified"), head.header("content-encoding")), (None, None));
    assert_eq!(head.header("etag"), Some(format!("\"{}.gz\"", piece_cid(0)).as_str()));
    balanced(&server.stop());
}

#[test]
fn ranges_conditions_and_several_ranges_follow_go() {
    let (server, address) = start(&booster());
    let mut client = Client::connect(address);
    let etag = format!("\"{}\"", piece_cid(0));
    let mut ask = |lines: &str| client.get(&piece(), lines);
    let one = ask("Range: bytes=10-19\r\n");
    assert_eq!((one.status, one.header("content-range")), (206, Some("bytes 10-19/5000000")));
    assert_eq!(one.body, pattern(10, 10));
    for (condition, status) in [
        (etag.as_str(), 206),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 206),
        ("\"other\"", 200),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 200),
    ] {
        let response = ask(&format!("Range: bytes=10-19\r\nIf-Range: {condition}\r\n"));
        assert_eq!(response.status, status, "{condition}");
        assert_eq!(response.body.len() as u64, if status == 206 { 10 } else { PIECE });
    }
    for (lines, status) in [
        (format!("If-None-Match: {etag}\r\n"), 304),
        (format!("If-None-Match: \"x\", W/{etag}\r\nRange: bytes=0-1\r\n"), 304),
        ("If-None-Match: \"x\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n".to_owned(), 200),
        ("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n".to_owned(), 304),
        ("Range: bytes=5000000-\r\n".to_owned(), 416),
        ("Range: bytes=nonsense\r\n".to_owned(), 416),
        ("Range: bytes=0-,0-\r\n".to_owned(), 200),
    ] {
        let response = ask(&lines);
        assert_eq!(response.status, status, "{lines}");
        if status == 304 {
            assert_eq!((response.header("etag"), response.header("content-type")), (Some(etag.as_str()), None));
        }
    }
    assert_eq!(ask("Range: bytes=5000000-\r\n").header("content-range"), Some("bytes */5000000"));
    assert_eq!(ask("Range: bytes=nonsense\r\n").header("content-range"), None);

    let several = ask("Range: bytes=0-1,4999998-\r\n");
    assert_eq!(several.status, 206);
    let boundary = several.header("content-type").unwrap().strip_prefix("multipart/byteranges; boundary=").unwrap();
    let mut expected =
        format!("--{boundary}\r\nContent-Range: bytes 0-1/5000000\r\nContent-Type: application/piece\r\n\r\n")
            .into_bytes();
    expected.extend(pattern(0, 2));
    expected.extend_from_slice(
        format!("\r\n--{boundary}\r\nContent-Range: bytes 4999998-4999999/5000000\r\nContent-Type: application/piece\r\n\r\n")
            .as_bytes(),
    );
    expected.extend(pattern(4_999_998, 2));
    expected.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    assert_eq!(several.body, expected);
    assert_eq!((boundary.len(), several.header("content-range")), (60, None));
    balanced(&server.stop());
}

#[test]
fn range_is_compressed_after_it_was_cut_out() {
    let (server, address) = start(&booster());
    let mut client = Client::connect(address);
    let response = client.get(&piece(), "Accept-Encoding: gzip\r\nRange: bytes=1000-300999\r\n");
    assert_eq!((response.status, response.header("content-encoding")), (206, Some("gzip")));
    assert_eq!(
        response.header("content-range"),
        Some("bytes 1000-300999/5000000"),
        "the header must describe uncompressed bytes"
    );
    assert_eq!((response.header("content-length"), response.header("transfer-encoding")), (None, Some("chunked")));
    assert!(response.body.len() < 30_000, "{}", response.body.len());
    assert!(gunzip(&response.body) == pattern(1000, 300_000));
    assert_eq!(response.header("etag"), Some(format!("\"{}.gz\"", piece_cid(0)).as_str()));

    let small = client.get(&piece(), "Accept-Encoding: gzip\r\nRange: bytes=0-1398\r\n");
    assert_eq!((small.header("content-encoding"), small.body.len()), (None, 1399));
    assert!(small.header("etag").unwrap().ends_with(".gz\""), "the ETag must claim that the body is compressed");
    for refused in ["", "Accept-Encoding: identity\r\n", "Accept-Encoding: gzip;q=0, br\r\n"] {
        let plain = client.get(&piece(), refused);
        assert_eq!((plain.header("content-encoding"), plain.body.len() as u64), (None, PIECE), "{refused}");
    }
    let whole = client.get(&piece(), "Accept-Encoding: br;q=1.0, gzip;q=0.8\r\n");
    assert!(gunzip(&whole.body) == pattern(0, PIECE));
    let ledger = server.stop();
    balanced(&ledger);
    assert_eq!(ledger.complete.head_bytes + ledger.complete.body_bytes, client.received);
}

#[test]
fn missing_pieces_and_blocks_get_the_status_of_the_original() {
    let (server, address) = start(&booster());
    let mut client = Client::connect(address);
    let accept = "Accept: */*\r\n";
    for (target, lines, status) in [
        ("/piece/", "", 400),
        ("/piece/nonsense", "", 400),
        ("/piece/bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy", "", 404),
        (&format!("/piece/{ANY_CID}"), "Range: bytes=0-0\r\n", 206),
        ("/ipfs/", accept, 404),
        ("/ipfs/nonsense", accept, 400),
        (&format!("/ipfs/{ANY_CID}"), "", 400),
        (&format!("/ipfs/{ANY_CID}"), "Accept: text/html\r\n", 400),
        (&format!("/ipfs/{ANY_CID}?format=tar"), accept, 400),
        (&format!("/ipfs/{ANY_CID}/a/b?format=raw"), "", 400),
        (&format!("/ipfs/{}?format=car&dag-scope=some", files().0), "", 400),
        (&format!("/ipfs/{}?format=car&entity-bytes=9:1", files().0), "", 400),
        (&format!("/ipfs/{ANY_CID}?format=car"), "", 404),
        (&format!("/ipfs/{}", piece_cid(0)), accept, 500),
        (&format!("/ipfs/{}", piece_cid(0)), "Accept: */*\r\nCache-Control: only-if-cached\r\n", 412),
        ("/index.html", "", 200),
        ("/metrics", "", 200),
    ] {
        let response = client.get(target, lines);
        assert_eq!(response.status, status, "{target} {lines}");
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
    }
    assert_eq!(client.get("/info", "").body, b"{\"Version\":\"0.3.0\"}\n");
    client.send("POST /ipfs/x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    let refused = client.response();
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")));
    balanced(&server.stop());
}

/// Parses a CAR according to its specification, and checks that the CID of each block matches the block's bytes.
/// Returns the blocks with their codecs.
fn blocks(mut car: &[u8], root: &str) -> Vec<(u8, Vec<u8>)> {
    fn varint(bytes: &mut &[u8]) -> usize {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            number |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }
    let length = varint(&mut car);
    let (header, mut rest) = car.split_at(length);
    let root = cid::Cid::try_from(root).unwrap().to_bytes();
    let expected =
        [&b"\xa2\x65roots\x81\xd8\x2a\x58"[..], &[root.len() as u8 + 1, 0], &root, b"\x67version\x01"].concat();
    assert_eq!(header, expected);
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let length = varint(&mut rest);
        let (frame, next) = rest.split_at(length);
        let (cid, data) = frame.split_at(36);
        let codec = cid[1];
        assert_eq!(cid, [&[1, codec, 0x12, 0x20][..], &Sha256::digest(data)].concat());
        blocks.push((codec, data.to_vec()));
        rest = next;
    }
    blocks
}

/// Returns the content of the leaves, which are the raw blocks.
fn content(blocks: &[(u8, Vec<u8>)]) -> Vec<u8> {
    blocks.iter().filter(|(codec, _)| *codec == 0x55).flat_map(|(_, data)| data.clone()).collect()
}

/// Checks a CAR with the function that the client uses.
fn is_complete(target: &str, car: &[u8]) -> Result<(), wire::gateway::Fault> {
    use wire::gateway::{Check, Depth, GatewayRequest};
    let mut check = Check::new(GatewayRequest::from_target(target).unwrap(), Depth::Blocks)?.unwrap();
    check.take(car)?;
    check.end()
}

#[test]
fn car_holds_the_file_for_every_form_of_request() {
    let (server, address) = start(&booster());
    let mut client = Client::connect(address);
    let (file, directory) = files();
    let path = format!("/ipfs/{file}");
    let asked: [(String, &str, &str); 4] = [
        (format!("{path}?format=car"), "", "application/vnd.ipld.car;version=1;order=dfs;dups=y"),
        (
            path.clone(),
            "Accept: application/vnd.ipld.car; version=1; dups=n\r\n",
            "application/vnd.ipld.car;version=1;order=dfs;dups=n",
        ),
        (
            path.clone(),
            "Accept: text/html, application/*;q=0.5\r\n",
            "application/vnd.ipld.car;version=1;order=dfs;dups=y",
        ),
        (
            format!("/ipfs/{directory}/file"),
            "Accept: */*\r\nRange: bytes=0-9\r\n",
            "application/vnd.ipld.car;version=1;order=dfs;dups=y",
        ),
    ];
    for (target, lines, media) in asked {
        let response = client.get(&target, lines);
        assert_eq!(response.status, 200, "{target} {lines}");
        assert_eq!(response.header("content-type"), Some(media));
        assert_eq!(
            (response.header("transfer-encoding"), response.header("accept-ranges")),
            (Some("chunked"), Some("none"))
        );
        let root = if target.starts_with(&path) { &file } else { &directory };
        let blocks = blocks(&response.body, root);
        assert!(content(&blocks) == pattern(0, CAR_BYTES));
        assert_eq!(is_complete(&target, &response.body), Ok(()));
    }
    let some = client.get(&format!("{path}?format=car&entity-bytes=300000:400000"), "");
    assert!(content(&blocks(&some.body, &file)) == pattern(262_144, 262_144));
    let one = client.get(&format!("{path}?format=car&dag-scope=block"), "");
    assert_eq!(blocks(&one.body, &file).len(), 1);
    assert_eq!(is_complete(&format!("{path}?dag-scope=block"), &one.body), Ok(()));
    let packed = client.get(&path, "Accept: */*\r\nAccept-Encoding: gzip\r\n");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(content(&blocks(&gunzip(&packed.body), &file)) == pattern(0, CAR_BYTES));
    client.send(&format!("HEAD {path}?format=car HTTP/1.1\r\nHost: x\r\n\r\n"));
    let head: Response = client.response_to(true);
    assert_eq!((head.status, head.header("content-length"), head.header("transfer-encoding")), (200, None, None));
    assert_eq!(client.get("/info", "").status, 200, "nothing may follow the head");
    let ledger = server.stop();
    balanced(&ledger);
    assert_eq!(ledger.complete.head_bytes + ledger.complete.body_bytes, client.received);
}

#[test]
fn failing_car_ends_in_an_unterminated_chunk_with_status_200() {
    let truncate = Some(Truncate { every: NonZeroU64::MIN, after: 1000 });
    let faults = Faults { truncate, ..Faults::default() };
    let (server, address) = start(&Config { faults, ..booster() });
    for encoding in ["", "Accept-Encoding: gzip\r\n"] {
        let mut client = Client::connect(address);
        client.send(&format!("GET /ipfs/{}?format=car HTTP/1.1\r\nHost: x\r\n{encoding}\r\n", files().0));
        let mut bytes = Vec::new();
        client.stream.read_to_end(&mut bytes).unwrap();
        assert!(bytes.starts_with(b"HTTP/1.1 200 OK\r\n"));
        assert!(bytes.ends_with(b"\r\n0\r\n") && !bytes.ends_with(b"0\r\n\r\n"), "{encoding}");
    }
    let ledger = server.stop();
    balanced(&ledger);
    assert_eq!((ledger.complete.count, ledger.statuses[&200].aborted), (0, 2));
}

#[test]
fn ranges_above_the_capacity_are_late_and_some_fail() {
    let slowdown = Duration::from_millis(20);
    let capacity =
        Capacity { concurrency: 4, slowdown, counted: CountedRequests::Ranges, refused: RefusedRequests::Share };
    let (server, address) =
        start(&Config { faults: Faults { capacity: Some(capacity), ..Faults::default() }, ..booster() });
    // The clients do not read these large ranges, so the requests stay in service.
    let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(address)).collect();
    for client in &mut clients {
        client.send(&format!("GET {} HTTP/1.1\r\nHost: x\r\nRange: bytes=0-4999999\r\n\r\n", piece()));
        client.stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    }
    let mut statuses = Vec::new();
    let mut more: Vec<Client> = (0..40).map(|_| Client::connect(address)).collect();
    for client in &mut more {
        client.send(&format!("GET {} HTTP/1.1\r\nHost: x\r\nRange: bytes=0-9\r\n\r\n", piece()));
    }
    for client in &mut more {
        statuses.push(client.response().status);
    }
    let failed = statuses.iter().filter(|status| **status == 500).count();
    assert!(statuses.iter().all(|status| matches!(status, 206 | 500)));
    assert!((1..40).contains(&failed), "{statuses:?}");
    balanced(&server.ledger());
}
