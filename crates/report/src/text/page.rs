//! Lines, headings and tables of a text report, kept within the width.

use super::Style;

/// Narrowest layout; below it lines get longer instead.
const WIDTH_MIN: usize = 60;
/// Columns that labels of items take, with the indentation.
const LABEL_WIDTH: usize = 18;

/// Colours of headings and verdicts.
#[derive(Clone, Copy)]
pub enum Paint {
    Bold,
    Green,
    Yellow,
    Red,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Green => "1;32",
            Self::Yellow => "1;33",
            Self::Red => "1;31",
        }
    }
}

/// A report that is being written.
pub struct Page {
    width: usize,
    color: bool,
    text: String,
}

impl Page {
    pub fn new(style: Style) -> Self {
        Self { width: style.width.max(WIDTH_MIN), color: style.color, text: String::new() }
    }

    pub fn finish(self) -> String {
        self.text
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// A heading, after an empty line.
    pub fn heading(&mut self, title: &str) {
        let title = self.paint(title, Paint::Bold);
        self.text.push('\n');
        self.raw(&title);
    }

    /// Pieces joined by dots, the first one painted.
    pub fn verdict(&mut self, paint: Paint, pieces: &[String]) {
        let joined = pieces.join(" · ");
        let lines = wrap(&joined, self.width, 2);
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

    /// An indented paragraph.
    pub fn line(&mut self, text: &str) {
        for line in wrap(&format!("  {text}"), self.width, 4) {
            self.raw(&line);
        }
    }

    /// A label with its text.
    pub fn item(&mut self, label: &str, text: &str) {
        let gap = if columns(label) >= LABEL_WIDTH - 2 { "  " } else { "" };
        let labelled = format!("  {label:<width$}{gap}{text}", width = LABEL_WIDTH - 2);
        for line in wrap(&labelled, self.width, LABEL_WIDTH) {
            self.raw(&line);
        }
    }

    pub fn table(&mut self, table: &Table) {
        let widths = table.widths();
        // Where the last column begins: what it holds too much goes on below.
        let indent =
            widths.split_last().map_or(0, |(_, before)| before.iter().map(|width| width + 2).sum::<usize>() + 2);
        for line in table.lines() {
            let line = line.trim_end();
            if columns(line) > self.width && indent < self.width / 2 {
                wrap(line, self.width, indent).iter().for_each(|line| self.raw(line));
            } else {
                self.raw(line);
            }
        }
    }

    /// An empty line.
    pub fn gap(&mut self) {
        self.raw("");
    }

    fn raw(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn paint(&self, text: &str, paint: Paint) -> String {
        if self.color { format!("\u{1b}[{}m{text}\u{1b}[0m", paint.code()) } else { text.to_owned() }
    }
}

pub fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a line at spaces; further lines are indented. Words that are too long are broken, except URLs.
fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
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

/// Rows of cells under each other: the first column to the left, numbers to the right.
pub struct Table {
    rows: Vec<Vec<String>>,
    /// Columns from this one on are to the left again.
    left_from: usize,
}

impl Table {
    pub fn new() -> Self {
        Self { rows: Vec::new(), left_from: usize::MAX }
    }

    /// A table whose columns from `index` on hold text.
    pub fn with_text_from(index: usize) -> Self {
        Self { rows: Vec::new(), left_from: index }
    }

    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Widths of all columns.
    pub fn widths(&self) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |index: usize| self.rows.iter().filter_map(|row| row.get(index)).map(|cell| columns(cell)).max();
        (0..count).map(|index| width(index).unwrap_or(0)).collect()
    }

    fn lines(&self) -> Vec<String> {
        let widths = self.widths();
        let line = |row: &Vec<String>| {
            let mut line = String::new();
            for (index, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[index] - columns(cell));
                let left = index == 0 || index >= self.left_from;
                line.push_str("  ");
                line.push_str(&if left { format!("{cell}{pad}") } else { format!("{pad}{cell}") });
            }
            line
        };
        self.rows.iter().map(line).collect()
    }
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

    #[test]
    fn numbers_stand_under_each_other() {
        let mut table = Table::with_text_from(2);
        table.row(["a", "1", "x"]);
        table.row(["bcd", "1,000", "yy"]);
        assert_eq!(table.lines(), ["  a        1  x ", "  bcd  1,000  yy"]);
        assert_eq!(table.widths(), [3, 5, 2]);
    }
}
