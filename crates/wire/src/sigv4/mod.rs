//! AWS Signature Version 4 for S3, both sides of it: [`Signer`] and [`ChunkEncoder`] for the client, [`Verifier`] and
//! [`ChunkDecoder`] for the server.
//!
//! Pure: time is given, keys are given. What is signed and how is told in docs/s3.md, which follows Amazon's
//! "Authenticating Requests (AWS Signature Version 4)". Own code, since an SDK costs more of the client's CPU than all
//! else in a small request; checked against the `aws-sigv4` crate and Amazon's published examples in tests.

mod canonical;
mod chain;
mod chunks;
mod claim;
mod key;
mod keys;
mod payload;
mod sign;
mod timestamp;
mod unchunk;
mod verify;

pub use canonical::{MAX_SIGNED_HEADERS, Request};
pub use chunks::ChunkEncoder;
pub use claim::Part;
pub use key::Signature;
pub use keys::{Keys, KeysError, Secret};
pub use payload::{Payload, Streaming, Trailer};
pub use sign::{MAX_EXPIRY_SECONDS, SignError, Signer};
pub use timestamp::Timestamp;
pub use unchunk::{ChunkDecoder, ChunkRefusal};
pub use verify::{Refusal, SignedBody, Verified, Verifier};

use sha2::{Digest, Sha256};

/// How far apart the clocks of client and server may be.
pub const SKEW_MAX_SECONDS: u64 = 15 * 60;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Turns a canonical request into the text that is signed for it: its hash, at a time, in a scope.
fn string_to_sign(time: &timestamp::TimestampText, scope: &[u8], text: &mut Vec<u8>) {
    let hash = Sha256::digest(&text);
    text.clear();
    for part in [ALGORITHM.as_bytes(), b"\n", time.as_bytes(), b"\n", scope, b"\n"] {
        text.extend_from_slice(part);
    }
    crate::hex::push(&hash, text);
}
