//! Tests the response reader with valid and invalid input. There is one example for each known misbehavior. Row numbers
//! refer to docs/liar.md.

use wire::response::{MAX_HEAD_BYTES, MAX_HEADERS, MAX_INTERIM_BYTES, MAX_INTERIM_HEADS};
use wire::{
    ContentRange, Encoding, Event, Framing, Location, Malformed, Progress, RangeField, Reading, RequestKind,
    ResponseReader, Truncated, Version,
};

/// The results of reading a response.
struct Read {
    reader: ResponseReader,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    consumed: usize,
}

fn read_as(kind: RequestKind, input: &[u8]) -> Result<Read, Malformed> {
    let mut read = Read { reader: ResponseReader::new(), headers: Vec::new(), body: Vec::new(), consumed: 0 };
    read.reader.start(kind);
    loop {
        let rest = &input[read.consumed..];
        let mut visit =
            |name: &[u8], value: &[u8]| read.headers.push((String::from_utf8(name.to_vec()).unwrap(), value.to_vec()));
        let Progress { consumed, event } = read.reader.read(rest, &mut visit)?;
        if let Event::Body(range) = &event {
            read.body.extend_from_slice(&rest[range.clone()]);
        }
        read.consumed += consumed;
        if matches!(event, Event::NeedMore | Event::End) {
            return Ok(read);
        }
    }
}

fn read(input: impl AsRef<[u8]>) -> Result<Read, Malformed> {
    read_as(RequestKind::Other, input.as_ref())
}

fn rejection(input: impl AsRef<[u8]>) -> Option<Malformed> {
    read(input).err()
}

#[test]
fn a_plain_response_is_read() {
    let input = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello";
    let read = read(input).unwrap();
    assert_eq!(read.body, b"hello");
    assert_eq!(read.headers, [("Content-Length".into(), b"5".to_vec()), ("X-A".into(), b"b".to_vec())]);
    let head = read.reader.head().unwrap();
    assert_eq!((head.status, head.version, head.framing), (200, Version::Http11, Framing::Length(5)));
    assert_eq!((head.encoding, head.content_range), (Encoding::Identity, RangeField::Absent));
    assert!(read.reader.is_complete() && read.reader.reusable());
    assert_eq!((read.reader.head_bytes(), read.reader.body_bytes()), (input.len() as u64 - 5, 5));
    assert_eq!(read.consumed, input.len());
}

#[test]
fn events_are_returned_one_by_one() {
    let mut reader = ResponseReader::new();
    let mut step = |input: &[u8]| (reader.read(input, &mut |_, _| {}).unwrap(), reader.phase(), reader.opaque_bytes());
    let progress = |consumed, event| Progress { consumed, event };
    assert_eq!(step(b""), (progress(0, Event::NeedMore), Reading::Head, 0));
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(step(&head[..20]), (progress(20, Event::NeedMore), Reading::Head, 0));
    assert_eq!(step(&head[20..]), (progress(head.len() - 20, Event::Head), Reading::Body, 0));
    assert_eq!(step(b"5\r\n"), (progress(3, Event::NeedMore), Reading::Body, 5));
    assert_eq!(step(b"hel"), (progress(3, Event::Body(0..3)), Reading::Body, 2));
    assert_eq!(step(b"lo\r\n1\r\nx"), (progress(2, Event::Body(0..2)), Reading::Body, 0));
    assert_eq!(step(b"\r\n1\r\nx"), (progress(6, Event::Body(5..6)), Reading::Body, 0));
    assert_eq!(step(b"\r\n0\r\nT: v"), (progress(9, Event::NeedMore), Reading::Trailers, 0));
    assert_eq!(step(b"\r\n\r\nHTTP"), (progress(4, Event::End), Reading::Complete, 0));
    assert_eq!(step(b"HTTP"), (progress(0, Event::End), Reading::Complete, 0));
}

/// Row 20: the head ends at the end of the stream.
#[test]
fn an_incomplete_head_is_truncated() {
    let mut reader = ResponseReader::new();
    assert_eq!(reader.end_of_stream(), Err(Truncated::BeforeHead));
    let mut reader = read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n").unwrap().reader;
    assert_eq!(reader.end_of_stream(), Err(Truncated::InHead));
    let mut reader = read("HTTP/1.1 103 Early Hints\r\n\r\n").unwrap().reader;
    assert_eq!(reader.end_of_stream(), Err(Truncated::InHead), "an interim head is not a complete response");
    assert_eq!(reader.head(), None);
}

