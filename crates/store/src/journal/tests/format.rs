//! The format: round trips, limits, other versions, and a fixed example.

use super::samples::{acked, record};
use crate::error::{StoreError, StoreErrorKind};
use crate::fill_directory::FillError;
use crate::journal::record::{
    BATCH_MAX, FailedObject, NAME_BYTES_MAX, OBJECTS_MAX, Record, SessionEnd, TEXT_BYTES_MAX, Unsettled, Verification,
    VerifiedObject,
};
use crate::journal::replay::replay_sources;
use crate::journal::segment::{Group, Header, Previous, RecordReader, Step, put_record};
use crate::journal::source::{Source, segment_path};
use crate::journal::{FillState, Gap, Replay, replay_bytes};
use proptest::prelude::*;
use std::path::Path;

const IDENTITY: [u8; 32] = [7; 32];

fn header(number: u64, previous: Option<Previous>, seq: u64) -> Vec<u8> {
    Header { identity: IDENTITY, number, previous, seq, committed_from: seq }.encode()
}

/// Returns a segment whose header is followed by these frames.
fn segment(number: u64, previous: Option<Previous>, seq: u64, frames: &[u8]) -> Vec<u8> {
    let header = header(number, previous, seq);
    let group = Group { durable_bytes: header.len() as u64, unix_ms: 5 }.encode(seq);
    [header.as_slice(), &group, frames].concat()
}

fn frames(records: &[Record]) -> Vec<u8> {
    frames_from(0, records)
}

fn frames_from(seq: u64, records: &[Record]) -> Vec<u8> {
    let mut out = Vec::new();
    records.iter().fold(seq, |seq, record| record.put(&mut out, seq));
    out
}

fn replay(bytes: &[u8]) -> Result<Replay, StoreError> {
    replay_bytes(&[bytes], Some(&IDENTITY))
}

fn kind(bytes: &[u8]) -> StoreErrorKind {
    replay(bytes).unwrap_err().kind
}

/// Decodes framed records.
fn decode(bytes: &[u8]) -> Vec<Record> {
    let mut reader = RecordReader::new(bytes, 0);
    let mut records = Vec::new();
    while let Step::Record { kind, payload, seq, .. } = reader.next().unwrap() {
        assert_eq!(seq, records.len() as u64);
        records.push(Record::parse(kind, payload).unwrap().unwrap());
    }
    records
}

proptest! {
    #[test]
    fn records_round_trip(records in prop::collection::vec(record(), 0..20)) {
        prop_assert_eq!(decode(&frames(&records)), records);
    }

    #[test]
    fn any_payload_is_parsed_or_refused(kind in 2_u8..17, payload in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(Some(record)) = Record::parse(kind, &payload) {
            FillState::default().apply(&record, 0);
            prop_assert_eq!(decode(&frames(std::slice::from_ref(&record))), [record]);
        }
    }
}

#[test]
fn a_fixed_example_stays_readable() {
    // The format is as written by version 1. If this test fails, the format needs a new version.
    let records = [
        Record::SessionStarted { session: 1, unix_ms: 1_795_228_200_000 },
        Record::Intend { first: 0, end: 1000 },
        Record::UploadCreated { number: 3, upload_id: "id".to_owned() },
        Record::Acked(vec![acked(7), acked(3)]),
        Record::Failed(vec![FailedObject {
            number: 4,
            attempts: 2,
            sent_bytes: 300,
            class: "reset".to_owned(),
            cause: "reset_in_body".to_owned(),
        }]),
        Record::Verified(vec![
            VerifiedObject { number: 3, result: Verification::Damaged { offset: 129 } },
            VerifiedObject { number: 7, result: Verification::Good },
        ]),
        Record::Deleted(vec![7]),
        Record::SessionEnded {
            session: 1,
            unix_ms: 1_795_228_201_000,
            reason: SessionEnd::StopRule { text: "x".into() },
        },
    ];
    let bytes = segment(1, None, 0, &frames(&records));
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, include_str!("example.hex").replace(char::is_whitespace, ""));
    let state = replay(&bytes).unwrap().state;
    assert_eq!(state.completed.iter().collect::<Vec<_>>(), [3, 7]);
}

