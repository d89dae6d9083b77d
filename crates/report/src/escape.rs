//! Escaping of text from servers and files. Escaped text contains no control sequences for terminals, and no characters
//! that change the order in which a line is displayed.

use std::fmt::Write;

/// Maximum length of text from servers and files in a report, in characters.
pub const SHOWN_MAX: usize = 256;

/// Returns `text` cut to [`SHOWN_MAX`] characters. Control, bidirectional and invisible characters become `\u{..}`.
#[must_use]
pub fn escape(text: &str) -> String {
    bounded(text, SHOWN_MAX)
}

/// Like [`escape`], but with another maximum length, for text that the user typed.
#[must_use]
pub fn bounded(text: &str, limit: usize) -> String {
    let mut pieces: Vec<String> = Vec::new();
    let mut used = 0;
    for c in text.chars() {
        let mut piece = String::new();
        if is_harmless(c) {
            piece.push(c);
        } else {
            let _ = write!(piece, "\\u{{{:x}}}", u32::from(c));
        }
        used += piece.chars().count();
        pieces.push(piece);
        if used > limit {
            // Remove whole characters and escape sequences until there is space for the ellipsis. Cutting inside an
            // escape sequence would change its meaning.
            while used >= limit {
                used -= pieces.pop().map_or(used, |piece| piece.chars().count());
            }
            pieces.push("…".into());
            break;
        }
    }
    pieces.concat()
}

fn is_harmless(c: char) -> bool {
    let invisible = matches!(u32::from(c),
        0xAD | 0x61C | 0x180E | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFE00..=0xFE0F | 0xFEFF
        | 0xFFF9..=0xFFFB | 0xE0000..=0xE0FFF | 0x115F | 0x1160 | 0x3164 | 0xFFA0);
    !c.is_control() && !invisible && (c == ' ' || !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hostile_characters_are_escaped() {
        assert_eq!(escape("a\u{1b}[31mb\r\n\u{202e}\u{0}é"), "a\\u{1b}[31mb\\u{d}\\u{a}\\u{202e}\\u{0}é");
        assert_eq!(escape("nginx/1.22 (Debian)"), "nginx/1.22 (Debian)");
        assert_eq!(escape(&"x".repeat(256)), "x".repeat(256));
        assert_eq!(escape(&"x".repeat(257)), "x".repeat(255) + "…");
    }

    proptest! {
        #[test]
        fn the_result_is_harmless_and_bounded(text in "\\PC{0,100}|(?s:.{0,400})") {
            let shown = escape(&text);
            prop_assert!(shown.chars().count() <= SHOWN_MAX);
            prop_assert!(shown.chars().all(is_harmless), "{shown:?}");
        }
    }
}
