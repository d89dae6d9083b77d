//! The text of a scenario without its secrets: what is saved and shown.
//!
//! What a secret is, the program knows; here is known where the values of the settings stand. A value that is hidden becomes a
//! quoted one, so that the text stays a scenario with the same cells.

use crate::document::{Node, Value, read};

/// The text with values replaced: `hide` is told the name of each setting or variable with each of its values, and answers with
/// what is to stand there, or `None` to leave it. The places of variables are told by `is_variable`. What is no YAML is
/// hidden as a whole.
pub fn hidden(text: &str, hide: &mut dyn FnMut(&str, &str, bool) -> Option<String>) -> String {
    let Ok(root) = read(text) else { return String::new() };
    let mut found = Vec::new();
    values(&root, Of { name: "", is_variable: false, is_axis: false }, &mut found);
    let mut replaced: Vec<(&Node, String)> = Vec::new();
    for (name, is_variable, node) in found {
        let Value::Text(value) = &node.value else { continue };
        replaced.extend(hide(name, value, is_variable).map(|shown| (node, shown)));
    }
    let letters: Vec<char> = text.chars().collect();
    let (mut written, mut from) = (String::new(), 0);
    for (node, shown) in replaced {
        let mut end = node.chars.end.min(letters.len());
        let start = node.chars.start.min(end).max(from);
        // A block of lines ends with the line end before the next key.
        while end > start && letters[end - 1].is_whitespace() {
            end -= 1;
        }
        written.extend(&letters[from..start]);
        written.push_str(&format!("'{}'", shown.replace('\'', "''")));
        from = end;
    }
    written.extend(&letters[from..]);
    written
}

/// What a value is one of.
#[derive(Clone, Copy)]
struct Of<'n> {
    name: &'n str,
    is_variable: bool,
    /// An axis, whose values may have names of their own.
    is_axis: bool,
}

/// All scalars that are values, with the name of what they are a value of, in the order of the file.
fn values<'n>(node: &'n Node, of: Of<'n>, found: &mut Vec<(&'n str, bool, &'n Node)>) {
    match &node.value {
        Value::Text(_) => found.push((of.name, of.is_variable, node)),
        Value::List(items) => items.iter().for_each(|item| values(item, of, found)),
        Value::Map(entries) => {
            for entry in entries {
                let is_variable = of.is_variable || (of.name.is_empty() && entry.key == "vars");
                let name = if of.is_axis { of.name } else { entry.key.as_str() };
                let is_axis = of.is_axis || of.name == "matrix";
                values(&entry.node, Of { name, is_variable, is_axis }, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_replaced_where_they_stand_and_nothing_else_is() {
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
        let shown = hidden(text, &mut |name, value, is_variable| {
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
        let Value::Map(entries) = read(&shown).unwrap().value else { panic!() };
        assert_eq!(
            entries.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(),
            ["name", "vars", "settings", "targets"]
        );
    }

    proptest! {
        #[test]
        fn what_is_not_hidden_stays_as_it_is(text in "[ -~\né]{0,200}") {
            let shown = hidden(&text, &mut |_, _, _| None);
            prop_assert!(shown == text || read(&text).is_err());
        }
    }
}