#[test]
fn a_large_batch_becomes_several_records() {
    let batch: Vec<_> = (0..2 * BATCH_MAX as u64 + 1).map(acked).collect();
    let records = decode(&frames(&[Record::Acked(batch.clone())]));
    let parts: Vec<_> =
        records.iter().map(|record| if let Record::Acked(part) = record { part.len() } else { 0 }).collect();
    assert_eq!(parts, [BATCH_MAX, BATCH_MAX, 1]);
    assert!(frames(&[Record::Acked(Vec::new())]).is_empty());
    // Consecutive numbers take one byte each, so the acknowledgement of an object of about 1 MB takes ten bytes.
    assert!(frames(&[Record::Acked(batch)]).len() < 2 * BATCH_MAX * 10);
}

#[test]
fn the_largest_batch_fits_into_a_record() {
    let long = "x".repeat(NAME_BYTES_MAX);
    let object = |index: usize| FailedObject {
        number: if index.is_multiple_of(2) { 0 } else { OBJECTS_MAX - 1 },
        attempts: u32::MAX,
        sent_bytes: u64::MAX,
        class: long.clone(),
        cause: long.clone(),
    };
    let record = Record::Failed((0..BATCH_MAX).map(object).collect());
    assert_eq!(decode(&frames(std::slice::from_ref(&record))), [record]);
}

#[test]
fn long_texts_are_cut_at_the_end_of_a_character() {
    let text = format!("x{}", "€".repeat(TEXT_BYTES_MAX));
    let [Record::Event { text: cut, .. }] = &decode(&frames(&[Record::Event { unix_ms: 0, text: text.clone() }]))[..]
    else {
        panic!("another record");
    };
    assert!(text.starts_with(cut) && cut.len() > TEXT_BYTES_MAX - 4 && cut.len() <= TEXT_BYTES_MAX, "{}", cut.len());
}

#[test]
fn records_of_newer_versions_are_refused_by_their_type() {
    let mut frames = frames(&[Record::Intend { first: 0, end: 9 }]);
    put_record(&mut frames, 77, 1, |out| out.extend_from_slice(b"whatever"));
    let error = replay(&segment(1, None, 0, &frames)).unwrap_err();
    let at_byte = 93 + 33 + 17 + 2;
    assert!(
        matches!(error.kind, StoreErrorKind::Fill(FillError::UnknownRecord { kind: 77, at_byte: at }) if at == at_byte)
    );
    let reason = format!(
        "000001.wal: a newer version wrote the record of unknown type 77 at byte {at_byte}; \
                          resume the fill with that version"
    );
    assert_eq!(error.to_string(), reason);
}

#[test]
fn segments_of_other_formats_fills_and_programs_are_refused() {
    let bytes = segment(1, None, 0, &[]);
    let mut newer = Vec::new();
    put_record(&mut newer, 0, 0, |out| {
        out.extend_from_slice(b"fill-wal");
        out.extend_from_slice(&9_u32.to_le_bytes());
        out.extend_from_slice(b"other fields than today");
    });
    assert!(matches!(kind(&newer), StoreErrorKind::Format { found: 9, readable: 1 }));
    let other = replay_bytes(&[&bytes], Some(&[8; 32])).unwrap_err();
    assert!(matches!(other.kind, StoreErrorKind::Fill(FillError::OtherFill)));
    replay_bytes(&[&bytes], None).unwrap();
    for foreign in [&b"GIF89a"[..], &[b'x'; 500]] {
        // A crash can leave a file that is shorter than a header.
        assert_eq!(replay(foreign).is_ok(), foreign.len() < 93);
    }
    assert!(matches!(kind(&segment(3, None, 0, &[])), StoreErrorKind::Fill(FillError::Damaged { at_byte: 0, .. })));
}

