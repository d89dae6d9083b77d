//! Checksums of content: those that S3 uses, and MD5. If an object was uploaded in one request, its ETag is the MD5 of
//! its content.

use crate::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use crc_fast::CrcAlgorithm;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// Size of the longest checksum.
const MAX_BYTES: usize = 32;

/// A checksum algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// MD5 (RFC 1321).
    Md5,
    /// SHA-1 (FIPS 180-4).
    Sha1,
    /// SHA-256 (FIPS 180-4).
    Sha256,
    /// CRC-32 as in zip and Ethernet (CRC-32/ISO-HDLC), big-endian.
    Crc32,
    /// CRC-32C as in iSCSI (Castagnoli), big-endian.
    Crc32c,
    /// CRC-64/NVME, big-endian.
    Crc64Nvme,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 6] = [Self::Md5, Self::Sha1, Self::Sha256, Self::Crc32, Self::Crc32c, Self::Crc64Nvme];

    /// Returns the name, for example `sha256`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Crc32 => "crc32",
            Self::Crc32c => "crc32c",
            Self::Crc64Nvme => "crc64nvme",
        }
    }

    /// Returns the algorithm with this name, ignoring case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
    }

    /// Returns the S3 header that contains the checksum in base64. `None` for MD5, which uses `Content-MD5`.
    pub fn header(self) -> Option<&'static str> {
        match self {
            Self::Md5 => None,
            Self::Sha1 => Some("x-amz-checksum-sha1"),
            Self::Sha256 => Some("x-amz-checksum-sha256"),
            Self::Crc32 => Some("x-amz-checksum-crc32"),
            Self::Crc32c => Some("x-amz-checksum-crc32c"),
            Self::Crc64Nvme => Some("x-amz-checksum-crc64nvme"),
        }
    }

    /// Returns the algorithm that belongs to an S3 checksum field or to `Content-MD5`.
    pub fn of_field(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(b"content-md5") {
            return Some(Self::Md5);
        }
        let has = |algorithm: &Self| algorithm.header().is_some_and(|own| name.eq_ignore_ascii_case(own.as_bytes()));
        Self::ALL.into_iter().find(has)
    }

    /// Returns the size of the checksum in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::Crc32 | Self::Crc32c => 4,
            Self::Crc64Nvme => 8,
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Returns the length of the base64 form.
    pub fn base64_bytes(self) -> u64 {
        self.bytes().div_ceil(3) as u64 * 4
    }

    /// Computes the checksum of `data`.
    pub fn of(self, data: &[u8]) -> Checksum {
        let mut hasher = Hasher::new(self);
        hasher.update(data);
        hasher.finish()
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses the checksum of a body from a header or trailer field: `Content-MD5` (RFC 1864), `x-amz-checksum-*`, `Digest`
/// (RFC 3230), `Repr-Digest` or `Content-Digest` (RFC 9530). `None` for other fields, and for values that do not cover
/// the whole body, such as S3's checksum of the checksums of parts.
pub fn of_field(name: &[u8], value: &[u8]) -> Option<Checksum> {
    let text = || std::str::from_utf8(value).ok().map(str::trim);
    if let Some(algorithm) = Algorithm::of_field(name) {
        return Checksum::from_base64(algorithm, text()?);
    }
    if !["digest", "repr-digest", "content-digest"].iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes())) {
        return None;
    }
    text()?.split(',').find_map(|part| {
        let (name, value) = part.trim().split_once('=')?;
        let algorithm = match name.to_ascii_lowercase().as_str() {
            "sha" => Algorithm::Sha1,
            "sha-256" => Algorithm::Sha256,
            name => Algorithm::from_name(name)?,
        };
        Checksum::from_base64(algorithm, value.trim_matches(':'))
    })
}

/// The incremental computation of a checksum.
#[derive(Clone)]
pub struct Hasher(HasherState);

#[derive(Clone)]
enum HasherState {
    Md5(Md5),
    Sha1(Sha1),
    Sha256(Sha256),
    Crc(Algorithm, crc_fast::Digest),
}

impl Hasher {
    /// Creates a hasher without input.
    pub fn new(algorithm: Algorithm) -> Self {
        let crc = |kind| HasherState::Crc(algorithm, crc_fast::Digest::new(kind));
        Self(match algorithm {
            Algorithm::Md5 => HasherState::Md5(Md5::new()),
            Algorithm::Sha1 => HasherState::Sha1(Sha1::new()),
            Algorithm::Sha256 => HasherState::Sha256(Sha256::new()),
            Algorithm::Crc32 => crc(CrcAlgorithm::Crc32IsoHdlc),
            Algorithm::Crc32c => crc(CrcAlgorithm::Crc32Iscsi),
            Algorithm::Crc64Nvme => crc(CrcAlgorithm::Crc64Nvme),
        })
    }

