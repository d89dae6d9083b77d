//! The client side of signatures.

use super::SharedKeys;
use super::access_keys::Keys;
use super::canonical_request::{self, Parameters, Request, SignedHeaders, TooMany};
use super::chunk_encoder::ChunkEncoder;
use super::chunk_signatures::SignatureChain;
use super::payload::{Payload, Streaming, UNSIGNED};
use super::signing_key::{Signature, SigningKey};
use super::timestamp::Timestamp;
use super::{ALGORITHM, string_to_sign};
use std::fmt;
use std::sync::Arc;

/// Maximum validity of a presigned request, in seconds: seven days.
pub const MAX_EXPIRY_SECONDS: u32 = 604_800;

/// The reason why a request cannot be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The request has more headers than [`super::MAX_SIGNED_HEADERS`].
    #[error("a signature covers at most 100 headers")]
    TooManyHeaders,
    /// The request has no `Host` header, which must be signed.
    #[error("a request without Host cannot be signed")]
    NoHost,
    /// The request already has a header that signing adds.
    #[error("signing adds Authorization, X-Amz-Date, X-Amz-Content-Sha256 and X-Amz-Security-Token: leave them out")]
    Reserved,
    /// The validity is shorter than 1 s or longer than [`MAX_EXPIRY_SECONDS`].
    #[error("the validity of a presigned request must be 1 s to 7 days")]
    BadExpiry,
}

impl From<TooMany> for SignError {
    fn from(_: TooMany) -> Self {
        Self::TooManyHeaders
    }
}

/// A signer of requests for one access key, region and service. Each thread has its own signer. The signer caches the
/// signing key of the day and reuses its buffers. Signing therefore does not allocate after the buffers have grown to
/// their final size.
#[derive(Clone)]
pub struct Signer {
    shared: Arc<SharedKeys>,
    /// Copy of the shared keys, with their version.
    keys: Keys,
    version: u64,
    region: Box<str>,
    service: Box<str>,
    /// The signing key of a day, with the number of days since 1970.
    cached_key: Option<(u64, Arc<SigningKey>)>,
    canonical: Vec<u8>,
    parameters: Parameters,
    payload: Vec<u8>,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("region", &self.region).field("service", &self.service).finish_non_exhaustive()
    }
}

impl Signer {
    /// Creates a signer. The service of S3 is `s3`.
    pub fn new(keys: Keys, region: &str, service: &str) -> Self {
        Self::with_shared(Arc::new(SharedKeys::new(keys)), region, service)
    }

    /// Creates a signer whose keys can be replaced.
    pub fn with_shared(shared: Arc<SharedKeys>, region: &str, service: &str) -> Self {
        let (version, keys) = shared.get();
        Self {
            shared,
            keys,
            version,
            region: region.into(),
            service: service.into(),
            cached_key: None,
            canonical: Vec::new(),
            parameters: Parameters::default(),
            payload: Vec::new(),
        }
    }

    /// Takes over the shared keys, if they were replaced.
    fn renew(&mut self) {
        if self.shared.version() != self.version {
            (self.version, self.keys) = self.shared.get();
            self.cached_key = None;
        }
    }

    /// Appends the header lines that sign the request, including their line endings. See [`Self::sign_fields`].
    ///
    /// # Errors
    /// Fails in the same cases as [`Self::sign_fields`]. After an error, nothing was appended.
    pub fn sign(
        &mut self,
        now: Timestamp,
        request: &Request,
        payload: &Payload,
        out: &mut Vec<u8>,
    ) -> Result<Signature, SignError> {
        self.sign_fields(now, request, payload, |name, value| push_all(out, &[name.as_bytes(), b": ", value, b"\r\n"]))
    }

