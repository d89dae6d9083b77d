//! The confusion matrix: for each planted cause, how often the program reported each limit.

use super::limit::Limit;
use super::report::ResultWord;
use super::variant::Model;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A run, and its comparison with the planted cause.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedRun {
    /// Name of the cause.
    pub row: &'static str,
    /// Load model.
    pub model: Model,
    /// Limit that the program reported.
    pub named: Limit,
    /// `true` if the reported limit is right.
    pub named_right: bool,
    /// Result that the program reported.
    pub word: ResultWord,
    /// `true` if a printed percentile is wrong or the schedule was not kept; `None` if this cannot be determined.
    pub spoiled: Option<bool>,
    /// Number of contradictions in the report.
    pub contradictions: usize,
}

/// Counts of the runs of one cause, or of all runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Runs.
    pub runs: u32,
    /// Runs for which the right limit was reported.
    pub right: u32,
    /// Runs by reported limit.
    pub named: BTreeMap<Limit, u32>,
    /// Runs by result.
    pub words: BTreeMap<ResultWord, u32>,
    /// Runs with a wrong percentile, or with a schedule that was not kept.
    pub spoiled: u32,
    /// Runs whose percentiles are right and whose schedule was kept.
    pub sound: u32,
    /// Spoiled runs that passed.
    pub pass_on_spoiled: u32,
    /// Sound runs that were reported as unusable.
    pub unusable_on_sound: u32,
    /// Runs with contradictions.
    pub contradicting: u32,
}

impl Row {
    fn add(&mut self, run: &JudgedRun) {
        self.runs += 1;
        self.right += u32::from(run.named_right);
        *self.named.entry(run.named).or_default() += 1;
        *self.words.entry(run.word).or_default() += 1;
        self.spoiled += u32::from(run.spoiled == Some(true));
        self.sound += u32::from(run.spoiled == Some(false));
        self.pass_on_spoiled += u32::from(run.spoiled == Some(true) && run.word == ResultWord::Pass);
        self.unusable_on_sound += u32::from(run.spoiled == Some(false) && run.word == ResultWord::Unusable);
        self.contradicting += u32::from(run.contradictions > 0);
    }

    /// Returns the share of runs with the right limit.
    pub fn right_share(&self) -> f64 {
        f64::from(self.right) / f64::from(self.runs.max(1))
    }

    /// Returns the counts as JSON.
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

    /// Returns the share of sound runs that were reported as unusable.
    pub fn unusable_share(&self) -> f64 {
        f64::from(self.unusable_on_sound) / f64::from(self.sound.max(1))
    }
}

/// Returns the counts for each cause, in the order of the runs, and the counts for all runs together.
pub fn rows(runs: &[JudgedRun]) -> (Vec<(&'static str, Row)>, Row) {
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

/// Returns the counts of open runs and of closed runs.
pub fn by_model(runs: &[JudgedRun]) -> Value {
    let of = |model| {
        let runs: Vec<JudgedRun> = runs.iter().filter(|run| run.model == model).cloned().collect();
        rows(&runs).1.json()
    };
    json!({"open": of(Model::Open), "closed": of(Model::Closed)})
}

/// Returns the matrix as lines of text.
pub fn text(runs: &[JudgedRun]) -> Vec<String> {
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

    fn run(row: &'static str, named: Limit, word: ResultWord, spoiled: Option<bool>) -> JudgedRun {
        let named_right = named == Limit::Target;
        JudgedRun { row, model: Model::Open, named, named_right, word, spoiled, contradictions: 0 }
    }

    #[test]
    fn counts_add_up_by_cause_and_overall() {
        let runs = [
            run("queue", Limit::Target, ResultWord::Pass, Some(false)),
            run("queue", Limit::Rate, ResultWord::Pass, Some(true)),
            run("delay", Limit::Target, ResultWord::Unusable, Some(false)),
            run("queue", Limit::Target, ResultWord::Unusable, None),
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
    fn open_and_closed_runs_are_counted_separately() {
        let open = run("queue", Limit::Target, ResultWord::Pass, Some(true));
        let closed = JudgedRun { model: Model::Closed, spoiled: Some(false), ..open.clone() };
        let counts = by_model(&[open, closed.clone(), closed]);
        let at = |place| counts.pointer(place).and_then(Value::as_u64);
        assert_eq!((at("/open/runs"), at("/open/spoiled"), at("/open/pass_on_spoiled")), (Some(1), Some(1), Some(1)));
        assert_eq!((at("/closed/runs"), at("/closed/sound"), at("/closed/spoiled")), (Some(2), Some(2), Some(0)));
    }

    #[test]
    fn without_runs_shares_are_zero() {
        assert_eq!(Row::default().right_share(), 0.0);
        assert_eq!(text(&[]).len(), 2);
    }
}
