//! Checks of a study before it starts. The checks report the position of every mistake.

use super::flag_mistakes::{Checks, FlagMistake, flag_name, is_named};
use super::machines::{self, StudyMachines};
use super::{Planned, command, links, select};
use crate::command::load_command::LoadCommand;
use crate::command::schema::scenario::{COMMANDS, NO_SETTINGS};
use crate::command::serve;
use crate::failure::Failure;
use crate::usage_errors;
use report::escape::escape;
use std::ffi::OsString;
use study::matrix::{self, TrialCommand};
use study::scenario::{self, Axis, Diagnostic, Part, Position, Rest, Scenario, Setting, TargetServer};

/// Flags of `serve` that the study sets itself.
const CHOSEN_BY_STUDY: [&str; 3] = ["listen", "stop-after", "until-stdin-closes"];

/// Refuses variables that the scenario does not use, because they would have no effect.
pub fn set(text: &str, set: &[(String, String)], file: &str) -> Result<(), Failure> {
    // If the YAML is invalid, the parser of the scenario reports it with its position.
    let Some(names) = scenario::variable_names(text) else { return Ok(()) };
    let unused: Vec<&str> = set.iter().map(|(name, _)| name.as_str()).filter(|name| !is_in(name, &names)).collect();
    let known = match (unused.len(), names.as_slice()) {
        (0, _) => return Ok(()),
        (_, []) => "variables".to_owned(),
        (1, names) => format!("such variable; its variables are {}", names.join(", ")),
        (_, names) => format!("such variables; its variables are {}", names.join(", ")),
    };
    Err(Failure::usage(format!("--set {}: {file} has no {known}", escape(&unused.join(", --set ")))))
}

fn is_in(name: &str, names: &[String]) -> bool {
    names.iter().any(|known| known == name)
}

/// Returns the mistakes that the parser of scenarios cannot find, because they are in the values of settings, in the
/// order of the file. `only` selects trials, as in [`select`]. `machines` make the loads, unless the scenario has a mistake
/// in them.
pub fn mistakes(
    Rest { scenario, incomplete }: &Rest,
    only: &[(String, String)],
    machines: Result<&StudyMachines, &Diagnostic>,
) -> Vec<Diagnostic> {
    let mut faults = [names(scenario), servers(scenario, incomplete)].concat();
    let are_incomplete = scenario.machines.iter().any(|setting| is_in(&setting.name, incomplete));
    let machines = match machines {
        Ok(machines) if !are_incomplete => machines,
        // The machines are not known, so check the trials as if this host made their loads.
        Ok(_) => &StudyMachines::HERE,
        Err(fault) => {
            faults.extend((!are_incomplete).then(|| fault.clone()));
            &StudyMachines::HERE
        }
    };
    let planned = match select(scenario, only, machines) {
        // The caller reports a selection without trials. Nothing says then which trials are meant.
        Some(planned) if planned.is_empty() => select(scenario, &[], machines).unwrap_or_default(),
        Some(planned) => planned,
        None => {
            let axis = scenario.parts.iter().flat_map(|part| &part.axes).next_back();
            let why = format!("the matrix has more than {} cells; remove values or axes", matrix::CELLS_MAX);
            faults.push(Diagnostic::new(axis.map_or(Position::START, |axis| axis.at), why));
            select(&axis_by_axis(scenario), only, machines).unwrap_or_default()
        }
    };
    faults.extend(settings(&planned, incomplete));
    faults.extend(machines.check(&planned));
    let is_faulty = |at: &Position| faults.iter().any(|fault| fault.at == *at);
    let links = links::check(&planned, &|trial| {
        let mut urls = trial.positions.iter().filter(|(name, _)| name.starts_with("url"));
        is_in("url", incomplete) || is_in("url-file", incomplete) || urls.any(|(_, at)| is_faulty(at))
    });
    faults.extend(links);
    let mut faults = about_axes(&faults, scenario);
    faults.sort_by_key(|fault| fault.at);
    faults
}

