//! The elements of a text report: headings, paragraphs, labeled texts and tables.

/// The styles of headings and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Bold,
    Green,
    Yellow,
    Red,
}

/// A part of a report.
pub enum Block {
    /// The first line. The texts of the line are separated by dots, and the first text is colored.
    FirstLine(Paint, Vec<String>),
    /// The title of a section.
    Heading(String),
    /// A paragraph.
    Line(String),
    /// A label with its text. If the label is empty, the text belongs to the previous item.
    Item(String, String),
    /// A table.
    Table(Table),
    /// An empty line.
    Gap,
}

/// Returns the width of a text, in characters.
pub fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Returns a remark about columns that were left out, or `None` if there are none.
pub fn about_left_out(titles: &[String]) -> Option<String> {
    about_columns(titles, "see --full")
}

/// Like [`about_left_out`], for a report without a longer form.
pub fn about_left_out_by_width(titles: &[String]) -> Option<String> {
    about_columns(titles, "a wider terminal shows more")
}

fn about_columns(titles: &[String], hint: &str) -> Option<String> {
    (!titles.is_empty()).then(|| format!("left out to keep lines short: {} ({hint})", titles.join(", ")))
}

/// A table. The first column is aligned to the left, and numbers to the right.
pub struct Table {
    pub(super) rows: Vec<Vec<String>>,
    /// Number of title rows at the top.
    pub(super) heads: usize,
    /// Index of the first text column after the numbers. This column and all later ones are aligned to the left.
    pub(super) left_from: usize,
}

impl Table {
    pub fn new() -> Self {
        Self { rows: Vec::new(), heads: 0, left_from: usize::MAX }
    }

    /// Returns an empty table. The columns from `index` on contain text.
    pub fn with_text_from(index: usize) -> Self {
        Self { rows: Vec::new(), heads: 0, left_from: index }
    }

    /// Returns a table of titles and other rows. The columns from `index` on contain text.
    pub fn of<S: Clone + Into<String>, const N: usize>(index: usize, rows: &[[S; N]]) -> Self {
        let mut table = Self::with_text_from(index);
        if let [titles, body @ ..] = rows {
            table.head(titles.clone());
            body.iter().for_each(|row| table.row(row.clone()));
        }
        table
    }

    /// Adds a text column after all other columns.
    pub fn text_column(&mut self, cells: impl IntoIterator<Item = String>) {
        self.left_from = self.left_from.min(self.widths().len());
        self.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    }

    /// Adds a title row, below earlier title rows and above the other rows.
    pub fn head<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.insert(self.heads, cells.into_iter().map(Into::into).collect());
        self.heads += 1;
    }

    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Returns the table without its title rows.
    pub fn without_head(mut self) -> Self {
        self.rows.drain(..self.heads);
        Self { heads: 0, ..self }
    }

    /// Returns the title rows and the other rows.
    pub fn parts(&self) -> (&[Vec<String>], &[Vec<String>]) {
        self.rows.split_at(self.heads)
    }

    /// Returns whether a column is aligned to the left. These are the first column, and the text columns after the
    /// numbers.
    pub fn is_left(&self, column: usize) -> bool {
        column == 0 || column >= self.left_from
    }

    /// Returns the widths of all columns, in characters.
    pub fn widths(&self) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |index: usize| self.rows.iter().filter_map(|row| row.get(index)).map(|cell| columns(cell)).max();
        (0..count).map(|index| width(index).unwrap_or(0)).collect()
    }

    pub fn lines(&self) -> Vec<String> {
        let widths = self.widths();
        let line = |row: &Vec<String>| {
            let mut line = String::new();
            for (index, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[index] - columns(cell));
                let left = self.is_left(index);
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

    #[test]
    fn numbers_are_aligned_to_the_right() {
        let mut table = Table::with_text_from(2);
        table.row(["bcd", "1,000", "yy"]);
        table.head(["a", "1", "x"]);
        assert_eq!(table.lines(), ["  a        1  x ", "  bcd  1,000  yy"]);
        assert_eq!(table.widths(), [3, 5, 2]);
        assert_eq!(
            table.parts(),
            (
                &[["a", "1", "x"].map(str::to_owned).to_vec()][..],
                &[["bcd", "1,000", "yy"].map(str::to_owned).to_vec()][..]
            )
        );
    }
}
