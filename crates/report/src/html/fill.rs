//! The HTML report of a fill.

use super::charts::fill_history;
use super::script_data::{Document, Headline, OverviewData};
use super::sections;
use crate::escape::escape;
use crate::fill::{self, Costs, LedgerReport, LedgerSpending, Pace, Stored};
use crate::number::{bit_rate, byte_rate, bytes, plural, share};
use crate::text;
use store::SavedFill;

/// Returns the report of a fill, with its costs if there are price sheets.
pub fn document(fill: &SavedFill, prices: &Costs) -> Document {
    let (times, charts) = fill_history::of(fill);
    let result = fill::result(fill);
    let notes = result.reasons.iter().map(|reason| escape(reason)).collect();
    Document {
        title: format!("Fill of {}", escape(&fill.identity.target)),
        overview: OverviewData::of(result.word, Stored::of(fill).pieces().to_vec(), notes),
        headline: headline(fill, prices),
        charts,
        groups: Vec::new(),
        times,
        sections: sections::of(text::fill_blocks(fill, prices)),
    }
}

fn headline(fill: &SavedFill, prices: &Costs) -> Vec<Headline> {
    let (totals, pace) = (&fill.state.totals, Pace::of(fill));
    let metric = |label: &str, value: String, detail: String| Headline { label: label.into(), value, detail };
    let goal = format!("of {}", bytes(fill.identity.object_bytes));
    let mut metrics = vec![metric("stored", bytes(totals.file_bytes), goal)];
    if let (Some(uploading), Some(wall)) = (pace.uploading_bytes_per_second, pace.wall_bytes_per_second) {
        let detail = format!("{}; {} with the gaps", bit_rate(uploading), bit_rate(wall));
        metrics.push(metric("while uploading", byte_rate(uploading), detail));
    }
    let again = fill::sent_again(fill);
    if totals.sent_bytes > 0 {
        let part = share(again as f64 / totals.sent_bytes as f64);
        metrics.push(metric("sent again", bytes(again), format!("{part} of {}", bytes(totals.sent_bytes))));
    }
    let verified = &fill.state.verified;
    if !verified.is_empty() {
        let detail = format!("of {} read back", plural(verified.len(), "object"));
        metrics.push(metric("good", plural(verified.good.len(), "object"), detail));
    }
    if let Some(LedgerSpending { bill, .. }) = LedgerReport::of(fill, prices).and_then(|report| report.spending) {
        metrics.push(metric("spent", bill.total().money.to_string(), "according to the target's own ledger".into()));
    }
    for offer in prices.of(totals) {
        let per_tb_month = offer.per_tb_month.as_ref().map(|rate| format!("{rate} per TB and month"));
        metrics.push(metric(&escape(&offer.bill.name), fill::sum_text(&offer), per_tb_month.unwrap_or_default()));
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::script_data::{Plot, Tone};
    use store::fill_directory::{FORMAT, Identity};
    use store::journal::{AckedObject, Evidence, FillState, Record, SessionEnd};

    const START: u64 = 1_795_228_200_000;

    /// Returns a fill of 20 objects of 1 MB. The first session stores an object per second and is killed after ten
    /// seconds. The second session starts 50 s later, finds one object, and ends by a rule with hostile text.
    fn two_sessions() -> SavedFill {
        let mut state = FillState::default();
        let mut apply = |second: u64, record: Record| state.apply(&record, START + second * 1000);
        let acked = |number, evidence| {
            Record::Acked(vec![AckedObject {
                number,
                attempts: 1,
                sent_bytes: 1_000_000,
                file_bytes: 1_000_000,
                evidence,
            }])
        };
        apply(0, Record::SessionStarted { session: 1, unix_ms: START });
        apply(0, Record::Intend { first: 0, end: 20 });
        for number in 0..10 {
            apply(number, acked(number, Evidence::Response));
        }
        apply(60, Record::SessionStarted { session: 2, unix_ms: START + 60_000 });
        apply(60, acked(10, Evidence::FoundOnResume));
        let reason = SessionEnd::StopRule { text: "</script><script>alert(1)</script>".into() };
        apply(62, Record::SessionEnded { session: 2, unix_ms: START + 62_000, reason });
        let identity = Identity {
            format: FORMAT,
            version: "0.1.0".into(),
            target: "http://127.0.0.1:9000/set".into(),
            dataset: serde_json::Value::Null,
            objects: 20,
            object_bytes: 20_000_000,
            copies: 1,
            part_bytes: None,
            order: "by number".into(),
            tree_digest: None,
            share: None,
            created_unix_ms: START,
        };
        SavedFill { identity, state, sessions: Vec::new(), snapshots: Vec::new() }
    }

    fn values<'a>(document: &'a Document, id: &str) -> &'a [Option<f64>] {
        let chart = document.charts.iter().find(|chart| chart.id == id).expect(id);
        let Plot::Series { lines, .. } = &chart.plot else { panic!("{id} is no series") };
        &lines[0].values
    }

    #[test]
    fn charts_show_what_was_stored_when_and_gaps_between_sessions() {
        let costs = Costs::none();
        let document = document(&two_sessions(), &costs);
        assert_eq!((document.times.starts.len(), document.times.end), (63, 63.0));
        let bandwidth = values(&document, "bandwidth");
        assert_eq!(bandwidth[..10], [Some(1e6); 10]);
        assert!(bandwidth[10..60].iter().all(Option::is_none), "no session ran");
        assert_eq!(bandwidth[60], Some(0.0), "objects that were found were not sent");
        let stored = values(&document, "stored");
        assert_eq!((stored[9], stored[59], stored[60]), (Some(1e7), Some(1e7), Some(1.1e7)));
        let marks: Vec<(f64, &str)> = document.times.marks.iter().map(|mark| (mark.at, mark.label.as_str())).collect();
        assert_eq!(marks[..2], [(9.0, "session 1: killed, or still running"), (60.0, "session 2 starts")]);
        assert_eq!((marks.len(), marks[2].0), (3, 62.0));
    }

    #[test]
    fn the_page_has_the_result_and_no_foreign_markup() {
        let costs = Costs::none();
        let fill = two_sessions();
        let about = document(&fill, &costs).overview;
        assert_eq!((about.word.as_str(), about.tone), (fill::result(&fill).word.text(), Tone::Good));
        let page = crate::html_fill(&fill, &costs);
        assert!(!page.contains("<script>alert"), "hostile text");
        assert!(page.contains("11 of 20 objects stored"));
    }
}
