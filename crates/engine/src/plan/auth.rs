//! Who asks: signatures, beside the header fields that a user gave.

use wire::sigv4::{Signer, Streaming};

/// How a request says who asks.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// By the header fields of its plan alone.
    #[default]
    None,
    /// By a signature of S3 (AWS Signature Version 4), for the origins that the user named.
    S3 {
        /// Whose, for which region.
        signer: Box<Signer>,
        /// Where the signature stands.
        carried: Carried,
        /// How bodies are covered by it.
        payload: S3Payload,
    },
}

/// Where a signature stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// In header fields.
    #[default]
    Header,
    /// In the query, as of a presigned URL; good for that many seconds.
    Query(u32),
}

/// How a signature covers the body of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum S3Payload {
    /// Not at all.
    #[default]
    Unsigned,
    /// By the SHA-256 of the whole: the body is made twice, once to be hashed.
    Signed,
    /// In chunks with signatures or a checksum of their own.
    Chunks(Streaming),
}
