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

/// Breaks a line at spaces, and indents the following lines. A word that is too long is also broken, unless it is a
/// URL.
pub fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let lead = text.len() - text.trim_start().len();
    let mut line = " ".repeat(lead);
    let mut used = lead;
    let mut blank = true;
    for word in text.trim().split(' ') {
        for piece in pieces(word, width - indent) {
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
    fn a_url_is_never_broken() {
        let url = format!("http://h/{}", "x".repeat(200));
        assert_eq!(
            wrap(&format!("  at {url} now"), 60, 4),
            ["  at".to_owned(), format!("    {url}"), "    now".into()]
        );
    }
}
