//! URLs from users and from redirects, split into the parts of a request.
//!
//! Only http and https are supported. Credentials are removed during parsing, so no part of a [`Url`] that is displayed
//! contains them.

mod origin;

pub use origin::{Credentials, Origin, Scheme};

use std::fmt;
use std::str::FromStr;

use url::{Host, ParseError, Position};

use crate::percent::{self, Space};

/// Maximum size of a URL.
pub const MAX_URL_BYTES: usize = 16 * 1024;

/// An invalid URL. Messages never repeat the URL, which may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// There is no `scheme://`.
    #[error("the URL has no scheme: write http://HOST/PATH or https://HOST/PATH")]
    NoScheme,
    /// The scheme is neither http nor https.
    #[error("the scheme \"{0}\" is not supported: write http:// or https://")]
    OtherScheme(Box<str>),
    /// There is nothing between `://` and the path.
    #[error("the URL has no host: write http://HOST/PATH")]
    NoHost,
    /// The host is neither a name nor an address.
    #[error("the URL's host is not valid: write a name, an IPv4 address, or an IPv6 address in brackets")]
    BadHost,
    /// The port is not from 1 to 65535.
    #[error("the URL's port is not valid: write a number from 1 to 65535")]
    BadPort,
    /// The user name or the password is not UTF-8 after percent-decoding.
    #[error("the URL's user name or password is not valid: percent-encode it as UTF-8")]
    BadCredentials,
    /// The URL is longer than [`MAX_URL_BYTES`].
    #[error("the URL is longer than 16 KiB")]
    TooLong,
    /// The URL contains whitespace or control characters. A URL parser would drop these characters, or they would end
    /// the request line.
    #[error("the URL contains a space or a control character: percent-encode it (%20 is a space)")]
    BadCharacter,
    /// The normalization of URLs would change the object name.
    #[error("no URL can contain this name: URL parsers remove its part \".\" or \"..\"")]
    ChangedName,
    /// Any other mistake.
    #[error("the URL is not valid")]
    Invalid,
}

impl From<ParseError> for UrlError {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::EmptyHost => Self::NoHost,
            ParseError::InvalidPort => Self::BadPort,
            ParseError::IdnaError
            | ParseError::InvalidIpv4Address
            | ParseError::InvalidIpv6Address
            | ParseError::InvalidDomainCharacter => Self::BadHost,
            ParseError::RelativeUrlWithoutBase => Self::NoScheme,
            _ => Self::Invalid,
        }
    }
}

/// An http or https URL without a fragment. The credentials of the URL are stored separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// The URL without credentials and fragment.
    inner: url::Url,
    origin: Origin,
    host_header: Box<str>,
    credentials: Option<Credentials>,
}

impl Url {
    /// Parses an absolute URL.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        check_text(text)?;
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::NoScheme)?;
        if !is_scheme(scheme) {
            return Err(UrlError::NoScheme);
        }
        if rest.is_empty() || rest.starts_with(['/', '\\', '?', '#']) {
            // The parser would use the first path segment as the host.
            return match scheme_of(scheme) {
                Ok(_) => Err(UrlError::NoHost),
                Err(other) => Err(other),
            };
        }
        scheme_of(scheme)?;
        Self::from_parsed(url::Url::parse(text)?)
    }

    /// Resolves the `Location` of a redirect, which may be relative. Credentials are kept only within the same origin.
    pub fn join(&self, location: &str) -> Result<Self, UrlError> {
        check_text(location)?;
        let mut url = Self::from_parsed(self.inner.join(location)?)?;
        if url.credentials.is_none() && url.origin == self.origin {
            url.credentials.clone_from(&self.credentials);
        }
        Ok(url)
    }

    /// Appends an object name to the path, and removes the query. The name is percent-encoded, except for slashes.
    ///
    /// # Errors
    /// Fails with [`UrlError::ChangedName`] if a URL cannot contain the name, and with [`UrlError::TooLong`] if the URL
    /// would be too long.
    pub fn below(&self, name: &str) -> Result<Self, UrlError> {
        let mut path = self.path().trim_end_matches('/').to_owned();
        path.push('/');
        percent::push_path(name, &mut path);
        if path.len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong);
        }
        let mut inner = self.inner.clone();
        inner.set_query(None);
        inner.set_path(&path);
        let below = Self { credentials: self.credentials.clone(), ..Self::from_parsed(inner)? };
        if below.path() == path { Ok(below) } else { Err(UrlError::ChangedName) }
    }

    fn from_parsed(mut inner: url::Url) -> Result<Self, UrlError> {
        let scheme = scheme_of(inner.scheme())?;
        let credentials = take_credentials(&mut inner)?;
        inner.set_fragment(None);
        if inner.as_str().len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong);
        }
        let host: Box<str> = match inner.host().ok_or(UrlError::NoHost)? {
            Host::Domain(name) => name.into(),
            Host::Ipv4(address) => address.to_string().into(),
            Host::Ipv6(address) => address.to_string().into(),
        };
        let port = inner.port().unwrap_or(scheme.default_port());
        if port == 0 {
            return Err(UrlError::BadPort);
        }
        let origin = Origin { scheme, host, port };
        let host_header = inner[Position::BeforeHost..Position::AfterPort].into();
        Ok(Self { inner, origin, host_header, credentials })
    }

    /// Returns the server to which the client connects.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the request target, which consists of path and query. The target begins with `/`.
    pub fn target(&self) -> &str {
        &self.inner[Position::BeforePath..Position::AfterQuery]
    }

    /// Returns the percent-encoded path. It begins with `/`.
    pub fn path(&self) -> &str {
        self.inner.path()
    }

    /// Returns the percent-encoded query without the question mark.
    pub fn query(&self) -> Option<&str> {
        self.inner.query()
    }

    /// Returns the value of the `Host` header. The value contains the port only if the port is not the default. An IPv6
    /// address is in brackets.
    pub fn host_header(&self) -> &str {
        &self.host_header
    }

    /// Returns the credentials from the URL.
    pub fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }
}