/// Returns a scenario with the same values and fewer cells: each cell has the first value of all axes but one.
fn axis_by_axis(scenario: &Scenario) -> Scenario {
    let only_first = |axis: &Axis| Axis { values: axis.values.iter().take(1).cloned().collect(), ..axis.clone() };
    let vary = |part: &Part, varied: usize| {
        let axes = part.axes.iter().enumerate();
        let axes = axes.map(|(index, axis)| if index == varied { axis.clone() } else { only_first(axis) });
        Part { axes: axes.collect(), ..part.clone() }
    };
    let parts = scenario.parts.iter().flat_map(|part| (0..part.axes.len().max(1)).map(move |axis| vary(part, axis)));
    Scenario { parts: parts.collect(), ..scenario.clone() }
}

/// Replaces equal mistakes in several values of an axis by one mistake in the name of the axis.
fn about_axes(faults: &[Diagnostic], scenario: &Scenario) -> Vec<Diagnostic> {
    let axes = || scenario.parts.iter().flat_map(|part| &part.axes).filter(|axis| axis.values.len() > 1);
    let mut moved: Vec<Diagnostic> = Vec::new();
    for fault in faults {
        let is_equal = |at: Position| faults.contains(&Diagnostic { at, message: fault.message.clone() });
        let axis = axes().find(|axis| {
            let mut places = axis.values.iter().map(|value| value.at);
            places.clone().any(|at| at == fault.at) && places.all(is_equal)
        });
        let fault = Diagnostic { at: axis.map_or(fault.at, |axis| axis.at), message: fault.message.clone() };
        if !moved.contains(&fault) {
            moved.push(fault);
        }
    }
    moved
}

/// Returns the mistakes in names: names that a report cannot show, and names that lead to the same directory.
fn names(scenario: &Scenario) -> Vec<Diagnostic> {
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

/// Returns the mistakes in the flags of the servers that the study starts.
fn servers(scenario: &Scenario, incomplete: &[String]) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    let served = scenario.targets.iter().filter_map(|target| match &target.server {
        Some(TargetServer::Serve(settings)) => Some(settings),
        Some(TargetServer::Start(_)) | None => None,
    });
    for settings in served {
        let (chosen, own): (Vec<&Setting>, Vec<&Setting>) =
            settings.iter().partition(|setting| CHOSEN_BY_STUDY.contains(&setting.name.as_str()));
        faults.extend(chosen.into_iter().map(|Setting { name, at, .. }| {
            Diagnostic::new(*at, format!("`{name}` is not a setting, because the study chooses it; leave it out"))
        }));
        let own: Vec<Setting> = own.into_iter().cloned().collect();
        let one = |flag: &str| serve_mistake(&[flag.to_owned()], &|_| Ok(()));
        let all = |flags: &[String]| serve_mistake(flags, &serve::Args::check);
        let flags = matrix::flags(&own);
        let checks = Checks { arguments: &flags, one: &one, all: &all };
        let at = own.first().map_or(Position::START, |setting| setting.at);
        faults.extend(checks.mistakes(incomplete).into_iter().map(|FlagMistake { names, earlier: _, message }| {
            let named = own.iter().find(|setting| names.contains(&setting.name));
            Diagnostic::new(named.map_or(at, |setting| setting.at), message)
        }));
    }
    faults
}

/// Returns the first mistake in the flags of a server.
fn serve_mistake(flags: &[String], check: &dyn Fn(&serve::Args) -> Result<(), Failure>) -> Option<String> {
    let failure = match serve::Args::parse(flags.iter().cloned()) {
        Ok(args) => check(&args).err()?,
        Err(error) => {
            let words = ["plimsoll", "serve"].into_iter().chain(flags.iter().map(String::as_str));
            let words: Vec<OsString> = words.map(OsString::from).collect();
            usage_errors::explain::<serve::ServeCli>(&error, &words)
        }
    };
    Some(failure.into_message())
}

