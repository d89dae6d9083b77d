//! The short report of a search, which fits on one screen: the load line, and a curve of the levels around it.

use super::{ESTIMATED, Level, LoadLine};
use crate::Style;
use crate::number::{plural, rate};
use crate::text::{self, Table};

/// Maximum number of levels in the curve. With the other lines, the report fits on 24 lines.
const LEVELS_MAX: usize = 14;
/// Length of the longest bar, in characters.
const BAR: usize = 20;
/// Columns that may be left out, the least important one first: p50, percentiles with objectives, ok.
const OPTIONAL: [usize; 3] = [4, 5, 3];

/// Returns the short report: the load line, and for each level its rate of successes as a bar.
#[must_use]
pub fn short_text(line: &LoadLine, style: &Style) -> String {
    let mut levels: Vec<&Level> = line.levels.iter().collect();
    levels.sort_by(|one, other| one.level.total_cmp(&other.level));
    let (levels, left_out) = around_the_line(line, levels);
    let most = levels.iter().filter_map(|level| level.metrics.ok_per_second).fold(0.0, f64::max);
    let (mut table, left_out_titles) = table(line, &levels).fitted(&OPTIONAL, text::short_width(style));
    let room = room_for_bars(&table, text::short_width(style));
    let bars = levels.iter().map(|level| bar(level.metrics.ok_per_second.unwrap_or(0.0), most, room));
    table.text_column(std::iter::once(String::new()).chain(bars));
    let paragraph = |text: &str| text::paragraph(text, style);
    let mut text = text::short_first_line(line.result.word, line.sentence(), style);
    text += &paragraph(&format!("objectives: {}", line.objectives.join(", ")));
    text.push('\n');
    text += &text::short_table(&table);
    text += &text::left_out_remark(&left_out_titles, style);
    if left_out > 0 {
        text += &paragraph(&format!("{} further from the load line", plural(left_out as u64, "level")));
    }
    if !levels.iter().all(|level| level.certain) {
        text += &paragraph(ESTIMATED.trim_end());
    }
    text
}

/// Returns the table of these levels, without bars.
fn table(line: &LoadLine, levels: &[&Level]) -> Table {
    let titles = ["", "level", "", "ok", "p50", &line.bounded_title()].map(str::to_owned);
    let row = |level: &&Level| {
        let ok = level.metrics.ok_per_second;
        [
            line.mark(level).to_owned(),
            line.shown(level.level),
            format!("{}{}", level.outcome.about(), if level.certain { "" } else { " ≈" }),
            ok.map_or_else(|| "–".to_owned(), rate),
            level.metrics.p50(),
            line.bounded_values(level),
        ]
    };
    let rows: Vec<[String; 6]> = std::iter::once(titles).chain(levels.iter().map(row)).collect();
    Table::of(rows[0].len(), &rows)
}

/// Returns the length of the longest bar next to a table, if no line may be wider than `width`.
fn room_for_bars(table: &Table, width: usize) -> usize {
    BAR.min(width.saturating_sub(table.width() + 2))
}

/// Returns the levels around the load line, and the number of levels that were left out.
fn around_the_line<'a>(line: &LoadLine, levels: Vec<&'a Level>) -> (Vec<&'a Level>, usize) {
    let left_out = levels.len().saturating_sub(LEVELS_MAX);
    let place = line.passed.and_then(|passed| levels.iter().position(|level| level.level == passed)).unwrap_or(0);
    let first = place.saturating_sub(LEVELS_MAX / 2).min(left_out);
    (levels.into_iter().skip(first).take(LEVELS_MAX).collect(), left_out)
}

/// Returns a bar for a value between 0 and `most`, in eighths of a character. The bar of `most` has `width` characters.
#[must_use]
pub fn bar(value: f64, most: f64, width: usize) -> String {
    const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = if most > 0.0 { (value / most * (width * 8) as f64).round() as usize } else { 0 };
    let (whole, part) = (eighths / 8, eighths % 8);
    let mut bar = "█".repeat(whole);
    if part > 0 {
        bar.push(PARTS[part]);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_leave_room_for_the_other_columns() {
        let mut table = Table::of(2, &[["", "level"], [">", &"x".repeat(60)]]);
        let room = room_for_bars(&table, 80);
        assert!((1..BAR).contains(&room), "{room}");
        assert_eq!((room_for_bars(&table, 200), room_for_bars(&table, 40)), (BAR, 0));
        table.text_column([String::new(), "█".repeat(room)]);
        assert_eq!(table.width(), 80);
    }

    #[test]
    fn bars_grow_with_the_value() {
        let bar = |value, most| bar(value, most, BAR);
        assert_eq!((bar(0.0, 0.0), bar(0.0, 5.0), bar(5.0, 5.0)), (String::new(), String::new(), "█".repeat(BAR)));
        assert_eq!(bar(1.0, 160.0), "▏");
        assert_eq!(bar(12.0, 160.0), "█▌");
    }
}
