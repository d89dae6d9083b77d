//! `${NAME}` in the values of a scenario.
//!
//! A name stands for a variable of the command line, of the file, or of the environment. Settings that may hold a secret keep
//! what is of the environment unfilled: the program fills it in where it is sent, so that no plan or report holds it.

use crate::document::{Fault, Node, Value, read};

/// Settings whose references to the environment the program resolves itself.
const RESOLVED_LATER: [&str; 4] = ["header", "cookie", "user", "connection"];

/// What names stand for.
pub struct Variables<'a> {
    set: &'a [(String, String)],
    own: Vec<(String, String)>,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Variables<'a> {
    /// Those that are `set` come before those of the file, and these before those of the environment.
    pub fn new(set: &'a [(String, String)], environment: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { set, own: Vec::new(), environment }
    }

    /// A variable of the file.
    pub fn add(&mut self, name: &str, value: String) {
        self.own.push((name.to_owned(), value));
    }

    /// All that the command line and the file set, each name once.
    pub fn all(&self) -> Vec<(String, String)> {
        let mut all = self.own.clone();
        for (name, value) in self.set {
            all.retain(|(known, _)| known != name);
            all.push((name.clone(), value.clone()));
        }
        all
    }

    fn known(&self, name: &str) -> Option<&str> {
        let named = |(known, _): &&(String, String)| known == name;
        let found = self.set.iter().find(named).or_else(|| self.own.iter().find(named));
        found.map(|(_, value)| value.as_str())
    }

    /// Fills in the names of a value of the setting `key`. `$${` stands for `${` itself.
    ///
    /// # Errors
    /// The name that stands for nothing.
    pub fn fill(&self, text: &str, key: &str) -> Result<String, String> {
        let mut filled = String::new();
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Name(name) => match self.known(name) {
                    Some(value) => filled.push_str(value),
                    None if RESOLVED_LATER.contains(&key) => filled.push_str(&format!("${{{name}}}")),
                    None => filled.push_str(&(self.environment)(name).ok_or_else(|| name.to_owned())?),
                },
            }
        }
        Ok(filled)
    }
}

/// A piece of a value.
enum Piece<'t> {
    /// What stands for itself.
    Text(&'t str),
    /// What stands for a variable.
    Name(&'t str),
}

/// The pieces of a value, in order.
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

/// The names of all variables that a scenario declares or refers to, its hooks included, each once and in order.
///
/// # Errors
/// When the text is no document.
pub fn names(text: &str) -> Result<Vec<String>, Fault> {
    let root = read(text)?;
    let mut names = Vec::new();
    if let Value::Map(entries) = &root.value
        && let Some(Value::Map(declared)) =
            entries.iter().find(|entry| entry.key == "vars").map(|entry| &entry.node.value)
    {
        names.extend(declared.iter().map(|entry| entry.key.clone()));
    }
    referred(&root, false, &mut names);
    names.sort();
    names.dedup();
    Ok(names)
}

/// Names that the values of a node refer to.
fn referred(node: &Node, is_hook: bool, names: &mut Vec<String>) {
    match &node.value {
        Value::Text(text) if is_hook => names.extend(in_shell(text)),
        Value::Text(text) => {
            names.extend(pieces(text).into_iter().filter_map(|piece| match piece {
                Piece::Name(name) => Some(name.to_owned()),
                Piece::Text(_) => None,
            }));
        }
        Value::List(items) => items.iter().for_each(|item| referred(item, is_hook, names)),
        Value::Map(entries) => {
            entries.iter().for_each(|entry| referred(&entry.node, is_hook || entry.key == "hooks", names));
        }
    }
}

/// Names that the command of a hook refers to as a shell does: `$name`, `${name}`, `${name:-else}`.
fn in_shell(text: &str) -> impl Iterator<Item = String> {
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
    fn names_are_filled_in_and_secrets_are_not() {
        let environment = |name: &str| (name == "HOME").then(|| "/home/me".to_owned());
        let set = [("host".to_owned(), "set".to_owned())];
        let mut variables = Variables::new(&set, &environment);
        variables.add("host", "file".to_owned());
        variables.add("size", "1MiB".to_owned());
        let fill = |text: &str, key: &str| variables.fill(text, key);
        assert_eq!(fill("http://${host}/${size}${HOME}", "url").unwrap(), "http://set/1MiB/home/me");
        assert_eq!(fill("X: ${HOME} ${size}", "header").unwrap(), "X: ${HOME} 1MiB");
        assert_eq!(fill("$${host} ${", "url").unwrap(), "${host} ${");
        assert_eq!(fill("${nobody}", "url").unwrap_err(), "nobody");
    }

    #[test]
    fn names_are_those_that_are_declared_or_referred_to() {
        let text = "\
name: t   # ${comment}
vars: {declared: '${inner}', other: x}
targets: {a: {url: 'http://${host}:${port}/$${escaped}', hooks: {check: 'test -e $file'}}}
settings: {header: ['X: ${token}', '$plain']}
hooks: {before: 'drop ${cache:-all} \"$host\" $(date) $?', after: 'exit $$'}
";
        assert_eq!(names(text).unwrap(), ["cache", "declared", "file", "host", "inner", "other", "port", "token"]);
        assert!(names("a: [").is_err());
    }
}
