//! The confusion matrix: what was planted against what was named.

use super::causes::{Limit, Model};
use super::output::Word;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One run, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The row.
    pub row: &'static str,
    /// How its load was made.
    pub model: Model,
    /// What the program named.
    pub named: Limit,
    /// Whether that is one of the names that are right.
    pub named_right: bool,
    /// The result.
    pub word: Word,
    /// Whether a printed percentile misses the truth, or a schedule was not kept; `None` where the truth is not known.
    pub spoiled: Option<bool>,
    /// Statements of the program that contradict each other.
    pub contradictions: usize,
}

/// The runs of one row, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// How many.
    pub runs: u32,
    /// Of these, named right.
    pub right: u32,
    /// How often each limit was named.
    pub named: BTreeMap<Limit, u32>,
    /// How often each result came.
    pub words: BTreeMap<Word, u32>,
    /// Runs of which a percentile misses the truth, or the schedule was not kept.
    pub spoiled: u32,
    /// Runs of which all percentiles hold the truth, and the schedule was kept.
    pub sound: u32,
    /// Spoiled runs that passed.
    pub pass_on_spoiled: u32,
    /// Sound runs that were called unusable.
    pub unusable_on_sound: u32,
    /// Runs with contradictions.
    pub contradicting: u32,
}

impl Row {
    fn add(&mut self, run: &Judged) {
        self.runs += 1;
        self.right += u32::from(run.named_right);
        *self.named.entry(run.named).or_default() += 1;
        *self.words.entry(run.word).or_default() += 1;
        self.spoiled += u32::from(run.spoiled == Some(true));
        self.sound += u32::from(run.spoiled == Some(false));
        self.pass_on_spoiled += u32::from(run.spoiled == Some(true) && run.word == Word::Pass);
        self.unusable_on_sound += u32::from(run.spoiled == Some(false) && run.word == Word::Unusable);
        self.contradicting += u32::from(run.contradictions > 0);
    }

    /// The share that was named right.
    pub fn right_share(&self) -> f64 {
        f64::from(self.right) / f64::from(self.runs.max(1))
    }

    /// The counts that matter, as JSON.
    pub fn json(&self) -> Value {
        json!({
            "runs": self.runs,
            "right": self.right,
            "spoiled": self.spoiled,
            "sound": self.sound,
            "pass_on_spoiled": self.pass_on_spoiled,
            "unusable_on_sound": self.unusable_on_sound,
            "contradicting": self.contradicting,
        })
    }

    /// The share of sound runs that were called unusable.
    pub fn unusable_share(&self) -> f64 {
        f64::from(self.unusable_on_sound) / f64::from(self.sound.max(1))
    }
}

/// The rows in the order in which they were first seen, and all runs together.
pub fn rows(runs: &[Judged]) -> (Vec<(&'static str, Row)>, Row) {
    let (mut rows, mut all) = (Vec::<(&str, Row)>::new(), Row::default());
    for run in runs {
        let place = rows.iter().position(|(name, _)| *name == run.row).unwrap_or_else(|| {
            rows.push((run.row, Row::default()));
            rows.len() - 1
        });
        rows[place].1.add(run);
        all.add(run);
    }
    (rows, all)
}

/// The counts of open and closed runs, apart from each other.
pub fn by_model(runs: &[Judged]) -> Value {
    let of = |model| {
        let runs: Vec<Judged> = runs.iter().filter(|run| run.model == model).cloned().collect();
        rows(&runs).1.json()
    };
    json!({"open": of(Model::Open), "closed": of(Model::Closed)})
}

/// The matrix as text.
pub fn text(runs: &[Judged]) -> Vec<String> {
    let (rows, all) = rows(runs);
    let limits: Vec<Limit> = all.named.keys().copied().collect();
    let heads: String = limits.iter().map(|limit| format!("{:>11}", limit.short())).collect();
    let mut lines = vec![format!(
        "{:<26}{:>5}{:>7}{heads}{:>9}{:>13}{:>16}",
        "planted", "runs", "right", "spoiled", "PASS on them", "UNUSABLE, sound"
    )];
    let last = std::iter::once(("all", all));
    for (name, row) in rows.into_iter().chain(last) {
        let counts: String =
            limits.iter().map(|limit| format!("{:>11}", row.named.get(limit).copied().unwrap_or(0))).collect();
        lines.push(
            format!(
                "{name:<26}{:>5}{:>6.0} %{counts}{:>9}{:>13}{:>10} of {:>3}",
                row.runs,
                row.right_share() * 100.0,
                row.spoiled,
                row.pass_on_spoiled,
                row.unusable_on_sound,
                row.sound
            )
            .trim_end()
            .to_owned(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(row: &'static str, named: Limit, word: Word, spoiled: Option<bool>) -> Judged {
        let named_right = named == Limit::Target;
        Judged { row, model: Model::Open, named, named_right, word, spoiled, contradictions: 0 }
    }

    #[test]
    fn counts_add_up_by_row_and_in_all() {
        let runs = [
            run("queue", Limit::Target, Word::Pass, Some(false)),
            run("queue", Limit::Rate, Word::Pass, Some(true)),
            run("delay", Limit::Target, Word::Unusable, Some(false)),
            run("queue", Limit::Target, Word::Unusable, None),
        ];
        let (rows, all) = rows(&runs);
        assert_eq!(
            rows.iter().map(|(name, row)| (*name, row.runs, row.right)).collect::<Vec<_>>(),
            [("queue", 3, 2), ("delay", 1, 1)]
        );
        assert_eq!((all.spoiled, all.sound, all.pass_on_spoiled, all.unusable_on_sound), (1, 2, 1, 1));
        assert!((all.unusable_share() - 0.5).abs() < 1e-12 && (all.right_share() - 0.75).abs() < 1e-12);
        assert_eq!(all.named, BTreeMap::from([(Limit::Target, 3), (Limit::Rate, 1)]));
        let text = text(&runs);
        assert_eq!(text.len(), 4);
        assert!(text[1].starts_with("queue") && text[3].starts_with("all"), "{text:#?}");
    }

    #[test]
    fn open_and_closed_runs_are_counted_apart() {
        let open = run("queue", Limit::Target, Word::Pass, Some(true));
        let closed = Judged { model: Model::Closed, spoiled: Some(false), ..open.clone() };
        let counts = by_model(&[open, closed.clone(), closed]);
        let at = |place| counts.pointer(place).and_then(Value::as_u64);
        assert_eq!((at("/open/runs"), at("/open/spoiled"), at("/open/pass_on_spoiled")), (Some(1), Some(1), Some(1)));
        assert_eq!((at("/closed/runs"), at("/closed/sound"), at("/closed/spoiled")), (Some(2), Some(2), Some(0)));
    }

    #[test]
    fn no_run_is_no_division_by_nothing() {
        assert_eq!(Row::default().right_share(), 0.0);
        assert_eq!(text(&[]).len(), 2);
    }
}
