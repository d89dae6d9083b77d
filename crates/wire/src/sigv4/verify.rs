//! Checking a signature: the server's side. Says why a request is refused as a server should say it, and never guesses.

use super::canonical::{self, Parameters, Request, Signed, TooMany};
use super::chain::Chain;
use super::claim::{Claim, Part, Place, single};
use super::key::SigningKey;
use super::keys::{Keys, Secret};
use super::payload::{Payload, UNSIGNED};
use super::timestamp::Timestamp;
use super::unchunk::ChunkDecoder;
use super::{SKEW_MAX_SECONDS, string_to_sign};
use crate::s3::ErrorCode;
use std::fmt;
use std::sync::Arc;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request is not signed at all.
    #[error("the request is not signed")]
    Missing,
    /// Signed in its head and in its query.
    #[error("the request is signed in its head and in its query")]
    Twice,
    /// A part of what makes up a signature is missing or can not be understood.
    #[error("{0} is missing or not valid")]
    Malformed(Part),
    /// Signed for another region or service.
    #[error("the request is signed for another region or service")]
    WrongScope,
    /// There is no such access key.
    #[error("the access key is not known")]
    UnknownKey,
    /// The session token is not the key's.
    #[error("the session token is not that of the access key")]
    WrongToken,
    /// `Host` or an `x-amz-` header is not covered by the signature.
    #[error("a header that has to be signed is not")]
    NotSigned,
    /// The signature is another one.
    #[error("the signature does not match")]
    Mismatch,
    /// Client's and server's clocks differ too much.
    #[error("the request's time differs from the server's by more than 15 minutes")]
    Skewed,
    /// A presigned request whose time is over.
    #[error("the request has expired")]
    Expired,
}

impl Refusal {
    /// The code under which S3 says so.
    pub fn code(self) -> ErrorCode {
        match self {
            Self::Missing | Self::NotSigned | Self::Expired => ErrorCode::AccessDenied,
            Self::Twice | Self::Malformed(Part::ContentSha256 | Part::DecodedLength) => ErrorCode::InvalidRequest,
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
        Self::Malformed(Part::SignedHeaders)
    }
}

/// A request whose signature is good.
#[derive(Debug)]
pub struct Verified {
    /// Who signed it.
    pub access_key: Box<str>,
    /// Whether it was presigned, in its query.
    pub presigned: bool,
    /// What the signature says of the body.
    pub body: SignedBody,
}

/// How a body is to be checked.
#[derive(Debug)]
pub enum SignedBody {
    /// Not at all.
    Unsigned,
    /// It has this SHA-256.
    Sha256([u8; 32]),
    /// It comes in chunks, which this reads and checks.
    Chunks(Box<ChunkDecoder>),
}

/// Checks requests. Each thread has its own: it keeps its buffers and the key that it used last.
#[derive(Default)]
pub struct Verifier {
    region: Option<Box<str>>,
    last: Option<(LastKey, Arc<SigningKey>)>,
    canonical: Vec<u8>,
    parameters: Parameters,
}

#[derive(PartialEq, Eq)]
struct LastKey {
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
    /// Takes requests to S3 that are signed for `region`, or for any.
    pub fn new(region: Option<&str>) -> Self {
        Self { region: region.map(Into::into), ..Self::default() }
    }

    /// Checks a request with all its headers at the present time. `keys` answers the keys of an access key's name.
    pub fn verify<'k>(
        &mut self,
        request: &Request,
        now: Timestamp,
        keys: impl FnOnce(&str) -> Option<&'k Keys>,
    ) -> Result<Verified, Refusal> {
        let claim = Claim::of(request)?;
        claim.check_time(now)?;
        if claim.service != SERVICE || self.region.as_deref().is_some_and(|region| region != claim.region) {
            return Err(Refusal::WrongScope);
        }
        let keys = keys(&claim.access_key).ok_or(Refusal::UnknownKey)?;
        if keys.token().map(Secret::reveal) != claim.token.as_deref() {
            return Err(Refusal::WrongToken);
        }
        let payload_text = claim.payload_text(request)?;
        let payload = Payload::parse(payload_text, single(request, "x-amz-trailer")?)
            .ok_or(Refusal::Malformed(Part::ContentSha256))?;
        let key = self.key(keys.secret(), &claim);
        let headers = covered(request, &claim)?;
        let Self { parameters, canonical, .. } = self;
        parameters.clear();
        parameters.push_query(request.query, |name| {
            claim.place == Place::Query && name.eq_ignore_ascii_case("X-Amz-Signature")
        });
        canonical.clear();
        canonical::write(request, parameters, &headers, payload_text.as_bytes(), canonical);
        string_to_sign(&claim.time.text(), key.scope(), canonical);
        if !key.verifies(canonical, &claim.signature) {
            return Err(Refusal::Mismatch);
        }
        let body = match payload {
            Payload::Unsigned => SignedBody::Unsigned,
            Payload::Sha256(sha256) => SignedBody::Sha256(sha256),
            Payload::Chunks(streaming) => {
                let length = single(request, "x-amz-decoded-content-length")?;
                let length = length.and_then(|text| crate::fields::parse_u64(text.as_bytes()));
                let length = length.ok_or(Refusal::Malformed(Part::DecodedLength))?;
                let chain = streaming.is_signed().then(|| Chain::new(key, claim.time, claim.signature));
                SignedBody::Chunks(Box::new(ChunkDecoder::new(chain, streaming, length)))
            }
        };
        let presigned = claim.place == Place::Query;
        Ok(Verified { access_key: claim.access_key.into(), presigned, body })
    }

    fn key(&mut self, secret: &Secret, claim: &Claim) -> Arc<SigningKey> {
        if let Some((last, key)) = &self.last
            && last.day == claim.time.day()
            && *last.region == *claim.region
            && last.secret == *secret
        {
            return Arc::clone(key);
        }
        let key = Arc::new(SigningKey::derive(secret, claim.time, &claim.region, &claim.service));
        let last = LastKey { secret: secret.clone(), day: claim.time.day(), region: claim.region.as_str().into() };
        self.last = Some((last, Arc::clone(&key)));
        key
    }
}

impl Claim<'_> {
    /// A head is good for 15 minutes around its time, a query until it expires.
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

    /// What stands for the body in what was signed.
    fn payload_text<'r>(&self, request: &Request<'r>) -> Result<&'r str, Refusal> {
        match (single(request, "x-amz-content-sha256")?, self.place) {
            (Some(text), _) => Ok(text),
            (None, Place::Query) => Ok(UNSIGNED),
            (None, Place::Head) => Err(Refusal::Malformed(Part::ContentSha256)),
        }
    }
}

/// The headers that the signature says it covers.
fn covered<'r>(request: &Request<'r>, claim: &Claim) -> Result<Signed<'r>, Refusal> {
    let is_named = |name: &str| claim.signed_headers.split(';').any(|named| named.eq_ignore_ascii_case(name));
    let mut headers = Signed::new();
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
    if !claim.signed_headers.split(';').all(is_there) {
        return Err(Refusal::Malformed(Part::SignedHeaders));
    }
    headers.sort();
    Ok(headers)
}
