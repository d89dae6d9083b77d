//! A study: a row for each cell and target, beside what the first target of the cell did.

use crate::discrepancy::Discrepancy;
use crate::joint;
use crate::json::{ResultName, ResultOfRun};
use crate::lines::LineTrial;
use crate::measured::Measured;
use crate::number::{byte_rate, count, plural, rate, share};
use crate::percentile;
use crate::repeated::median;
use crate::result;
use crate::standing;
use crate::subtraction::{Subtraction, Values};
use crate::text::{failures, paragraph, table};
use measure::objective::Timed;
use measure::{AttemptClass, ExitStatus, ResultWord};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::{HashMap, HashSet};
use store::SavedRun;

/// All trials of a study. In JSON, they come after their result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// How many trials were to be run.
    pub planned: u64,
    /// Those that measured one load.
    pub trials: Vec<Trial>,
    /// Those that searched for the load line.
    pub lines: Vec<LineTrial>,
    /// Differences of cells, pair by pair of trials.
    pub differences: Vec<Subtraction>,
    /// Objects that end well on one target and fail on another.
    pub discrepancies: Vec<Discrepancy>,
    /// What ended the command before all trials were there. Not known of a saved study.
    pub broken_off: Option<ExitStatus>,
}

/// All trials of a study.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Study")]
struct Document<'s> {
    /// The result of all trials together: that of the worst, and `partial` where some are missing.
    result: ResultOfRun,
    /// How many trials were to be run.
    planned: u64,
    /// Those that measured one load.
    trials: &'s [Trial],
    /// Those that searched for the load line.
    lines: &'s [LineTrial],
    /// Differences of cells, pair by pair of trials: each target minus the first one of its cell, or what was asked for.
    differences: &'s [Subtraction],
    /// Objects that end well on one target and fail on another, where operations were logged.
    discrepancies: &'s [Discrepancy],
}

impl Serialize for Study {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = Document {
            result: joint::of_study(self),
            planned: self.planned,
            trials: &self.trials,
            lines: &self.lines,
            differences: &self.differences,
            discrepancies: &self.discrepancies,
        };
        document.serialize(serializer)
    }
}

impl Study {
    /// Trials that are there.
    #[must_use]
    pub fn count(&self) -> u64 {
        (self.trials.len() + self.lines.len()) as u64
    }

    /// Trials that are not there: the study goes on, or was stopped.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.planned.saturating_sub(self.count())
    }

    /// Its result: that of all trials together, and PARTIAL where some are missing.
    #[must_use]
    pub fn result(&self) -> ResultWord {
        joint::of_study(self).word
    }

    /// How its trials stand, in phrases.
    #[must_use]
    pub fn standing(&self) -> Vec<String> {
        let (trials, searches) = (self.trials.len() as u64, self.lines.len() as u64);
        let met = self.trials.iter().filter(|trial| trial.measured.broke.is_none()).count() as u64;
        let objectives = || format!("objectives met in {} of {}", count(met), plural(trials, "trial"));
        let searched = || format!("{} searched", plural(searches, "load line"));
        let phrases = [(trials > 0).then(objectives), (searches > 0).then(searched)];
        phrases.into_iter().flatten().collect()
    }

    /// Its first line: whether it can be used, how its trials stand, and how far it is.
    #[must_use]
    pub fn headline(&self) -> String {
        let mut pieces = vec![self.result().text().to_owned()];
        pieces.extend(self.standing());
        if self.missing() > 0 {
            let (missing, planned) = (count(self.missing()), count(self.planned));
            pieces.push(format!("{missing} of {planned} are not there: `plimsoll run --resume` goes on"));
        }
        pieces.join(" · ") + "\n\n"
    }
}

/// What one trial came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trial {
    /// What its cell is called.
    pub cell: String,
    /// What its target is called.
    pub target: String,
    /// Which repeat of its cell on its target, counted from 1.
    pub repeat: u32,
    /// 95th percentile of the time to the first byte of successes, in nanoseconds.
    pub ttfb_p95_nanos: Option<u64>,
    /// Lower end of its range; the same where client stalls made no difference.
    pub ttfb_p95_low_nanos: Option<u64>,
    /// What its run came to.
    #[serde(flatten)]
    pub measured: Measured,
    /// Its result.
    #[serde(with = "ResultName")]
    pub result: ResultWord,
    /// The exit code that it deserves.
    #[serde(skip)]
    #[schemars(skip)]
    pub exit: ExitStatus,
    /// Attempts of its measured window.
    pub attempts: u64,
    /// Those that failed, by class.
    pub failures: Vec<Failed>,
    /// What must be known beside the figures.
    pub notes: Vec<String>,
    /// What it is compared by.
    #[serde(skip)]
    #[schemars(skip)]
    pub values: Values,
}

