//! Receives content: writes it to the store and compares it with all digests from the client.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Body;
use hyper::header::HeaderMap;
use s3s::checksum::ChecksumHasher;
use s3s::crypto::{Checksum, Md5};
use s3s::dto::StreamingBlob;
use s3s::{S3Error, S3Result, StdError, TrailingHeaders, s3_error};

use super::content::Content;
use super::errors::{s3_error_of, s3_error_of_write};
use super::store::Store;
use super::store::objects::{Headers, ObjectInfo};

/// The names of the checksum algorithms in header fields.
const ALGORITHMS: [&str; 5] = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256"];

/// Content that was received completely.
pub(super) struct Received {
    pub(super) content: Content,
    pub(super) md5: [u8; 16],
    /// Checksums in base64, by algorithm.
    pub(super) checksums: BTreeMap<String, String>,
}

impl Received {
    /// Returns the object to store. The modification time of the object is the current time.
    pub(super) fn into_stored(self, headers: Headers, metadata: BTreeMap<String, String>) -> (ObjectInfo, Content) {
        let (etag, modified) = (hex(&self.md5), SystemTime::now());
        (ObjectInfo { etag, modified, headers, metadata, checksums: self.checksums }, self.content)
    }
}

/// Receives a body into the store.
///
/// # Errors
/// Fails if the body breaks off, if a digest or a signature is wrong, or if the store cannot write the content.
pub(super) async fn receive(
    store: &Store,
    body: Option<StreamingBlob>,
    headers: &HeaderMap,
    trailers: Option<TrailingHeaders>,
) -> S3Result<Received> {
    let mut writer = store.writer().map_err(s3_error_of)?;
    let mut digests = Digests::of_request(headers);
    if let Some(body) = body {
        let mut body = pin!(s3s::Body::from(body));
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let frame = frame.map_err(not_whole)?;
            let Some(bytes) = frame.data_ref() else { continue };
            writer.write(bytes).map_err(|error| s3_error_of_write(store, error))?;
            digests.update(bytes);
        }
    }
    let trailers = trailers.and_then(|trailers| trailers.take());
    let (md5, checksums) = digests.compare(headers, trailers.as_ref())?;
    Ok(Received { content: writer.finish(), md5, checksums })
}

fn not_whole(error: StdError) -> S3Error {
    let mut incomplete = s3_error!(IncompleteBody, "the body broke off, or its signature does not match");
    incomplete.set_source(error);
    incomplete
}

/// Digests that are computed while content is received.
struct Digests {
    md5: Md5,
    others: ChecksumHasher,
}

impl Digests {
    /// Creates the digests to compute: MD5, and the checksums in the header fields of the request.
    fn of_request(headers: &HeaderMap) -> Self {
        let names = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let trailers = names("x-amz-trailer").to_ascii_lowercase();
        let algorithm = names("x-amz-sdk-checksum-algorithm").to_ascii_lowercase();
        let wanted = |name: &str| {
            let header = checksum_header(name);
            headers.contains_key(&header) || algorithm == name || trailers.split(',').any(|one| one.trim() == header)
        };
        let others = ChecksumHasher {
            crc32: wanted("crc32").then(Default::default),
            crc32c: wanted("crc32c").then(Default::default),
            crc64nvme: wanted("crc64nvme").then(Default::default),
            sha1: wanted("sha1").then(Default::default),
            sha256: wanted("sha256").then(Default::default),
        };
        Self { md5: Md5::new(), others }
    }

    fn update(&mut self, bytes: &[u8]) {
        self.md5.update(bytes);
        self.others.update(bytes);
    }

    /// Compares the computed digests with those that the client sent before or after the body.
    fn compare(
        self,
        headers: &HeaderMap,
        trailers: Option<&HeaderMap>,
    ) -> S3Result<([u8; 16], BTreeMap<String, String>)> {
        let md5 = self.md5.finalize();
        if headers.get("content-md5").is_some_and(|sent| sent.as_bytes() != STANDARD.encode(md5).as_bytes()) {
            return Err(s3_error!(BadDigest, "Content-MD5 does not match the received content"));
        }
        let computed = self.others.finalize();
        let computed = [
            computed.checksum_crc32,
            computed.checksum_crc32c,
            computed.checksum_crc64nvme,
            computed.checksum_sha1,
            computed.checksum_sha256,
        ];
        let mut checksums = BTreeMap::new();
        for (name, computed) in ALGORITHMS.into_iter().zip(computed) {
            let header = checksum_header(name);
            let mut sent = [Some(headers), trailers].into_iter().flatten().filter_map(|headers| headers.get(&header));
            let Some(computed) = computed else { continue };
            if sent.any(|sent| sent.as_bytes() != computed.as_bytes()) {
                return Err(s3_error!(BadDigest, "{header} does not match the received content"));
            }
            checksums.insert(name.to_owned(), computed);
        }
        Ok((md5, checksums))
    }
}

fn checksum_header(name: &str) -> String {
    format!("x-amz-checksum-{name}")
}

/// Formats bytes as in S3's ETags.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(
        headers: &[(&'static str, &str)],
        trailers: &[(&'static str, &str)],
    ) -> S3Result<BTreeMap<String, String>> {
        let map = |pairs: &[(&'static str, &str)]| -> HeaderMap {
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
        };
        let (headers, trailers) = (map(headers), map(trailers));
        let mut digests = Digests::of_request(&headers);
        digests.update(b"1234");
        digests.update(b"56789");
        digests.compare(&headers, Some(&trailers)).map(|(_, checksums)| checksums)
    }

    #[test]
    fn checksums_from_the_client_must_match() {
        // The check values for "123456789" from the CRC catalogue, in base64.
        let (crc32, crc32c) = ("y/Q5Jg==", "4waSgw==");
        assert_eq!(digests(&[("x-amz-checksum-crc32", crc32)], &[]).unwrap()["crc32"], crc32);
        assert_eq!(
            digests(&[("x-amz-trailer", "x-amz-checksum-crc32c")], &[("x-amz-checksum-crc32c", crc32c)]).unwrap()["crc32c"],
            crc32c
        );
        assert_eq!(digests(&[("x-amz-sdk-checksum-algorithm", "CRC32C")], &[]).unwrap()["crc32c"], crc32c);
        assert!(digests(&[("x-amz-checksum-crc32", crc32c)], &[]).is_err());
        assert!(digests(&[("x-amz-trailer", "x-amz-checksum-crc32")], &[("x-amz-checksum-crc32", crc32c)]).is_err());
        // From `printf 123456789 | openssl md5 -binary | base64`.
        assert!(digests(&[("content-md5", "JfnnlDI7RTiF9RgfG2JNCw==")], &[]).is_ok());
        assert!(digests(&[("content-md5", "AAAAAAAAAAAAAAAAAAAAAA==")], &[]).is_err());
        assert!(digests(&[], &[]).unwrap().is_empty());
    }
}
