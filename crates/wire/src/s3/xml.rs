//! The subset of XML that S3 uses, which is elements with text. The parser builds a small tree, within limits.
//!
//! The parser is `quick-xml`. Namespaces and attributes are ignored, because no message needs them. Document types are
//! rejected, so there are no entities that could expand.

use quick_xml::Reader;
use quick_xml::escape::partial_escape;
use quick_xml::events::{BytesRef, Event};

/// Maximum size of a message. A listing of 1000 keys of 1024 bytes, percent-encoded, has less than 4 MiB.
pub const MAX_XML_BYTES: usize = 8 << 20;
/// Maximum number of elements in a message. This number is enough for 10,000 parts of four elements each.
const MAX_ELEMENTS: usize = 100_000;
/// Maximum depth of nesting. Messages use up to 4 levels.
const MAX_DEPTH: usize = 8;
/// Maximum size of an element's name.
const MAX_NAME_BYTES: usize = 128;

/// The reason why a message cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    /// The message is larger than [`MAX_XML_BYTES`].
    #[error("the XML message is larger than 8 MiB")]
    TooLarge,
    /// There are too many elements, they are nested too deeply, or names are too long.
    #[error("the XML message has too many elements, or they are nested too deeply")]
    TooMany,
    /// The message is not UTF-8.
    #[error("the XML message is not UTF-8")]
    NotUtf8,
    /// The message is not well-formed, or has a document type.
    #[error("the XML message is not well-formed")]
    Malformed,
    /// The message is of another kind.
    #[error("the XML message is not a {0}")]
    NotA(&'static str),
    /// A required element is missing.
    #[error("the XML message has no {0}")]
    Missing(&'static str),
    /// The value of an element is not valid.
    #[error("the XML message has an invalid {0}")]
    BadValue(&'static str),
}

/// An element and its content.
#[derive(Debug, Default)]
pub(super) struct Element {
    name: Box<str>,
    text: String,
    children: Vec<Element>,
}

impl Element {
    /// Parses a message and returns its outermost element.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        if bytes.len() > MAX_XML_BYTES {
            return Err(XmlError::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| XmlError::NotUtf8)?;
        // Servers send whitespace before the message to keep the connection alive.
        let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}').trim_ascii_start());
        let mut tree = Tree::default();
        loop {
            match reader.read_event().map_err(|_| XmlError::Malformed)? {
                Event::Start(start) => tree.open(start.local_name().as_ref())?,
                Event::Empty(start) => {
                    tree.open(start.local_name().as_ref())?;
                    tree.close()?;
                }
                Event::End(_) => tree.close()?,
                Event::Text(text) => tree.push(&text.xml10_content())?,
                Event::CData(text) => tree.push(&text.xml10_content())?,
                Event::GeneralRef(reference) => tree.push(resolved(&reference)?.encode_utf8(&mut [0; 4]))?,
                Event::DocType(_) => return Err(XmlError::Malformed),
                Event::Eof => return tree.finish(),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            }
        }
    }

    /// Parses a message with this name.
    pub(super) fn parse_named(bytes: &[u8], name: &'static str) -> Result<Self, XmlError> {
        let root = Self::parse(bytes)?;
        if root.is(name) { Ok(root) } else { Err(XmlError::NotA(name)) }
    }

    /// Parses a response. The outermost element must have this name, or one of these children. Other names are
    /// accepted, because servers use different names (gofakes3 sends `InitiateMultipartUpload`), and because SDKs do
    /// not check the name. An error is never parsed as another response.
    pub(super) fn parse_response(
        bytes: &[u8],
        name: &'static str,
        known_by: &[&'static str],
    ) -> Result<Self, XmlError> {
        let root = Self::parse(bytes)?;
        let is_known = |root: &Self| known_by.iter().any(|child| root.children(child).next().is_some());
        let is_it = root.is(name) || (!root.is("Error") && is_known(&root));
        if is_it { Ok(root) } else { Err(XmlError::NotA(name)) }
    }

    pub(super) fn is(&self, name: &str) -> bool {
        *self.name == *name
    }

    /// Returns all children with this name.
    pub(super) fn children<'a>(&'a self, name: &'static str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.is(name))
    }

    /// Returns the text of the first child with this name.
    pub(super) fn text(&self, name: &'static str) -> Option<&str> {
        self.children(name).next().map(|child| child.text.as_str())
    }

    /// Returns the text of the first child with this name, or an error if there is none.
    pub(super) fn required(&self, name: &'static str) -> Result<&str, XmlError> {
        self.text(name).ok_or(XmlError::Missing(name))
    }

    /// Returns the number in the first child with this name.
    pub(super) fn number(&self, name: &'static str) -> Result<Option<u64>, XmlError> {
        let parse = |text: &str| crate::decimal::parse_u64(text.trim_ascii().as_bytes());
        self.text(name).map(|text| parse(text).ok_or(XmlError::BadValue(name))).transpose()
    }

    /// Returns the boolean in the first child with this name, or false if there is none.
    pub(super) fn flag(&self, name: &'static str) -> Result<bool, XmlError> {
        match self.text(name).map(str::trim_ascii) {
            Some("true") => Ok(true),
            Some("false") | None => Ok(false),
            Some(_) => Err(XmlError::BadValue(name)),
        }
    }
}

