//! Cells of a matrix. A cell is a combination of one value of each axis.

use super::command::{TrialCommand, is_searched};
use crate::scenario::{AxisValue, Part, Scenario, Setting, Target};

/// Maximum number of cells of a study. More cells are probably a mistake in an axis.
pub const CELLS_MAX: usize = 10_000;

/// One combination of a study's axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Index of the cell's part in the scenario.
    pub part: usize,
    /// Name and value of each axis.
    pub values: Vec<(String, AxisValue)>,
}

/// Settings that only searches use. Other cells of the same part ignore them.
const SEARCH_SETTINGS: [&str; 7] = ["from", "to", "precision", "confidence", "rest", "recovery", "level-max"];

/// Returns all cells, part by part. The values of the last axis change fastest. `None` if there are more than
/// [`CELLS_MAX`].
#[must_use]
pub fn cells(scenario: &Scenario) -> Option<Vec<Cell>> {
    let mut cells = Vec::new();
    for (index, part) in scenario.parts.iter().enumerate() {
        let count = part.axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()));
        if count.is_none_or(|count| cells.len() + count > CELLS_MAX) {
            return None;
        }
        let mut combinations = vec![Vec::new()];
        for axis in &part.axes {
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
        cells.extend(combinations.into_iter().map(|values| Cell { part: index, values }));
    }
    Some(cells)
}

impl Cell {
    /// Returns the cell's name in reports, such as `ranges, range 1MiB, concurrency 10`.
    #[must_use]
    pub fn label(&self, scenario: &Scenario) -> String {
        let part = self.part(scenario).map(|part| part.name.clone()).filter(|name| !name.is_empty());
        let values = self.values.iter().map(|(name, value)| format!("{name} {}", value.label));
        let label = part.into_iter().chain(values).collect::<Vec<_>>().join(", ");
        if label.is_empty() { "all".to_owned() } else { label }
    }

    /// Returns the name of the cell's directory. [`directory_name`] derives it from the label.
    #[must_use]
    pub fn directory(&self, scenario: &Scenario) -> String {
        directory_name(&self.label(scenario).replace(", ", "_"))
    }

    /// Returns the command that measures the cell on a target. Hooks of the part override hooks of the target, and
    /// hooks of the target override hooks of the scenario.
    #[must_use]
    pub fn command(&self, scenario: &Scenario, target: &Target) -> TrialCommand {
        let hooks = self.part(scenario).map(|part| part.hooks.clone()).unwrap_or_default();
        let hooks = hooks.or(&target.hooks).or(&scenario.hooks);
        TrialCommand::new(&self.settings(scenario, target), hooks)
    }

    /// Returns the values of a setting of the cell on a target; empty if the setting is not set.
    #[must_use]
    pub fn values_of(&self, name: &str, scenario: &Scenario, target: &Target) -> Vec<String> {
        let settings = self.settings(scenario, target).into_iter().filter(|setting| setting.name == name);
        settings.flat_map(|setting| setting.values).map(|(value, _)| value).collect()
    }

    /// Returns the cell's settings on a target. The order of precedence is: values of axes, settings of the part,
    /// settings of the target, settings of the scenario.
    pub(super) fn settings(&self, scenario: &Scenario, target: &Target) -> Vec<Setting> {
        let part = self.part(scenario);
        let axes = self.values.iter().map(|(name, AxisValue { value, at, .. })| Setting {
            name: name.clone(),
            at: *at,
            values: vec![(value.clone(), *at)],
        });
        let mut settings: Vec<Setting> = Vec::new();
        let of_part = part.map(|part| part.settings.as_slice()).unwrap_or_default();
        for setting in scenario.settings.iter().chain(&target.settings).chain(of_part).cloned().chain(axes) {
            settings.retain(|known| known.name != setting.name);
            settings.push(setting);
        }
        if part.is_some_and(|part| !self.is_search() && has_search(part)) {
            settings.retain(|setting| !SEARCH_SETTINGS.contains(&setting.name.as_str()));
        }
        settings
    }

    /// Returns whether the value of an axis requests a search.
    fn is_search(&self) -> bool {
        self.values.iter().any(|(_, value)| is_searched(&value.value))
    }

    fn part<'s>(&self, scenario: &'s Scenario) -> Option<&'s Part> {
        scenario.parts.get(self.part)
    }
}

/// Returns whether any cell of a part is a search.
fn has_search(part: &Part) -> bool {
    part.axes.iter().any(|axis| axis.values.iter().any(|value| is_searched(&value.value)))
}

