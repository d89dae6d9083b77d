//! Locations of objects, both in the form that users write (`s3://bucket/prefix`) and as the host and path of a
//! request.

use crate::percent;
use crate::url::Origin;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Maximum size of a key in UTF-8.
pub const MAX_KEY_BYTES: usize = 1024;

/// The name of a bucket: 3 to 255 letters, digits, dots, hyphens and underscores. This includes all names that S3 has
/// ever allowed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bucket(Box<str>);

impl Bucket {
    /// Parses a name.
    pub fn parse(name: &str) -> Result<Self, LocationError> {
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if name.is_empty() {
            Err(LocationError::NoBucket)
        } else if !(3..=255).contains(&name.len()) || !name.bytes().all(valid) || name.starts_with('.') {
            Err(LocationError::BadBucket)
        } else {
            Ok(Self(name.into()))
        }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the name can be part of a host name. The name must have at most 63 bytes, and contain only
    /// lower-case letters, digits, hyphens and dots. The labels of the name must begin and end with a letter or digit,
    /// and the name must not be an IPv4 address. S3 requires all of this for new buckets.
    pub fn fits_host(&self) -> bool {
        let valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let label = |label: &str| {
            !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(valid)
        };
        self.0.len() <= 63 && self.0.split('.').all(label) && self.0.parse::<IpAddr>().is_err()
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The reason why a location from the user is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// The text does not begin with `s3://`.
    #[error("this is not an S3 location: write s3://BUCKET or s3://BUCKET/PREFIX")]
    NoScheme,
    /// There is nothing between `s3://` and the next slash.
    #[error("the S3 location has no bucket: write s3://BUCKET/PREFIX, and give the server's address with its own flag")]
    NoBucket,
    /// The name of the bucket is not valid.
    #[error(
        "the bucket's name is not valid: use 3 to 255 letters, digits, dots, hyphens and underscores, \
         and give a server's address, port or password with its own flag"
    )]
    BadBucket,
    /// The key or prefix is longer than [`MAX_KEY_BYTES`].
    #[error("the key or prefix is longer than 1024 bytes")]
    KeyTooLong,
    /// The key or prefix contains a NUL character, which no server accepts.
    #[error("the key or prefix contains a NUL character")]
    BadKey,
}

/// A bucket and a key or prefix in it: `s3://bucket/prefix`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct S3Location {
    /// The bucket.
    pub bucket: Bucket,
    /// Key or prefix without any encoding: percent signs, question marks and number signs have no special meaning. Empty
    /// for the whole bucket.
    pub key: Box<str>,
}

impl S3Location {
    /// Returns whether the text begins with `s3:`. The user then means a location, even if it is not valid.
    pub fn has_scheme(text: &str) -> bool {
        text.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("s3:"))
    }
}

impl FromStr for S3Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        let start = text.get(..5).filter(|start| start.eq_ignore_ascii_case("s3://")).ok_or(LocationError::NoScheme)?;
        let rest = &text[start.len()..];
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let bucket = Bucket::parse(bucket)?;
        if key.len() > MAX_KEY_BYTES {
            return Err(LocationError::KeyTooLong);
        }
        if key.contains('\0') {
            return Err(LocationError::BadKey);
        }
        Ok(Self { bucket, key: key.into() })
    }
}

impl fmt::Display for S3Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.key)
    }
}

/// The position of the bucket in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressing {
    /// In the path: `http://host/bucket/key`. Every server supports it.
    Path,
    /// In the host name: `http://bucket.host/key`. Needs a DNS name for each bucket.
    VirtualHost,
}

/// The reason why a bucket cannot be part of the host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressingError {
    /// The name of the bucket is not valid in a host name.
    #[error("the bucket's name is not valid in a host name: use path style")]
    Bucket,
    /// The endpoint is an IP address.
    #[error("the endpoint is an IP address, so the bucket cannot be part of its name: use path style")]
    Address,
}

impl Addressing {
    /// Returns the origin for requests to a bucket of this endpoint. The client connects to this origin, and sends it
    /// in `Host`.
    pub fn origin(self, endpoint: &Origin, bucket: &Bucket) -> Result<Origin, AddressingError> {
        if self == Self::Path {
            return Ok(endpoint.clone());
        }
        if endpoint.host.parse::<IpAddr>().is_ok() {
            return Err(AddressingError::Address);
        }
        if !bucket.fits_host() {
            return Err(AddressingError::Bucket);
        }
        Ok(Origin { host: format!("{bucket}.{}", endpoint.host).into(), ..endpoint.clone() })
    }

