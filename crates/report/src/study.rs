//! A study: a row for each cell and target, beside what the first target of the cell did.

use crate::measured::Measured;
use crate::number::{byte_rate, rate, share, time};
use crate::repeated::median;
use crate::text::table;
use schemars::JsonSchema;
use serde::Serialize;
use store::SavedRun;

/// What one trial came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trial {
    /// What its cell is called.
    pub cell: String,
    /// What its target is called.
    pub target: String,
    /// How often the cell was measured there before.
    pub repeat: u32,
    /// 95th percentile of the time to the first byte of successes, in nanoseconds.
    pub ttfb_p95_nanos: Option<u64>,
    /// What its run came to.
    #[serde(flatten)]
    pub measured: Measured,
}

impl Trial {
    /// What the saved run of a trial says.
    #[must_use]
    pub fn of((cell, target, repeat): (&str, &str, u32), directory: &str, run: &SavedRun) -> Self {
        Self {
            cell: cell.to_owned(),
            target: target.to_owned(),
            repeat,
            ttfb_p95_nanos: run.summary().all.ttfb.quantile(0.95),
            measured: Measured::of(directory, run),
        }
    }

    /// What is compared: goodput, or operations where objects have no bodies.
    fn carried(&self) -> Option<f64> {
        self.measured
            .goodput
            .filter(|goodput| *goodput > 0.0)
            .or(self.measured.ok_per_second)
            .filter(|carried| *carried > 0.0)
    }
}

/// The trials of a cell on a target.
struct Row<'t> {
    trials: Vec<&'t Trial>,
}

impl Row<'_> {
    fn middle(&self, of: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        median(self.trials.iter().filter_map(|trial| of(trial)).collect())
    }

    fn shown(&self, of: impl Fn(&Trial) -> Option<f64>, form: impl Fn(f64) -> String) -> String {
        self.middle(of).map_or_else(|| "–".to_owned(), form)
    }

    /// How much it carried beside `first`, repeat by repeat: the median, and the range where there are several.
    fn beside(&self, first: &Row<'_>) -> String {
        let pair = |trial: &&Trial| {
            let other = first.trials.iter().find(|other| other.repeat == trial.repeat)?;
            Some(trial.carried()? / other.carried()?)
        };
        let ratios: Vec<f64> = self.trials.iter().filter_map(pair).collect();
        let (least, most) =
            ratios.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), ratio| (a.min(*ratio), b.max(*ratio)));
        match (median(ratios.clone()), ratios.len()) {
            (Some(ratio), 1) => format!("{ratio:.2} ×"),
            (Some(ratio), _) => format!("{ratio:.2} × ({least:.2} … {most:.2})"),
            (None, _) => "–".to_owned(),
        }
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

/// The trials of a study as a table, in the order in which cells and targets were first measured. Medians of repeats.
#[must_use]
pub fn text(trials: &[Trial]) -> String {
    table(&rows(trials))
}

/// A row of titles, and one for each cell and target.
pub(crate) fn rows(trials: &[Trial]) -> Vec<[String; 10]> {
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for trial in trials {
        let key = (trial.cell.as_str(), trial.target.as_str());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let cells: Vec<&str> = keys.iter().map(|(cell, _)| *cell).collect();
    keys.sort_by_key(|(cell, _)| cells.iter().position(|known| known == cell));
    let row_of = |(cell, target): (&str, &str)| Row {
        trials: trials.iter().filter(|trial| trial.cell == cell && trial.target == target).collect(),
    };
    let mut rows = vec![
        ["cell", "target", "ok", "goodput", "beside", "TTFB p95", "p50", "p99", "success", "limited by"]
            .map(str::to_owned),
    ];
    let mut before: Option<(&str, Row<'_>)> = None;
    for key in keys {
        let row = row_of(key);
        let first = before.as_ref().filter(|(cell, _)| *cell == key.0).map(|(_, first)| first);
        let nanos = |value: Option<u64>| value.map(|nanos| nanos as f64);
        rows.push([
            if first.is_some() { String::new() } else { key.0.to_owned() },
            key.1.to_owned(),
            row.shown(|trial| trial.measured.ok_per_second, rate),
            row.shown(|trial| trial.measured.goodput, byte_rate),
            first.map_or_else(String::new, |first| row.beside(first)),
            row.shown(|trial| nanos(trial.ttfb_p95_nanos), time),
            row.shown(|trial| nanos(trial.measured.response_p50_nanos), time),
            row.shown(|trial| nanos(trial.measured.response_p99_nanos), time),
            row.shown(|trial| trial.measured.success, share),
            row.remark(),
        ]);
        if first.is_none() {
            before = Some((key.0, row));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(target: &str, repeat: u32, goodput: f64) -> Trial {
        Trial {
            cell: "range 1MiB".to_owned(),
            target: target.to_owned(),
            repeat,
            ttfb_p95_nanos: Some(500_000),
            measured: Measured {
                ok_per_second: Some(10.0),
                goodput: Some(goodput),
                success: Some(1.0),
                response_p50_nanos: Some(1_000_000),
                response_p99_nanos: Some(2_000_000),
                objectives: Vec::new(),
                broke: (repeat == 1).then(|| "success >= 99%".to_owned()),
                limited_by: "target".to_owned(),
                directory: String::new(),
            },
        }
    }

    #[test]
    fn targets_stand_beside_the_first_one_repeat_by_repeat() {
        let trials = [trial("a", 0, 100.0), trial("b", 0, 50.0), trial("b", 1, 180.0), trial("a", 1, 200.0)];
        let text = text(&trials);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[1].contains("range 1MiB") && lines[1].contains("150 B/s"), "{text}");
        assert!(lines[2].contains("0.70 × (0.50 … 0.90)") && lines[2].contains("1 of 2: success >= 99%"), "{text}");
    }
}