    /// Adds the next piece of input.
    pub fn update(&mut self, piece: &[u8]) {
        match &mut self.0 {
            HasherState::Md5(hash) => hash.update(piece),
            HasherState::Sha1(hash) => hash.update(piece),
            HasherState::Sha256(hash) => hash.update(piece),
            HasherState::Crc(_, hash) => hash.update(piece),
        }
    }

    /// Returns the checksum of all pieces.
    pub fn finish(self) -> Checksum {
        match self.0 {
            HasherState::Md5(hash) => Checksum::new(Algorithm::Md5, &hash.finalize()),
            HasherState::Sha1(hash) => Checksum::new(Algorithm::Sha1, &hash.finalize()),
            HasherState::Sha256(hash) => Checksum::new(Algorithm::Sha256, &hash.finalize()),
            HasherState::Crc(algorithm, hash) => {
                let bytes = hash.finalize().to_be_bytes();
                Checksum::new(algorithm, &bytes[bytes.len() - algorithm.bytes()..])
            }
        }
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher").finish_non_exhaustive()
    }
}

/// A checksum. Displayed as `sha256:` and hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checksum {
    algorithm: Algorithm,
    /// The checksum is in the first [`Algorithm::bytes`] bytes. The rest is 0.
    bytes: [u8; MAX_BYTES],
}

/// The reason why a checksum from the user is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChecksumError {
    /// There is no colon.
    #[error("the checksum has no algorithm: write sha256:HEX, md5:HEX or crc32c:BASE64")]
    NoAlgorithm,
    /// The algorithm before the colon is unknown.
    #[error("unknown checksum algorithm: write md5, sha1, sha256, crc32, crc32c or crc64nvme before the colon")]
    UnknownAlgorithm,
    /// The text after the colon is neither hexadecimal nor base64 of the right length.
    #[error("the {0} checksum is not valid: write {hex} hexadecimal digits or {base64} characters of base64",
        hex = .0.bytes() * 2, base64 = .0.base64_bytes())]
    BadValue(Algorithm),
}

impl Checksum {
    /// Creates a checksum from [`Algorithm::bytes`] bytes.
    fn new(algorithm: Algorithm, bytes: &[u8]) -> Self {
        debug_assert_eq!(bytes.len(), algorithm.bytes());
        let mut padded = [0; MAX_BYTES];
        padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Self { algorithm, bytes: padded }
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the bytes of the checksum.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.algorithm.bytes()]
    }

    /// Returns the base64 form, as in `x-amz-checksum-*` and `Content-MD5`.
    pub fn base64(&self) -> String {
        BASE64.encode(self.as_bytes())
    }

    /// Returns the lower-case hexadecimal form, as in an ETag.
    pub fn hex(&self) -> String {
        hex::text(self.as_bytes())
    }

    /// Parses the base64 form, as in `x-amz-checksum-*` and `Content-MD5`.
    pub fn from_base64(algorithm: Algorithm, text: &str) -> Option<Self> {
        let mut decoded = [0; MAX_BYTES + 1];
        if text.len() as u64 != algorithm.base64_bytes() {
            return None;
        }
        let count = BASE64.decode_slice(text, &mut decoded).ok()?;
        (count == algorithm.bytes()).then(|| Self::new(algorithm, &decoded[..count]))
    }

    /// Parses hexadecimal digits in upper or lower case.
    pub fn from_hex(algorithm: Algorithm, text: &str) -> Option<Self> {
        let mut bytes = [0; MAX_BYTES];
        hex::parse(text.as_bytes(), &mut bytes[..algorithm.bytes()]).then_some(Self { algorithm, bytes })
    }
}

impl FromStr for Checksum {
    type Err = ChecksumError;