/// Displays the URL without its credentials.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.inner.as_str())
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Self::parse(text)
    }
}

/// Rejects texts that are too long, and characters that the parser would silently drop: tabs, line breaks and surrounding
/// spaces.
fn check_text(text: &str) -> Result<(), UrlError> {
    if text.len() > MAX_URL_BYTES {
        Err(UrlError::TooLong)
    } else if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        Err(UrlError::BadCharacter)
    } else {
        Ok(())
    }
}

/// Returns whether the text is a valid scheme (RFC 3986 §3.1) of at most 32 bytes.
fn is_scheme(text: &str) -> bool {
    text.len() <= 32
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn scheme_of(text: &str) -> Result<Scheme, UrlError> {
    if text.eq_ignore_ascii_case("http") {
        Ok(Scheme::Http)
    } else if text.eq_ignore_ascii_case("https") {
        Ok(Scheme::Https)
    } else {
        // A redirect may contain a scheme of any length, so the scheme is cut.
        Err(UrlError::OtherScheme(text.chars().take(32).collect()))
    }
}

fn take_credentials(inner: &mut url::Url) -> Result<Option<Credentials>, UrlError> {
    if inner.username().is_empty() && inner.password().is_none() {
        return Ok(None);
    }
    let decode = |text| percent::decoded_text(text, Space::Percent).map(String::into_boxed_str);
    let user = decode(inner.username()).ok_or(UrlError::BadCredentials)?;
    let password = decode(inner.password().unwrap_or_default()).ok_or(UrlError::BadCredentials)?;
    inner.set_username("").map_err(|()| UrlError::Invalid)?;
    inner.set_password(None).map_err(|()| UrlError::Invalid)?;
    Ok(Some(Credentials::new(user, password)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn parts_have_the_form_in_which_they_are_sent() {
        let plain = url("http://Example.COM/a/b%20c?x=1&y=%2F#part");
        assert_eq!(plain.origin().to_string(), "example.com:80");
        assert_eq!(plain.host_header(), "example.com");
        assert_eq!(plain.target(), "/a/b%20c?x=1&y=%2F");
        assert_eq!((plain.path(), plain.query()), ("/a/b%20c", Some("x=1&y=%2F")));
        assert_eq!(plain.to_string(), "http://example.com/a/b%20c?x=1&y=%2F");

        let six = url("https://[2001:DB8::1]:8443");
        assert_eq!(&*six.origin().host, "2001:db8::1");
        assert_eq!(six.origin().to_string(), "[2001:db8::1]:8443");
        assert_eq!((six.host_header(), six.target()), ("[2001:db8::1]:8443", "/"));
        assert_eq!(url("https://h:443/").host_header(), "h");
        assert_eq!(url("http://h:443/").host_header(), "h:443");
        assert_ne!(url("http://h:443/").origin(), url("https://h/").origin());
        assert_eq!(url("http://h?q").target(), "/?q");
    }

    #[test]
    fn mistakes_are_told_apart() {
        let error = |text: &str| Url::parse(text).unwrap_err();
        for text in ["example.com/x", "localhost:8080/x", "", "/path", "//host/x", "1http://x", "http:/x", "http:x"] {
            assert_eq!(error(text), UrlError::NoScheme, "{text}");
        }
        assert_eq!(error("s3://bucket"), UrlError::OtherScheme("s3".into()));
        assert_eq!(error("file:///etc"), UrlError::OtherScheme("file".into()));
        for text in ["http://", "http:///x", "http://?q", "http://:80/", "http://user@/", "http://#x"] {
            assert_eq!(error(text), UrlError::NoHost, "{text}");
        }
        for text in ["http://h:0/", "http://h:65536/", "http://h:x/"] {
            assert_eq!(error(text), UrlError::BadPort, "{text}");
        }
        for text in ["http://[::1/", "http://1.2.3.400/", "http://a<b/", "http://[x]/"] {
            assert_eq!(error(text), UrlError::BadHost, "{text}");
        }
        for text in ["http://h/a b", " http://h/", "http://h/\r\nX: y", "http://h/\0", "http://h/\u{a0}"] {
            assert_eq!(error(text), UrlError::BadCharacter, "{text:?}");
        }
        assert_eq!(error("http://%ff@h/"), UrlError::BadCredentials);
        assert_eq!(error(&format!("http://h/{}", "x".repeat(MAX_URL_BYTES))), UrlError::TooLong);
        // Each character becomes nine bytes when it is percent-encoded.
        assert_eq!(error(&format!("http://h/{}", "€".repeat(MAX_URL_BYTES / 4))), UrlError::TooLong);
        assert!(UrlError::NoScheme.to_string().contains("write http://"));
    }

    #[test]
    fn credentials_are_kept_apart_and_never_shown() {
        let with = url("http://us%40er:hun%3Ater%zz@h/x");
        let credentials = with.credentials().unwrap();
        assert_eq!((credentials.user(), credentials.password()), ("us@er", "hun:ter%zz"));
        for shown in [with.to_string(), format!("{with:?}"), with.host_header().to_owned(), with.origin().to_string()] {
            assert!(!shown.contains("hun") && !shown.contains("ter%"), "{shown}");
        }
        assert_eq!(Url::parse("http://h/").unwrap().credentials(), None);
    }

    #[test]
    fn redirects_are_resolved_and_credentials_stay_with_their_origin() {
        let base = url("http://me:secret@h:8080/a/b?q#f");
        let join = |location: &str| base.join(location).unwrap();
        assert_eq!(join("c").to_string(), "http://h:8080/a/c");
        assert_eq!(join("/c?d#e").to_string(), "http://h:8080/c?d");
        assert_eq!(join("//other/x").to_string(), "http://other/x");
        assert_eq!(join("?z").to_string(), "http://h:8080/a/b?z");
        assert_eq!(join("../../../x").target(), "/x");
        assert_eq!(join("c").credentials(), base.credentials());
        for away in ["http://h:8081/", "https://h:8080/", "http://other:8080/", "//other:8080/x"] {
            assert_eq!(join(away).credentials(), None, "{away}");
        }
        assert_eq!(join("http://you:own@other/").credentials().unwrap().user(), "you");
        assert_eq!(base.join("ftp://h/x"), Err(UrlError::OtherScheme("ftp".into())));
        assert_eq!(base.join("javascript:alert(1)"), Err(UrlError::OtherScheme("javascript".into())));
        assert_eq!(base.join("/a b"), Err(UrlError::BadCharacter));
        assert_eq!(base.join("http://h:0/"), Err(UrlError::BadPort));
    }

    #[test]
    fn object_names_are_encoded_and_never_changed() {
        let base = url("http://me:secret@h:81/bucket/?x=1");
        let below = |name: &str| base.below(name).map(|url| url.to_string());
        for (name, path) in [
            ("a/b", "a/b"),
            ("a b|c%20d", "a%20b%7Cc%2520d"),
            ("x?y#z", "x%3Fy%23z"),
            ("tab\tand\nline", "tab%09and%0Aline"),
            ("/a//b/", "/a//b/"),
            ("..a/...", "..a/..."),
            ("ä", "%C3%A4"),
        ] {
            assert_eq!(below(name).unwrap(), format!("http://h:81/bucket/{path}"), "{name}");
        }
        for name in ["..", ".", "a/../b", "a/.", "../../etc/passwd"] {
            assert_eq!(below(name), Err(UrlError::ChangedName), "{name}");
        }
        assert_eq!(below(&"x".repeat(MAX_URL_BYTES)), Err(UrlError::TooLong));
        assert_eq!(url("http://h").below("a").unwrap().to_string(), "http://h/a");
    }

    proptest! {
        #[test]
        fn displayed_urls_parse_again_and_can_be_sent(base in "https?://[a-z0-9.\\[\\]:@%]{1,20}/.{0,20}", location in ".{0,40}") {
            if let Ok(base) = Url::parse(&base) {
                for url in [Some(base.clone()), base.join(&location).ok()].into_iter().flatten() {
                    let again = Url::parse(&url.to_string()).unwrap();
                    prop_assert_eq!(again.to_string(), url.to_string());
                    prop_assert_eq!(again.origin(), url.origin());
                    prop_assert!(url.target().starts_with('/'));
                    prop_assert!(url.target().bytes().all(|byte| byte.is_ascii_graphic()), "{}", url.target());
                    prop_assert!(url.host_header().bytes().all(|byte| byte.is_ascii_graphic()));
                }
            }
        }
    }
}
