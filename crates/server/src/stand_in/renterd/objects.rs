//! Objects at the worker: upload, download with at most one range, HEAD, delete.

use std::collections::BTreeMap;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::renter::Redundancy;
use super::reply::{empty, line, not_allowed};
use super::time::http_date;
use super::{Call, RenterdStandIn, discard};
use crate::faults::body::BodyFaults;
use crate::hyper_front::request_body::{Broken, RequestBody};
use crate::hyper_front::service::{ServiceBody, ServiceResponse};
use crate::s3::shelf::{Item, ReceiveError, ShelfError};

/// The prefix of header fields that contain metadata.
const METADATA: &str = "x-sia-meta-";
const BUCKET_MISSING: &str = "'bucket' parameter is required";

/// The status and the reason of a refused range.
type RangeProblem = (u16, &'static str);

/// A range of an object, as offset and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slice {
    first: u64,
    length: u64,
}

impl RenterdStandIn {
    pub(super) async fn object(
        &self,
        call: &Call<'_>,
        key: &str,
        body: RequestBody,
    ) -> Result<ServiceResponse, Broken> {
        let bucket = call.form().value("bucket");
        let response = match call.method() {
            "DELETE" if bucket.is_empty() => line(500, &format!("couldn't delete object: {BUCKET_MISSING}")),
            "DELETE" => self.delete_object("worker DELETE object", &bucket, key),
            "PUT" | "GET" | "HEAD" if bucket.is_empty() => line(400, BUCKET_MISSING),
            "PUT" => return self.put_object(call, &bucket, key, body).await,
            "GET" => self.get_object(call, &bucket, key),
            "HEAD" => self.head_object(call, &bucket, key),
            _ => not_allowed("DELETE, GET, HEAD, PUT"),
        };
        discard(call.parts, body, response).await
    }

    pub(super) fn delete_object(&self, operation: &'static str, bucket: &str, key: &str) -> ServiceResponse {
        match self.shelf.delete(bucket, key) {
            Ok(item) => {
                self.renter().note_deletion(item.bytes);
                empty(operation)
            }
            Err(_) => line(404, "object not found"),
        }
    }

    /// Returns the redundancy of an upload, or the response to an upload that cannot be carried out.
    pub(super) fn admit_upload(&self, call: &Call<'_>, bucket: &str) -> Result<Redundancy, Box<ServiceResponse>> {
        if !self.shelf.buckets().iter().any(|(name, _)| name == bucket) {
            return Err(Box::new(line(404, &format!("bucket '{bucket}' not found; bucket not found"))));
        }
        let renter = self.renter();
        let (form, mut redundancy) = (call.form(), renter.redundancy);
        for (name, place) in [("minshards", &mut redundancy.min_shards), ("totalshards", &mut redundancy.total_shards)]
        {
            match form.number::<u64>(name) {
                Ok(number) => *place = number.filter(|number| *number != 0).unwrap_or(*place),
                Err(_) => return Err(Box::new(line(400, &format!("invalid form value \"{name}\": invalid syntax")))),
            }
        }
        match renter.upload_refusal(redundancy) {
            None => Ok(redundancy),
            Some((500, message)) => {
                Err(Box::new(line(500, &format!("couldn't upload object: couldn't upload object: {message}"))))
            }
            Some((status, message)) => Err(Box::new(line(status, &message))),
        }
    }

