//! YAML as a tree that knows where everything stands, so that every mistake can be shown at its place.
//!
//! Scalars stay texts: whether `10` is a number or a word is for the one who knows the field. Anchors, aliases and tags are
//! refused, as are two keys of one name: a scenario has to mean what it seems to say.

use saphyr_parser::{Event, Parser, Span};
use std::fmt;
use std::ops::Range;

/// A scenario is never larger.
pub const BYTES_MAX: usize = 1 << 20;
/// Lists and maps inside each other, at most.
const DEPTH_MAX: usize = 16;

/// A place in a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl Position {
    /// Where a file begins.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A mistake: where it is, what it is, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub at: Position,
    /// What, and how to mend it.
    pub message: String,
}

impl Fault {
    /// A fault at a place.
    pub fn new(at: Position, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

/// A value and where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Where.
    pub at: Position,
    /// Which characters of the file a scalar takes, its quotes included; those where it begins of anything else.
    pub chars: Range<usize>,
    /// What.
    pub value: Value,
}

/// What stands at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A scalar as it was written, without its quotes.
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
    /// Where the key stands.
    pub at: Position,
    /// Its value.
    pub node: Node,
}

/// Reads one document.
///
/// # Errors
/// The first thing that is not understood or refused.
pub fn read(text: &str) -> Result<Node, Fault> {
    if text.len() > BYTES_MAX {
        return Err(Fault::new(Position::START, "the file is larger than 1 MiB: a scenario is a page or two"));
    }
    let mut reader = Reader { parser: Parser::new_from_str(text) };
    let mut root = None;
    loop {
        let (event, at, chars) = reader.event()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            Event::StreamEnd => break,
            _ if root.is_some() => return Err(Fault::new(at, "a second document: a file holds one scenario")),
            event => root = Some(reader.node(event, (at, chars), 0)?),
        }
    }
    root.ok_or_else(|| {
        Fault::new(Position::START, "the file is empty: `plimsoll schema scenario` says what goes in it")
    })
}

struct Reader<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
}

impl<'t> Reader<'t> {
    fn event(&mut self) -> Result<(Event<'t>, Position, Range<usize>), Fault> {
        match self.parser.next() {
            Some(Ok((event, span))) => Ok((event, position(span), span.start.index()..span.end.index())),
            Some(Err(error)) => {
                let at = Position { line: error.marker().line().max(1), column: error.marker().col() + 1 };
                Err(Fault::new(at, format!("this is not YAML: {}", error.info())))
            }
            None => Ok((Event::StreamEnd, Position::START, 0..0)),
        }
    }

    fn node(&mut self, event: Event<'_>, (at, chars): (Position, Range<usize>), depth: usize) -> Result<Node, Fault> {
        if depth > DEPTH_MAX {
            return Err(Fault::new(at, "lists and maps are nested too deeply"));
        }
        let unwanted = |what: &str| Err(Fault::new(at, format!("{what} is not understood here: write the value out")));
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
            _ => Err(Fault::new(at, "a value is missing here")),
        }
    }

    fn list(&mut self, at: Position, chars: Range<usize>, depth: usize) -> Result<Node, Fault> {
        let mut nodes = Vec::new();
        loop {
            let (event, at_item, item) = self.event()?;
            if event == Event::SequenceEnd {
                return Ok(Node { at, chars, value: Value::List(nodes) });
            }
            nodes.push(self.node(event, (at_item, item), depth + 1)?);
        }
    }

    fn map(&mut self, at: Position, chars: Range<usize>, depth: usize) -> Result<Node, Fault> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, at_key, key) = self.event()?;
            if event == Event::MappingEnd {
                return Ok(Node { at, chars, value: Value::Map(entries) });
            }
            let Value::Text(key) = self.node(event, (at_key, key), depth + 1)?.value else {
                return Err(Fault::new(at_key, "a key is a word, not a list or a map"));
            };
            if entries.iter().any(|entry| entry.key == key) {
                return Err(Fault::new(at_key, format!("`{key}` stands here a second time")));
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
    fn everything_knows_where_it_stands() {
        let node = read("name: one\nlist:\n  - 010\n  - [a, 'b c']\n").unwrap();
        let Value::Map(entries) = node.value else { panic!() };
        assert_eq!((entries[0].key.as_str(), entries[0].at, entries[0].node.at), ("name", at(1, 1), at(1, 7)));
        let Value::List(items) = &entries[1].node.value else { panic!() };
        assert_eq!((items[0].at, &items[0].value), (at(3, 5), &Value::Text("010".into())));
        let Value::List(inner) = &items[1].value else { panic!() };
        assert_eq!((inner[1].at, &inner[1].value), (at(4, 9), &Value::Text("b c".into())));
    }

    #[test]
    fn what_could_mean_something_else_is_refused_where_it_stands() {
        for (text, place, why) in [
            ("", at(1, 1), "empty"),
            ("a: 1\na: 2\n", at(2, 1), "second time"),
            ("a: &x 1\nb: *x\n", at(1, 4), "anchor"),
            ("a: !int 1\n", at(1, 4), "tag"),
            ("a: 1\n---\nb: 2\n", at(3, 1), "second document"),
            ("? [a]\n: 1\n", at(1, 3), "a key is a word"),
            ("a: [1, 2\nb: 3\n", at(2, 1), "not YAML"),
        ] {
            let fault = read(text).unwrap_err();
            assert!(fault.message.contains(why), "{text:?}: {fault}");
            assert_eq!(fault.at.line, place.line, "{text:?}: {fault}");
        }
        assert!(read(&"[".repeat(100)).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "[ -~\n]{0,200}") {
            let _ = read(&text);
        }
    }
}
