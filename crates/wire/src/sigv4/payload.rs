//! The parts of a body that signatures cover, as given by the value of `x-amz-content-sha256`.

use crate::checksum::Algorithm;
use crate::hex;

/// The part of the body that the signature of the head covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// The body is not signed.
    Unsigned,
    /// The signature covers the SHA-256 of the body.
    Sha256([u8; 32]),
    /// The body consists of chunks with their own framing (`Content-Encoding: aws-chunked`).
    Chunks(Streaming),
}

/// The signatures and checksums of the chunks of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streaming {
    /// Every chunk has a signature that covers the previous one.
    Signed,
    /// Every chunk has a signature, and a signed checksum follows the last chunk.
    SignedTrailer(Trailer),
    /// Only the head is signed. A checksum follows the last chunk.
    UnsignedTrailer(Trailer),
}

/// The checksum of the whole body, sent after its last chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailer {
    algorithm: Algorithm,
    name: &'static str,
}

impl Trailer {
    /// Creates a trailer with this checksum. `None` if S3 has no header for this algorithm.
    pub fn new(algorithm: Algorithm) -> Option<Self> {
        algorithm.header().map(|name| Self { algorithm, name })
    }

    /// Returns the trailer that has this name in `x-amz-trailer`.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Algorithm::ALL.into_iter().filter_map(Self::new).find(|trailer| trailer.name.eq_ignore_ascii_case(name))
    }

    /// Returns the algorithm of the checksum.
    pub fn algorithm(self) -> Algorithm {
        self.algorithm
    }

    /// Returns the value of `x-amz-trailer`, which is the name of the trailer field.
    pub fn name(self) -> &'static str {
        self.name
    }
}

impl Streaming {
    /// Returns the trailer, if a checksum follows the last chunk.
    pub fn trailer(self) -> Option<Trailer> {
        match self {
            Self::Signed => None,
            Self::SignedTrailer(trailer) | Self::UnsignedTrailer(trailer) => Some(trailer),
        }
    }

    /// Returns whether chunks have signatures.
    pub fn is_signed(self) -> bool {
        !matches!(self, Self::UnsignedTrailer(_))
    }
}

pub(super) const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
pub(super) const CHUNKS: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
pub(super) const CHUNKS_TRAILER: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
pub(super) const UNSIGNED_TRAILER: &str = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

impl Payload {
    /// The payload of requests without a body, which is the SHA-256 of no bytes.
    pub const EMPTY: Self = Self::Sha256(EMPTY_SHA256);

    /// Appends the value of `x-amz-content-sha256`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let text = match self {
            Self::Unsigned => UNSIGNED,
            Self::Sha256(digest) => return hex::push(digest, out),
            Self::Chunks(Streaming::Signed) => CHUNKS,
            Self::Chunks(Streaming::SignedTrailer(_)) => CHUNKS_TRAILER,
            Self::Chunks(Streaming::UnsignedTrailer(_)) => UNSIGNED_TRAILER,
        };
        out.extend_from_slice(text.as_bytes());
    }

    /// Parses the values of `x-amz-content-sha256` and `x-amz-trailer`.
    pub(super) fn parse(text: &str, trailer: Option<&str>) -> Option<Self> {
        let trailer = || Trailer::from_name(trailer?.trim_matches([' ', '\t']));
        Some(match text {
            UNSIGNED => Self::Unsigned,
            CHUNKS => Self::Chunks(Streaming::Signed),
            CHUNKS_TRAILER => Self::Chunks(Streaming::SignedTrailer(trailer()?)),
            UNSIGNED_TRAILER => Self::Chunks(Streaming::UnsignedTrailer(trailer()?)),
            digits => {
                let mut digest = [0; 32];
                // The signature covers the lower-case form.
                let lower = digits.bytes().all(|digit| !digit.is_ascii_uppercase());
                (lower && hex::parse(digits.as_bytes(), &mut digest)).then_some(Self::Sha256(digest))?
            }
        })
    }
}

/// SHA-256 of no bytes (FIPS 180-4 examples).
pub(super) const EMPTY_SHA256: [u8; 32] = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41,
    0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];
