//! Multipart uploads. Parts are sent to the worker, and all other requests to the bus.

use std::collections::BTreeMap;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::documents::{Part, Parts, Upload, Uploads};
use super::objects::{tagged, upload_failure};
use super::reply::{empty, json, line, not_allowed};
use super::{Call, RenterdStandIn, discard, document};
use crate::hyper_front::request_body::{Broken, RequestBody};
use crate::hyper_front::service::ServiceResponse;
use crate::s3::shelf::{ReceiveError, ShelfError};

/// The body of a request about an upload.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Request {
    bucket: String,
    key: String,
    mime_type: String,
    metadata: Option<BTreeMap<String, String>>,
    disable_client_side_encryption: bool,
    #[serde(rename = "uploadID")]
    upload_id: String,
    part_number_marker: u64,
    prefix: String,
    key_marker: String,
    #[serde(rename = "uploadIDMarker")]
    upload_id_marker: String,
    limit: i64,
}

impl Request {
    /// Returns the maximum number of entries on a page; `None` for all.
    fn limit(&self) -> Option<usize> {
        usize::try_from(self.limit).ok().filter(|limit| *limit > 0)
    }
}

impl RenterdStandIn {
    pub(super) async fn put_part(
        &self,
        call: &Call<'_>,
        key: &str,
        body: RequestBody,
    ) -> Result<ServiceResponse, Broken> {
        let (bucket, upload_id) = (call.form().value("bucket"), call.form().value("uploadid"));
        let (number, offset) = (call.form().number::<u64>("partnumber"), call.form().value("encryptionoffset"));
        let refused = match call.method() {
            "PUT" if bucket.is_empty() => Err(Box::new(line(400, "'bucket' parameter is required"))),
            "PUT" if upload_id.is_empty() => Err(Box::new(line(400, "upload id not specified"))),
            "PUT" => self.admit_upload(call, &bucket),
            _ => Err(Box::new(not_allowed("PUT"))),
        };
        let redundancy = match refused {
            Ok(redundancy) => redundancy,
            Err(refusal) => return discard(call.parts, body, *refusal).await,
        };
        let name = inner_name(&upload_id);
        if self.shelf.parts(&bucket, key, &name).is_err() {
            let why = "couldn't fetch multipart upload: failed to get multipart upload: multipart upload not found";
            return discard(call.parts, body, line(404, why)).await;
        }
        if offset.is_empty() && !self.is_plain(&name) {
            let why = "if object encryption (pre-erasure coding) wasn't disabled by creating the multipart upload with \
                the no-op key, the offset needs to be set";
            let message = format!("invalid multipart encryption settings: {why}");
            return discard(call.parts, body, line(400, &message)).await;
        }
        let received = match self.shelf.receive(body).await {
            Ok(received) => received,
            Err(ReceiveError::Broken) => return Err(Broken),
            Err(ReceiveError::Refused(error)) => return Ok(upload_failure(&error)),
        };
        let (bytes, etag) = (received.bytes(), received.etag());
        match self.shelf.put_part(&bucket, key, &name, number.ok().flatten().unwrap_or(0), received) {
            Ok(()) => {
                self.renter().note_upload(bytes, redundancy);
                Ok(tagged(empty("worker PUT multipart"), &etag))
            }
            Err(ShelfError::Limit(why)) => Ok(line(500, &format!("couldn't upload multipart part: {why}"))),
            Err(error) => Ok(upload_failure(&error)),
        }
    }

    /// Returns whether the parts of an upload need no offset.
    fn is_plain(&self, name: &str) -> bool {
        self.renter().plain_uploads.contains(name)
    }

    /// Responds to `POST /api/bus/multipart/…`.
    pub(super) async fn multipart(
        &self,
        call: &Call<'_>,
        action: &str,
        body: RequestBody,
    ) -> Result<ServiceResponse, Broken> {
        if call.method() != "POST" {
            return discard(call.parts, body, not_allowed("POST")).await;
        }
        let request: Request = match document(body).await? {
            Ok(request) => request,
            Err(refusal) => return Ok(*refusal),
        };
        Ok(match action {
            "create" => self.create_upload(request),
            "complete" => self.complete_upload(&request),
            "abort" => self.abort_upload(&request),
            "listparts" => self.list_parts(&request),
            "listuploads" => self.list_uploads(&request),
            _ => super::not_found(),
        })
    }

