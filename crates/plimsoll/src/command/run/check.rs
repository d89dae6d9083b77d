//! What is wrong with a study before it begins: every mistake that there is, where it stands.

use super::{Planned, command};
use crate::cli;
use crate::command::schema::scenario::NO_SETTINGS;
use crate::failure::Failure;
use report::escape::escape;
use study::matrix::{self, Words};
use study::{Fault, Position, Scenario};

/// Variables that are set, and that the scenario nowhere knows: their values would be ignored.
pub fn set(text: &str, set: &[(String, String)], file: &str) -> Result<(), Failure> {
    // What is no document is told with its place when it is read.
    let Ok(names) = study::names(text) else { return Ok(()) };
    let Some((name, _)) = set.iter().find(|(name, _)| !names.contains(name)) else { return Ok(()) };
    let there = match names.as_slice() {
        [] => "it has none".to_owned(),
        names => format!("there are {}", names.join(", ")),
    };
    Err(Failure::usage(format!("--set {}: no variable of {file}: {there}", escape(name))))
}

/// Names that can not stand in reports, or not beside each other on a disk.
pub fn names(scenario: &Scenario) -> Vec<Fault> {
    let mut faults = Vec::new();
    for axis in scenario.parts.iter().flat_map(|part| &part.axes) {
        let bare = axis.values.iter().filter(|value| value.label == value.value);
        for value in bare.filter(|value| crate::redact::is_secret(&axis.name, &value.value)) {
            let why = format!(
                "a value of `{0}` holds a secret, and cells are called by their values: name it, like {0}: {{mine: …}}",
                axis.name
            );
            faults.push(Fault::new(value.at, why));
        }
    }
    for axis in scenario.parts.iter().flat_map(|part| &part.axes) {
        let before = |index: usize| axis.values.iter().take(index);
        let again = axis.values.iter().enumerate();
        for (_, value) in again.filter(|(index, value)| before(*index).any(|other| other.label == value.label)) {
            let why = format!(
                "`{}` stands among the values of `{}` a second time, and cells are called by their values: leave one out, or \
                 write `repeats` beside `targets`",
                value.label, axis.name
            );
            faults.push(Fault::new(value.at, why));
        }
    }
    let everywhere = scenario.settings.iter().chain(scenario.targets.iter().flat_map(|target| &target.settings));
    let settings = everywhere.chain(scenario.parts.iter().flat_map(|part| &part.settings));
    let named = settings.map(|setting| (setting.name.as_str(), setting.at));
    let axes = scenario.parts.iter().flat_map(|part| &part.axes).map(|axis| (axis.name.as_str(), axis.at));
    for (name, at) in named.chain(axes).filter(|(name, _)| NO_SETTINGS.contains(name)) {
        let instead = if name == "repeat" { ": write `repeats` beside `targets`" } else { "" };
        faults.push(Fault::new(
            at,
            format!("`{name}` is no setting: a study says itself where and how it is shown{instead}"),
        ));
    }
    let mut directories: Vec<String> = Vec::new();
    for target in &scenario.targets {
        let directory = matrix::directory_name(&target.name);
        let at = target.settings.first().map_or(Position::START, |setting| setting.at);
        if directory.is_empty() {
            faults.push(Fault::new(at, "a target needs a name".to_owned()));
        } else if directories.contains(&directory) {
            faults.push(Fault::new(at, format!("another target has the directory `{directory}` as well: rename one")));
        }
        directories.push(directory);
    }
    faults
}

/// What is wrong with the settings of the trials, each mistake once.
pub fn settings(planned: &[Planned]) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    // All repeats of a cell are the same command.
    for trial in planned.iter().filter(|trial| trial.repeat == 0) {
        let checked = command(&trial.words).and_then(|command| command.check());
        let Err(failure) = checked else { continue };
        // The command tells its first mistake; each flag alone tells its own.
        let mut found = one_by_one(&trial.words);
        if found.is_empty() {
            found.push(of_command(&trial.words, failure.into_message()));
        }
        found.retain(|fault| !faults.contains(fault));
        faults.extend(found);
    }
    faults.sort_by_key(|fault| fault.at);
    faults
}

/// Flags that are wrong whatever stands beside them.
fn one_by_one(words: &Words) -> Vec<Fault> {
    let flags = words.words.iter().filter_map(|word| Some((word, word.strip_prefix("--")?)));
    let mut seen: Vec<&str> = Vec::new();
    let mut faults = Vec::new();
    for (word, flag) in flags {
        let name = flag.split('=').next().unwrap_or(flag);
        let before = seen.iter().filter(|known| **known == name).count();
        seen.push(name);
        // What a search loads stands before all flags.
        let loaded = words.words.first().filter(|word| !word.starts_with("--") && words.command == "line");
        let loaded = loaded.filter(|word| !word.contains("://")).map(String::as_str);
        let typed = ["plimsoll", &words.command].into_iter().chain(loaded).chain([word.as_str(), "http://127.0.0.1/"]);
        let Err(failure) = cli::parse(typed.map(Into::into)) else { continue };
        let message = failure.into_message();
        let place = words.places.iter().filter(|(known, _)| known == name).nth(before);
        if let Some((_, at)) = place.filter(|_| message.contains(&format!("--{name}"))) {
            faults.push(Fault::new(*at, message));
        }
    }
    faults
}

/// What is wrong with the settings of a trial together, at the setting that the message speaks of; else at the first one.
fn of_command(words: &Words, message: String) -> Fault {
    let place = |flag: &str| message.contains(&format!("--{flag}")) || message.contains(&format!("`{flag}`"));
    let named = words.places.iter().rev().find(|(name, _)| place(name));
    let short = message.starts_with('-').then(|| short(&message)).flatten();
    let by_letter = words.places.iter().rev().find(|(name, _)| Some(name.as_str()) == short);
    let command = words.places.iter().find(|(name, _)| name == "command");
    let url = words.places.iter().find(|(name, _)| name == "url");
    let at = named.or(by_letter).or(command).or(url).map_or(Position::START, |(_, at)| *at);
    Fault::new(at, message)
}

/// The setting whose letter a message begins with.
fn short(message: &str) -> Option<&'static str> {
    match message.get(..2)? {
        "-c" => Some("concurrency"),
        "-n" => Some("requests"),
        "-d" => Some("duration"),
        "-R" => Some("rate"),
        "-H" => Some("header"),
        _ => None,
    }
}