#[test]
fn invalid_records_are_damage_even_at_the_end() {
    let too_high = |kind: u8, payload: &[u8]| {
        let mut frames = Vec::new();
        put_record(&mut frames, kind, 0, |out| out.extend_from_slice(payload));
        matches!(kind_of(&segment(1, None, 0, &frames)), StoreErrorKind::Fill(FillError::Damaged { at_byte: 126, .. }))
    };
    let number = [0x80, 0x80, 0x80, 0x80, 0x10];
    assert!(too_high(4, &[&[0][..], &[0x81, 0x80, 0x80, 0x80, 0x10]].concat()), "an intent above the limit");
    assert!(too_high(5, &[&number[..], &[0]].concat()), "an upload of a number above the limit");
    assert!(too_high(10, &[1, 1]), "a number below zero");
    assert!(too_high(10, &[2, 0]), "fewer objects than announced");
    assert!(too_high(10, &[1, 0, 0]), "more bytes than announced");
    assert!(too_high(3, &[1, 1, 9]), "an unknown reason");
    let outside = [header(1, None, 0), frames(&[Record::Deleted(vec![1])])];
    assert!(matches!(kind(&outside.concat()), StoreErrorKind::Fill(FillError::Damaged { at_byte: 93, .. })));
}

fn kind_of(bytes: &[u8]) -> StoreErrorKind {
    kind(bytes)
}

#[test]
fn a_missing_segment_is_named() {
    let more = frames_from(1, &[Record::Deleted(vec![2])]);
    let first = segment(1, None, 0, &frames(&[Record::Deleted(vec![1])]));
    let previous = Previous { number: 1, bytes: first.len() as u64 };
    let second = segment(2, Some(previous), 1, &more);
    assert_eq!(replay_bytes(&[&first, &second], None).unwrap().state.deleted.len(), 2);
    let named = |number, bytes| Source::from_bytes(&segment_path(Path::new("j"), number), number, bytes);
    let alone = replay_sources(&[named(2, &second)], None).err().unwrap().to_string();
    assert!(alone.starts_with("j/000001.wal: missing, although a later segment exists"), "{alone}");
    let third = segment(3, Some(Previous { number: 2, bytes: 126 }), 1, &more);
    let hole = replay_sources(&[named(1, &first), named(3, &third)], None).err().unwrap().to_string();
    assert!(hole.starts_with("j/000002.wal: missing, although a later segment exists"), "{hole}");
    let emptied = replay_bytes(&[&first, &[], &third], None).unwrap_err();
    assert!(matches!(emptied.kind, StoreErrorKind::Fill(FillError::Damaged { at_byte: 0, .. })), "{emptied}");
    let itself = segment(1, Some(previous), 1, &more);
    assert!(matches!(kind(&itself), StoreErrorKind::Fill(FillError::Damaged { at_byte: 0, .. })));
}

#[test]
fn a_segment_counts_once_it_has_what_it_repeats() {
    let records: Vec<Record> = (0..4).map(|number| Record::Deleted(vec![number])).collect();
    let first = segment(1, None, 0, &frames(&records[..3]));
    let previous = Some(Previous { number: 1, bytes: 93 });
    let header = Header { identity: IDENTITY, number: 2, previous, seq: 0, committed_from: 3 }.encode();
    let group = Group { durable_bytes: 93, unix_ms: 5 }.encode(0);
    let second = [header, group, frames(&records)].concat();
    let record_bytes = frames(&records[..1]).len();
    let mut counts = Vec::new();
    for len in 0..=second.len() {
        let replay =
            replay_bytes(&[&first, &second[..len]], None).unwrap_or_else(|error| panic!("{len} bytes: {error}"));
        assert_eq!(replay.state.deleted.len(), if len < second.len() { 3 } else { 4 }, "{len} bytes");
        assert!(replay.extent.segments == 1 || replay.extent.abandoned_bytes > 0, "{len} bytes");
        counts.push(replay.extent.segments);
    }
    // The second segment becomes part of the journal as soon as it contains everything except its own record.
    assert_eq!(counts.iter().position(|count| *count == 2), Some(second.len() - record_bytes));
}

