//! A finished run. The report of the run is compared with the planted cause and with the true response times.

use super::confusion_matrix::JudgedRun;
use super::ground_truth::{self, Load, LogEntry, Pauses, Queue, Window};
use super::limit::Limit;
use super::report::{Printed, Report, ResultWord};
use super::trial::Trial;
use super::variant::Model;
use serde_json::{Value, json};

/// A finished run.
pub struct FinishedTrial {
    trial: Trial,
    report: Report,
    /// Printed percentiles with their true values; `None` if the true values are not known.
    percentiles: Option<Vec<Percentile>>,
}

/// A printed percentile with its true value.
struct Percentile {
    printed: Printed,
    /// Lower and upper bound of the true value, in seconds.
    truth: (f64, f64),
}

impl Percentile {
    fn is_wrong(&self) -> bool {
        ground_truth::is_wrong(self.printed.low, self.printed.high, self.truth)
    }
}

impl FinishedTrial {
    /// Creates a finished run whose true response times are not known.
    pub fn without_log(trial: Trial, report: Report) -> Self {
        Self { trial, report, percentiles: None }
    }

    /// Creates a finished run from its report and the target's log.
    pub fn with_log(trial: Trial, report: Report, log: &[LogEntry]) -> Self {
        let percentiles = trial.cause.has_truth(trial.variant).then(|| percentiles(trial, &report, log)).flatten();
        Self { trial, report, percentiles }
    }

    /// Compares the report with the planted cause and the true response times.
    pub fn judge(&self) -> JudgedRun {
        let (named, right) = (self.report.limit, self.trial.cause.right(self.trial.variant));
        // A program that refuses to run reports no limit. Such a refusal is correct only if `NotDetermined` is one of
        // the correct limits.
        let is_right_refusal = self.report.word != ResultWord::Refused || right.contains(&Limit::NotDetermined);
        JudgedRun {
            row: self.trial.cause.label(),
            model: self.trial.variant.model,
            named,
            named_right: right.contains(&named) && is_right_refusal,
            word: self.report.word,
            spoiled: self.is_spoiled(),
            contradictions: self.report.contradictions.len(),
        }
    }

    /// Returns whether the run is spoiled; `None` if this cannot be determined.
    fn is_spoiled(&self) -> Option<bool> {
        if self.missed_schedule() {
            return Some(true);
        }
        self.percentiles.as_ref().map(|percentiles| percentiles.iter().any(Percentile::is_wrong))
    }

    fn missed_schedule(&self) -> bool {
        self.trial.variant.model == Model::Open && self.report.is_short()
    }

    /// Returns a line of text for the run.
    pub fn line(&self) -> String {
        let judged = self.judge();
        let spoiled = match judged.spoiled {
            Some(true) => "spoiled",
            Some(false) => "sound",
            None => "-",
        };
        let wrong = self.percentiles.iter().flatten().filter(|percentile| percentile.is_wrong());
        let wrong: Vec<_> = wrong
            .map(|percentile| {
                let Printed { q, low, high } = percentile.printed;
                let ms = |seconds: f64| format!("{:.2}", seconds * 1e3);
                let (min, max) = percentile.truth;
                format!("p{} {}..{} ms, true {}..{}", q * 100.0, ms(low), ms(high), ms(min), ms(max))
            })
            .take(2)
            .collect();
        let short = if self.missed_schedule() { "schedule not kept " } else { "" };
        format!(
            "  {:<26}{:<22}{:<9}{:<12}{:<6}{:<9}{} of {} ok  {short}{} {}",
            judged.row,
            self.trial.variant.text(),
            judged.word.text(),
            judged.named.short(),
            if judged.named_right { "right" } else { "WRONG" },
            spoiled,
            self.report.ok,
            self.report.offered,
            wrong.join("; "),
            self.report.contradictions.join("; ")
        )
        .trim_end()
        .to_owned()
    }

    /// Returns the run as JSON.
    pub fn json(&self) -> Value {
        let judged = self.judge();
        let percentile = |percentile: &Percentile| {
            let Printed { q, low, high } = percentile.printed;
            let (min, max) = percentile.truth;
            json!({"q": q, "low_s": low, "high_s": high, "truth_s": [min, max], "wrong": percentile.is_wrong()})
        };
        json!({
            "cause": judged.row,
            "variant": self.trial.variant.text(),
            "model": self.trial.variant.model.text(),
            "seed": self.trial.seed,
            "result": judged.word.text(),
            "limited_by": judged.named,
            "right": judged.named_right,
            "spoiled": judged.spoiled,
            "schedule_kept": !self.missed_schedule(),
            "offered": self.report.offered,
            "ok": self.report.ok,
            "failed": self.report.failed,
            "contradictions": self.report.contradictions,
            "percentiles": self.percentiles.iter().flatten().map(percentile).collect::<Vec<_>>(),
        })
    }
}

/// Returns each printed percentile with its true value. `None` if the target got no request.
fn percentiles(trial: Trial, report: &Report, log: &[LogEntry]) -> Option<Vec<Percentile>> {
    let (behavior, amount) = (trial.cause.behavior(), trial.cause.amount());
    let pauses = |late: f64| {
        behavior.stall.map(|stall| Pauses {
            first: (late + stall.at.as_secs_f64(), late + (stall.at + stall.length).as_secs_f64()),
            every: stall.every.map_or(f64::INFINITY, |every| every.as_secs_f64()),
        })
    };
    let (load, costs, stall) = match trial.variant.model {
        Model::Open => {
            let rate = amount.rate.into();
            (Load::Open(rate), ground_truth::open_costs(log), pauses(ground_truth::first_lateness(log, rate)))
        }
        // The planned pauses are part of the costs, so the simulated server has no pauses.
        Model::Closed => {
            let costs = ground_truth::closed_costs(log, amount.slots, report.offered)?;
            (Load::Closed(amount.slots), costs, None)
        }
    };
    let queue = Queue { servers: (behavior.servers > 0).then_some(behavior.servers as usize), stall };
    let window = Window { warmup: trial.cause.warmup().as_secs_f64(), end: trial.window().as_secs_f64() };
    let times = ground_truth::responses(load, window, queue, &costs)?;
    let percentile =
        |&printed: &Printed| Some(Percentile { printed, truth: ground_truth::quantile(&times, printed.q)? });
    report.printed.iter().map(percentile).collect()
}
