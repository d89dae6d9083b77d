//! A report for people in progress. The sections write to it, `layout` turns it into text, and the HTML report shows the same parts.

use super::blocks::{Block, Paint, Table};
use super::layout::Layout;
use super::style::Style;
use measure::ResultWord;

/// Narrowest layout; below it lines get longer instead.
const WIDTH_MIN: usize = 60;

/// A report that is being written.
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

    /// Returns the parts of the report.
    pub fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    pub fn width(&self) -> usize {
        self.style.width
    }

    /// Adds a heading, after an empty line.
    pub fn heading(&mut self, title: &str) {
        self.blocks.push(Block::Heading(title.into()));
    }

    /// Adds pieces joined by dots, the first one in a color.
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
