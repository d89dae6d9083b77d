//! JSON responses in the format of Filestash.

use crate::response::{Media, Response};
use crate::stand_in::go;

// Go's encoder indents by four spaces.
pub(super) const I1: &str = "    ";
pub(super) const I2: &str = "        ";
pub(super) const I3: &str = "            ";
pub(super) const I4: &str = "                ";

/// Creates the response to a call without a result.
pub(super) fn ok() -> Response {
    json(200, &format!("{{\n{I1}\"status\": \"ok\"\n}}"))
}

/// Creates a response whose result has these fields. Each value is already JSON.
pub(super) fn result(fields: &[(&str, String)]) -> Response {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{I2}\"{name}\": {value}")).collect();
    let fields = fields.join(",\n");
    json(200, &format!("{{\n{I1}\"status\": \"ok\",\n{I1}\"result\": {{\n{fields}\n{I1}}}\n}}"))
}

/// Creates the response to a call that failed.
pub(super) fn failure(status: u16, message: &str) -> Response {
    json(status, &format!("{{\n{I1}\"status\": \"error\",\n{I1}\"message\": \"{message}\"\n}}"))
}

/// Creates a JSON response with the line end that Go's encoder writes.
pub(super) fn json(status: u16, text: &str) -> Response {
    let mut response = Response { media: Media::Named("application/json".into()), ..Response::line(status, text) };
    for line in ["Cache-Control: no-cache", "X-Content-Type-Options: nosniff"] {
        response.add_header(line);
    }
    go::without_length_beyond_buffer(response)
}
