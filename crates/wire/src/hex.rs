//! Hexadecimal encoding of bytes.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends the bytes as lower-case digits.
pub(crate) fn push(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + 2 * bytes.len(), 0);
    write(bytes, &mut out[start..]);
}

/// Writes the bytes as lower-case digits to `out`, which has two places per byte.
pub(crate) fn write(bytes: &[u8], out: &mut [u8]) {
    for (byte, digits) in bytes.iter().zip(out.as_chunks_mut().0) {
        *digits = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    }
}

/// Returns the bytes as lower-case digits.
pub(crate) fn text(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// Decodes digits (in upper or lower case) into `into`. Returns false if there are not exactly two digits per byte, or
/// if a digit is invalid.
pub(crate) fn parse(digits: &[u8], into: &mut [u8]) -> bool {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty()
        && pairs.len() == into.len()
        && pairs.iter().zip(into).all(|([high, low], byte)| match (value(*high), value(*low)) {
            // This cannot overflow, because two digits of 4 bits fit into a byte.
            (Some(high), Some(low)) => {
                *byte = (high << 4 | low) as u8;
                true
            }
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip_and_invalid_digits_are_rejected() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut digits = Vec::new();
        push(&bytes, &mut digits);
        assert!(digits.starts_with(b"000102") && digits.ends_with(b"fdfeff"));
        assert_eq!(text(&bytes).as_bytes(), digits);
        let mut back = [0; 256];
        assert!(parse(&digits, &mut back) && back[..] == bytes);
        assert!(parse(&digits.to_ascii_uppercase(), &mut back) && back[..] == bytes);
        for bad in [&b"0"[..], b"000", b"0g", b"+1", b"\xff\xff", b"0000", b""] {
            assert!(!parse(bad, &mut [0]), "{bad:?}");
        }
    }
}
