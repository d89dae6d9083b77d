//! Alluxio's S3 API as far as reading needs it: path style, no signature looked at, objects of the size that their names
//! begin with. Redirects and their quirks are those of the cluster ([`crate::Elsewhere`]).

use measure::units::ByteSize;
use percent_encoding::percent_decode_str;
use wire::{Method, RequestHead};

use super::fields::parameter;
use crate::answer::{self, Answer, Content, Facts, Media};
use crate::cluster::object_name;
use crate::target::{Target, size_of_name};

/// The most keys that one listing has, as in S3.
const KEYS_MAX: u64 = 1000;

/// What an [`Alluxio`] worker serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alluxio {
    /// Objects that a listing of any bucket has; those of every other name are there as well.
    pub listed: u64,
    /// The size of each.
    pub object_size: ByteSize,
}

/// The key in a path-style target.
pub(crate) fn key(target: Target<'_>) -> Option<&str> {
    let (_, key) = target.path.strip_prefix('/')?.split_once('/')?;
    (!key.is_empty()).then_some(key)
}

/// The answer when the queue of requests is full.
pub(crate) fn overloaded() -> Answer {
    failure(503, "SlowDown", "Please reduce your request rate.")
}

impl Alluxio {
    pub(crate) fn answer(&self, head: &RequestHead, target: Target<'_>, facts: &Facts<'_>) -> Answer {
        match (&head.method, key(target)) {
            (Method::Get | Method::Head, Some(key)) => object(key, head, facts),
            (Method::Get | Method::Head, None) if target.path == "/" => {
                failure(404, "NoSuchBucket", "Name a bucket: any name is one.")
            }
            (Method::Get | Method::Head, None) => self.list(target),
            (Method::Put, Some(_)) => Answer::text(200, &b""[..]),
            (Method::Delete, Some(_)) => Answer::of(204, Content::Empty, Some(0)),
            _ => failure(405, "MethodNotAllowed", "Objects can be read, written and deleted, buckets be listed."),
        }
    }

    /// `ListObjectsV2`, in pages; the continuation token is the number of the next object.
    fn list(&self, target: Target<'_>) -> Answer {
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

fn object(key: &str, head: &RequestHead, facts: &Facts<'_>) -> Answer {
    let name = key.rsplit('/').next().unwrap_or(key);
    let name = percent_decode_str(name).decode_utf8_lossy();
    match size_of_name(&name) {
        Ok(bytes) => answer::ranged(Answer::of(200, Content::Pattern, Some(bytes)), head, facts),
        Err(_) => {
            failure(404, "NoSuchKey", "The specified key does not exist: names begin with a size, as 1MiB-000123.")
        }
    }
}

fn failure(status: u16, code: &str, message: &str) -> Answer {
    xml(status, &format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>"))
}

fn xml(status: u16, text: &str) -> Answer {
    let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}");
    Answer { media: Media::Named("application/xml".into()), ..Answer::text(status, text.into_bytes()) }
}

/// Text that cannot be taken for markup.
fn escaped(text: &str) -> String {
    let clean = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    clean.replace(|c: char| c.is_control(), "\u{fffd}")
}
