//! The client side of `aws-chunked`: framing of a body into signed chunks.

use super::chunk_signatures::SignatureChain;
use super::payload::{Streaming, Trailer};
use crate::checksum::Hasher;
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::num::NonZeroU64;

/// The chunk extension that precedes a signature.
pub(super) const CHUNK_SIGNATURE: &str = "chunk-signature=";
/// The trailer field with the signature of the trailer.
pub(super) const TRAILER_SIGNATURE: &str = "x-amz-trailer-signature";
const LINE_END: &[u8] = b"\r\n";
/// Number of hexadecimal digits of a signature.
const SIGNATURE_DIGITS: usize = 64;

/// The encoder of a body that comes in pieces. S3 requires chunks of at least 8 KiB, except for the last one.
#[derive(Debug, Clone)]
pub struct ChunkEncoder {
    chain: Option<SignatureChain>,
    checksum: Option<(Trailer, Hasher)>,
}

impl ChunkEncoder {
    pub(super) fn new(chain: Option<SignatureChain>, trailer: Option<Trailer>) -> Self {
        Self { chain, checksum: trailer.map(|trailer| (trailer, Hasher::new(trailer.algorithm()))) }
    }

    /// Appends a chunk with `data`. Appends nothing if `data` is empty.
    pub fn chunk(&mut self, data: &[u8], out: &mut Vec<u8>) {
        let at = out.len();
        let Ok(_) = self.chunk_at(at, data.len(), out, |room| {
            room.copy_from_slice(data);
            Ok::<(), Infallible>(())
        });
    }

    /// Writes a chunk with `length` bytes of data to `out`, where it replaces the bytes from offset `at` on. `fill`
    /// writes the data to its place. Returns the number of bytes that precede the data. If `length` is 0, no chunk is
    /// written, because an empty chunk would mark the end of the body.
    ///
    /// # Errors
    /// Returns the error of `fill`. After an error, the body cannot be continued.
    pub fn chunk_at<E>(
        &mut self,
        at: usize,
        length: usize,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<usize, E> {
        if length == 0 {
            out.truncate(at);
            return fill(&mut []).map(|()| 0);
        }
        let line = self.size_line(length);
        let data = at + line.len();
        let end = data + length;
        // If `out` already has this length, its bytes are not cleared first.
        out.resize(end + LINE_END.len(), 0);
        out[at..data].copy_from_slice(&line);
        out[end..].copy_from_slice(LINE_END);
        let (head, data) = out[..end].split_at_mut(data);
        fill(data)?;
        if let Some((_, hasher)) = &mut self.checksum {
            hasher.update(data);
        }
        self.sign(head, data);
        Ok(line.len())
    }

    /// Appends the end of the body: the empty chunk and the trailer.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.size_line(0));
        self.sign(out, &[]);
        if let Some((trailer, hasher)) = self.checksum {
            let value = hasher.finish().base64();
            for part in [trailer.name(), ":", &value, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
            if let Some(mut chain) = self.chain {
                let signature = chain.sign_trailer(&trailer_hash(trailer.name(), &value));
                for part in [TRAILER_SIGNATURE, ":"] {
                    out.extend_from_slice(part.as_bytes());
                }
                signature.write(out);
                out.extend_from_slice(b"\r\n");
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Returns the line that precedes the data of a chunk. In place of the signature, it has zeros.
    fn size_line(&self, length: usize) -> Vec<u8> {
        let mut line = format!("{length:x}").into_bytes();
        if self.chain.is_some() {
            line.push(b';');
            line.extend_from_slice(CHUNK_SIGNATURE.as_bytes());
            line.resize(line.len() + SIGNATURE_DIGITS, b'0');
        }
        line.extend_from_slice(LINE_END);
        line
    }

    /// Signs a chunk with `data`. Writes the signature into the size line of the chunk, which is at the end of `head`.
    fn sign(&mut self, head: &mut [u8], data: &[u8]) {
        if let Some(chain) = &mut self.chain {
            let (line, _) = head.split_at_mut(head.len() - LINE_END.len());
            let (_, digits) = line.split_at_mut(line.len() - SIGNATURE_DIGITS);
            chain.sign_chunk(&Sha256::digest(data).into()).write_to(digits);
        }
    }

    /// Returns the size of a body of `body_bytes` after it has been divided into chunks of `chunk_bytes`. The last chunk
    /// may be smaller. The result is the `Content-Length` of the request.
    pub fn framed_bytes(streaming: Streaming, body_bytes: u64, chunk_bytes: NonZeroU64) -> u64 {
        let signature =
            if streaming.is_signed() { 1 + CHUNK_SIGNATURE.len() as u64 + SIGNATURE_DIGITS as u64 } else { 0 };
        let around = |data: u64| u64::from(data.max(1).ilog2() / 4 + 1) + signature + 2;
        let whole = (around(chunk_bytes.get()) + 2).saturating_mul(body_bytes / chunk_bytes);
        let rest = match body_bytes % chunk_bytes {
            0 => 0,
            rest => around(rest) + 2,
        };
        let trailer = streaming.trailer().map_or(0, |trailer| {
            let signed = TRAILER_SIGNATURE.len() as u64 + 1 + SIGNATURE_DIGITS as u64 + 2;
            let field = trailer.name().len() as u64 + 1 + trailer.algorithm().base64_bytes() + 2;
            field + if streaming.is_signed() { signed } else { 0 }
        });
        let end = around(0) + trailer + 2;
        [whole, rest, end].into_iter().fold(body_bytes, u64::saturating_add)
    }
}

/// Returns the hash of the trailer in the form that is signed: one line that ends in a single line feed.
pub(super) fn trailer_hash(name: &str, value: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [name, ":", value, "\n"] {
        hash.update(part);
    }
    hash.finalize().into()
}
