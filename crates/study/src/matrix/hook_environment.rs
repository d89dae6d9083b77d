//! Environment variables of the hooks around a trial.

use super::cell::Cell;
use crate::scenario::{CACHE_STATE, Scenario, Setting, Target};

/// Returns the environment variables of a trial's hooks. These are the variables of the scenario, and variables named
/// `PLIMSOLL_…` with the study, the target, the cell, the repeat (from 1), the URL, the cache state and each axis.
#[must_use]
pub fn hook_environment(scenario: &Scenario, cell: &Cell, target: &Target, repeat: u32) -> Vec<(String, String)> {
    let mut environment = scenario.variables.clone();
    environment.extend([
        ("PLIMSOLL_STUDY".to_owned(), scenario.name.clone()),
        ("PLIMSOLL_TARGET".to_owned(), target.name.clone()),
        ("PLIMSOLL_CELL".to_owned(), cell.label(scenario)),
        ("PLIMSOLL_REPEAT".to_owned(), (repeat + 1).to_string()),
    ]);
    let is_passed =
        |name: &str| ["url", CACHE_STATE].contains(&name) || cell.values.iter().any(|(axis, _)| axis == name);
    let settings = cell.settings(scenario, target);
    environment.extend(settings.iter().filter(|setting| is_passed(&setting.name)).map(variable));
    environment
}

/// Returns the environment variable for a setting. Several values are separated by spaces.
fn variable(setting: &Setting) -> (String, String) {
    let name = setting.name.to_ascii_uppercase();
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let values: Vec<&str> = setting.values.iter().map(|(value, _)| value.as_str()).collect();
    (format!("PLIMSOLL_{}", name.chars().map(letter).collect::<String>()), values.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::cells;
    use super::*;

    #[test]
    fn the_environment_describes_the_trial_and_the_narrowest_hook_runs() {
        let text = "\
name: caches
hooks: {before: 'drop ${drop}', after: all}
vars: {drop: all}
targets:
  a: {url: http://a/x, hooks: {before: 'mine ${HOME}'}}
  b: {url: http://b/x}
parts:
  one: {hooks: {check: 'test -e x'}, matrix: {cache: [cold, warm], range-at: [0]}}
";
        let scenario = Scenario::parse(text, &[], &|name| (name == "HOME").then(|| "/root".to_owned())).unwrap();
        let cells = cells(&scenario).unwrap();
        let command = cells[1].command(&scenario, &scenario.targets[0]);
        assert_eq!(command.arguments, ["--range-at=0", "http://a/x"], "the cache state must not become a flag");
        assert_eq!(command.hooks.before.as_deref(), Some("mine ${HOME}"));
        assert_eq!((command.hooks.check.as_deref(), command.hooks.after.as_deref()), (Some("test -e x"), Some("all")));
        assert_eq!(
            cells[1].command(&scenario, &scenario.targets[1]).hooks.before.as_deref(),
            Some("drop ${drop}"),
            "references in hooks are left to the shell"
        );
        let environment = hook_environment(&scenario, &cells[1], &scenario.targets[0], 2);
        for (name, value) in [
            ("PLIMSOLL_TARGET", "a"),
            ("PLIMSOLL_CELL", "one, cache warm, range-at 0"),
            ("PLIMSOLL_REPEAT", "3"),
            ("PLIMSOLL_URL", "http://a/x"),
            ("PLIMSOLL_CACHE", "warm"),
            ("PLIMSOLL_RANGE_AT", "0"),
            ("drop", "all"),
        ] {
            assert!(environment.contains(&(name.to_owned(), value.to_owned())), "{name}: {environment:?}");
        }
    }
}
