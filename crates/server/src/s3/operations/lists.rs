//! Lists of objects, versions 1 and 2.

use std::borrow::Cow;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use s3s::dto::{
    CommonPrefix, ETag, EncodingType, ListObjectsInput, ListObjectsOutput, ListObjectsV2Input, ListObjectsV2Output,
    Object as Listed, ObjectStorageClass,
};
use s3s::{S3Result, s3_error};

use super::objects::signed;
use crate::s3::errors::s3_error_of;
use crate::s3::listing::{Entry, ListRequest, PAGE_MAX, Page};
use crate::s3::store::Store;
use crate::s3::store::objects::Object;

/// The characters that are percent-encoded in a name: all but letters, digits, `-`, `.`, `_`, `~`, `/` and `*`.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/').remove(b'*');

/// The encoding of names in a list. Clients request percent-encoding because names may contain characters that XML
/// cannot represent.
#[derive(Clone, Copy)]
pub(super) struct NameEncoding {
    encoded: bool,
}

impl NameEncoding {
    pub(super) fn of_request(encoding: Option<&EncodingType>) -> Self {
        Self { encoded: encoding.is_some_and(|encoding| encoding.as_str() == EncodingType::URL) }
    }

    pub(super) fn apply(self, name: &str) -> String {
        if self.encoded { encode(name) } else { name.to_owned() }
    }
}

fn encode(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

/// Returns the requested maximum number of entries.
pub(super) fn page_size(requested: Option<i32>) -> S3Result<usize> {
    let size = requested.map_or(Ok(PAGE_MAX), usize::try_from);
    size.map_err(|error| s3_error!(error, InvalidArgument, "the number of entries is negative"))
}

pub(super) fn list_v1(store: &Store, input: ListObjectsInput) -> S3Result<ListObjectsOutput> {
    let encoding = NameEncoding::of_request(input.encoding_type.as_ref());
    let request = ListRequest {
        prefix: input.prefix.as_deref().unwrap_or_default(),
        delimiter: input.delimiter.as_deref().unwrap_or_default(),
        after: input.marker.as_deref().unwrap_or_default(),
        most: page_size(input.max_keys)?,
    };
    let page = store.list(&input.bucket, request).map_err(s3_error_of)?;
    let next = page.next().map(|next| encoding.apply(next));
    let truncated = page.truncated;
    let (contents, prefixes) = list_entries(page, encoding)?;
    Ok(ListObjectsOutput {
        name: Some(input.bucket),
        prefix: Some(encoding.apply(request.prefix)),
        marker: Some(encoding.apply(request.after)),
        max_keys: Some(input.max_keys.unwrap_or(PAGE_MAX as i32)),
        is_truncated: Some(truncated),
        next_marker: next,
        contents: Some(contents),
        common_prefixes: Some(prefixes),
        delimiter: input.delimiter.as_deref().map(|delimiter| encoding.apply(delimiter)),
        encoding_type: input.encoding_type,
        ..ListObjectsOutput::default()
    })
}

pub(super) fn list_v2(store: &Store, input: &ListObjectsV2Input) -> S3Result<ListObjectsV2Output> {
    let encoding = NameEncoding::of_request(input.encoding_type.as_ref());
    let token = input.continuation_token.as_deref().map(|token| percent_decode_str(token).decode_utf8());
    let token = token
        .transpose()
        .map_err(|error| s3_error!(error, InvalidArgument, "the continuation token is not from this server"))?;
    let after = token.or_else(|| input.start_after.as_deref().map(Cow::Borrowed)).unwrap_or_default();
    let request = ListRequest {
        prefix: input.prefix.as_deref().unwrap_or_default(),
        delimiter: input.delimiter.as_deref().unwrap_or_default(),
        after: &after,
        most: page_size(input.max_keys)?,
    };
    let page = store.list(&input.bucket, request).map_err(s3_error_of)?;
    let (truncated, next) = (page.truncated, page.next().map(encode));
    let count = page.entries.len();
    let (contents, prefixes) = list_entries(page, encoding)?;
    Ok(ListObjectsV2Output {
        name: Some(input.bucket.clone()),
        prefix: Some(encoding.apply(request.prefix)),
        max_keys: Some(input.max_keys.unwrap_or(PAGE_MAX as i32)),
        key_count: i32::try_from(count).ok(),
        is_truncated: Some(truncated),
        next_continuation_token: next,
        contents: Some(contents),
        common_prefixes: Some(prefixes),
        delimiter: input.delimiter.as_deref().map(|delimiter| encoding.apply(delimiter)),
        start_after: input.start_after.as_deref().map(|after| encoding.apply(after)),
        continuation_token: input.continuation_token.clone(),
        encoding_type: input.encoding_type.clone(),
        ..ListObjectsV2Output::default()
    })
}

fn list_entries(page: Page<Arc<Object>>, encoding: NameEncoding) -> S3Result<(Vec<Listed>, Vec<CommonPrefix>)> {
    let (mut contents, mut prefixes) = (Vec::new(), Vec::new());
    for entry in page.entries {
        match entry {
            Entry::Prefix(prefix) => prefixes.push(CommonPrefix { prefix: Some(encoding.apply(&prefix)) }),
            Entry::Key(key, object) => contents.push(Listed {
                key: Some(encoding.apply(&key)),
                size: Some(signed(object.content.bytes())?),
                e_tag: Some(ETag::Strong(object.info.etag.clone())),
                last_modified: Some(object.info.modified.into()),
                storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
                ..Listed::default()
            }),
        }
    }
    Ok((contents, prefixes))
}
