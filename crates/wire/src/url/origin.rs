//! The parts of a URL that name a server: scheme, origin and credentials.

use std::fmt;

/// The protocol of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// HTTP over plain TCP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// Returns the port of URLs that do not specify one.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// Returns the scheme as written in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The server of a URL: scheme, host and port. Credentials are valid for one origin. Displayed as `host:port`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The protocol.
    pub scheme: Scheme,
    /// A name in lower-case ASCII, or an IP address without brackets.
    pub host: Box<str>,
    /// The port, 1 to 65535.
    pub port: u16,
}

impl Origin {
    /// Returns the value of the `Host` header. The value contains the port only if the port is not the default. An IPv6
    /// address is in brackets.
    pub fn host_header(&self) -> String {
        let text = self.to_string();
        let own = format!(":{}", self.scheme.default_port());
        text.strip_suffix(&own).map_or(text.clone(), str::to_owned)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_host(f, &self.host)?;
        write!(f, ":{}", self.port)
    }
}

/// Writes a host in the form that URLs use. A host with colons is an IPv6 address and gets brackets.
fn write_host(f: &mut impl fmt::Write, host: &str) -> fmt::Result {
    if host.contains(':') { write!(f, "[{host}]") } else { f.write_str(host) }
}

/// Percent-decoded user name and password of a URL. `Debug` does not print the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: Box<str>,
    password: Box<str>,
}

impl Credentials {
    pub(super) fn new(user: Box<str>, password: Box<str>) -> Self {
        Self { user, password }
    }

    /// Returns the user name.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns the password, a secret. Empty if there is none.
    pub fn password(&self) -> &str {
        &self.password
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}
