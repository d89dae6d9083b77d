//! Reader of the segments of a journal.

use super::record::Record;
use super::segment::{
    Group, HEADER_BYTES, Header, HeaderFlaw, Previous, RecordReader, SEGMENT_BYTES_MAX, Step, is_control, put_record,
};
use super::source::Source;
use crate::error::{StoreError, StoreErrorKind};
use crate::fill_directory::FillError;
use std::io::Read;
use std::path::PathBuf;

/// A record with its position in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Sequence number: 0 for the first record, without gaps.
    pub seq: u64,
    /// Wall time at which the record was written, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The record.
    pub record: Record,
}

/// Sizes of a journal and of the invalid parts that a crash or a failing disk left in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Number of segments.
    pub segments: u64,
    /// Number of records.
    pub records: u64,
    /// Size of the valid parts of all segments.
    pub bytes: u64,
    /// Size of the incomplete end that the last session was writing when it was killed.
    pub torn_bytes: u64,
    /// Number of bytes that are not part of the journal. These bytes follow a failed write or sync in a segment, or are
    /// a segment that never became part of the journal.
    pub abandoned_bytes: u64,
}

/// The end of a journal, where the next segment continues.
#[derive(Default)]
pub(crate) struct Tip {
    /// The part of the last segment that is known to be on the disk.
    pub(crate) previous: Option<Previous>,
    /// The complete records that follow `previous`. If their sync failed, or the session was killed before the sync,
    /// these records may be only in the kernel's memory, and not on the disk.
    pub(crate) tail: Vec<u8>,
    /// Sequence number of the first record of the tail.
    pub(crate) tail_seq: u64,
    /// Wall time at which the tail was written, in milliseconds since 1970.
    pub(crate) tail_unix_ms: u64,
    /// Files at the end that are not part of the journal.
    pub(crate) unused_files: Vec<PathBuf>,
    /// The number for the next segment, above the numbers of all files.
    pub(crate) next_number: u64,
    pub(crate) next_seq: u64,
}

/// A segment of the journal. `valid_bytes` is the size of its valid part, if a later segment states this size.
struct Link<'a, 'b> {
    source: &'b Source<'a>,
    header: Header,
    valid_bytes: Option<u64>,
}

/// Reads all records of sorted segments. `identity` is the hash of the fill's identity, if known.
pub(crate) fn read(
    sources: &[Source<'_>],
    identity: Option<&[u8; 32]>,
    mut visit: impl FnMut(Entry),
) -> Result<(Extent, Tip), StoreError> {
    let next_number = sources.last().map_or(1, |last| last.number.saturating_add(1));
    let (mut extent, mut tip) = (Extent::default(), Tip { next_number, ..Tip::default() });
    for link in chain(sources, identity, &mut extent, &mut tip)? {
        let valid = read_segment(&link, &mut tip, &mut visit)?;
        let rest = link.source.bytes.saturating_sub(valid);
        extent.segments += 1;
        extent.bytes += valid;
        match link.valid_bytes {
            Some(_) => extent.abandoned_bytes += rest,
            None => extent.torn_bytes += rest,
        }
    }
    extent.records = tip.next_seq;
    Ok((extent, tip))
}

/// Follows the headers from the last segment back to the first. Returns the segments in order, from the first to the
/// last.
fn chain<'a, 'b>(
    sources: &'b [Source<'a>],
    identity: Option<&[u8; 32]>,
    extent: &mut Extent,
    tip: &mut Tip,
) -> Result<Vec<Link<'a, 'b>>, StoreError> {
    let mut links = Vec::<Link<'a, 'b>>::new();
    let mut rest = sources;
    while let Some((source, before)) = rest.split_last() {
        rest = before;
        let previous = links.last().map(|link| link.header.previous);
        match previous {
            // The first segment is known, so earlier files are not part of the journal.
            Some(None) => extent.abandoned_bytes += source.bytes,
            Some(Some(previous)) if source.number > previous.number => extent.abandoned_bytes += source.bytes,
            Some(Some(previous)) if source.number < previous.number => return Err(missing(&links, previous.number)),
            Some(Some(previous)) => {
                links.push(Link { source, header: header(source, identity)?, valid_bytes: Some(previous.bytes) });
            }
            // No valid segment was found yet. A crash can have cut off several segments in a row.
            None => match committed(source, identity) {
                Ok(Some(header)) => links.push(Link { source, header, valid_bytes: None }),
                // Another session has removed the segment in the meantime.
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(error),
                Ok(None) => {
                    extent.torn_bytes += source.bytes;
                    tip.unused_files.push(source.path.clone());
                }
            },
        }
    }
    if let Some(previous) = links.last().and_then(|link| link.header.previous) {
        return Err(missing(&links, previous.number));
    }
    links.reverse();
    Ok(links)
}

fn missing(links: &[Link<'_, '_>], number: u64) -> StoreError {
    let directory = links.last().and_then(|link| link.source.path.parent()).map_or_else(PathBuf::new, PathBuf::from);
    StoreError::new(&super::source::segment_path(&directory, number), FillError::MissingSegment)
}