/// Attempts that failed in one way.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Failed {
    /// The class.
    #[schemars(with = "String")]
    pub class: AttemptClass,
    /// How many.
    pub attempts: u64,
}

impl Trial {
    /// What the saved run of a trial says.
    #[must_use]
    pub fn of((cell, target, repeat): (&str, &str, u32), directory: &str, run: &SavedRun) -> Self {
        let tally = &run.summary().stats.measured;
        let failed = |(class, attempts): (AttemptClass, u64)| Failed { class, attempts };
        let result = result::of(run);
        let all = &run.summary().all;
        let ttfb_p95 = all.ttfb.quantile(0.95);
        Self {
            cell: cell.to_owned(),
            target: target.to_owned(),
            repeat,
            ttfb_p95_nanos: ttfb_p95,
            ttfb_p95_low_nanos: percentile::ends(all, Timed::Ttfb, 0.95).map(|(low, _)| low).or(ttfb_p95),
            measured: Measured::of(directory, run),
            result: result.word,
            exit: result.exit,
            attempts: tally.attempts,
            failures: failures::failed(&tally.classes).map(failed).collect(),
            notes: standing::notes(run).iter().map(ToString::to_string).collect(),
            values: Values::of(run),
        }
    }

    fn has_ranges(&self) -> bool {
        let measured = &self.measured;
        self.ttfb_p95_low_nanos < self.ttfb_p95_nanos || measured.p50_is_range() || measured.p99_is_range()
    }

    /// What is compared: goodput, or operations where objects have no bodies. 0 of a trial in which nothing succeeded.
    fn carried(&self) -> Option<f64> {
        self.measured.goodput.filter(|goodput| *goodput > 0.0).or(self.measured.ok_per_second)
    }
}

/// The trials of a cell on a target, in the order in which they were run.
pub(crate) struct Row<'t> {
    /// What the cell is called.
    pub cell: &'t str,
    /// What the target is called.
    pub target: &'t str,
    /// The trials.
    pub trials: Vec<&'t Trial>,
    /// The row of the first target of the cell; `None` in that row itself.
    pub first: Option<usize>,
}

/// A figure of several trials: the middle one, and how far the others lie from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The median.
    pub middle: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// How many trials have it.
    pub count: usize,
}

impl Spread {
    fn of(values: Vec<f64>) -> Option<Self> {
        let (least, most) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(*value), most.max(*value)));
        let count = values.len();
        median(values).map(|middle| Self { middle, least, most, count })
    }
}

impl Row<'_> {
    /// A figure of its trials; `None` when none has it.
    pub fn spread(&self, of: impl Fn(&Trial) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.trials.iter().filter_map(|trial| of(trial)).collect())
    }

    fn shown(&self, of: impl Fn(&Trial) -> Option<f64>, form: impl Fn(f64) -> String) -> String {
        self.spread(of).map_or_else(|| "–".to_owned(), |spread| form(spread.middle))
    }

    /// The median of a time. Its range reaches from the median of the lower ends to that of the upper ones.
    fn time(&self, [low, high]: [fn(&Trial) -> Option<u64>; 2]) -> String {
        let middle = |of: fn(&Trial) -> Option<u64>| {
            self.spread(|trial| of(trial).map(|nanos| nanos as f64)).map(|spread| spread.middle)
        };
        middle(high).map_or_else(|| "–".to_owned(), |nanos| percentile::between(middle(low), nanos))
    }

    /// How much it carried compared with `first`, repeat by repeat. A pair of which only the other is dead is infinite; one of which
    /// both are has no ratio.
    pub fn beside(&self, first: &Row<'_>) -> Option<Spread> {
        let pair = |trial: &&Trial| {
            let other = first.trials.iter().find(|other| other.repeat == trial.repeat)?;
            Some(trial.carried()? / other.carried()?).filter(|ratio| !ratio.is_nan())
        };
        Spread::of(self.trials.iter().filter_map(pair).collect())
    }

    /// How the objectives stand, and what set the limit.
    fn remark(&self) -> String {
        let broken = self.trials.iter().filter_map(|trial| trial.measured.broke.as_ref());
        let limited = self.trials.first().map(|trial| trial.measured.limited_by.clone()).unwrap_or_default();
        match (broken.clone().next(), broken.count()) {
            (Some(broke), count) if count < self.trials.len() => {
                format!("{limited} · {count} of {}: {broke}", self.trials.len())
            }
            (Some(broke), _) => format!("{limited} · {broke}"),
            (None, _) => limited,
        }
    }
}

