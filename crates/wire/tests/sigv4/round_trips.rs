//! Tests that the server accepts requests that the client signs, and rejects requests that were changed on the way.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::num::NonZeroU64;
use wire::Event;
use wire::checksum::Algorithm;
use wire::sigv4::{
    ChunkDecoder, ChunkEncoder, ChunkRefusal, Payload, Refusal, SignedBody, Streaming, Trailer, Verified, Verifier,
};

fn verify(request: &Request, seconds: u64) -> Result<Verified, Refusal> {
    let keys = keys();
    Verifier::new(Some("us-east-1")).verify(request, at(seconds), |name| (name == ACCESS_KEY).then_some(&keys))
}

fn streaming() -> impl Strategy<Value = Streaming> {
    let trailer = prop::sample::select(Algorithm::ALL.to_vec())
        .prop_filter_map("S3 has a header for the algorithm", Trailer::new);
    prop_oneof![
        Just(Streaming::Signed),
        trailer.clone().prop_map(Streaming::SignedTrailer),
        trailer.prop_map(Streaming::UnsignedTrailer),
    ]
}

/// Returns a framed body and its decoder.
fn upload(streaming: Streaming, body: &[u8], chunk_bytes: usize) -> (Vec<u8>, ChunkDecoder) {
    let length = body.len().to_string();
    let mut headers = vec![("host", "h"), ("x-amz-decoded-content-length", length.as_str())];
    headers.extend(streaming.trailer().map(|trailer| ("x-amz-trailer", trailer.name())));
    let headers = bytes(&headers);
    let request = Request { method: "PUT", path: "/bucket/key", query: "", headers: &headers };
    let (mut signer, mut added, mut framed) = (signer(), Vec::new(), Vec::new());
    let head = signer.sign(at(EXAMPLE_TIME), &request, &Payload::Chunks(streaming), &mut added).unwrap();
    let mut encoder = signer.chunks(at(EXAMPLE_TIME), head, streaming);
    for chunk in body.chunks(chunk_bytes) {
        encoder.chunk(chunk, &mut framed);
    }
    encoder.finish(&mut framed);
    let chunk_bytes = NonZeroU64::new(chunk_bytes as u64).unwrap();
    assert_eq!(framed.len() as u64, ChunkEncoder::framed_bytes(streaming, body.len() as u64, chunk_bytes));
    let all = signed(&request, &added);
    let verified = verify(&Request { headers: &all, ..request }, EXAMPLE_TIME).unwrap();
    let SignedBody::Chunks(decoder) = verified.body else { panic!("the body comes in chunks") };
    (framed, *decoder)
}

/// Decodes `input`. Returns the body and the number of bytes consumed, or the refusal. `None` if the body is incomplete.
fn read(decoder: &mut ChunkDecoder, input: &[u8], sizes: &[usize]) -> Result<Option<(Vec<u8>, usize)>, ChunkRefusal> {
    let (mut body, mut at) = (Vec::new(), 0);
    for size in sizes.iter().cycle() {
        let mut piece = &input[at..at + (*size).min(input.len() - at)];
        loop {
            let progress = decoder.read(piece)?;
            if let Event::Body(range) = &progress.event {
                body.extend_from_slice(&piece[range.clone()]);
            }
            at += progress.consumed;
            piece = &piece[progress.consumed..];
            match progress.event {
                Event::End => {
                    assert!(decoder.is_complete() && decoder.bytes_left() == 0);
                    return Ok(Some((body, at)));
                }
                Event::NeedMore => break,
                Event::Body(_) | Event::Head => {}
            }
        }
        if at == input.len() {
            assert!(!decoder.is_complete());
            return Ok(None);
        }
    }
    Ok(None)
}

/// All signatures of chunks together are larger than the limit for extensions.
#[test]
fn a_signed_body_may_have_any_number_of_chunks() {
    let (framed, mut decoder) = upload(Streaming::Signed, &[7; 2000], 1);
    assert!(framed.len() > 10 * 16 * 1024);
    assert_eq!(read(&mut decoder, &framed, &[1000]), Ok(Some((vec![7; 2000], framed.len()))));
}

/// A size line without a signature must be refused for this reason, even if another error follows in the same piece.
#[test]
fn the_first_error_of_a_body_is_reported() {
    for sizes in [&[usize::MAX][..], &[1]] {
        let (_, mut decoder) = upload(Streaming::Signed, b"0123456789", 4);
        assert_eq!(read(&mut decoder, b"0\r\n[A\xf4", sizes), Err(ChunkRefusal::NoSignature), "{sizes:?}");
    }
}

