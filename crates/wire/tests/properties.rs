//! Tests properties that hold for every response and request, with any content and split into any pieces.

use proptest::collection::vec;
use proptest::prelude::*;
use wire::{
    Event, Framing, Head, Malformed, Progress, RequestHead, RequestKind, RequestReader, ResponseReader, Truncated,
};

/// The results of reading one response, with the body in one piece.
#[derive(Debug, PartialEq)]
struct ReadResponse {
    head: Option<Head>,
    headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body without skipped bytes.
    body_read: Vec<u8>,
    body_bytes: u64,
    head_bytes: u64,
    consumed: usize,
    interim: u32,
    reusable: bool,
    end: Result<(), Truncated>,
}

/// Reads `input` in pieces of the given sizes (repeated in turn), then ends the stream. If the entry in `skips` for a
/// piece is `true`, the body data at the beginning of the piece is skipped, not read.
fn read_all(kind: RequestKind, input: &[u8], sizes: &[usize], skips: &[bool]) -> Result<ReadResponse, Malformed> {
    read_all_with(&mut ResponseReader::new(), kind, input, sizes, skips)
}

/// Like [`read_all`], but uses a reader that may have read other responses before.
fn read_all_with(
    reader: &mut ResponseReader,
    kind: RequestKind,
    input: &[u8],
    sizes: &[usize],
    skips: &[bool],
) -> Result<ReadResponse, Malformed> {
    reader.start(kind);
    let (mut headers, mut body_read, mut consumed) = (Vec::new(), Vec::new(), 0);
    let mut skips = skips.iter().cycle();
    let mut sizes = sizes.iter().cycle();
    'pieces: while consumed < input.len() || reader.is_complete() {
        let size = (*sizes.next().unwrap()).min(input.len() - consumed);
        let mut piece = &input[consumed..consumed + size];
        loop {
            let opaque = usize::try_from(reader.opaque_bytes()).unwrap_or(usize::MAX).min(piece.len());
            if opaque > 0 && *skips.next().unwrap() {
                reader.skip(opaque as u64);
                consumed += opaque;
                piece = &piece[opaque..];
                if piece.is_empty() {
                    break;
                }
            }
            let mut visit = |name: &[u8], value: &[u8]| headers.push((name.to_vec(), value.to_vec()));
            let Progress { consumed: taken, event } = reader.read(piece, &mut visit)?;
            assert!(taken <= piece.len(), "the reader consumed more than it was given");
            if let Event::Body(range) = &event {
                assert!(!range.is_empty() && range.end == taken, "{range:?} of {taken}");
                body_read.extend_from_slice(&piece[range.clone()]);
            }
            consumed += taken;
            piece = &piece[taken..];
            match event {
                Event::End => break 'pieces,
                Event::NeedMore => {
                    assert!(piece.is_empty(), "the reader left bytes that it needs");
                    break;
                }
                Event::Head | Event::Body(_) => {}
            }
        }
    }
    assert_eq!(reader.head_bytes() + reader.body_bytes(), consumed as u64, "every byte must be counted once");
    let (head, interim, reusable) = (reader.head().cloned(), reader.interim(), reader.reusable());
    let (body_bytes, head_bytes) = (reader.body_bytes(), reader.head_bytes());
    let end = reader.end_of_stream();
    assert_eq!(end.is_ok(), reader.is_complete());
    Ok(ReadResponse { head, headers, body_read, body_bytes, head_bytes, consumed, interim, reusable, end })
}

/// A correctly framed response: its bytes and their meaning.
#[derive(Debug, Clone)]
struct Framed {
    bytes: Vec<u8>,
    body: Vec<u8>,
    framing: Framing,
    interim: u32,
}

fn header_lines() -> impl Strategy<Value = String> {
    vec(("X-[A-Za-z]{1,8}", "[!-~]{0,3}[ -~]{0,20}"), 0..6)
        .prop_map(|headers| headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect())
}

fn chunk() -> impl Strategy<Value = (Vec<u8>, String)> {
    (vec(any::<u8>(), 1..60), "(|[ \t]?;[a-z=\";, ]{0,12})")
}

fn framed() -> impl Strategy<Value = Framed> {
    framed_as(0..3)
}

/// Like [`framed`], but without bodies that end when the connection closes.
fn framed_with_end() -> impl Strategy<Value = Framed> {
    framed_as(0..2)
}

