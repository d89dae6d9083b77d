//! The part of Alluxio's S3 API that is used for reading: path-style requests, whose signatures are ignored. Object
//! names begin with the size of the object. The cluster sends the redirects, with their quirks ([`crate::Handoff`]).

use percent_encoding::percent_decode_str;
use wire::{Method, RequestHead};

use crate::config::stand_in::Alluxio;
use crate::content::Content;
use crate::request::RequestFacts;
use crate::request::fields::parameter;
use crate::request::target::{Target, object_name, size_of_name};
use crate::response::range::narrow_to_range;
use crate::response::{Media, Response};

/// Maximum number of keys on one page of a listing, as in S3.
const KEYS_MAX: u64 = 1000;

/// Returns the key in a path-style target.
pub(crate) fn key(target: Target<'_>) -> Option<&str> {
    let (_, key) = target.path.strip_prefix('/')?.split_once('/')?;
    (!key.is_empty()).then_some(key)
}

/// Creates the response of a server whose request queue is full.
pub(crate) fn overloaded() -> Response {
    failure(503, "SlowDown", "Please reduce your request rate.")
}

impl Alluxio {
    pub(crate) fn respond(&self, head: &RequestHead, target: Target<'_>, facts: &RequestFacts<'_>) -> Response {
        match (&head.method, key(target)) {
            (Method::Get | Method::Head, Some(key)) => object(key, head, facts),
            (Method::Get | Method::Head, None) if target.path == "/" => {
                failure(404, "NoSuchBucket", "Name a bucket; any name exists.")
            }
            (Method::Get | Method::Head, None) => self.list(target),
            (Method::Put, Some(_)) => Response::text(200, &b""[..]),
            (Method::Delete, Some(_)) => Response::new(204, Content::Empty, Some(0)),
            _ => failure(
                405,
                "MethodNotAllowed",
                "Only reading, writing and deleting objects and listing buckets are supported.",
            ),
        }
    }

    /// Responds to `ListObjectsV2` with one page. The continuation token is the number of the next object.
    fn list(&self, target: Target<'_>) -> Response {
        let bucket = target.path.trim_matches('/');
        let prefix = parameter(target, "prefix").unwrap_or_default();
        let prefix = percent_decode_str(prefix).decode_utf8_lossy();
        let number = |name| parameter(target, name).and_then(|text| text.parse::<u64>().ok());
        let most = number("max-keys").unwrap_or(KEYS_MAX).min(KEYS_MAX);
        let first = number("continuation-token").unwrap_or(0);
        let mut keys = String::new();
        let mut count = 0;
        let mut next = None;
        for index in first..self.listed {
            let name = object_name(self.object_size, index);
            if !name.starts_with(&*prefix) {
                continue;
            }
            if count == most {
                next = Some(index);
                break;
            }
            count += 1;
            let size = self.object_size.0;
            keys += &format!(
                "<Contents><Key>{name}</Key><LastModified>1970-01-01T00:00:00.000Z</LastModified><Size>{size}</Size></Contents>"
            );
        }
        let token = next.map(|next| format!("<NextContinuationToken>{next}</NextContinuationToken>"));
        xml(
            200,
            &format!(
                "<ListBucketResult><Name>{}</Name><Prefix>{}</Prefix><KeyCount>{count}</KeyCount><MaxKeys>{most}</MaxKeys><IsTruncated>{}</IsTruncated>{}{keys}</ListBucketResult>",
                escaped(bucket),
                escaped(&prefix),
                next.is_some(),
                token.unwrap_or_default(),
            ),
        )
    }
}

fn object(key: &str, head: &RequestHead, facts: &RequestFacts<'_>) -> Response {
    let name = key.rsplit('/').next().unwrap_or(key);
    let name = percent_decode_str(name).decode_utf8_lossy();
    match size_of_name(&name) {
        Ok(bytes) => narrow_to_range(Response::new(200, Content::Pattern, Some(bytes)), head, facts),
        Err(_) => failure(
            404,
            "NoSuchKey",
            "The specified key does not exist: names begin with a size, for example 1MiB-000123.",
        ),
    }
}

fn failure(status: u16, code: &str, message: &str) -> Response {
    xml(status, &format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>"))
}

fn xml(status: u16, text: &str) -> Response {
    let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}");
    Response { media: Media::Named("application/xml".into()), ..Response::text(status, text.into_bytes()) }
}

/// Escapes XML markup and control characters.
fn escaped(text: &str) -> String {
    let clean = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    clean.replace(|c: char| c.is_control(), "\u{fffd}")
}
