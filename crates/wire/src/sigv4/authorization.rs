//! The signature of a request and its parameters, parsed from the `Authorization` header or the query. This module does
//! not verify them.

use super::ALGORITHM;
use super::canonical_request::Request;
use super::sign::MAX_EXPIRY_SECONDS;
use super::signing_key::{Signature, TERMINATOR};
use super::timestamp::Timestamp;
use super::verify::Refusal;
use crate::percent::{self, Space};
use std::borrow::Cow;
use std::fmt;

/// The location of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    /// The `Authorization` header.
    Header,
    /// The query parameter `X-Amz-Signature` and related parameters.
    Query,
}

/// The part of a signature that is missing or invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizationPart {
    /// The algorithm is not AWS4-HMAC-SHA256, or `Authorization` is not a list of three parts.
    Algorithm,
    /// The credential is not of the form KEY/DAY/REGION/SERVICE/aws4_request, or its day differs from the date.
    Credential,
    /// `x-amz-date` is missing, occurs more than once, or is not in the form 20130524T000000Z.
    Date,
    /// The validity period is shorter than 1 s or longer than 7 days.
    Expires,
    /// The list of signed headers is invalid, too long, or contains a header that the request does not have.
    SignedHeaders,
    /// The signature is not 64 hexadecimal digits.
    Signature,
    /// `x-amz-content-sha256` or the related `x-amz-trailer` is not valid.
    ContentSha256,
    /// `x-amz-decoded-content-length` is missing or not a number.
    DecodedLength,
    /// A header is not text, or occurs twice.
    Headers,
}

impl fmt::Display for AuthorizationPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Algorithm => "the algorithm",
            Self::Credential => "the credential",
            Self::Date => "X-Amz-Date",
            Self::Expires => "X-Amz-Expires",
            Self::SignedHeaders => "the list of signed headers",
            Self::Signature => "the signature",
            Self::ContentSha256 => "x-amz-content-sha256",
            Self::DecodedLength => "x-amz-decoded-content-length",
            Self::Headers => "a header",
        })
    }
}

/// A signature and its parameters.
pub(super) struct Authorization<'r> {
    pub(super) location: Location,
    pub(super) access_key: String,
    pub(super) region: String,
    pub(super) service: String,
    pub(super) time: Timestamp,
    /// The validity period. Present if the signature is in the query.
    pub(super) expiry_seconds: Option<u32>,
    pub(super) signed_headers: Cow<'r, str>,
    pub(super) signature: Signature,
    pub(super) token: Option<Cow<'r, str>>,
}

impl<'r> Authorization<'r> {
    pub(super) fn of(request: &Request<'r>) -> Result<Self, Refusal> {
        let authorization = single(request, "authorization")?;
        let in_query = parameter(request.query, "X-Amz-Signature").is_some()
            || parameter(request.query, "X-Amz-Algorithm").is_some();
        match (authorization, in_query) {
            (Some(_), true) => Err(Refusal::Twice),
            (Some(text), false) => Self::in_head(request, text),
            (None, true) => Self::in_query(request),
            (None, false) => Err(Refusal::Missing),
        }
    }

    fn in_head(request: &Request<'r>, text: &'r str) -> Result<Self, Refusal> {
        let list = text.strip_prefix(ALGORITHM).and_then(|rest| rest.strip_prefix(' '));
        let (mut credential, mut names, mut signature) = (None, None, None);
        for part in list.ok_or(Refusal::Malformed(AuthorizationPart::Algorithm))?.split(',') {
            let (name, value) = part.trim().split_once('=').ok_or(Refusal::Malformed(AuthorizationPart::Algorithm))?;
            let slot = match name {
                "Credential" => &mut credential,
                "SignedHeaders" => &mut names,
                "Signature" => &mut signature,
                _ => return Err(Refusal::Malformed(AuthorizationPart::Algorithm)),
            };
            if slot.replace(value).is_some() {
                return Err(Refusal::Malformed(AuthorizationPart::Algorithm));
            }
        }
        let date = single(request, "x-amz-date")?.ok_or(Refusal::Malformed(AuthorizationPart::Date))?;
        RawAuthorization {
            location: Location::Header,
            credential: credential.map(Cow::Borrowed),
            date: Some(Cow::Borrowed(date)),
            expiry_seconds: None,
            signed_headers: names.map(Cow::Borrowed),
            signature: signature.map(Cow::Borrowed),
            token: single(request, "x-amz-security-token")?.map(Cow::Borrowed),
        }
        .parse()
    }

