//! Payloads of records.
//!
//! ```text
//! record            type  payload
//! session started      2  session, Unix time in ms
//! session ended        3  session, Unix time in ms, reason, text of a stop rule
//! intend               4  first, end - first
//! upload created       5  number, upload ID
//! upload gone          6  number, upload ID
//! acked                7  count, count × (number, attempts × 2 + found on resume, sent bytes, file bytes)
//! failed               8  count, count × (number, attempts, sent bytes, class, cause)
//! verified             9  count, count × (number, result, offset of damage)
//! deleted             10  count, count × number
//! rule changed        11  Unix time in ms, text
//! event               12  Unix time in ms, text
//! not deleted         13  count, count × number
//! alive               14  time since the start of the session in ms
//! unsettled           15  attempts, sent bytes
//! ```
//!
//! Numbers are LEB128. In a batch, each object number is a signed difference to the previous number. Types 0 and 1
//! belong to the segment.

use super::payload::{Fields, Malformed, put_bytes, put_number, put_signed};
use super::record::{
    AckedObject, BATCH_MAX, Evidence, FailedObject, NAME_BYTES_MAX, OBJECTS_MAX, Record, SessionEnd, TEXT_BYTES_MAX,
    UPLOAD_ID_BYTES_MAX, Unsettled, Verification, VerifiedObject,
};
use super::segment::put_record;

const SESSION_STARTED: u8 = 2;
const SESSION_ENDED: u8 = 3;
const INTEND: u8 = 4;
const UPLOAD_CREATED: u8 = 5;
const UPLOAD_GONE: u8 = 6;
const ACKED: u8 = 7;
const FAILED: u8 = 8;
const VERIFIED: u8 = 9;
const DELETED: u8 = 10;
const RULE_CHANGED: u8 = 11;
const EVENT: u8 = 12;
const NOT_DELETED: u8 = 13;
const ALIVE: u8 = 14;
const UNSETTLED: u8 = 15;

impl Record {
    /// Appends this record to `out`. A large batch becomes several records. Returns the next sequence number.
    pub(crate) fn put(&self, out: &mut Vec<u8>, seq: u64) -> u64 {
        match self {
            Self::Acked(batch) => put_batches(out, seq, ACKED, batch, |out, last, object| {
                put_after(out, last, object.number);
                let found = u64::from(object.evidence == Evidence::FoundOnResume);
                put_number(out, u64::from(object.attempts) << 1 | found);
                put_number(out, object.sent_bytes);
                put_number(out, object.file_bytes);
            }),
            Self::Failed(batch) => put_batches(out, seq, FAILED, batch, |out, last, object| {
                put_after(out, last, object.number);
                put_number(out, object.attempts.into());
                put_number(out, object.sent_bytes);
                put_text(out, &object.class, NAME_BYTES_MAX);
                put_text(out, &object.cause, NAME_BYTES_MAX);
            }),
            Self::Verified(batch) => put_batches(out, seq, VERIFIED, batch, |out, last, object| {
                put_after(out, last, object.number);
                put_verification(out, object.result);
            }),
            Self::Deleted(batch) | Self::NotDeleted(batch) => {
                put_batches(out, seq, self.kind(), batch, |out, last, number| put_after(out, last, *number))
            }
            single => {
                put_record(out, single.kind(), seq, |out| single.put_single(out));
                seq + 1
            }
        }
    }

    /// Parses a payload. Returns `None` if the type is unknown.
    ///
    /// # Errors
    /// Fails with the reason why the payload is not valid.
    pub(crate) fn parse(kind: u8, payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut fields = Fields::new(payload);
        let fields = &mut fields;
        let record = match kind {
            SESSION_STARTED => Self::SessionStarted { session: fields.u32()?, unix_ms: fields.number()? },
            SESSION_ENDED => {
                Self::SessionEnded { session: fields.u32()?, unix_ms: fields.number()?, reason: session_end(fields)? }
            }
            INTEND => intend(fields)?,
            UPLOAD_CREATED => Self::UploadCreated { number: object(fields)?, upload_id: upload_id(fields)? },
            UPLOAD_GONE => Self::UploadGone { number: object(fields)?, upload_id: upload_id(fields)? },
            ACKED => Self::Acked(batch(fields, acked)?),
            FAILED => Self::Failed(batch(fields, failed)?),
            VERIFIED => Self::Verified(batch(fields, verified)?),
            DELETED => Self::Deleted(batch(fields, |_, number| Ok(number))?),
            NOT_DELETED => Self::NotDeleted(batch(fields, |_, number| Ok(number))?),
            ALIVE => Self::Alive { active_ms: fields.number()? },
            UNSETTLED => Self::Unsettled(Unsettled { attempts: fields.number()?, sent_bytes: fields.number()? }),
            RULE_CHANGED => Self::RuleChanged { unix_ms: fields.number()?, text: fields.text(TEXT_BYTES_MAX)? },
            EVENT => Self::Event { unix_ms: fields.number()?, text: fields.text(TEXT_BYTES_MAX)? },
            _ => return Ok(None),
        };
        fields.end()?;
        Ok(Some(record))
    }

