//! Signatures of chunks: each rests on the one before, the first on that of the head.

use super::key::{Signature, SigningKey};
use super::payload::EMPTY_SHA256;
use super::timestamp::Timestamp;
use crate::hex;
use std::sync::Arc;

/// Where a body stands in its signatures.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    key: Arc<SigningKey>,
    time: Timestamp,
    previous: Signature,
    text: Vec<u8>,
}

impl Chain {
    pub(super) fn new(key: Arc<SigningKey>, time: Timestamp, head: Signature) -> Self {
        Self { key, time, previous: head, text: Vec::new() }
    }

    /// The signature of the next chunk, whose data have this SHA-256.
    pub(super) fn sign_chunk(&mut self, sha256: &[u8; 32]) -> Signature {
        self.write_chunk(sha256);
        self.sign()
    }

    /// The signature of the trailer, whose line has this SHA-256.
    pub(super) fn sign_trailer(&mut self, sha256: &[u8; 32]) -> Signature {
        self.write("AWS4-HMAC-SHA256-TRAILER", &[sha256]);
        self.sign()
    }

    /// Whether this is the signature of the next chunk. If so, the following one rests on it.
    pub(super) fn verifies_chunk(&mut self, sha256: &[u8; 32], signature: Signature) -> bool {
        self.write_chunk(sha256);
        self.verifies(signature)
    }

    /// Whether this is the signature of the trailer.
    pub(super) fn verifies_trailer(&mut self, sha256: &[u8; 32], signature: Signature) -> bool {
        self.write("AWS4-HMAC-SHA256-TRAILER", &[sha256]);
        self.verifies(signature)
    }

    fn write_chunk(&mut self, sha256: &[u8; 32]) {
        // The hash of no bytes stands for headers, of which chunks have none.
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