/// Reads the header of a segment that may be the last one. Returns `None` if a crash cut the segment off before it
/// became valid.
fn committed(source: &Source<'_>, identity: Option<&[u8; 32]>) -> Result<Option<Header>, StoreError> {
    if source.bytes <= HEADER_BYTES as u64 && source.header()? == Err(HeaderFlaw::Broken) {
        return Ok(None);
    }
    let header = header(source, identity)?;
    let last_needed = header.committed_from.max(header.seq.saturating_add(1)) - 1;
    let mut reader = RecordReader::new(source.open(0)?.take(SEGMENT_BYTES_MAX), 0);
    loop {
        match reader.next().map_err(|error| source.error(error))? {
            Step::Record { kind, seq, .. } if seq >= last_needed && !is_control(kind) => return Ok(Some(header)),
            Step::Record { .. } => {}
            Step::End { .. } => return Ok(None),
            Step::Bad { at_byte, flaw } if was_durable(source, at_byte)? => return Err(source.damaged(at_byte, flaw)),
            Step::Bad { .. } => return Ok(None),
        }
    }
}

/// Reads and checks a header.
fn header(source: &Source<'_>, identity: Option<&[u8; 32]>) -> Result<Header, StoreError> {
    let header = source.header()?.map_err(|flaw| match flaw {
        HeaderFlaw::Broken => source.damaged(0, "no valid header of a segment"),
        HeaderFlaw::Foreign => source.damaged(0, "not the header of a segment"),
        HeaderFlaw::Format(found) => {
            source.error(StoreErrorKind::Format { found: found.into(), readable: super::segment::FORMAT })
        }
    })?;
    if identity.is_some_and(|identity| *identity != header.identity) {
        return Err(source.error(FillError::OtherFill));
    }
    if header.number != source.number || header.previous.is_some_and(|previous| previous.number >= header.number) {
        return Err(source.damaged(0, "a header with the wrong segment number"));
    }
    Ok(header)
}

/// Reads the records of a segment. Returns the size of its valid part.
fn read_segment(link: &Link<'_, '_>, tip: &mut Tip, visit: &mut impl FnMut(Entry)) -> Result<u64, StoreError> {
    let Link { source, header, valid_bytes } = link;
    let limit = check_size(link, tip.next_seq)?;
    let mut reader = RecordReader::new(source.open(0)?.take(limit), 0);
    let mut group = None;
    loop {
        let (kind, payload, at_byte, seq) = match reader.next().map_err(|error| source.error(error))? {
            Step::Record { kind, payload, at_byte, seq } => (kind, payload, at_byte, seq),
            Step::End { at_byte } => return Ok(at_byte),
            Step::Bad { at_byte, flaw } if valid_bytes.is_some() || was_durable(source, at_byte)? => {
                return Err(source.damaged(at_byte, flaw));
            }
            Step::Bad { at_byte, .. } => return Ok(at_byte),
        };
        if seq != tip.next_seq {
            return Err(source.damaged(at_byte, "a record out of sequence"));
        }
        if at_byte == 0 {
            continue;
        }
        if let Some(begun) = Group::of(kind, payload) {
            let begun = begun.map_err(|flaw| source.damaged(at_byte, flaw.0))?;
            group = Some(begun);
            tip.previous = Some(Previous { number: header.number, bytes: at_byte });
            (tip.tail_seq, tip.tail_unix_ms) = (seq, begun.unix_ms);
            tip.tail.clear();
            continue;
        }
        let Some(Group { unix_ms, .. }) = group else {
            return Err(source.damaged(at_byte, "a record outside of a group"));
        };
        let record = Record::parse(kind, payload).map_err(|flaw| source.damaged(at_byte, flaw.0))?;
        let record = record.ok_or_else(|| source.error(FillError::UnknownRecord { kind, at_byte }))?;
        put_record(&mut tip.tail, kind, seq, |out| out.extend_from_slice(payload));
        visit(Entry { seq, unix_ms, record });
        tip.next_seq += 1;
    }
}

/// Checks that a segment continues the previous segment. Returns the size of the part to read.
fn check_size(link: &Link<'_, '_>, next_seq: u64) -> Result<u64, StoreError> {
    let Link { source, header, valid_bytes } = link;
    if header.seq != next_seq {
        return Err(source.damaged(0, "a segment that does not continue the one before"));
    }
    let limit = valid_bytes.unwrap_or(source.bytes);
    if limit > SEGMENT_BYTES_MAX {
        return Err(source.damaged(SEGMENT_BYTES_MAX, "a segment above the size limit"));
    }
    if source.bytes < limit {
        return Err(source.damaged(source.bytes, "the end of the file, although more was synced"));
    }
    Ok(limit)
}

/// Returns whether a later group of records states that the bytes at this offset were on the disk.
fn was_durable(source: &Source<'_>, at_byte: u64) -> Result<bool, StoreError> {
    let mut rest = Vec::new();
    let read = source.open(at_byte)?.take(SEGMENT_BYTES_MAX).read_to_end(&mut rest);
    read.map_err(|error| source.error(error))?;
    Ok(Group::search(&rest, at_byte).is_some_and(|durable| durable > at_byte))
}
