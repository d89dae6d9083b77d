//! Signing a request: the client's side.

use super::canonical::{self, Parameters, Request, Signed, TooMany};
use super::chain::Chain;
use super::chunks::ChunkEncoder;
use super::key::{Signature, SigningKey};
use super::keys::Keys;
use super::payload::{Payload, Streaming, UNSIGNED};
use super::timestamp::Timestamp;
use super::{ALGORITHM, string_to_sign};
use std::fmt;
use std::sync::Arc;

/// The longest that a presigned request may be good for: seven days.
pub const MAX_EXPIRY_SECONDS: u32 = 604_800;

/// Why a request cannot be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// More headers than [`super::MAX_SIGNED_HEADERS`].
    #[error("a signature covers 100 headers at most")]
    TooManyHeaders,
    /// `Host` has to be signed.
    #[error("a request without Host can not be signed")]
    NoHost,
    /// A header that signing adds by itself.
    #[error("Authorization, X-Amz-Date, X-Amz-Content-Sha256 and X-Amz-Security-Token are added by signing")]
    Reserved,
    /// Not from one second to [`MAX_EXPIRY_SECONDS`].
    #[error("a presigned request is good for 1 s to 7 days")]
    BadExpiry,
}

impl From<TooMany> for SignError {
    fn from(_: TooMany) -> Self {
        Self::TooManyHeaders
    }
}

/// Signs requests with one pair of keys for one region and service. Each thread has its own: it keeps the key of the
/// day and its buffers, so that signing allocates nothing once they have grown.
#[derive(Clone)]
pub struct Signer {
    keys: Keys,
    region: Box<str>,
    service: Box<str>,
    /// The key of one day since 1970.
    today: Option<(u64, Arc<SigningKey>)>,
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
    /// For S3 the service is `s3`.
    pub fn new(keys: Keys, region: &str, service: &str) -> Self {
        let (region, service) = (region.into(), service.into());
        let (canonical, payload) = (Vec::new(), Vec::new());
        Self { keys, region, service, today: None, canonical, parameters: Parameters::default(), payload }
    }

    /// Appends the header lines that sign the request, with their ends. See [`Self::sign_fields`].
    pub fn sign(
        &mut self,
        now: Timestamp,
        request: &Request,
        payload: &Payload,
        out: &mut Vec<u8>,
    ) -> Result<Signature, SignError> {
        self.sign_fields(now, request, payload, |name, value| push_all(out, &[name.as_bytes(), b": ", value, b"\r\n"]))
    }

    /// Passes the header fields that sign the request to `field`: `x-amz-content-sha256`, `x-amz-date`,
    /// `x-amz-security-token` and `authorization`. Every header of the request is covered. Returns the signature, on which
    /// those of chunks are based. After an error, `field` was not called.
    pub fn sign_fields(
        &mut self,
        now: Timestamp,
        request: &Request,
        payload: &Payload,
        mut field: impl FnMut(&'static str, &[u8]),
    ) -> Result<Signature, SignError> {
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
        canonical::write(request, parameters, &headers, payload_text, canonical);
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

    /// Appends the whole query that signs the request (a presigned URL), its own parameters among it. The body is not
    /// signed. Every header of the request is covered and has to be sent as it is; usually that is `Host` alone.
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
        canonical::write(request, parameters, &headers, UNSIGNED.as_bytes(), canonical);
        string_to_sign(&time, key.scope(), canonical);
        let signature = key.sign(canonical);
        parameters.write_sorted(out);
        out.extend_from_slice(b"&X-Amz-Signature=");
        signature.write(out);
        Ok(())
    }

    /// What frames and signs the chunks of a body whose head was signed at this time with this signature.
    pub fn chunks(&mut self, signed_at: Timestamp, head: Signature, streaming: Streaming) -> ChunkEncoder {
        let chain = streaming.is_signed().then(|| Chain::new(self.key(signed_at), signed_at, head));
        ChunkEncoder::new(chain, streaming.trailer())
    }

    fn key(&mut self, now: Timestamp) -> Arc<SigningKey> {
        if let Some((day, key)) = &self.today
            && *day == now.day()
        {
            return Arc::clone(key);
        }
        let key = Arc::new(SigningKey::derive(self.keys.secret(), now, &self.region, &self.service));
        self.today = Some((now.day(), Arc::clone(&key)));
        key
    }
}

/// The request's own headers.
fn covered<'a>(request: &Request<'a>) -> Result<Signed<'a>, SignError> {
    const RESERVED: [&str; 4] = ["authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"];
    let mut headers = Signed::new();
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
