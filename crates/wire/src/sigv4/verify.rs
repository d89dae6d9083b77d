//! The server side of signatures.

use super::access_keys::{Keys, Secret};
use super::authorization::{Authorization, AuthorizationPart, Location, single};
use super::canonical_request::{self, Parameters, Request, SignedHeaders, TooMany};
use super::chunk_decoder::ChunkDecoder;
use super::chunk_signatures::SignatureChain;
use super::payload::{Payload, UNSIGNED};
use super::signing_key::SigningKey;
use super::timestamp::Timestamp;
use super::{SKEW_MAX_SECONDS, string_to_sign};
use crate::s3::ErrorCode;
use std::fmt;
use std::sync::Arc;

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request has no signature.
    #[error("the request is not signed")]
    Missing,
    /// There are signatures both in the `Authorization` header and in the query.
    #[error("the request is signed both in its Authorization header and in its query")]
    Twice,
    /// A part of the signature is missing or invalid.
    #[error("{0} is missing or not valid")]
    Malformed(AuthorizationPart),
    /// The signature is for another region or service.
    #[error("the request is signed for another region or service")]
    WrongScope,
    /// The access key is unknown.
    #[error("the access key is unknown")]
    UnknownKey,
    /// The session token does not belong to the access key.
    #[error("the session token does not belong to the access key")]
    WrongToken,
    /// `Host` or an `x-amz-` header is not signed.
    #[error("the signature must cover Host and all x-amz- headers, and at least one is missing")]
    NotSigned,
    /// The signature is wrong.
    #[error("the signature does not match")]
    Mismatch,
    /// The clocks of client and server differ too much.
    #[error("the request's time differs from the server's clock by more than 15 minutes")]
    Skewed,
    /// The validity of the presigned request has ended.
    #[error("the request has expired")]
    Expired,
}

impl Refusal {
    /// Returns the error code of S3.
    pub fn code(self) -> ErrorCode {
        match self {
            Self::Missing | Self::NotSigned | Self::Expired => ErrorCode::AccessDenied,
            Self::Twice | Self::Malformed(AuthorizationPart::ContentSha256 | AuthorizationPart::DecodedLength) => {
                ErrorCode::InvalidRequest
            }
            Self::Malformed(_) | Self::WrongScope => ErrorCode::AuthorizationHeaderMalformed,
            Self::UnknownKey => ErrorCode::InvalidAccessKeyId,
            Self::WrongToken => ErrorCode::InvalidToken,
            Self::Mismatch => ErrorCode::SignatureDoesNotMatch,
            Self::Skewed => ErrorCode::RequestTimeTooSkewed,
        }
    }
}

impl From<TooMany> for Refusal {
    fn from(_: TooMany) -> Self {
        Self::Malformed(AuthorizationPart::SignedHeaders)
    }
}

/// A request with a valid signature.
#[derive(Debug)]
pub struct Verified {
    /// The access key of the signer.
    pub access_key: Box<str>,
    /// `true` if the signature is in the query.
    pub presigned: bool,
    /// The check that the body needs.
    pub body: SignedBody,
}

/// The check that a body needs.
#[derive(Debug)]
pub enum SignedBody {
    /// The body is not signed, so it needs no check.
    Unsigned,
    /// The body must have this SHA-256.
    Sha256([u8; 32]),
    /// The chunks of the body must be decoded and verified.
    Chunks(Box<ChunkDecoder>),
}

/// A verifier of requests. Each thread has its own verifier, which keeps its buffers and the last signing key.
#[derive(Default)]
pub struct Verifier {
    region: Option<Box<str>>,
    cached_key: Option<(CachedKeyId, Arc<SigningKey>)>,
    canonical: Vec<u8>,
    parameters: Parameters,
}

/// The identity of the cached signing key.
#[derive(PartialEq, Eq)]
struct CachedKeyId {
    secret: Secret,
    day: u64,
    region: Box<str>,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("region", &self.region).finish_non_exhaustive()
    }
}

const SERVICE: &str = "s3";

impl Verifier {
    /// Creates a verifier of requests to S3 that are signed for `region`, or for any region.
    pub fn new(region: Option<&str>) -> Self {
        Self { region: region.map(Into::into), ..Self::default() }
    }