    /// Parses `sha256:HEX` or `crc32c:BASE64`. Both forms are accepted for every algorithm. The two forms of a checksum
    /// cannot be confused, because they have different lengths, or because the base64 form ends in `=`.
    fn from_str(text: &str) -> Result<Self, ChecksumError> {
        let (name, value) = text.split_once(':').ok_or(ChecksumError::NoAlgorithm)?;
        let algorithm = Algorithm::from_name(name.trim()).ok_or(ChecksumError::UnknownAlgorithm)?;
        let value = value.trim();
        Self::from_hex(algorithm, value)
            .or_else(|| Self::from_base64(algorithm, value))
            .ok_or(ChecksumError::BadValue(algorithm))
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm, self.hex())
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checksum({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn checksums_equal_the_published_ones() {
        // Checksums of "123456789". The CRCs are check values from the catalogue of parametrised CRC algorithms (reveng),
        // and the others are the output of md5sum, sha1sum and sha256sum.
        let expected = [
            "md5:25f9e794323b453885f5181f1b624d0b",
            "sha1:f7c3bc1d808e04732adf679965ccc34ca7ae3441",
            "sha256:15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225",
            "crc32:cbf43926",
            "crc32c:e3069283",
            "crc64nvme:ae8b14860a799888",
        ];
        for (algorithm, expected) in Algorithm::ALL.into_iter().zip(expected) {
            assert_eq!(algorithm.of(b"123456789").to_string(), expected);
            assert_eq!(expected.parse(), Ok(algorithm.of(b"123456789")));
        }
    }

    #[test]
    fn the_base64_form_equals_the_published_trailer() {
        // The content is 65 KiB of "a", as in Amazon's example of a chunked upload with a trailer.
        assert_eq!(Algorithm::Crc32c.of(&[b'a'; 65 * 1024]).base64(), "sOO8/Q==");
        assert_eq!("crc32c:sOO8/Q==".parse(), Ok(Algorithm::Crc32c.of(&[b'a'; 65 * 1024])));
    }

    #[test]
    fn fields_with_checksums_of_whole_bodies_are_parsed() {
        let parsed = |name: &str, value: &str| of_field(name.as_bytes(), value.as_bytes());
        let md5 = Some(Algorithm::Md5.of(b"123456789"));
        assert_eq!(parsed("Content-MD5", "JfnnlDI7RTiF9RgfG2JNCw=="), md5);
        assert_eq!(parsed("Digest", "unixsum=1, md5=JfnnlDI7RTiF9RgfG2JNCw=="), md5);
        let sha256 = Algorithm::Sha256.of(b"123456789");
        assert_eq!(parsed("repr-digest", &format!("sha-256=:{}:", sha256.base64())), Some(sha256));
        assert_eq!(parsed("X-Amz-Checksum-Sha256", &sha256.base64()), Some(sha256));
        assert_eq!(parsed("x-amz-checksum-sha256", &format!("{}-3", sha256.base64())), None);
        assert_eq!((parsed("etag", "x"), parsed("digest", "x"), parsed("content-md5", "")), (None, None, None));
    }

    #[test]
    fn mistakes_are_told_apart() {
        let error = |text: &str| text.parse::<Checksum>().unwrap_err();
        assert_eq!(error("abc"), ChecksumError::NoAlgorithm);
        assert_eq!(error("sha512:00"), ChecksumError::UnknownAlgorithm);
        for bad in ["", "00", "sOO8/Q=", "sOO8/Q", "sOO8/Q==x", "g0000000", "sOO8/R==", "\u{e9}\u{e9}\u{e9}\u{e9}"] {
            assert_eq!(error(&format!("crc32c:{bad}")), ChecksumError::BadValue(Algorithm::Crc32c), "{bad}");
        }
        let message = ChecksumError::BadValue(Algorithm::Sha256).to_string();
        assert!(message.contains("64 hexadecimal") && message.contains("44 characters"), "{message}");
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference_and_forms_round_trip(pieces in vec(vec(any::<u8>(), 0..300), 0..6)) {
            for algorithm in Algorithm::ALL {
                let mut hasher = Hasher::new(algorithm);
                pieces.iter().for_each(|piece| hasher.update(piece));
                let checksum = hasher.finish();
                prop_assert_eq!(checksum, algorithm.of(&pieces.concat()));
                prop_assert_eq!(checksum.base64().len() as u64, algorithm.base64_bytes());
                prop_assert_eq!(Checksum::from_base64(algorithm, &checksum.base64()), Some(checksum));
                prop_assert_eq!(Checksum::from_hex(algorithm, &checksum.hex().to_uppercase()), Some(checksum));
                prop_assert_eq!(format!("{algorithm}:{}", checksum.base64()).parse(), Ok(checksum));
            }
        }
    }
}
