//! Cells: every combination of the values of a part's axes, and the command that each of them is for each target.

use crate::document::Position;
use crate::hooks::{Hooks, STATE};
use crate::scenario::{AxisValue, Scenario, Setting, Target};

/// The most cells of a study: more is a mistake in an axis.
pub const CELLS_MAX: usize = 10_000;

/// One combination of a study's axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Which part of the scenario it belongs to.
    pub part: usize,
    /// The value of each axis, with the name of the axis.
    pub values: Vec<(String, AxisValue)>,
}

/// A command line, and where each word of it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// `get`, `put`, `mix`, or `line` where the load is to be found.
    pub command: String,
    /// What is searched where it is not `get`, flags with their values, then URLs.
    pub words: Vec<String>,
    /// Where the flag of that name stands, for messages.
    pub places: Vec<(String, Position)>,
    /// Commands around the trial.
    pub hooks: Hooks,
}

/// What is run where nothing is said.
const DEFAULT_COMMAND: &str = "get";
/// What searches for the load line.
const SEARCH: &str = "line";
/// The value of a load that is to be found.
const FOUND: &str = "line";
/// Settings that can be found.
const LOADS: [&str; 2] = ["concurrency", "rate"];
/// Settings that only a search has: other cells of the same axis do without.
const OF_SEARCH: [&str; 7] = ["from", "to", "precision", "confidence", "rest", "recovery", "level-max"];

/// All cells, part by part; the last axis moves first. `None` when there are more than [`CELLS_MAX`].
#[must_use]
pub fn cells(scenario: &Scenario) -> Option<Vec<Cell>> {
    let mut cells = Vec::new();
    for (part, of) in scenario.parts.iter().enumerate() {
        let count = of.axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()));
        if count.is_none_or(|count| cells.len() + count > CELLS_MAX) {
            return None;
        }
        let mut combinations = vec![Vec::new()];
        for axis in &of.axes {
            let with = |before: &Vec<_>, value: &AxisValue| {
                let mut values = before.clone();
                values.push((axis.name.clone(), value.clone()));
                values
            };
            combinations = combinations
                .iter()
                .flat_map(|before| axis.values.iter().map(move |value| with(before, value)))
                .collect();
        }
        cells.extend(combinations.into_iter().map(|values| Cell { part, values }));
    }
    Some(cells)
}

impl Cell {
    /// What it is called in a report: `ranges, range 1MiB, concurrency 10`.
    #[must_use]
    pub fn label(&self, scenario: &Scenario) -> String {
        let part = scenario.parts.get(self.part).map(|part| part.name.clone()).filter(|name| !name.is_empty());
        let values = self.values.iter().map(|(name, value)| format!("{name} {}", value.label));
        let label = part.into_iter().chain(values).collect::<Vec<_>>().join(", ");
        if label.is_empty() { "all".to_owned() } else { label }
    }

    /// A name for its directory, with letters that every file system takes.
    #[must_use]
    pub fn directory(&self, scenario: &Scenario) -> String {
        directory_name(&self.label(scenario).replace(", ", "_"))
    }

    /// The command that measures it on a target.
    #[must_use]
    pub fn words(&self, scenario: &Scenario, target: &Target) -> Words {
        let hooks = scenario.parts.get(self.part).map(|part| part.hooks.clone()).unwrap_or_default();
        let hooks = hooks.or(&target.hooks).or(&scenario.hooks);
        words_of(&self.settings(scenario, target), hooks)
    }

    /// All settings that hold for it on a target: what stands nearer to the cell comes before what is said for all.
    pub(crate) fn settings(&self, scenario: &Scenario, target: &Target) -> Vec<Setting> {
        let part = scenario.parts.get(self.part).map(|part| part.settings.as_slice()).unwrap_or_default();
        let axes = self.values.iter().map(|(name, AxisValue { value, at, .. })| Setting {
            name: name.clone(),
            at: *at,
            values: vec![(value.clone(), *at)],
        });
        let mut settings: Vec<Setting> = Vec::new();
        let searched = |values: &[AxisValue]| values.iter().any(|value| value.value == FOUND);
        let mixed =
            scenario.parts.get(self.part).is_some_and(|part| part.axes.iter().any(|axis| searched(&axis.values)));
        let measured = mixed && !self.values.iter().any(|(_, value)| value.value == FOUND);
        for setting in scenario.settings.iter().chain(&target.settings).chain(part).cloned().chain(axes) {
            settings.retain(|known| known.name != setting.name);
            settings.push(setting);
        }
        if measured {
            settings.retain(|setting| !OF_SEARCH.contains(&setting.name.as_str()));
        }
        settings
    }
}

/// A name with letters that every file system takes, and no more than 80 of them.
#[must_use]
pub fn directory_name(text: &str) -> String {
    let fit = |letter: char| if letter.is_ascii_alphanumeric() || "-._".contains(letter) { letter } else { '-' };
    let name: String = text.chars().map(fit).take(80).collect();
    name.trim_start_matches('.').to_owned()
}

