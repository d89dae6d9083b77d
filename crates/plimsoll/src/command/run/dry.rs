//! What a study would do: every cell as the command that would be typed, and how long it all takes.

use super::{Planned, command};
use crate::cli::Command;
use measure::units::format_span;
use report::escape::escape;
use report::number::plural;
use std::time::Duration;
use study::Scenario;
use study::matrix::Words;

/// How long a trial takes, where its end is a matter of time.
pub fn projected(words: &Words) -> Option<Duration> {
    match command(words).ok()? {
        Command::Line(_) => None,
        // Its plan needs the dataset, which is asked for where it lies.
        Command::Mix(args) => args.common.load.duration.map(|duration| duration + args.common.load.warmup),
        command => command.plan().ok().and_then(|(plan, _)| Some(plan.stop.time? + plan.warmup)),
    }
}

/// What would be run.
pub fn text(scenario: &Scenario, planned: &[Planned]) -> String {
    let mut text = format!("{}: {}\n\n", scenario.name, plural(planned.len() as u64, "trial"));
    let repeats = scenario.repeats.get();
    let (mut sum, mut open) = (Duration::ZERO, false);
    for trial in planned.iter().filter(|trial| trial.repeat == 0) {
        let time = projected(&trial.words);
        sum += time.unwrap_or_default() * repeats;
        open |= time.is_none();
        let of: Vec<String> = trial.words.words.iter().map(|word| quoted(&crate::redact::url_text(word))).collect();
        let time = time.map_or_else(|| "until done".to_owned(), format_span);
        text.push_str(&format!(
            "  {}, {}: {repeats} × {time}\n    plimsoll {} {}\n",
            escape(&trial.cell),
            escape(&trial.target),
            trial.words.command,
            escape(&of.join(" "))
        ));
        let hooks = &trial.words.hooks;
        for (name, command) in [("before", &hooks.before), ("check", &hooks.check), ("after", &hooks.after)] {
            if let Some(command) = command {
                text.push_str(&format!("    {name}: {}\n", escape(command)));
            }
        }
    }
    let more = if open { ", and what those take that end when they are done" } else { "" };
    text.push_str(&format!("\nprojected time: {}{more}\n", format_span(sum)));
    text
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,%+@".contains(letter);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