    /// Appends the path of an object, in the canonical form that signatures cover. If the key is empty, appends the
    /// path of the bucket.
    pub fn write_path(self, bucket: &Bucket, key: &str, out: &mut String) {
        out.push('/');
        if self == Self::Path {
            percent::push_path(bucket.as_str(), out);
            if key.is_empty() {
                return;
            }
            out.push('/');
        }
        percent::push_path(key, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Url;
    use proptest::prelude::*;

    fn location(text: &str) -> Result<(String, String), LocationError> {
        text.parse().map(|location: S3Location| (location.bucket.to_string(), location.key.into()))
    }

    fn parts(bucket: &str, key: &str) -> Result<(String, String), LocationError> {
        Ok((bucket.to_owned(), key.to_owned()))
    }

    #[test]
    fn locations_consist_of_bucket_and_unencoded_key() {
        assert_eq!(location("s3://bucket"), parts("bucket", ""));
        assert_eq!(location("s3://bucket/"), parts("bucket", ""));
        assert_eq!(location("S3://my.b-1/a/b c%20?d#e//"), parts("my.b-1", "a/b c%20?d#e//"));
        assert_eq!(location("s3://bucket//a"), parts("bucket", "/a"));
    }

    #[test]
    fn mistakes_are_told_apart() {
        for text in ["", "s3", "s3:bucket", "s3:/bucket", "http://bucket/", "bucket/key", "\u{e9}3://b"] {
            assert_eq!(location(text), Err(LocationError::NoScheme), "{text}");
        }
        assert_eq!(location("s3:///key"), Err(LocationError::NoBucket));
        assert_eq!(location("s3://"), Err(LocationError::NoBucket));
        for text in ["s3://ab/key", "s3://host:9000/b", "s3://k:s@bucket/x", "s3://b\u{fc}cket/x", "s3://.../x"] {
            assert_eq!(location(text), Err(LocationError::BadBucket), "{text}");
        }
        assert_eq!(location(&format!("s3://bucket/{}", "x".repeat(1025))), Err(LocationError::KeyTooLong));
        assert_eq!(location("s3://bucket/a\0"), Err(LocationError::BadKey));
        assert!(
            S3Location::has_scheme("s3:/x") && S3Location::has_scheme("S3://x") && !S3Location::has_scheme("s3.host")
        );
    }

    #[test]
    fn buckets_are_in_the_path_or_in_the_host_name() {
        let origin = |url: &str| Url::parse(url).unwrap().origin().clone();
        let bucket = Bucket::parse("my.bucket").unwrap();
        let path = |addressing: Addressing, key: &str| {
            let mut path = String::new();
            addressing.write_path(&bucket, key, &mut path);
            path
        };
        assert_eq!(path(Addressing::Path, ""), "/my.bucket");
        assert_eq!(path(Addressing::Path, "a b/c+\u{e9}~"), "/my.bucket/a%20b/c%2B%C3%A9~");
        assert_eq!(path(Addressing::VirtualHost, ""), "/");
        assert_eq!(path(Addressing::VirtualHost, "/a"), "//a");

        let endpoint = origin("http://s3.example.com:9000");
        let found = Addressing::VirtualHost.origin(&endpoint, &bucket).unwrap();
        assert_eq!(found.host_header(), "my.bucket.s3.example.com:9000");
        assert_eq!(Addressing::Path.origin(&endpoint, &bucket), Ok(endpoint.clone()));
        for address in ["http://127.0.0.1:9000", "http://[::1]:9000"] {
            let refused = Addressing::VirtualHost.origin(&origin(address), &bucket);
            assert_eq!(refused, Err(AddressingError::Address));
        }
        for name in ["My-bucket", "a_b", "a..b", "-ab", "ab-", "10.0.0.1", &"a".repeat(64)] {
            let bucket = Bucket::parse(name).unwrap();
            assert_eq!(Addressing::VirtualHost.origin(&endpoint, &bucket), Err(AddressingError::Bucket), "{name}");
        }
    }

    proptest! {
        #[test]
        fn displayed_locations_parse_again(text in "(s3://[a-zA-Z0-9._-]{0,6}(/\\PC{0,12})?)|\\PC{0,12}") {
            if let Ok(location) = text.parse::<S3Location>() {
                prop_assert_eq!(location.to_string().parse(), Ok(location));
            }
        }

        /// Decoding a path with another URL library must return the key.
        #[test]
        fn paths_decode_to_their_keys(key in "\\PC{0,20}") {
            let bucket = Bucket::parse("bucket").unwrap();
            let mut path = String::new();
            Addressing::Path.write_path(&bucket, &key, &mut path);
            prop_assert!(path.bytes().all(|byte| byte.is_ascii_graphic()));
            let decoded = percent_encoding::percent_decode_str(&path).decode_utf8().unwrap().into_owned();
            let expected = if key.is_empty() { "/bucket".to_owned() } else { format!("/bucket/{key}") };
            prop_assert_eq!(decoded, expected);
        }
    }
}
