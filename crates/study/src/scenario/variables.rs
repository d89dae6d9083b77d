//! Variables of a scenario. A value refers to a variable as `${NAME}`.
//!
//! The value of a variable comes from the command line, from the file, or from the environment. In settings that may
//! contain a secret, this module does not replace references to the environment. The program replaces these references
//! when it sends the value, so that no plan or report contains the secret. In the command of a server, the shell replaces
//! references to the environment.

use super::yaml::{self, Diagnostic, Entry, Node, Value};

/// Settings in which references to the environment are replaced only when the program or the shell uses the value.
const RESOLVED_LATER: [&str; 5] = ["header", "cookie", "user", "connection", "start"];

/// Variables by name. Values from the command line override values from the file, and values from the file override
/// values from the environment.
pub struct Variables<'a> {
    command_line: &'a [(String, String)],
    file: Vec<(String, String)>,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Variables<'a> {
    /// Creates the variables from the command line and the environment.
    pub fn new(command_line: &'a [(String, String)], environment: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { command_line, file: Vec::new(), environment }
    }

    /// Adds a variable from the file.
    pub fn add(&mut self, name: &str, value: String) {
        self.file.push((name.to_owned(), value));
    }

    /// Returns the variables from the command line and the file, without duplicates.
    pub fn all(&self) -> Vec<(String, String)> {
        let mut all = self.file.clone();
        for (name, value) in self.command_line {
            all.retain(|(known, _)| known != name);
            all.push((name.clone(), value.clone()));
        }
        all
    }

    fn get(&self, name: &str) -> Option<&str> {
        let named = |(known, _): &&(String, String)| known == name;
        let found = self.command_line.iter().find(named).or_else(|| self.file.iter().find(named));
        found.map(|(_, value)| value.as_str())
    }

    /// Replaces the references in a value of the setting `key`. `$${` is an escaped `${`.
    ///
    /// # Errors
    /// Returns the names of the variables that are not defined.
    pub fn fill(&self, text: &str, key: &str) -> Result<String, Vec<String>> {
        let (mut filled, mut undefined) = (String::new(), Vec::new());
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Name(name) => match self.get(name) {
                    Some(value) => filled.push_str(value),
                    None if RESOLVED_LATER.contains(&key) => filled.push_str(&format!("${{{name}}}")),
                    None => match (self.environment)(name) {
                        Some(value) => filled.push_str(&value),
                        None => undefined.push(name.to_owned()),
                    },
                },
            }
        }
        if undefined.is_empty() { Ok(filled) } else { Err(undefined) }
    }
}

/// A piece of a value.
enum Piece<'t> {
    /// Literal text.
    Text(&'t str),
    /// Name of a variable.
    Name(&'t str),
}

/// Splits a value into literal text and references, in order.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find("${") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let Some(end) = after.find('}') else { break };
        if let Some(escaped) = before.strip_suffix('$') {
            pieces.extend([Piece::Text(escaped), Piece::Text("${")]);
            rest = after;
            continue;
        }
        pieces.extend([Piece::Text(before), Piece::Name(&after[..end])]);
        rest = &after[end + 1..];
    }
    pieces.push(Piece::Text(rest));
    pieces
}

/// A variable of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// Value from the file, used unless `--set` gives another value. `None` if the environment or `--set` must define
    /// the variable.
    pub default: Option<String>,
    /// Description.
    pub about: Option<String>,
}

/// Keys of a variable that is a map.
pub(super) const VARIABLE_KEYS: [&str; 2] = ["default", "about"];

/// Returns the variables that a scenario declares, in the order of the file, and then the undeclared variables that it
/// refers to.
///
/// # Errors
/// Returns the first syntax error in the text.
pub fn variables(text: &str) -> Result<Vec<Variable>, Diagnostic> {
    let root = yaml::parse(text)?;
    let mut all: Vec<Variable> = declared(&root).iter().map(variable).collect();
    let others = names_in(&root).into_iter().filter(|name| !all.iter().any(|known| known.name == *name));
    let others: Vec<Variable> = others.map(|name| Variable { name, default: None, about: None }).collect();
    all.extend(others);
    Ok(all)
}

/// Returns the entries of `vars`.
fn declared(root: &Node) -> &[Entry] {
    let Value::Map(entries) = &root.value else { return &[] };
    match entries.iter().find(|entry| entry.key == "vars").map(|entry| &entry.node.value) {
        Some(Value::Map(declared)) => declared,
        _ => &[],
    }
}

