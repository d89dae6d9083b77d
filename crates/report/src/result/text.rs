//! The texts of results and of the outcomes of objectives.

use crate::escape::escape;
use crate::number::{byte_rate, count, plural, rate, seconds, share, time};
use crate::percentile;
use measure::objective::{Metric, ObjectiveOutcome, ObjectiveResult};
use measure::path::EmulatorHealth;
use measure::result::{CutOff, MostFailures, Reason};
use measure::sample::outcome::Cause;
use measure::{Objective, RunResult};

/// Returns a reason as a phrase, without a period at the end.
#[must_use]
pub fn text(reason: &Reason) -> String {
    match reason {
        Reason::WrongContent { responses } => {
            format!("{} had wrong or missing content", plural(*responses, "response"))
        }
        Reason::CountersDisagree(violation) => format!(
            "the counters disagree: {} does not hold ({} is not {}), so at least one number of this run is wrong",
            violation.identity.about(),
            count(violation.left),
            count(violation.right)
        ),
        Reason::Unreachable { detail } => format!("the target could not be reached: {}", escape(detail)),
        Reason::Aborted { condition } => format!("ended early because {}", escape(condition)),
        Reason::NothingSucceeded { failed, dropped, hanging, mostly } => {
            nothing_succeeded((*failed, *mostly), *dropped, *hanging)
        }
        Reason::Outage { length } => {
            format!("outage of {}: operations failed or hung, and none succeeded", seconds(length.as_secs_f64()))
        }
        Reason::Missed(judged) => format!("{} missed, {}", judged.objective, measured(judged)),
        Reason::NotEnoughData(judged) => {
            format!("not enough data for {}, because {}", judged.objective, missing_data(judged))
        }
        Reason::ClientMissed { operations, of, lacks_resources } => format!(
            "this client did not start {} of {} in time ({}): {}",
            count(*operations),
            plural(*of, "operation"),
            share(*operations as f64 / (*of).max(1) as f64),
            if *lacks_resources {
                "raise its limit of descriptors (`plimsoll doctor` shows how)"
            } else {
                "use more cores or a lower rate"
            }
        ),
        Reason::ClientResources { attempts, of } => format!(
            "this client lacked descriptors or local ports for {} of {}: `plimsoll doctor` shows how to raise the limits",
            count(*attempts),
            plural(*of, "attempt")
        ),
        Reason::ClientDecides(judged) => format!(
            "{} cannot be judged, because the outcome depends on delays of this client ({})",
            judged.objective,
            measured(judged)
        ),
        Reason::OtherPath { differences } => {
            let differences: Vec<String> = differences.iter().map(|difference| escape(difference)).collect();
            format!("the emulated path differs from the requested one ({})", differences.join("; "))
        }
        Reason::Emulator(health) => format!(
            "the emulator of the path {}, so the path differed from the requested one; use a lower rate, fewer slots or more cores",
            match health {
                EmulatorHealth::Good | EmulatorHealth::CpuTooSlow => "did not get enough CPU time",
                EmulatorHealth::MemoryTooSmall => "did not have enough memory",
            }
        ),
        Reason::CutOff(cut_off) => cut_off_text(cut_off),
    }
}

fn nothing_succeeded((failed, mostly): (u64, Option<MostFailures>), dropped: u64, hanging: u64) -> String {
    let why = mostly.map(|mostly| format!("failed ({})", most_failures(mostly))).unwrap_or_else(|| "failed".to_owned());
    let parts = [(failed, why.as_str()), (dropped, "never started"), (hanging, "got no response")];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", count(*number)))
        .collect();
    format!("no operation succeeded; {}", parts.join(", "))
}

fn most_failures(mostly: MostFailures) -> String {
    match mostly {
        MostFailures { cause: Cause::Status, status: Some(status) } => format!("mostly with status {status}"),
        MostFailures { cause, status: Some(status) } => format!("mostly with status {status}: {}", cause.about()),
        MostFailures { cause, status: None } => format!("mostly: {}", cause.about()),
    }
}

fn missing_data(judged: &ObjectiveResult) -> String {
    if judged.operations < judged.needed {
        let operations = plural(judged.operations, "operation");
        format!(
            "only {operations} ended (needed: {}); run longer, or add --accept-not-enough-data",
            count(judged.needed)
        )
    } else {
        "too many operations were still in flight at the end".into()
    }
}

