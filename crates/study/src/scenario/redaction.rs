//! Redaction of a scenario's text before it is saved or shown.
//!
//! This module finds the values in the text, and the caller decides which of them are secret. Replacements are quoted,
//! so that the text remains a valid scenario with the same cells.

use super::yaml::{self, Node, Value};

/// Returns the text of a scenario with some of its values replaced.
///
/// `replacement` gets the name of a setting or variable, one of its values, and `true` if the name belongs to a
/// variable. `replacement` returns the new value, or `None` to keep the old value. If the text is not valid YAML, the
/// result is empty.
pub fn replace_values(text: &str, replacement: &mut dyn FnMut(&str, &str, bool) -> Option<String>) -> String {
    let Ok(root) = yaml::parse(text) else { return String::new() };
    let mut found = Vec::new();
    collect_values(&root, Owner { name: "", is_variable: false, is_axis: false }, &mut found);
    let mut replaced: Vec<(&Node, String)> = Vec::new();
    for (name, is_variable, node) in found {
        let Value::Text(value) = &node.value else { continue };
        replaced.extend(replacement(name, value, is_variable).map(|new| (node, new)));
    }
    let letters: Vec<char> = text.chars().collect();
    let (mut written, mut from) = (String::new(), 0);
    for (node, new) in replaced {
        let mut end = node.chars.end.min(letters.len());
        let start = node.chars.start.min(end).max(from);
        // The range of a block scalar includes the line break before the next key. This line break must stay.
        while end > start && letters[end - 1].is_whitespace() {
            end -= 1;
        }
        written.extend(&letters[from..start]);
        written.push_str(&format!("'{}'", new.replace('\'', "''")));
        from = end;
    }
    written.extend(&letters[from..]);
    written
}

/// The setting or variable to which a value belongs.
#[derive(Clone, Copy)]
struct Owner<'n> {
    name: &'n str,
    is_variable: bool,
    /// `true` if the setting is an axis. The values of an axis may have names.
    is_axis: bool,
}

/// Collects all scalar values in the order of the file. Each entry consists of the owner's name, whether the owner is a
/// variable, and the node of the value.
fn collect_values<'n>(node: &'n Node, owner: Owner<'n>, found: &mut Vec<(&'n str, bool, &'n Node)>) {
    match &node.value {
        Value::Null => {}
        Value::Text(_) => found.push((owner.name, owner.is_variable, node)),
        Value::List(items) => items.iter().for_each(|item| collect_values(item, owner, found)),
        Value::Map(entries) => {
            for entry in entries {
                let is_variable = owner.is_variable || (owner.name.is_empty() && entry.key == "vars");
                // A variable may be a map with its default and a description.
                let of_variable = owner.is_variable && owner.name != "vars";
                let name = if owner.is_axis || of_variable { owner.name } else { entry.key.as_str() };
                let is_axis = owner.is_axis || owner.name == "matrix";
                collect_values(&entry.node, Owner { name, is_variable, is_axis }, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_default_of_a_variable_has_the_name_of_the_variable() {
        let mut names = Vec::new();
        let text = "name: x\nvars: {key: {about: a, default: b}, host: c}\n";
        replace_values(text, &mut |name, value, is_variable| {
            names.push((name.to_owned(), value.to_owned(), is_variable));
            None
        });
        let of = |name: &str, value: &str, is_variable| (name.to_owned(), value.to_owned(), is_variable);
        assert_eq!(names, [of("name", "x", false), of("key", "a", true), of("key", "b", true), of("host", "c", true)]);
    }

    #[test]
    fn only_the_chosen_values_are_replaced() {
        let text = "\
# é: a comment: secret
name: t   # of é
vars: {host: secret, other: x}
settings:
  header: ['A: secret', \"B: \\x73ecret\", plain]
  user: secret
  cookie: |
    a=secret
    b=secret
  body: >-
    secret
targets:
  a: {url: 'http://é/''x', user: secret}
";
        let shown = replace_values(text, &mut |name, value, is_variable| {
            assert_eq!(is_variable, ["host", "other"].contains(&name), "{name}");
            value.contains("secret").then(|| format!("{name} it's"))
        });
        let wanted = "\
# é: a comment: secret
name: t   # of é
vars: {host: 'host it''s', other: x}
settings:
  header: ['header it''s', 'header it''s', plain]
  user: 'user it''s'
";
        assert!(shown.starts_with(wanted), "{shown}");
        assert_eq!(shown.matches("secret").count(), 1, "{shown}");
        let Value::Map(entries) = yaml::parse(&shown).unwrap().value else { panic!() };
        assert_eq!(
            entries.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(),
            ["name", "vars", "settings", "targets"]
        );
    }

    proptest! {
        #[test]
        fn text_without_replacements_is_unchanged(text in "[ -~\né]{0,200}") {
            let shown = replace_values(&text, &mut |_, _, _| None);
            prop_assert!(shown == text || yaml::parse(&text).is_err());
        }
    }
}