/// Returns the mistakes in the settings of all trials, each mistake only once.
fn settings(planned: &[Planned], incomplete: &[String]) -> Vec<Diagnostic> {
    let mut faults: Vec<Diagnostic> = Vec::new();
    // All repeats of a cell have the same command, so check only the first repeat.
    for trial in planned.iter().filter(|trial| trial.repeat == 0) {
        for fault in of_trial(&trial.command, incomplete) {
            // The commands have different advice for the same mistake.
            let about = |fault: &Diagnostic| (fault.at, fault.message.split(": ").next().map(str::to_owned));
            if !faults.iter().any(|known| about(known) == about(&fault)) {
                faults.push(fault);
            }
        }
    }
    faults
}

/// Returns the mistakes in the settings of a trial.
fn of_trial(trial: &TrialCommand, incomplete: &[String]) -> Vec<Diagnostic> {
    // Names that are no settings are reported before.
    let is_setting = |word: &&String| !flag_name(word).is_some_and(|name| NO_SETTINGS.contains(&name));
    let (naming, others): (Vec<String>, Vec<String>) =
        trial.arguments.iter().cloned().partition(|word| machines::is_naming(word));
    let arguments: Vec<String> = others.iter().filter(is_setting).cloned().collect();
    // In a search, the kind of load (`put` or `mix`) precedes all flags.
    let loaded = arguments.first().filter(|word| trial.name == "line" && COMMANDS.contains(&word.as_str()));
    let is_known = COMMANDS.contains(&trial.name.as_str());
    let one = |flag: &str| {
        if is_known {
            return flag_mistake(&trial.name, loaded.map(String::as_str), flag, &naming);
        }
        // If the command is unknown, its flag may be a flag of any command.
        let mistakes: Option<Vec<String>> =
            COMMANDS.iter().map(|name| flag_mistake(name, None, flag, &naming)).collect();
        let mut mistakes = mistakes?;
        let about_value = mistakes.iter().position(|message| !message.starts_with("unknown flag"));
        Some(mistakes.swap_remove(about_value.unwrap_or_default()))
    };
    let all = |arguments: &[String]| {
        let trial = TrialCommand { arguments: [arguments, &naming].concat(), ..trial.clone() };
        let checked = command(&trial).and_then(|mut command| machines::check(&mut command, &trial));
        checked.err().map(Failure::into_message)
    };
    let checks = Checks { arguments: &arguments, one: &one, all: &all };
    let mut faults: Vec<Diagnostic> =
        checks.mistakes(incomplete).into_iter().map(|mistake| placed(trial, mistake)).collect();
    if !is_known {
        let fault = command(&TrialCommand { arguments: Vec::new(), ..trial.clone() }).err();
        let fault = fault.map(|failure| {
            placed(trial, FlagMistake { names: Vec::new(), earlier: 0, message: failure.into_message() })
        });
        faults.extend(fault.filter(|fault| !faults.contains(fault)));
    }
    faults
}

/// Returns the mistake in a single flag of a command that makes load. `naming` has the flags that name its machines, because
/// some flags need them.
fn flag_mistake(command: &str, loaded: Option<&str>, flag: &str, naming: &[String]) -> Option<String> {
    let naming = naming.iter().map(String::as_str);
    let typed = ["plimsoll", command].into_iter().chain(loaded).chain([flag, "http://127.0.0.1/"]).chain(naming);
    LoadCommand::parse(typed.map(Into::into)).err().map(Failure::into_message)
}

/// Returns the diagnostic for a mistake. The diagnostic has the position of the setting that the message names, or else
/// of the command or the URL.
fn placed(trial: &TrialCommand, FlagMistake { names, earlier, message }: FlagMistake) -> Diagnostic {
    let positions = &trial.positions;
    let first = |wanted: &str| positions.iter().find(|(name, _)| name == wanted);
    let single = match names.as_slice() {
        [name] => positions.iter().filter(|(known, _)| known == name).nth(earlier),
        _ => None,
    };
    let last = positions.iter().rev().find(|(name, _)| names.contains(name));
    // Some settings are not flags of the command: `command` itself, and `concurrency: line`.
    let in_message = positions.iter().rev().find(|(name, _)| is_named(&message, name));
    let found = single.or(last).or(in_message).or_else(|| first("command")).or_else(|| first("url"));
    Diagnostic::new(found.map_or(Position::START, |(_, at)| *at), message)
}
