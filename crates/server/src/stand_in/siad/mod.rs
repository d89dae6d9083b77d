//! siad, the renter of Sia until 2025. A request names a file on siad's own machine, and siad uploads the file in the
//! background.
//!
//! The stand-in uploads nothing. From the elapsed time, it computes how many pieces of 4 MiB siad would have uploaded
//! to hosts by now, and how much they would have cost.

mod contracts;
mod daemon;
mod documents;
mod files;
mod routes;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use wire::RequestHead;

use super::go;
use crate::config::sia::Siad;
use crate::request::RequestFacts;
use crate::request::target::Target;
use crate::response::{AcceptRanges, Media, Response};
use daemon::Daemon;

/// The required part of `User-Agent`. This requirement prevents web pages in a browser from using the API.
const USER_AGENT: &str = "Sia-Agent";

/// The state of a siad stand-in.
#[derive(Debug)]
pub(crate) struct SiadStandIn {
    config: Siad,
    daemon: Mutex<Daemon>,
}

/// Creates the response to a request that is refused because too many requests are in service.
pub(crate) fn overloaded() -> Response {
    failure(503, "too many requests at once")
}

impl SiadStandIn {
    pub(crate) fn new(config: Siad) -> Self {
        Self::starting_at(config, sys::clock::monotonic())
    }

    fn starting_at(config: Siad, now: Duration) -> Self {
        let daemon = Mutex::new(Daemon::new(config.clone(), now));
        Self { config, daemon }
    }

    pub(crate) fn respond(&self, head: &RequestHead, target: Target<'_>, facts: &RequestFacts<'_>) -> Response {
        self.respond_at(sys::clock::monotonic(), head, target, facts)
    }

    fn respond_at(&self, now: Duration, head: &RequestHead, target: Target<'_>, facts: &RequestFacts<'_>) -> Response {
        let mut daemon = self.daemon();
        daemon.advance(now);
        if daemon.is_restarting() {
            let message = "siad is not ready. please wait for siad to finish loading.";
            return Response { close: true, ..failure(503, message) };
        }
        let agent = facts.fields.user_agent.as_deref().unwrap_or_default();
        if !agent.windows(USER_AGENT.len()).any(|part| part == USER_AGENT.as_bytes()) {
            return failure(400, "Browser access disabled due to security vulnerability. Use Sia-UI or siac.");
        }
        let mut response = routes::respond(&mut daemon, head, target, facts, || self.is_authorized(facts));
        let files = u32::try_from(daemon.file_count()).unwrap_or(u32::MAX);
        let delay = self.config.delay_per_file.saturating_mul(files);
        response.delay_ms = u32::try_from(delay.as_millis()).unwrap_or(u32::MAX);
        response
    }

    fn daemon(&self) -> MutexGuard<'_, Daemon> {
        // A poisoned lock is still usable, because no code panics in the middle of a change.
        self.daemon.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a request has the password, if one is needed. Every user name is accepted.
    fn is_authorized(&self, facts: &RequestFacts<'_>) -> bool {
        let Some(password) = self.config.password.as_deref().filter(|password| !password.is_empty()) else {
            return true;
        };
        basic_password(facts.fields.authorization.as_deref()).as_deref() == Some(password)
    }
}

/// Returns the password from basic authentication.
pub(super) fn basic_password(authorization: Option<&[u8]>) -> Option<String> {
    let (scheme, encoded) = str::from_utf8(authorization?).ok()?.split_once(' ')?;
    let pair = STANDARD.decode(encoded).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let pair = String::from_utf8(pair).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_owned())
}

/// Creates the response to a request that failed.
fn failure(status: u16, message: &str) -> Response {
    #[derive(Serialize)]
    struct Failure<'a> {
        message: &'a str,
    }
    json_of_status(status, &Failure { message })
}

/// Creates the response with a document.
fn json(document: &impl Serialize) -> Response {
    json_of_status(200, document)
}

fn json_of_status(status: u16, document: &impl Serialize) -> Response {
    // All keys of the documents are strings, so serialization cannot fail.
    let text = serde_json::to_string(document).unwrap_or_default();
    let media = Media::Named("application/json; charset=utf-8".into());
    let accept_ranges = AcceptRanges::Omitted;
    go::without_length_beyond_buffer(Response { media, accept_ranges, ..Response::line(status, &text) })
}

/// Creates the response to a request that succeeded without a result.
fn success() -> Response {
    Response { accept_ranges: AcceptRanges::Omitted, ..Response::text(204, &b""[..]) }
}

#[cfg(test)]
mod tests;