    fn in_query(request: &Request<'r>) -> Result<Self, Refusal> {
        let value = |name| parameter(request.query, name);
        if value("X-Amz-Algorithm").as_deref() != Some(ALGORITHM) {
            return Err(Refusal::Malformed(AuthorizationPart::Algorithm));
        }
        let seconds = value("X-Amz-Expires").and_then(|text| crate::decimal::parse_u64(text.as_bytes()));
        let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
        let seconds = seconds.filter(|seconds| (1..=MAX_EXPIRY_SECONDS).contains(seconds));
        RawAuthorization {
            location: Location::Query,
            credential: value("X-Amz-Credential"),
            date: value("X-Amz-Date"),
            expiry_seconds: Some(seconds.ok_or(Refusal::Malformed(AuthorizationPart::Expires))?),
            signed_headers: value("X-Amz-SignedHeaders"),
            signature: value("X-Amz-Signature"),
            token: value("X-Amz-Security-Token"),
        }
        .parse()
    }
}

/// The unparsed parts of an authorization from either location.
struct RawAuthorization<'r> {
    location: Location,
    credential: Option<Cow<'r, str>>,
    date: Option<Cow<'r, str>>,
    expiry_seconds: Option<u32>,
    signed_headers: Option<Cow<'r, str>>,
    signature: Option<Cow<'r, str>>,
    token: Option<Cow<'r, str>>,
}

impl<'r> RawAuthorization<'r> {
    fn parse(self) -> Result<Authorization<'r>, Refusal> {
        let bad = Refusal::Malformed;
        let date = self.date.ok_or(bad(AuthorizationPart::Date))?;
        let time = Timestamp::parse(&date).ok_or(bad(AuthorizationPart::Date))?;
        let credential = self.credential.ok_or(bad(AuthorizationPart::Credential))?;
        // Split from the right, because access keys of other systems may contain slashes.
        let mut parts = credential.rsplitn(5, '/');
        let mut part = || parts.next().ok_or(bad(AuthorizationPart::Credential));
        let (terminator, service, region, day, access_key) = (part()?, part()?, part()?, part()?, part()?);
        if terminator != TERMINATOR || day.as_bytes() != time.text().day() || access_key.is_empty() {
            return Err(bad(AuthorizationPart::Credential));
        }
        let signature = self.signature.as_deref().and_then(|digits| Signature::parse(digits.as_bytes()));
        Ok(Authorization {
            location: self.location,
            access_key: access_key.to_owned(),
            region: region.to_owned(),
            service: service.to_owned(),
            time,
            expiry_seconds: self.expiry_seconds,
            signed_headers: self.signed_headers.ok_or(bad(AuthorizationPart::SignedHeaders))?,
            signature: signature.ok_or(bad(AuthorizationPart::Signature))?,
            token: self.token,
        })
    }
}

/// Returns the trimmed value of a header that may occur at most once.
pub(super) fn single<'r>(request: &Request<'r>, name: &str) -> Result<Option<&'r str>, Refusal> {
    let mut values = request.headers.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name));
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some((_, value)), None) => {
            let text = std::str::from_utf8(value).map_err(|_| Refusal::Malformed(AuthorizationPart::Headers))?;
            Ok(Some(text.trim_matches([' ', '\t'])))
        }
        (Some(_), Some(_)) => Err(Refusal::Malformed(AuthorizationPart::Headers)),
    }
}

/// Returns the decoded value of the first query parameter with this name. `None` if it is not UTF-8.
fn parameter<'r>(query: &'r str, name: &str) -> Option<Cow<'r, str>> {
    let mut parameters = query.split('&').map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")));
    let (_, value) = parameters.find(|(given, _)| given.eq_ignore_ascii_case(name))?;
    if value.contains(['%', '+']) {
        percent::decoded_text(value, Space::PlusOrPercent).map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(value))
    }
}
