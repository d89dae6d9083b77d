//! A text report in progress. Each section adds blocks to the page. `layout` turns the blocks into text, and the HTML
//! report shows the same blocks.

use super::blocks::{Block, Paint, Table, about_left_out_by_width};
use super::layout::Layout;
use super::style::Style;
use measure::ResultWord;

/// Minimum width of the layout. If the user requests a smaller width, lines are longer than requested.
const WIDTH_MIN: usize = 60;

/// A report in progress.
pub struct Page {
    style: Style,
    blocks: Vec<Block>,
}

impl Page {
    pub fn new(style: Style) -> Self {
        Self { style: Style { width: style.width.max(WIDTH_MIN), ..style }, blocks: Vec::new() }
    }

    /// Returns the report as text.
    pub fn finish(self) -> String {
        Layout::new(self.style).of(&self.blocks)
    }

    /// Returns the blocks of the report.
    pub fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    pub fn width(&self) -> usize {
        self.style.width
    }

    /// Adds an empty line and a heading.
    pub fn heading(&mut self, title: &str) {
        self.blocks.push(Block::Heading(title.into()));
    }

    /// Adds a line of texts, which are separated by dots. The first text is colored.
    pub fn first_line(&mut self, paint: Paint, pieces: Vec<String>) {
        self.blocks.push(Block::FirstLine(paint, pieces));
    }

    /// Adds an indented paragraph.
    pub fn line(&mut self, text: &str) {
        self.blocks.push(Block::Line(text.into()));
    }

    /// Adds a label with its text.
    pub fn item(&mut self, label: &str, text: &str) {
        self.blocks.push(Block::Item(label.into(), text.into()));
    }

    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds a table that fits into the page, with a remark about columns that were left out. `optional` has the columns
    /// that may be left out, the least important one first. For reports without a longer form.
    pub fn fitted_table(&mut self, table: Table, optional: &[usize]) {
        let (table, left_out) = table.fitted(optional, self.width());
        self.table(table);
        about_left_out_by_width(&left_out).iter().for_each(|text| self.line(text));
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.blocks.push(Block::Gap);
    }
}

/// Returns the color of a result.
pub(crate) fn paint(word: ResultWord) -> Paint {
    match word {
        ResultWord::Pass => Paint::Green,
        ResultWord::Partial => Paint::Yellow,
        ResultWord::Unusable | ResultWord::Fail => Paint::Red,
    }
}
