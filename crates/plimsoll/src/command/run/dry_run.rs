//! The dry run of a study: its cells with the expected time, bytes and costs. The full text also has the command line
//! and the hooks of every cell.

use super::time_left::Work;
use super::{Planned, command};
use crate::command::fill::{self, Estimate};
use crate::command::line;
use crate::command::load_command::LoadCommand;
use crate::shell::quoted;
use engine::plan::{Plan, RangeChoice};
use measure::units::format_span;
use report::escape::escape;
use report::fill::offer_text;
use report::number::plural;
use std::num::NonZeroU64;
use std::time::Duration;
use study::matrix::TrialCommand;
use study::scenario::Scenario;

/// The expected time, traffic and costs of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
struct Projected {
    /// Expected duration. `None` if the trial ends after a fixed amount of work and its speed is unknown.
    time: Option<Duration>,
    /// `true` if the duration is only a limit, because the trial usually ends earlier, after a fixed amount of work.
    is_limit: bool,
    /// Maximum number of body bytes, or `None` if unknown.
    bytes: Option<f64>,
    /// Costs of a fill by each of its price sheets.
    costs: Option<String>,
}

/// Returns the expected work of a trial.
pub fn work(trial: &TrialCommand) -> Work {
    match project(trial, None) {
        Projected { time: Some(time), is_limit: false, .. } => Work::Time(time),
        Projected { bytes: Some(bytes), .. } => Work::Bytes(bytes),
        Projected { .. } => Work::Unknown,
    }
}

/// Returns the expected time, traffic and costs of a trial at an assumed speed, in bytes per second.
fn project(trial: &TrialCommand, assumed: Option<f64>) -> Projected {
    match command(trial) {
        // The plan of a mix depends on the record of the dataset, which only the target has.
        Ok(LoadCommand::Mix(args)) => {
            let load = &args.common.load;
            let time = load.duration.map(|time| time + load.warmup);
            let bytes = time.zip(assumed).map(|(time, speed)| time.as_secs_f64() * speed);
            Projected { time, bytes, ..Projected::default() }
        }
        Ok(LoadCommand::Fill(args)) => {
            fill::estimate(&args).map(|estimate| of_fill(&args, &estimate, assumed)).unwrap_or_default()
        }
        Ok(LoadCommand::Line(args)) => {
            let machines = args.common().0.fleet.count().and_then(|count| NonZeroU64::try_from(count).ok());
            let expected = line::expected_time::of(&args, machines.unwrap_or(NonZeroU64::MIN));
            Projected { time: Some(expected.longest), ..Projected::default() }
        }
        Err(_) => Projected::default(),
        Ok(command) => command.plan().map(|(plan, _)| of_plan(&plan, assumed)).unwrap_or_default(),
    }
}

/// Returns the expected time, traffic and costs of a fill. If the fill reads objects back, every byte is transferred
/// twice.
fn of_fill(args: &fill::Args, estimate: &Estimate, assumed: Option<f64>) -> Projected {
    let bytes = estimate.upload_bytes as f64;
    let at_speed = assumed.and_then(|speed| Duration::try_from_secs_f64(bytes / speed).ok());
    let upload = [estimate.upload_time, at_speed].into_iter().flatten().min();
    let (time, bytes) = match estimate.reads_back {
        true => (upload.zip(at_speed).map(|(upload, reading)| upload + reading), 2.0 * bytes),
        false => (upload, bytes),
    };
    let costs: Vec<String> = estimate.offers.iter().map(offer_text).collect();
    let costs = (!costs.is_empty()).then(|| format!("{}, for all objects, kept for {}", costs.join(", "), args.keep));
    Projected { time, bytes: Some(bytes), costs, is_limit: false }
}

fn of_plan(plan: &Plan, assumed: Option<f64>) -> Projected {
    let slots = plan.load.in_flight_max();
    let each = plan.stop.ops_per_slot.map(|ops| ops.get().saturating_mul(slots));
    let ops = [plan.stop.ops.map(NonZeroU64::get), each].into_iter().flatten().min();
    let requested = ops.zip(bytes_of_op(plan)).map(|(ops, bytes)| ops as f64 * bytes);
    let requested = [requested, plan.stop.bytes.map(|bytes| bytes.get() as f64)].into_iter().flatten().reduce(f64::min);
    let at_speed = requested.zip(assumed).and_then(|(bytes, speed)| Duration::try_from_secs_f64(bytes / speed).ok());
    let time = [plan.stop.time, at_speed].into_iter().flatten().min();
    let in_time = time.zip(assumed).map(|(time, speed)| time.as_secs_f64() * speed);
    let bytes = [requested, in_time].into_iter().flatten().reduce(f64::min);
    let is_limit = at_speed.is_none() && time.is_some() && (ops.is_some() || plan.stop.bytes.is_some());
    Projected { time: time.map(|time| time + plan.warmup), is_limit, bytes, costs: None }
}

