//! Parser of scenarios. The parser converts YAML nodes to a [`Scenario`], and reports each mistake with a diagnostic.

use super::hooks::{Hooks, LINK};
use super::model::{Axis, AxisValue, Order, Part, Scenario, Setting, Target, TargetServer};
use super::variables::{VARIABLE_KEYS, Variables};
use super::yaml::{self, Diagnostic, Entry, Node, Position, Value};
use std::num::NonZeroU32;

/// The mistakes of a scenario, and what is left of it without them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faulty {
    /// All mistakes, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// The rest of the scenario, in which further mistakes can be found. `None` after a syntax error.
    pub rest: Option<Rest>,
}

/// A scenario without its faulty values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// The scenario. In contrast to a scenario without mistakes, it may have no name, target or part.
    pub scenario: Box<Scenario>,
    /// Names of the settings that lack a value, because the value is faulty.
    pub incomplete: Vec<String>,
}

/// Maximum number of repeats of a cell.
const REPEATS_MAX: u32 = 1000;

/// Settings for the URLs of a target. A target needs at least one of them.
const URL_SETTINGS: [&str; 2] = ["url", "url-file"];
/// Keys of a target whose server the study starts.
const SERVER_KEYS: [&str; 2] = ["serve", "start"];
/// Setting that contains collectors.
const COLLECT: &str = "collect";
/// Keys of a link that is written as a map.
const LINK_KEYS: [&str; 3] = ["down", "up", "congestion"];
/// Keys of a part.
const PART_KEYS: [&str; 3] = ["settings", "matrix", "hooks"];
/// Keys of a scenario.
const KEYS: [&str; 14] = [
    "name",
    "notes",
    "vars",
    "machines",
    "targets",
    "settings",
    "collectors",
    "matrix",
    "parts",
    "repeats",
    "order",
    "seed",
    "hooks",
    "environment",
];

impl Scenario {
    /// Parses a scenario. Variables of the command line override variables of the file. Variables of the file override
    /// variables that `environment` returns.
    ///
    /// # Errors
    /// Returns all mistakes of the file that can be found without its commands and links.
    pub fn parse(
        text: &str,
        command_line: &[(String, String)],
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Faulty> {
        let (root, diagnostics) = yaml::read(text);
        let variables = Variables::new(command_line, environment);
        let mut parser = Parser { diagnostics, variables, reported: Vec::new(), incomplete: Vec::new() };
        let scenario = root.and_then(|root| parser.scenario(&root));
        let Parser { mut diagnostics, incomplete, .. } = parser;
        match scenario {
            Some(scenario) if diagnostics.is_empty() => Ok(scenario),
            rest => {
                diagnostics.sort_by_key(|diagnostic| diagnostic.at);
                let rest = rest.map(|scenario| Rest { scenario: Box::new(scenario), incomplete });
                Err(Faulty { diagnostics, rest })
            }
        }
    }
}

/// State of the parser, with the mistakes so far and the variables.
struct Parser<'a> {
    diagnostics: Vec<Diagnostic>,
    variables: Variables<'a>,
    /// Variables without a value that are already reported.
    reported: Vec<String>,
    /// Names of the settings with a faulty value.
    incomplete: Vec<String>,
}