/// Row 21: endless or huge heads.
#[test]
fn heads_are_limited_exactly_in_any_split() {
    let start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ";
    let sized = |bytes: usize| format!("{start}{}\r\n\r\n", "x".repeat(bytes - start.len() - 4)).into_bytes();
    let headers = |count: usize| format!("HTTP/1.1 204 No\r\n{}\r\n", "a: b\r\n".repeat(count)).into_bytes();
    let endless = format!("{start}{}", "x".repeat(10 * MAX_HEAD_BYTES)).into_bytes();
    let blank = b"\r\n".repeat(MAX_HEAD_BYTES);
    let cases = [
        (sized(MAX_HEAD_BYTES), None),
        (sized(MAX_HEAD_BYTES + 1), Some(Malformed::HeadTooLarge)),
        (endless, Some(Malformed::HeadTooLarge)),
        (blank, Some(Malformed::HeadTooLarge)),
        (headers(MAX_HEADERS), None),
        (headers(MAX_HEADERS + 1), Some(Malformed::TooManyHeaders)),
    ];
    for (input, expected) in cases {
        assert_eq!(rejection(&input), expected);
        let mut reader = ResponseReader::new();
        let mut refused = None;
        for piece in input.chunks(1000) {
            refused = reader.read(piece, &mut |_, _| {}).err();
            if refused.is_some() {
                break;
            }
        }
        assert_eq!(refused, expected, "pieces must give the same result as the whole input");
    }
}

/// Row 22: garbage, NUL in a header, a header without colon.
#[test]
fn invalid_heads_are_rejected() {
    let with = |header: &str| format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\n");
    for header in
        ["no colon", "A\0: b", "A: b\0c", "A : b", ": b", " folded: x", "A: b\r\n folded", "A: b\rc", "A\u{e4}: b"]
    {
        assert_eq!(rejection(with(header)), Some(Malformed::BadHead), "{header:?}");
    }
    assert_eq!(rejection("HTTP/1.1 200 \0\r\n\r\n"), Some(Malformed::BadStatus));
    let mut reader = ResponseReader::new();
    let refused = reader.read(b"rubbish", &mut |_, _| {});
    assert_eq!(refused, Err(Malformed::NotHttp));
    assert_eq!(
        reader.read(b"HTTP/1.1 200 OK\r\n\r\n", &mut |_, _| {}),
        refused,
        "after an error, every call must return it"
    );
    assert!(!reader.reusable() && !reader.is_complete());
}

