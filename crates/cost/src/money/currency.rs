//! Currencies, identified by codes.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum number of letters in a code.
const LETTERS_MAX: usize = 8;

/// A currency code: `USD`, `EUR`, `SC` for siacoins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency {
    /// The letters of the code, padded with zero bytes.
    letters: [u8; LETTERS_MAX],
}

/// An error from parsing a [`Currency`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CurrencyError {
    /// The text is not a currency code.
    #[error("expected a currency code of 2 to {LETTERS_MAX} capital letters")]
    NotACode,
    /// The text is another unit of Sia, such as hastings. Prices are never stated in such units, and the units are
    /// easily confused with siacoins.
    #[error("expected SC for siacoins, because amounts in hastings or in multiples of siacoins are easily misread")]
    UnitOfSia,
}

impl Currency {
    /// Siacoins.
    pub const SIACOIN: Self = Self { letters: *b"SC\0\0\0\0\0\0" };
    /// Dollars of the United States.
    pub const US_DOLLAR: Self = Self { letters: *b"USD\0\0\0\0\0" };

    fn code(&self) -> &str {
        let end = self.letters.iter().position(|letter| *letter == 0).unwrap_or(LETTERS_MAX);
        // A code contains only ASCII letters.
        str::from_utf8(&self.letters[..end]).unwrap_or_default()
    }
}

impl FromStr for Currency {
    type Err = CurrencyError;

    fn from_str(text: &str) -> Result<Self, CurrencyError> {
        if matches!(text, "H" | "KS" | "MS" | "mS" | "hastings" | "siacoins") {
            return Err(CurrencyError::UnitOfSia);
        }
        if !(2..=LETTERS_MAX).contains(&text.len()) || !text.bytes().all(|letter| letter.is_ascii_uppercase()) {
            return Err(CurrencyError::NotACode);
        }
        let mut letters = [0; LETTERS_MAX];
        letters[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self { letters })
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
