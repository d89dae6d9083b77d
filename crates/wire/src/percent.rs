//! Percent-encoding in the canonical form that S3 signatures need: all characters except unreserved ones (RFC 3986 §2.3)
//! are encoded, with upper-case digits. URLs need less encoding, so a valid URL is often not in this form.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

/// All characters except letters, digits, `-`, `.`, `_` and `~`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// [`RESERVED`] without the slash.
const RESERVED_IN_PATH: &AsciiSet = &RESERVED.remove(b'/');

/// The encodings of a space that the decoder accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    /// `%20` only, as in paths.
    Percent,
    /// `+` and `%20`, as in queries.
    PlusOrPercent,
}

/// Encodes text, such as an object key, as a path, and appends it to `out`. Slashes stay as they are.
pub fn push_path(text: &str, out: &mut String) {
    out.extend(percent_encode(text.as_bytes(), RESERVED_IN_PATH));
}

/// Encodes text as the name or value of a query parameter, and appends it to `out`.
pub(crate) fn push_parameter(text: &[u8], out: &mut Vec<u8>) {
    percent_encode(text, RESERVED).for_each(|piece| out.extend_from_slice(piece.as_bytes()));
}

/// Encodes text as the name or value of a query parameter.
pub fn parameter(text: &str) -> String {
    percent_encode(text.as_bytes(), RESERVED).collect()
}

/// Decodes a percent-encoded path. Invalid escapes stay as they are, and bytes that are not UTF-8 are replaced.
#[must_use]
pub fn decode_path(path: &str) -> String {
    String::from_utf8_lossy(&decoded(path, Space::Percent)).into_owned()
}

/// Appends the canonical form of percent-encoded text. The canonical form decodes to the same bytes.
pub(crate) fn push_canonical(piece: &str, space: Space, out: &mut Vec<u8>) {
    if is_canonical(piece.as_bytes()) {
        out.extend_from_slice(piece.as_bytes());
    } else {
        push_parameter(&decoded(piece, space), out);
    }
}

/// Decodes percent-encoded text. Invalid escapes stay as they are.
pub(crate) fn decoded(piece: &str, space: Space) -> Vec<u8> {
    match space {
        Space::Percent => percent_decode(piece.as_bytes()).collect(),
        Space::PlusOrPercent => percent_decode(piece.replace('+', " ").as_bytes()).collect(),
    }
}

/// Decodes percent-encoded text. `None` if the result is not UTF-8.
pub(crate) fn decoded_text(piece: &str, space: Space) -> Option<String> {
    String::from_utf8(decoded(piece, space)).ok()
}

/// Returns whether the text is already canonical. All text that this program sends is canonical.
fn is_canonical(piece: &[u8]) -> bool {
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

    fn canonical(piece: &str, space: Space) -> String {
        let mut out = Vec::new();
        push_canonical(piece, space, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_get_one_canonical_form() {
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
            assert_eq!(canonical(given, Space::Percent), expected, "{given}");
        }
        assert_eq!(canonical("a+b%2B", Space::PlusOrPercent), "a%20b%2B");
        let mut path = String::new();
        push_path("a b/c+d/\u{e9}?", &mut path);
        assert_eq!(path, "a%20b/c%2Bd/%C3%A9%3F");
    }

    proptest! {
        #[test]
        fn canonical_forms_are_equivalent_and_stable(piece in "[ -~\u{e9}]{0,20}") {
            for space in [Space::Percent, Space::PlusOrPercent] {
                let once = canonical(&piece, space);
                prop_assert!(is_canonical(once.as_bytes()));
                prop_assert_eq!(decoded(&once, space), decoded(&piece, space));
                prop_assert_eq!(canonical(&once, space), once);
            }
        }
    }
}