    async fn put_object(
        &self,
        call: &Call<'_>,
        bucket: &str,
        key: &str,
        body: RequestBody,
    ) -> Result<ServiceResponse, Broken> {
        let redundancy = match self.admit_upload(call, bucket) {
            Ok(redundancy) => redundancy,
            Err(refusal) => return discard(call.parts, body, *refusal).await,
        };
        let received = match self.shelf.receive(body).await {
            Ok(received) => received,
            Err(ReceiveError::Broken) => return Err(Broken),
            Err(ReceiveError::Refused(error)) => return Ok(upload_failure(&error)),
        };
        let named = Some(call.form().value("mimetype")).filter(|name| !name.is_empty());
        let media_type = named.or_else(|| Some("application/octet-stream".to_owned()));
        let (bytes, etag) = (received.bytes(), received.etag());
        let replaced = self.shelf.get(bucket, key).map(|item| item.bytes).ok();
        if let Err(error) = self.shelf.put(bucket, key, received, media_type, metadata(call)) {
            return Ok(upload_failure(&error));
        }
        let mut renter = self.renter();
        if let Some(bytes) = replaced {
            renter.note_deletion(bytes);
        }
        renter.note_upload(bytes, redundancy);
        Ok(tagged(empty("worker PUT object"), &etag))
    }

    fn get_object(&self, call: &Call<'_>, bucket: &str, key: &str) -> ServiceResponse {
        let (item, slice) = match self.find(call, bucket, key) {
            Ok(found) => found,
            Err(refusal) => return *refusal,
        };
        let Slice { first, length } = slice.unwrap_or(Slice { first: 0, length: item.bytes });
        let Ok(body) = self.shelf.read(bucket, key, first, length) else {
            return line(404, "couldn't fetch object: object not found");
        };
        self.renter().note_download(length);
        let body_faults = if length > 0 { self.shared.faults.next_body() } else { BodyFaults::default() };
        let range = slice.and_then(|slice| wire::ByteRange::of_length(slice.first, slice.length));
        let response = with_headers(Response::new(body), call, &item, slice);
        ServiceResponse { body_faults, range, ..named("worker GET object", response) }
    }

    fn head_object(&self, call: &Call<'_>, bucket: &str, key: &str) -> ServiceResponse {
        match self.find(call, bucket, key) {
            Ok((item, slice)) => {
                let empty: ServiceBody = super::reply::whole(200, "").into_body();
                named("worker HEAD object", with_headers(Response::new(empty), call, &item, slice))
            }
            Err(refusal) => *refusal,
        }
    }

    /// Returns an object and the requested range. If the object does not exist, returns the error response.
    fn find(&self, call: &Call<'_>, bucket: &str, key: &str) -> Result<(Item, Option<Slice>), Box<ServiceResponse>> {
        let refuse = |(status, message): RangeProblem| Box::new(line(status, message));
        let range = call.parts.headers.get(header::RANGE).map(HeaderValue::as_bytes);
        let slice = range.map(parse_range).transpose().map_err(refuse)?.flatten();
        let missing = |_| Box::new(line(404, "couldn't fetch object: couldn't fetch object: object not found"));
        let item = self.shelf.get(bucket, key).map_err(missing)?;
        let beyond = slice.is_some_and(|slice| slice.first.saturating_add(slice.length) > item.bytes);
        if beyond {
            return Err(refuse((400, "couldn't fetch object: invalid range")));
        }
        Ok((item, slice))
    }
}

/// Parses a `Range` like renterd, which assumes that every object has 2^63 − 1 bytes. An end beyond the object is
/// therefore detected only later, and is an error. A range without an end and a range relative to the end are errors
/// too.
fn parse_range(range: &[u8]) -> Result<Option<Slice>, RangeProblem> {
    const INVALID: RangeProblem = (400, "invalid range");
    const ENDLESS: u64 = i64::MAX as u64;
    let text = str::from_utf8(range).map_err(|_| INVALID)?;
    if text.is_empty() {
        return Ok(None);
    }
    let number = |text: &str| text.trim().parse::<i64>().ok().and_then(|number| u64::try_from(number).ok());
    let mut slices = Vec::new();
    for part in text.strip_prefix("bytes=").ok_or(INVALID)?.split(',').map(str::trim) {
        if part.is_empty() {
            continue;
        }
        let (start, end) = part.split_once('-').ok_or(INVALID)?;
        let slice = match (start.trim(), end.trim()) {
            ("", end) => {
                let length = number(end).ok_or(INVALID)?;
                Slice { first: ENDLESS - length, length }
            }
            (start, "") => {
                let first = number(start).ok_or(INVALID)?;
                Slice { first, length: ENDLESS - first }
            }
            (start, end) => {
                let (first, last) = (number(start).ok_or(INVALID)?, number(end).ok_or(INVALID)?);
                Slice { first, length: last.checked_sub(first).ok_or(INVALID)? + 1 }
            }
        };
        slices.push(slice);
    }
    match slices.as_slice() {
        [] => Ok(None),
        [slice] => Ok(Some(*slice)),
        _ => Err((400, "multipart ranges are not supported")),
    }
}

