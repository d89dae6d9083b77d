//! Arbitrary bytes as a request: the reader returns the same result for one piece and for many pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{Event, Framing, RequestReader};

/// Returns the body and the length of a complete, valid request.
fn tell(input: &[u8], piece_size: usize) -> Option<(u64, usize)> {
    let mut reader = RequestReader::new();
    let mut consumed = 0;
    for piece in input.chunks(piece_size) {
        let mut rest = piece;
        loop {
            let progress = reader.read(rest, &mut |_, _| {}).ok()?;
            assert!(progress.consumed <= rest.len());
            consumed += progress.consumed;
            rest = &rest[progress.consumed..];
            assert_eq!(reader.head_bytes() + reader.body_bytes(), consumed as u64);
            assert!(reader.head().is_none_or(|head| head.framing != Framing::UntilClose));
            match progress.event {
                Event::End => return Some((reader.body_bytes(), consumed)),
                Event::NeedMore => break,
                Event::Head | Event::Body(_) => {}
            }
        }
    }
    None
}

fuzz_target!(|data: &[u8]| {
    let [choice, input @ ..] = data else { return };
    assert_eq!(tell(input, usize::MAX), tell(input, usize::from(*choice) + 1));
});