fn cut_off_text(cut_off: &CutOff) -> String {
    match cut_off {
        CutOff::Interrupted { signal: 2 } => "interrupted by the user (SIGINT)".into(),
        CutOff::Interrupted { signal: 1 } => "interrupted by SIGHUP, because the terminal was closed".into(),
        CutOff::Interrupted { signal: 15 } => "interrupted by SIGTERM".into(),
        CutOff::Interrupted { signal } => format!("interrupted by signal {signal}"),
        CutOff::NoEnd => "no end record, so the run is still going or was killed".into(),
        CutOff::Damaged => "its records are damaged, so only records before the damage are used".into(),
        CutOff::Merged { runs } => format!(
            "merged from {}, for the time that all of them measured; operations across the start or end of this time \
             are not checked",
            plural(*runs, "run")
        ),
        CutOff::AgentsLost { lost, agents } => format!(
            "lost {} of {} after the start ({}), so the load differed from the requested one",
            count(lost.len() as u64),
            plural(*agents, "agent"),
            names(lost)
        ),
        CutOff::StartsApart { spread, limit } => format!(
            "the agents started {} apart, more than the limit of {}",
            time(spread.as_nanos() as f64),
            time(limit.as_nanos() as f64)
        ),
        CutOff::DiskFull => "the disk that holds the run was full".into(),
        CutOff::Failed { detail } => format!("could not go on: {}", escape(detail)),
    }
}

/// Maximum number of lost agents to name.
const AGENTS_NAMED: usize = 3;

/// Returns the names of agents as a list.
fn names(agents: &[String]) -> String {
    let shown: Vec<String> = agents.iter().take(AGENTS_NAMED).map(|name| escape(name)).collect();
    let more = if agents.len() > AGENTS_NAMED { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// Returns the measured value of an objective, for example `measured 900 ms`.
fn measured(judged: &ObjectiveResult) -> String {
    let metric = judged.objective.metric();
    match (judged.value, metric) {
        (Some(value), Metric::Success) => format!("measured {}", share_next_to(value, judged.objective.bound())),
        (Some(value), _) => format!("measured {}", value_text(metric, value)),
        (None, Metric::Time(_, q)) => format!("the operation at {} failed or did not end", percentile::label(q)),
        (None, _) => "nothing was measured".into(),
    }
}

/// Maximum number of decimals of a share in percent.
const DECIMALS_MAX: usize = 6;

/// Formats a share like [`share`], but with enough decimals that rounding cannot turn a value just below a bound into
/// the bound itself.
fn share_next_to(value: f64, bound: f64) -> String {
    let is_same_side = |decimals: usize| {
        let scale = 10_f64.powi(decimals as i32);
        let rounded = |share: f64| (share * 100.0 * scale).round();
        (rounded(value) >= rounded(bound)) == (value >= bound)
    };
    match (2..=DECIMALS_MAX).find(|decimals| is_same_side(*decimals)) {
        None | Some(2) => share(value),
        Some(decimals) => format!("{:.decimals$} %", value * 100.0),
    }
}

/// Formats a value in the unit of its metric.
fn value_text(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Success => share(value),
        Metric::Time(..) => time(value),
        Metric::Rate => rate(value),
        Metric::Goodput | Metric::Speed(_) => byte_rate(value),
    }
}

/// Returns the text of an objective's outcome.
#[must_use]
pub fn objective_outcome_text(judged: &ObjectiveResult) -> String {
    match judged.outcome {
        ObjectiveOutcome::Met => format!("met, {}", measured(judged)),
        ObjectiveOutcome::Missed => format!("MISSED, {}", measured(judged)),
        ObjectiveOutcome::NotEnoughData => format!("not enough data, because {}", missing_data(judged)),
        ObjectiveOutcome::ClientLimited => {
            let why = if judged.operations < judged.needed {
                "too few operations ended, and stops of this client may be the cause"
            } else {
                "the outcome depends on delays of this client"
            };
            format!("cannot be judged ({}), because {why}", measured(judged))
        }
    }
}

/// Returns a short text with the first objective missed, or with another condition that failed. Returns `None` if the
/// run passed or was cut off.
#[must_use]
pub fn first_missed(result: &RunResult) -> Option<String> {
    result.reasons.iter().find_map(|reason| match reason {
        Reason::Missed(judged) | Reason::NotEnoughData(judged) | Reason::ClientDecides(judged) => {
            Some(Objective::to_string(&judged.objective))
        }
        Reason::CutOff(_) => None,
        Reason::WrongContent { .. } => Some("content is correct".into()),
        Reason::Outage { .. } => Some("no outage".into()),
        Reason::NothingSucceeded { .. } => Some("operations succeed".into()),
        Reason::Aborted { condition } => Some(
            Objective::missed_when(condition).map_or_else(|_| escape(condition), |objective| objective.to_string()),
        ),
        Reason::Unreachable { .. } => Some("the target can be reached".into()),
        Reason::CountersDisagree(_) => Some("the counters agree".into()),
        Reason::ClientMissed { .. } | Reason::ClientResources { .. } => Some("the client keeps up".into()),
        Reason::OtherPath { .. } | Reason::Emulator(_) => Some("the path is as requested".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_share_is_not_rounded_to_its_bound() {
        let success = 1.0 - 305.0 / 30_492.0;
        assert_eq!(share_next_to(success, 0.99), "98.9997 %");
        assert_eq!([share_next_to(0.99, 0.99), share_next_to(0.98, 0.99)], ["99.00 %", "98.00 %"]);
        assert_eq!([share_next_to(0.999_999, 1.0), share_next_to(1.0, 1.0)], ["99.9999 %", "100.00 %"]);
    }
}
