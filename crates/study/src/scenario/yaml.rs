//! YAML as a tree with positions, so that every mistake is reported with its line and column.
//!
//! Scalars are kept as text. The code that interprets a field decides whether `10` is a number. Anchors, aliases, tags
//! and duplicate keys are rejected, so that a scenario means what it appears to mean.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::fmt;
use std::ops::Range;

/// Maximum size of a scenario, in bytes.
pub const BYTES_MAX: usize = 1 << 20;
/// Maximum nesting depth of lists and maps.
const DEPTH_MAX: usize = 16;

/// A position in a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl Position {
    /// The beginning of a file.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A mistake in a scenario, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Position in the file.
    pub at: Position,
    /// Description of the mistake, and how to fix it.
    pub message: String,
}

impl Diagnostic {
    /// Creates a diagnostic for a position.
    pub fn new(at: Position, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

/// A value with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Position of the first character of the value.
    pub at: Position,
    /// Range of a scalar in the file in characters, including its quotes. For a list or a map, the range of its first
    /// token.
    pub chars: Range<usize>,
    /// The value.
    pub value: Value,
}

/// A scalar, a list or a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value, `~` or `null`.
    Null,
    /// A scalar as it is written, without its quotes.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Position of the key.
    pub at: Position,
    /// The value.
    pub node: Node,
}

/// Parses one document.
///
/// # Errors
/// Returns the first syntax error, or the first construct that is not allowed.
pub fn parse(text: &str) -> Result<Node, Diagnostic> {
    let (root, diagnostics) = read(text);
    match (root, diagnostics.into_iter().next()) {
        (Some(root), None) => Ok(root),
        (_, Some(first)) => Err(first),
        (None, None) => Err(Diagnostic::new(Position::START, "the file is empty")),
    }
}

/// Parses one document, and continues after constructs that are not allowed. Returns the document without these
/// constructs, and all mistakes. After a syntax error, the meaning of the rest is not known, so there is no document.
#[must_use]
pub fn read(text: &str) -> (Option<Node>, Vec<Diagnostic>) {
    if text.len() > BYTES_MAX {
        let why = "the file is larger than 1 MiB; split the study into several scenarios";
        return (None, vec![Diagnostic::new(Position::START, why)]);
    }
    let mut reader = Reader { parser: Parser::new_from_str(text), diagnostics: Vec::new() };
    let root = match reader.document() {
        Ok(root) => root,
        Err(diagnostic) => {
            reader.diagnostics.push(diagnostic);
            None
        }
    };
    (root, reader.diagnostics)
}

struct Reader<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
    /// Constructs that are not allowed.
    diagnostics: Vec<Diagnostic>,
}

impl<'t> Reader<'t> {
    fn document(&mut self) -> Result<Option<Node>, Diagnostic> {
        let mut root = None;
        let mut is_begun = false;
        loop {
            let (event, at, chars) = self.event()?;
            match event {
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
                Event::StreamEnd => break,
                _ if is_begun => {
                    self.refuse(at, "a second document starts here; a file holds one scenario, so remove the `---`");
                    return Ok(root);
                }
                event => {
                    is_begun = true;
                    root = self.node(event, (at, chars), 0)?;
                }
            }
        }
        if !is_begun {
            self.refuse(
                Position::START,
                "the file is empty; `plimsoll schema scenario` prints what a scenario may contain",
            );
        }
        Ok(root)
    }

