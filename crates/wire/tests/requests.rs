//! Tests the request reader with valid and invalid input.

use wire::request::MAX_REQUEST_LINE_BYTES;
use wire::{
    BadRequest, Event, Framing, MAX_HEAD_BYTES, Method, RangeRequest, RequestHead, RequestReader, Truncated, Version,
};

fn read(input: &str) -> Result<RequestReader, BadRequest> {
    let mut reader = RequestReader::new();
    let mut rest = input.as_bytes();
    loop {
        let progress = reader.read(rest, &mut |_, _| {})?;
        rest = &rest[progress.consumed..];
        if matches!(progress.event, Event::NeedMore | Event::End) {
            return Ok(reader);
        }
    }
}

fn head(input: &str) -> RequestHead {
    read(input).unwrap().head().expect("the head should be complete").clone()
}

fn rejection(input: &str) -> Option<BadRequest> {
    read(input).err()
}

#[test]
fn request_heads_are_parsed() {
    let found = head("GET /a?b HTTP/1.1\r\nHost: h:80\r\nRange: bytes=0-9\r\nX: y\r\n\r\n");
    let expected = RequestHead {
        method: Method::Get,
        target: "/a?b".into(),
        version: Version::Http11,
        framing: Framing::None,
        keep_alive: true,
        host: Some("h:80".into()),
        range: RangeRequest::parse(b"bytes=0-9"),
        expect_continue: false,
    };
    assert_eq!(found, expected);
    for name in ["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "PROPFIND", "get"] {
        let method = head(&format!("{name} / HTTP/1.0\r\n\r\n")).method;
        assert_eq!(method.as_str(), name);
        assert_eq!(matches!(method, Method::Other(_)), ["PROPFIND", "get"].contains(&name));
    }
}

#[test]
fn keep_alive_depends_on_version_and_connection_header() {
    let kept = |version: &str, connection: &str| {
        read(&format!("GET / HTTP/{version}\r\nHost: h\r\n{connection}\r\n")).unwrap().reusable()
    };
    assert!(kept("1.1", "") && !kept("1.0", ""));
    assert!(!kept("1.1", "Connection: close\r\n") && kept("1.0", "Connection: keep-alive\r\n"));
    assert!(!read("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhell").unwrap().reusable());
}

#[test]
fn expectations_need_http_1_1() {
    let expects = |version: &str, value: &str| {
        head(&format!("PUT / HTTP/{version}\r\nHost: h\r\nExpect: {value}\r\nContent-Length: 5\r\n\r\n"))
            .expect_continue
    };
    assert!(expects("1.1", "100-Continue"));
    assert!(!expects("1.0", "100-continue") && !expects("1.1", "miracles"));
}

#[test]
fn invalid_ranges_are_ignored() {
    let range = |headers: &str| head(&format!("GET / HTTP/1.1\r\nHost: h\r\n{headers}\r\n")).range;
    assert!(range("Range: bytes=-5\r\n").is_some());
    for headers in ["", "Range: lines=1-2\r\n", "Range: bytes=5-1\r\n", "Range: bytes=0-1\r\nRange: bytes=0-1\r\n"] {
        assert_eq!(range(headers), None, "{headers}");
    }
}

#[test]
fn invalid_requests_get_the_right_status() {
    let with = |headers: &str| {
        rejection(&format!("PUT / HTTP/1.1\r\nHost: h\r\n{headers}\r\n")).map(|bad| (bad, bad.status()))
    };
    assert_eq!(with("Content-Length: x\r\n"), Some((BadRequest::BadContentLength, 400)));
    assert_eq!(with("Transfer-Encoding: gzip\r\n"), Some((BadRequest::UnknownTransferEncoding, 501)));
    let both = "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n";
    assert_eq!(with(both), Some((BadRequest::AmbiguousFraming, 400)));
    assert_eq!(with("Host: h\r\n"), Some((BadRequest::BadHost, 400)));
    assert_eq!(with("no colon\r\n"), Some((BadRequest::BadHead, 400)));
    assert_eq!(with(&"a: b\r\n".repeat(100)), Some((BadRequest::TooManyHeaders, 431)));
    assert_eq!(with(&format!("a: {}\r\n", "x".repeat(MAX_HEAD_BYTES))), Some((BadRequest::HeadTooLarge, 431)));
    assert_eq!(rejection("GET / HTTP/1.1\r\n\r\n"), Some(BadRequest::BadHost));
    assert_eq!(rejection("GET / HTTP/2.0\r\n\r\n").map(BadRequest::status), Some(505));
    assert_eq!(rejection("GET /a b HTTP/1.1\r\n\r\n").map(BadRequest::status), Some(505));
    assert_eq!(rejection("PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), Some(BadRequest::AmbiguousFraming));
    let chunks = "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(rejection(&format!("{chunks}x\r\n")), Some(BadRequest::BadChunk));
    let flood = format!("{chunks}1;{}", "x".repeat(20_000));
    assert_eq!(rejection(&flood).map(|bad| (bad, bad.status())), Some((BadRequest::ChunkFieldsTooLarge, 431)));
}

#[test]
fn request_lines_are_limited_exactly() {
    let line = |bytes: usize| format!("GET /{} HTTP/1.0\r\n", "x".repeat(bytes - "GET / HTTP/1.0\r\n".len()));
    assert_eq!(rejection(&format!("{}\r\n", line(MAX_REQUEST_LINE_BYTES))), None);
    let too_large = rejection(&format!("{}\r\n", line(MAX_REQUEST_LINE_BYTES + 1)));
    assert_eq!(too_large.map(|bad| (bad, bad.status())), Some((BadRequest::RequestLineTooLarge, 414)));
    let unfinished = "GET /".to_owned() + &"x".repeat(MAX_REQUEST_LINE_BYTES);
    assert_eq!(rejection(&unfinished), Some(BadRequest::RequestLineTooLarge));
}

#[test]
fn the_part_in_which_a_client_closes_is_reported() {
    let left = |input: &str| read(input).unwrap().end_of_stream();
    assert_eq!(left(""), Err(Truncated::BeforeHead));
    assert_eq!(left("GET / HT"), Err(Truncated::InHead));
    assert_eq!(left("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhell"), Err(Truncated::InBody));
    assert_eq!(left("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"), Err(Truncated::InChunks));
    assert_eq!(left("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"), Ok(()));
}

#[test]
fn a_connection_carries_several_requests() {
    let mut reader = RequestReader::new();
    let mut rest =
        &b"PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n"[..];
    for target in ["/a", "/b"] {
        reader.start();
        loop {
            let opaque = reader.opaque_bytes();
            reader.skip(opaque);
            rest = &rest[opaque as usize..];
            let progress = reader.read(rest, &mut |_, _| {}).unwrap();
            rest = &rest[progress.consumed..];
            if progress.event == Event::End {
                break;
            }
        }
        assert_eq!(&*reader.head().unwrap().target, target);
        assert_eq!(reader.body_bytes(), if target == "/a" { 3 } else { 0 });
    }
    assert!(rest.is_empty());
}
