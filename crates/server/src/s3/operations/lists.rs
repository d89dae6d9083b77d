//! Lists of objects, old form and new.

use std::borrow::Cow;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use s3s::dto::{
    CommonPrefix, ETag, EncodingType, ListObjectsInput, ListObjectsOutput, ListObjectsV2Input, ListObjectsV2Output,
    Object as Told, ObjectStorageClass,
};
use s3s::{S3Result, s3_error};

use super::objects::signed;
use super::s3_error_of;
use crate::s3::listing::{Ask, Entry, PAGE_MAX, Page};
use crate::s3::store::{Object, Store};

/// What stays as it is in a name that is told percent-encoded.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/').remove(b'*');

/// How names are told. Names can hold characters that XML cannot; clients ask for percent-encoding because of them.
#[derive(Clone, Copy)]
pub(super) struct Names {
    encoded: bool,
}

impl Names {
    pub(super) fn as_asked(encoding: Option<&EncodingType>) -> Self {
        Self { encoded: encoding.is_some_and(|encoding| encoding.as_str() == EncodingType::URL) }
    }

    pub(super) fn tell(self, name: &str) -> String {
        if self.encoded { encode(name) } else { name.to_owned() }
    }
}

fn encode(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

/// How many entries are asked for.
pub(super) fn most(asked: Option<i32>) -> S3Result<usize> {
    let asked = asked.map_or(Ok(PAGE_MAX), usize::try_from);
    asked.map_err(|error| s3_error!(error, InvalidArgument, "the number of entries is negative"))
}

pub(super) fn list_v1(store: &Store, input: ListObjectsInput) -> S3Result<ListObjectsOutput> {
    let names = Names::as_asked(input.encoding_type.as_ref());
    let ask = Ask {
        prefix: input.prefix.as_deref().unwrap_or_default(),
        delimiter: input.delimiter.as_deref().unwrap_or_default(),
        after: input.marker.as_deref().unwrap_or_default(),
        most: most(input.max_keys)?,
    };
    let page = store.list(&input.bucket, ask).map_err(s3_error_of)?;
    let next = page.next().map(|next| names.tell(next));
    let truncated = page.truncated;
    let (contents, prefixes) = tell(page, names)?;
    Ok(ListObjectsOutput {
        name: Some(input.bucket),
        prefix: Some(names.tell(ask.prefix)),
        marker: Some(names.tell(ask.after)),
        max_keys: Some(input.max_keys.unwrap_or(PAGE_MAX as i32)),
        is_truncated: Some(truncated),
        next_marker: next,
        contents: Some(contents),
        common_prefixes: Some(prefixes),
        delimiter: input.delimiter.as_deref().map(|delimiter| names.tell(delimiter)),
        encoding_type: input.encoding_type,
        ..ListObjectsOutput::default()
    })
}

pub(super) fn list_v2(store: &Store, input: &ListObjectsV2Input) -> S3Result<ListObjectsV2Output> {
    let names = Names::as_asked(input.encoding_type.as_ref());
    let token = input.continuation_token.as_deref().map(|token| percent_decode_str(token).decode_utf8());
    let token =
        token.transpose().map_err(|error| s3_error!(error, InvalidArgument, "the continuation token is not ours"))?;
    let after = token.or_else(|| input.start_after.as_deref().map(Cow::Borrowed)).unwrap_or_default();
    let ask = Ask {
        prefix: input.prefix.as_deref().unwrap_or_default(),
        delimiter: input.delimiter.as_deref().unwrap_or_default(),
        after: &after,
        most: most(input.max_keys)?,
    };
    let page = store.list(&input.bucket, ask).map_err(s3_error_of)?;
    let (truncated, next) = (page.truncated, page.next().map(encode));
    let count = page.entries.len();
    let (contents, prefixes) = tell(page, names)?;
    Ok(ListObjectsV2Output {
        name: Some(input.bucket.clone()),
        prefix: Some(names.tell(ask.prefix)),
        max_keys: Some(input.max_keys.unwrap_or(PAGE_MAX as i32)),
        key_count: i32::try_from(count).ok(),
        is_truncated: Some(truncated),
        next_continuation_token: next,
        contents: Some(contents),
        common_prefixes: Some(prefixes),
        delimiter: input.delimiter.as_deref().map(|delimiter| names.tell(delimiter)),
        start_after: input.start_after.as_deref().map(|after| names.tell(after)),
        continuation_token: input.continuation_token.clone(),
        encoding_type: input.encoding_type.clone(),
        ..ListObjectsV2Output::default()
    })
}

fn tell(page: Page<Arc<Object>>, names: Names) -> S3Result<(Vec<Told>, Vec<CommonPrefix>)> {
    let (mut contents, mut prefixes) = (Vec::new(), Vec::new());
    for entry in page.entries {
        match entry {
            Entry::Prefix(prefix) => prefixes.push(CommonPrefix { prefix: Some(names.tell(&prefix)) }),
            Entry::Key(key, object) => contents.push(Told {
                key: Some(names.tell(&key)),
                size: Some(signed(object.content.bytes())?),
                e_tag: Some(ETag::Strong(object.facts.etag.clone())),
                last_modified: Some(object.facts.modified.into()),
                storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
                ..Told::default()
            }),
        }
    }
    Ok((contents, prefixes))
}
