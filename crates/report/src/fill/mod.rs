//! The result of a fill, and the values that all formats of its report show.

mod costs;
mod ledger;

use crate::number::{bytes, count, plural};
use fill::stop_rule::StopRule;
use measure::{ExitStatus, ResultWord};
use std::time::Duration;
use store::SavedFill;
use store::journal::SessionEnd;

pub(crate) use costs::sum_text;
pub use costs::{Costs, offer_text, usage};
pub(crate) use ledger::hastings;
pub use ledger::{LedgerReport, LedgerSpending, RedundancyOfFiles, StoredAtTarget, first_ledger, ledger};

/// The result of a fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillResult {
    /// The result in one word.
    pub word: ResultWord,
    /// The reasons for the result; empty for PASS.
    pub reasons: Vec<String>,
    /// The exit status of a command that ends with this result.
    pub exit: ExitStatus,
}

/// Returns the result of a fill. The result is FAIL if an object is missing, damaged, refused or in an unknown state.
/// The result is also FAIL if the fill ended because the target was too slow or did not respond. The result is PARTIAL
/// if the last session was cut off. A stop rule on time, bytes or files is a planned end.
#[must_use]
pub fn result(fill: &SavedFill) -> FillResult {
    let end = fill.state.sessions.last().and_then(|session| session.end.as_ref());
    let could_not_go_on = matches!(end, Some(SessionEnd::DiskFull | SessionEnd::Failed));
    let exit = |otherwise| if could_not_go_on { ExitStatus::CouldNotRun } else { otherwise };
    let failures = failures(fill);
    if !failures.is_empty() {
        return FillResult { word: ResultWord::Fail, reasons: failures, exit: exit(ExitStatus::Failed) };
    }
    let cut_off = match end {
        None => Some("the last session still runs, or was killed"),
        Some(SessionEnd::Interrupted) => Some("the last session was interrupted"),
        Some(SessionEnd::DiskFull) => Some("the disk of the fill's directory is full"),
        Some(SessionEnd::Failed) => Some("an error ended the last session"),
        Some(SessionEnd::Finished) if fill.state.totals.objects < fill.identity.objects => {
            Some("some objects are not uploaded yet")
        }
        Some(SessionEnd::Finished | SessionEnd::StopRule { .. } | SessionEnd::TargetGone | SessionEnd::Refused) => None,
    };
    let (word, reasons) = match cut_off {
        Some(reason) => (ResultWord::Partial, vec![reason.to_owned()]),
        None => (ResultWord::Pass, Vec::new()),
    };
    FillResult { word, reasons, exit: exit(ExitStatus::Good) }
}

/// Returns the reasons for FAIL.
fn failures(fill: &SavedFill) -> Vec<String> {
    let state = &fill.state;
    let (missing, damaged) = (state.verified.missing.len(), state.verified.damaged.len());
    let mut reasons = Vec::new();
    if missing > 0 {
        reasons.push(format!("{} that the target had confirmed {} missing", plural(missing, "object"), are(missing)));
    }
    if damaged > 0 {
        reasons.push(format!("{} that the target had confirmed {} damaged", plural(damaged, "object"), are(damaged)));
    }
    let (unknown, not_deleted) = (state.verified.unknown.len(), state.not_deleted.len());
    if unknown > 0 {
        reasons.push(format!("{} could not be read back", plural(unknown, "object")));
    }
    let changed = state.verified.changed_source.len();
    if changed > 0 {
        let files = if changed == 1 { "its file has" } else { "their files have" };
        reasons.push(format!("{} could not be compared, because {files} changed", plural(changed, "object")));
    }
    if not_deleted > 0 {
        reasons.push(format!("{} could not be deleted", plural(not_deleted, "object")));
    }
    if !state.failed.is_empty() {
        let failed = state.failed.len();
        let most = state.failures.iter().max_by_key(|(_, number)| **number);
        let most = most.map(|((class, cause), _)| format!(", mostly {class} ({cause})")).unwrap_or_default();
        reasons.push(format!("{} could not be uploaded{most}", plural(failed, "object")));
    }
    match state.sessions.last().and_then(|session| session.end.as_ref()) {
        Some(SessionEnd::TargetGone) => reasons.push("the target did not respond for too long".to_owned()),
        Some(SessionEnd::Refused) => reasons.push("the target refused one object after the other".to_owned()),
        Some(end @ SessionEnd::StopRule { text }) if is_about_the_target(end) => {
            reasons.push(format!("the fill was stopped, because `{text}`"));
        }
        _ => {}
    }
    reasons
}