/// The tree of a message that is being parsed.
#[derive(Default)]
struct Tree {
    open: Vec<Element>,
    root: Option<Element>,
    elements: usize,
}

impl Tree {
    fn open(&mut self, name: &str) -> Result<(), XmlError> {
        self.elements += 1;
        if self.root.is_some() {
            return Err(XmlError::Malformed);
        }
        if self.elements > MAX_ELEMENTS || self.open.len() == MAX_DEPTH || name.len() > MAX_NAME_BYTES {
            return Err(XmlError::TooMany);
        }
        self.open.push(Element { name: name.into(), ..Element::default() });
        Ok(())
    }

    fn close(&mut self) -> Result<(), XmlError> {
        let element = self.open.pop().ok_or(XmlError::Malformed)?;
        match self.open.last_mut() {
            Some(parent) => parent.children.push(element),
            None => self.root = Some(element),
        }
        Ok(())
    }

    fn push(&mut self, text: &str) -> Result<(), XmlError> {
        match self.open.last_mut() {
            Some(element) => element.text.push_str(text),
            // Only whitespace is allowed outside the message.
            None if !text.trim_ascii().is_empty() => return Err(XmlError::Malformed),
            None => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Element, XmlError> {
        if self.open.is_empty() { self.root.ok_or(XmlError::Malformed) } else { Err(XmlError::Malformed) }
    }
}

/// Returns the character that a reference represents. Supports the five references that XML predefines, and numeric
/// references.
fn resolved(reference: &BytesRef) -> Result<char, XmlError> {
    if let Some(character) = reference.resolve_char_ref().map_err(|_| XmlError::Malformed)? {
        return Ok(character);
    }
    match reference.xml10_content().as_ref() {
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "amp" => Ok('&'),
        "quot" => Ok('"'),
        "apos" => Ok('\''),
        _ => Err(XmlError::Malformed),
    }
}

/// The writer of a message. Dropping the writer closes all open elements.
pub(super) struct Writer<'a> {
    out: &'a mut String,
    open: Vec<&'static str>,
}

/// The XML namespace of S3 messages.
const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

impl<'a> Writer<'a> {
    /// Begins a message.
    pub(super) fn new(out: &'a mut String, name: &'static str) -> Self {
        out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        // Error messages have no namespace.
        if name == "Error" {
            out.push_str("<Error>");
        } else {
            out.extend(["<", name, " xmlns=\"", NAMESPACE, "\">"]);
        }
        Self { out, open: vec![name] }
    }

    /// Begins an element with children.
    pub(super) fn open(&mut self, name: &'static str) {
        self.out.extend(["<", name, ">"]);
        self.open.push(name);
    }