/// In which order cells and targets stand: as in the scenario. What it does not name stands behind, as it was first measured.
#[derive(Clone, Debug, Default)]
pub struct Order<'s> {
    /// Names of cells.
    pub cells: Vec<&'s str>,
    /// Names of targets. The first one of a cell is what the others stand beside.
    pub targets: Vec<&'s str>,
}

impl<'s> Order<'s> {
    /// With the names that were measured as well.
    pub(crate) fn with(&self, measured: impl Iterator<Item = (&'s str, &'s str)>) -> Self {
        let mut order = self.clone();
        let mut known: [HashSet<&str>; 2] =
            [order.cells.iter().copied().collect(), order.targets.iter().copied().collect()];
        for (cell, target) in measured {
            if known[0].insert(cell) {
                order.cells.push(cell);
            }
            if known[1].insert(target) {
                order.targets.push(target);
            }
        }
        order
    }
}

/// The trials by cell and target.
pub(crate) fn rows<'t>(trials: &'t [Trial], order: &Order<'t>) -> Vec<Row<'t>> {
    let order = order.with(trials.iter().map(|trial| (trial.cell.as_str(), trial.target.as_str())));
    let mut by_key: HashMap<(&str, &str), Vec<&Trial>> = HashMap::new();
    trials.iter().for_each(|trial| by_key.entry((&trial.cell, &trial.target)).or_default().push(trial));
    let mut rows = Vec::new();
    for cell in order.cells {
        let begun = rows.len();
        for target in &order.targets {
            let Some(trials) = by_key.remove(&(cell, *target)) else { continue };
            let first = (rows.len() > begun).then_some(begun);
            rows.push(Row { cell, target, trials, first });
        }
    }
    rows
}

/// Titles of what is shown of a row.
pub(crate) const COLUMNS: [&str; 10] =
    ["cell", "target", "ok", "goodput", "beside", "TTFB p95", "p50", "p99", "success", "limited by"];

/// What is shown of a row, under [`COLUMNS`]: medians of repeats, and how much it carried beside the first target.
pub(crate) fn cells(row: &Row<'_>, first: Option<&Row<'_>>) -> [String; 10] {
    [
        row.cell.to_owned(),
        row.target.to_owned(),
        row.shown(|trial| trial.measured.ok_per_second, rate),
        row.shown(|trial| trial.measured.goodput, byte_rate),
        first.map_or_else(String::new, |first| beside(row.beside(first))),
        row.time([|trial| trial.ttfb_p95_low_nanos, |trial| trial.ttfb_p95_nanos]),
        row.time([|trial| trial.measured.response_p50_low_nanos, |trial| trial.measured.response_p50_nanos]),
        row.time([|trial| trial.measured.response_p99_low_nanos, |trial| trial.measured.response_p99_nanos]),
        row.shown(|trial| trial.measured.success, share),
        row.remark(),
    ]
}

/// The median of pairs, and the range where there are several.
pub(crate) fn beside(ratio: Option<Spread>) -> String {
    match ratio {
        Some(Spread { middle, count: 1, .. }) => format!("{} ×", times(middle)),
        Some(Spread { middle, least, most, .. }) => {
            format!("{} × ({} … {})", times(middle), times(least), times(most))
        }
        None => "–".to_owned(),
    }
}

/// How many times, in two digits behind the point.
pub(crate) fn times(ratio: f64) -> String {
    if ratio.is_infinite() { "∞".to_owned() } else { format!("{ratio:.2}") }
}

/// The trials of a study as a table.
#[must_use]
pub fn text<'t>(trials: &'t [Trial], order: &Order<'t>) -> String {
    table(&shown(trials, order)) + &about_ranges(trials).map(paragraph).unwrap_or_default()
}

/// What the ranges of trials mean, where there are any.
pub(crate) fn about_ranges(trials: &[Trial]) -> Option<&'static str> {
    trials.iter().any(Trial::has_ranges).then_some(percentile::ABOUT_RANGES)
}

/// A row of titles, and one for each cell and target.
pub(crate) fn shown<'t>(trials: &'t [Trial], order: &Order<'t>) -> Vec<[String; 10]> {
    let rows = rows(trials, order);
    let row = |row: &Row<'_>| {
        let first = row.first.and_then(|first| rows.get(first));
        let mut cells = cells(row, first);
        if first.is_some() {
            cells[0].clear();
        }
        cells
    };
    std::iter::once(COLUMNS.map(str::to_owned)).chain(rows.iter().map(row)).collect()
}