fn words_of(settings: &[Setting], hooks: Hooks) -> Words {
    let mut made = Words { command: DEFAULT_COMMAND.to_owned(), words: Vec::new(), places: Vec::new(), hooks };
    let (mut urls, mut searched) = (Vec::new(), None);
    for setting in settings {
        for (value, at) in &setting.values {
            made.places.push((setting.name.clone(), *at));
            match (setting.name.as_str(), value.as_str()) {
                ("command", command) => made.command = command.to_owned(),
                (load, FOUND) if LOADS.contains(&load) => searched = Some(load),
                (STATE, _) => {}
                ("url", url) => urls.push(url.to_owned()),
                (_, "false") => {}
                (name, "true") => made.words.push(format!("--{name}")),
                (name, value) => made.words.push(format!("--{name}={value}")),
            }
        }
    }
    if let Some(on) = searched {
        let loaded = std::mem::replace(&mut made.command, SEARCH.to_owned());
        if ![DEFAULT_COMMAND, SEARCH].contains(&loaded.as_str()) {
            made.words.insert(0, loaded);
        }
        made.words.push(format!("--on={on}"));
    }
    made.words.extend(urls);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
name: t
targets:
  a: {url: http://a/x}
  b: {url: [http://b/x, http://b/y], duration: 1s, insecure: true}
settings: {duration: 10s, header: ['A: 1', 'B: 2'], json: false}
parts:
  full: {matrix: {concurrency: [1, 8]}}
  ranges: {settings: {command: get}, matrix: {range: [1MiB, 2MiB], concurrency: [10, 100]}}
";

    #[test]
    fn every_combination_is_a_cell_and_a_command() {
        let scenario = Scenario::parse(TEXT, &[], &|_| None).unwrap();
        let cells = cells(&scenario).unwrap();
        let labels: Vec<String> = cells.iter().map(|cell| cell.label(&scenario)).collect();
        assert_eq!(
            labels,
            [
                "full, concurrency 1",
                "full, concurrency 8",
                "ranges, range 1MiB, concurrency 10",
                "ranges, range 1MiB, concurrency 100",
                "ranges, range 2MiB, concurrency 10",
                "ranges, range 2MiB, concurrency 100",
            ]
        );
        assert_eq!(cells[3].directory(&scenario), "ranges_range-1MiB_concurrency-100");
        let words = cells[2].words(&scenario, &scenario.targets[1]);
        let shown =
            "--header=A: 1|--header=B: 2|--duration=1s|--insecure|--range=1MiB|--concurrency=10|http://b/x|http://b/y";
        assert_eq!((words.command.as_str(), words.words.join("|").as_str()), ("get", shown));
    }

    #[test]
    fn values_can_have_names() {
        let text = "name: t\ntargets: {a: {url: http://a/}}\nmatrix: {connection: {nothing: blackhole, disk: 'sftp,password=${KEY}'}}\n";
        let scenario = Scenario::parse(text, &[], &|_| None).unwrap();
        let cells = cells(&scenario).unwrap();
        assert_eq!(cells[1].label(&scenario), "connection disk");
        let words = cells[1].words(&scenario, &scenario.targets[0]);
        assert_eq!(words.words, ["--connection=sftp,password=${KEY}", "http://a/"]);
    }

    #[test]
    fn a_load_that_is_to_be_found_is_a_search() {
        let text = "name: t\ntargets: {a: {url: http://a/}}\nsettings: {duration: 2s, to: 64}\nmatrix: {concurrency: [8, line], range: [1MiB]}\n";
        let scenario = Scenario::parse(text, &[], &|_| None).unwrap();
        let cells = cells(&scenario).unwrap();
        let words = cells[1].words(&scenario, &scenario.targets[0]);
        let shown = "--duration=2s|--to=64|--range=1MiB|--on=concurrency|http://a/";
        assert_eq!((words.command.as_str(), words.words.join("|").as_str()), ("line", shown));
        let measured = cells[0].words(&scenario, &scenario.targets[0]);
        assert_eq!((measured.command.as_str(), measured.words.len()), ("get", 4), "{measured:?}");
        let mix = Scenario::parse(&text.replace("to: 64", "command: mix"), &[], &|_| None).unwrap();
        let words = cells[1].words(&mix, &mix.targets[0]);
        let shown = "mix|--duration=2s|--range=1MiB|--on=concurrency|http://a/";
        assert_eq!((words.command.as_str(), words.words.join("|").as_str()), ("line", shown));
    }

    #[test]
    fn a_matrix_without_end_is_no_matrix() {
        let values = (0..101).map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
        let text = format!("name: t\ntargets: {{a: {{url: http://a/}}}}\nmatrix: {{x: [{values}], y: [{values}]}}\n");
        let scenario = Scenario::parse(&text, &[], &|_| None).unwrap();
        assert_eq!(cells(&scenario), None);
    }
}