/// Returns the body bytes of an operation: the length of a fixed range, or the average size in a dataset. Returns
/// `None` if the number is unknown.
fn bytes_of_op(plan: &Plan) -> Option<f64> {
    let [request] = plan.mix.requests() else { return None };
    match request.range {
        Some(RangeChoice::Random { length }) => Some(length.get() as f64),
        Some(RangeChoice::Fixed(range)) => Some(range.len() as f64),
        None => {
            let set = &plan.targets.area()?.set;
            Some(set.total_bytes() as f64 / set.count().max(1) as f64)
        }
    }
}

/// Maximum number of lines of a dry run that fits on the first screen.
const LINES_MAX: usize = 24;
/// Maximum number of values of an axis to list. If there are more, only the first and the last are listed.
const VALUES_MAX: usize = 4;

/// Returns the text of a dry run. `assumed` is a speed in bytes per second. Unless the user asked for the `full` text, a
/// long text has a line for each part of the study instead of each cell.
pub fn text(scenario: &Scenario, planned: &[Planned], assumed: Option<f64>, full: bool) -> String {
    let title = format!("{}: {}\n\n", scenario.name, plural(planned.len() as u64, "trial"));
    let trials: Vec<(&Planned, Projected)> = planned
        .iter()
        .filter(|trial| trial.repeat == 0)
        .map(|trial| (trial, project(&trial.command, assumed)))
        .collect();
    let end = totals(scenario, &trials, assumed);
    let details: String = trials.iter().map(|(trial, expected)| of_trial(scenario, trial, expected)).collect();
    let whole = format!("{title}{details}{end}");
    if full || whole.lines().count() <= LINES_MAX {
        return whole;
    }
    let lines: String = (0..scenario.parts.len()).filter_map(|part| of_part(scenario, part, &trials)).collect();
    format!("{title}{lines}{end}--full also prints every cell with its command, hooks and costs\n")
}

/// Returns the expected time and bytes of all trials, and what is not known about them.
fn totals(scenario: &Scenario, trials: &[(&Planned, Projected)], assumed: Option<f64>) -> String {
    let repeats = scenario.repeats.get();
    let moved: f64 = trials.iter().filter_map(|(_, expected)| expected.bytes).sum::<f64>() * f64::from(repeats);
    let mut text =
        format!("\nprojected time: {}\n", TotalTime::of(trials.iter().map(|(_, expected)| expected), repeats));
    let unknown = trials.iter().filter(|(_, expected)| expected.bytes.is_none()).count() as u64 * u64::from(repeats);
    if moved > 0.0 {
        text.push_str(&format!("projected bytes: at most {}", shown(moved)));
        let rest = format!(", and those of {}, which are not known", plural(unknown, "trial"));
        text.push_str(if unknown > 0 { &rest } else { "" });
        text.push('\n');
    }
    if unknown > 0 && assumed.is_none() {
        text.push_str("not known: speeds; --assume 1.25GB/s, for example, projects more times and bytes\n");
    }
    text
}

/// Returns the lines of a trial: its time and bytes, its command, its costs and its hooks.
fn of_trial(scenario: &Scenario, trial: &Planned, expected: &Projected) -> String {
    let Projected { time, is_limit, bytes, costs } = expected;
    let words = crate::redact::command_line(trial.command.arguments.iter().cloned());
    let of: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let limit = if *is_limit { "at most " } else { "" };
    let time = time.map(|time| format!("{limit}{}", format_span(rounded(time))));
    let time = time.unwrap_or_else(|| "until done".to_owned());
    let most = bytes.map(|bytes| format!(", at most {}", shown(bytes))).unwrap_or_default();
    let mut text = format!(
        "  {}, {}: {} × {time}{most}\n    plimsoll {} {}\n",
        escape(&trial.cell),
        escape(&trial.target),
        scenario.repeats,
        trial.command.name,
        escape(&of.join(" "))
    );
    if let Some(costs) = costs {
        text.push_str(&format!("    costs: {costs}\n"));
    }
    for (name, command) in trial.command.hooks.named() {
        if let Some(command) = command {
            text.push_str(&format!("    {name}: {}\n", escape(command)));
        }
    }
    text
}