/// Returns whether a session ended because the target was too slow or did not respond.
#[must_use]
pub fn is_about_the_target(end: &SessionEnd) -> bool {
    match end {
        SessionEnd::TargetGone | SessionEnd::Refused => true,
        SessionEnd::StopRule { text } => {
            matches!(text.parse::<StopRule>(), Ok(StopRule::TrailingBandwidth { .. } | StopRule::Gone(_)))
        }
        SessionEnd::Finished | SessionEnd::Interrupted | SessionEnd::DiskFull | SessionEnd::Failed => false,
    }
}

fn are(number: u64) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// Times and rates of a fill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Time during which sessions ran.
    pub active: Duration,
    /// Time from the start of a session to its last stored object, summed over all sessions.
    pub uploading: Duration,
    /// Time from the first start to the last durable record, including the gaps between sessions.
    pub wall: Duration,
    /// Bytes of stored objects per second of uploading.
    pub uploading_bytes_per_second: Option<f64>,
    /// Bytes of stored objects per second from the first start to the last object that was stored.
    pub wall_bytes_per_second: Option<f64>,
}

impl Pace {
    /// Returns times and rates of a fill. Stored objects include those found at the target after an interruption.
    #[must_use]
    pub fn of(fill: &SavedFill) -> Self {
        let sessions = &fill.state.sessions;
        let begun = sessions.first().map_or(0, |session| session.started_unix_ms);
        let until = |at: fn(&store::journal::Session) -> u64| {
            Duration::from_millis(sessions.iter().map(at).max().unwrap_or(0).saturating_sub(begun))
        };
        let rate = |time: Duration| (!time.is_zero()).then(|| fill.state.totals.file_bytes as f64 / time.as_secs_f64());
        let uploading = sessions.iter().map(|session| session.uploading).sum();
        Self {
            active: sessions.iter().map(|session| session.active.get()).sum(),
            uploading,
            wall: until(|session| session.last_unix_ms),
            uploading_bytes_per_second: rate(uploading),
            wall_bytes_per_second: rate(until(|session| match session.stored_unix_ms {
                // A session without stored objects, for example one that only deletes, does not count.
                at if at == session.started_unix_ms => 0,
                at => at,
            })),
        }
    }
}

/// Returns the bytes of content that were sent more than once. The result is the number of all bytes sent, minus the
/// bytes of stored objects. If a later session used a part from an earlier session, the bytes of this part count as
/// sent once. While it is in doubt whether the target has stored some objects, uploads of the last session that have no
/// result do not count.
#[must_use]
pub fn sent_again(fill: &SavedFill) -> u64 {
    let (totals, in_doubt) = (&fill.state.totals, fill.state.in_doubt_count());
    let open = if in_doubt > 0 { fill.state.unsettled.sent_bytes } else { 0 };
    totals.sent_bytes.saturating_sub(totals.file_bytes).saturating_sub(open)
}

/// Returns the reason for the end of a session.
#[must_use]
pub fn end_text(end: Option<&SessionEnd>) -> String {
    match end {
        None => "killed, or still running".to_owned(),
        Some(SessionEnd::Finished) => "finished".to_owned(),
        Some(SessionEnd::Interrupted) => "interrupted".to_owned(),
        Some(SessionEnd::StopRule { text }) => format!("stopped: {text}"),
        Some(SessionEnd::TargetGone) => "target gone".to_owned(),
        Some(SessionEnd::Refused) => "refused by the target".to_owned(),
        Some(SessionEnd::DiskFull) => "disk full".to_owned(),
        Some(SessionEnd::Failed) => "failed".to_owned(),
    }
}

/// The stored objects of a fill, as the first line of its report shows them.
pub(crate) struct Stored {
    /// Number of stored objects.
    pub objects: u64,
    /// Bytes of these objects.
    pub bytes: u64,
    /// Number of all objects of the fill.
    pub of: u64,
    /// Number of deleted objects.
    pub deleted: u64,
}

impl Stored {
    pub(crate) fn of(fill: &SavedFill) -> Self {
        let (totals, deleted) = (&fill.state.totals, fill.state.deleted.len());
        Self { objects: totals.objects, bytes: totals.file_bytes, of: fill.identity.objects, deleted }
    }

    /// Returns the texts that follow the result in the first line: `900 of 1,000 objects stored`, and their bytes.
    pub(crate) fn pieces(&self) -> [String; 2] {
        let deleted = if self.deleted > 0 { format!(", {} deleted again", count(self.deleted)) } else { String::new() };
        let stored = if self.objects == self.of {
            format!("{} stored{deleted}", plural(self.objects, "object"))
        } else {
            format!("{} of {} stored{deleted}", count(self.objects), plural(self.of, "object"))
        };
        [stored, bytes(self.bytes)]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Style, fill_schema, fill_text, json_fill};
    use cost::{Months, PriceSheet};
    use store::fill_directory::{FORMAT, Identity};
    use store::journal::{
        AckedObject, Evidence, FailedObject, FillState, Record, Unsettled, Verification, VerifiedObject,
    };

