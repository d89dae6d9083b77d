//! Signatures of chunks. Each signature covers the previous signature. The first signature covers the signature of the
//! head.

use super::payload::EMPTY_SHA256;
use super::signing_key::{Signature, SigningKey};
use super::timestamp::Timestamp;
use crate::hex;
use std::sync::Arc;

/// The chain of signatures of a body.
#[derive(Debug, Clone)]
pub(super) struct SignatureChain {
    key: Arc<SigningKey>,
    time: Timestamp,
    previous: Signature,
    text: Vec<u8>,
}

impl SignatureChain {
    pub(super) fn new(key: Arc<SigningKey>, time: Timestamp, head: Signature) -> Self {
        Self { key, time, previous: head, text: Vec::new() }
    }

    /// Signs the next chunk, given the SHA-256 of its data.
    pub(super) fn sign_chunk(&mut self, sha256: &[u8; 32]) -> Signature {
        self.write_chunk(sha256);
        self.sign()
    }

    /// Signs the trailer, given the SHA-256 of its line.
    pub(super) fn sign_trailer(&mut self, sha256: &[u8; 32]) -> Signature {
        self.write("AWS4-HMAC-SHA256-TRAILER", &[sha256]);
        self.sign()
    }

    /// Returns whether `signature` is valid for the next chunk. If `signature` is valid, the signature of the following
    /// chunk must cover it.
    pub(super) fn verifies_chunk(&mut self, sha256: &[u8; 32], signature: Signature) -> bool {
        self.write_chunk(sha256);
        self.verifies(signature)
    }

    /// Returns whether `signature` is valid for the trailer.
    pub(super) fn verifies_trailer(&mut self, sha256: &[u8; 32], signature: Signature) -> bool {
        self.write("AWS4-HMAC-SHA256-TRAILER", &[sha256]);
        self.verifies(signature)
    }

    fn write_chunk(&mut self, sha256: &[u8; 32]) {
        // In other signatures, the first hash covers headers. Chunks have no headers.
        self.write("AWS4-HMAC-SHA256-PAYLOAD", &[&EMPTY_SHA256, sha256]);
    }

    fn write(&mut self, kind: &str, hashes: &[&[u8; 32]]) {
        let text = &mut self.text;
        text.clear();
        text.extend_from_slice(kind.as_bytes());
        for part in [self.time.text().as_bytes(), self.key.scope()] {
            text.push(b'\n');
            text.extend_from_slice(part);
        }
        text.push(b'\n');
        self.previous.write(text);
        for hash in hashes {
            text.push(b'\n');
            hex::push(*hash, text);
        }
    }

    fn sign(&mut self) -> Signature {
        self.previous = self.key.sign(&self.text);
        self.previous
    }

    fn verifies(&mut self, signature: Signature) -> bool {
        let good = self.key.verifies(&self.text, &signature);
        if good {
            self.previous = signature;
        }
        good
    }
}