fn variable(entry: &Entry) -> Variable {
    let text = |node: &Node| if let Value::Text(text) = &node.value { Some(text.clone()) } else { None };
    let of = |key: &str| match &entry.node.value {
        Value::Map(inner) => inner.iter().find(|inner| inner.key == key).and_then(|inner| text(&inner.node)),
        _ => None,
    };
    Variable { name: entry.key.clone(), default: text(&entry.node).or_else(|| of("default")), about: of("about") }
}

/// Returns the names of all variables that a scenario and its hooks declare or refer to. The names are sorted and have
/// no duplicates. Returns `None` if the text has a syntax error.
pub fn variable_names(text: &str) -> Option<Vec<String>> {
    yaml::read(text).0.map(|root| names_in(&root))
}

fn names_in(root: &Node) -> Vec<String> {
    let mut names: Vec<String> = declared(root).iter().map(|entry| entry.key.clone()).collect();
    collect_references(root, false, &mut names);
    names.sort();
    names.dedup();
    names
}

/// Collects the names of the variables in the values of a node.
fn collect_references(node: &Node, is_hook: bool, names: &mut Vec<String>) {
    match &node.value {
        Value::Null => {}
        Value::Text(text) if is_hook => names.extend(shell_references(text)),
        Value::Text(text) => {
            names.extend(pieces(text).into_iter().filter_map(|piece| match piece {
                Piece::Name(name) => Some(name.to_owned()),
                Piece::Text(_) => None,
            }));
        }
        Value::List(items) => items.iter().for_each(|item| collect_references(item, is_hook, names)),
        Value::Map(entries) => {
            entries.iter().for_each(|entry| collect_references(&entry.node, is_hook || entry.key == "hooks", names));
        }
    }
}

/// Returns the names of the variables in a shell command: `$name`, `${name}`, `${name:-default}`.
fn shell_references(text: &str) -> impl Iterator<Item = String> {
    text.split('$').skip(1).filter_map(|after| {
        let after = after.strip_prefix('{').unwrap_or(after);
        let other = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '_');
        let name = after.split(other).next().unwrap_or_default();
        (!name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_except_to_secrets() {
        let environment = |name: &str| (name == "HOME").then(|| "/home/me".to_owned());
        let set = [("host".to_owned(), "set".to_owned())];
        let mut variables = Variables::new(&set, &environment);
        variables.add("host", "file".to_owned());
        variables.add("size", "1MiB".to_owned());
        let fill = |text: &str, key: &str| variables.fill(text, key);
        assert_eq!(fill("http://${host}/${size}${HOME}", "url").unwrap(), "http://set/1MiB/home/me");
        assert_eq!(fill("X: ${HOME} ${size}", "header").unwrap(), "X: ${HOME} 1MiB");
        assert_eq!(fill("$${host} ${", "url").unwrap(), "${host} ${");
        assert_eq!(fill("${nobody} ${host} ${nothing}", "url").unwrap_err(), ["nobody", "nothing"]);
    }

    #[test]
    fn declared_and_referenced_names_are_listed() {
        let text = "\
name: t   # ${comment}
vars: {declared: '${inner}', other: x}
targets: {a: {url: 'http://${host}:${port}/$${escaped}', hooks: {check: 'test -e $file'}}}
settings: {header: ['X: ${token}', '$plain']}
hooks: {before: 'drop ${cache:-all} \"$host\" $(date) $?', after: 'exit $$'}
";
        assert_eq!(
            variable_names(text).unwrap(),
            ["cache", "declared", "file", "host", "inner", "other", "port", "token"]
        );
        assert_eq!(variable_names("a: ["), None);
    }

    #[test]
    fn variables_have_defaults_and_descriptions() {
        let text =
            "vars: {b: {default: 1s, about: length}, a: x, needed: {about: key}}\ntargets: {t: {url: '${host}'}}\n";
        let of = |name: &str, default: Option<&str>, about: Option<&str>| Variable {
            name: name.to_owned(),
            default: default.map(str::to_owned),
            about: about.map(str::to_owned),
        };
        let wanted = [
            of("b", Some("1s"), Some("length")),
            of("a", Some("x"), None),
            of("needed", None, Some("key")),
            of("host", None, None),
        ];
        assert_eq!(variables(text).unwrap(), wanted);
    }
}
