//! Checks of a study before it starts. The checks report the position of every mistake.

use super::{Planned, command, machines};
use crate::command::load_command::LoadCommand;
use crate::command::schema::scenario::NO_SETTINGS;
use crate::command::serve;
use crate::failure::Failure;
use crate::usage_errors;
use report::escape::escape;
use std::ffi::OsString;
use study::matrix::{self, TrialCommand};
use study::scenario::{self, Diagnostic, Position, Scenario, TargetServer};

/// Flags of `serve` that the study sets itself.
const CHOSEN_BY_STUDY: [&str; 3] = ["listen", "stop-after", "until-stdin-closes"];

/// Refuses variables that the scenario does not use, because they would have no effect.
pub fn set(text: &str, set: &[(String, String)], file: &str) -> Result<(), Failure> {
    // If the YAML is invalid, the parser of the scenario reports it with its position.
    let Ok(names) = scenario::variable_names(text) else { return Ok(()) };
    let Some((name, _)) = set.iter().find(|(name, _)| !names.contains(name)) else { return Ok(()) };
    let known = match names.as_slice() {
        [] => "variables".to_owned(),
        names => format!("such variable; its variables are {}", names.join(", ")),
    };
    Err(Failure::usage(format!("--set {}: {file} has no {known}", escape(name))))
}

/// Returns the mistakes in names: names that a report cannot show, and names that lead to the same directory.
pub fn names(scenario: &Scenario) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for axis in scenario.parts.iter().flat_map(|part| &part.axes) {
        let bare = axis.values.iter().filter(|value| value.label == value.value);
        for value in bare.filter(|value| crate::redact::is_secret(&axis.name, &value.value)) {
            let why = format!(
                "a value of `{0}` contains a secret, so it needs a name for reports; write for example {0}: {{mine: …}}",
                axis.name
            );
            faults.push(Diagnostic::new(value.at, why));
        }
    }
    for axis in scenario.parts.iter().flat_map(|part| &part.axes) {
        let before = |index: usize| axis.values.iter().take(index);
        let again = axis.values.iter().enumerate();
        for (_, value) in again.filter(|(index, value)| before(*index).any(|other| other.label == value.label)) {
            let why = format!(
                "`{}` is listed twice as a value of `{}`; remove one, or write `repeats` next to `targets` to repeat trials",
                value.label, axis.name
            );
            faults.push(Diagnostic::new(value.at, why));
        }
    }
    let everywhere = scenario.settings.iter().chain(scenario.targets.iter().flat_map(|target| &target.settings));
    let settings = everywhere.chain(scenario.parts.iter().flat_map(|part| &part.settings));
    let named = settings.map(|setting| (setting.name.as_str(), setting.at));
    let axes = scenario.parts.iter().flat_map(|part| &part.axes).map(|axis| (axis.name.as_str(), axis.at));
    for (name, at) in named.chain(axes).filter(|(name, _)| NO_SETTINGS.contains(name)) {
        let instead = match name {
            "repeat" => "; write `repeats` next to `targets`",
            name if machines::NAMING.contains(&name) => "; write it in `machines`, next to `targets`",
            _ => "",
        };
        faults.push(Diagnostic::new(at, format!("`{name}` is not a setting of a scenario; leave it out{instead}")));
    }
    let mut directories: Vec<String> = Vec::new();
    for target in &scenario.targets {
        let directory = matrix::directory_name(&target.name);
        let at = target.settings.first().map_or(Position::START, |setting| setting.at);
        if directory.is_empty() {
            faults.push(Diagnostic::new(at, "a target needs a name".to_owned()));
        } else if directories.contains(&directory) {
            faults.push(Diagnostic::new(
                at,
                format!("another target has the same directory name, `{directory}`; rename one"),
            ));
        }
        directories.push(directory);
    }
    faults
}

