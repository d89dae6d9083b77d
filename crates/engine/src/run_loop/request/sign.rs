//! S3 signatures: the fields that a signature covers, and the part of the request that contains the signature.

use super::body_fields::{BodyFacts, push_body_fields, push_framing};
use super::fields::Fields;
use super::template::SignedFields;
use super::upload::{Frame, PIECE_BYTES};
use crate::plan::{S3Payload, SignaturePlace};
use std::io;
use std::num::NonZeroU64;
use wire::sigv4::{self, ChunkEncoder, Payload, Signer, Streaming, Timestamp};

/// Size of S3's chunks, which is also the size of the pieces in which a body is sent.
const CHUNK: NonZeroU64 = NonZeroU64::new(PIECE_BYTES as u64).expect("a piece has bytes");

/// The parameters of a signature.
pub(super) struct Signing<'a> {
    pub signer: &'a mut Signer,
    pub place: SignaturePlace,
    pub payload: S3Payload,
    pub now: Timestamp,
}

/// Signs a request. Adds the fields of its body to `fields`. Adds the signature to `fields` or to the query of
/// `target`. Returns the framing of the body.
pub(super) fn sign(
    signing: Signing<'_>,
    covered: &SignedFields,
    target: &mut String,
    body: Option<&BodyFacts<'_>>,
    digest: &mut dyn FnMut() -> io::Result<[u8; 32]>,
    fields: &mut Fields,
) -> io::Result<Frame> {
    let Signing { signer, place, payload, now } = signing;
    let streaming = match (payload, body, place) {
        (S3Payload::Chunks(streaming), Some(body), SignaturePlace::Header) if body.plan.source.is_object() => {
            Some(streaming)
        }
        _ => None,
    };
    let length = body.map_or(0, |body| body.bytes).to_string();
    let mut headers: Vec<(&str, &[u8])> = Vec::with_capacity(covered.fields.len() + 3);
    headers.extend(covered.fields.iter().map(|(name, value)| (name.as_ref(), value.as_ref())));
    if let Some(streaming) = streaming {
        headers.push(("x-amz-decoded-content-length", length.as_bytes()));
        headers.extend(streaming.trailer().map(|trailer| ("x-amz-trailer", trailer.name().as_bytes())));
    }
    let streaming_fields = covered.fields.len()..headers.len();
    headers.extend(body.and_then(|body| body.md5).map(|md5| ("content-md5", md5.as_bytes())));
    let mut frame = Frame::Length;
    if let Some(body) = body {
        push_body_fields(body, fields);
        match streaming {
            None => frame = push_framing(body, fields),
            Some(streaming) => push_streaming(streaming, body.bytes, &headers[streaming_fields], fields),
        }
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let request = sigv4::Request { method: &covered.method, path, query, headers: &headers };
    match place {
        SignaturePlace::Query(seconds) => {
            let mut query = Vec::new();
            signer.presign(now, seconds, &request, &mut query).map_err(io::Error::other)?;
            let query = String::from_utf8(query).map_err(io::Error::other)?;
            *target = format!("{path}?{query}");
        }
        SignaturePlace::Header => {
            let covered = payload_of(payload, streaming, body.is_some(), digest)?;
            let signed = signer.sign_fields(now, &request, &covered, |name, value| fields.push(name, value));
            let signature = signed.map_err(io::Error::other)?;
            if let Some(streaming) = streaming {
                frame = Frame::S3Chunks(Some(Box::new(signer.chunks(now, signature, streaming))));
            }
        }
    }
    Ok(frame)
}

/// Returns how the signature covers the body.
fn payload_of(
    payload: S3Payload,
    streaming: Option<Streaming>,
    has_body: bool,
    digest: &mut dyn FnMut() -> io::Result<[u8; 32]>,
) -> io::Result<Payload> {
    Ok(match (payload, streaming, has_body) {
        (_, Some(streaming), _) => Payload::Chunks(streaming),
        (_, None, false) => Payload::EMPTY,
        // Messages are small, so they are signed as a whole. Common S3 clients also sign messages as a whole, even if
        // they sign all other bodies in chunks.
        (S3Payload::Signed | S3Payload::Chunks(_), None, true) => Payload::Sha256(digest()?),
        (S3Payload::Unsigned, None, true) => Payload::Unsigned,
    })
}

/// Adds the fields of a body that is sent in S3's chunks.
fn push_streaming(streaming: Streaming, bytes: u64, own: &[(&str, &[u8])], fields: &mut Fields) {
    fields.push("Content-Encoding", b"aws-chunked");
    fields.push_number("Content-Length", ChunkEncoder::framed_bytes(streaming, bytes, CHUNK));
    for (name, value) in own {
        fields.push(name, value);
    }
}
