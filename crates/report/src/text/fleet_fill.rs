//! The text report of a fill that several hosts make together.

use super::blocks::Table;
use super::fill::{costs, span};
use super::page::{Page, paint};
use super::style::Style;
use crate::escape::escape;
use crate::fill::Costs;
use crate::json::{JsonFill, JsonFillAgent, JsonFillFleet, JsonUploadTimes, fleet_fill_totals, stored};
use crate::number::{bit_rate, bytes, count, plural, share, time};
use std::time::Duration;

/// Columns of the agents that may be left out, the least important one first: share, sessions, upload p99, stored,
/// objects, bandwidth.
const OPTIONAL: [usize; 6] = [1, 6, 5, 3, 2, 4];

/// Returns the report of a fill of several hosts, with its costs if there are price sheets. The report can be printed
/// while the fill runs.
#[must_use]
pub fn fleet_fill_text(fill: &JsonFill, prices: &Costs, style: &Style) -> String {
    let mut page = Page::new(*style);
    let pieces = std::iter::once(fill.result.text().to_owned()).chain(stored(fill).pieces());
    page.first_line(paint(fill.result), pieces.collect());
    fill.reasons.iter().for_each(|reason| page.line(&escape(reason)));
    page.gap();
    page.item("target", &escape(&fill.target));
    page.item("dataset", &format!("{}, {}", plural(fill.objects, "object"), bytes(fill.object_bytes)));
    let (active, uploading) = (seconds(fill.active_seconds), seconds(fill.uploading_seconds));
    page.item("time", &format!("{} on the longest agent, {} of it uploading", span(active), span(uploading)));
    if let (Some(uploading), Some(wall)) = (fill.uploading_bytes_per_second, fill.wall_bytes_per_second) {
        page.item("bandwidth", &format!("{} while uploading, {} with the gaps", bit_rate(uploading), bit_rate(wall)));
    }
    uploads(&mut page, fill);
    if let Some(times) = fill.fleet.as_ref().and_then(|fleet| fleet.upload_times) {
        page.item("upload time", &times_text(&times));
    }
    checks(&mut page, fill);
    costs(&mut page, &fleet_fill_totals(fill), prices);
    fill.fleet.iter().for_each(|fleet| agents(&mut page, fleet));
    page.finish()
}

/// Returns a time in seconds, from a number that an agent may have sent.
fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

fn uploads(page: &mut Page, fill: &JsonFill) {
    let again = if fill.sent_bytes > 0 { fill.sent_again_bytes as f64 / fill.sent_bytes as f64 } else { 0.0 };
    page.item(
        "sent",
        &format!(
            "{} in {}, of which {} ({}) were sent again",
            bytes(fill.sent_bytes),
            plural(fill.attempts, "attempt"),
            bytes(fill.sent_again_bytes),
            share(again)
        ),
    );
    if fill.found_on_resume > 0 {
        let found = plural(fill.found_on_resume, "object");
        page.item("recovered", &format!("{found} were found at the target after an interruption"));
    }
    if fill.failed > 0 {
        page.item("failed", &plural(fill.failed, "object"));
    }
    let kind = |kind: &crate::json::JsonFillFailure| {
        format!("{} × {} ({})", count(kind.uploads), escape(&kind.class), escape(&kind.cause))
    };
    let kinds: Vec<String> = fill.failures.iter().map(kind).collect();
    if !kinds.is_empty() {
        page.item("failures", &format!("{} (uploads that failed in all attempts)", kinds.join(", ")));
    }
}

fn times_text(times: &JsonUploadTimes) -> String {
    let nanos = |value: Option<u64>| value.map_or_else(|| "n/a".to_owned(), |nanos| time(nanos as f64));
    format!(
        "p50 {}, p90 {}, p99 {}, longest {} ({}, with retries)",
        nanos(times.p50_nanos),
        nanos(times.p90_nanos),
        nanos(times.p99_nanos),
        nanos(times.max_nanos),
        plural(times.uploads, "upload")
    )
}

fn checks(page: &mut Page, fill: &JsonFill) {
    if let Some(verified) = fill.verified {
        let parts = [
            (verified.good, "good"),
            (verified.missing, "missing"),
            (verified.damaged, "damaged"),
            (verified.changed_source, "not compared, because their files have changed"),
            (verified.unknown, "not read, because the target refused it or all attempts failed"),
        ];
        let shown = parts.iter().filter(|(number, what)| *number > 0 || *what == "good");
        let shown: Vec<String> = shown.map(|(number, what)| format!("{} {what}", count(*number))).collect();
        page.item("read back", &shown.join(", "));
    }
    if fill.deleted + fill.not_deleted > 0 {
        let rest = match fill.not_deleted {
            0 => String::new(),
            rest => format!(", {} could not be deleted", count(rest)),
        };
        page.item("deleted", &format!("{}{rest}", plural(fill.deleted, "object")));
    }
}

fn agents(page: &mut Page, fleet: &JsonFillFleet) {
    page.heading("Agents");
    let mut table = Table::with_text_from(7);
    table.head(["agent", "share", "objects", "stored", "bandwidth", "upload p99", "sessions", "last session"]);
    for agent in &fleet.agents {
        table.row(row(agent));
    }
    page.fitted_table(table, &OPTIONAL);
    for agent in &fleet.agents {
        if let Some(lost) = &agent.lost {
            page.line(&format!("{} was lost: {}", escape(&agent.name), escape(lost)));
        }
    }
}

fn row(agent: &JsonFillAgent) -> [String; 8] {
    let JsonFillAgent { name, share, lost, upload_times, fill } = agent;
    let p99 = upload_times.and_then(|times| times.p99_nanos);
    let p99 = p99.map_or_else(|| "n/a".to_owned(), |nanos| time(nanos as f64));
    let fill = fill.as_deref();
    let sessions = fill.map_or(&[][..], |fill| &fill.sessions);
    let last = sessions.last();
    let end = match (lost, last) {
        (Some(_), _) => "lost".to_owned(),
        (None, Some(session)) => escape(&session.end),
        (None, None) => "-".to_owned(),
    };
    [
        escape(name),
        share.to_string(),
        fill.map_or("-".to_owned(), |fill| format!("{} of {}", count(fill.stored), count(fill.objects))),
        fill.map_or("-".to_owned(), |fill| bytes(fill.stored_bytes)),
        fill.and_then(|fill| fill.uploading_bytes_per_second).map_or("-".to_owned(), bit_rate),
        p99,
        last.map_or("-".to_owned(), |session| session.number.to_string()),
        end,
    ]
}