    fn refuse(&mut self, at: Position, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(at, message));
    }

    fn event(&mut self) -> Result<(Event<'t>, Position, Range<usize>), Diagnostic> {
        match self.parser.next() {
            Some(Ok((event, span))) => Ok((event, position(span), span.start.index()..span.end.index())),
            Some(Err(error)) => {
                let at = Position { line: error.marker().line().max(1), column: error.marker().col() + 1 };
                Err(Diagnostic::new(at, format!("this is not YAML: {}", error.info())))
            }
            None => Ok((Event::StreamEnd, Position::START, 0..0)),
        }
    }

    /// Parses a value. Returns `None` for an alias, because its value is elsewhere.
    fn node(
        &mut self,
        event: Event<'_>,
        (at, chars): (Position, Range<usize>),
        depth: usize,
    ) -> Result<Option<Node>, Diagnostic> {
        if depth > DEPTH_MAX {
            return Err(Diagnostic::new(at, format!("lists and maps are nested more than {DEPTH_MAX} levels deep")));
        }
        let unwanted = match &event {
            Event::Alias(_) => Some("an alias (*name)"),
            Event::Scalar(_, _, anchor, _) | Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _)
                if *anchor != 0 =>
            {
                Some("an anchor (&name)")
            }
            Event::Scalar(_, _, _, Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
                Some("a tag (!name)")
            }
            _ => None,
        };
        if let Some(what) = unwanted {
            self.refuse(at, format!("{what} is not supported; write the value out"));
        }
        match event {
            Event::Alias(_) => Ok(None),
            Event::Scalar(text, ScalarStyle::Plain, ..) if ["", "~", "null"].contains(&text.as_ref()) => {
                Ok(Some(Node { at, chars, value: Value::Null }))
            }
            Event::Scalar(text, ..) => Ok(Some(Node { at, chars, value: Value::Text(text.into_owned()) })),
            Event::SequenceStart(..) => self.list(at, chars, depth).map(Some),
            Event::MappingStart(..) => self.map(at, chars, depth).map(Some),
            _ => Err(Diagnostic::new(at, "expected a value")),
        }
    }

    fn list(&mut self, at: Position, chars: Range<usize>, depth: usize) -> Result<Node, Diagnostic> {
        let mut nodes = Vec::new();
        loop {
            let (event, at_item, item) = self.event()?;
            if event == Event::SequenceEnd {
                return Ok(Node { at, chars, value: Value::List(nodes) });
            }
            nodes.extend(self.node(event, (at_item, item), depth + 1)?);
        }
    }

    fn map(&mut self, at: Position, chars: Range<usize>, depth: usize) -> Result<Node, Diagnostic> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, at_key, chars_of_key) = self.event()?;
            if event == Event::MappingEnd {
                return Ok(Node { at, chars, value: Value::Map(entries) });
            }
            let key = self.node(event, (at_key, chars_of_key), depth + 1)?.map(|node| node.value);
            let (event, at_value, chars_of_value) = self.event()?;
            let node = self.node(event, (at_value, chars_of_value), depth + 1)?;
            let key = match key {
                Some(Value::Text(key)) => key,
                Some(Value::Null | Value::List(_) | Value::Map(_)) | None => {
                    self.refuse(at_key, "a key must be a word");
                    continue;
                }
            };
            if entries.iter().any(|entry| entry.key == key) {
                self.refuse(at_key, format!("`{key}` appears a second time; remove one of them"));
                continue;
            }
            // The parser reports a missing value at the next key.
            let of_key = |node: Node| if node.value == Value::Null { Node { at: at_key, ..node } } else { node };
            entries.extend(node.map(|node| Entry { key, at: at_key, node: of_key(node) }));
        }
    }
}

fn position(span: Span) -> Position {
    Position { line: span.start.line().max(1), column: span.start.col() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(line: usize, column: usize) -> Position {
        Position { line, column }
    }

    #[test]
    fn nodes_have_positions() {
        let node = parse("name: one\nlist:\n  - 010\n  - [a, 'b c']\n").unwrap();
        let Value::Map(entries) = node.value else { panic!() };
        assert_eq!((entries[0].key.as_str(), entries[0].at, entries[0].node.at), ("name", at(1, 1), at(1, 7)));
        let Value::List(items) = &entries[1].node.value else { panic!() };
        assert_eq!((items[0].at, &items[0].value), (at(3, 5), &Value::Text("010".into())));
        let Value::List(inner) = &items[1].value else { panic!() };
        assert_eq!((inner[1].at, &inner[1].value), (at(4, 9), &Value::Text("b c".into())));
    }

    #[test]
    fn ambiguous_yaml_is_refused_with_its_position() {
        for (text, place, why) in [
            ("", at(1, 1), "empty"),
            ("a: 1\na: 2\n", at(2, 1), "second time"),
            ("a: &x 1\nb: *x\n", at(1, 4), "anchor"),
            ("a: !int 1\n", at(1, 4), "tag"),
            ("a: 1\n---\nb: 2\n", at(3, 1), "second document"),
            ("? [a]\n: 1\n", at(1, 3), "a key must be a word"),
            ("a: [1, 2\nb: 3\n", at(2, 1), "not YAML"),
        ] {
            let diagnostic = parse(text).unwrap_err();
            assert!(diagnostic.message.contains(why), "{text:?}: {diagnostic}");
            assert_eq!(diagnostic.at.line, place.line, "{text:?}: {diagnostic}");
        }
        assert!(parse(&"[".repeat(100)).is_err());
    }

    #[test]
    fn reading_goes_on_after_constructs_that_are_not_allowed() {
        let (root, diagnostics) = read("a: &x 1\na: 2\nb: *x\nc: !int 3\nd:\ne: ''\n---\nf: 1\n");
        let lines: Vec<usize> = diagnostics.iter().map(|diagnostic| diagnostic.at.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 8], "{diagnostics:?}");
        let Some(Node { value: Value::Map(entries), .. }) = root else { panic!() };
        let values: Vec<(&str, &Value)> = entries.iter().map(|entry| (entry.key.as_str(), &entry.node.value)).collect();
        let text = |text: &str| Value::Text(text.to_owned());
        assert_eq!(values, [("a", &text("1")), ("c", &text("3")), ("d", &Value::Null), ("e", &text(""))]);
        assert_eq!(entries[2].node.at, at(5, 1));
        let (root, diagnostics) = read("a: &x 1\nb: [1, 2\nc: 3\n");
        assert!(root.is_none() && diagnostics.len() == 2, "{diagnostics:?}");
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "[ -~\n]{0,200}") {
            let _ = parse(&text);
        }
    }
}
