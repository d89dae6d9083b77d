//! Tests that the responses of the embedded server are correct, byte by byte, and that its ledger agrees with them.

use crate::common::{Client, balanced, config, start};
use proptest::prelude::*;
use server::{Config, Server, pattern_byte};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use wire::Method;

fn pattern(first: u64, length: u64) -> Vec<u8> {
    (first..first + length).map(pattern_byte).collect()
}

#[test]
fn objects_of_any_size_are_complete() {
    let (server, address) = start(&config());
    let mut client = Client::connect(address);
    let mut bytes = 0;
    for size in [0, 1, 1024, 16 * 1024, 16 * 1024 + 1, 1_028_096, 1_028_097, 9_000_001] {
        let response = client.get(&format!("/blackhole/{size}"), "");
        assert_eq!(response.status, 200);
        assert!(response.body == pattern(0, size), "content of {size} bytes");
        assert_eq!(response.header("content-type"), Some("application/octet-stream"));
        assert_eq!(response.header("accept-ranges"), Some("bytes"));
        assert_eq!(response.header("server"), Some(concat!("plimsoll/", env!("CARGO_PKG_VERSION"))));
        assert!(response.header("date").unwrap().ends_with(" GMT"));
        bytes += size;
    }
    let ledger = server.ledger();
    balanced(&ledger);
    assert_eq!((ledger.complete.count, ledger.complete.body_bytes), (8, bytes));
    assert_eq!(ledger.complete.head_bytes + bytes, client.received);
    assert_eq!((ledger.connections_accepted, ledger.connections_closed), (1, 0));
}

#[test]
fn head_states_the_length_of_the_body_it_omits() {
    let (server, address) = start(&config());
    let mut client = Client::connect(address);
    client.send("HEAD /blackhole/16383PiB HTTP/1.1\r\nHost: x\r\n\r\n");
    let response = client.response_to(true);
    assert_eq!(response.header("content-length"), Some("18445618173802708992"));
    assert_eq!(client.get("/blackhole/3", "").body, [0, 1, 2], "nothing may follow the head");
    let ledger = server.stop();
    assert_eq!((ledger.methods.of(&Method::Head), ledger.methods.of(&Method::Get)), (1, 1));
    assert_eq!(ledger.complete.body_bytes, 3);
}

#[test]
fn ranges_follow_rfc_9110() {
    let (server, address) = start(&config());
    let mut client = Client::connect(address);
    let mut ask = |range: &str, lines: &str| client.get("/blackhole/1000", &format!("Range: {range}\r\n{lines}"));
    for (range, first, length) in
        [("bytes=0-0", 0, 1), ("bytes=990-2000", 990, 10), ("bytes=500-", 500, 500), ("bytes=-1", 999, 1)]
    {
        let response = ask(range, "");
        assert_eq!(response.status, 206, "{range}");
        let expected = format!("bytes {first}-{}/1000", first + length - 1);
        assert_eq!(response.header("content-range"), Some(expected.as_str()));
        assert_eq!(response.body, pattern(first, length), "{range}");
    }
    for range in ["bytes=1000-", "bytes=1000-1001", "bytes=-0"] {
        let response = ask(range, "");
        assert_eq!((response.status, response.header("content-range")), (416, Some("bytes */1000")), "{range}");
    }
    for (range, lines) in
        [("bytes=0-1,5-6", ""), ("lines=1-2", ""), ("bytes=5-1", ""), ("bytes=0-1", "If-Range: \"e\"\r\n")]
    {
        let response = ask(range, lines);
        assert_eq!((response.status, response.body.len()), (200, 1000), "{range} {lines}");
    }
    let far = client.get("/blackhole/18446744073709551615", "Range: bytes=18446744073709551600-\r\n");
    assert_eq!(far.body, pattern(u64::MAX - 15, 15));
    assert_eq!(client.get("/blackhole/0", "Range: bytes=0-\r\n").status, 416);

    let ledger = server.stop();
    balanced(&ledger);
    assert_eq!((ledger.statuses[&206].complete, ledger.statuses[&416].complete), (5, 4));
    let record = &ledger.log[1];
    let range = record.range.unwrap();
    assert_eq!((range.first(), range.last(), record.body_bytes_sent, record.complete), (990, 999, 10, true));
    assert!(ledger.log.iter().filter(|record| record.status == 416).all(|record| record.range.is_none()));
}