/// Returns the mistakes in the flags of the servers that the study starts, one for each server.
pub fn servers(scenario: &Scenario) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    let served = scenario.targets.iter().filter_map(|target| match &target.server {
        Some(TargetServer::Serve(settings)) => Some(settings),
        Some(TargetServer::Start(_)) | None => None,
    });
    for settings in served {
        let at = settings.first().map_or(Position::START, |setting| setting.at);
        if let Some(setting) = settings.iter().find(|setting| CHOSEN_BY_STUDY.contains(&setting.name.as_str())) {
            let why = format!("`{}` is not a setting, because the study chooses it; leave it out", setting.name);
            faults.push(Diagnostic::new(setting.at, why));
            continue;
        }
        if let Err(error) = serve::Args::parse(matrix::flags(settings)) {
            let words: Vec<OsString> = ["plimsoll", "serve"]
                .map(OsString::from)
                .into_iter()
                .chain(matrix::flags(settings).into_iter().map(Into::into))
                .collect();
            let message = usage_errors::explain::<serve::ServeCli>(&error, &words).into_message();
            let named = settings.iter().find(|setting| message.contains(&format!("--{}", setting.name)));
            faults.push(Diagnostic::new(named.map_or(at, |setting| setting.at), message));
        }
    }
    faults
}

/// Returns the mistakes in the settings of all trials, each mistake only once.
pub fn settings(planned: &[Planned]) -> Vec<Diagnostic> {
    let mut faults: Vec<Diagnostic> = Vec::new();
    // All repeats of a cell have the same command, so check only the first repeat.
    for trial in planned.iter().filter(|trial| trial.repeat == 0) {
        let checked = command(&trial.command).and_then(|mut command| machines::check(&mut command, &trial.command));
        let Err(failure) = checked else { continue };
        // The command reports only its first mistake. Check the flags one by one, to report every mistake.
        let mut found = one_by_one(&trial.command);
        if found.is_empty() {
            found.push(of_command(&trial.command, failure.into_message()));
        }
        found.retain(|fault| !faults.contains(fault));
        faults.extend(found);
    }
    faults.sort_by_key(|fault| fault.at);
    faults
}

/// Returns the mistakes in single flags, independently of other flags.
fn one_by_one(command: &TrialCommand) -> Vec<Diagnostic> {
    let flags = command.arguments.iter().filter_map(|word| Some((word, word.strip_prefix("--")?)));
    let mut seen: Vec<&str> = Vec::new();
    let mut faults = Vec::new();
    for (word, flag) in flags {
        let name = flag.split('=').next().unwrap_or(flag);
        let before = seen.iter().filter(|known| **known == name).count();
        seen.push(name);
        // In a search, the kind of load (`put` or `mix`) precedes all flags.
        let loaded = command.arguments.first().filter(|word| !word.starts_with("--") && command.name == "line");
        let loaded = loaded.filter(|word| !word.contains("://")).map(String::as_str);
        // Some flags need a flag that names machines.
        let of_machines = command.arguments.iter().map(String::as_str).filter(|word| machines::are_named(word));
        let of_machines = of_machines.filter(|other| other != word);
        let typed = ["plimsoll", &command.name].into_iter().chain(loaded).chain(of_machines);
        let typed = typed.chain([word.as_str(), "http://127.0.0.1/"]);
        let Err(failure) = LoadCommand::parse(typed.map(Into::into)) else { continue };
        let message = failure.into_message();
        let place = command.positions.iter().filter(|(known, _)| known == name).nth(before);
        if let Some((_, at)) = place.filter(|_| message.contains(&format!("--{name}"))) {
            faults.push(Diagnostic::new(*at, message));
        }
    }
    faults
}

/// Returns the diagnostic for a mistake in the combination of settings. The diagnostic has the position of the setting
/// that the message names, or else of the first setting.
fn of_command(command: &TrialCommand, message: String) -> Diagnostic {
    let place = |flag: &str| message.contains(&format!("--{flag}")) || message.contains(&format!("`{flag}`"));
    let named = command.positions.iter().rev().find(|(name, _)| place(name));
    let short = message.starts_with('-').then(|| short(&message)).flatten();
    let by_letter = command.positions.iter().rev().find(|(name, _)| Some(name.as_str()) == short);
    let name = command.positions.iter().find(|(name, _)| name == "command");
    let url = command.positions.iter().find(|(name, _)| name == "url");
    let at = named.or(by_letter).or(name).or(url).map_or(Position::START, |(_, at)| *at);
    Diagnostic::new(at, message)
}

/// Returns the setting whose short flag starts the message, or `None` if the message starts with something else.
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
