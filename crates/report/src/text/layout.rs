//! The plain-text layout of a report: wrapped lines and aligned tables.

use super::blocks::{Block, Paint, Table, columns};
use super::style::Style;

/// Width of an item's label, including the indentation, in characters.
const LABEL_WIDTH: usize = 18;

/// A layout in progress, with its lines so far.
pub struct Layout {
    style: Style,
    text: String,
}

impl Layout {
    pub fn new(style: Style) -> Self {
        Self { style, text: String::new() }
    }

    /// Returns the whole report. The text ends with a line break.
    pub fn of(mut self, blocks: &[Block]) -> String {
        for block in blocks {
            match block {
                Block::FirstLine(paint, pieces) => self.first_line(*paint, pieces),
                Block::Heading(title) => self.heading(title),
                Block::Line(text) => self.wrapped(&format!("  {text}"), 4),
                Block::Item(label, text) => self.item(label, text),
                Block::Table(table) => self.table(table),
                Block::Gap => self.raw(""),
            }
        }
        self.text
    }

    fn heading(&mut self, title: &str) {
        let title = self.paint(title, Paint::Bold);
        self.text.push('\n');
        self.raw(&title);
    }

    fn first_line(&mut self, paint: Paint, pieces: &[String]) {
        let joined = pieces.join(" · ");
        let lines = wrap(&joined, self.style.width, 2);
        let first = pieces.first().map_or("", String::as_str);
        for (index, line) in lines.iter().enumerate() {
            match line.strip_prefix(first) {
                Some(rest) if index == 0 => {
                    let painted = self.paint(first, paint) + rest;
                    self.raw(&painted);
                }
                _ => self.raw(line),
            }
        }
    }

    fn item(&mut self, label: &str, text: &str) {
        let gap = if columns(label) >= LABEL_WIDTH - 2 { "  " } else { "" };
        let labeled = format!("  {label:<width$}{gap}{text}", width = LABEL_WIDTH - 2);
        self.wrapped(&labeled, LABEL_WIDTH);
    }

    fn table(&mut self, table: &Table) {
        let widths = table.widths();
        // A text in the last column that is too long continues on the next line, below the start of the column.
        let indent =
            widths.split_last().map_or(0, |(_, before)| before.iter().map(|width| width + 2).sum::<usize>() + 2);
        for line in table.lines() {
            let line = line.trim_end();
            if columns(line) > self.style.width && indent < self.style.width / 2 {
                self.wrapped(line, indent);
            } else {
                self.raw(line);
            }
        }
    }

    fn wrapped(&mut self, line: &str, indent: usize) {
        wrap(line, self.style.width, indent).iter().for_each(|line| self.raw(line));
    }

    fn raw(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn paint(&self, text: &str, paint: Paint) -> String {
        let code = match paint {
            Paint::Bold => "1",
            Paint::Green => "1;32",
            Paint::Yellow => "1;33",
            Paint::Red => "1;31",
        };
        if self.style.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Units that stay on the line of their number. `/s` may follow.
const UNITS: &str = "% pp × ns µs ms s B kB MB GB TB PB EB KiB MiB GiB TiB PiB bit kbit Mbit Gbit Tbit requests/s";

/// Breaks a line at spaces, except between a number and its unit, and indents the following lines. A word that is too
/// long is also broken, unless it is a URL.
pub fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let lead = text.len() - text.trim_start().len();
    let mut line = " ".repeat(lead);
    let mut used = lead;
    let mut blank = true;
    for word in words(text.trim()) {
        for piece in pieces(&word, width - indent) {
            let length = columns(&piece);
            let gap = usize::from(!blank);
            if !blank && used + gap + length > width {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
                (used, blank) = (indent, true);
            }
            if !blank {
                line.push(' ');
                used += 1;
            }
            line.push_str(&piece);
            used += length;
            blank = false;
        }
    }
    lines.push(line);
    lines
}

/// Returns the words of a text. A number and its unit are one word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut().filter(|last| is_number(last) && is_unit(word)) {
            Some(last) => {
                last.push(' ');
                last.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
    }
    words
}

fn is_number(word: &str) -> bool {
    let digits = word.trim_start_matches(['(', '~', '±', '+', '-', '−', '<', '>', '=', '≤', '≥']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.ends_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| matches!(c, '0'..='9' | ',' | '.'))
}

fn is_unit(word: &str) -> bool {
    let word = word.trim_end_matches([')', ',', ';', ':', '.']);
    UNITS.split(' ').any(|unit| word.strip_prefix(unit).is_some_and(|rest| matches!(rest, "" | "/s")))
}

fn pieces(word: &str, width: usize) -> Vec<String> {
    if columns(word) <= width || word.contains("://") {
        return vec![word.to_owned()];
    }
    let chars: Vec<char> = word.chars().collect();
    chars.chunks(width).map(|chunk| chunk.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wrapping_keeps_every_word_and_the_width(words in prop::collection::vec("[a-z]{1,80}", 1..30), width in 60_usize..120) {
            let lines = wrap(&words.join(" "), width, 16);
            prop_assert!(lines.iter().all(|line| columns(line) <= width), "{lines:?}");
            let joined = |text: String| text.split_whitespace().collect::<String>();
            prop_assert_eq!(joined(lines.join(" ")), words.concat());
        }
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        let lead = "x".repeat(50);
        for value in ["258.11 Mbit/s", "0 B/s", "(0.00 %)", "1,234.5 ms,", "±3.00 pp;", "950.0 requests/s"] {
            let lines = wrap(&format!("{lead} {} {value} y", "z".repeat(9 - value.chars().count() / 2)), 60, 2);
            assert_eq!(lines.iter().filter(|line| line.contains(value)).count(), 1, "{lines:?}");
        }
        assert_eq!(words("10 s, 3 objects, 1,5 MB (2 %)").len(), 5, "only units are joined");
        assert_eq!(words("a  b").concat(), "ab");
    }

    #[test]
    fn a_url_is_never_broken() {
        let url = format!("http://h/{}", "x".repeat(200));
        assert_eq!(
            wrap(&format!("  at {url} now"), 60, 4),
            ["  at".to_owned(), format!("    {url}"), "    now".into()]
        );
    }
}
