//! Multipart uploads: create, part, list, complete.

use std::collections::BTreeMap;
use std::time::SystemTime;

use s3s::crypto::{Checksum, Md5};
use s3s::dto::{
    CompleteMultipartUploadInput, CompleteMultipartUploadOutput, CreateMultipartUploadInput,
    CreateMultipartUploadOutput, ETag, ListMultipartUploadsInput, ListMultipartUploadsOutput, ListPartsInput,
    ListPartsOutput, MultipartUpload, Part as ListedPart, UploadPartInput, UploadPartOutput,
};
use s3s::{S3Request, S3Result, s3_error};

use super::lists::{NameEncoding, page_size};
use super::objects::signed;
use crate::s3::backend::Backend;
use crate::s3::content::Content;
use crate::s3::errors::s3_error_of;
use crate::s3::listing::PAGE_MAX;
use crate::s3::receive::{hex, receive};
use crate::s3::store::Store;
use crate::s3::store::objects::{Completed, Headers, ObjectInfo, UploadedPart};

pub(super) fn create(store: &Store, input: CreateMultipartUploadInput) -> S3Result<CreateMultipartUploadOutput> {
    let headers = Headers {
        content_type: input.content_type,
        content_encoding: input.content_encoding,
        content_disposition: input.content_disposition,
        content_language: input.content_language,
        cache_control: input.cache_control,
    };
    let metadata = input.metadata.unwrap_or_default().into_iter().collect();
    let upload = store.begin(&input.bucket, &input.key, headers, metadata).map_err(s3_error_of)?;
    Ok(CreateMultipartUploadOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(upload),
        ..CreateMultipartUploadOutput::default()
    })
}

pub(super) async fn upload_part(store: &Store, request: S3Request<UploadPartInput>) -> S3Result<UploadPartOutput> {
    let UploadPartInput { body, bucket, key, upload_id, part_number, .. } = request.input;
    store.with_upload(&bucket, &key, &upload_id, |_| ()).map_err(s3_error_of)?;
    let received = receive(store, body, &request.headers, request.trailing_headers).await?;
    let md5 = received.md5;
    let (info, content) = received.into_stored(Headers::default(), BTreeMap::new());
    let checksum = |name: &str| info.checksums.get(name).cloned();
    let output = UploadPartOutput {
        e_tag: Some(ETag::Strong(info.etag.clone())),
        checksum_crc32: checksum("crc32"),
        checksum_crc32c: checksum("crc32c"),
        checksum_crc64nvme: checksum("crc64nvme"),
        checksum_sha1: checksum("sha1"),
        checksum_sha256: checksum("sha256"),
        ..UploadPartOutput::default()
    };
    let part = UploadedPart { md5, info, content };
    store.put_part(&bucket, &key, &upload_id, part_number, part).map_err(s3_error_of)?;
    Ok(output)
}

pub(super) fn complete(
    backend: &Backend,
    input: CompleteMultipartUploadInput,
) -> S3Result<CompleteMultipartUploadOutput> {
    let CompleteMultipartUploadInput { bucket, key, upload_id, multipart_upload, .. } = input;
    let parts = multipart_upload.and_then(|upload| upload.parts).unwrap_or_default();
    let mut named = Vec::with_capacity(parts.len());
    for part in parts {
        let number = part.part_number.ok_or_else(|| s3_error!(MalformedXML, "a part has no number"))?;
        named.push((number, part.e_tag.map(ETag::into_value)));
    }
    let completed = backend.store.complete(&bucket, &key, &upload_id, &named).map_err(s3_error_of)?;
    let Completed { parts, headers, metadata } = completed;
    let (mut content, mut digest) = (Content::default(), Md5::new());
    for part in &parts {
        content.append(&part.content);
        digest.update(&part.md5);
    }
    // As on S3, the ETag of a multipart object is the digest of the digests of its parts, followed by the number of
    // parts.
    let etag = format!("{}-{}", hex(&digest.finalize()), parts.len());
    let checksums = BTreeMap::new();
    let info = ObjectInfo { etag: etag.clone(), modified: SystemTime::now(), headers, metadata, checksums };
    backend.put(&bucket, &key, info, content).map_err(s3_error_of)?;
    Ok(CompleteMultipartUploadOutput {
        location: Some(format!("/{bucket}/{key}")),
        bucket: Some(bucket),
        key: Some(key),
        e_tag: Some(ETag::Strong(etag)),
        ..CompleteMultipartUploadOutput::default()
    })
}

pub(super) fn list_parts(store: &Store, input: ListPartsInput) -> S3Result<ListPartsOutput> {
    let most = page_size(input.max_parts)?.min(PAGE_MAX);
    let after = input.part_number_marker.unwrap_or(0);
    let parts = store.with_upload(&input.bucket, &input.key, &input.upload_id, |upload| upload.parts.clone());
    let parts = parts.map_err(s3_error_of)?;
    let mut listed = Vec::new();
    let mut rest = parts.into_iter().filter(|(number, _)| *number > after);
    for (number, part) in rest.by_ref().take(most) {
        listed.push(ListedPart {
            part_number: Some(number),
            size: Some(signed(part.content.bytes())?),
            e_tag: Some(ETag::Strong(part.info.etag.clone())),
            last_modified: Some(part.info.modified.into()),
            ..ListedPart::default()
        });
    }
    let truncated = most > 0 && rest.next().is_some();
    Ok(ListPartsOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(input.upload_id),
        part_number_marker: Some(after),
        next_part_number_marker: listed.last().and_then(|part| part.part_number).filter(|_| truncated),
        max_parts: i32::try_from(most).ok(),
        is_truncated: Some(truncated),
        parts: Some(listed),
        ..ListPartsOutput::default()
    })
}

pub(super) fn list_uploads(store: &Store, input: &ListMultipartUploadsInput) -> S3Result<ListMultipartUploadsOutput> {
    let encoding = NameEncoding::of_request(input.encoding_type.as_ref());
    let most = page_size(input.max_uploads)?.min(PAGE_MAX);
    let prefix = input.prefix.as_deref().unwrap_or_default();
    let after = (input.key_marker.as_deref().unwrap_or_default(), input.upload_id_marker.as_deref());
    let comes_after = |name: &str, key: &str| match after {
        (marker, Some(upload)) => (key, name) > (marker, upload),
        (marker, None) => key > marker,
    };
    let uploads = store.uploads(&input.bucket).map_err(s3_error_of)?;
    let mut rest = uploads.into_iter().filter(|(name, key, _)| key.starts_with(prefix) && comes_after(name, key));
    let page: Vec<_> = rest.by_ref().take(most).collect();
    let truncated = most > 0 && rest.next().is_some();
    let last = page.last().filter(|_| truncated).map(|(name, key, _)| (name.clone(), encoding.apply(key)));
    let listed = |(name, key, begun): (String, String, SystemTime)| MultipartUpload {
        upload_id: Some(name),
        key: Some(encoding.apply(&key)),
        initiated: Some(begun.into()),
        ..MultipartUpload::default()
    };
    Ok(ListMultipartUploadsOutput {
        bucket: Some(input.bucket.clone()),
        prefix: Some(encoding.apply(prefix)),
        is_truncated: Some(truncated),
        next_upload_id_marker: last.as_ref().map(|(name, _)| name.clone()),
        next_key_marker: last.map(|(_, key)| key),
        max_uploads: i32::try_from(most).ok(),
        encoding_type: input.encoding_type.clone(),
        uploads: Some(page.into_iter().map(listed).collect()),
        ..ListMultipartUploadsOutput::default()
    })
}
