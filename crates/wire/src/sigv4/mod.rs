//! AWS Signature Version 4 for S3. [`Signer`] and [`ChunkEncoder`] are for the client, [`Verifier`] and [`ChunkDecoder`]
//! for the server.
//!
//! All functions are pure: callers pass in time and keys. docs/s3.md describes the data that signatures cover. The
//! rules come from Amazon's "Authenticating Requests (AWS Signature Version 4)". This module uses no SDK, because
//! signing with an SDK costs more client CPU than the rest of a small request. Tests compare the signatures with
//! Amazon's published examples and with the output of the `aws-sigv4` crate.

mod access_keys;
mod authorization;
mod canonical_request;
mod chunk_decoder;
mod chunk_encoder;
mod chunk_signatures;
mod payload;
mod shared_keys;
mod sign;
mod signing_key;
mod timestamp;
mod verify;

pub use access_keys::{Keys, KeysError, Secret};
pub use authorization::AuthorizationPart;
pub use canonical_request::{MAX_SIGNED_HEADERS, Request};
pub use chunk_decoder::{ChunkDecoder, ChunkRefusal};
pub use chunk_encoder::ChunkEncoder;
pub use payload::{Payload, Streaming, Trailer};
pub use shared_keys::SharedKeys;
pub use sign::{MAX_EXPIRY_SECONDS, SignError, Signer};
pub use signing_key::Signature;
pub use timestamp::Timestamp;
pub use verify::{Refusal, SignedBody, Verified, Verifier};

use sha2::{Digest, Sha256};

/// Maximum difference between the clocks of client and server, in seconds.
pub const SKEW_MAX_SECONDS: u64 = 15 * 60;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Replaces a canonical request with its string to sign, which consists of algorithm, time, scope and the hash of the
/// request.
fn string_to_sign(time: &timestamp::TimestampText, scope: &[u8], text: &mut Vec<u8>) {
    let hash = Sha256::digest(&text);
    text.clear();
    for part in [ALGORITHM.as_bytes(), b"\n", time.as_bytes(), b"\n", scope, b"\n"] {
        text.extend_from_slice(part);
    }
    crate::hex::push(&hash, text);
}
