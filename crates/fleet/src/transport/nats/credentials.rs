//! Files with credentials for NATS.

use async_nats::ConnectOptions;
use nkeys::{KeyPair, KeyPairType};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a file with credentials. A JWT with many permissions has a few KiB.
const BYTES_MAX: u64 = 64 << 10;

/// Credentials of a client.
pub enum Credentials {
    /// The text of a `.creds` file: a JWT, and the seed of its key.
    Jwt(String),
    /// The seed of a key that the server knows.
    Seed(String),
}

impl Credentials {
    /// Reads a file with either kind of credentials.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
        if text.len() as u64 > BYTES_MAX {
            return Err(io::Error::other("the file is too large"));
        }
        Ok(Self::of(text))
    }

    /// Returns the credentials in a text.
    fn of(text: String) -> Self {
        let word = text.trim();
        let is_seed = KeyPair::from_seed(word).is_ok_and(|pair| pair.key_pair_type() == KeyPairType::User);
        if is_seed { Self::Seed(word.to_owned()) } else { Self::Jwt(text) }
    }

    /// Adds the credentials to the options of a connection.
    pub fn add_to(self, options: ConnectOptions) -> io::Result<ConnectOptions> {
        match self {
            Self::Seed(seed) => Ok(options.nkey(seed)),
            // The cause is not shown, because it could quote the text.
            Self::Jwt(text) => options.credentials(&text).map_err(|_| {
                io::Error::other(
                    "the file contains neither a JWT with its seed, as in .creds files, nor a seed of a user",
                )
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_recognized_and_anything_else_must_be_a_creds_file() {
        let seed = KeyPair::new_user().seed().expect("it has a seed");
        for text in [seed.clone(), format!("{seed}\n"), format!(" {seed}\r\n")] {
            assert!(matches!(Credentials::of(text), Credentials::Seed(read) if read == seed));
        }
        let account = KeyPair::new_account().seed().expect("it has a seed");
        let public = KeyPair::new_user().public_key();
        let mut damaged = seed.clone();
        damaged.replace_range(20..21, if &seed[20..21] == "A" { "B" } else { "A" });
        for text in [String::new(), "S".repeat(58), "ü".repeat(29), account, public, damaged, format!("{seed} {seed}")]
        {
            let error = Credentials::of(text.clone()).add_to(ConnectOptions::new()).expect_err("it is refused");
            assert!(error.to_string().contains("neither a JWT"), "{error}");
            assert!(text.is_empty() || !error.to_string().contains(&text), "the error quotes the file");
        }
    }
}