    const SIZE: u64 = 1_000_000;

    /// Returns a fill of ten objects with these records, one per second.
    fn fill(records: &[Record]) -> SavedFill {
        let mut state = FillState::default();
        for (record, second) in records.iter().zip(1_u64..) {
            state.apply(record, second * 1000);
        }
        let identity = Identity {
            format: FORMAT,
            version: "0.1.0".to_owned(),
            target: "http://localhost:9000/bucket/set/".to_owned(),
            dataset: serde_json::json!({}),
            objects: 10,
            object_bytes: 10 * SIZE,
            copies: 1,
            part_bytes: None,
            order: "by number".to_owned(),
            tree_digest: None,
            share: None,
            created_unix_ms: 0,
        };
        SavedFill { identity, state, sessions: Vec::new(), snapshots: Vec::new() }
    }

    fn started(session: u32, unix_ms: u64) -> Record {
        Record::SessionStarted { session, unix_ms }
    }

    fn ended(reason: SessionEnd) -> Record {
        Record::SessionEnded { session: 1, unix_ms: 9000, reason }
    }

    fn acked(numbers: std::ops::Range<u64>) -> Record {
        let object = |number| AckedObject {
            number,
            attempts: 2,
            sent_bytes: 2 * SIZE,
            file_bytes: SIZE,
            evidence: Evidence::Response,
        };
        Record::Acked(numbers.map(object).collect())
    }

    /// Returns a fill in which all ten objects are stored, with more records.
    pub(crate) fn all_stored(more: &[Record]) -> SavedFill {
        let intend = Record::Intend { first: 0, end: 10 };
        fill(&[&[started(1, 0), intend, acked(0..10)], more].concat())
    }

    fn stopped(rule: &str) -> Record {
        ended(SessionEnd::StopRule { text: rule.to_owned() })
    }

    #[test]
    fn the_result_depends_on_what_is_stored_and_on_how_the_last_session_ended() {
        let word = |more: &[Record]| result(&all_stored(more)).word;
        assert_eq!(word(&[ended(SessionEnd::Finished)]), ResultWord::Pass);
        assert_eq!(word(&[stopped("time >= 8h")]), ResultWord::Pass);
        assert_eq!(word(&[stopped("spending >= 20USD")]), ResultWord::Pass);
        assert_eq!(word(&[stopped("trailing 24h bandwidth < 50Mbit/s")]), ResultWord::Fail);
        assert_eq!(word(&[ended(SessionEnd::TargetGone)]), ResultWord::Fail);
        assert_eq!(word(&[ended(SessionEnd::Interrupted)]), ResultWord::Partial);
        assert_eq!(word(&[]), ResultWord::Partial, "killed");
        let half = [started(1, 0), Record::Intend { first: 0, end: 10 }, acked(0..5), ended(SessionEnd::Finished)];
        assert_eq!(result(&fill(&half)).word, ResultWord::Partial, "only read back, after an interruption");
        assert_eq!(word(&[ended(SessionEnd::Interrupted), started(2, 20_000)]), ResultWord::Partial);
    }

    #[test]
    fn lost_and_refused_objects_fail_a_fill_whatever_else_holds() {
        let verified = |result| Record::Verified(vec![VerifiedObject { number: 3, result }]);
        let failed = FailedObject {
            number: 3,
            attempts: 5,
            sent_bytes: 0,
            class: "http_4xx".to_owned(),
            cause: "status".to_owned(),
        };
        let refused = fill(&[
            started(1, 0),
            Record::Intend { first: 0, end: 10 },
            Record::Failed(vec![failed]),
            ended(SessionEnd::Finished),
        ]);
        let reason = |fill: &SavedFill| (result(fill).word, result(fill).reasons[0].clone());
        let expected = "1 object could not be uploaded, mostly http_4xx (status)".to_owned();
        assert_eq!(reason(&refused), (ResultWord::Fail, expected));
        let missing = all_stored(&[verified(Verification::Missing), ended(SessionEnd::Finished)]);
        assert_eq!(reason(&missing).1, "1 object that the target had confirmed is missing");
        let damaged = all_stored(&[verified(Verification::Damaged { offset: 7 }), ended(SessionEnd::Interrupted)]);
        assert_eq!(
            reason(&damaged),
            (ResultWord::Fail, "1 object that the target had confirmed is damaged".to_owned())
        );
    }