/// Returns a name that every file system accepts. The name has up to 80 letters, digits, `-`, `.` and `_`.
#[must_use]
pub fn directory_name(text: &str) -> String {
    let fit = |letter: char| if letter.is_ascii_alphanumeric() || "-._".contains(letter) { letter } else { '-' };
    let name: String = text.chars().map(fit).take(80).collect();
    name.trim_start_matches('.').to_owned()
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
    fn every_combination_is_a_cell_with_a_command() {
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
        let command = cells[2].command(&scenario, &scenario.targets[1]);
        let shown =
            "--header=A: 1|--header=B: 2|--duration=1s|--insecure|--range=1MiB|--concurrency=10|http://b/x|http://b/y";
        assert_eq!((command.name.as_str(), command.arguments.join("|").as_str()), ("get", shown));
        let values = |name| cells[2].values_of(name, &scenario, &scenario.targets[1]);
        assert_eq!((values("header").join("|"), values("range").join("|")), ("A: 1|B: 2".into(), "1MiB".into()));
        assert!(values("seed").is_empty());
    }

    #[test]
    fn axis_values_can_have_names() {
        let text = "name: t\ntargets: {a: {url: http://a/}}\nmatrix: {connection: {nothing: blackhole, disk: 'sftp,password=${KEY}'}}\n";
        let scenario = Scenario::parse(text, &[], &|_| None).unwrap();
        let cells = cells(&scenario).unwrap();
        assert_eq!(cells[1].label(&scenario), "connection disk");
        let command = cells[1].command(&scenario, &scenario.targets[0]);
        assert_eq!(command.arguments, ["--connection=sftp,password=${KEY}", "http://a/"]);
    }

    #[test]
    fn a_load_of_line_is_a_search() {
        let text = "name: t\ntargets: {a: {url: http://a/}}\nsettings: {duration: 2s, to: 64}\nmatrix: {concurrency: [8, line], range: [1MiB]}\n";
        let scenario = Scenario::parse(text, &[], &|_| None).unwrap();
        let cells = cells(&scenario).unwrap();
        let command = cells[1].command(&scenario, &scenario.targets[0]);
        let shown = "--duration=2s|--to=64|--range=1MiB|--on=concurrency|http://a/";
        assert_eq!((command.name.as_str(), command.arguments.join("|").as_str()), ("line", shown));
        let measured = cells[0].command(&scenario, &scenario.targets[0]);
        assert_eq!((measured.name.as_str(), measured.arguments.len()), ("get", 4), "{measured:?}");
        let mix = Scenario::parse(&text.replace("to: 64", "command: mix"), &[], &|_| None).unwrap();
        let command = cells[1].command(&mix, &mix.targets[0]);
        let shown = "mix|--duration=2s|--range=1MiB|--on=concurrency|http://a/";
        assert_eq!((command.name.as_str(), command.arguments.join("|").as_str()), ("line", shown));
    }

    #[test]
    fn a_link_is_no_flag() {
        let text = "\
name: t
targets: {a: {url: http://a/}}
settings: {link: {down: 40ms}}
parts:
  as it is: {settings: {link: none}}
  one: {}
  several: {matrix: {link: {slow: {down: {rate: 1Gbit/s, delay: 40 ms}, up: 5ms, congestion: cubic}, fast: '10Gbit/s,40ms', none: none}}}
";
        let scenario = Scenario::parse(text, &[], &|_| None).unwrap();
        let commands: Vec<_> =
            cells(&scenario).unwrap().iter().map(|cell| cell.command(&scenario, &scenario.targets[0])).collect();
        let links: Vec<_> = commands.iter().map(|command| command.link.as_deref()).collect();
        let slow = "down=rate=1Gbit/s,delay=40ms up=5ms congestion=cubic";
        assert_eq!(links, [None, Some("down=40ms"), Some(slow), Some("10Gbit/s,40ms"), None]);
        assert!(commands.iter().all(|command| command.arguments == ["http://a/"]), "{commands:?}");
        for (link, part) in [
            ("{slow: {dwon: 1ms}}", "did you mean `down`?"),
            ("{down: 1ms, up: 2ms}", "the links of an axis need names"),
            ("{slow: {down: {rate: [1]}}}", "single value"),
        ] {
            let text = format!("name: t\ntargets: {{a: {{url: http://a/}}}}\nmatrix: {{link: {link}}}\n");
            let faults = Scenario::parse(&text, &[], &|_| None).unwrap_err();
            assert!(faults.diagnostics[0].to_string().contains(part), "{faults:?}");
        }
    }

    #[test]
    fn too_many_cells_are_refused() {
        let values = (0..101).map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
        let text = format!("name: t\ntargets: {{a: {{url: http://a/}}}}\nmatrix: {{x: [{values}], y: [{values}]}}\n");
        let scenario = Scenario::parse(&text, &[], &|_| None).unwrap();
        assert_eq!(cells(&scenario), None);
    }
}
