//! `cat`: a file's content, with Filestash's own way of reading a `Range`.

use wire::{ByteRange, ContentRange};

use super::sftp::{self, Failed, Login, Pool, Slice};
use super::{failure, header};
use crate::answer::{Answer, Content, Facts, Media};
use crate::stand_in::make::{Segment, Segments};

/// The answer for a path of the blackhole: `/N.bin`, or with `K`, `M` or `G` behind the number.
pub(super) fn serve(path: &str, facts: &Facts<'_>) -> Answer {
    let Some(size) = size(path) else { return failure(501, "Not Implemented") };
    let mut answer = match facts.fields.range.as_deref().and_then(|value| first_range(value, size)) {
        Some((first, last)) => part(first, last, size),
        // Without a range nobody asks for the length: the content goes out in chunks. With one that is no range, it is.
        None if facts.fields.range.is_some() => Answer::of(200, Content::Pattern, Some(size)),
        None => stream(size),
    };
    decorate(&mut answer);
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
            answer
        }
        None => Answer::of(200, slice(0, size), None),
    };
    decorate(&mut answer);
    Ok(answer)
}

fn decorate(answer: &mut Answer) {
    answer.media = Media::Named("application/octet-stream".into());
    header(
        answer,
        "Content-Security-Policy: default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; font-src data:; script-src-elem 'self'",
    );
    header(answer, "Set-Cookie: download=; Path=/; Max-Age=0");
}

fn stream(size: u64) -> Answer {
    let segment = match ByteRange::of_length(0, size) {
        Some(range) => Segment::Pattern(range),
        None => Segment::Text(Vec::new()),
    };
    let (content, _) = Segments::content(vec![segment]);
    Answer::of(200, content, None)
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