fn framed_as(kinds: std::ops::Range<u8>) -> impl Strategy<Value = Framed> {
    let heads = (header_lines(), 0..4_u32, any::<bool>());
    let chunks = (vec(chunk(), 0..5), header_lines(), any::<bool>());
    (heads, chunks, kinds).prop_map(|((headers, interim, blank_line), (chunks, trailers, upper), kind)| {
        let mut bytes = if blank_line { b"\r\n".to_vec() } else { Vec::new() };
        for _ in 0..interim {
            bytes.extend_from_slice(format!("HTTP/1.1 103 Early\r\n{headers}\r\n").as_bytes());
        }
        bytes.extend_from_slice(format!("HTTP/1.1 200 OK\r\n{headers}").as_bytes());
        let body: Vec<u8> = chunks.iter().flat_map(|(data, _)| data.iter().copied()).collect();
        let framing = match kind {
            0 => {
                bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
                bytes.extend_from_slice(&body);
                Framing::Length(body.len() as u64)
            }
            1 => {
                bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                for (data, extension) in &chunks {
                    let size = if upper { format!("{:04X}", data.len()) } else { format!("{:x}", data.len()) };
                    bytes.extend_from_slice(format!("{size}{extension}\r\n").as_bytes());
                    bytes.extend_from_slice(data);
                    bytes.extend_from_slice(b"\r\n");
                }
                bytes.extend_from_slice(format!("0\r\n{trailers}\r\n").as_bytes());
                Framing::Chunked
            }
            _ => {
                bytes.extend_from_slice(b"\r\n");
                bytes.extend_from_slice(&body);
                Framing::UntilClose
            }
        };
        Framed { bytes, body, framing, interim }
    })
}

