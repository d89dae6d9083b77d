//! The text of a terminal as SVG, with its colors.

use std::fmt::Write;

/// Size of a character and of a line, in pixels.
const SIZE: (f64, f64) = (8.4, 19.0);
/// Space around the text, in pixels.
const MARGIN: f64 = 16.0;
/// Number of columns of the terminal.
const COLUMNS: usize = 80;

/// Returns a picture of a terminal with this text. The text may contain codes for bold and colored text.
pub fn of(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(line).collect();
    let width = SIZE.0 * COLUMNS as f64 + 2.0 * MARGIN;
    let height = SIZE.1 * lines.len() as f64 + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16191d\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\" fill=\"#d7dbe0\">\n"
    );
    for (index, line) in lines.iter().enumerate() {
        let y = MARGIN + SIZE.1 * (index as f64 + 0.75);
        let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y:.1}\">{line}</text>");
    }
    svg + "</g>\n</svg>\n"
}

/// Returns a line with its colors as elements.
fn line(text: &str) -> String {
    let mut out = String::new();
    let mut open = false;
    for (index, piece) in text.trim_end_matches('\r').split("\u{1b}[").enumerate() {
        let (code, rest) = if index == 0 { ("", piece) } else { piece.split_once('m').unwrap_or(("", piece)) };
        if index > 0 && open {
            out.push_str("</tspan>");
            open = false;
        }
        if let Some(style) = style(code) {
            let _ = write!(out, "<tspan {style}>");
            open = true;
        }
        // SVG joins several ordinary spaces into one, but keeps non-breaking spaces.
        let rest = rest.replace(' ', "\u{a0}");
        out.push_str(&rest.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"));
    }
    if open {
        out.push_str("</tspan>");
    }
    out
}

/// Returns the attributes for a color code of the terminal.
fn style(code: &str) -> Option<&'static str> {
    match code {
        "1" => Some("font-weight=\"bold\""),
        "1;31" => Some("font-weight=\"bold\" fill=\"#ff7b72\""),
        "1;32" => Some("font-weight=\"bold\" fill=\"#7ee787\""),
        "1;33" => Some("font-weight=\"bold\" fill=\"#e3b341\""),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_and_markup_are_kept() {
        let line = line("\u{1b}[1;32mPASS\u{1b}[0m p99 < 5 & more\r");
        assert_eq!(
            line,
            "<tspan font-weight=\"bold\" fill=\"#7ee787\">PASS</tspan>\u{a0}p99\u{a0}&lt;\u{a0}5\u{a0}&amp;\u{a0}more"
        );
    }
}
