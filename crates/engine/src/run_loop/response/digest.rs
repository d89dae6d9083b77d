//! Checksums of bodies.

use super::header_values::HeaderValues;
use crate::plan::ExpectedChecksum;
use measure::{AttemptClass, AttemptOutcome, Cause, Phase};
use wire::checksum::{self, Algorithm, Checksum};

const NO_HASH: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Integrity, Cause::NoHash, Phase::Head);

/// A body that is being hashed.
#[derive(Debug)]
pub(in crate::run_loop) struct BodyDigest {
    hasher: checksum::Hasher,
    /// Expected checksum; `None` if the response sends it in a trailer.
    expected: Option<Checksum>,
    algorithm: Algorithm,
}

impl BodyDigest {
    /// Begins to hash the body of a response.
    ///
    /// # Errors
    /// Fails if the response has no checksum that can be compared with its body.
    pub fn begin(wanted: &ExpectedChecksum, values: &HeaderValues) -> Result<Self, AttemptOutcome> {
        let expected = match wanted {
            ExpectedChecksum::Given(checksum) => Some(*checksum),
            ExpectedChecksum::Etag => Some(md5_of_etag(&values.etag).ok_or(NO_HASH)?),
            ExpectedChecksum::FromResponse => values.checksum,
        };
        let algorithm = expected.map(|checksum| checksum.algorithm()).or(values.announced).ok_or(NO_HASH)?;
        Ok(Self { hasher: checksum::Hasher::new(algorithm), expected, algorithm })
    }

    /// Hashes the next piece.
    #[inline]
    pub fn update(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
    }

    /// Returns the outcome of a complete body. If the checksums differ, writes both to `message`.
    pub fn finish<'t>(
        self,
        mut trailers: impl Iterator<Item = (&'t [u8], &'t [u8])>,
        message: &mut String,
    ) -> AttemptOutcome {
        let in_trailer = || trailers.find_map(|(name, value)| checksum::of_field(name, value));
        let expected = self.expected.or_else(in_trailer).filter(|found| found.algorithm() == self.algorithm);
        let Some(expected) = expected else { return AttemptOutcome { phase: Phase::Body, ..NO_HASH } };
        let found = self.hasher.finish();
        if found == expected {
            return AttemptOutcome::OK;
        }
        *message = format!("expected {expected}, got {found}");
        AttemptOutcome::failed(AttemptClass::Integrity, Cause::HashDiffers, Phase::Body)
    }
}

/// Returns the MD5 in the ETag of an object that was uploaded in one piece.
fn md5_of_etag(etag: &[u8]) -> Option<Checksum> {
    let text = std::str::from_utf8(etag).ok()?.trim();
    Checksum::from_hex(Algorithm::Md5, text.strip_prefix('"')?.strip_suffix('"')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_compared_with_the_checksum_of_its_response() {
        let judge = |wanted: ExpectedChecksum, fields: &[(&str, &str)], trailers: &[(&str, &str)]| {
            let mut digest = match BodyDigest::begin(&wanted, &HeaderValues::of(fields)) {
                Ok(digest) => digest,
                Err(outcome) => return outcome.cause,
            };
            digest.update(b"123456789");
            let trailers = trailers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
            digest.finish(trailers, &mut String::new()).cause
        };
        let etag = "\"25f9e794323b453885f5181f1b624d0b\"";
        for (wanted, fields, trailers, cause) in [
            (ExpectedChecksum::Etag, &[("ETag", etag)][..], &[][..], Cause::None),
            (ExpectedChecksum::Etag, &[("ETag", "\"25f9e794323b453885f5181f1b624d0c\"")], &[], Cause::HashDiffers),
            (ExpectedChecksum::Etag, &[("ETag", "\"25f9e794323b453885f5181f1b624d0b-2\"")], &[], Cause::NoHash),
            (ExpectedChecksum::Etag, &[], &[], Cause::NoHash),
            (ExpectedChecksum::FromResponse, &[("x-amz-checksum-crc32", "y/Q5Jg==")], &[], Cause::None),
            (ExpectedChecksum::FromResponse, &[("x-amz-checksum-crc32", "y/Q5Jw==")], &[], Cause::HashDiffers),
            (ExpectedChecksum::FromResponse, &[("Content-MD5", "JfnnlDI7RTiF9RgfG2JNCw==")], &[], Cause::None),
            (
                ExpectedChecksum::FromResponse,
                &[("Trailer", "x-amz-checksum-crc32")],
                &[("x-amz-checksum-crc32", "y/Q5Jg==")],
                Cause::None,
            ),
            (ExpectedChecksum::FromResponse, &[("Trailer", "x-amz-checksum-crc32")], &[], Cause::NoHash),
            (ExpectedChecksum::FromResponse, &[("ETag", etag)], &[], Cause::NoHash),
            (ExpectedChecksum::Given(Algorithm::Sha1.of(b"123456789")), &[], &[], Cause::None),
            (ExpectedChecksum::Given(Algorithm::Sha1.of(b"")), &[], &[], Cause::HashDiffers),
        ] {
            assert_eq!(judge(wanted.clone(), fields, trailers), cause, "{wanted:?} {fields:?} {trailers:?}");
        }
    }
}
