//! Single objects: put, get, head, copy, delete.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use s3s::dto::{
    ChecksumMode, CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopySource, DeleteObjectsInput,
    DeleteObjectsOutput, DeletedObject, ETag, ETagCondition, GetObjectInput, GetObjectOutput, HeadObjectInput,
    HeadObjectOutput, MetadataDirective, PutObjectInput, PutObjectOutput, StreamingBlob,
};
use s3s::{Body, S3Request, S3Result, s3_error};
use wire::ContentRange;

use crate::hyper_front::request_head::range_of;
use crate::response::range::{RangeOutcome, resolve};
use crate::s3::backend::Backend;
use crate::s3::errors::{s3_error_of, s3_error_of_write};
use crate::s3::receive::receive;
use crate::s3::store::Store;
use crate::s3::store::error::StoreError;
use crate::s3::store::objects::{Headers, Object, ObjectInfo};

/// Maximum number of objects in one batch, as on S3.
const BATCH_MAX: usize = 1000;

pub(super) async fn put(backend: &Backend, request: S3Request<PutObjectInput>) -> S3Result<PutObjectOutput> {
    let PutObjectInput { body, bucket, key, metadata, if_none_match, .. } = request.input;
    let headers = Headers {
        content_type: request.input.content_type,
        content_encoding: request.input.content_encoding,
        content_disposition: request.input.content_disposition,
        content_language: request.input.content_language,
        cache_control: request.input.cache_control,
    };
    backend.store.has_bucket(&bucket).map_err(s3_error_of)?;
    if matches!(if_none_match, Some(ETagCondition::Any)) && backend.store.get(&bucket, &key).is_ok() {
        return Err(s3_error!(PreconditionFailed));
    }
    let received = receive(&backend.store, body, &request.headers, request.trailing_headers).await?;
    let (info, content) = received.into_stored(headers, metadata.unwrap_or_default().into_iter().collect());
    let checksum = |name: &str| info.checksums.get(name).cloned();
    let output = PutObjectOutput {
        e_tag: Some(ETag::Strong(info.etag.clone())),
        checksum_crc32: checksum("crc32"),
        checksum_crc32c: checksum("crc32c"),
        checksum_crc64nvme: checksum("crc64nvme"),
        checksum_sha1: checksum("sha1"),
        checksum_sha256: checksum("sha256"),
        ..PutObjectOutput::default()
    };
    backend.put(&bucket, &key, info, content).map_err(s3_error_of)?;
    Ok(output)
}

pub(super) fn copy(backend: &Backend, input: CopyObjectInput) -> S3Result<CopyObjectOutput> {
    let CopySource::Bucket { bucket, key, .. } = &input.copy_source else {
        return Err(s3_error!(NotImplemented, "the copy source must be a bucket and a key"));
    };
    let source = backend.store.get(bucket, key).map_err(s3_error_of)?;
    let mut writer = backend.store.writer().map_err(s3_error_of)?;
    writer.copy(&source.content).map_err(|error| s3_error_of_write(&backend.store, error))?;
    let mut info = ObjectInfo { modified: SystemTime::now(), ..source.info.clone() };
    if input.metadata_directive.is_some_and(|directive| directive.as_str() == MetadataDirective::REPLACE) {
        info.metadata = input.metadata.unwrap_or_default().into_iter().collect();
        info.headers = Headers {
            content_type: input.content_type,
            content_encoding: input.content_encoding,
            content_disposition: input.content_disposition,
            content_language: input.content_language,
            cache_control: input.cache_control,
        };
    }
    let copied = CopyObjectResult {
        e_tag: Some(ETag::Strong(info.etag.clone())),
        last_modified: Some(info.modified.into()),
        ..CopyObjectResult::default()
    };
    backend.put(&input.bucket, &input.key, info, writer.finish()).map_err(s3_error_of)?;
    Ok(CopyObjectOutput { copy_object_result: Some(copied), ..CopyObjectOutput::default() })
}