proptest! {
    #[test]
    fn signed_requests_are_accepted_in_any_encoding(
        path in "(/[a-zA-Z0-9 !$+'()*~._%\u{e9}-]{0,6}){1,4}",
        query in "([ab=+%/*\u{e9}-]{0,8}&?){0,3}",
        value in "[!-~][ -~\\t]{0,10}",
        later in 0..=900_u64,
    ) {
        let path = path.replace('%', "%25").replace(' ', "%20");
        let query = query.replace('\u{e9}', "%c3%a9");
        let own = [("Host", "h:1"), ("X-Amz-Meta-A", value.as_str()), ("x-amz-meta-a", "2")];
        let headers = bytes(&own);
        let request = Request { method: "GET", path: &path, query: &query, headers: &headers };
        let mut added = Vec::new();
        signer().sign(at(EXAMPLE_TIME), &request, &Payload::EMPTY, &mut added).unwrap();
        let all = signed(&request, &added);
        // Proxies may change the encoding and add headers.
        let path = path.replace('~', "%7e").replace('!', "%21");
        let received = Request { path: &path, headers: &[&all[..], &[("via", b"1.1 proxy")]].concat(), ..request };
        for seconds in [EXAMPLE_TIME + later, EXAMPLE_TIME - later] {
            let verified = verify(&received, seconds).unwrap();
            let as_signed = matches!(verified.body, SignedBody::Sha256(_)) && !verified.presigned;
            prop_assert!(as_signed);
        }

        let host = bytes(&own[..1]);
        let request = Request { headers: &host, ..request };
        let mut query = Vec::new();
        signer().presign(at(EXAMPLE_TIME), 1000, &request, &mut query).unwrap();
        let query = String::from_utf8(query).unwrap();
        let received = Request { query: &query, ..request };
        let verified = verify(&received, EXAMPLE_TIME + later).unwrap();
        prop_assert!(verified.presigned && &*verified.access_key == ACCESS_KEY);
        prop_assert_eq!(verify(&received, EXAMPLE_TIME + 1001).unwrap_err(), Refusal::Expired);
    }

    #[test]
    fn chunked_bodies_round_trip_in_any_split(
        streaming in streaming(),
        body in vec(any::<u8>(), 0..600),
        chunk_bytes in 1..300_usize,
        sizes in vec(1..200_usize, 1..6),
        excess in vec(any::<u8>(), 0..10),
    ) {
        let (mut framed, mut decoder) = upload(streaming, &body, chunk_bytes);
        let length = framed.len();
        framed.extend(excess);
        prop_assert_eq!(read(&mut decoder, &framed, &sizes), Ok(Some((body, length))));
    }

    /// Any change must be refused, with two exceptions that have no effect: changing the case of digits, and changing a
    /// checksum if nothing is signed.
    #[test]
    fn a_changed_chunked_body_is_refused(
        streaming in streaming(),
        body in vec(any::<u8>(), 1..300),
        chunk_bytes in 1..200_usize,
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        sizes in vec(1..100_usize, 1..4),
    ) {
        let (mut framed, mut decoder) = upload(streaming, &body, chunk_bytes);
        let (_, mut again) = upload(streaming, &body, chunk_bytes);
        let place = place.index(framed.len());
        prop_assume!(!framed[place].eq_ignore_ascii_case(&byte));
        framed[place] = byte;
        match read(&mut decoder, &framed, &sizes) {
            // Spaces are allowed between the name and value of a field, and after a size.
            Ok(Some((read, _))) => prop_assert!(read == body && byte.is_ascii_whitespace(), "{byte} at {place}"),
            Ok(None) => {}
            Err(refusal) => prop_assert_eq!(decoder.read(&framed), Err(refusal), "after an error, every call must return it"),
        }
        // The refusal must not depend on how the input is split.
        let whole = read(&mut again, &framed, &[usize::MAX]);
        let (_, mut pieces) = upload(streaming, &body, chunk_bytes);
        prop_assert_eq!(read(&mut pieces, &framed, &sizes).map(|read| read.map(|(body, _)| body)),
            whole.map(|read| read.map(|(body, _)| body)));
    }

    /// The decoder must not panic, and must give the same result however the input is split.
    #[test]
    fn arbitrary_bytes_give_one_result_in_any_split(streaming in streaming(), input in "[0-9a-f;=\r\n:x-]{0,200}", sizes in vec(1..50_usize, 1..4)) {
        let ends = [&[usize::MAX][..], &sizes].map(|sizes| {
            let (_, mut decoder) = upload(streaming, b"0123456789", 4);
            read(&mut decoder, input.as_bytes(), sizes).map(|read| read.map(|(body, _)| body))
        });
        prop_assert_eq!(&ends[0], &ends[1]);
    }
}
