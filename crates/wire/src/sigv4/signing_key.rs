//! Signing keys and signatures: HMAC-SHA256 with a key derived from day, region and service.

use super::access_keys::Secret;
use super::timestamp::Timestamp;
use crate::hex;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use zeroize::Zeroizing;

type HmacSha256 = Hmac<Sha256>;

/// A signature. `Debug` does not show the signature, because anyone who knows it can send the signed request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; 32]);

impl Signature {
    /// Parses 64 hexadecimal digits.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::parse(text, &mut bytes).then_some(Self(bytes))
    }

    /// Returns the signature as 64 lower-case hexadecimal digits.
    pub fn hex(&self) -> String {
        hex::text(&self.0)
    }

    /// Appends the text that [`Self::hex`] returns.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        hex::push(&self.0, out);
    }

    /// Writes the text that [`Self::hex`] returns to `out`.
    pub(super) fn write_to(&self, out: &mut [u8]) {
        hex::write(&self.0, out);
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature(hidden)")
    }
}

/// The key for one day, region and service. This struct stores the hash states after the inner and the outer key of
/// HMAC. In addition to the SHA-256 blocks of the text, a signature therefore needs only two more blocks.
pub(super) struct SigningKey {
    mac: HmacSha256,
    /// Day, region and service, for example `20130524/us-east-1/s3/aws4_request`.
    scope: Box<[u8]>,
}

/// The last element of every scope. This element is also the last input of the key derivation.
pub(super) const TERMINATOR: &str = "aws4_request";

impl SigningKey {
    /// Derives the key for the day of `time`.
    pub(super) fn derive(secret: &Secret, time: Timestamp, region: &str, service: &str) -> Self {
        let text = time.text();
        let first = Zeroizing::new([b"AWS4", secret.reveal().as_bytes()].concat());
        let day = digest(&first, text.day());
        let region_key = digest(&*day, region.as_bytes());
        let service_key = digest(&*region_key, service.as_bytes());
        let last = digest(&*service_key, TERMINATOR.as_bytes());
        let parts = [text.day(), region.as_bytes(), service.as_bytes(), TERMINATOR.as_bytes()];
        Self { mac: keyed(&*last), scope: parts.join(&b'/').into() }
    }

    /// Returns day, region and service in the form that signatures contain.
    pub(super) fn scope(&self) -> &[u8] {
        &self.scope
    }

    /// Signs a text.
    pub(super) fn sign(&self, text: &[u8]) -> Signature {
        Signature(self.mac.clone().chain_update(text).finalize().into_bytes().into())
    }

    /// Returns whether this is the signature of the text. The comparison takes constant time.
    pub(super) fn verifies(&self, text: &[u8], signature: &Signature) -> bool {
        self.mac.clone().chain_update(text).verify_slice(&signature.0).is_ok()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(hidden)")
    }
}

fn digest(key: &[u8], text: &[u8]) -> Zeroizing<[u8; 32]> {
    Zeroizing::new(keyed(key).chain_update(text).finalize().into_bytes().into())
}

fn keyed(key: &[u8]) -> HmacSha256 {
    HmacSha256::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC accepts keys of any length"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example is from Amazon's general reference ("Examples of how to derive a signing key").
    #[test]
    fn the_derived_key_equals_the_published_one() {
        let time = Timestamp::parse("20120215T000000Z").unwrap();
        let key =
            SigningKey::derive(&Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), time, "us-east-1", "iam");
        let mut expected = [0; 32];
        assert!(hex::parse(b"f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d", &mut expected));
        assert_eq!(key.sign(b"text"), Signature(*digest(&expected, b"text")));
        assert_eq!(key.scope(), b"20120215/us-east-1/iam/aws4_request");
        assert!(key.verifies(b"text", &key.sign(b"text")) && !key.verifies(b"other", &key.sign(b"text")));
    }

    #[test]
    fn signatures_have_64_digits_and_are_not_shown() {
        let digits = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
        let signature = Signature::parse(digits.as_bytes()).unwrap();
        assert_eq!(signature.hex(), digits);
        assert!(!format!("{signature:?}").contains("f0e8"));
        assert_eq!(Signature::parse(&digits.as_bytes()[1..]), None);
    }
}
