//! Sessions: a token that holds what the client logged in with, kept by the client alone.
//!
//! Filestash encrypts it. A stand-in has no secrets to keep: its token is the login in base64 with a checksum, so that
//! it is of about the same length, and one that was copied wrongly is refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::COOKIE_LIFE;
use super::sftp;
use crate::answer::Facts;
use crate::stand_in::fields::parameter;
use crate::target::Target;

/// The most characters of one cookie.
const COOKIE_MAX: usize = 3800;
/// Cookies of one session that are looked for.
const COOKIES_MAX: usize = 16;
const SUM_BYTES: usize = 16;

/// A client that has logged in.
pub(super) struct Session {
    token: String,
    pub(super) backend: Backend,
}

/// What a client has logged in to.
pub(super) enum Backend {
    Blackhole,
    Sftp(Box<sftp::Login>),
}

impl Backend {
    /// `sftp` says whether that backend is there.
    fn of_login(login: &serde_json::Value, sftp: bool) -> Result<Self, (u16, &'static str)> {
        match login.get("type").and_then(serde_json::Value::as_str) {
            Some("blackhole") => Ok(Self::Blackhole),
            Some("sftp") if sftp => match sftp::Login::read(login) {
                Some(login) => Ok(Self::Sftp(Box::new(login))),
                None => {
                    Err((400, "the stand-in logs in to sftp with hostname, username and a private key as password"))
                }
            },
            // Not in the list of connections.
            Some(_) | None => Err((403, "Not Allowed")),
        }
    }
}

impl Session {
    /// Logs in with the body of a `POST /api/session`.
    pub(super) fn opened(body: &[u8], sftp: bool) -> Result<Self, (u16, &'static str)> {
        let login: serde_json::Value = serde_json::from_slice(body).map_err(|_| (405, "Not Valid"))?;
        let backend = Backend::of_login(&login, sftp)?;
        let text = login.to_string().into_bytes();
        let sum = Sha256::digest(&text);
        let token = URL_SAFE_NO_PAD.encode([&text, &sum[..SUM_BYTES]].concat());
        Ok(Self { token, backend })
    }

    /// The session that a request belongs to, by cookies, by `Authorization: Bearer` or by `?authorization=`.
    pub(super) fn of_request(target: Target<'_>, facts: &Facts<'_>, sftp: bool) -> Option<Self> {
        let bearer = facts.fields.authorization.as_deref().and_then(|value| str::from_utf8(value).ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned);
        let asked = || parameter(target, "authorization").map(str::to_owned);
        let cookies = || facts.fields.cookie.as_deref().and_then(from_cookies);
        Self::checked(&bearer.or_else(asked).or_else(cookies)?, sftp)
    }

    fn checked(token: &str, sftp: bool) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (text, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM_BYTES)?)?;
        let is_own = Sha256::digest(text)[..SUM_BYTES] == *sum;
        let login = serde_json::from_slice(text).ok().filter(|_| is_own)?;
        let backend = Backend::of_login(&login, sftp).ok()?;
        Some(Self { token: token.to_owned(), backend })
    }

    /// The fields of the session, in JSON; with its token when it was just opened.
    pub(super) fn told(&self, opened: bool) -> Vec<(&'static str, String)> {
        let id: String = Sha256::digest(&self.token).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let token = opened.then(|| ("authorization", format!("\"{}\"", self.token)));
        let fields = [("home", r#""/""#.to_owned()), ("is_authenticated", "true".to_owned())];
        fields.into_iter().chain([("backendID", format!("\"{id}\""))]).chain(token).collect()
    }

    /// The lines that set the cookies.
    pub(super) fn cookies(&self) -> Vec<String> {
        let life = COOKIE_LIFE.as_secs();
        // Tokens are ASCII: each piece is text.
        let pieces = self.token.as_bytes().chunks(COOKIE_MAX).map(String::from_utf8_lossy).enumerate();
        pieces.map(|(index, piece)| set(index, &piece, life)).collect()
    }
}

/// The line that takes a cookie back.
pub(super) fn expired(index: usize) -> String {
    set(index, "", 0)
}

fn set(index: usize, value: &str, life: u64) -> String {
    format!("Set-Cookie: {}={value}; Path=/api/; Max-Age={life}; HttpOnly; SameSite=Strict", name(index))
}

/// `auth`, `auth1`, `auth2` …
fn name(index: usize) -> String {
    if index == 0 { "auth".to_owned() } else { format!("auth{index}") }
}

/// Whether a request shows a session, valid or not.
pub(super) fn in_cookies(line: &[u8]) -> bool {
    from_cookies(line).is_some()
}

fn from_cookies(line: &[u8]) -> Option<String> {
    let line = str::from_utf8(line).ok()?;
    let get = |wanted: &str| {
        let mut pairs = line.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(found, _)| *found == wanted).map(|(_, value)| value)
    };
    let token: String = (0..COOKIES_MAX).map_while(|index| get(&name(index))).collect();
    (!token.is_empty()).then_some(token)
}
