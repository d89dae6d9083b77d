//! The screen of a terminal as SVG, with its colors.

use std::fmt::Write;
use vt100::{Cell, Color, Screen};

/// Size of a character and of a line, in pixels.
const SIZE: (f64, f64) = (8.4, 19.0);
/// Space around the text, in pixels.
const MARGIN: f64 = 16.0;

/// Returns a picture of a screen.
pub fn of(screen: &Screen) -> String {
    let (rows, columns) = (screen.size().0.get(), screen.size().1.get());
    let width = SIZE.0 * f64::from(columns) + 2.0 * MARGIN;
    let height = SIZE.1 * f64::from(rows) + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16191d\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\" fill=\"#d7dbe0\">\n"
    );
    for row in 0..rows {
        let y = MARGIN + SIZE.1 * (f64::from(row) + 0.75);
        for (column, style, text) in pieces(screen, row) {
            // Fonts of different widths contain the characters of charts, so each piece has its own place and length.
            let x = MARGIN + SIZE.0 * f64::from(column);
            let length = SIZE.0 * text.chars().count() as f64;
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\"{style}>{}</text>",
                escaped(&text)
            );
        }
    }
    svg + "</g>\n</svg>\n"
}

/// Returns the pieces of a row that have one style each: the first column, the attributes for the style, and the text.
/// Spaces before and after the texts are left out.
fn pieces(screen: &Screen, row: u16) -> Vec<(u16, String, String)> {
    let mut pieces: Vec<(u16, String, String)> = Vec::new();
    let mut spaces = String::new();
    for (column, cell) in (0..screen.size().1.get()).filter_map(|column| Some((column, screen.cell(row, column)?))) {
        let (style, text) = (style(cell), cell.contents());
        if text.trim().is_empty() {
            spaces.push(' ');
            continue;
        }
        match pieces.last_mut().filter(|(_, last, _)| *last == style && spaces.len() < 2) {
            Some((_, _, before)) => *before += &format!("{spaces}{text}"),
            None => pieces.push((column, style, text.to_owned())),
        }
        spaces.clear();
    }
    pieces
}

/// Returns the attributes for the style of a cell.
fn style(cell: &Cell) -> String {
    let weight = if cell.bold() { " font-weight=\"bold\"" } else { "" };
    let color = match cell.fgcolor() {
        Color::Idx(1) => "#ff7b72",
        Color::Idx(2) => "#7ee787",
        Color::Idx(3) => "#e3b341",
        Color::Idx(5) => "#d2a8ff",
        Color::Idx(6) => "#56d4dd",
        Color::Idx(8) => "#7d8590",
        _ => return weight.to_owned(),
    };
    format!("{weight} fill=\"{color}\"")
}

/// Escapes markup. SVG joins several ordinary spaces into one, but keeps non-breaking spaces.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_and_markup_are_kept() {
        let size = |number| std::num::NonZeroU16::new(number).unwrap();
        let mut terminal = vt100::Parser::new(size(2), size(40), 0);
        terminal.process(b"\x1b[1;32mPASS\x1b[0m p99 < 5 & more\r\n   \x1b[36mx\x1b[0m");
        let first = pieces(terminal.screen(), 0);
        assert_eq!(first[0], (0, " font-weight=\"bold\" fill=\"#7ee787\"".to_owned(), "PASS".to_owned()));
        assert_eq!(first[1], (5, String::new(), "p99 < 5 & more".to_owned()));
        assert_eq!(pieces(terminal.screen(), 1), [(3, " fill=\"#56d4dd\"".to_owned(), "x".to_owned())]);
        assert!(of(terminal.screen()).contains(">p99\u{a0}&lt;\u{a0}5\u{a0}&amp;\u{a0}more</text>"));
    }
}
