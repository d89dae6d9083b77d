//! The HTML report of a run.

use super::charts::{collected, heat_map, percentile_curve, time_series};
use super::script_data::{Chart, Document, Headline, OverviewData};
use super::sections;
use crate::escape::escape;
use crate::limit;
use crate::number::{bit_rate, byte_rate, count, plural, rate, share, time};
use crate::overview::Overview;
use crate::percentile::{self, Percentile};
use crate::result;
use crate::text;
use measure::objective::Timed;
use measure::{KindStats, Model};
use store::SavedRun;

/// Returns the report of a run.
pub fn document(run: &SavedRun) -> Document {
    let (times, over_time) = time_series::of(run);
    let collected = collected::of(run, &times);
    let charts = percentile_curve::of(run).into_iter().chain(over_time).chain(heat_map::of(run)).chain(collected);
    let charts: Vec<Chart> = charts.collect();
    let mut sections = sections::of(text::section_blocks(run));
    sections.extend(sections::settings(run, "Settings"));
    let overview = Overview::of(run);
    Document {
        title: title(run),
        overview: OverviewData::of(overview.result, overview.pieces(), notes_of(&overview)),
        headline: headline(run),
        charts,
        groups: Vec::new(),
        times,
        sections,
    }
}

fn title(run: &SavedRun) -> String {
    let first = run.begin.targets.first().map_or_else(|| "no target".to_owned(), |target| escape(target));
    match run.begin.urls {
        0 | 1 => first,
        urls => format!("{first} and {} more", count(urls - 1)),
    }
}

/// Returns the notes that a reader needs to interpret the numbers of a run.
pub fn notes(run: &SavedRun) -> Vec<String> {
    notes_of(&Overview::of(run))
}

fn notes_of(overview: &Overview) -> Vec<String> {
    let notes = overview.notes.iter().map(ToString::to_string);
    overview.sentences().into_iter().chain(notes).collect()
}

/// Returns the main metrics, or an empty list if the counters disagree.
fn headline(run: &SavedRun) -> Vec<Headline> {
    if !result::of(run).accounting.violations.is_empty() {
        return Vec::new();
    }
    let summary = run.summary();
    let (all, tally) = (&summary.all, &summary.stats.measured);
    let at_least = if limit::rates_are_lower_bounds(run) { ", at least" } else { "" };
    let mut metrics = Vec::new();
    let mut metric = |label: &str, value: String, detail: String| {
        metrics.push(Headline { label: label.into(), value, detail });
    };
    if let Some(ok) = summary.ok_rate() {
        let offered = summary.offered_rate().filter(|_| run.begin.model.is_open());
        let detail = offered.map_or_else(|| slots(run), |offered| format!("{} offered", rate(offered)));
        metric(&format!("succeeded{at_least}"), rate(ok), detail);
    }
    let traffic = &summary.stats.traffic;
    let uploads = traffic.sent_body > 0;
    if let Some(goodput) = summary.goodput().filter(|_| !uploads || traffic.body > 0) {
        metric(&format!("goodput{at_least}"), byte_rate(goodput), bit_rate(goodput));
    }
    if let Some(sending) = summary.good_sending().filter(|_| uploads) {
        metric(&format!("uploaded{at_least}"), byte_rate(sending), bit_rate(sending));
    }
    for q in [0.5, 0.99] {
        let service = format!("service {}", quantile(all, Timed::Service, q));
        metric(&format!("response {}", percentile::label(q)), quantile(all, Timed::Response, q), service);
    }
    if let Some(success) = summary.success() {
        let not_ok = tally.failed.saturating_add(tally.dropped);
        metric("success", share(success), format!("{} of {} failed or dropped", count(not_ok), count(tally.scheduled)));
    }
    metrics
}

fn slots(run: &SavedRun) -> String {
    match run.begin.model {
        Model::Closed { concurrency } => plural(concurrency, "slot"),
        Model::Open { .. } => String::new(),
    }
}

fn quantile(all: &KindStats, timed: Timed, q: f64) -> String {
    match percentile::timed(all, timed, q) {
        Percentile::Between(low, high) => percentile::range(low, high),
        Percentile::Value(nanos) => time(nanos as f64),
        Percentile::TooFew { needed } => format!("n/a (needs {})", count(needed)),
        _ => "–".into(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::html::script_data::Tone;
    use measure::Objective;
    use store::{Begin, FORMAT, Host};

    /// Returns a begin record with default values.
    pub fn begin() -> Begin {
        Begin {
            format: FORMAT,
            version: "0.1.0".into(),
            debug_build: false,
            started_unix_ms: 0,
            command: vec!["plimsoll".into()],
            targets: vec!["http://localhost/</script><b>".into()],
            urls: 1,
            model: Model::Closed { concurrency: 1 },
            load: String::new(),
            levels: None,
            warmup_ms: 0,
            duration_ms: None,
            seed: 1,
            threads: 1,
            settings: vec![("name".into(), "value".into())],
            objectives: vec![Objective::DEFAULT],
            accept_not_enough_data: false,
            host: Host::default(),
            loopback: false,
            header: None,
            insecure: false,
            path: None,
            part: None,
        }
    }

    #[test]
    fn a_run_without_an_interval_has_sections_and_no_charts() {
        let document = document(&SavedRun::of(begin(), &[], None));
        assert_eq!((document.overview.word.as_str(), document.overview.tone), ("PARTIAL", Tone::Caution));
        assert!(document.charts.is_empty() && document.times.starts.is_empty());
        let titles: Vec<&str> = document.sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles.last(), Some(&"Settings"));
        assert!(titles.contains(&"Operations") && titles.contains(&"Setup"), "{titles:?}");
    }
}
