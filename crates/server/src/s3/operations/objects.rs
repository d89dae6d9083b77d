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

use super::{Operations, s3_error_of};
use crate::answer::{Part, part};
use crate::front::range_of;
use crate::s3::receive::receive;
use crate::s3::store::{Facts, Headers, Object, Refused, Store};

/// The most objects of one batch, as on S3.
const BATCH_MAX: usize = 1000;

pub(super) async fn put(on: &Operations, request: S3Request<PutObjectInput>) -> S3Result<PutObjectOutput> {
    let PutObjectInput { body, bucket, key, metadata, if_none_match, .. } = request.input;
    let headers = Headers {
        content_type: request.input.content_type,
        content_encoding: request.input.content_encoding,
        content_disposition: request.input.content_disposition,
        content_language: request.input.content_language,
        cache_control: request.input.cache_control,
    };
    on.store.has_bucket(&bucket).map_err(s3_error_of)?;
    if matches!(if_none_match, Some(ETagCondition::Any)) && on.store.get(&bucket, &key).is_ok() {
        return Err(s3_error!(PreconditionFailed));
    }
    let received = receive(&on.store, body, &request.headers, request.trailing_headers).await?;
    let (facts, content) = received.into_kept(headers, metadata.unwrap_or_default().into_iter().collect());
    let checksum = |name: &str| facts.checksums.get(name).cloned();
    let output = PutObjectOutput {
        e_tag: Some(ETag::Strong(facts.etag.clone())),
        checksum_crc32: checksum("crc32"),
        checksum_crc32c: checksum("crc32c"),
        checksum_crc64nvme: checksum("crc64nvme"),
        checksum_sha1: checksum("sha1"),
        checksum_sha256: checksum("sha256"),
        ..PutObjectOutput::default()
    };
    if !on.planted.loses() {
        on.store.put(&bucket, &key, facts, content).map_err(s3_error_of)?;
    }
    Ok(output)
}

pub(super) fn copy(on: &Operations, input: CopyObjectInput) -> S3Result<CopyObjectOutput> {
    let CopySource::Bucket { bucket, key, .. } = &input.copy_source else {
        return Err(s3_error!(NotImplemented, "copies are made from a bucket and a key"));
    };
    let source = on.store.get(bucket, key).map_err(s3_error_of)?;
    let mut writing = on.store.writing().map_err(s3_error_of)?;
    source.content.copy_into(&mut writing).map_err(|error| s3_error_of(on.store.refused(error)))?;
    let mut facts = Facts { modified: SystemTime::now(), ..source.facts.clone() };
    if input.metadata_directive.is_some_and(|directive| directive.as_str() == MetadataDirective::REPLACE) {
        facts.metadata = input.metadata.unwrap_or_default().into_iter().collect();
        facts.headers = Headers {
            content_type: input.content_type,
            content_encoding: input.content_encoding,
            content_disposition: input.content_disposition,
            content_language: input.content_language,
            cache_control: input.cache_control,
        };
    }
    let copied = CopyObjectResult {
        e_tag: Some(ETag::Strong(facts.etag.clone())),
        last_modified: Some(facts.modified.into()),
        ..CopyObjectResult::default()
    };
    if !on.planted.loses() {
        on.store.put(&input.bucket, &input.key, facts, writing.finish()).map_err(s3_error_of)?;
    }
    Ok(CopyObjectOutput { copy_object_result: Some(copied), ..CopyObjectOutput::default() })
}

pub(super) fn get(store: &Store, request: &S3Request<GetObjectInput>) -> S3Result<GetObjectOutput> {
    let input = &request.input;
    let object = store.get(&input.bucket, &input.key).map_err(s3_error_of)?;
    check_conditions(&object.facts, input.if_match.as_ref(), input.if_none_match.as_ref())?;
    let complete = object.content.bytes();
    let part = range_of(&request.headers).map_or(Part::Whole, |range| part(&range, complete));
    let (first, length, content_range) = match part {
        Part::Whole => (0, complete, None),
        Part::Range(range) => (range.first(), range.len(), ContentRange::of(range, Some(complete))),
        Part::Outside => return Err(s3_error!(InvalidRange)),
    };
    // A checksum is of the whole object.
    let wanted = input.checksum_mode.as_ref().is_some_and(asks_for_checksums) && content_range.is_none();
    let HeadObjectOutput { e_tag, last_modified, metadata, content_type, content_encoding, .. } =
        head_of(&object, wanted)?;
    let rest = head_of(&object, wanted)?;
    let body = StreamingBlob::from(Body::http_body(object.content.read(first, length)));
    Ok(GetObjectOutput {
        body: Some(body),
        content_length: Some(signed(length)?),
        content_range: content_range.map(|range| range.to_string()),
        accept_ranges: rest.accept_ranges,
        e_tag,
        last_modified,
        metadata,
        content_type,
        content_encoding,
        content_disposition: rest.content_disposition,
        content_language: rest.content_language,
        cache_control: rest.cache_control,
        checksum_crc32: rest.checksum_crc32,
        checksum_crc32c: rest.checksum_crc32c,
        checksum_crc64nvme: rest.checksum_crc64nvme,
        checksum_sha1: rest.checksum_sha1,
        checksum_sha256: rest.checksum_sha256,
        ..GetObjectOutput::default()
    })
}

pub(super) fn head(store: &Store, input: &HeadObjectInput) -> S3Result<HeadObjectOutput> {
    let object = store.get(&input.bucket, &input.key).map_err(s3_error_of)?;
    check_conditions(&object.facts, input.if_match.as_ref(), input.if_none_match.as_ref())?;
    head_of(&object, input.checksum_mode.as_ref().is_some_and(asks_for_checksums))
}

fn asks_for_checksums(mode: &ChecksumMode) -> bool {
    mode.as_str() == ChecksumMode::ENABLED
}

fn head_of(object: &Arc<Object>, with_checksums: bool) -> S3Result<HeadObjectOutput> {
    let Facts { etag, modified, headers, metadata, checksums } = object.facts.clone();
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
    facts: &Facts,
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
) -> S3Result<()> {
    let is_it = |condition: &ETagCondition| condition.as_etag().is_none_or(|etag| etag.value() == facts.etag);
    if if_match.is_some_and(|condition| !is_it(condition)) {
        return Err(s3_error!(PreconditionFailed));
    }
    if if_none_match.is_some_and(is_it) {
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
            Err(refused) => errors.push(told(object.key, refused)),
        }
    }
    let quiet = input.delete.quiet == Some(true);
    Ok(DeleteObjectsOutput {
        deleted: Some(deleted).filter(|_| !quiet),
        errors: Some(errors).filter(|errors| !errors.is_empty()),
        ..DeleteObjectsOutput::default()
    })
}

fn told(key: String, refused: Refused) -> s3s::dto::Error {
    let error = s3_error_of(refused);
    s3s::dto::Error {
        key: Some(key),
        code: Some(error.code().as_str().to_owned()),
        message: error.message().map(str::to_owned),
        ..s3s::dto::Error::default()
    }
}

/// A count of bytes as `s3s` writes it.
pub(super) fn signed(bytes: u64) -> S3Result<i64> {
    i64::try_from(bytes).map_err(|error| s3_error!(error, InternalError))
}