proptest! {
    #[test]
    fn a_well_framed_response_is_read_completely(framed in framed()) {
        let read = read_all(RequestKind::Other, &framed.bytes, &[usize::MAX], &[false]).unwrap();
        prop_assert_eq!(read.head.as_ref().unwrap().framing, framed.framing);
        prop_assert_eq!(read.body_bytes, framed.body.len() as u64);
        prop_assert_eq!(read.body_read, framed.body);
        prop_assert_eq!(read.consumed, framed.bytes.len());
        prop_assert_eq!(read.interim, framed.interim);
        prop_assert_eq!(read.end, Ok(()));
        prop_assert_eq!(read.reusable, framed.framing != Framing::UntilClose);
    }

    #[test]
    fn splitting_and_skipping_do_not_change_the_result(
        framed in framed(),
        sizes in vec(1..40_usize, 1..8),
        skips in vec(any::<bool>(), 1..8),
        cut_at in any::<prop::sample::Index>(),
    ) {
        let whole = read_all(RequestKind::Other, &framed.bytes, &[usize::MAX], &[false]).unwrap();
        prop_assert_eq!(&read_all(RequestKind::Other, &framed.bytes, &[1], &[false]).unwrap(), &whole);
        prop_assert_eq!(&read_all(RequestKind::Other, &framed.bytes, &sizes, &[false]).unwrap(), &whole);
        let skipped = read_all(RequestKind::Other, &framed.bytes, &sizes, &skips).unwrap();
        prop_assert!(skipped.body_read.len() <= whole.body_read.len());
        prop_assert_eq!(&ReadResponse { body_read: whole.body_read.clone(), ..skipped }, &whole);

        // A stream that ends anywhere must give the same result in one piece and in many.
        let cut = &framed.bytes[..cut_at.index(framed.bytes.len() + 1)];
        let once = read_all(RequestKind::Other, cut, &[usize::MAX], &[false]).unwrap();
        prop_assert_eq!(&read_all(RequestKind::Other, cut, &sizes, &[false]).unwrap(), &once);
        if cut.len() < framed.bytes.len() && framed.framing != Framing::UntilClose {
            prop_assert!(once.end.is_err());
        }
    }

    #[test]
    fn bytes_after_the_end_are_not_consumed(
        framed in framed_with_end(),
        excess in vec(any::<u8>(), 1..50),
        sizes in vec(1..200_usize, 1..5),
        skips in vec(any::<bool>(), 1..5),
    ) {
        let input = [framed.bytes.as_slice(), &excess].concat();
        let read = read_all(RequestKind::Other, &input, &sizes, &skips).unwrap();
        prop_assert_eq!(read.consumed, framed.bytes.len());
        prop_assert_eq!(read.body_bytes, framed.body.len() as u64);
    }

    #[test]
    fn a_response_to_head_has_no_body(framed in framed(), sizes in vec(1..40_usize, 1..8)) {
        let read = read_all(RequestKind::Head, &framed.bytes, &sizes, &[false]).unwrap();
        prop_assert_eq!((read.body_bytes, read.end, read.reusable), (0, Ok(()), true));
        let body_and_framing = framed.bytes.len() - read.consumed;
        prop_assert!(body_and_framing >= framed.body.len());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..300), sizes in vec(1..50_usize, 1..8), skip in any::<bool>()) {
        let _ = read_all(RequestKind::Other, &bytes, &sizes, &[skip]);
        let _ = read_request(&bytes, &sizes);
    }

    /// Damaged responses are almost valid, so they reach more states of the reader than arbitrary bytes do.
    #[test]
    fn damaged_responses_never_panic_and_fail_alike_in_any_split(
        framed in framed(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        sizes in vec(1..60_usize, 1..8),
    ) {
        let mut bytes = framed.bytes;
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let whole = read_all(RequestKind::Other, &bytes, &[usize::MAX], &[false]);
        let pieces = read_all(RequestKind::Other, &bytes, &sizes, &[false]);
        match (whole, pieces) {
            // If a truncated head arrives in pieces, the reader may not detect an error in it before the stream ends.
            // The response is rejected in both cases.
            (Err(_), Ok(read)) => prop_assert!(matches!(read.end, Err(Truncated::InHead | Truncated::BeforeHead))),
            (whole, pieces) => prop_assert_eq!(pieces, whole),
        }
    }

    /// The earlier response has the same head, a damaged head, or a rejected one.
    #[test]
    fn earlier_responses_do_not_matter(
        framed in framed(),
        deeds in vec((any::<bool>(), any::<bool>(), prop::option::of((0..60_usize, any::<u8>())), 1..400_usize), 1..6),
    ) {
        let mut reader = ResponseReader::new();
        for (head, in_one_piece, damage, size) in deeds {
            let kind = if head { RequestKind::Head } else { RequestKind::Other };
            let mut bytes = framed.bytes.clone();
            if let Some((at, byte)) = damage {
                let at = at.min(bytes.len() - 1);
                bytes[at] = byte;
            }
            let sizes = [if in_one_piece { usize::MAX } else { size }];
            let read = read_all_with(&mut reader, kind, &bytes, &sizes, &[false]);
            prop_assert_eq!(read, read_all(kind, &bytes, &sizes, &[false]));
        }
    }

    #[test]
    fn requests_are_read_alike_in_any_split(
        (path, headers) in ("/[!-~]{0,20}", header_lines()),
        body in vec(any::<u8>(), 0..80),
        chunked in any::<bool>(),
        excess in vec(any::<u8>(), 0..20),
        sizes in vec(1..40_usize, 1..8),
    ) {
        let start = format!("PUT {path} HTTP/1.1\r\nHost: h\r\n{headers}");
        let mut bytes = if chunked {
            let mut bytes = format!("{start}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
            for chunk in body.chunks(30) {
                bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
            bytes
        } else {
            let mut bytes = format!("{start}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
            bytes.extend_from_slice(&body);
            bytes
        };
        let length = bytes.len();
        bytes.extend_from_slice(&excess);
        let whole = read_request(&bytes, &[usize::MAX]).unwrap();
        prop_assert_eq!(&*whole.0.target, path.as_str());
        prop_assert_eq!(&whole.1, &body);
        prop_assert_eq!(whole.2, length);
        prop_assert_eq!(read_request(&bytes, &sizes), Some(whole));
    }
}

/// Reads a request, and returns its head, body and length. `None` if it is incomplete or invalid.
fn read_request(input: &[u8], sizes: &[usize]) -> Option<(RequestHead, Vec<u8>, usize)> {
    let mut reader = RequestReader::new();
    let (mut body, mut consumed) = (Vec::new(), 0);
    for size in sizes.iter().cycle() {
        let mut piece = &input[consumed..consumed + (*size).min(input.len() - consumed)];
        loop {
            let Progress { consumed: taken, event } = reader.read(piece, &mut |_, _| {}).ok()?;
            assert!(taken <= piece.len(), "the reader consumed more than it was given");
            if let Event::Body(range) = &event {
                body.extend_from_slice(&piece[range.clone()]);
            }
            consumed += taken;
            piece = &piece[taken..];
            match event {
                Event::End => {
                    assert_eq!(reader.body_bytes(), body.len() as u64);
                    assert_eq!(reader.head_bytes() + reader.body_bytes(), consumed as u64);
                    return reader.head().cloned().map(|head| (head, body, consumed));
                }
                Event::NeedMore if consumed == input.len() => return None,
                Event::NeedMore => break,
                Event::Head | Event::Body(_) => {}
            }
        }
    }
    None
}