/// Row 23: HTTP/0.9, and other protocols. Row 28: an HTTP/2 preface, an unrequested 101.
#[test]
fn other_protocols_are_detected_by_their_first_bytes() {
    for input in ["<html>", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/0.9 200\r\n\r\n", "ICY 200 OK"]
    {
        assert_eq!(rejection(input), Some(Malformed::NotHttp), "{input}");
    }
    assert_eq!(rejection(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Some(Malformed::NotHttp));
    assert_eq!(rejection(b"\0\0\x12\x04\0\0\0\0\0"), Some(Malformed::NotHttp), "an HTTP/2 SETTINGS frame");
    assert_eq!(rejection("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"), Some(Malformed::UnexpectedSwitch));
    // If bytes arrive one by one, the reader detects the protocol equally early.
    let mut reader = ResponseReader::new();
    assert!(reader.read(b"S", &mut |_, _| {}).is_err());
    let mut reader = ResponseReader::new();
    reader.read(b"H", &mut |_, _| {}).unwrap();
    assert_eq!(reader.read(b"e", &mut |_, _| {}), Err(Malformed::NotHttp));

    // A valid response is followed by HTTP/0.9.
    let read = read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n<html>").unwrap();
    let mut reader = read.reader;
    reader.start(RequestKind::Other);
    assert_eq!(reader.read(b"<html>", &mut |_, _| {}), Err(Malformed::NotHttp));
}

/// Row 24: HTTP/1.0.
#[test]
fn http_1_0_closes_without_keep_alive() {
    let read = whole("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(read.reader.head().unwrap().version, Version::Http10);
    assert!(read.reader.is_complete() && !read.reader.reusable());
    let kept = whole("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n");
    assert!(kept.reader.reusable());
    let closed = whole("HTTP/1.1 200 OK\r\nConnection: x, close\r\nContent-Length: 0\r\n\r\n");
    assert!(!closed.reader.reusable());
    let chunked = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(rejection(chunked), Some(Malformed::TransferEncodingInHttp10));
}

fn whole(input: &str) -> Read {
    read(input).unwrap()
}

/// Row 25: a Content-Length that is negative, text, or two different numbers.
#[test]
fn content_length_is_a_single_number() {
    let with = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n");
    for bad in ["-1", "five", "", "1 2", "+1", "0x1", "18446744073709551616", "1;", "1,2", "1,", "1.0"] {
        assert_eq!(rejection(with(&format!("Content-Length: {bad}"))), Some(Malformed::BadContentLength), "{bad}");
    }
    let two = rejection(with("Content-Length: 1\r\nContent-Length: 2"));
    assert_eq!(two, Some(Malformed::BadContentLength));
    for equal in ["Content-Length: 3\r\ncontent-length: 03", "Content-Length: 3, 3"] {
        let read = read(with(equal) + "abc").unwrap();
        let head = read.reader.head().unwrap();
        assert!(head.flags.duplicate_length && read.reader.is_complete(), "{equal}");
        assert_eq!((read.body.as_slice(), head.declared_length), (&b"abc"[..], Some(3)));
    }
}

/// Row 26: Transfer-Encoding and Content-Length.
#[test]
fn chunks_override_length_and_prevent_reuse() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nTransfer-Encoding: Chunked\r\n\r\n";
    let read = read(format!("{head}3\r\nabc\r\n0\r\n\r\n")).unwrap();
    assert_eq!(read.body, b"abc");
    let head = read.reader.head().unwrap();
    assert!(head.flags.smuggling_risk);
    assert_eq!((head.framing, head.declared_length), (Framing::Chunked, Some(100)));
    assert!(read.reader.is_complete() && !read.reader.reusable());
    for other in ["gzip", "gzip, chunked", "chunked, chunked", "chunked\r\nTransfer-Encoding: chunked", "", "identity"]
    {
        let input = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {other}\r\n\r\n");
        assert_eq!(rejection(input), Some(Malformed::UnknownTransferEncoding), "{other}");
    }
}

/// Row 27: many interim responses.
#[test]
fn interim_responses_are_skipped_up_to_a_limit() {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    let end = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let limit = MAX_INTERIM_HEADS as usize;
    let input = interim.repeat(limit) + end;
    let read = read(&input).unwrap();
    assert_eq!((read.reader.interim(), read.body.as_slice()), (MAX_INTERIM_HEADS, &b"ok"[..]));
    assert_eq!(read.headers.len(), 1, "only headers of the final head must be visited");
    assert_eq!(read.reader.head_bytes(), input.len() as u64 - 2);
    assert_eq!(rejection(interim.repeat(limit + 1) + end), Some(Malformed::TooManyInterim));
    let big = format!("HTTP/1.1 102 Processing\r\nX: {}\r\n\r\n", "x".repeat(MAX_INTERIM_BYTES as usize / 2));
    assert_eq!(rejection(big.repeat(2)), Some(Malformed::TooManyInterim));
}

/// Row 32: invalid status codes.
#[test]
fn status_codes_are_100_to_599() {
    for status in ["99", "099", "600", "999", "1000", "000", "-20", "2x0", ""] {
        let refused = rejection(format!("HTTP/1.1 {status} What\r\nContent-Length: 0\r\n\r\n"));
        assert_eq!(refused, Some(Malformed::BadStatus), "{status}");
    }
    for status in [200, 299, 599] {
        let read = read(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")).unwrap();
        assert_eq!(read.reader.head().unwrap().status, status);
    }
}

/// Row 33: Content-Length larger than the body. Row 35: chunked without its end.
#[test]
fn incomplete_bodies_are_truncated() {
    let mut read = whole("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
    assert_eq!((read.reader.opaque_bytes(), read.reader.body_bytes()), (5, 5));
    assert_eq!(read.reader.end_of_stream(), Err(Truncated::InBody));
    assert!(!read.reader.is_complete() && !read.reader.reusable());
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for sent in ["", "5", "5\r\n", "5\r\nhel", "5\r\nhello\r\n", "0\r\n", "0\r\nT: v\r\n", "0\r\n\r"] {
        let mut read = whole(&format!("{head}{sent}"));
        assert_eq!(read.reader.end_of_stream(), Err(Truncated::InChunks), "{sent:?}");
    }
    let mut read = whole("HTTP/1.1 200 OK\r\n\r\nto the end");
    assert_eq!(read.reader.opaque_bytes(), u64::MAX);
    assert!(!read.reader.is_complete());
    assert_eq!(read.reader.end_of_stream(), Ok(()));
    assert!(read.reader.is_complete() && !read.reader.reusable());
    assert_eq!(read.body, b"to the end");
}

/// Row 34: more bytes than Content-Length. Row 44: a body after HEAD, 204, 304. Row 46: a legitimate empty body.
#[test]
fn excess_bytes_are_left_to_the_caller() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    let excess = "HTTP/1.1 200 OK\r\n\r\n";
    let read = whole(&format!("{head}abc{excess}"));
    assert_eq!(read.consumed, head.len() + 3);
    assert!(read.reader.is_complete());

    let answer_to_head = read_as(RequestKind::Head, format!("{head}abc").as_bytes()).unwrap();
    assert_eq!(answer_to_head.consumed, head.len());
    let parsed = answer_to_head.reader.head().unwrap();
    assert_eq!((parsed.framing, parsed.declared_length), (Framing::None, Some(3)));
    assert!(answer_to_head.reader.reusable() && answer_to_head.body.is_empty());

    for status in [204, 304] {
        let head = format!("HTTP/1.1 {status} No\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n");
        let read = whole(&format!("{head}abc"));
        assert_eq!(read.consumed, head.len());
        assert_eq!(read.reader.body_bytes(), 0);
    }
    let empty = whole("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert!(empty.reader.is_complete() && empty.reader.reusable());
    assert_eq!(empty.reader.head().unwrap().framing, Framing::Length(0));
}

#[test]
fn a_head_without_body_is_returned_before_the_end() {
    let head = b"HTTP/1.1 304 Not Modified\r\n\r\n";
    let mut reader = ResponseReader::new();
    let first = reader.read(head, &mut |_, _| {}).unwrap();
    assert_eq!(first, Progress { consumed: head.len(), event: Event::Head });
    assert_eq!(reader.read(b"", &mut |_, _| {}).unwrap(), Progress { consumed: 0, event: Event::End });
}

/// Row 36: chunk sizes that are invalid or overflow. Row 37: floods of extensions and trailers.
#[test]
fn invalid_chunks_are_rejected() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks = |text: &str| rejection(format!("{head}{text}"));
    for bad in ["x\r\n", "-5\r\n", "10000000000000000\r\n", "5\n", "1\r\nab\r\n", "\r\n", "5 5\r\n", "5 x\r\n"] {
        assert_eq!(chunks(bad), Some(Malformed::BadChunk), "{bad:?}");
    }
    // Extensions of many small chunks are counted together.
    let one = format!("1;{}\r\nx\r\n", "e".repeat(1000));
    assert_eq!(chunks(&one.repeat(17)), Some(Malformed::ChunkExtensionsTooLarge));
    assert_eq!(chunks(&one.repeat(16)), None);
    assert_eq!(chunks(&format!("0\r\n{}", "T: v\r\n".repeat(3000))), Some(Malformed::TrailersTooLarge));
}

#[test]
fn ranges_types_and_encodings_are_parsed() {
    let head = |headers: &str| {
        let read = whole(&format!("HTTP/1.1 206 Partial\r\nContent-Length: 0\r\n{headers}\r\n"));
        read.reader.head().unwrap().clone()
    };
    let range = |text: &str| RangeField::Valid(ContentRange::parse(text.as_bytes()).unwrap());
    assert_eq!(head("Content-Range: bytes 0-9/10\r\n").content_range, range("bytes 0-9/10"));
    assert_eq!(head("Content-Range: bytes 9-0/10\r\n").content_range, RangeField::Invalid);
    let twice = "Content-Range: bytes 0-9/10\r\n";
    assert_eq!(head(&twice.repeat(2)).content_range, range("bytes 0-9/10"));
    assert_eq!(head(&format!("{twice}Content-Range: bytes 0-8/10\r\n")).content_range, RangeField::Invalid);
    assert!(head("Content-Type: Multipart/ByteRanges ; boundary=x\r\n").content_type_multipart_byteranges);
    assert!(!head("Content-Type: multipart/byterangesx\r\n").content_type_multipart_byteranges);
    assert_eq!(head("Content-Encoding: identity\r\n").encoding, Encoding::Identity);
    assert_eq!(head("Content-Encoding: identity, gzip\r\n").encoding, Encoding::Other);
    assert_eq!(head("Content-Encoding: br\r\nContent-Encoding: identity\r\n").encoding, Encoding::Other);
}

#[test]
fn locations_are_unique_and_read_from_redirects_only() {
    let location = |status: u16, headers: &[u8]| {
        let mut input = format!("HTTP/1.1 {status} Found\r\nContent-Length: 0\r\n").into_bytes();
        input.extend_from_slice(headers);
        input.extend_from_slice(b"\r\n");
        read(input).unwrap().reader.head().unwrap().location.clone()
    };
    assert_eq!(location(307, b"Location: /x?y\r\n"), Location::One("/x?y".into()));
    assert_eq!(location(307, b"Location: /x\r\nlocation: /x\r\n"), Location::One("/x".into()));
    assert_eq!(location(307, b"Location: /x\r\nLocation: /y\r\n"), Location::Several);
    assert_eq!(location(307, b""), Location::Absent);
    assert_eq!(location(201, b"Location: /x\r\n"), Location::Absent);
    for bad in [&b""[..], b"/a b", b"/a\tb", b"\xff", &[b'x'; 8 * 1024 + 1]] {
        let header = [b"Location: ", bad, b"\r\n"].concat();
        assert_eq!(location(302, &header), Location::Invalid, "{}", bad.len());
    }
}

#[test]
fn an_idle_reader_is_small() {
    assert!(size_of::<ResponseReader>() <= 256, "{} bytes", size_of::<ResponseReader>());
}