/// The JSON Schema of [`Study`].
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Document<'_>).to_value()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A trial of one cell; every second one missed its objective.
    pub(crate) fn trial(target: &str, repeat: u32, goodput: f64) -> Trial {
        Trial {
            cell: "range 1MiB".to_owned(),
            target: target.to_owned(),
            repeat,
            ttfb_p95_nanos: Some(500_000),
            ttfb_p95_low_nanos: Some(500_000),
            measured: Measured {
                ok_per_second: Some(10.0),
                goodput: Some(goodput),
                success: Some(1.0),
                response_p50_nanos: Some(1_000_000),
                response_p50_low_nanos: Some(1_000_000),
                response_p99_nanos: Some(2_000_000),
                response_p99_low_nanos: Some(2_000_000),
                objectives: Vec::new(),
                broke: (repeat == 2).then(|| "success >= 99%".to_owned()),
                limited_by: "target".to_owned(),
                directory: String::new(),
            },
            result: ResultWord::Pass,
            exit: ExitStatus::Good,
            attempts: 100,
            failures: vec![Failed { class: AttemptClass::Http5xx, attempts: u64::from(repeat - 1) }],
            notes: Vec::new(),
            values: Values::default(),
        }
    }

    #[test]
    fn targets_stand_beside_the_first_one_repeat_by_repeat() {
        let trials = [trial("a", 1, 100.0), trial("b", 1, 50.0), trial("b", 2, 180.0), trial("a", 2, 200.0)];
        let text = text(&trials, &Order::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[1].contains("range 1MiB") && lines[1].contains("150 B/s"), "{text}");
        assert!(lines[2].contains("0.70 × (0.50 … 0.90)") && lines[2].contains("1 of 2: success >= 99%"), "{text}");
    }

    #[test]
    fn the_first_target_is_that_of_the_scenario_whoever_was_measured_first() {
        let trials = [trial("b", 1, 50.0), trial("a", 1, 100.0)];
        let text = text(&trials, &Order { cells: Vec::new(), targets: vec!["a", "b"] });
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains(" a ") && lines[2].contains("0.50 ×"), "{text}");
    }

    #[test]
    fn a_median_of_ranges_is_a_range() {
        let mut stalled = trial("a", 2, 100.0);
        (stalled.measured.response_p99_low_nanos, stalled.measured.response_p99_nanos) =
            (Some(4_000_000), Some(8_000_000));
        let trials = [trial("a", 1, 100.0), stalled];
        let text = text(&trials, &Order::default());
        assert!(text.contains("3.00 ms … 5.00 ms") && text.contains("\n  a … b: "), "{text}");
        assert!(!super::text(&trials[..1], &Order::default()).contains('…'));
    }

    #[test]
    fn the_document_begins_with_the_result_of_all_trials() {
        let failed = Trial { result: ResultWord::Fail, exit: ExitStatus::Failed, ..trial("a", 2, 100.0) };
        let mut study = Study { planned: 2, trials: vec![trial("a", 1, 100.0), failed], ..Study::default() };
        let document = |study: &Study| serde_json::to_value(study).unwrap()["result"].clone();
        let texts = |reasons: &[(&str, &str)]| -> Vec<_> {
            reasons.iter().map(|(name, text)| serde_json::json!({ "name": name, "text": text })).collect()
        };
        let fail = ("fail", "FAIL in 1 of 2 trials");
        let wanted = serde_json::json!({ "word": "fail", "exit_code": 1, "reasons": texts(&[fail]) });
        assert_eq!(document(&study), wanted);
        study.planned = 3;
        let missing = ("missing", "1 of 3 trials are not there");
        let wanted = serde_json::json!({ "word": "fail", "exit_code": 1, "reasons": texts(&[fail, missing]) });
        assert_eq!(document(&study), wanted);
        assert!(study.headline().starts_with("FAIL · "));
        let interrupted = Study { broken_off: Some(ExitStatus::Interrupted(15)), ..study.clone() };
        assert_eq!(document(&interrupted)["exit_code"], 143);
        study.trials.truncate(1);
        assert_eq!((document(&study)["word"].as_str(), study.result()), (Some("partial"), ResultWord::Partial));
        let validator = jsonschema::validator_for(&schema()).unwrap();
        assert!(validator.is_valid(&serde_json::to_value(&study).unwrap()));
    }

    #[test]
    fn a_dead_trial_stays_in_its_pair() {
        let mut dead = trial("b", 2, 0.0);
        (dead.measured.goodput, dead.measured.ok_per_second) = (Some(0.0), Some(0.0));
        let trials = [trial("a", 1, 100.0), trial("b", 1, 50.0), dead.clone(), trial("a", 2, 200.0)];
        assert!(
            text(&trials, &Order::default()).contains("0.25 × (0.00 … 0.50)"),
            "{}",
            text(&trials, &Order::default())
        );
        let order = Order { cells: Vec::new(), targets: vec!["b", "a"] };
        assert!(text(&trials, &order).contains("∞ × (2.00 … ∞)"), "{}", text(&trials, &order));
    }
}
