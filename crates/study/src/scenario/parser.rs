//! Parser of scenarios. The parser converts YAML nodes to a [`Scenario`], and reports each mistake with a diagnostic.

use super::hooks::{Hooks, LINK};
use super::model::{Axis, AxisValue, Order, Part, Scenario, Setting, Target, TargetServer};
use super::variables::{VARIABLE_KEYS, Variables};
use super::yaml::{self, Diagnostic, Entry, Node, Position, Value};
use std::num::NonZeroU32;

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
    /// Returns all mistakes, in the order of the file. If there is a syntax error, returns only this error.
    pub fn parse(
        text: &str,
        command_line: &[(String, String)],
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let root = yaml::parse(text).map_err(|diagnostic| vec![diagnostic])?;
        let variables = Variables::new(command_line, environment);
        let mut parser = Parser { diagnostics: Vec::new(), variables };
        match (parser.scenario(&root), parser.diagnostics.is_empty()) {
            (Some(scenario), true) => Ok(scenario),
            (_, _) => {
                parser.diagnostics.sort_by_key(|diagnostic| diagnostic.at);
                Err(parser.diagnostics)
            }
        }
    }
}

/// State of the parser, with the mistakes so far and the variables.
struct Parser<'a> {
    diagnostics: Vec<Diagnostic>,
    variables: Variables<'a>,
}

impl Parser<'_> {
    fn error(&mut self, at: Position, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(at, message));
    }

    fn scenario(&mut self, root: &Node) -> Option<Scenario> {
        let entries = self.map(root, "a scenario")?;
        for entry in entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
            self.error(entry.at, unknown(&entry.key, &KEYS, "keys of a scenario"));
        }
        let of = |key: &str| entries.iter().find(|entry| entry.key == key);
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
            // If the name is missing, the parser returns a mistake and no scenario, so this default is never used.
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

    /// Parses the variables. A variable is a value, or a map with a default value and a description.
    fn variables(&mut self, node: &Node) {
        for entry in self.map(node, "vars").unwrap_or_default() {
            let default = match &entry.node.value {
                Value::Map(inner) => {
                    for other in inner.iter().filter(|inner| !VARIABLE_KEYS.contains(&inner.key.as_str())) {
                        self.error(other.at, unknown(&other.key, &VARIABLE_KEYS, "keys of a variable"));
                    }
                    inner.iter().find(|inner| inner.key == "default").map(|inner| &inner.node)
                }
                Value::Text(_) | Value::List(_) => Some(&entry.node),
            };
            if let Some(value) = default.and_then(|node| self.text(node, &entry.key)) {
                self.variables.add(&entry.key, value);
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
        if entries.is_empty() && matches!(node.value, Value::Map(_)) {
            self.error(node.at, "`targets` is empty; add at least one, e.g. mine: {url: http://host/file}");
        }
        let mut targets = Vec::new();
        for entry in &entries {
            let (served, others): (Vec<Entry>, Vec<Entry>) = self
                .map(&entry.node, "settings")
                .unwrap_or_default()
                .into_iter()
                .partition(|entry| SERVER_KEYS.contains(&entry.key.as_str()));
            let server = served.first().and_then(|entry| self.server(entry));
            if let Some(second) = served.get(1) {
                self.error(second.at, "`serve` and `start` exclude each other; remove one");
            }
            let (hooks, settings) = self.settings_and_hooks(others);
            if matches!(entry.node.value, Value::Map(_))
                && !settings.iter().any(|setting| URL_SETTINGS.contains(&setting.name.as_str()))
            {
                self.error(entry.at, format!("target `{}` has no `url` and no `url-file`; add one", entry.key));
            }
            targets.push(Target { name: entry.key.clone(), server, settings, hooks });
        }
        targets
    }

    /// Parses the server of a target.
    fn server(&mut self, entry: &Entry) -> Option<TargetServer> {
        if entry.key == "serve" {
            return Some(TargetServer::Serve(self.settings(&entry.node)));
        }
        // The shell replaces references to variables, as in hooks.
        match &entry.node.value {
            Value::Text(command) if !command.is_empty() => Some(TargetServer::Start(command.clone())),
            _ => {
                self.error(entry.node.at, "`start` must be a command, not a list or a map");
                None
            }
        }
    }

    fn parts(&mut self, parts: Option<&Entry>, matrix: Option<&Entry>) -> Vec<Part> {
        match (parts, matrix) {
            (Some(_), Some(matrix)) => {
                self.error(matrix.at, "`matrix` and `parts` exclude each other; move the matrix into the parts");
                Vec::new()
            }
            (Some(parts), None) => {
                let entries = self.map(&parts.node, "parts").unwrap_or_default();
                entries.iter().filter_map(|entry| self.part(entry)).collect()
            }
            (None, matrix) => {
                let axes = matrix.map(|entry| self.axes(&entry.node)).unwrap_or_default();
                vec![Part { name: String::new(), settings: Vec::new(), axes, hooks: Hooks::default() }]
            }
        }
    }

    fn part(&mut self, entry: &Entry) -> Option<Part> {
        let entries = self.map(&entry.node, "a part")?;
        let (mut settings, mut axes, mut hooks) = (Vec::new(), Vec::new(), Hooks::default());
        for inner in &entries {
            match inner.key.as_str() {
                "settings" => settings = self.settings(&inner.node),
                "matrix" => axes = self.axes(&inner.node),
                "hooks" => hooks = self.hooks(&inner.node),
                other => self.error(inner.at, unknown(other, &["settings", "matrix", "hooks"], "keys of a part")),
            }
        }
        Some(Part { name: entry.key.clone(), settings, axes, hooks })
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
            axes.push(Axis { name: entry.key, at: entry.at, values });
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
            Value::Text(_) | Value::Map(_) => std::slice::from_ref(node),
        };
        items.iter().filter_map(|item| Some((self.value(item, key)?, item.at))).collect()
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
        let Value::Text(text) = &node.value else {
            self.error(node.at, format!("`{key}` must be a single value, not a list or a map"));
            return None;
        };
        match self.variables.fill(text, key) {
            Ok(text) => Some(text),
            Err(name) => {
                self.error(
                    node.at,
                    format!(
                        "no variable `{name}`; define it under `vars`, with --set {name}=VALUE, or in the environment"
                    ),
                );
                None
            }
        }
    }

    fn map(&mut self, node: &Node, what: &str) -> Option<Vec<Entry>> {
        match &node.value {
            Value::Map(entries) => Some(entries.clone()),
            // A key without a value counts as an empty map.
            Value::Text(text) if text.is_empty() || text == "~" => Some(Vec::new()),
            Value::Text(_) | Value::List(_) => {
                self.error(node.at, format!("{what} must be a map, e.g. `key: value`"));
                None
            }
        }
    }
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
    let distance = |other: &str| {
        let (a, b): (Vec<char>, Vec<char>) = (word.chars().collect(), other.chars().collect());
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, left) in a.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], i + 1);
            for (j, right) in b.iter().enumerate() {
                let cost = diagonal + usize::from(left != right);
                diagonal = row[j + 1];
                row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[b.len()]
    };
    known.iter().map(|other| (distance(other), *other)).filter(|(far, _)| *far <= 2).min().map(|(_, other)| other)
}
