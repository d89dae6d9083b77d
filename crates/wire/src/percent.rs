//! Percent-encoding as S3 and its signatures want it: everything but unreserved characters (RFC 3986 §2.3), with
//! upper-case digits. That is stricter than what URLs need, so a text may be encoded already and yet not in this form.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

/// All but letters, digits, `-`, `.`, `_` and `~`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// As [`RESERVED`], without the slash.
const RESERVED_IN_PATH: &AsciiSet = &RESERVED.remove(b'/');

/// What stands for a blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blank {
    /// `%20` alone: in paths.
    Escape,
    /// `+` as well: in queries, as forms write them.
    Plus,
}

/// Appends an object's key, or another plain text, as a path: slashes stay.
pub fn push_path(text: &str, out: &mut String) {
    out.extend(percent_encode(text.as_bytes(), RESERVED_IN_PATH));
}

/// Appends a plain text as a query parameter's name or value.
pub(crate) fn push_parameter(text: &[u8], out: &mut Vec<u8>) {
    percent_encode(text, RESERVED).for_each(|piece| out.extend_from_slice(piece.as_bytes()));
}

/// A plain text as a query parameter's name or value.
pub fn parameter(text: &str) -> String {
    percent_encode(text.as_bytes(), RESERVED).collect()
}

/// Appends a text that is encoded in some way, in the form that is signed: it means the same.
pub(crate) fn push_normal(piece: &str, blank: Blank, out: &mut Vec<u8>) {
    if is_normal(piece.as_bytes()) {
        out.extend_from_slice(piece.as_bytes());
    } else {
        push_parameter(&decoded(piece, blank), out);
    }
}

/// What an encoded text means. An escape that is none stands for itself.
pub(crate) fn decoded(piece: &str, blank: Blank) -> Vec<u8> {
    match blank {
        Blank::Escape => percent_decode(piece.as_bytes()).collect(),
        Blank::Plus => percent_decode(piece.replace('+', " ").as_bytes()).collect(),
    }
}

/// As [`decoded`], where the result has to be text.
pub(crate) fn decoded_text(piece: &str, blank: Blank) -> Option<String> {
    String::from_utf8(decoded(piece, blank)).ok()
}

/// Whether a text is in the form that is signed, as what this program sends always is.
fn is_normal(piece: &[u8]) -> bool {
    let mut rest = piece;
    while let [byte, tail @ ..] = rest {
        rest = match (byte, tail) {
            (b'%', [high @ (b'0'..=b'9' | b'A'..=b'F'), low @ (b'0'..=b'9' | b'A'..=b'F'), tail @ ..]) => {
                let value = |digit: u8| if digit <= b'9' { digit - b'0' } else { digit - b'A' + 10 };
                if is_unreserved(value(*high) << 4 | value(*low)) {
                    return false;
                }
                tail
            }
            (byte, tail) if is_unreserved(*byte) => tail,
            _ => return false,
        };
    }
    true
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normal(piece: &str, blank: Blank) -> String {
        let mut out = Vec::new();
        push_normal(piece, blank, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_get_their_one_form() {
        for (given, expected) in [
            ("a-b._~Z9", "a-b._~Z9"),
            ("a!b$", "a%21b%24"),
            ("%7e%41", "~A"),
            ("%2f%2F", "%2F%2F"),
            ("%zz%", "%25zz%25"),
            ("\u{e9}", "%C3%A9"),
            ("%ff", "%FF"),
            ("a+b", "a%2Bb"),
            ("", ""),
        ] {
            assert_eq!(normal(given, Blank::Escape), expected, "{given}");
        }
        assert_eq!(normal("a+b%2B", Blank::Plus), "a%20b%2B");
        let mut path = String::new();
        push_path("a b/c+d/\u{e9}?", &mut path);
        assert_eq!(path, "a%20b/c%2Bd/%C3%A9%3F");
    }

    proptest! {
        #[test]
        fn normal_forms_mean_the_same_and_stay(piece in "[ -~\u{e9}]{0,20}") {
            for blank in [Blank::Escape, Blank::Plus] {
                let once = normal(&piece, blank);
                prop_assert!(is_normal(once.as_bytes()));
                prop_assert_eq!(decoded(&once, blank), decoded(&piece, blank));
                prop_assert_eq!(normal(&once, blank), once);
            }
        }
    }
}
