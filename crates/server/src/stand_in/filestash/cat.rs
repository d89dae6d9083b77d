//! `cat`: a file's content, with Filestash's own way of reading a `Range`.

use wire::{ByteRange, ContentRange};

use super::sftp::{self, Failed, Login, Pool, Slice};
use super::{failure, header};
use crate::answer::{Answer, Content, Facts, Media};

/// What the backend gives at once: the buffer of Go's `io.Copy`.
const BUFFER_BYTES: u64 = 32 * 1024;

/// The answer for a path of the blackhole: `/N.bin`, or with `K`, `M` or `G` behind the number.
pub(super) fn serve(path: &str, facts: &Facts<'_>) -> Answer {
    let Some(size) = size(path) else { return failure(501, "Not Implemented") };
    // The backend gives whole buffers only. Go drops a write that passes the promised length, and closes.
    let Some(range) = facts.fields.range.as_deref() else {
        let mut answer = Answer::of(200, Content::Pattern, Some(size));
        let there = size - size % BUFFER_BYTES;
        answer.spoil.cut = (there < size).then_some(there);
        decorate(&mut answer);
        return answer;
    };
    // For ranges the file was copied first, in whole buffers.
    let size = size.next_multiple_of(BUFFER_BYTES);
    let mut answer = match first_range(range, size) {
        Some((first, last)) => part(first, last, size),
        None => Answer::of(200, Content::Pattern, Some(size)),
    };
    decorate(&mut answer);
    of_copy(&mut answer);
    answer
}

/// The answer for a file of an SFTP server.
pub(super) fn remote(path: &str, login: &Login, pool: &Pool, facts: &Facts<'_>) -> Result<Answer, Failed> {
    let client = pool.client(login)?;
    let size = sftp::lock(&client).size(path)?;
    let handle = sftp::lock(&client).open_file(path)?;
    let asked = facts.fields.range.as_deref().and_then(|value| first_range(value, size));
    let slice = |next: u64, left: u64| Content::Source(Box::new(Slice { client, handle, next, left }));
    let mut answer = match asked {
        Some((first, last)) => {
            let length = last - first + 1;
            let there = size.saturating_sub(first).min(length);
            let mut answer = Answer::of(206, slice(first, there), Some(length));
            tell_range(&mut answer, (first, last), size);
            // What lies beyond the file is promised, and the connection breaks off where it ends.
            answer.spoil.cut = (there < length).then_some(there);
            answer
        }
        None => Answer::of(200, slice(0, size), Some(size)),
    };
    decorate(&mut answer);
    if facts.fields.range.is_some() {
        of_copy(&mut answer);
    }
    Ok(answer)
}

fn decorate(answer: &mut Answer) {
    answer.media = Media::Named("application/octet-stream".into());
    header(
        answer,
        "Content-Security-Policy: default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; font-src data:; script-src-elem 'self'",
    );
    header(answer, "Set-Cookie: download=; Path=/; Max-Age=0");
    header(answer, "Vary: Accept");
}

/// Ranges come from a copy of the file, whose type is that of API calls. (The first range of a file, which makes the copy, still
/// has the type of the file: not played.)
fn of_copy(answer: &mut Answer) {
    answer.media = Media::Named("application/json".into());
}

/// A slice whose end is not checked: what lies beyond the file is promised, and the connection breaks off where the
/// content ends.
fn part(first: u64, last: u64, size: u64) -> Answer {
    let length = last - first + 1;
    let there = size.saturating_sub(first).min(length);
    let mut answer = Answer::of(206, Content::Pattern, Some(length));
    answer.first = first;
    tell_range(&mut answer, (first, last), size);
    answer.spoil.cut = (there < length).then_some(there);
    answer
}

fn tell_range(answer: &mut Answer, (first, last): (u64, u64), size: u64) {
    match ByteRange::new(first, last).and_then(|range| ContentRange::of(range, Some(size))) {
        Some(range) => answer.content_range = Some(range),
        None => header(answer, &format!("Content-Range: bytes {first}-{last}/{size}")),
    }
}

/// The first range, read as Filestash reads it: `-5` is not the last five bytes but `0-5`.
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
    fn ranges_are_read_as_filestash_reads_them() {
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
    fn names_tell_sizes() {
        let cases =
            [("/7.bin", Some(7)), ("3K.bin", Some(3072)), ("/1G.bin", Some(1 << 30)), ("/x.bin", None), ("/1M", None)];
        for (path, bytes) in cases {
            assert_eq!(size(path), bytes, "{path}");
        }
    }
}
