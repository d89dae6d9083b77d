//! What a study would do: every cell as the command that would be typed, and how long it all takes.

use super::{Planned, command};
use crate::cli::Command;
use engine::plan::{Plan, RangeChoice};
use measure::units::format_span;
use report::escape::escape;
use report::number::plural;
use std::num::NonZeroU64;
use std::time::Duration;
use study::Scenario;
use study::matrix::Words;

/// What a trial takes, as far as it is known before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Projected {
    /// How long; `None` where its end is no matter of time, and nothing tells how fast it goes.
    time: Option<Duration>,
    /// Body bytes that are moved, at most.
    bytes: Option<f64>,
}

/// How long a trial takes, where its end is a matter of time.
pub fn projected(words: &Words) -> Option<Duration> {
    project(words, None).time
}

/// What a trial takes at a speed that is assumed, in bytes per second.
fn project(words: &Words, assumed: Option<f64>) -> Projected {
    match command(words) {
        // Its plan needs the dataset, which is asked for where it lies.
        Ok(Command::Mix(args)) => {
            let load = &args.common.load;
            let time = load.duration.map(|time| time + load.warmup);
            Projected { time, bytes: time.zip(assumed).map(|(time, speed)| time.as_secs_f64() * speed) }
        }
        Ok(Command::Line(_)) | Err(_) => Projected::default(),
        Ok(command) => command.plan().map(|(plan, _)| of_plan(&plan, assumed)).unwrap_or_default(),
    }
}

fn of_plan(plan: &Plan, assumed: Option<f64>) -> Projected {
    let slots = plan.load.in_flight_max();
    let each = plan.stop.ops_per_slot.map(|ops| ops.get().saturating_mul(slots));
    let ops = [plan.stop.ops.map(NonZeroU64::get), each].into_iter().flatten().min();
    let asked = ops.zip(bytes_of_op(plan)).map(|(ops, bytes)| ops as f64 * bytes);
    let asked = [asked, plan.stop.bytes.map(|bytes| bytes.get() as f64)].into_iter().flatten().reduce(f64::min);
    let at_speed = asked.zip(assumed).and_then(|(bytes, speed)| Duration::try_from_secs_f64(bytes / speed).ok());
    let time = [plan.stop.time, at_speed].into_iter().flatten().min();
    let in_time = time.zip(assumed).map(|(time, speed)| time.as_secs_f64() * speed);
    let bytes = [asked, in_time].into_iter().flatten().reduce(f64::min);
    Projected { time: time.map(|time| time + plan.warmup), bytes }
}

/// Body bytes of an operation, where all have the same: slices of a fixed length, or objects of one size that is known.
fn bytes_of_op(plan: &Plan) -> Option<f64> {
    let [request] = plan.mix.requests() else { return None };
    match request.range {
        Some(RangeChoice::Random { length }) => Some(length.get() as f64),
        Some(RangeChoice::Fixed(range)) => Some(range.len() as f64),
        None => {
            let dataset = &plan.targets.area()?.dataset;
            Some(dataset.total_bytes() as f64 / dataset.count().max(1) as f64)
        }
    }
}

/// What would be run; `assumed` is a speed in bytes per second.
pub fn text(scenario: &Scenario, planned: &[Planned], assumed: Option<f64>) -> String {
    let mut text = format!("{}: {}\n\n", scenario.name, plural(planned.len() as u64, "trial"));
    let repeats = scenario.repeats.get();
    let (mut sum, mut moved, mut open) = (Duration::ZERO, 0.0, false);
    for trial in planned.iter().filter(|trial| trial.repeat == 0) {
        let Projected { time, bytes } = project(&trial.words, assumed);
        sum += time.unwrap_or_default() * repeats;
        moved += bytes.unwrap_or_default() * f64::from(repeats);
        open |= time.is_none();
        let words = crate::redact::command_line(trial.words.words.iter().cloned());
        let of: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let time = time.map_or_else(|| "until done".to_owned(), |time| format_span(rounded(time)));
        let most = bytes.map(|bytes| format!(", at most {}", shown(bytes))).unwrap_or_default();
        text.push_str(&format!(
            "  {}, {}: {repeats} × {time}{most}\n    plimsoll {} {}\n",
            escape(&trial.cell),
            escape(&trial.target),
            trial.words.command,
            escape(&of.join(" "))
        ));
        for (name, command) in trial.words.hooks.named() {
            if let Some(command) = command {
                text.push_str(&format!("    {name}: {}\n", escape(command)));
            }
        }
    }
    let more = if open { ", and what those take that end when they are done" } else { "" };
    text.push_str(&format!("\nprojected time: {}{more}\n", format_span(rounded(sum))));
    if moved > 0.0 {
        text.push_str(&format!("projected bytes: at most {}\n", shown(moved)));
    }
    text
}

/// Without what nobody plans with.
fn rounded(time: Duration) -> Duration {
    if time < Duration::from_secs(10) { time } else { Duration::from_secs(time.as_secs_f64().round() as u64) }
}

fn shown(bytes: f64) -> String {
    report::number::bytes(bytes.round() as u64)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,%+@".contains(letter);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
