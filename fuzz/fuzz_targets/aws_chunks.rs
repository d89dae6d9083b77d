//! Arbitrary bytes as a body in signed or unsigned chunks. The input also determines how the body is split into pieces.
//! The decoder does not panic, consumes only its input, never returns more data than announced, and gives the same
//! result as for one piece.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Event;
use wire::checksum::Algorithm;
use wire::sigv4::{
    ChunkDecoder, ChunkRefusal, Keys, Payload, Request, Secret, SignedBody, Signer, Streaming, Timestamp, Trailer,
    Verifier,
};

fn decoder(streaming: Streaming, body_bytes: u16) -> ChunkDecoder {
    let keys = Keys::new("AKIAIOSFODNN7EXAMPLE", Secret::new("secret"), None).expect("these keys are good");
    let now = Timestamp::from_unix_seconds(1_369_353_600);
    let length = body_bytes.to_string();
    let mut headers: Vec<(&str, &[u8])> = vec![("host", b"h"), ("x-amz-decoded-content-length", length.as_bytes())];
    headers.extend(streaming.trailer().map(|trailer| ("x-amz-trailer", trailer.name().as_bytes())));
    let request = Request { method: "PUT", path: "/b/k", query: "", headers: &headers };
    let mut added = Vec::new();
    let signed =
        Signer::new(keys.clone(), "us-east-1", "s3").sign(now, &request, &Payload::Chunks(streaming), &mut added);
    signed.expect("it can be signed");
    let added = String::from_utf8(added).expect("signing writes text");
    let lines = added.split_terminator("\r\n").filter_map(|line| line.split_once(": "));
    let all: Vec<_> = lines.map(|(name, value)| (name, value.as_bytes())).chain(headers.iter().copied()).collect();
    let verified = Verifier::new(None).verify(&Request { headers: &all, ..request }, now, |_| Some(&keys));
    match verified.expect("it was signed").body {
        SignedBody::Chunks(decoder) => *decoder,
        SignedBody::Unsigned | SignedBody::Sha256(_) => unreachable!("the body comes in chunks"),
    }
}

/// Returns the data and whether they are complete.
fn read(mut decoder: ChunkDecoder, input: &[u8], piece_bytes: usize) -> Result<(Vec<u8>, bool), ChunkRefusal> {
    let (announced, mut data) = (decoder.bytes_left(), Vec::new());
    for piece in input.chunks(piece_bytes) {
        let mut rest = piece;
        loop {
            let progress = decoder.read(rest)?;
            assert!(progress.consumed <= rest.len());
            if let Event::Body(range) = &progress.event {
                data.extend_from_slice(&rest[range.clone()]);
                assert!(data.len() as u64 + decoder.bytes_left() == announced);
            }
            rest = &rest[progress.consumed..];
            match progress.event {
                Event::End => return Ok((data, true)),
                Event::NeedMore => break,
                Event::Body(_) | Event::Head => {}
            }
        }
    }
    Ok((data, false))
}

fuzz_target!(|data: (u8, u16, u8, &[u8])| {
    let (choice, body_bytes, piece_bytes, input) = data;
    let trailer = Trailer::new(Algorithm::Crc32).expect("S3 has it");
    let streaming = match choice % 3 {
        0 => Streaming::Signed,
        1 => Streaming::SignedTrailer(trailer),
        _ => Streaming::UnsignedTrailer(trailer),
    };
    let whole = read(decoder(streaming, body_bytes), input, usize::MAX);
    let pieces = read(decoder(streaming, body_bytes), input, usize::from(piece_bytes) + 1);
    assert_eq!(whole, pieces);
    if let (Ok((data, true)), Some(_)) = (&whole, streaming.trailer()) {
        assert!(data.len() == usize::from(body_bytes));
    }
});