    fn kind(&self) -> u8 {
        match self {
            Self::SessionStarted { .. } => SESSION_STARTED,
            Self::SessionEnded { .. } => SESSION_ENDED,
            Self::Intend { .. } => INTEND,
            Self::UploadCreated { .. } => UPLOAD_CREATED,
            Self::UploadGone { .. } => UPLOAD_GONE,
            Self::Acked(_) => ACKED,
            Self::Failed(_) => FAILED,
            Self::Verified(_) => VERIFIED,
            Self::Deleted(_) => DELETED,
            Self::NotDeleted(_) => NOT_DELETED,
            Self::Alive { .. } => ALIVE,
            Self::Unsettled(_) => UNSETTLED,
            Self::RuleChanged { .. } => RULE_CHANGED,
            Self::Event { .. } => EVENT,
        }
    }

    fn put_single(&self, out: &mut Vec<u8>) {
        match self {
            Self::SessionStarted { session, unix_ms } => {
                put_number(out, (*session).into());
                put_number(out, *unix_ms);
            }
            Self::SessionEnded { session, unix_ms, reason } => {
                put_number(out, (*session).into());
                put_number(out, *unix_ms);
                put_session_end(out, reason);
            }
            Self::Intend { first, end } => {
                put_number(out, *first);
                put_number(out, end.saturating_sub(*first));
            }
            Self::UploadCreated { number, upload_id } | Self::UploadGone { number, upload_id } => {
                put_number(out, *number);
                put_bytes(out, upload_id.as_bytes());
            }
            Self::RuleChanged { unix_ms, text } | Self::Event { unix_ms, text } => {
                put_number(out, *unix_ms);
                put_text(out, text, TEXT_BYTES_MAX);
            }
            Self::Alive { active_ms } => put_number(out, *active_ms),
            Self::Unsettled(Unsettled { attempts, sent_bytes }) => {
                put_number(out, *attempts);
                put_number(out, *sent_bytes);
            }
            Self::Acked(_) | Self::Failed(_) | Self::Verified(_) | Self::Deleted(_) | Self::NotDeleted(_) => {
                unreachable!("batches are written by put")
            }
        }
    }
}

/// Appends a record for every [`BATCH_MAX`] objects. Returns the next sequence number.
fn put_batches<T>(
    out: &mut Vec<u8>,
    mut seq: u64,
    kind: u8,
    batch: &[T],
    put: impl Fn(&mut Vec<u8>, &mut u64, &T),
) -> u64 {
    for part in batch.chunks(BATCH_MAX) {
        put_record(out, kind, seq, |out| {
            put_number(out, part.len() as u64);
            let mut last = 0;
            part.iter().for_each(|object| put(out, &mut last, object));
        });
        seq += 1;
    }
    seq
}

/// Appends the difference of a number to the previous number. Both numbers are below [`OBJECTS_MAX`].
fn put_after(out: &mut Vec<u8>, last: &mut u64, number: u64) {
    put_signed(out, number.cast_signed().wrapping_sub(last.cast_signed()));
    *last = number;
}

/// Appends a text of at most `max` bytes. A longer text is cut after a whole character.
fn put_text(out: &mut Vec<u8>, text: &str, max: usize) {
    put_bytes(out, &text.as_bytes()[..text.floor_char_boundary(max)]);
}