#[test]
fn state_follows_the_records() {
    let fail = |number| FailedObject {
        number,
        attempts: 4,
        sent_bytes: 50,
        class: "timeout_idle".to_owned(),
        cause: "no_data".to_owned(),
    };
    let verify = |number, result| VerifiedObject { number, result };
    let records = [
        Record::SessionStarted { session: 1, unix_ms: 1000 },
        Record::Intend { first: 0, end: 10 },
        Record::Acked(vec![acked(1), acked(2), acked(7)]),
        Record::Failed(vec![fail(3), fail(4)]),
        Record::Event { unix_ms: 1500, text: "the target restarted".to_owned() },
        Record::SessionStarted { session: 2, unix_ms: 9000 },
        Record::RuleChanged { unix_ms: 9000, text: "at least 50 Mbit/s".to_owned() },
        Record::Acked(vec![acked(3), acked(2), acked(12)]),
        Record::Verified(vec![verify(1, Verification::Missing), verify(2, Verification::Damaged { offset: 9 })]),
        Record::Verified(vec![verify(1, Verification::Good), verify(2, Verification::Damaged { offset: 8 })]),
        Record::Deleted(vec![1]),
        Record::SessionEnded { session: 2, unix_ms: 9500, reason: SessionEnd::Interrupted },
    ];
    let mut state = FillState::default();
    records.iter().for_each(|record| state.apply(record, 2000));

    assert_eq!(state.completed.iter().collect::<Vec<_>>(), [1, 2, 3, 7, 12]);
    assert_eq!(state.in_doubt().collect::<Vec<_>>(), [0, 4, 5, 6, 8, 9]);
    assert_eq!(state.in_doubt_count(), 6);
    assert_eq!((state.duplicates, state.unintended), (1, 1), "2 was stored twice, 12 without an intent");
    assert_eq!(state.failed.iter().collect::<Vec<_>>(), [4], "3 was stored later");
    assert_eq!(state.failures[&("timeout_idle".to_owned(), "no_data".to_owned())], 2);
    let expected: u64 = [1, 2, 3, 7, 12].iter().map(|number| acked(*number).sent_bytes).sum();
    let totals = state.totals;
    assert_eq!((totals.objects, totals.sent_bytes, totals.failed_uploads), (5, expected + 100, 2));
    assert_eq!((totals.file_bytes, totals.found_on_resume, totals.attempts), (25 * 900, 1, 2 + 3 + 1 + 2 + 1 + 8));
    assert_eq!((state.verified.good.len(), state.verified.missing.len(), state.verified.offsets[&2]), (1, 0, 8));
    assert!(state.deleted.contains(1));

    let [first, second] = &state.sessions[..] else { panic!("two sessions") };
    assert_eq!((first.started_unix_ms, first.last_unix_ms, &first.end), (1000, 2000, &None));
    assert_eq!((second.last_unix_ms, &second.end), (9500, &Some(SessionEnd::Interrupted)));
    assert_eq!((first.totals.objects, second.totals.objects), (3, 2));
    assert_eq!(state.gaps().collect::<Vec<_>>(), [Gap { after_session: 1, from_unix_ms: 2000, to_unix_ms: 9000 }]);
    assert_eq!(state.events.len(), 2);

    // After its deletion, an object can be stored again.
    state.apply(&Record::Acked(vec![acked(1)]), 0);
    assert_eq!((state.duplicates, state.totals.objects, state.deleted.is_empty()), (1, 5, true));
    assert_eq!(state.totals.sent_bytes, expected + 100 + acked(1).sent_bytes);
}

#[test]
fn attempts_without_a_result_are_replaced_in_a_session_and_kept_after_it() {
    let unsettled = |attempts, sent_bytes| Record::Unsettled(Unsettled { attempts, sent_bytes });
    let started = |session| Record::SessionStarted { session, unix_ms: 1000 };
    let mut state = FillState::default();
    let sums = |state: &FillState| {
        let of_session = state.sessions.last().unwrap().totals;
        [state.totals, of_session].map(|totals| (totals.attempts, totals.sent_bytes))
    };
    for record in [started(1), unsettled(3, 500), unsettled(2, 700), started(2)] {
        state.apply(&record, 2000);
    }
    assert_eq!((sums(&state), state.unsettled), ([(2, 700), (0, 0)], Unsettled::default()), "killed");
    state.apply(&unsettled(4, 100), 3000);
    assert_eq!(sums(&state), [(6, 800), (4, 100)]);
    state.apply(&unsettled(0, 0), 3000);
    assert_eq!(sums(&state), [(2, 700), (0, 0)], "all uploads have a result");
}