/// Returns two lines for a part of the study: its time, and its axes. Returns `None` if no trial is of this part.
fn of_part(scenario: &Scenario, part: usize, trials: &[(&Planned, Projected)]) -> Option<String> {
    let own: Vec<&(&Planned, Projected)> = trials.iter().filter(|(trial, _)| trial.part == part).collect();
    if own.is_empty() {
        return None;
    }
    let part = scenario.parts.get(part)?;
    let name = if part.name.is_empty() { "all" } else { part.name.as_str() };
    let distinct = |of: fn(&Planned) -> &str| {
        let mut names: Vec<&str> = own.iter().map(|(trial, _)| of(trial)).collect();
        names.sort_unstable();
        names.dedup();
        names.len() as u64
    };
    let (cells, targets) = (distinct(|trial| &trial.cell), distinct(|trial| &trial.target));
    let repeats = scenario.repeats.get();
    let time = TotalTime::of(own.iter().map(|(_, expected)| expected), repeats);
    let mut text = format!(
        "  {}: {} on {}, {}: {time}\n",
        escape(name),
        plural(cells, "cell"),
        plural(targets, "target"),
        plural(u64::from(repeats), "repeat")
    );
    for axis in &part.axes {
        let labels: Vec<&str> = axis.values.iter().map(|value| value.label.as_str()).collect();
        let listed = match labels.as_slice() {
            [first, .., last] if labels.len() > VALUES_MAX => format!("{first} to {last} ({} values)", labels.len()),
            labels => labels.join(", "),
        };
        text.push_str(&format!("    {}: {}\n", escape(&axis.name), escape(&listed)));
    }
    Some(text)
}

/// Expected time of all trials.
#[derive(Default)]
struct TotalTime {
    /// Time of the trials with a known duration.
    known: Duration,
    /// Number of trials that end after a fixed amount of work, but at the latest after a known time.
    limited: u64,
    /// Sum of these times.
    limit: Duration,
    /// Number of trials that end after a fixed amount of work, at an unknown time.
    open: u64,
}

impl TotalTime {
    /// Returns the time of these trials and their repeats.
    fn of<'p>(trials: impl Iterator<Item = &'p Projected>, repeats: u32) -> Self {
        let mut total = Self::default();
        trials.for_each(|expected| total.add(expected.time, expected.is_limit, repeats));
        total
    }

    fn add(&mut self, time: Option<Duration>, is_limit: bool, repeats: u32) {
        let trials = u64::from(repeats);
        match time {
            None => self.open += trials,
            Some(time) if is_limit => {
                self.limited += trials;
                self.limit += time * repeats;
            }
            Some(time) => self.known += time * repeats,
        }
    }
}

impl std::fmt::Display for TotalTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let span = |time: Duration| format_span(rounded(time));
        let known = (!self.known.is_zero()).then(|| span(self.known));
        let limited = (self.limited > 0).then(|| {
            format!("{} that end after their operations (at most {})", plural(self.limited, "trial"), span(self.limit))
        });
        let open = (self.open > 0).then(|| format!("{} that run until done", plural(self.open, "trial")));
        let parts: Vec<String> = known.into_iter().chain(limited).chain(open).collect();
        f.write_str(&if parts.is_empty() { span(Duration::ZERO) } else { parts.join(", plus ") })
    }
}

/// Rounds a time of at least 10 seconds to whole seconds.
fn rounded(time: Duration) -> Duration {
    if time < Duration::from_secs(10) { time } else { Duration::from_secs(time.as_secs_f64().round() as u64) }
}

fn shown(bytes: f64) -> String {
    report::number::bytes(bytes.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projected_time_names_what_is_not_known() {
        let total = |trials: &[(Option<u64>, bool)]| {
            let mut total = TotalTime::default();
            trials.iter().for_each(|(time, is_limit)| total.add(time.map(Duration::from_secs), *is_limit, 2));
            total.to_string()
        };
        assert_eq!(total(&[(Some(10), false), (Some(5), false)]), "30s");
        assert_eq!(total(&[(None, false)]), "2 trials that run until done");
        assert_eq!(
            total(&[(Some(10), false), (Some(60), true), (None, false)]),
            "20s, plus 2 trials that end after their operations (at most 2m), plus 2 trials that run until done"
        );
        assert_eq!(total(&[]), "0s");
    }
}