impl Parser<'_> {
    fn error(&mut self, at: Position, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(at, message));
    }

    fn scenario(&mut self, root: &Node) -> Option<Scenario> {
        let entries = self.map(root, "a scenario")?;
        self.refuse_unknown(&entries, &KEYS, "keys of a scenario");
        let of = |key: &str| find(&entries, key, &KEYS);
        // Parse variables first, because values of other keys refer to them.
        if let Some(vars) = of("vars") {
            self.variables(&vars.node);
        }
        let name = match of("name") {
            Some(entry) => self.name(&entry.node),
            None => {
                self.error(root.at, "a scenario needs a `name`, e.g. name: nightly");
                None
            }
        };
        let targets = match of("targets") {
            Some(entry) => self.targets(&entry.node),
            None => {
                self.error(root.at, "a scenario needs `targets`, e.g. targets: {mine: {url: http://host/file}}");
                Vec::new()
            }
        };
        Some(Scenario {
            // If the name is missing, this is a mistake, and no study has this default.
            name: name.unwrap_or_default(),
            notes: of("notes").and_then(|entry| self.text(&entry.node, "notes")),
            machines: of("machines").map(|entry| self.settings(&entry.node)).unwrap_or_default(),
            targets,
            settings: self.common_settings(of("settings"), of("collectors")),
            parts: self.parts(of("parts"), of("matrix")),
            repeats: of("repeats").and_then(|entry| self.repeats(&entry.node)).unwrap_or(NonZeroU32::MIN),
            order: of("order").and_then(|entry| self.order(&entry.node)).unwrap_or(Order::Interleaved),
            seed: of("seed").and_then(|entry| self.number(&entry.node, "seed")).unwrap_or(1),
            hooks: of("hooks").map(|entry| self.hooks(&entry.node)).unwrap_or_default(),
            environment: of("environment").map(|entry| self.texts(&entry.node, "environment")).unwrap_or_default(),
            variables: self.variables.all(),
        })
    }

    /// Reports the keys that are not known.
    fn refuse_unknown(&mut self, entries: &[Entry], known: &[&str], what: &str) {
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            self.error(entry.at, unknown(&entry.key, known, what));
        }
    }

    /// Parses the variables. A variable is a value, or a map with a default value and a description.
    fn variables(&mut self, node: &Node) {
        for entry in self.map(node, "vars").unwrap_or_default() {
            let default = match &entry.node.value {
                Value::Map(inner) => {
                    self.refuse_unknown(inner, &VARIABLE_KEYS, "keys of a variable");
                    find(inner, "default", &VARIABLE_KEYS).map(|inner| &inner.node)
                }
                Value::Null | Value::Text(_) | Value::List(_) => Some(&entry.node),
            };
            // A variable without a value gets its value from the command line or from the environment.
            let Some(node) = default.filter(|node| node.value != Value::Null) else { continue };
            match self.text(node, &entry.key) {
                Some(value) => self.variables.add(&entry.key, value),
                None => self.reported.push(entry.key),
            }
        }
    }

    fn name(&mut self, node: &Node) -> Option<String> {
        let name = self.text(node, "name")?;
        let good = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(good) {
            self.error(
                node.at,
                format!("`{name}` cannot name a directory; use up to 64 letters, digits, `-`, `_` and `.`"),
            );
            return None;
        }
        Some(name)
    }

    fn targets(&mut self, node: &Node) -> Vec<Target> {
        let entries = self.map(node, "targets").unwrap_or_default();
        if entries.is_empty() && matches!(node.value, Value::Map(_) | Value::Null) {
            self.error(node.at, "`targets` is empty; add at least one, e.g. mine: {url: http://host/file}");
        }
        let mut targets = Vec::new();
        for entry in &entries {
            let (served, others): (Vec<Entry>, Vec<Entry>) = self
                .map(&entry.node, "settings")
                .unwrap_or_default()
                .into_iter()
                .partition(|entry| SERVER_KEYS.contains(&entry.key.as_str()));
            let server = self.server(&served);
            let (hooks, settings) = self.settings_and_hooks(others);
            if matches!(entry.node.value, Value::Map(_) | Value::Null)
                && !settings.iter().any(|setting| URL_SETTINGS.contains(&setting.name.as_str()))
            {
                self.error(entry.at, format!("target `{}` has no `url` and no `url-file`; add one", entry.key));
            }
            targets.push(Target { name: entry.key.clone(), server, settings, hooks });
        }
        targets
    }

    /// Parses the server of a target. If the target has both keys, a command takes precedence, unless it is empty. A variable
    /// can therefore replace the server of a scenario.
    fn server(&mut self, entries: &[Entry]) -> Option<TargetServer> {
        let of = |key: &str| entries.iter().find(|entry| entry.key == key);
        let serve = of("serve").map(|entry| TargetServer::Serve(self.settings(&entry.node)));
        let Some(start) = of("start") else { return serve };
        let command = self.text(&start.node, "start")?;
        if command.is_empty() && serve.is_none() {
            self.error(start.node.at, "`start` is empty; write the command of a server, or add `serve`");
        }
        if command.is_empty() { serve } else { Some(TargetServer::Start(command)) }
    }

    fn parts(&mut self, parts: Option<&Entry>, matrix: Option<&Entry>) -> Vec<Part> {
        if let (Some(_), Some(matrix)) = (parts, matrix) {
            self.error(matrix.at, "`matrix` and `parts` exclude each other; move the matrix into the parts");
        }
        let entries = parts.and_then(|parts| self.map(&parts.node, "parts")).unwrap_or_default();
        if let Some(parts) = parts.filter(|parts| matches!(parts.node.value, Value::Map(_) | Value::Null))
            && entries.is_empty()
        {
            self.error(parts.at, "`parts` is empty; add a part, e.g. parts: {small: {matrix: {concurrency: [1, 8]}}}");
        }
        let mut all: Vec<Part> = entries.iter().filter_map(|entry| self.part(entry)).collect();
        if parts.is_none() || matrix.is_some() {
            let axes = matrix.map(|entry| self.axes(&entry.node)).unwrap_or_default();
            all.push(Part { name: String::new(), settings: Vec::new(), axes, hooks: Hooks::default() });
        }
        all
    }

    fn part(&mut self, entry: &Entry) -> Option<Part> {
        let entries = self.map(&entry.node, "a part")?;
        self.refuse_unknown(&entries, &PART_KEYS, "keys of a part");
        let of = |key: &str| find(&entries, key, &PART_KEYS);
        Some(Part {
            name: entry.key.clone(),
            settings: of("settings").map(|entry| self.settings(&entry.node)).unwrap_or_default(),
            axes: of("matrix").map(|entry| self.axes(&entry.node)).unwrap_or_default(),
            hooks: of("hooks").map(|entry| self.hooks(&entry.node)).unwrap_or_default(),
        })
    }

    fn axes(&mut self, node: &Node) -> Vec<Axis> {
        let entries = self.map(node, "matrix").unwrap_or_default();
        let mut axes = Vec::new();
        for entry in entries {
            let known = self.diagnostics.len();
            let values = self.axis_values(&entry);
            // Values with mistakes are omitted, because the mistakes are already reported.
            if values.is_empty() && self.diagnostics.len() == known {
                self.error(
                    entry.node.at,
                    format!(
                        "`{}` has no values; write a list, e.g. [1, 10, 100], or a map from names to values",
                        entry.key
                    ),
                );
            }
            // Without values, there would be no cells to check.
            if values.is_empty() {
                self.incomplete.push(entry.key);
            } else {
                axes.push(Axis { name: entry.key, at: entry.at, values });
            }
        }
        axes
    }

    fn settings(&mut self, node: &Node) -> Vec<Setting> {
        let entries = self.map(node, "settings").unwrap_or_default();
        entries.into_iter().map(|entry| self.setting(entry)).collect()
    }

    /// Parses the settings of all trials. The key `collectors` of the scenario becomes the setting `collect`.
    fn common_settings(&mut self, settings: Option<&Entry>, collectors: Option<&Entry>) -> Vec<Setting> {
        let mut common = settings.map(|entry| self.settings(&entry.node)).unwrap_or_default();
        if let Some(entry) = collectors {
            if common.iter().any(|setting| setting.name == COLLECT) {
                self.error(
                    entry.at,
                    format!("`collectors` and the setting `{COLLECT}` exclude each other; use one of them"),
                );
            }
            let values = self.values(&entry.node, &entry.key);
            common.push(Setting { name: COLLECT.to_owned(), at: entry.at, values });
        }
        common
    }

    fn setting(&mut self, entry: Entry) -> Setting {
        let values = self.values(&entry.node, &entry.key);
        Setting { name: entry.key, at: entry.at, values }
    }

    /// Parses settings that may also contain `hooks`.
    fn settings_and_hooks(&mut self, entries: Vec<Entry>) -> (Hooks, Vec<Setting>) {
        let (hooks, settings): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(|entry| entry.key == "hooks");
        let hooks = hooks.first().map(|entry| self.hooks(&entry.node)).unwrap_or_default();
        (hooks, settings.into_iter().map(|entry| self.setting(entry)).collect())
    }

    fn hooks(&mut self, node: &Node) -> Hooks {
        let mut hooks = Hooks::default();
        for entry in self.map(node, "hooks").unwrap_or_default() {
            // References to variables are not replaced here, so that secrets do not appear in plans and reports. The
            // shell replaces them from its environment.
            let command = match &entry.node.value {
                Value::Text(command) => Some(command.clone()).filter(|command| !command.is_empty()),
                Value::Null => {
                    self.error(entry.node.at, format!("`{}` has no command; write one, or leave it out", entry.key));
                    None
                }
                Value::List(_) | Value::Map(_) => {
                    self.error(entry.node.at, format!("`{}` must be a command, not a list or a map", entry.key));
                    None
                }
            };
            match entry.key.as_str() {
                "before" => hooks.before = command,
                "check" => hooks.check = command,
                "during" => hooks.during = command,
                "after" => hooks.after = command,
                other => self.error(entry.at, unknown(other, &Hooks::KEYS, "hooks")),
            }
        }
        hooks
    }

    /// Parses a map from names to text.
    fn texts(&mut self, node: &Node, what: &str) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        for entry in self.map(node, what).unwrap_or_default() {
            if let Some(text) = self.text(&entry.node, &entry.key) {
                texts.push((entry.key, text));
            }
        }
        texts
    }

    /// Parses the values of an axis, which are a list, or a map from names to values.
    fn axis_values(&mut self, entry: &Entry) -> Vec<AxisValue> {
        let Value::Map(named) = &entry.node.value else {
            let values = self.values(&entry.node, &entry.key).into_iter();
            return values.map(|(value, at)| AxisValue { label: value.clone(), value, at }).collect();
        };
        if entry.key == LINK && named.iter().all(|inner| LINK_KEYS.contains(&inner.key.as_str())) {
            self.error(
                entry.node.at,
                "the links of an axis need names; write e.g. link: {slow: {down: {rate: 1Gbit/s, delay: 40ms}}}",
            );
            return Vec::new();
        }
        let value = |inner: &Entry| {
            let value = self.value(&inner.node, &entry.key)?;
            Some(AxisValue { label: inner.key.clone(), value, at: inner.node.at })
        };
        named.iter().filter_map(value).collect()
    }

    /// Parses one value of a setting. Only a link may be a map.
    fn value(&mut self, node: &Node, key: &str) -> Option<String> {
        match &node.value {
            Value::Map(_) if key == LINK => self.link(node),
            _ => self.text(node, key),
        }
    }

    /// Parses a link that is written as a map, and returns it as one text: `1Gbit/s,40ms up=40ms congestion=cubic`.
    fn link(&mut self, node: &Node) -> Option<String> {
        let mut words = Vec::new();
        for entry in self.map(node, LINK)? {
            if !LINK_KEYS.contains(&entry.key.as_str()) {
                self.error(entry.at, unknown(&entry.key, &LINK_KEYS, "keys of a link"));
                return None;
            }
            let text = match &entry.node.value {
                // The items of a direction: `{rate: 1Gbit/s, delay: 40ms}`.
                Value::Map(_) => {
                    let items = self.texts(&entry.node, &entry.key);
                    items.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
                }
                _ => self.text(&entry.node, &entry.key)?,
            };
            // Spaces separate the words of a link, so a word must not contain spaces.
            words.push(format!("{}={}", entry.key, text.replace(' ', "")));
        }
        Some(words.join(" "))
    }

    /// Parses one value, or a list of values.
    fn values(&mut self, node: &Node, key: &str) -> Vec<(String, Position)> {
        let items = match &node.value {
            Value::List(items) => items.as_slice(),
            Value::Null | Value::Text(_) | Value::Map(_) => std::slice::from_ref(node),
        };
        let known = self.diagnostics.len();
        let values: Vec<_> = items.iter().filter_map(|item| Some((self.value(item, key)?, item.at))).collect();
        if values.len() < items.len() || self.diagnostics.len() > known {
            self.incomplete.push(key.to_owned());
        }
        values
    }

    fn repeats(&mut self, node: &Node) -> Option<NonZeroU32> {
        let number = self.number(node, "repeats")?;
        let repeats = u32::try_from(number).ok().filter(|repeats| *repeats <= REPEATS_MAX).and_then(NonZeroU32::new);
        if repeats.is_none() {
            self.error(node.at, format!("`repeats` must be from 1 to {REPEATS_MAX} (got {number})"));
        }
        repeats
    }

    fn order(&mut self, node: &Node) -> Option<Order> {
        let text = self.text(node, "order")?;
        let found = Order::ALL.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            self.error(node.at, unknown(&text, &Order::ALL.map(|(word, _)| word), "orders"));
        }
        found.map(|(_, order)| *order)
    }

    fn number(&mut self, node: &Node, key: &str) -> Option<u64> {
        let text = self.text(node, key)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.error(node.at, format!("`{key}` must be a whole number (got `{text}`)"));
        }
        number
    }

    fn text(&mut self, node: &Node, key: &str) -> Option<String> {
        let text = match &node.value {
            Value::Text(text) => text,
            Value::Null => {
                self.error(node.at, format!("`{key}` has no value; write one, or leave the key out"));
                return None;
            }
            Value::List(_) | Value::Map(_) => {
                self.error(node.at, format!("`{key}` must be a single value, not a list or a map"));
                return None;
            }
        };
        match self.variables.fill(text, key) {
            Ok(text) => Some(text),
            Err(names) => {
                names.iter().for_each(|name| self.undefined(node.at, name));
                None
            }
        }
    }

    /// Reports a variable without a value at its first use.
    fn undefined(&mut self, at: Position, name: &str) {
        if self.reported.iter().any(|known| known == name) {
            return;
        }
        self.reported.push(name.to_owned());
        let message =
            format!("no variable `{name}`; define it under `vars`, with --set {name}=VALUE, or in the environment");
        self.error(at, message);
    }

    fn map(&mut self, node: &Node, what: &str) -> Option<Vec<Entry>> {
        match &node.value {
            Value::Map(entries) => Some(entries.clone()),
            // A key without a value counts as an empty map.
            Value::Null => Some(Vec::new()),
            Value::Text(_) | Value::List(_) => {
                self.error(node.at, format!("{what} must be a map, e.g. `key: value`"));
                None
            }
        }
    }
}

/// Returns the entry with a key. If there is none, returns the entry with an unknown key that is probably a misspelling
/// of this key, so that the mistakes in its value are found too.
fn find<'e>(entries: &'e [Entry], key: &str, known: &[&str]) -> Option<&'e Entry> {
    let is_misspelled =
        |entry: &&Entry| !known.contains(&entry.key.as_str()) && nearest(&entry.key, known) == Some(key);
    entries.iter().find(|entry| entry.key == key).or_else(|| entries.iter().find(is_misspelled))
}

/// Returns the message for an unknown word. The message suggests the most similar known word, or lists all known words
/// if no word is similar.
fn unknown(word: &str, known: &[&str], what: &str) -> String {
    match nearest(word, known) {
        Some(near) => format!("unknown `{word}`; did you mean `{near}`?"),
        None => format!("unknown `{word}`; {what} are {}", known.join(", ")),
    }
}

/// Returns the known word with the smallest edit distance; `None` if the distance exceeds two.
fn nearest<'w>(word: &str, known: &[&'w str]) -> Option<&'w str> {
    let distances = known.iter().map(|other| (strsim::osa_distance(word, other), *other));
    distances.filter(|(edits, _)| *edits <= 2).min().map(|(_, other)| other)
}
