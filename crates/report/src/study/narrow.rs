//! The tables of a study in the short report, which fit on a terminal of 80 columns.
//!
//! In a table that is too wide, the names of cells and the texts of the last column get lines of their own. If the
//! table is still too wide, the least important columns are left out. The full report has all columns.

use crate::text::{Style, Table, about_left_out, columns, left_out_columns, paragraph};

/// Column of the cell's name. The name is empty if the row above has the same name.
const CELL: usize = 0;
/// Column of the target's name.
const TARGET: usize = 1;
/// Additional indentation of rows that are below the name of their cell.
const INDENT: &str = "  ";

/// Formats a table. The first row has the titles, and the last column contains text. `optional` has the columns that
/// may be left out, the least important one first.
pub(super) fn fitting<const N: usize>(rows: &[[String; N]], optional: &[usize], style: &Style) -> String {
    let [titles, body @ ..] = rows else { return String::new() };
    let has_value = |column: usize| body.iter().any(|row| !matches!(row[column].as_str(), "" | "–"));
    let mut shown: Vec<usize> = (0..N).filter(|column| *column <= TARGET || has_value(*column)).collect();
    let whole = lines(rows, &shown);
    if is_within(&whole, style.width) {
        return joined(&whole);
    }
    shown.retain(|column| !matches!(*column, CELL) && *column != N - 1);
    let optional: Vec<usize> = optional.iter().copied().filter(|column| shown.contains(column)).collect();
    let without = |left_out: &[usize]| {
        let shown: Vec<usize> = shown.iter().copied().filter(|column| !left_out.contains(column)).collect();
        lines(rows, &shown)
    };
    let left_out = left_out_columns(&optional, |left_out| is_within(&without(left_out), style.width - INDENT.len()));
    let names: Vec<String> = left_out.iter().map(|column| titles[*column].clone()).collect();
    folded(rows, &without(left_out)) + &about_left_out(&names).map(|text| paragraph(&text)).unwrap_or_default()
}

/// Returns the lines of a table with some of the columns.
pub(super) fn lines<const N: usize>(rows: &[[String; N]], shown: &[usize]) -> Vec<String> {
    let mut table = Table::with_text_from(N);
    rows.iter().for_each(|row| table.row(shown.iter().map(|column| row[*column].as_str())));
    table.lines()
}

pub(super) fn is_within(lines: &[String], width: usize) -> bool {
    lines.iter().all(|line| columns(line.trim_end()) <= width)
}

pub(super) fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns the lines of a table, with the names of cells above their rows. The text of the last column follows the name
/// if it is the same in all rows of the cell. Otherwise it is below its row.
fn folded<const N: usize>(rows: &[[String; N]], lines: &[String]) -> String {
    let row_line = |line: &String| format!("{INDENT}{}\n", line.trim_end());
    let title = &rows[0][N - 1];
    let mut text = row_line(&lines[0]);
    let mut start = 1;
    while start < rows.len() {
        let next = rows[start + 1..].iter().position(|row| !row[CELL].is_empty());
        let end = next.map_or(rows.len(), |further| start + 1 + further);
        let (own, about) = (&rows[start..end], &rows[start][N - 1]);
        let is_shared = own.iter().all(|row| row[N - 1] == *about);
        let suffix = if is_shared && !about.is_empty() { format!(" · {title}: {about}") } else { String::new() };
        text.push_str(&paragraph(&format!("{}{suffix}", rows[start][CELL])));
        for (row, line) in own.iter().zip(&lines[start..end]) {
            text.push_str(&row_line(line));
            if !is_shared && !row[N - 1].is_empty() {
                text.push_str(&paragraph(&format!("{INDENT}{INDENT}{title}: {}", row[N - 1])));
            }
        }
        start = end;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Style = Style { width: 80, color: false };

    fn rows(cell: &str, about: [&str; 2]) -> Vec<[String; 6]> {
        let titles = ["cell", "target", "rate", "vs. first", "p99", "limited by"];
        let first = [cell, "mine", "1,200/s", "", "12.0 ms", about[0]];
        let second = ["", "theirs", "800/s", "–", "18.0 ms", about[1]];
        [titles, first, second].map(|row| row.map(str::to_owned)).to_vec()
    }

    #[test]
    fn a_table_that_fits_only_loses_columns_without_a_value() {
        let text = fitting(&rows("size=1KiB", ["target", "link"]), &[2], &NARROW);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("1,200/s") && !text.contains("vs. first") && !text.contains("--full"), "{text}");
    }

    #[test]
    fn names_and_texts_move_to_lines_of_their_own() {
        let cell = "full fetch over links: link=1G concurrency=8";
        let text = fitting(&rows(cell, ["target", "link; pace: network"]), &[2], &NARROW);
        let wanted = "    target     rate      p99\n  full fetch over links: link=1G concurrency=8\n    mine    1,200/s  12.0 ms\n      \
             limited by: target\n    theirs    800/s  18.0 ms\n      limited by: link; pace: network\n";
        assert_eq!(text, wanted);
        let text = fitting(&rows(cell, ["target", "target"]), &[2], &NARROW);
        assert!(text.contains("concurrency=8 · limited by: target\n    mine"), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
    }

    #[test]
    fn columns_are_left_out_if_nothing_else_helps() {
        let mut rows = rows("c=8", ["target", "target"]);
        rows[1][2] = "1,200/s … 1,300/s, which is a very long text in a column of its own".to_owned();
        let text = fitting(&rows, &[2, 4], &NARROW);
        assert!(text.lines().all(|line| columns(line) <= 80), "{text}");
        assert!(
            text.contains("12.0 ms") && text.ends_with("left out to keep lines short: rate (see --full)\n"),
            "{text}"
        );
    }
}
