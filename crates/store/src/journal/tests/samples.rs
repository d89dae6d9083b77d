//! Records for tests.

use crate::journal::record::{
    AckedObject, Evidence, FailedObject, OBJECTS_MAX, Record, SessionEnd, Unsettled, Verification, VerifiedObject,
};
use proptest::prelude::*;

/// Returns the acknowledgement of an object. All its values depend on the number.
pub fn acked(number: u64) -> AckedObject {
    let evidence = if number.is_multiple_of(7) { Evidence::FoundOnResume } else { Evidence::Response };
    let attempts = (number % 3) as u32 + 1;
    AckedObject { number, attempts, sent_bytes: number * 1000 + 1, file_bytes: number * 900, evidence }
}

/// Returns a strategy for records that encoding and decoding do not change.
pub fn record() -> impl Strategy<Value = Record> {
    let number = || prop_oneof![0..500_u64, 0..OBJECTS_MAX];
    let text = || "\\PC{0,20}";
    prop_oneof![
        any::<(u32, u64)>().prop_map(|(session, unix_ms)| Record::SessionStarted { session, unix_ms }),
        (any::<(u32, u64)>(), session_end()).prop_map(|((session, unix_ms), reason)| Record::SessionEnded {
            session,
            unix_ms,
            reason
        }),
        (number(), number()).prop_map(|(a, b)| Record::Intend { first: a.min(b), end: a.max(b) }),
        (number(), text()).prop_map(|(number, upload_id)| Record::UploadCreated { number, upload_id }),
        (number(), text()).prop_map(|(number, upload_id)| Record::UploadGone { number, upload_id }),
        prop::collection::vec((number(), any::<(u32, u64, u64, bool)>()), 1..30).prop_map(|batch| {
            let object = |(number, (attempts, sent_bytes, file_bytes, found))| {
                let evidence = if found { Evidence::FoundOnResume } else { Evidence::Response };
                AckedObject { number, attempts, sent_bytes, file_bytes, evidence }
            };
            Record::Acked(batch.into_iter().map(object).collect())
        }),
        prop::collection::vec((number(), any::<(u32, u64)>(), text(), text()), 1..30).prop_map(|batch| {
            let object = |(number, (attempts, sent_bytes), class, cause)| FailedObject {
                number,
                attempts,
                sent_bytes,
                class,
                cause,
            };
            Record::Failed(batch.into_iter().map(object).collect())
        }),
        prop::collection::vec((number(), verification()), 1..30).prop_map(|batch| {
            let object = |(number, result)| VerifiedObject { number, result };
            Record::Verified(batch.into_iter().map(object).collect())
        }),
        prop::collection::vec(number(), 1..30).prop_map(Record::Deleted),
        prop::collection::vec(number(), 1..30).prop_map(Record::NotDeleted),
        any::<u64>().prop_map(|active_ms| Record::Alive { active_ms }),
        any::<(u64, u64)>().prop_map(|(attempts, sent_bytes)| Record::Unsettled(Unsettled { attempts, sent_bytes })),
        (any::<u64>(), text()).prop_map(|(unix_ms, text)| Record::RuleChanged { unix_ms, text }),
        (any::<u64>(), text()).prop_map(|(unix_ms, text)| Record::Event { unix_ms, text }),
    ]
}

fn session_end() -> impl Strategy<Value = SessionEnd> {
    prop_oneof![
        Just(SessionEnd::Finished),
        Just(SessionEnd::Interrupted),
        "\\PC{0,20}".prop_map(|text| SessionEnd::StopRule { text }),
        Just(SessionEnd::TargetGone),
        Just(SessionEnd::DiskFull),
        Just(SessionEnd::Failed),
        Just(SessionEnd::Refused),
    ]
}

fn verification() -> impl Strategy<Value = Verification> {
    prop_oneof![
        Just(Verification::Good),
        Just(Verification::Missing),
        any::<u64>().prop_map(|offset| Verification::Damaged { offset }),
        Just(Verification::ChangedSource),
        Just(Verification::Unknown),
    ]
}