    /// Ends the innermost open element.
    pub(super) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.out.extend(["</", name, ">"]);
        }
    }

    /// Writes an element with text.
    pub(super) fn text(&mut self, name: &'static str, text: &str) {
        self.out.extend(["<", name, ">"]);
        for piece in partial_escape(text).split_inclusive(|character: char| is_control(character)) {
            let mut characters = piece.chars();
            match characters.next_back().filter(|last| is_control(*last)) {
                // XML 1.0 does not allow these characters, but S3 writes them as references.
                Some(control) => {
                    self.out.push_str(characters.as_str());
                    self.out.push_str(&format!("&#{};", u32::from(control)));
                }
                None => self.out.push_str(piece),
            }
        }
        self.out.extend(["</", name, ">"]);
    }

    /// Writes an element with text. Writes nothing if there is no text.
    pub(super) fn optional(&mut self, name: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        while !self.open.is_empty() {
            self.close();
        }
    }
}

fn is_control(character: char) -> bool {
    character < ' ' && !matches!(character, '\t' | '\n') && character != '\0'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(text: &str) -> XmlError {
        Element::parse(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn elements_contain_text_and_children() {
        let text = "\u{feff} \n<?xml version=\"1.0\"?><!-- c -->\n<a:R xmlns:a=\"x\"><K> 1 &lt;&#38;&#x41;&quot; </K><E/>\
                    <K><![CDATA[<&]]></K></a:R>\n";
        let root = Element::parse_named(text.as_bytes(), "R").unwrap();
        assert_eq!(root.text("K"), Some(" 1 <&A\" "));
        assert_eq!(root.children("K").map(|child| child.text.as_str()).collect::<Vec<_>>(), [" 1 <&A\" ", "<&"]);
        assert_eq!((root.text("E"), root.text("X")), (Some(""), None));
        assert_eq!(root.required("X"), Err(XmlError::Missing("X")));
        assert_eq!(Element::parse_named(b"<R/>", "S").unwrap_err(), XmlError::NotA("S"));
    }

    #[test]
    fn malformed_messages_are_rejected() {
        for text in [
            "",
            " ",
            "text",
            "<a>",
            "<a></b>",
            "</a>",
            "<a/><b/>",
            "<a/>x",
            "x<a/>",
            "<a>&unknown;</a>",
            "<a>&#0;</a>",
            "<a>&#xD800;</a>",
            "<a>&amp</a>",
            "<a><b></a></b>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
            "<a",
        ] {
            assert_eq!(error(text), XmlError::Malformed, "{text}");
        }
        assert_eq!(Element::parse(b"<a>\xff</a>").unwrap_err(), XmlError::NotUtf8);
    }

    #[test]
    fn sizes_have_limits() {
        let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
        assert!(Element::parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(error(&nested(MAX_DEPTH + 1)), XmlError::TooMany);
        assert!(Element::parse(format!("<r>{}</r>", "<a/>".repeat(MAX_ELEMENTS - 1)).as_bytes()).is_ok());
        assert_eq!(error(&format!("<r>{}</r>", "<a/>".repeat(MAX_ELEMENTS))), XmlError::TooMany);
        assert_eq!(error(&format!("<{}/>", "a".repeat(MAX_NAME_BYTES + 1))), XmlError::TooMany);
        assert_eq!(error(&format!("<a>{}</a>", "x".repeat(MAX_XML_BYTES))), XmlError::TooLarge);
    }

    proptest! {
        #[test]
        fn texts_round_trip(text in "[\u{1}-\u{ff}]{0,30}|\\PC{0,20}") {
            let mut out = String::new();
            Writer::new(&mut out, "R").text("K", &text);
            let root = Element::parse_named(out.as_bytes(), "R").unwrap();
            prop_assert_eq!(root.text("K"), Some(text.as_str()));
        }

        #[test]
        fn arbitrary_text_never_panics(text in "[<>/a&;#x!\\[\\]CDAT\"' =?-]{0,40}|\\PC{0,40}") {
            let _ = Element::parse(text.as_bytes());
        }
    }
}