    #[test]
    fn gaps_between_sessions_are_not_active_time() {
        let again = started(2, 100_000);
        let fill = all_stored(&[ended(SessionEnd::Interrupted), again, Record::Deleted(vec![1])]);
        let pace = Pace::of(&fill);
        let secs = Duration::from_secs;
        assert_eq!((pace.active, pace.uploading, pace.wall), (secs(9), secs(3), secs(100)));
        // The second session stored nothing, so the time until its start does not count.
        let rates = (pace.uploading_bytes_per_second, pace.wall_bytes_per_second);
        assert_eq!(rates, (Some(10e6 / 3.0), Some(10e6 / 3.0)));
        assert_eq!(sent_again(&fill), 10 * SIZE);
    }

    #[test]
    fn bytes_of_uploads_without_a_result_count_as_sent_again_once_all_objects_are_stored() {
        let unsettled = |sent_bytes| Record::Unsettled(Unsettled { attempts: 1, sent_bytes });
        let half = [started(1, 0), Record::Intend { first: 0, end: 10 }, acked(0..5), unsettled(3 * SIZE)];
        assert_eq!(sent_again(&fill(&half)), 5 * SIZE, "uploads in flight");
        let resumed = [&half[..], &[started(2, 20_000), acked(5..10)]].concat();
        assert_eq!(sent_again(&fill(&resumed)), 13 * SIZE, "a kill cut them off");
    }

    #[test]
    fn the_costs_of_many_price_sheets_fit_on_a_terminal() {
        let fill = all_stored(&[ended(SessionEnd::Finished)]);
        let names = (0..7).map(|number| format!("storage of provider {number}")).chain(["a long name".repeat(7)]);
        let sheet = |name: String| {
            let text = format!("name: {name}\ncurrency: USD\ndate: 2026-01-31\nstorage: {{price: 100, per: GB}}\n");
            PriceSheet::parse(&text).unwrap()
        };
        let prices = Costs { sheets: names.map(sheet).collect(), keep: "2 months".parse::<Months>().unwrap() };
        let narrow = Style { width: 80, color: false };
        let shown = fill_text(&fill, &prices, &narrow);
        let costs = &shown[shown.find("Costs").unwrap()..];
        assert!(costs.lines().all(|line| line.chars().count() <= 80), "{costs}");
        // Two names fit into a line, and the last one needs a line of its own.
        assert_eq!(costs.matches("  per TB and month").count(), 5, "{costs}");
        assert_eq!(costs.matches("storage of provider").count(), 14, "in a table and in the list of dates: {costs}");
        let wide = fill_text(&fill, &prices, &Style { width: 400, color: false });
        assert_eq!(wide.matches("  per TB and month").count(), 1, "{wide}");
    }

    #[test]
    fn a_fill_with_long_names_fits_on_a_terminal() {
        let stopped = ended(SessionEnd::StopRule { text: "x".repeat(200) });
        let fill = all_stored(&[stopped, started(2, 20_000)]);
        let name = "n".repeat(80);
        let sheet = format!("name: {name}\ncurrency: USD\ndate: 2026-01-31\nstorage: {{price: 100, per: GB}}\n");
        let prices = Costs { sheets: vec![PriceSheet::parse(&sheet).unwrap()], keep: Months::zero() };
        for width in [60, 80] {
            let shown = fill_text(&fill, &prices, &Style { width, color: false });
            let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > width).collect();
            assert!(wide.iter().all(|line| line.contains("://")), "{width}: {wide:#?}");
            assert!(shown.contains("left out to keep lines short: objects"), "{shown}");
            assert!(shown.lines().any(|line| line.starts_with("  2 ") && line.ends_with("still running")), "{shown}");
        }
    }

    #[test]
    fn text_and_json_show_the_same_fill_and_its_costs() {
        let fill = all_stored(&[ended(SessionEnd::Finished)]);
        let sheet =
            "name: mine\ncurrency: USD\ndate: 2026-01-31\nstorage: {price: 100, per: GB}\nrequests: {put: 50}\n";
        let prices =
            Costs { sheets: vec![PriceSheet::parse(sheet).unwrap()], keep: "2 months".parse::<Months>().unwrap() };
        let shown = fill_text(&fill, &prices, &Style::default());
        assert!(shown.starts_with("PASS · 10 objects stored · "), "{shown}");
        for part in
            ["10.00 MB (50.00 %) were sent again", "3.00 USD", "finished", "for keeping what is stored for 2.00 months"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let value = serde_json::to_value(json_fill(&fill, &prices)).unwrap();
        assert!(jsonschema::is_valid(&fill_schema(), &value), "{value:#}");
        assert_eq!((&value["result"], &value["costs"][0]["sum"]), (&"pass".into(), &"3.000000".into()));
        assert!(!fill_text(&fill, &Costs { sheets: Vec::new(), ..prices }, &Style::default()).contains("Costs"));
    }
}
