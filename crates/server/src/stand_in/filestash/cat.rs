//! `files/cat`: the content of a file. A `Range` is interpreted as in Filestash, which differs from the RFC.

use wire::{ByteRange, ContentRange};

use super::json::failure;
use super::sftp::{self, Login, RemoteFile, SftpError, SftpPool};
use crate::content::Content;
use crate::request::RequestFacts;
use crate::response::{Media, Response};

/// The size of the pieces that the backend writes, which equals the size of the buffer in Go's `io.Copy`.
const BUFFER_BYTES: u64 = 32 * 1024;

/// Returns the response for a path of the blackhole backend: `/N.bin`, with an optional `K`, `M` or `G` after the
/// number.
pub(super) fn blackhole_file(path: &str, facts: &RequestFacts<'_>) -> Response {
    let Some(size) = size(path) else { return failure(501, "Not Implemented") };
    // The backend writes only whole buffers. Go discards a write that exceeds the declared length, and closes the
    // connection.
    let Some(range) = facts.fields.range.as_deref() else {
        let mut response = Response::new(200, Content::Pattern, Some(size));
        let available = size - size % BUFFER_BYTES;
        response.body_faults.cut = (available < size).then_some(available);
        add_file_headers(&mut response);
        return response;
    };
    // For a range, Filestash first copies the file. The size of the copy is a multiple of the buffer.
    let size = size.next_multiple_of(BUFFER_BYTES);
    let mut response = match first_range(range, size) {
        Some((first, last)) => unchecked_slice(first, last, size),
        None => Response::new(200, Content::Pattern, Some(size)),
    };
    add_file_headers(&mut response);
    set_type_of_copy(&mut response);
    response
}

/// Returns the response for a file of an SFTP server.
///
/// # Errors
/// Fails if the SFTP server refuses, or if its connection fails.
pub(super) fn remote_file(
    path: &str,
    login: &Login,
    pool: &SftpPool,
    facts: &RequestFacts<'_>,
) -> Result<Response, SftpError> {
    let client = pool.client(login)?;
    let size = sftp::lock(&client).size(path)?;
    let handle = sftp::lock(&client).open_file(path)?;
    let asked = facts.fields.range.as_deref().and_then(|value| first_range(value, size));
    let slice = |next: u64, left: u64| Content::Source(Box::new(RemoteFile { client, handle, next, left }));
    let mut response = match asked {
        Some((first, last)) => {
            let length = last - first + 1;
            let available = size.saturating_sub(first).min(length);
            let mut response = Response::new(206, slice(first, available), Some(length));
            set_content_range(&mut response, (first, last), size);
            // The declared length includes bytes beyond the end of the file. The connection breaks off at the end of
            // the file.
            response.body_faults.cut = (available < length).then_some(available);
            response
        }
        None => Response::new(200, slice(0, size), Some(size)),
    };
    add_file_headers(&mut response);
    if facts.fields.range.is_some() {
        set_type_of_copy(&mut response);
    }
    Ok(response)
}

/// Adds the header fields of all files.
fn add_file_headers(response: &mut Response) {
    response.media = Media::Named("application/octet-stream".into());
    response.add_header(
        "Content-Security-Policy: default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; font-src data:; script-src-elem 'self'",
    );
    response.add_header("Set-Cookie: download=; Path=/; Max-Age=0");
    response.add_header("Vary: Accept");
}

/// Sets the media type of API calls. Ranges have this type because Filestash reads them from its copy of the file. (The
/// first request for a range of a file creates the copy, and the response to it has the type of the file. The stand-in
/// does not imitate this exception.)
fn set_type_of_copy(response: &mut Response) {
    response.media = Media::Named("application/json".into());
}

/// Returns a range without checking its end. The declared length includes bytes beyond the end of the file. The
/// connection breaks off at the end of the file.
fn unchecked_slice(first: u64, last: u64, size: u64) -> Response {
    let length = last - first + 1;
    let available = size.saturating_sub(first).min(length);
    let mut response = Response::new(206, Content::Pattern, Some(length));
    response.first = first;
    set_content_range(&mut response, (first, last), size);
    response.body_faults.cut = (available < length).then_some(available);
    response
}

/// Sets `Content-Range`, even if it is not valid.
fn set_content_range(response: &mut Response, (first, last): (u64, u64), size: u64) {
    match ByteRange::new(first, last).and_then(|range| ContentRange::of(range, Some(size))) {
        Some(range) => response.content_range = Some(range),
        None => response.add_header(&format!("Content-Range: bytes {first}-{last}/{size}")),
    }
}

/// Parses the first range like Filestash: `-5` means `0-5`, not the last five bytes.
fn first_range(value: &[u8], size: u64) -> Option<(u64, u64)> {
    let text = str::from_utf8(value).ok()?;
    let list = text.strip_prefix("bytes=").unwrap_or(text);
    list.split(',').map(str::trim).find_map(|range| {
        let mut sides = range.split('-');
        let (Some(first), Some(last), None) = (sides.next(), sides.next(), sides.next()) else { return None };
        let first: u64 = first.parse().unwrap_or(0);
        let last = last.parse().ok().filter(|last| *last >= first).or(size.checked_sub(1))?;
        (last >= first && last < u64::MAX).then_some((first, last))
    })
}

/// Returns the size in the name of a blackhole file.
fn size(path: &str) -> Option<u64> {
    let name = path.strip_prefix('/').unwrap_or(path).strip_suffix(".bin")?;
    let units = [('K', 1_u64 << 10), ('M', 1 << 20), ('G', 1 << 30)];
    let unit = units.into_iter().find_map(|(letter, factor)| Some((name.strip_suffix(letter)?, factor)));
    let (number, factor) = unit.unwrap_or((name, 1));
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_parse_like_those_of_filestash() {
        for (text, range) in [
            ("bytes=0-9", Some((0, 9))),
            ("bytes=5-", Some((5, 99))),
            ("bytes=-5", Some((0, 5))),
            ("bytes=9-3", Some((9, 99))),
            ("bytes=0-1, 50-60", Some((0, 1))),
            ("bytes=90-200", Some((90, 200))),
            ("bytes=", None),
            ("bytes=1-2-3", None),
            ("bytes=100-", None),
        ] {
            assert_eq!(first_range(text.as_bytes(), 100), range, "{text}");
        }
    }

    #[test]
    fn names_state_sizes() {
        let cases =
            [("/7.bin", Some(7)), ("3K.bin", Some(3072)), ("/1G.bin", Some(1 << 30)), ("/x.bin", None), ("/1M", None)];
        for (path, bytes) in cases {
            assert_eq!(size(path), bytes, "{path}");
        }
    }
}
