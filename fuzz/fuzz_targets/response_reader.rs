//! Arbitrary bytes as a response. The input also determines how the response is split into pieces. The reader does not
//! panic, consumes only its input, and counts every byte once. The result is the same if the response arrives in one
//! piece, and if it is the second response of the same reader.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{Event, Malformed, RequestKind, ResponseReader, Truncated};

#[derive(Debug, PartialEq)]
struct Told {
    body: u64,
    consumed: usize,
    status: Option<u16>,
    end: Result<(), Truncated>,
}

fn tell(
    reader: &mut ResponseReader,
    kind: RequestKind,
    input: &[u8],
    piece_size: usize,
    skip: bool,
) -> Result<Told, Malformed> {
    reader.start(kind);
    let mut consumed = 0;
    'pieces: for piece in input.chunks(piece_size) {
        let mut rest = piece;
        loop {
            if skip {
                let opaque = usize::try_from(reader.opaque_bytes()).unwrap_or(usize::MAX).min(rest.len());
                reader.skip(opaque as u64);
                consumed += opaque;
                rest = &rest[opaque..];
            }
            let progress = reader.read(rest, &mut |_, _| {})?;
            assert!(progress.consumed <= rest.len());
            consumed += progress.consumed;
            rest = &rest[progress.consumed..];
            match progress.event {
                Event::End => break 'pieces,
                Event::NeedMore => {
                    assert!(rest.is_empty());
                    break;
                }
                Event::Body(range) => assert!(!range.is_empty() && range.end == progress.consumed),
                Event::Head => {}
            }
        }
    }
    assert_eq!(reader.head_bytes() + reader.body_bytes(), consumed as u64);
    let status = reader.head().map(|head| head.status);
    assert!(status.is_none_or(|status| (200..=599).contains(&status)));
    Ok(Told { body: reader.body_bytes(), consumed, status, end: reader.end_of_stream() })
}

fuzz_target!(|data: &[u8]| {
    let [choice, input @ ..] = data else { return };
    let kind = if choice & 1 == 0 { RequestKind::Other } else { RequestKind::Head };
    let piece_size = usize::from(choice >> 2) + 1;
    let mut reader = ResponseReader::new();
    let whole = tell(&mut reader, kind, input, usize::MAX, false);
    assert_eq!(whole, tell(&mut reader, kind, input, usize::MAX, false), "a head that came before says the same");
    let pieces = tell(&mut ResponseReader::new(), kind, input, piece_size, choice & 2 != 0);
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces),
        (Err(whole), Err(pieces)) => assert_eq!(whole, pieces),
        // If a truncated head arrives in pieces, the reader may not detect an error in it.
        (Err(_), Ok(pieces)) => assert!(matches!(pieces.end, Err(Truncated::InHead | Truncated::BeforeHead))),
        (Ok(_), Err(pieces)) => panic!("refused only in pieces: {pieces:?}"),
    }
});
