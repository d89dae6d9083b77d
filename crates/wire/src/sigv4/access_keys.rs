//! Access keys and other secrets, which `Debug` never shows.

use std::fmt;
use zeroize::Zeroizing;

/// Maximum size of an access key.
const MAX_ACCESS_KEY_BYTES: usize = 256;
/// Maximum size of a secret key or a session token. Session tokens have a few kilobytes.
const MAX_SECRET_BYTES: usize = 8 * 1024;

/// A secret text. `Debug` does not show the text, and its memory is overwritten on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// Returns the text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// The reason why keys from the user or a file are not valid. Messages never contain the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// The access key is empty, too long, or contains characters that a signature cannot contain.
    #[error("the access key is not valid: it must have 1 to 256 visible ASCII characters without commas")]
    BadAccessKey,
    /// The secret key is empty, too long, or contains whitespace or control characters.
    #[error("the secret key is not valid: it must contain only visible ASCII characters, no spaces or line breaks")]
    BadSecretKey,
    /// The session token is empty, too long, or contains whitespace or control characters.
    #[error("the session token is not valid: it must contain only visible ASCII characters, no spaces or line breaks")]
    BadSessionToken,
}

/// An access key with its secret key and, if temporary, its session token.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    access_key: Box<str>,
    secret: Secret,
    token: Option<Secret>,
}

impl Keys {
    /// Validates keys, so that they cannot break a header.
    pub fn new(access_key: &str, secret: Secret, token: Option<Secret>) -> Result<Self, KeysError> {
        if !is_visible(access_key, MAX_ACCESS_KEY_BYTES) || access_key.contains(',') {
            return Err(KeysError::BadAccessKey);
        }
        if !is_visible(secret.reveal(), MAX_SECRET_BYTES) {
            return Err(KeysError::BadSecretKey);
        }
        if token.as_ref().is_some_and(|token| !is_visible(token.reveal(), MAX_SECRET_BYTES)) {
            return Err(KeysError::BadSessionToken);
        }
        Ok(Self { access_key: access_key.into(), secret, token })
    }

    /// Returns the access key, which identifies the secret key. Requests contain the access key, but reports must not
    /// show it.
    pub fn access_key(&self) -> &str {
        &self.access_key
    }

    /// Returns the secret key.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Returns the session token.
    pub fn token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(hidden)")
    }
}

fn is_visible(text: &str, max_bytes: usize) -> bool {
    !text.is_empty() && text.len() <= max_bytes && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_all_keys() {
        let keys = Keys::new("CANARY1", Secret::new("CANARY2"), Some(Secret::new("CANARY3"))).unwrap();
        let shown = format!("{keys:?} {:?} {:#?}", keys.secret(), keys.token());
        assert!(!shown.contains("CANARY"), "{shown}");
        assert_eq!((keys.access_key(), keys.secret().reveal()), ("CANARY1", "CANARY2"));
    }

    #[test]
    fn keys_that_break_headers_are_rejected() {
        let error = |access: &str, secret: &str, token: Option<&str>| {
            Keys::new(access, Secret::new(secret), token.map(Secret::new)).unwrap_err()
        };
        for bad in ["", "a b", "a\r\nb", "a,b", "\u{e9}", &"a".repeat(257)] {
            assert_eq!(error(bad, "s", None), KeysError::BadAccessKey, "{bad:?}");
        }
        for bad in ["", "a b", "a\n", "\u{e9}"] {
            assert_eq!(error("a", bad, None), KeysError::BadSecretKey, "{bad:?}");
            assert_eq!(error("a", "s", Some(bad)), KeysError::BadSessionToken, "{bad:?}");
        }
    }
}
