//! The tables of a study in the short report, which fit on a terminal of 80 columns or less.
//!
//! In a table that is too wide, the names of cells and long texts get lines of their own. If the table is still too wide,
//! the least important columns are left out. The full report has all columns.

use crate::text::{Style, Table, left_out_remark, paragraph, short_table, short_width};

/// Column of the cell's name. The name is empty if the row above has the same name.
const CELL: usize = 0;
/// Column of the target's name.
const TARGET: usize = 1;
/// Additional indentation of rows that are below the name of their cell.
const INDENT: &str = "  ";

/// Formats a table. The first row has the titles. The columns `texts` contain long texts. `optional` has the columns that
/// may be left out, the least important one first.
pub(super) fn fitting<const N: usize>(
    rows: &[[String; N]],
    texts: &[usize],
    optional: &[usize],
    style: &Style,
) -> String {
    let [_, body @ ..] = rows else { return String::new() };
    let has_value = |column: usize| body.iter().any(|row| is_value(&row[column]));
    let mut shown: Vec<usize> = (0..N).filter(|column| *column <= TARGET || has_value(*column)).collect();
    let whole = with_columns(rows, &shown);
    if whole.width() <= short_width(style) {
        return short_table(&whole);
    }
    shown.retain(|column| *column != CELL && !texts.contains(column));
    let place = |column: &usize| shown.iter().position(|other| other == column);
    let optional: Vec<usize> = optional.iter().filter_map(place).collect();
    let (table, left_out) = with_columns(rows, &shown).fitted(&optional, short_width(style) - INDENT.len());
    folded(rows, texts, &table.lines(), style) + &left_out_remark(&left_out, style)
}

/// Returns whether a cell has a value, and not only a dash.
fn is_value(cell: &str) -> bool {
    !matches!(cell, "" | "–")
}

/// Returns a table with some of the columns.
fn with_columns<const N: usize>(rows: &[[String; N]], shown: &[usize]) -> Table {
    let mut table = Table::new();
    rows.iter().for_each(|row| table.row(shown.iter().map(|column| row[*column].as_str())));
    table
}

/// Returns the lines of a table, with the names of cells above their rows. A long text follows the name if it is the same
/// in all rows of the cell. Otherwise it is below its row.
fn folded<const N: usize>(rows: &[[String; N]], texts: &[usize], lines: &[String], style: &Style) -> String {
    let row_line = |line: &String| format!("{INDENT}{}\n", line.trim_end());
    let text_of = |row: &[String; N], column: usize| format!("{}: {}", rows[0][column], row[column]);
    let mut text = row_line(&lines[0]);
    let mut start = 1;
    while start < rows.len() {
        let next = rows[start + 1..].iter().position(|row| !row[CELL].is_empty());
        let end = next.map_or(rows.len(), |further| start + 1 + further);
        let own = &rows[start..end];
        let is_shared = |column: &usize| own.iter().all(|row| row[*column] == own[0][*column]);
        let (shared, other): (Vec<usize>, Vec<usize>) = texts.iter().partition(|column| is_shared(column));
        let mut about = vec![own[0][CELL].clone()];
        about
            .extend(shared.iter().filter(|column| is_value(&own[0][**column])).map(|column| text_of(&own[0], *column)));
        text.push_str(&paragraph(&about.join(" · "), style));
        for (row, line) in own.iter().zip(&lines[start..end]) {
            text.push_str(&row_line(line));
            for column in other.iter().filter(|column| is_value(&row[**column])) {
                text.push_str(&paragraph(&format!("{INDENT}{INDENT}{}", text_of(row, *column)), style));
            }
        }
        start = end;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::columns;

    const NARROW: Style = Style { width: 80, color: false };
    const TEXTS: [usize; 1] = [5];

    fn rows(cell: &str, about: [&str; 2]) -> Vec<[String; 6]> {
        let titles = ["cell", "target", "rate", "vs. first", "p99", "limited by"];
        let first = [cell, "mine", "1,200/s", "", "12.0 ms", about[0]];
        let second = ["", "theirs", "800/s", "–", "18.0 ms", about[1]];
        [titles, first, second].map(|row| row.map(str::to_owned)).to_vec()
    }

    #[test]
    fn a_table_that_fits_only_loses_columns_without_a_value() {
        let text = fitting(&rows("size=1KiB", ["target", "link"]), &TEXTS, &[2], &NARROW);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("1,200/s") && !text.contains("vs. first") && !text.contains("--full"), "{text}");
    }

    #[test]
    fn names_and_texts_move_to_lines_of_their_own() {
        let cell = "full fetch over links: link=1G concurrency=8";
        let text = fitting(&rows(cell, ["target", "link; pace: network"]), &TEXTS, &[2], &NARROW);
        let wanted = "    target     rate      p99\n  full fetch over links: link=1G concurrency=8\n    mine    1,200/s  12.0 ms\n      \
             limited by: target\n    theirs    800/s  18.0 ms\n      limited by: link; pace: network\n";
        assert_eq!(text, wanted);
        let text = fitting(&rows(cell, ["target", "target"]), &TEXTS, &[2], &NARROW);
        assert!(text.contains("concurrency=8 · limited by: target\n    mine"), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
    }

    #[test]
    fn columns_are_left_out_if_nothing_else_helps() {
        let mut rows = rows("c=8", ["target", "target"]);
        rows[1][2] = "1,200/s … 1,300/s, which is a very long text in a column of its own".to_owned();
        let text = fitting(&rows, &TEXTS, &[2, 4], &NARROW);
        assert!(text.lines().all(|line| columns(line) <= 80), "{text}");
        assert!(
            text.contains("12.0 ms") && text.ends_with("left out to keep lines short: rate (see --full)\n"),
            "{text}"
        );
    }
}