#[test]
fn uploads_are_read_and_counted() {
    let (server, address) = start(&config());
    let mut client = Client::connect(address);
    let body = "x".repeat(3_000_000);
    client.send(&format!("PUT /any HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    let response = client.response();
    assert_eq!((response.status, response.body.as_slice()), (201, &b"3000000\n"[..]));
    client.send("POST /any HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;e=1\r\ndefg\r\n0\r\nT: 1\r\n\r\n");
    let response = client.response();
    assert_eq!((response.status, response.body.as_slice()), (200, &b"7\n"[..]));

    client.send("PUT /e HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    let interim = client.response();
    assert_eq!(interim.head, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("hello");
    assert_eq!(client.response().body, b"5\n");
    client.send("DELETE /any HTTP/1.1\r\nHost: x\r\n\r\n");
    let refused = client.response();
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD, PUT, POST")));

    let ledger = server.stop();
    balanced(&ledger);
    assert_eq!(ledger.request_body_bytes, 3_000_012);
    assert_eq!((ledger.methods.of(&Method::Put), ledger.methods.of(&Method::Post)), (2, 1));
    assert_eq!(ledger.complete.head_bytes + ledger.complete.body_bytes, client.received, "100 Continue must count");
}

#[test]
fn upload_that_breaks_off_counts_as_cut() {
    let (server, address) = start(&config());
    let mut client = Client::connect(address);
    client.send("PUT /any HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
    drop(client);
    while server.ledger().connections_closed == 0 {
        std::thread::yield_now();
    }
    let ledger = server.stop();
    balanced(&ledger);
    assert_eq!((ledger.requests_cut, ledger.request_body_bytes, ledger.complete.count), (1, 4, 0));
}

#[test]
fn pipelined_and_bytewise_requests_get_responses_in_order() {
    let (server, address) = start(&config());
    let mut client = Client::connect(address);
    let requests: String = (1..=200).map(|n| format!("GET /blackhole/{n} HTTP/1.1\r\nHost: x\r\n\r\n")).collect();
    client.send(&requests);
    for n in 1..=200 {
        assert_eq!(client.response().body.len(), n);
    }
    // The requests that arrive during a large response must wait, and none of them may be lost.
    client.send(&format!("GET /blackhole/20MB HTTP/1.1\r\nHost: x\r\n\r\n{requests}"));
    assert_eq!(client.response().body.len(), 20_000_000);
    for n in 1..=200 {
        assert_eq!(client.response().body.len(), n);
    }
    for byte in "GET /blackhole/7 HTTP/1.1\r\nHost: x\r\n\r\n".chars() {
        client.send(&byte.to_string());
    }
    assert_eq!(client.response().body.len(), 7);
    let ledger = server.stop();
    assert_eq!(ledger.complete.count, 402);
    let lengths: Vec<u64> = ledger.log[..200].iter().map(|record| record.body_bytes_sent).collect();
    assert_eq!(lengths, (1..=200).collect::<Vec<_>>());
}

#[test]
fn slow_client_with_full_buffers_gets_everything() {
    let (server, address) = start(&config());
    let mut client = Client::connect(address);
    // While the first response waits for its reader, the client sends more requests than the server can buffer.
    let more = "GET /blackhole/1 HTTP/1.1\r\nHost: x\r\n\r\n".repeat(4000);
    client.send("GET /blackhole/30MB HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut sender = client.stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || sender.write_all(more.as_bytes()).unwrap());
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(client.response().body == pattern(0, 30_000_000));
    for _ in 0..4000 {
        assert_eq!(client.response().body, [0]);
    }
    sending.join().unwrap();
    assert_eq!(server.stop().complete.count, 4001);
}

#[test]
fn client_that_disconnects_leaves_an_aborted_response() {
    let (server, address) = start(&config());
    let mut client = Client::connect(address);
    client.send("GET /blackhole/1GiB HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut buffer = [0; 100_000];
    client.stream.read_exact(&mut buffer).unwrap();
    drop(client);
    while server.ledger().connections_closed == 0 {
        std::thread::yield_now();
    }
    let ledger = server.stop();
    balanced(&ledger);
    assert_eq!((ledger.aborted.count, ledger.complete.count), (1, 0));
    assert_eq!(ledger.statuses[&200].aborted, 1);
    assert!(ledger.aborted.head_bytes + ledger.aborted.body_bytes >= 100_000, "{ledger:?}");
    assert!(ledger.aborted.body_bytes < 1 << 30);
    let [record] = ledger.log.as_slice() else { panic!("{:?}", ledger.log) };
    assert_eq!((record.complete, record.body_bytes_sent), (false, ledger.aborted.body_bytes));
}

#[test]
fn half_closed_client_still_gets_its_responses() {
    let (_server, address) = start(&config());
    for query in ["", "?delay=30ms"] {
        let mut client = Client::connect(address);
        client.send(&format!("GET /blackhole/2MB{query} HTTP/1.1\r\nHost: x\r\n\r\n"));
        client.stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(client.response().body.len(), 2_000_000);
        assert!(client.is_closed());
    }
}

#[test]
fn connections_are_kept_by_version_and_request() {
    let (server, address) = start(&config());
    let mut client = Client::connect(address);
    client.send("GET /blackhole/1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(client.response().header("connection"), Some("keep-alive"));
    client.send("GET /blackhole/1 HTTP/1.0\r\n\r\n");
    assert_eq!(client.response().header("connection"), Some("close"));
    assert!(client.is_closed());

    let mut client = Client::connect(address);
    assert_eq!(client.get("/blackhole/1", "").header("connection"), None);
    assert_eq!(client.get("/blackhole/1", "Connection: close\r\n").header("connection"), Some("close"));
    assert!(client.is_closed());
    drop(server);
}

#[test]
fn invalid_requests_are_rejected_with_their_status() {
    let (server, address) = start(&config());
    for (bytes, status) in [
        ("GET /x HTTP/1.1\r\n\r\n", 400),
        ("GET /x HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        ("\u{16}\u{3}\u{1}", 400),
        ("GET /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        ("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ] {
        let mut client = Client::connect(address);
        client.send(&format!("{bytes}{}", "more that nobody reads ".repeat(1000)));
        let response = client.response();
        assert_eq!((response.status, response.header("connection")), (status, Some("close")), "{bytes:?}");
        assert!(client.is_closed());
    }
    let mut client = Client::connect(address);
    client.send(&format!("GET /x HTTP/1.1\r\nHost: x\r\n{}\r\n", "A: b\r\n".repeat(200)));
    assert_eq!(client.response().status, 431);
    let ledger = server.stop();
    balanced(&ledger);
    assert_eq!((ledger.requests_malformed, ledger.requests()), (6, 1));
    assert_eq!(ledger.complete.count, 7);
}

#[test]
fn only_files_below_the_directory_are_served() {
    let outside = tempfile::tempdir().unwrap();
    let inside = outside.path().join("inside");
    fs::create_dir(&inside).unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    fs::write(inside.join("small one"), "hello").unwrap();
    fs::write(inside.join("large"), pattern(0, 3_000_000)).unwrap();
    std::os::unix::fs::symlink("../secret", inside.join("leaving")).unwrap();
    let (server, address) = start(&Config { directory: Some(inside), ..config() });
    let mut client = Client::connect(address);
    assert_eq!(client.get("/small%20one", "").body, b"hello");
    assert!(client.get("/large", "").body == pattern(0, 3_000_000));
    assert_eq!(client.get("/large", "Range: bytes=2999990-\r\n").body, pattern(2_999_990, 10));
    assert!(client.get("/large?chunked", "").body == pattern(0, 3_000_000));
    assert_eq!(client.get("/", "").body, b"large\nleaving\nsmall%20one\n");
    for (path, status) in [
        ("/../secret", 400),
        ("/%2e%2e/secret", 400),
        ("/leaving", 403),
        ("/x", 404),
        ("/a%00", 400),
        ("/..%2fsecret", 400),
    ] {
        let response = client.get(path, "");
        assert_eq!(response.status, status, "{path}");
        assert!(!response.body.windows(6).any(|window| window == b"secret"));
    }
    assert_eq!(client.get("/blackhole/5", "").body.len(), 5, "objects of any size must still exist");
    drop(server);
}

#[test]
fn without_a_directory_there_are_no_files() {
    let (_server, address) = start(&config());
    let mut client = Client::connect(address);
    for (path, status) in
        [("/", 404), ("/etc/passwd", 404), ("/blackhole/", 400), ("/blackhole/1K", 400), ("/blackhole/16EiB", 400)]
    {
        let response = client.get(path, "");
        assert_eq!(response.status, status, "{path}");
        assert!(response.body.ends_with(b"\n") && response.body.len() > 10, "the body must explain the status");
    }
    client.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.response().status, 400);
}

#[test]
fn unix_sockets_serve_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let server = Server::start(&Config { listen: Vec::new(), unix: vec![path.clone()], ..config() }).unwrap();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n").unwrap();
    stream.write_all(&[b'x'; 100_000]).unwrap();
    stream.write_all(b"GET /blackhole/5MB HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    assert!(received.ends_with(&pattern(4_999_000, 1000)));
    let ledger = server.stop();
    assert_eq!((ledger.complete.count, ledger.request_body_bytes), (2, 100_000));
    assert_eq!(ledger.complete.head_bytes + ledger.complete.body_bytes, received.len() as u64);
    assert!(!path.exists());
}

#[test]
fn port_of_another_server_is_rejected() {
    let (_server, address) = start(&config());
    let error = Server::start(&Config { listen: vec![address], ..config() }).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

/// Returns requests, each with the expected body of its response.
fn requests() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    let request = (0_u64..40_000, 0_u64..40_000, 0_u64..40_000, any::<bool>(), any::<bool>()).prop_map(
        |(size, first, length, ranged, chunked)| {
            let target = format!("/blackhole/{size}{}", if chunked { "?chunked" } else { "" });
            let last = (first + length).min(size.saturating_sub(1));
            let (range, body) = if ranged && first < size {
                (format!("Range: bytes={first}-{}\r\n", first + length), pattern(first, last - first + 1))
            } else {
                (String::new(), pattern(0, size))
            };
            (format!("GET {target} HTTP/1.1\r\nHost: x\r\n{range}\r\n"), body)
        },
    );
    proptest::collection::vec(request, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_mix_of_requests_gets_its_bytes_and_the_ledger_agrees(requests in requests(), cut in 1_usize..200) {
        let (server, address) = start(&config());
        let mut client = Client::connect(address);
        let text: String = requests.iter().map(|(request, _)| request.as_str()).collect();
        for piece in text.as_bytes().chunks(cut) {
            client.stream.write_all(piece).unwrap();
        }
        let mut bytes = 0;
        for (request, body) in &requests {
            let response = client.response();
            prop_assert!(response.body == *body, "{}", request);
            bytes += body.len() as u64;
        }
        let ledger = server.stop();
        balanced(&ledger);
        prop_assert_eq!(ledger.complete.count, requests.len() as u64);
        prop_assert_eq!(ledger.complete.body_bytes, bytes);
        prop_assert_eq!(ledger.complete.head_bytes + bytes, client.received);
        prop_assert_eq!(ledger.received_bytes, text.len() as u64);
    }
}