pub(super) fn get(store: &Store, request: &S3Request<GetObjectInput>) -> S3Result<GetObjectOutput> {
    let input = &request.input;
    let object = store.get(&input.bucket, &input.key).map_err(s3_error_of)?;
    check_conditions(&object.info, input.if_match.as_ref(), input.if_none_match.as_ref())?;
    let complete = object.content.bytes();
    let range = range_of(&request.headers).map_or(RangeOutcome::Whole, |range| resolve(&range, complete));
    let (first, length, content_range) = match range {
        RangeOutcome::Whole => (0, complete, None),
        RangeOutcome::Range(range) => (range.first(), range.len(), ContentRange::of(range, Some(complete))),
        RangeOutcome::Unsatisfiable => return Err(s3_error!(InvalidRange)),
    };
    // Checksums cover the whole object, so a response with a range does not include them.
    let with_checksums = input.checksum_mode.as_ref().is_some_and(asks_for_checksums) && content_range.is_none();
    let head = head_of(&object, with_checksums)?;
    let body = StreamingBlob::from(Body::http_body(object.content.read(first, length)));
    Ok(GetObjectOutput {
        body: Some(body),
        content_length: Some(signed(length)?),
        content_range: content_range.map(|range| range.to_string()),
        accept_ranges: head.accept_ranges,
        e_tag: head.e_tag,
        last_modified: head.last_modified,
        metadata: head.metadata,
        content_type: head.content_type,
        content_encoding: head.content_encoding,
        content_disposition: head.content_disposition,
        content_language: head.content_language,
        cache_control: head.cache_control,
        checksum_crc32: head.checksum_crc32,
        checksum_crc32c: head.checksum_crc32c,
        checksum_crc64nvme: head.checksum_crc64nvme,
        checksum_sha1: head.checksum_sha1,
        checksum_sha256: head.checksum_sha256,
        ..GetObjectOutput::default()
    })
}

pub(super) fn head(store: &Store, input: &HeadObjectInput) -> S3Result<HeadObjectOutput> {
    let object = store.get(&input.bucket, &input.key).map_err(s3_error_of)?;
    check_conditions(&object.info, input.if_match.as_ref(), input.if_none_match.as_ref())?;
    head_of(&object, input.checksum_mode.as_ref().is_some_and(asks_for_checksums))
}

fn asks_for_checksums(mode: &ChecksumMode) -> bool {
    mode.as_str() == ChecksumMode::ENABLED
}

fn head_of(object: &Arc<Object>, with_checksums: bool) -> S3Result<HeadObjectOutput> {
    let ObjectInfo { etag, modified, headers, metadata, checksums } = object.info.clone();
    let none = BTreeMap::new();
    let checksums = if with_checksums { &checksums } else { &none };
    let checksum = |name: &str| checksums.get(name).cloned();
    Ok(HeadObjectOutput {
        accept_ranges: Some("bytes".to_owned()),
        content_length: Some(signed(object.content.bytes())?),
        e_tag: Some(ETag::Strong(etag)),
        last_modified: Some(modified.into()),
        metadata: (!metadata.is_empty()).then(|| metadata.into_iter().collect()),
        content_type: headers.content_type,
        content_encoding: headers.content_encoding,
        content_disposition: headers.content_disposition,
        content_language: headers.content_language,
        cache_control: headers.cache_control,
        checksum_crc32: checksum("crc32"),
        checksum_crc32c: checksum("crc32c"),
        checksum_crc64nvme: checksum("crc64nvme"),
        checksum_sha1: checksum("sha1"),
        checksum_sha256: checksum("sha256"),
        ..HeadObjectOutput::default()
    })
}

fn check_conditions(
    info: &ObjectInfo,
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
) -> S3Result<()> {
    let matches = |condition: &ETagCondition| condition.as_etag().is_none_or(|etag| etag.value() == info.etag);
    if if_match.is_some_and(|condition| !matches(condition)) {
        return Err(s3_error!(PreconditionFailed));
    }
    if if_none_match.is_some_and(matches) {
        return Err(s3_error!(NotModified));
    }
    Ok(())
}

pub(super) fn delete_all(store: &Store, input: DeleteObjectsInput) -> S3Result<DeleteObjectsOutput> {
    store.has_bucket(&input.bucket).map_err(s3_error_of)?;
    if input.delete.objects.len() > BATCH_MAX {
        return Err(s3_error!(MalformedXML, "a batch has at most 1000 objects"));
    }
    let (mut deleted, mut errors) = (Vec::new(), Vec::new());
    for object in input.delete.objects {
        match store.delete(&input.bucket, &object.key) {
            Ok(()) => deleted.push(DeletedObject { key: Some(object.key), ..DeletedObject::default() }),
            Err(error) => errors.push(batch_error(object.key, error)),
        }
    }
    let quiet = input.delete.quiet == Some(true);
    Ok(DeleteObjectsOutput {
        deleted: Some(deleted).filter(|_| !quiet),
        errors: Some(errors).filter(|errors| !errors.is_empty()),
        ..DeleteObjectsOutput::default()
    })
}

/// Returns the entry of a batch response for an object that could not be deleted.
fn batch_error(key: String, error: StoreError) -> s3s::dto::Error {
    let error = s3_error_of(error);
    s3s::dto::Error {
        key: Some(key),
        code: Some(error.code().as_str().to_owned()),
        message: error.message().map(str::to_owned),
        ..s3s::dto::Error::default()
    }
}

/// Converts a number of bytes to the type of `s3s`.
pub(super) fn signed(bytes: u64) -> S3Result<i64> {
    i64::try_from(bytes).map_err(|error| s3_error!(error, InternalError))
}
