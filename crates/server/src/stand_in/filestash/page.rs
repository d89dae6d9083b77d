//! The page of the web application.

use wire::{Method, RequestHead};

use super::json::failure;
use crate::request::target::Target;
use crate::response::{Media, Response};
use crate::stand_in::go;

/// The size of the login page in the 2021 version, which was used for most measurements.
const LOGIN_BYTES: usize = 9352;
const LOGIN: &str =
    "<!doctype html><html><head><title>Filestash (stand-in)</title></head><body><form></form></body></html>";

/// Returns the response to a request that is not an API call. If the path belongs to the application, the response is
/// the page of the application.
pub(super) fn respond(head: &RequestHead, target: Target<'_>) -> Response {
    // The page does not support HEAD.
    if head.method != Method::Get {
        return failure(405, "Not Allowed");
    }
    let below = ["/s/", "/view/", "/files/", "/tags"].iter().any(|prefix| target.path.starts_with(prefix));
    if !below && !matches!(target.path, "/" | "/login" | "/logout" | "/healthz") {
        return failure(404, "Not Found");
    }
    if target.path == "/healthz" {
        return go::without_length_beyond_buffer(Response {
            media: Media::Named("application/json".into()),
            ..Response::text(200, &br#"{"status":"pass"}"#[..])
        });
    }
    let page = format!("{LOGIN:<LOGIN_BYTES$}").into_bytes();
    let mut response = Response { media: Media::Named("text/html".into()), ..Response::text(200, page) };
    for line in ["Cache-Control: no-cache", "Referrer-Policy: same-origin", "X-Content-Type-Options: nosniff"] {
        response.add_header(line);
    }
    go::without_length_beyond_buffer(response)
}
