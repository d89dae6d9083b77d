//! Credentials: a password with any user name, or a token that a client requested with the password.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use sha2::{Digest, Sha256};

use super::reply::{line, whole};
use crate::hyper_front::service::ServiceResponse;
use crate::request::target::Target;
use crate::stand_in::form::Form;
use crate::stand_in::siad::basic_password;

/// The cookie that contains a token.
const COOKIE: &str = "renterd_auth";
/// The query parameter that contains a token.
const PARAMETER: &str = "apikey";
/// Maximum number of tokens. If there are more, the oldest tokens are removed.
const TOKENS_MAX: usize = 1000;

/// The credentials that are accepted.
pub(super) struct Sessions {
    password: String,
    /// Tokens with their expiry times.
    tokens: Mutex<Vec<(String, Duration)>>,
}

impl Sessions {
    pub(super) fn new(password: String) -> Self {
        Self { password, tokens: Mutex::default() }
    }

    /// Returns the response to a request without valid credentials. A token in the query takes precedence over a token
    /// in a cookie, and both take precedence over the password.
    pub(super) fn refusal(&self, parts: &Parts, target: Target<'_>, now: Duration) -> Option<ServiceResponse> {
        let form = Form::of_request(target, b"");
        let key = form.value(PARAMETER);
        let has_key =
            target.query.is_some_and(|query| query.split('&').any(|pair| pair.split('=').next() == Some(PARAMETER)));
        if has_key {
            let message = "API key for authentication found but is either invalid or expired";
            return (!self.is_token(&key, now)).then(|| plain(401, message));
        }
        if let Some(token) = cookie(parts) {
            let message = "Cookie for authentication found but is either invalid or expired";
            return (!self.is_token(&token, now)).then(|| plain(401, message));
        }
        (!self.has_password(parts)).then(|| line(401, "Unauthorized"))
    }

    fn has_password(&self, parts: &Parts) -> bool {
        let authorization = parts.headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        basic_password(authorization).as_deref() == Some(&*self.password)
    }

    fn is_token(&self, token: &str, now: Duration) -> bool {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.iter().any(|(known, until)| known == token && *until > now)
    }

    /// Returns the response to a request for a token.
    pub(super) fn open(&self, parts: &Parts, target: Target<'_>, now: Duration) -> ServiceResponse {
        if !self.has_password(parts) {
            return line(401, "Unauthorized");
        }
        if parts.method != hyper::Method::POST {
            return ServiceResponse::new(whole(405, ""));
        }
        let validity = match Form::of_request(target, b"").number("validity") {
            Ok(Some(milliseconds)) => Duration::from_millis(milliseconds),
            Ok(None) => return plain(400, "'validity' parameter is missing"),
            Err(_) => return plain(400, "failed to parse validity"),
        };
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|(_, until)| *until > now);
        if tokens.len() >= TOKENS_MAX {
            tokens.remove(0);
        }
        let digest = Sha256::digest(format!("{}{now:?}{}", self.password, tokens.len()));
        let token: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        tokens.push((token.clone(), now.saturating_add(validity)));
        let mut response = whole(200, format!("{{\"token\": \"{token}\"}}"));
        let life = validity.as_secs();
        let cookie = format!("{COOKIE}={token}; Path=/; Max-Age={life}; HttpOnly; Secure; SameSite=Strict");
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(cookie) = HeaderValue::try_from(cookie) {
            headers.insert(header::SET_COOKIE, cookie);
        }
        ServiceResponse { operation: Some("POST auth".into()), ..ServiceResponse::new(response) }
    }
}

fn cookie(parts: &Parts) -> Option<String> {
    let cookies = parts.headers.get(header::COOKIE)?.to_str().ok()?;
    let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value.to_owned())
}

fn plain(status: u16, message: &'static str) -> ServiceResponse {
    let mut response = whole(status, message);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    ServiceResponse { operation: Some("(failed)".into()), ..ServiceResponse::new(response) }
}