fn metadata(call: &Call<'_>) -> BTreeMap<String, String> {
    let fields = call.parts.headers.iter();
    let kept = fields.filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix(METADATA)?;
        Some((name.to_owned(), value.to_str().ok()?.to_owned()))
    });
    kept.collect()
}

fn named(operation: &'static str, response: Response<ServiceBody>) -> ServiceResponse {
    ServiceResponse { operation: Some(operation.into()), ..ServiceResponse::new(response) }
}

/// Adds the entity tag.
pub(super) fn tagged(mut response: ServiceResponse, etag: &str) -> ServiceResponse {
    if let Ok(etag) = HeaderValue::try_from(format!("\"{etag}\"")) {
        response.response.headers_mut().insert(header::ETAG, etag);
    }
    response
}

/// Creates the response for content that the stand-in could not store.
pub(super) fn upload_failure(error: &ShelfError) -> ServiceResponse {
    let why = match error {
        ShelfError::Limit(why) => why,
        ShelfError::NoSuchBucket => "bucket not found",
        ShelfError::NoSuchUpload => "multipart upload not found",
        _ => "the stand-in cannot keep it",
    };
    line(500, &format!("couldn't upload object: couldn't upload object: {why}"))
}

/// Adds the header fields of an object, in the style of Go's `http.ServeContent`.
fn with_headers(
    mut response: Response<ServiceBody>,
    call: &Call<'_>,
    item: &Item,
    slice: Option<Slice>,
) -> Response<ServiceBody> {
    let length = slice.map_or(item.bytes, |slice| slice.length);
    let mut fields = vec![
        (header::CONTENT_TYPE, item.media_type.clone().unwrap_or_default()),
        (header::CONTENT_LENGTH, length.to_string()),
        (header::ACCEPT_RANGES, "bytes".to_owned()),
        (header::ETAG, format!("\"{}\"", item.etag)),
        (header::LAST_MODIFIED, http_date(item.modified)),
    ];
    if let Some(Slice { first, length }) = slice {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let last = (first + length).saturating_sub(1);
        fields.push((header::CONTENT_RANGE, format!("bytes {first}-{last}/{}", item.bytes)));
    }
    if call.form().value("dl") == "true" {
        fields.push((header::CONTENT_DISPOSITION, "attachment".to_owned()));
    }
    for (name, value) in &item.metadata {
        if let Ok(name) = HeaderName::try_from(format!("{METADATA}{name}")) {
            fields.push((name, value.clone()));
        }
    }
    for (name, value) in fields {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_range_with_both_ends_is_understood() {
        let slice = |first, length| Ok(Some(Slice { first, length }));
        assert_eq!(parse_range(b"bytes=0-99"), slice(0, 100));
        assert_eq!(parse_range(b"bytes= 5-5 , "), slice(5, 1));
        assert_eq!(parse_range(b""), Ok(None));
        assert_eq!(parse_range(b"bytes=5-"), slice(5, i64::MAX as u64 - 5));
        assert_eq!(parse_range(b"bytes=-5"), slice(i64::MAX as u64 - 5, 5));
        assert_eq!(parse_range(b"bytes=0-1,3-4"), Err((400, "multipart ranges are not supported")));
        for range in [&b"bytes=5-4"[..], b"bytes=a-b", b"items=0-1", b"bytes=1", b"bytes=--1", b"\xff"] {
            assert_eq!(parse_range(range), Err((400, "invalid range")), "{range:?}");
        }
    }
}