    /// Calls `field` with each header field that signs the request: `x-amz-content-sha256`, `x-amz-date`,
    /// `x-amz-security-token` and `authorization`. The signature covers every header of the request. Returns the
    /// signature, on which the signatures of the chunks depend.
    ///
    /// # Errors
    /// Fails if the request cannot be signed. If this function fails, it has not called `field`.
    pub fn sign_fields(
        &mut self,
        now: Timestamp,
        request: &Request,
        payload: &Payload,
        mut field: impl FnMut(&'static str, &[u8]),
    ) -> Result<Signature, SignError> {
        self.renew();
        let key = self.key(now);
        let time = now.text();
        let Self { keys, canonical, parameters, payload: payload_text, .. } = self;
        payload_text.clear();
        payload.write(payload_text);
        let token = keys.token().map(|token| token.reveal().as_bytes());
        let mut headers = covered(request)?;
        headers.push("x-amz-content-sha256", payload_text)?;
        headers.push("x-amz-date", time.as_bytes())?;
        if let Some(token) = token {
            headers.push("x-amz-security-token", token)?;
        }
        headers.sort();
        parameters.clear();
        parameters.push_query(request.query, |_| false);
        canonical.clear();
        canonical_request::write(request, parameters, &headers, payload_text, canonical);
        string_to_sign(&time, key.scope(), canonical);
        let signature = key.sign(canonical);

        field("x-amz-content-sha256", payload_text);
        field("x-amz-date", time.as_bytes());
        if let Some(token) = token {
            field("x-amz-security-token", token);
        }
        canonical.clear();
        push_all(canonical, &[ALGORITHM.as_bytes(), b" Credential=", keys.access_key().as_bytes(), b"/"]);
        push_all(canonical, &[key.scope(), b", SignedHeaders="]);
        headers.write_names(canonical);
        canonical.extend_from_slice(b", Signature=");
        signature.write(canonical);
        field("authorization", canonical);
        Ok(signature)
    }

    /// Appends the whole query of a presigned URL, including the request's own parameters. The body is not signed. The
    /// signature covers every header of the request (usually only `Host`), so the headers must be sent unchanged.
    pub fn presign(
        &mut self,
        now: Timestamp,
        expiry_seconds: u32,
        request: &Request,
        out: &mut Vec<u8>,
    ) -> Result<(), SignError> {
        if !(1..=MAX_EXPIRY_SECONDS).contains(&expiry_seconds) {
            return Err(SignError::BadExpiry);
        }
        self.renew();
        let key = self.key(now);
        let time = now.text();
        let Self { keys, canonical, parameters, .. } = self;
        let mut headers = covered(request)?;
        headers.sort();
        let mut names = Vec::new();
        headers.write_names(&mut names);
        parameters.clear();
        parameters.push_query(request.query, |_| false);
        parameters.push_plain("X-Amz-Algorithm", ALGORITHM.as_bytes());
        parameters.push_plain("X-Amz-Credential", &[keys.access_key().as_bytes(), key.scope()].join(&b'/'));
        parameters.push_plain("X-Amz-Date", time.as_bytes());
        parameters.push_plain("X-Amz-Expires", expiry_seconds.to_string().as_bytes());
        parameters.push_plain("X-Amz-SignedHeaders", &names);
        if let Some(token) = keys.token() {
            parameters.push_plain("X-Amz-Security-Token", token.reveal().as_bytes());
        }
        canonical.clear();
        canonical_request::write(request, parameters, &headers, UNSIGNED.as_bytes(), canonical);
        string_to_sign(&time, key.scope(), canonical);
        let signature = key.sign(canonical);
        parameters.write_sorted(out);
        out.extend_from_slice(b"&X-Amz-Signature=");
        signature.write(out);
        Ok(())
    }

    /// Returns the encoder for a body whose head was signed at this time with this signature.
    pub fn chunks(&mut self, signed_at: Timestamp, head: Signature, streaming: Streaming) -> ChunkEncoder {
        let chain = streaming.is_signed().then(|| SignatureChain::new(self.key(signed_at), signed_at, head));
        ChunkEncoder::new(chain, streaming.trailer())
    }

    fn key(&mut self, now: Timestamp) -> Arc<SigningKey> {
        if let Some((day, key)) = &self.cached_key
            && *day == now.day()
        {
            return Arc::clone(key);
        }
        let key = Arc::new(SigningKey::derive(self.keys.secret(), now, &self.region, &self.service));
        self.cached_key = Some((now.day(), Arc::clone(&key)));
        key
    }
}

/// Returns the request's own headers.
fn covered<'a>(request: &Request<'a>) -> Result<SignedHeaders<'a>, SignError> {
    const RESERVED: [&str; 4] = ["authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"];
    let mut headers = SignedHeaders::new();
    let mut host = false;
    for (name, value) in request.headers {
        if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
            return Err(SignError::Reserved);
        }
        host |= name.eq_ignore_ascii_case("host");
        headers.push(name, value)?;
    }
    if host { Ok(headers) } else { Err(SignError::NoHost) }
}

fn push_all(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
}
