//! Values of table cells, and their printed form.

use std::fmt;

use serde::Serialize;

use crate::exact::Exact;
use crate::money::Money;
use crate::units::Hours;

/// A value with its unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// A number of bytes.
    Bytes(u64),
    /// A count, such as a number of files.
    Count(u64),
    /// A share in percent.
    Percent(Exact),
    /// An amount of money.
    Money(Money),
    /// A duration.
    Time(Hours),
    /// A bandwidth.
    BitsPerSecond(Exact),
}

/// Decimals of most values.
const DECIMALS: u32 = 1;

impl fmt::Display for Quantity {
    /// Formats the value like the study, with one decimal. Sizes use powers of 1024, and bandwidths use Mbit/s. Money
    /// has two decimals, or is in millions. A value too small for these decimals shows two significant digits; a share
    /// shows four. Ties round away from zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => {
                let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
                let step = bytes.checked_ilog2().unwrap_or(0) as usize / 10;
                match step.checked_sub(1).and_then(|index| units.get(index)) {
                    Some(unit) => write!(f, "{} {unit}", in_units(*bytes, 1 << (10 * step)).to_decimal(DECIMALS)),
                    None => write!(f, "{bytes} B"),
                }
            }
            Self::Count(count) => f.write_str(&grouped(&count.to_string())),
            Self::Percent(percent) => write!(f, "{} %", percent.to_decimal_or_digits(DECIMALS, 4)),
            Self::Money(Money { amount, currency }) => {
                let millions = amount.shifted_right(6);
                if millions.abs() >= Exact::from(1_u64) {
                    write!(f, "{} million {currency}", grouped(&millions.to_decimal(DECIMALS)))
                } else {
                    write!(f, "{} {currency}", grouped(&amount.to_decimal_or_digits(2, 2)))
                }
            }
            Self::Time(Hours(hours)) => {
                let days = hours.checked_div(&Exact::from(24_u64)).unwrap_or_else(Exact::zero);
                let show = |time: &Exact| grouped(&time.to_decimal_or_digits(DECIMALS, 2));
                write!(f, "{} hours ({} days)", show(hours), show(&days))
            }
            Self::BitsPerSecond(bits) => {
                write!(f, "{} Mbit/s", grouped(&bits.shifted_right(6).to_decimal_or_digits(DECIMALS, 2)))
            }
        }
    }
}

fn in_units(bytes: u64, unit: u64) -> Exact {
    Exact::from(bytes).checked_div(&Exact::from(unit)).unwrap_or_else(Exact::zero)
}

/// Separates thousands with commas.
fn grouped(number: &str) -> String {
    let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
    let (sign, digits) = whole.split_at(whole.len() - whole.trim_start_matches('-').len());
    let mut text = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_in_the_study() {
        let exact = |text: &str| text.parse::<Exact>().unwrap();
        let money = |text: &str| Quantity::Money(text.parse().unwrap());
        for (quantity, printed) in [
            (Quantity::Bytes(48_358), "47.2 KiB"),
            (Quantity::Bytes(1023), "1023 B"),
            (Quantity::Bytes(0), "0 B"),
            (Quantity::Bytes(1 << 20), "1.0 MiB"),
            (Quantity::Bytes(u64::MAX), "16.0 EiB"),
            (Quantity::Count(48_358), "48,358"),
            (Quantity::Count(999), "999"),
            (Quantity::Percent(exact("28.28")), "28.3 %"),
            (Quantity::Percent(exact("0.00000044701")), "0.0000004470 %"),
            (money("4377.1SC"), "4,377.10 SC"),
            (money("0.00423USD"), "0.0042 USD"),
            (money("350123456USD"), "350.1 million USD"),
            (Quantity::Time(Hours(exact("596.8"))), "596.8 hours (24.9 days)"),
            (Quantity::Time(Hours(exact("0.5"))), "0.5 hours (0.021 days)"),
            (Quantity::BitsPerSecond(exact("45840123")), "45.8 Mbit/s"),
            (Quantity::BitsPerSecond(exact("0.18006")), "0.00000018 Mbit/s"),
            (Quantity::BitsPerSecond(exact("0")), "0.0 Mbit/s"),
        ] {
            assert_eq!(quantity.to_string(), printed);
        }
        assert_eq!(grouped("-1234567.125"), "-1,234,567.125");
    }
}
