//! Sessions. A session is a token that contains the login. The server does not store the token, because the client
//! sends it with each request.
//!
//! Filestash encrypts its token. The stand-in has no secrets to protect, so its token is the login in base64 with a
//! checksum. The stand-in's token has about the same length as Filestash's, and a damaged token is refused.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::sftp;
use crate::request::RequestFacts;
use crate::request::fields::parameter;
use crate::request::target::Target;

/// Maximum number of characters in one cookie.
const COOKIE_MAX: usize = 3800;
/// Maximum number of cookies of one session.
const COOKIES_MAX: usize = 16;
const SUM_BYTES: usize = 16;
/// The lifetime of a cookie, one week by default in Filestash.
const COOKIE_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// The session of a logged-in client.
pub(super) struct Session {
    token: String,
    pub(super) backend: Backend,
}

/// The host in a login for SFTP that stands for [`Backend::ImitatedSftp`]. The name can never exist (RFC 6761).
const IMITATED_HOST: &str = "sftp.invalid";

/// The backend of a session.
pub(super) enum Backend {
    Blackhole,
    /// The files of the blackhole, in listings as long as those of an SFTP server. There is no SFTP server.
    ImitatedSftp,
    Sftp(Box<sftp::Login>),
}

impl Backend {
    /// Reads the backend from a login. `sftp` is true if clients may log in to SFTP servers.
    ///
    /// # Errors
    /// Fails if the login is refused. The error is the status and the message of the response.
    fn of_login(login: &serde_json::Value, sftp: bool) -> Result<Self, (u16, &'static str)> {
        match login.get("type").and_then(serde_json::Value::as_str) {
            Some("blackhole") => Ok(Self::Blackhole),
            Some("sftp") if login.get("hostname").and_then(serde_json::Value::as_str) == Some(IMITATED_HOST) => {
                Ok(Self::ImitatedSftp)
            }
            Some("sftp") if sftp => match sftp::Login::read(login) {
                Some(login) => Ok(Self::Sftp(Box::new(login))),
                None => {
                    Err((400, "the stand-in logs in to sftp with hostname, username and a private key as password"))
                }
            },
            // Filestash refuses a backend that is not in its list of connections.
            Some(_) | None => Err((403, "Not Allowed")),
        }
    }
}

impl Session {
    /// Opens a session with the login in the body of a `POST /api/session`.
    ///
    /// # Errors
    /// Fails if the login is refused. The error is the status and the message of the response.
    pub(super) fn open(body: &[u8], sftp: bool) -> Result<Self, (u16, &'static str)> {
        let login: serde_json::Value = serde_json::from_slice(body).map_err(|_| (405, "Not Valid"))?;
        let backend = Backend::of_login(&login, sftp)?;
        let text = login.to_string().into_bytes();
        let sum = Sha256::digest(&text);
        let token = URL_SAFE_NO_PAD.encode([&text, &sum[..SUM_BYTES]].concat());
        Ok(Self { token, backend })
    }

    /// Returns the session of a request: from `Authorization: Bearer`, from `?authorization=`, or from cookies.
    pub(super) fn of_request(target: Target<'_>, facts: &RequestFacts<'_>, sftp: bool) -> Option<Self> {
        let bearer = facts.fields.authorization.as_deref().and_then(|value| str::from_utf8(value).ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned);
        let in_query = || parameter(target, "authorization").map(str::to_owned);
        let cookies = || facts.fields.cookie.as_deref().and_then(from_cookies);
        Self::from_token(&bearer.or_else(in_query).or_else(cookies)?, sftp)
    }

    fn from_token(token: &str, sftp: bool) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (text, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM_BYTES)?)?;
        let is_own = Sha256::digest(text)[..SUM_BYTES] == *sum;
        let login = serde_json::from_slice(text).ok().filter(|_| is_own)?;
        let backend = Backend::of_login(&login, sftp).ok()?;
        Some(Self { token: token.to_owned(), backend })
    }

    /// Returns the fields of the session in JSON. The fields include the token if the session was just opened.
    pub(super) fn fields(&self, opened: bool) -> Vec<(&'static str, String)> {
        let id: String = Sha256::digest(&self.token).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let token = opened.then(|| ("authorization", format!("\"{}\"", self.token)));
        let fields = [("home", r#""/""#.to_owned()), ("is_authenticated", "true".to_owned())];
        fields.into_iter().chain([("backendID", format!("\"{id}\""))]).chain(token).collect()
    }

    /// Returns the header lines that set the cookies.
    pub(super) fn cookies(&self) -> Vec<String> {
        let life = COOKIE_LIFETIME.as_secs();
        // Tokens are ASCII, so each piece is valid UTF-8.
        let pieces = self.token.as_bytes().chunks(COOKIE_MAX).map(String::from_utf8_lossy).enumerate();
        pieces.map(|(index, piece)| set_cookie(index, &piece, life)).collect()
    }
}

/// Returns the header line that deletes a cookie.
pub(super) fn expired_cookie(index: usize) -> String {
    set_cookie(index, "", 0)
}

fn set_cookie(index: usize, value: &str, life: u64) -> String {
    format!("Set-Cookie: {}={value}; Path=/api/; Max-Age={life}; HttpOnly; SameSite=Strict", cookie_name(index))
}

/// Returns `auth`, `auth1`, `auth2` …
fn cookie_name(index: usize) -> String {
    if index == 0 { "auth".to_owned() } else { format!("auth{index}") }
}

/// Returns whether cookies contain a session, valid or not.
pub(super) fn in_cookies(line: &[u8]) -> bool {
    from_cookies(line).is_some()
}

fn from_cookies(line: &[u8]) -> Option<String> {
    let line = str::from_utf8(line).ok()?;
    let get = |wanted: &str| {
        let mut pairs = line.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(found, _)| *found == wanted).map(|(_, value)| value)
    };
    let token: String = (0..COOKIES_MAX).map_while(|index| get(&cookie_name(index))).collect();
    (!token.is_empty()).then_some(token)
}
