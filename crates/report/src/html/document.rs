//! From a saved run to what its HTML report holds.

use super::data::{Block, Chart, Document, Figure, Section, Tone, Verdict};
use super::{curve, heat, series};
use crate::escape::{bounded, escape};
use crate::number::{bit_rate, byte_rate, count, rate, share, time};
use crate::percentile::{self, Percentile};
use crate::standing::{self, Note, Standing};
use crate::text::{self, Paint};
use measure::{Distribution, Model};
use store::SavedRun;

/// Characters of a setting that are shown. The user typed it.
const TYPED_MAX: usize = 4096;

/// The report of a run.
pub fn of(run: &SavedRun) -> Document {
    let (top, sections) = text::parts(run);
    let (times, over_time) = series::of(run);
    let charts: Vec<Chart> = curve::of(run).into_iter().chain(over_time).chain(heat::of(run)).collect();
    let mut sections = in_sections(sections);
    sections.extend(settings(run));
    let mut verdict = verdict(top);
    // The books balance, and yet the target never had the load that was asked for.
    if standing::notes(run).contains(&Note::RateNotMade) && verdict.tone == Tone::Good {
        verdict.tone = Tone::Caution;
    }
    Document { title: title(run), verdict, headline: headline(run), charts, times, sections }
}

fn title(run: &SavedRun) -> String {
    let first = run.begin.targets.first().map_or_else(|| "no target".to_owned(), |target| escape(target));
    match run.begin.urls {
        0 | 1 => first,
        urls => format!("{first} and {} more", count(urls - 1)),
    }
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

fn tone(paint: Paint) -> Tone {
    match paint {
        Paint::Green => Tone::Good,
        Paint::Bold | Paint::Yellow => Tone::Caution,
        Paint::Red => Tone::Bad,
    }
}

fn in_sections(blocks: Vec<text::Block>) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for block in blocks {
        if let text::Block::Heading(title) = block {
            sections.push(Section { title, blocks: Vec::new() });
        } else if let Some(section) = sections.last_mut() {
            add(&mut section.blocks, block);
        }
    }
    sections
}

fn add(blocks: &mut Vec<Block>, block: text::Block) {
    match block {
        text::Block::Item(label, text) => match blocks.last_mut() {
            Some(Block::Item { texts, .. }) if label.is_empty() => texts.push(text),
            _ => blocks.push(Block::Item { label, texts: vec![text] }),
        },
        text::Block::Line(text) => blocks.push(Block::Line { text }),
        text::Block::Table(table) => {
            let (heads, rows) = table.parts();
            let columns = table.widths().len();
            // Titles in several lines are read as one.
            let title = |column: usize| {
                let words: Vec<&str> = heads.iter().filter_map(|head| head.get(column)).map(String::as_str).collect();
                words.join(" ").trim().to_owned()
            };
            let head = if heads.is_empty() { Vec::new() } else { (0..columns).map(title).collect() };
            let left = (0..columns).map(|column| table.is_left(column)).collect();
            blocks.push(Block::Table { head, left, rows: rows.to_vec() });
        }
        text::Block::Verdict(..) | text::Block::Heading(_) | text::Block::Gap => {}
    }
}

/// All settings as they were resolved.
fn settings(run: &SavedRun) -> Option<Section> {
    let typed = |text: &String| bounded(text, TYPED_MAX);
    let item = |(name, value): &(String, String)| Block::Item { label: typed(name), texts: vec![typed(value)] };
    let blocks: Vec<Block> = run.begin.settings.iter().map(item).collect();
    (!blocks.is_empty()).then(|| Section { title: "Settings".into(), blocks })
}

/// The figures that most people came for; none where the books do not balance.
fn headline(run: &SavedRun) -> Vec<Figure> {
    if matches!(Standing::of(run), Standing::Invalid(_)) {
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
        let service = format!("service {}", quantile(&all.service, q));
        figure(&format!("response {}", percentile::label(q)), quantile(&all.response, q), service);
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

fn quantile(values: &Distribution, q: f64) -> String {
    match percentile::of(values, q) {
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

    #[test]
    fn items_without_a_label_go_on_with_the_one_before() {
        let mut blocks = Vec::new();
        add(&mut blocks, text::Block::Item("status".into(), "1".into()));
        add(&mut blocks, text::Block::Item(String::new(), "2".into()));
        let [Block::Item { label, texts }] = &blocks[..] else { panic!("{blocks:?}") };
        assert_eq!((label.as_str(), texts.as_slice()), ("status", &["1".to_owned(), "2".to_owned()][..]));
    }
}
