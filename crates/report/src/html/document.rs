//! From a saved run to what its HTML report holds.

use super::data::{Chart, Document, Figure, Tone, Verdict};
use super::{curve, heat, sections, series};
use crate::escape::escape;
use crate::number::{bit_rate, byte_rate, count, rate, share, time};
use crate::percentile::{self, Percentile};
use crate::result;
use crate::standing;
use crate::text::{self, Paint};
use measure::objective::Timed;
use measure::{KindStats, Model};
use store::SavedRun;

/// The report of a run.
pub fn of(run: &SavedRun) -> Document {
    let (top, sections) = text::parts(run);
    let (times, over_time) = series::of(run);
    let charts: Vec<Chart> = curve::of(run).into_iter().chain(over_time).chain(heat::of(run)).collect();
    let mut all = sections::of(sections);
    all.extend(sections::settings(run, "Settings"));
    Document {
        title: title(run),
        verdict: verdict(top),
        headline: headline(run),
        charts,
        groups: Vec::new(),
        times,
        sections: all,
    }
}

fn title(run: &SavedRun) -> String {
    let first = run.begin.targets.first().map_or_else(|| "no target".to_owned(), |target| escape(target));
    match run.begin.urls {
        0 | 1 => first,
        urls => format!("{first} and {} more", count(urls - 1)),
    }
}

/// What must be known beside the figures of a run.
pub fn notes(run: &SavedRun) -> Vec<String> {
    verdict(text::parts(run).0).lines
}

fn verdict(top: Vec<text::Block>) -> Verdict {
    let mut verdict = Verdict { word: String::new(), tone: Tone::Bad, pieces: Vec::new(), lines: Vec::new() };
    for block in top {
        match block {
            text::Block::Verdict(paint, mut pieces) => {
                verdict.tone = tone(paint);
                if !pieces.is_empty() {
                    verdict.word = pieces.remove(0);
                }
                verdict.pieces = pieces;
            }
            text::Block::Line(line) => {
                let note = line.strip_prefix("note: ").map(str::to_owned);
                verdict.lines.push(note.unwrap_or(line));
            }
            _ => {}
        }
    }
    verdict
}

/// The tone of a color.
pub fn tone(paint: Paint) -> Tone {
    match paint {
        Paint::Green => Tone::Good,
        Paint::Bold | Paint::Yellow => Tone::Caution,
        Paint::Red => Tone::Bad,
    }
}

/// The figures that most people came for; none where the counters disagree.
fn headline(run: &SavedRun) -> Vec<Figure> {
    if !result::of(run).accounting.violations.is_empty() {
        return Vec::new();
    }
    let summary = run.summary();
    let (all, tally) = (&summary.all, &summary.stats.measured);
    let at_least = if standing::is_at_least(run) { ", at least" } else { "" };
    let mut figures = Vec::new();
    let mut figure = |label: &str, value: String, detail: String| {
        figures.push(Figure { label: label.into(), value, detail });
    };
    if let Some(ok) = summary.ok_rate() {
        let offered = summary.offered_rate().filter(|_| run.begin.model.is_open());
        let detail = offered.map_or_else(|| slots(run), |offered| format!("{} offered", rate(offered)));
        figure(&format!("ended well{at_least}"), rate(ok), detail);
    }
    let traffic = &summary.stats.traffic;
    let uploads = traffic.sent_body > 0;
    if let Some(goodput) = summary.goodput().filter(|_| !uploads || traffic.body > 0) {
        figure(&format!("goodput{at_least}"), byte_rate(goodput), bit_rate(goodput));
    }
    if let Some(sending) = summary.good_sending().filter(|_| uploads) {
        figure(&format!("uploaded{at_least}"), byte_rate(sending), bit_rate(sending));
    }
    for q in [0.5, 0.99] {
        let service = format!("service {}", quantile(all, Timed::Service, q));
        figure(&format!("response {}", percentile::label(q)), quantile(all, Timed::Response, q), service);
    }
    if let Some(success) = summary.success() {
        let not_ok = tally.failed.saturating_add(tally.dropped);
        figure("success", share(success), format!("{} of {} failed or dropped", count(not_ok), count(tally.scheduled)));
    }
    figures
}

fn slots(run: &SavedRun) -> String {
    match run.begin.model {
        Model::Closed { concurrency: 1 } => "1 slot".into(),
        Model::Closed { concurrency } => format!("{} slots", count(concurrency)),
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
    use measure::Objective;
    use store::{Begin, FORMAT, Host};

    /// What a run begins with, when a test asks for nothing else.
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
        }
    }

    #[test]
    fn a_run_without_an_interval_has_sections_and_no_charts() {
        let document = of(&SavedRun::of(begin(), &[], None));
        assert_eq!((document.verdict.word.as_str(), document.verdict.tone), ("PARTIAL", Tone::Caution));
        assert!(document.charts.is_empty() && document.times.starts.is_empty());
        let titles: Vec<&str> = document.sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles.last(), Some(&"Settings"));
        assert!(titles.contains(&"Operations") && titles.contains(&"Asked for"), "{titles:?}");
    }
}
