//! Commands around a trial: one brings a cache (or whatever else) into the state that is to be measured, one checks that it is in
//! that state, one cleans up. They are handed to a shell with what they need to know in their environment.

use crate::matrix::Cell;
use crate::scenario::{Scenario, Target};

/// The setting that names a state. It is no flag of any command: only hooks and reports know it.
pub const STATE: &str = "cache";

/// Commands around a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Brings about the state; run before the trial.
    pub before: Option<String>,
    /// Succeeds when that state is there; run right before the trial, which is not measured otherwise.
    pub check: Option<String>,
    /// Run after the trial.
    pub after: Option<String>,
}

impl Hooks {
    /// Names of the commands.
    pub const KEYS: [&str; 3] = ["before", "check", "after"];

    /// All of them by their names, in the order in which they are run.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Option<&str>); 3] {
        let [before, check, after] = Self::KEYS;
        [(before, self.before.as_deref()), (check, self.check.as_deref()), (after, self.after.as_deref())]
    }

    /// These, and those of `wider` where nothing is said.
    #[must_use]
    pub fn or(self, wider: &Self) -> Self {
        let or = |own: Option<String>, wider: &Option<String>| own.or_else(|| wider.clone());
        Self {
            before: or(self.before, &wider.before),
            check: or(self.check, &wider.check),
            after: or(self.after, &wider.after),
        }
    }
}

/// What the hooks of a trial are told: variables of their environment, with values.
#[must_use]
pub fn environment(scenario: &Scenario, cell: &Cell, target: &Target, repeat: u32) -> Vec<(String, String)> {
    let mut told = scenario.variables.clone();
    told.extend([
        ("PLIMSOLL_STUDY".to_owned(), scenario.name.clone()),
        ("PLIMSOLL_TARGET".to_owned(), target.name.clone()),
        ("PLIMSOLL_CELL".to_owned(), cell.label(scenario)),
        ("PLIMSOLL_REPEAT".to_owned(), (repeat + 1).to_string()),
    ]);
    let settings = cell.settings(scenario, target);
    let told_of = |name: &str| name == "url" || name == STATE || cell.values.iter().any(|(axis, _)| axis == name);
    for setting in settings.iter().filter(|setting| told_of(&setting.name)) {
        let name = setting.name.to_ascii_uppercase();
        let fit = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let values: Vec<&str> = setting.values.iter().map(|(value, _)| value.as_str()).collect();
        told.push((format!("PLIMSOLL_{}", name.chars().map(fit).collect::<String>()), values.join(" ")));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::cells;

    #[test]
    fn hooks_are_told_what_is_measured_and_the_nearest_is_run() {
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
        let words = cells[1].words(&scenario, &scenario.targets[0]);
        assert_eq!(words.words, ["--range-at=0", "http://a/x"], "a state is no flag");
        assert_eq!(words.hooks.before.as_deref(), Some("mine ${HOME}"));
        assert_eq!((words.hooks.check.as_deref(), words.hooks.after.as_deref()), (Some("test -e x"), Some("all")));
        assert_eq!(
            cells[1].words(&scenario, &scenario.targets[1]).hooks.before.as_deref(),
            Some("drop ${drop}"),
            "the shell fills it in"
        );
        let told = environment(&scenario, &cells[1], &scenario.targets[0], 2);
        for (name, value) in [
            ("PLIMSOLL_TARGET", "a"),
            ("PLIMSOLL_CELL", "one, cache warm, range-at 0"),
            ("PLIMSOLL_REPEAT", "3"),
            ("PLIMSOLL_URL", "http://a/x"),
            ("PLIMSOLL_CACHE", "warm"),
            ("PLIMSOLL_RANGE_AT", "0"),
            ("drop", "all"),
        ] {
            assert!(told.contains(&(name.to_owned(), value.to_owned())), "{name}: {told:?}");
        }
    }
}
