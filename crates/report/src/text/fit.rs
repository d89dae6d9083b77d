//! Tables that fit into the width of a page.
//!
//! If a table is too wide, its least important columns are left out. If it is still too wide, its names are cut. A long
//! text in the last column continues on further rows.

use super::blocks::{Table, columns};
use super::layout::wrap;
use crate::escape::bounded;

/// Space before each column, in characters.
const GAP: usize = 2;
/// Width that a long text in the last column gets at least, in characters.
const TEXT_MIN: usize = 24;
/// Width to which the names in the first column may be cut, before other columns are cut.
const NAME_MIN: usize = 12;

impl Table {
    /// Returns the table with a width of at most `width` characters, and the titles of the columns that were left out.
    /// `optional` has the columns that may be left out, the least important one first.
    pub fn fitted(self, optional: &[usize], width: usize) -> (Self, Vec<String>) {
        let left_out =
            left_out_columns(optional, |left_out| line_width(&self.without_columns(left_out).least_widths()) <= width);
        let title = |column: &usize| self.rows.first()?.get(*column).filter(|title| !title.is_empty()).cloned();
        let titles = left_out.iter().filter_map(title).collect();
        let mut table = self.without_columns(left_out);
        table.cut_cells(width);
        table.wrap_texts(width);
        (table, titles)
    }

    /// Returns the width of the longest line, in characters.
    pub fn width(&self) -> usize {
        line_width(&self.widths())
    }

    fn without_columns(&self, left_out: &[usize]) -> Self {
        let row = |row: &Vec<String>| {
            let kept = row.iter().enumerate().filter(|(column, _)| !left_out.contains(column));
            kept.map(|(_, cell)| cell.clone()).collect()
        };
        let numbers = left_out.iter().filter(|column| **column < self.left_from).count();
        Self { rows: self.rows.iter().map(row).collect(), heads: self.heads, left_from: self.left_from - numbers }
    }

    /// Returns whether the last column contains text.
    fn ends_with_text(&self) -> bool {
        self.widths().len() > self.left_from
    }

    /// Returns the widths of all columns. Only the start of a long text counts, because the rest can be on other lines.
    fn least_widths(&self) -> Vec<usize> {
        let mut widths = self.widths();
        if let Some(text) = widths.last_mut().filter(|_| self.ends_with_text()) {
            *text = TEXT_MIN.min(*text);
        }
        widths
    }

    /// Cuts cells that are too long, except for the texts of the last column.
    fn cut_cells(&mut self, width: usize) {
        let widths = cut_widths(self.least_widths(), width);
        let cut = widths.len() - usize::from(self.ends_with_text());
        for row in &mut self.rows {
            for (cell, width) in row.iter_mut().zip(&widths[..cut]).filter(|(cell, width)| columns(cell) > **width) {
                *cell = bounded(cell, *width);
            }
        }
    }

    /// Breaks the texts of the last column that are too long. Their other lines become rows of their own.
    fn wrap_texts(&mut self, width: usize) {
        let widths = self.widths();
        let Some((text, before)) = widths.split_last().filter(|_| self.ends_with_text()) else { return };
        let room = width.saturating_sub(before.iter().map(|width| width + GAP).sum::<usize>() + GAP).max(1);
        if *text <= room {
            return;
        }
        let rows = self.rows.split_off(self.heads);
        self.rows.extend(rows.into_iter().flat_map(|row| with_wrapped_text(row, before.len(), room)));
    }
}

/// Returns the columns to leave out, so that a table fits. `optional` contains the columns that may be left out, in
/// this order. `fits` returns whether the table fits without the given columns. If the table never fits, all optional
/// columns are left out.
fn left_out_columns(optional: &[usize], fits: impl Fn(&[usize]) -> bool) -> &[usize] {
    let mut left_out = (0..optional.len()).map(|number| &optional[..number]);
    left_out.find(|left_out| fits(left_out)).unwrap_or(optional)
}

/// Returns the rows of a row whose text in column `index` may be too long.
fn with_wrapped_text(mut row: Vec<String>, index: usize, room: usize) -> Vec<Vec<String>> {
    let lines = row.get(index).map(|text| wrap(text.trim(), room, 0)).unwrap_or_default();
    let [first, further @ ..] = &lines[..] else { return vec![row] };
    let below = further.iter().map(|line| {
        let mut below = vec![String::new(); index];
        below.push(line.clone());
        below
    });
    row[index].clone_from(first);
    std::iter::once(row).chain(below).collect()
}

/// Returns the width of a line with columns of these widths. Empty columns at the end take no space.
fn line_width(widths: &[usize]) -> usize {
    let shown = widths.iter().rposition(|width| *width > 0).map_or(0, |last| last + 1);
    widths[..shown].iter().map(|width| width + GAP).sum()
}

/// Reduces the widths of columns until a line fits. Names become short first, because other cells are less clear without
/// their ends.
fn cut_widths(mut widths: Vec<usize>, width: usize) -> Vec<usize> {
    while line_width(&widths) > width {
        let name = widths.first_mut().filter(|name| **name > NAME_MIN);
        match name {
            Some(name) => *name -= 1,
            None => match widths.iter_mut().max() {
                Some(widest) if *widest > 1 => *widest -= 1,
                _ => break,
            },
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(name: &str, text: &str) -> Table {
        let mut table = Table::with_text_from(3);
        table.head(["name", "rate", "p99", "result"]);
        table.row([name, "1,200/s", "12.0 ms", text]);
        table
    }

    #[test]
    fn a_table_that_fits_stays_as_it_is() {
        let (fitted, left_out) = table("mine", "passed").fitted(&[2, 1], 80);
        assert_eq!((fitted.lines(), left_out), (table("mine", "passed").lines(), vec![]));
        assert_eq!(fitted.width(), fitted.lines()[0].chars().count());
    }

    #[test]
    fn columns_are_left_out_in_order_and_then_the_name_is_cut() {
        let fitted = |width| {
            let (fitted, left_out) = table(&"n".repeat(20), "passed").fitted(&[2, 1], width);
            (fitted.lines()[1].clone(), left_out.join(" "))
        };
        assert_eq!(fitted(48).1, "");
        let name = "n".repeat(20);
        assert_eq!(fitted(47), (format!("  {name}  1,200/s  passed"), "p99".to_owned()));
        assert_eq!(fitted(30), (format!("  {name}  passed"), "p99 rate".to_owned()));
        assert_eq!(fitted(26), (format!("  {}…  passed", "n".repeat(15)), "p99 rate".to_owned()));
    }

    #[test]
    fn a_long_text_continues_below_its_start() {
        let (fitted, left_out) = table("mine", "stopped: the bandwidth was too low").fitted(&[2, 1], 50);
        let lines = fitted.lines();
        assert_eq!((lines.len(), left_out.len()), (3, 0), "{lines:?}");
        assert_eq!(lines[1].find("stopped"), lines[2].find("was too low"), "{lines:?}");
    }

    proptest! {
        #[test]
        fn any_table_fits(cells in prop::collection::vec("[a-z ]{0,90}", 4..40), text in 0_usize..6, width in 60_usize..100) {
            let mut table = Table::with_text_from(text.max(1));
            cells.chunks_exact(4).for_each(|row| table.row(row.to_vec()));
            let (fitted, _) = table.fitted(&[2, 1], width);
            for line in fitted.lines() {
                prop_assert!(columns(line.trim_end()) <= width, "{line}");
            }
        }
    }
}
