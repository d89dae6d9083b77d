//! The header fields of a request, in the order in which they are sent.

use std::io::Write;

/// List of header fields. The list is stored as the text of HTTP/1, together with the positions of names and values.
/// HTTP/1 copies the text, and HTTP/2 reads the fields one by one.
///
/// Each line has the form `name: value\r\n`. As an invariant, neither names nor values contain a line end. Plans check
/// the fields that users set. This program creates all other fields, without line ends.
#[derive(Clone, Debug, Default)]
pub(in crate::run_loop) struct Fields {
    lines: Vec<u8>,
    ends: Vec<FieldEnd>,
}

#[derive(Clone, Copy, Debug)]
struct FieldEnd {
    /// End of the name in `lines`.
    name: u32,
    /// End of the line, including `\r\n`.
    line: u32,
}

const SEPARATOR: &[u8] = b": ";
const LINE_END: &[u8] = b"\r\n";

impl Fields {
    /// Removes all fields.
    #[inline]
    pub fn clear(&mut self) {
        self.lines.clear();
        self.ends.clear();
    }

    /// Adds a field.
    #[inline]
    pub fn push(&mut self, name: &str, value: &[u8]) {
        self.push_with(name, |out| out.extend_from_slice(value));
    }

    /// Adds a field whose value is a number.
    pub fn push_number(&mut self, name: &str, value: u64) {
        // Writing to memory does not fail.
        self.push_with(name, |out| drop(write!(out, "{value}")));
    }

    /// Adds a field. `write` appends its value.
    #[inline]
    pub fn push_with(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.lines.extend_from_slice(name.as_bytes());
        let name = self.lines.len() as u32;
        self.lines.extend_from_slice(SEPARATOR);
        write(&mut self.lines);
        self.lines.extend_from_slice(LINE_END);
        self.ends.push(FieldEnd { name, line: self.lines.len() as u32 });
    }

    /// Adds the fields of another list.
    pub fn extend(&mut self, other: &Self) {
        for (name, value) in other.iter() {
            self.push(name, value);
        }
    }

    /// Returns the fields as the lines of HTTP/1.
    #[inline]
    pub fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// Returns the names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| end.line as usize));
        starts.zip(&self.ends).map(|(start, end)| {
            let (name, line) = (end.name as usize, end.line as usize);
            let value = &self.lines[name + SEPARATOR.len()..line - LINE_END.len()];
            (std::str::from_utf8(&self.lines[start..name]).unwrap_or_default(), value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_lines_and_pairs_alike() {
        let mut fields = Fields::default();
        fields.push("Host", b"a.test:81");
        fields.push_number("Content-Length", 12);
        fields.push_with("X-Empty", |_| ());
        fields.push("X-Colon", b"b: c");
        assert_eq!(fields.lines(), b"Host: a.test:81\r\nContent-Length: 12\r\nX-Empty: \r\nX-Colon: b: c\r\n");
        let pairs = [("Host", &b"a.test:81"[..]), ("Content-Length", b"12"), ("X-Empty", b""), ("X-Colon", b"b: c")];
        assert!(fields.iter().eq(pairs));
        let mut copy = Fields::default();
        copy.extend(&fields);
        assert_eq!(copy.lines(), fields.lines());
        copy.clear();
        assert!(copy.lines().is_empty() && copy.iter().next().is_none());
    }
}
