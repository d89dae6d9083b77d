//! Formatting of numbers for people: with grouped thousands, with a unit, and with three or four significant digits.

use measure::units::ByteSize;

/// Formats a count: `98,123`.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a number with a fixed number of decimals: `181,699.45`.
#[must_use]
pub fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), ""), |(whole, fraction)| (whole, fraction));
    let grouped = whole.parse::<u64>().map_or_else(|_| whole.to_owned(), count);
    let sign = if value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{fraction}") }
}

/// Formats a number with at least four digits: `98,123`, `981.2`, `9.812`.
#[must_use]
pub fn four_digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 999.95 || v == 0.0 => 0,
        v if v >= 99.995 => 1,
        v if v >= 9.9995 => 2,
        _ => 3,
    };
    decimal(value, decimals)
}

/// Formats a number with at least three digits: `812`, `81.2`, `8.12`.
fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    decimal(value, decimals)
}

/// Formats a rate: `98,123/s`.
#[must_use]
pub fn rate(per_second: f64) -> String {
    format!("{}/s", four_digits(per_second))
}

/// Formats nanoseconds in a suitable unit: `812 ns`, `8.12 µs`, `27.2 ms`, `1,234 s`.
#[must_use]
pub fn time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        n if n >= 999_500_000.0 => (n / 1e9, "s"),
        n if n >= 999_500.0 => (n / 1e6, "ms"),
        n if n >= 999.5 => (n / 1e3, "µs"),
        n => return format!("{n:.0} ns"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Formats seconds: `10 s`, `3.25 s`.
#[must_use]
pub fn seconds(value: f64) -> String {
    let text = decimal(value, 3);
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short} s")
}

/// Formats bytes: `1.02 GB`.
#[must_use]
pub fn bytes(value: u64) -> String {
    ByteSize(value).human()
}

/// Formats bytes per second: `1.02 GB/s`.
#[must_use]
pub fn byte_rate(per_second: f64) -> String {
    format!("{}/s", ByteSize(per_second as u64).human())
}

/// Formats bytes per second as bits: `8.16 Gbit/s`.
#[must_use]
pub fn bit_rate(bytes_per_second: f64) -> String {
    let bits = bytes_per_second * 8.0;
    let units = [("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)];
    units
        .iter()
        .find(|(_, factor)| bits >= *factor)
        .map_or_else(|| format!("{bits:.0} bit/s"), |(unit, factor)| format!("{} {unit}", decimal(bits / factor, 2)))
}

/// Formats a fraction in percent: 0.1234 as `12.34 %`. Only exactly 1 is shown as 100 %, and only exactly 0 as 0 %,
/// regardless of rounding.
#[must_use]
pub fn share(of_one: f64) -> String {
    let percent = of_one * 100.0;
    if percent > 99.995 && percent < 100.0 {
        "> 99.99 %".into()
    } else if percent > 0.0 && percent < 0.005 {
        "< 0.01 %".into()
    } else {
        format!("{percent:.2} %")
    }
}

/// Formats a count with its noun: `1 thread`, `2 threads`, `2 bodies`, `2 addresses`.
#[must_use]
pub fn plural(value: u64, word: &str) -> String {
    let number = count(value);
    let vowel_before_y = ["ay", "ey", "oy"].iter().any(|end| word.ends_with(end));
    match word.strip_suffix('y') {
        _ if value == 1 => format!("{number} {word}"),
        Some(stem) if !vowel_before_y => format!("{number} {stem}ies"),
        _ if word.ends_with('s') => format!("{number} {word}es"),
        _ => format!("{number} {word}s"),
    }
}

/// Formats a count with a verb: `1 was`, `2 were`.
#[must_use]
pub fn were(value: u64) -> String {
    format!("{} {}", count(value), if value == 1 { "was" } else { "were" })
}

/// Formats a count with noun and verb: `1 trial was`, `3 trials were`.
#[must_use]
pub fn were_of(value: u64, what: &str) -> String {
    format!("{} {}", plural(value, what), if value == 1 { "was" } else { "were" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_for_people() {
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([decimal(181_699.449, 2), decimal(-0.001, 2), decimal(-1.5, 1)], ["181,699.45", "0.00", "-1.5"]);
        assert_eq!([rate(98_123.4), rate(999.96), rate(12.345), rate(0.0)], ["98,123/s", "1,000/s", "12.35/s", "0/s"]);
        assert_eq!([time(0.0), time(999.6), time(8_120.0), time(999_600.0)], ["0 ns", "1.00 µs", "8.12 µs", "1.00 ms"]);
        assert_eq!([time(27_243_000.0), time(1e9), time(1.234e12)], ["27.2 ms", "1.00 s", "1,234 s"]);
        assert_eq!([seconds(10.0), seconds(3.25), seconds(0.0)], ["10 s", "3.25 s", "0 s"]);
        assert_eq!([bit_rate(1.02e9), bit_rate(10.0), bit_rate(0.0)], ["8.16 Gbit/s", "80 bit/s", "0 bit/s"]);
        assert_eq!(byte_rate(11.16e9), "11.16 GB/s");
    }

    #[test]
    fn shares_never_round_to_all_or_nothing() {
        assert_eq!([plural(0, "slot"), plural(1, "body"), plural(2, "body")], ["0 slots", "1 body", "2 bodies"]);
        assert_eq!(
            [plural(2, "address"), plural(2, "key"), were(1), were(2)],
            ["2 addresses", "2 keys", "1 was", "2 were"]
        );
        assert_eq!(
            [share(1.0), share(0.999_999), share(0.0), share(1e-9)],
            ["100.00 %", "> 99.99 %", "0.00 %", "< 0.01 %"]
        );
        assert_eq!([share(0.1234), plural(1, "thread"), plural(2000, "URL")], ["12.34 %", "1 thread", "2,000 URLs"]);
    }
}
