//! Reads the nodes of a document as a scenario, and notes what is wrong with them.

use super::{Axis, AxisValue, Order, Part, Scenario, Setting, Target};
use crate::Hooks;
use crate::document::{Entry, Fault, Node, Position, Value};
use crate::variables::Variables;
use std::num::NonZeroU32;

/// Trials of one cell, at most.
const REPEATS_MAX: u32 = 1000;

/// Settings that say what is loaded.
const LOADED: [&str; 2] = ["url", "url-file"];
const KEYS: [&str; 12] = [
    "name",
    "notes",
    "vars",
    "targets",
    "settings",
    "matrix",
    "parts",
    "repeats",
    "order",
    "seed",
    "hooks",
    "environment",
];

/// Reads nodes, and notes what is wrong with them.
pub(super) struct Reader<'a> {
    pub(super) faults: Vec<Fault>,
    pub(super) variables: Variables<'a>,
}

impl Reader<'_> {
    fn fault(&mut self, at: Position, message: impl Into<String>) {
        self.faults.push(Fault::new(at, message));
    }

    pub(super) fn scenario(&mut self, root: &Node) -> Option<Scenario> {
        let entries = self.map(root, "a scenario")?;
        for entry in entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
            self.fault(entry.at, unknown(&entry.key, &KEYS, "keys of a scenario"));
        }
        let of = |key: &str| entries.iter().find(|entry| entry.key == key);
        if let Some(vars) = of("vars") {
            for (name, value) in self.texts(&vars.node, "vars") {
                self.variables.add(&name, value);
            }
        }
        let name = match of("name") {
            Some(entry) => self.name(&entry.node),
            None => {
                self.fault(root.at, "a scenario needs a `name`, like name: nightly");
                None
            }
        };
        let settings = of("settings").map(|entry| self.settings(&entry.node)).unwrap_or_default();
        let targets = match of("targets") {
            Some(entry) => self.targets(&entry.node),
            None => {
                self.fault(root.at, "a scenario needs `targets`, like targets: {mine: {url: http://host/file}}");
                Vec::new()
            }
        };
        let parts = self.parts(of("parts"), of("matrix"));
        let notes = of("notes").and_then(|entry| self.text(&entry.node, "notes"));
        let repeats = of("repeats").and_then(|entry| self.repeats(&entry.node)).unwrap_or(NonZeroU32::MIN);
        let order = of("order").and_then(|entry| self.order(&entry.node)).unwrap_or(Order::Interleaved);
        let seed = of("seed").and_then(|entry| self.number(&entry.node, "seed")).unwrap_or(1);
        let variables = self.variables.all();
        let hooks = of("hooks").map(|entry| self.hooks(&entry.node)).unwrap_or_default();
        let environment = of("environment").map(|entry| self.texts(&entry.node, "environment")).unwrap_or_default();
        Some(Scenario {
            name: name?,
            notes,
            targets,
            settings,
            parts,
            repeats,
            order,
            seed,
            hooks,
            environment,
            variables,
        })
    }

    fn name(&mut self, node: &Node) -> Option<String> {
        let name = self.text(node, "name")?;
        let good = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(good) {
            self.fault(
                node.at,
                format!("`{name}` can not name a directory: up to 64 letters, digits, `-`, `_` and `.`"),
            );
            return None;
        }
        Some(name)
    }

    fn targets(&mut self, node: &Node) -> Vec<Target> {
        let entries = self.map(node, "targets").unwrap_or_default();
        if entries.is_empty() && matches!(node.value, Value::Map(_)) {
            self.fault(node.at, "`targets` is empty: name at least one, like mine: {url: http://host/file}");
        }
        let mut targets = Vec::new();
        for entry in &entries {
            let (hooks, settings) = self.hooked_settings(&entry.node);
            if matches!(entry.node.value, Value::Map(_))
                && !settings.iter().any(|setting| LOADED.contains(&setting.name.as_str()))
            {
                self.fault(entry.at, format!("target `{}` has no `url`, and no `url-file`", entry.key));
            }
            targets.push(Target { name: entry.key.clone(), settings, hooks });
        }
        targets
    }

    fn parts(&mut self, parts: Option<&Entry>, matrix: Option<&Entry>) -> Vec<Part> {
        match (parts, matrix) {
            (Some(_), Some(matrix)) => {
                self.fault(matrix.at, "`matrix` stands beside `parts`: each part has a matrix of its own");
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
                other => self.fault(inner.at, unknown(other, &["settings", "matrix", "hooks"], "keys of a part")),
            }
        }
        Some(Part { name: entry.key.clone(), settings, axes, hooks })
    }

    fn axes(&mut self, node: &Node) -> Vec<Axis> {
        let entries = self.map(node, "matrix").unwrap_or_default();
        let mut axes = Vec::new();
        for entry in entries {
            let values = self.axis_values(&entry);
            if values.is_empty() {
                self.fault(
                    entry.node.at,
                    format!(
                        "`{}` has no values: an axis is a list, like [1, 10, 100], or a map of names with values",
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

    fn setting(&mut self, entry: Entry) -> Setting {
        let values = self.values(&entry.node, &entry.key);
        Setting { name: entry.key, at: entry.at, values }
    }

    /// Settings among which hooks stand.
    fn hooked_settings(&mut self, node: &Node) -> (Hooks, Vec<Setting>) {
        let entries = self.map(node, "settings").unwrap_or_default();
        let (hooks, settings): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(|entry| entry.key == "hooks");
        let hooks = hooks.first().map(|entry| self.hooks(&entry.node)).unwrap_or_default();
        (hooks, settings.into_iter().map(|entry| self.setting(entry)).collect())
    }

    fn hooks(&mut self, node: &Node) -> Hooks {
        let mut hooks = Hooks::default();
        for entry in self.map(node, "hooks").unwrap_or_default() {
            // Not filled in: the shell knows the variables, and shows them to nobody.
            let command = match &entry.node.value {
                Value::Text(command) => Some(command.clone()).filter(|command| !command.is_empty()),
                Value::List(_) | Value::Map(_) => {
                    self.fault(entry.node.at, format!("`{}` is a command, not a list or a map", entry.key));
                    None
                }
            };
            match entry.key.as_str() {
                "before" => hooks.before = command,
                "check" => hooks.check = command,
                "after" => hooks.after = command,
                other => self.fault(entry.at, unknown(other, &Hooks::KEYS, "hooks")),
            }
        }
        hooks
    }

    /// Names with texts.
    fn texts(&mut self, node: &Node, what: &str) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        for entry in self.map(node, what).unwrap_or_default() {
            if let Some(text) = self.text(&entry.node, &entry.key) {
                texts.push((entry.key, text));
            }
        }
        texts
    }

    /// Values of an axis: a list, or a map of names with values.
    fn axis_values(&mut self, entry: &Entry) -> Vec<AxisValue> {
        let Value::Map(named) = &entry.node.value else {
            let values = self.values(&entry.node, &entry.key).into_iter();
            return values.map(|(value, at)| AxisValue { label: value.clone(), value, at }).collect();
        };
        let value = |inner: &Entry| {
            let value = self.text(&inner.node, &entry.key)?;
            Some(AxisValue { label: inner.key.clone(), value, at: inner.node.at })
        };
        named.iter().filter_map(value).collect()
    }

    /// One value, or each of a list.
    fn values(&mut self, node: &Node, key: &str) -> Vec<(String, Position)> {
        let items = match &node.value {
            Value::List(items) => items.as_slice(),
            Value::Text(_) | Value::Map(_) => std::slice::from_ref(node),
        };
        items.iter().filter_map(|item| Some((self.text(item, key)?, item.at))).collect()
    }

    fn repeats(&mut self, node: &Node) -> Option<NonZeroU32> {
        let number = self.number(node, "repeats")?;
        let repeats = u32::try_from(number).ok().filter(|repeats| *repeats <= REPEATS_MAX).and_then(NonZeroU32::new);
        if repeats.is_none() {
            self.fault(node.at, format!("repeats: {number} is not from 1 to {REPEATS_MAX}"));
        }
        repeats
    }

    fn order(&mut self, node: &Node) -> Option<Order> {
        let text = self.text(node, "order")?;
        let found = Order::ALL.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            self.fault(node.at, unknown(&text, &Order::ALL.map(|(word, _)| word), "orders"));
        }
        found.map(|(_, order)| *order)
    }

    fn number(&mut self, node: &Node, key: &str) -> Option<u64> {
        let text = self.text(node, key)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.fault(node.at, format!("{key}: `{text}` is no whole number"));
        }
        number
    }

    fn text(&mut self, node: &Node, key: &str) -> Option<String> {
        let Value::Text(text) = &node.value else {
            self.fault(node.at, format!("`{key}` takes a value here, not a list or a map"));
            return None;
        };
        match self.variables.fill(text, key) {
            Ok(text) => Some(text),
            Err(name) => {
                self.fault(
                    node.at,
                    format!("there is no variable `{name}`: name it under `vars`, with --set {name}=VALUE, or in the environment"),
                );
                None
            }
        }
    }

    fn map(&mut self, node: &Node, what: &str) -> Option<Vec<Entry>> {
        match &node.value {
            Value::Map(entries) => Some(entries.clone()),
            // A key without a value.
            Value::Text(text) if text.is_empty() || text == "~" => Some(Vec::new()),
            Value::Text(_) | Value::List(_) => {
                self.fault(node.at, format!("{what} is a map, like `key: value`"));
                None
            }
        }
    }
}

/// What to say of a word that is none of those that are known.
fn unknown(word: &str, known: &[&str], what: &str) -> String {
    match nearest(word, known) {
        Some(near) => format!("`{word}` is not known: did you mean `{near}`?"),
        None => format!("`{word}` is not known; {what} are {}", known.join(", ")),
    }
}

/// The known word that is at most two letters away.
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