    fn create_upload(&self, request: Request) -> ServiceResponse {
        let Request { bucket, key, mime_type, metadata, disable_client_side_encryption, .. } = request;
        let media_type = if mime_type.is_empty() { "application/octet-stream".to_owned() } else { mime_type };
        match self.shelf.begin(&bucket, &key, Some(media_type), metadata.unwrap_or_default()) {
            Ok(name) => {
                let id = outer_name(&name);
                if disable_client_side_encryption {
                    self.renter().plain_uploads.insert(name);
                }
                json("bus POST multipart/create", &serde_json::json!({ "uploadID": id }))
            }
            Err(ShelfError::Limit(why)) => line(500, &format!("failed to create multipart upload: {why}")),
            Err(_) => {
                line(500, &format!("failed to create multipart upload: bucket {bucket} not found: bucket not found"))
            }
        }
    }

    fn complete_upload(&self, request: &Request) -> ServiceResponse {
        let Request { bucket, key, upload_id, .. } = request;
        let name = inner_name(upload_id);
        let replaced = self.shelf.get(bucket, key).map(|item| item.bytes).ok();
        let digest = |tags: &[String]| {
            let mut digest = Sha256::new();
            tags.iter().for_each(|tag| digest.update(tag));
            digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
        };
        match self.shelf.complete(bucket, key, &name, digest) {
            Ok(item) => {
                let mut renter = self.renter();
                renter.plain_uploads.remove(&name);
                if let Some(bytes) = replaced {
                    renter.note_deletion(bytes);
                }
                json("bus POST multipart/complete", &serde_json::json!({ "eTag": item.etag }))
            }
            Err(_) => {
                let why = "failed to complete multipart upload: failed to fetch upload: sql: no rows in result set";
                line(500, &format!("failed to complete multipart upload: {why}"))
            }
        }
    }

    fn abort_upload(&self, request: &Request) -> ServiceResponse {
        let Request { bucket, key, upload_id, .. } = request;
        let name = inner_name(upload_id);
        if self.shelf.abort(bucket, key, &name).is_err() {
            return line(500, "failed to abort multipart upload: multipart upload not found");
        }
        self.renter().plain_uploads.remove(&name);
        empty("bus POST multipart/abort")
    }

    fn list_parts(&self, request: &Request) -> ServiceResponse {
        let Request { bucket, key, upload_id, part_number_marker, .. } = request;
        let parts = self.shelf.parts(bucket, key, &inner_name(upload_id)).unwrap_or_default();
        let mut parts: Vec<Part> =
            parts.into_iter().filter(|part| part.number > *part_number_marker).map(Part::from).collect();
        let has_more = request.limit().is_some_and(|limit| parts.len() > limit);
        parts.truncate(request.limit().unwrap_or(usize::MAX));
        let next_marker = parts.last().filter(|_| has_more).map_or(0, |part| part.part_number);
        let parts = Some(parts).filter(|parts| !parts.is_empty());
        json("bus POST multipart/listparts", &Parts { has_more, next_marker, parts })
    }

    fn list_uploads(&self, request: &Request) -> ServiceResponse {
        let Request { bucket, prefix, key_marker, upload_id_marker, .. } = request;
        if key_marker.is_empty() != upload_id_marker.is_empty() {
            let why = "both keyMarker and uploadIDMarker must be set or neither";
            return line(500, &format!("failed to list multipart uploads: {why}"));
        }
        let buckets = if bucket.is_empty() {
            self.shelf.buckets().into_iter().map(|(name, _)| name).collect()
        } else {
            vec![bucket.clone()]
        };
        let mut uploads = Vec::new();
        for bucket in &buckets {
            for upload in self.shelf.uploads(bucket) {
                let id = outer_name(&upload.name);
                let after = (&upload.key, &id) > (key_marker, upload_id_marker);
                if upload.key.starts_with(prefix) && after {
                    uploads.push(Upload::new(bucket, id, upload));
                }
            }
        }
        uploads.sort_by(|a, b| (&a.key, &a.upload_id).cmp(&(&b.key, &b.upload_id)));
        let has_more = request.limit().is_some_and(|limit| uploads.len() > limit);
        uploads.truncate(request.limit().unwrap_or(usize::MAX));
        let last = uploads.last().filter(|_| has_more);
        let (next_marker, next_upload_id_marker) =
            last.map(|upload| (upload.key.clone(), upload.upload_id.clone())).unwrap_or_default();
        let uploads = Some(uploads).filter(|uploads| !uploads.is_empty());
        json("bus POST multipart/listuploads", &Uploads { has_more, next_marker, next_upload_id_marker, uploads })
    }
}

/// Returns the upload ID that clients see. This ID has the same length as renterd's IDs.
fn outer_name(name: &str) -> String {
    format!("{name:0>64}")
}

/// Returns the ID of an upload in the store.
fn inner_name(id: &str) -> String {
    let digits = id.trim_start_matches('0');
    format!("{digits:0>16}")
}
