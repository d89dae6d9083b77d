//! A limit on spending.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::money::{Money, MoneyError, NoRate, Rates};

/// The maximum spending of a run. After the cap is reached, no upload starts. The tested system may still renew
/// contracts, which costs more money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cap(Money);

/// The state of spending relative to a cap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spending {
    /// Below the cap. Contains the money that may still be spent, in the cap's currency.
    Within(Money),
    /// At or above the cap. Contains the money spent beyond the cap, in the cap's currency.
    Reached(Money),
}

/// An error from parsing a [`Cap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapError {
    /// The text is not an amount of money.
    #[error(transparent)]
    Money(#[from] MoneyError),
    /// The cap is 0, so nothing could be uploaded.
    #[error("a cap must be above 0, such as 20USD or 5000SC")]
    Zero,
}

impl Cap {
    /// Returns the amount.
    #[must_use]
    pub fn money(&self) -> &Money {
        &self.0
    }

    /// Compares the money spent with the cap.
    ///
    /// # Errors
    /// Returns an error if the currencies differ and there is no rate between them.
    pub fn decide(&self, spent: &Money, rates: &Rates) -> Result<Spending, NoRate> {
        let left = &self.0.amount - &rates.convert(spent, self.0.currency)?.amount;
        let currency = self.0.currency;
        Ok(if left.is_zero() || left.is_negative() {
            Spending::Reached(Money::new(-left, currency))
        } else {
            Spending::Within(Money::new(left, currency))
        })
    }
}

impl FromStr for Cap {
    type Err = CapError;

    /// Parses a cap such as `20USD` or `5000SC`.
    fn from_str(text: &str) -> Result<Self, CapError> {
        let money: Money = text.parse()?;
        if money.amount.is_zero() { Err(CapError::Zero) } else { Ok(Self(money)) }
    }
}

impl fmt::Display for Cap {
    /// Formats the cap exactly, so that it can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0.amount, self.0.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Rate;

    fn money(text: &str) -> Money {
        text.parse().unwrap()
    }

    fn cap(text: &str) -> Cap {
        text.parse().unwrap()
    }

    #[test]
    fn a_cap_is_reached_at_its_exact_amount() {
        let decide = |spent: &str| cap("20USD").decide(&money(spent), &Rates::default()).unwrap();
        assert_eq!(decide("0USD"), Spending::Within(money("20USD")));
        assert_eq!(decide("19.999999999999999999USD"), Spending::Within(money("0.000000000000000001USD")));
        assert_eq!(decide("20USD"), Spending::Reached(money("0USD")));
        assert_eq!(decide("20.5USD"), Spending::Reached(money("0.5USD")));
    }

    #[test]
    fn siacoins_reach_a_cap_in_dollars_by_the_stated_rate_only() {
        let (from, to) = ("SC".parse().unwrap(), "USD".parse().unwrap());
        let rate = Rate::new(from, to, "0.013951".parse().unwrap(), "2018-03-11".parse().unwrap()).unwrap();
        let rates = Rates(vec![rate]);
        assert!(matches!(cap("61USD").decide(&money("4377.1SC"), &rates).unwrap(), Spending::Reached(_)));
        assert!(matches!(cap("62USD").decide(&money("4377.1SC"), &rates).unwrap(), Spending::Within(_)));
        let error = cap("61USD").decide(&money("4377.1SC"), &Rates::default()).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot convert SC to USD without a rate; add a rate with its date to `rates` in the price sheet"
        );
    }

    #[test]
    fn a_cap_is_a_positive_amount_of_money() {
        for text in ["20USD", "5000SC", "0.01EUR"] {
            assert_eq!(cap(text).to_string(), text);
        }
        assert_eq!("0USD".parse::<Cap>(), Err(CapError::Zero));
        for text in ["", "20", "USD", "-1USD", "20 $", "20usd", "1e3USD"] {
            assert!(matches!(text.parse::<Cap>(), Err(CapError::Money(_))), "{text}");
        }
    }
}
