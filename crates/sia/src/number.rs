//! Formats floating-point numbers like Python, so that new rows of a table look like the rows of the study's collector,
//! which is a Python program.

/// Formats a number like Python's `repr`: the shortest text that parses to the same number, always with a decimal point
/// or an exponent.
pub(crate) fn python_repr(number: f64) -> String {
    let text = format!("{number:?}");
    // Both Rust and Python write numbers from 1e16 with an exponent. Python also writes the sign of the exponent, and
    // at least two digits.
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_like_those_of_python() {
        for (number, text) in [
            (0.0, "0.0"),
            (207.0, "207.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123.456, "123.456"),
            (4_779_487_970_000.0, "4779487970000.0"),
            (1.0 / 3.0, "0.3333333333333333"),
        ] {
            assert_eq!(python_repr(number), text);
        }
    }
}
