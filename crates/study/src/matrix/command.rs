//! The command line of a trial.

use crate::scenario::{AGENTS, CACHE_STATE, Hooks, LINK, Position, Setting};

/// Command of a trial without a `command` setting.
const DEFAULT_COMMAND: &str = "get";
/// Command that searches for the load line.
const SEARCH_COMMAND: &str = "line";
/// The value of a load setting that requests a search for the load line.
const SEARCHED: &str = "line";
/// The value of the setting `link` for trials without an emulated link.
const NO_LINK: &str = "none";
/// Load settings for which a search can find the highest value that meets all objectives.
const LOAD_SETTINGS: [&str; 2] = ["concurrency", "rate"];

/// The command line of a trial, and its hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialCommand {
    /// Name of the command, which is `get`, `put`, `mix`, `fill`, or `line` for a search.
    pub name: String,
    /// Arguments, which are flags with their values, and then URLs. For a search, the arguments start with the command
    /// to run at each level, unless this command is `get`.
    pub arguments: Vec<String>,
    /// Positions of the settings in the scenario, for messages.
    pub positions: Vec<(String, Position)>,
    /// The emulated link between client and target, as text; `None` without one.
    pub link: Option<String>,
    /// Number of agents that make the load, as text; `None` for all agents.
    pub agents: Option<String>,
    /// Hooks around the trial.
    pub hooks: Hooks,
}

impl TrialCommand {
    /// Builds the command line from the settings of a cell.
    pub(super) fn new(settings: &[Setting], hooks: Hooks) -> Self {
        let name = DEFAULT_COMMAND.to_owned();
        let mut command = Self { name, arguments: Vec::new(), positions: Vec::new(), link: None, agents: None, hooks };
        let (mut urls, mut searched) = (Vec::new(), None);
        for setting in settings {
            for (value, at) in &setting.values {
                command.positions.push((setting.name.clone(), *at));
                match (setting.name.as_str(), value.as_str()) {
                    ("command", name) => command.name = name.to_owned(),
                    (load, SEARCHED) if LOAD_SETTINGS.contains(&load) => searched = Some(load),
                    (CACHE_STATE, _) => {}
                    (AGENTS, agents) => command.agents = Some(agents.to_owned()),
                    (LINK, link) => command.link = Some(link).filter(|link| *link != NO_LINK).map(str::to_owned),
                    ("url", url) => urls.push(url.to_owned()),
                    (name, value) => command.arguments.extend(flag(name, value)),
                }
            }
        }
        if let Some(load) = searched {
            command.search(load);
        }
        command.arguments.extend(urls);
        command
    }

    /// Turns the command into a search over a load setting.
    fn search(&mut self, load: &str) {
        let command = std::mem::replace(&mut self.name, SEARCH_COMMAND.to_owned());
        if ![DEFAULT_COMMAND, SEARCH_COMMAND].contains(&command.as_str()) {
            self.arguments.insert(0, command);
        }
        self.arguments.push(format!("--on={load}"));
    }
}

/// Returns the flags for settings.
#[must_use]
pub fn flags(settings: &[Setting]) -> Vec<String> {
    let flags = |setting: &Setting| {
        setting.values.iter().filter_map(|(value, _)| flag(&setting.name, value)).collect::<Vec<_>>()
    };
    settings.iter().flat_map(flags).collect()
}

/// Returns the flag for a setting; `None` if the setting is false.
fn flag(name: &str, value: &str) -> Option<String> {
    match value {
        "false" => None,
        "true" => Some(format!("--{name}")),
        _ => Some(format!("--{name}={value}")),
    }
}

/// Returns whether a value of an axis requests a search.
pub(super) fn is_searched(value: &str) -> bool {
    value == SEARCHED
}