fn put_session_end(out: &mut Vec<u8>, reason: &SessionEnd) {
    match reason {
        SessionEnd::Finished => put_number(out, 0),
        SessionEnd::Interrupted => put_number(out, 1),
        SessionEnd::StopRule { text } => {
            put_number(out, 2);
            put_text(out, text, TEXT_BYTES_MAX);
        }
        SessionEnd::TargetGone => put_number(out, 3),
        SessionEnd::DiskFull => put_number(out, 4),
        SessionEnd::Failed => put_number(out, 5),
        SessionEnd::Refused => put_number(out, 6),
    }
}

fn session_end(fields: &mut Fields<'_>) -> Result<SessionEnd, Malformed> {
    match fields.number()? {
        0 => Ok(SessionEnd::Finished),
        1 => Ok(SessionEnd::Interrupted),
        2 => Ok(SessionEnd::StopRule { text: fields.text(TEXT_BYTES_MAX)? }),
        3 => Ok(SessionEnd::TargetGone),
        4 => Ok(SessionEnd::DiskFull),
        5 => Ok(SessionEnd::Failed),
        6 => Ok(SessionEnd::Refused),
        _ => Err(Malformed("an unknown reason for the end of a session")),
    }
}

fn put_verification(out: &mut Vec<u8>, result: Verification) {
    match result {
        Verification::Good => put_number(out, 0),
        Verification::Missing => put_number(out, 1),
        Verification::Damaged { offset } => {
            put_number(out, 2);
            put_number(out, offset);
        }
        Verification::ChangedSource => put_number(out, 3),
        Verification::Unknown => put_number(out, 4),
    }
}

fn verified(fields: &mut Fields<'_>, number: u64) -> Result<VerifiedObject, Malformed> {
    let result = match fields.number()? {
        0 => Verification::Good,
        1 => Verification::Missing,
        2 => Verification::Damaged { offset: fields.number()? },
        3 => Verification::ChangedSource,
        4 => Verification::Unknown,
        _ => return Err(Malformed("an unknown result of a verification")),
    };
    Ok(VerifiedObject { number, result })
}

fn intend(fields: &mut Fields<'_>) -> Result<Record, Malformed> {
    let first = fields.number()?;
    let end = first.checked_add(fields.number()?).filter(|end| *end <= OBJECTS_MAX);
    Ok(Record::Intend { first, end: end.ok_or(TOO_HIGH)? })
}

const TOO_HIGH: Malformed = Malformed("an object number above the limit");

fn object(fields: &mut Fields<'_>) -> Result<u64, Malformed> {
    Some(fields.number()?).filter(|number| *number < OBJECTS_MAX).ok_or(TOO_HIGH)
}

fn upload_id(fields: &mut Fields<'_>) -> Result<String, Malformed> {
    fields.text(UPLOAD_ID_BYTES_MAX)
}

fn acked(fields: &mut Fields<'_>, number: u64) -> Result<AckedObject, Malformed> {
    let attempts = fields.number()?;
    let evidence = if attempts & 1 == 1 { Evidence::FoundOnResume } else { Evidence::Response };
    let attempts = u32::try_from(attempts >> 1).map_err(|_| Malformed("a number above 32 bits"))?;
    Ok(AckedObject { number, attempts, sent_bytes: fields.number()?, file_bytes: fields.number()?, evidence })
}

fn failed(fields: &mut Fields<'_>, number: u64) -> Result<FailedObject, Malformed> {
    Ok(FailedObject {
        number,
        attempts: fields.u32()?,
        sent_bytes: fields.number()?,
        class: fields.text(NAME_BYTES_MAX)?,
        cause: fields.text(NAME_BYTES_MAX)?,
    })
}

/// Reads a batch, which is never empty. Each entry begins with the difference to the previous number.
fn batch<T>(
    fields: &mut Fields<'_>,
    read: impl Fn(&mut Fields<'_>, u64) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = fields.count(BATCH_MAX)?;
    if count == 0 {
        return Err(Malformed("a batch without objects"));
    }
    let (mut objects, mut last) = (Vec::with_capacity(count), 0_u64);
    for _ in 0..count {
        let number = last.checked_add_signed(fields.signed()?).filter(|number| *number < OBJECTS_MAX);
        last = number.ok_or(TOO_HIGH)?;
        objects.push(read(fields, last)?);
    }
    Ok(objects)
}
