//! YAML as a tree with positions, so that every mistake is reported with its line and column.
//!
//! Scalars are kept as text. The code that interprets a field decides whether `10` is a number. Anchors, aliases, tags
//! and duplicate keys are rejected, so that a scenario means what it appears to mean.

use saphyr_parser::{Event, Parser, Span};
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
    if text.len() > BYTES_MAX {
        return Err(Diagnostic::new(
            Position::START,
            "the file is larger than 1 MiB; split the study into several scenarios",
        ));
    }
    let mut reader = Reader { parser: Parser::new_from_str(text) };
    let mut root = None;
    loop {
        let (event, at, chars) = reader.event()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            Event::StreamEnd => break,
            _ if root.is_some() => {
                return Err(Diagnostic::new(
                    at,
                    "a second document starts here; a file holds one scenario, so remove the `---`",
                ));
            }
            event => root = Some(reader.node(event, (at, chars), 0)?),
        }
    }
    root.ok_or_else(|| {
        Diagnostic::new(
            Position::START,
            "the file is empty; `plimsoll schema scenario` prints what a scenario may contain",
        )
    })
}

struct Reader<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
}

impl<'t> Reader<'t> {
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

    fn node(
        &mut self,
        event: Event<'_>,
        (at, chars): (Position, Range<usize>),
        depth: usize,
    ) -> Result<Node, Diagnostic> {
        if depth > DEPTH_MAX {
            return Err(Diagnostic::new(at, format!("lists and maps are nested more than {DEPTH_MAX} levels deep")));
        }
        let unwanted = |what: &str| Err(Diagnostic::new(at, format!("{what} is not supported; write the value out")));
        match event {
            Event::Alias(_) => unwanted("an alias (*name)"),
            Event::Scalar(_, _, anchor, _) | Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _)
                if anchor != 0 =>
            {
                unwanted("an anchor (&name)")
            }
            Event::Scalar(_, _, _, Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
                unwanted("a tag (!name)")
            }
            Event::Scalar(text, ..) => Ok(Node { at, chars, value: Value::Text(text.into_owned()) }),
            Event::SequenceStart(..) => self.list(at, chars, depth),
            Event::MappingStart(..) => self.map(at, chars, depth),
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
            nodes.push(self.node(event, (at_item, item), depth + 1)?);
        }
    }

    fn map(&mut self, at: Position, chars: Range<usize>, depth: usize) -> Result<Node, Diagnostic> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, at_key, key) = self.event()?;
            if event == Event::MappingEnd {
                return Ok(Node { at, chars, value: Value::Map(entries) });
            }
            let Value::Text(key) = self.node(event, (at_key, key), depth + 1)?.value else {
                return Err(Diagnostic::new(at_key, "a key is a word, not a list or a map"));
            };
            if entries.iter().any(|entry| entry.key == key) {
                return Err(Diagnostic::new(at_key, format!("`{key}` appears a second time; remove one of them")));
            }
            let (event, at_value, value) = self.event()?;
            let node = self.node(event, (at_value, value), depth + 1)?;
            entries.push(Entry { key, at: at_key, node });
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
            ("? [a]\n: 1\n", at(1, 3), "a key is a word"),
            ("a: [1, 2\nb: 3\n", at(2, 1), "not YAML"),
        ] {
            let diagnostic = parse(text).unwrap_err();
            assert!(diagnostic.message.contains(why), "{text:?}: {diagnostic}");
            assert_eq!(diagnostic.at.line, place.line, "{text:?}: {diagnostic}");
        }
        assert!(parse(&"[".repeat(100)).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "[ -~\n]{0,200}") {
            let _ = parse(&text);
        }
    }
}