    /// Verifies a request, given all its headers and the current time. `keys` returns the keys for an access key.
    pub fn verify<'k>(
        &mut self,
        request: &Request,
        now: Timestamp,
        keys: impl FnOnce(&str) -> Option<&'k Keys>,
    ) -> Result<Verified, Refusal> {
        let authorization = Authorization::of(request)?;
        authorization.check_time(now)?;
        if authorization.service != SERVICE
            || self.region.as_deref().is_some_and(|region| region != authorization.region)
        {
            return Err(Refusal::WrongScope);
        }
        let keys = keys(&authorization.access_key).ok_or(Refusal::UnknownKey)?;
        if keys.token().map(Secret::reveal) != authorization.token.as_deref() {
            return Err(Refusal::WrongToken);
        }
        let payload_text = authorization.payload_text(request)?;
        let payload = Payload::parse(payload_text, single(request, "x-amz-trailer")?)
            .ok_or(Refusal::Malformed(AuthorizationPart::ContentSha256))?;
        let key = self.key(keys.secret(), &authorization);
        let headers = covered(request, &authorization)?;
        let Self { parameters, canonical, .. } = self;
        parameters.clear();
        parameters.push_query(request.query, |name| {
            authorization.location == Location::Query && name.eq_ignore_ascii_case("X-Amz-Signature")
        });
        canonical.clear();
        canonical_request::write(request, parameters, &headers, payload_text.as_bytes(), canonical);
        string_to_sign(&authorization.time.text(), key.scope(), canonical);
        if !key.verifies(canonical, &authorization.signature) {
            return Err(Refusal::Mismatch);
        }
        let body = match payload {
            Payload::Unsigned => SignedBody::Unsigned,
            Payload::Sha256(sha256) => SignedBody::Sha256(sha256),
            Payload::Chunks(streaming) => {
                let length = single(request, "x-amz-decoded-content-length")?;
                let length = length.and_then(|text| crate::decimal::parse_u64(text.as_bytes()));
                let length = length.ok_or(Refusal::Malformed(AuthorizationPart::DecodedLength))?;
                let chain = streaming
                    .is_signed()
                    .then(|| SignatureChain::new(key, authorization.time, authorization.signature));
                SignedBody::Chunks(Box::new(ChunkDecoder::new(chain, streaming, length)))
            }
        };
        let presigned = authorization.location == Location::Query;
        Ok(Verified { access_key: authorization.access_key.into(), presigned, body })
    }

    fn key(&mut self, secret: &Secret, authorization: &Authorization) -> Arc<SigningKey> {
        if let Some((id, key)) = &self.cached_key
            && id.day == authorization.time.day()
            && *id.region == *authorization.region
            && id.secret == *secret
        {
            return Arc::clone(key);
        }
        let key =
            Arc::new(SigningKey::derive(secret, authorization.time, &authorization.region, &authorization.service));
        let id = CachedKeyId {
            secret: secret.clone(),
            day: authorization.time.day(),
            region: authorization.region.as_str().into(),
        };
        self.cached_key = Some((id, Arc::clone(&key)));
        key
    }
}

impl Authorization<'_> {
    /// Checks the time of the signature. A signature in a header is valid for 15 minutes before and after its time, and a
    /// signature in a query is valid until it expires.
    fn check_time(&self, now: Timestamp) -> Result<(), Refusal> {
        let (now, signed) = (now.unix_seconds(), self.time.unix_seconds());
        if signed > now + SKEW_MAX_SECONDS {
            return Err(Refusal::Skewed);
        }
        match self.expiry_seconds {
            Some(seconds) if now > signed + u64::from(seconds) => Err(Refusal::Expired),
            None if now > signed + SKEW_MAX_SECONDS => Err(Refusal::Skewed),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the text that represents the body in the canonical request.
    fn payload_text<'r>(&self, request: &Request<'r>) -> Result<&'r str, Refusal> {
        match (single(request, "x-amz-content-sha256")?, self.location) {
            (Some(text), _) => Ok(text),
            (None, Location::Query) => Ok(UNSIGNED),
            (None, Location::Header) => Err(Refusal::Malformed(AuthorizationPart::ContentSha256)),
        }
    }
}

/// Returns those headers of the request that the signature covers.
fn covered<'r>(request: &Request<'r>, authorization: &Authorization) -> Result<SignedHeaders<'r>, Refusal> {
    let is_named = |name: &str| authorization.signed_headers.split(';').any(|named| named.eq_ignore_ascii_case(name));
    let mut headers = SignedHeaders::new();
    for (name, value) in request.headers {
        if is_named(name) {
            headers.push(name, value)?;
        } else if name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("x-amz-")) {
            return Err(Refusal::NotSigned);
        }
    }
    if !is_named("host") {
        return Err(Refusal::NotSigned);
    }
    let is_there = |named: &str| request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(named));
    if !authorization.signed_headers.split(';').all(is_there) {
        return Err(Refusal::Malformed(AuthorizationPart::SignedHeaders));
    }
    headers.sort();
    Ok(headers)
}
