//! Access keys: what is shown to nobody.

use std::fmt;
use zeroize::Zeroizing;

/// The most bytes an access key's name may have.
const MAX_ACCESS_KEY_BYTES: usize = 256;
/// The most bytes a secret or a session token may have; tokens have a few kilobytes.
const MAX_SECRET_BYTES: usize = 8 * 1024;

/// A text that `Debug` does not show and whose memory is overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a text for a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// What is wrong with typed or stored keys. Never repeats them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// The access key is empty, too long, or has characters that a signature can not carry.
    #[error("the access key is not valid: it takes visible ASCII characters without commas, at most 256")]
    BadAccessKey,
    /// The secret key is empty, too long, or has blanks or control characters.
    #[error("the secret key is not valid: it takes visible ASCII characters; is there a blank or a line end in it?")]
    BadSecretKey,
    /// The session token is empty, too long, or has blanks or control characters.
    #[error("the session token is not valid: it takes visible ASCII characters; is there a blank or a line end in it?")]
    BadSessionToken,
}

/// An access key with its secret and, when it is a temporary one, its session token.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    access_key: Box<str>,
    secret: Secret,
    token: Option<Secret>,
}

impl Keys {
    /// Checks keys, so that none can break a header.
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

    /// The access key, which names the secret. Stands in requests, and is still not to be shown in reports.
    pub fn access_key(&self) -> &str {
        &self.access_key
    }

    /// The secret key.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The session token.
    pub fn token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(hidden)")
    }
}

fn is_visible(text: &str, most_bytes: usize) -> bool {
    !text.is_empty() && text.len() <= most_bytes && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_shown() {
        let keys = Keys::new("CANARY1", Secret::new("CANARY2"), Some(Secret::new("CANARY3"))).unwrap();
        let shown = format!("{keys:?} {:?} {:#?}", keys.secret(), keys.token());
        assert!(!shown.contains("CANARY"), "{shown}");
        assert_eq!((keys.access_key(), keys.secret().reveal()), ("CANARY1", "CANARY2"));
    }

    #[test]
    fn keys_that_break_headers_are_refused() {
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
