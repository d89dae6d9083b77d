//! Formulas of the Sia study, which apply to any system that stores files.

use crate::exact::Exact;
use crate::money::{Money, NoRate, OtherCurrency, Rate};
use crate::units::{DataUnit, Hours, Months};

/// Returns the ratio of file bytes to absolute bytes; `None` if `absolute_bytes` is 0.
#[must_use]
pub fn storage_efficiency(file_bytes: u64, absolute_bytes: u64) -> Option<Exact> {
    Exact::from(file_bytes).checked_div(&Exact::from(absolute_bytes))
}

/// Returns an average bandwidth in bits per second; `None` if no time passed.
#[must_use]
pub fn bandwidth_bits_per_second(bytes: u64, time: &Hours) -> Option<Exact> {
    let bits = &Exact::from(bytes) * &Exact::from(8_u64);
    bits.checked_div(&(&time.0 * &Exact::from(3600_u64)))
}

/// Returns the redundancy of a file: the number of `stored` pieces divided by the number of pieces `needed` to restore
/// the file. `None` if `needed` is 0.
#[must_use]
pub fn redundancy(stored: u64, needed: u64) -> Option<Exact> {
    Exact::from(stored).checked_div(&Exact::from(needed))
}

/// Money that left a wallet during a run, and the parts of it that the formula subtracts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlay {
    /// Money that left the wallet: its balance at the start minus its balance at the end.
    pub left_wallet: Money,
    /// Money that remains in contracts and is expected back.
    pub remaining: Money,
    /// Money spent on uploads.
    pub upload: Money,
}

/// An error from computing the cost of an [`Outlay`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutlayError {
    /// The amounts are in different currencies.
    #[error(transparent)]
    Currencies(#[from] OtherCurrency),
    /// The rate is for other currencies.
    #[error(transparent)]
    Rate(#[from] NoRate),
}

impl Outlay {
    /// Returns the cost per TB (10^12 bytes) and month by the study's formula. If there is a `rate`, converts the cost
    /// with it. Returns `None` if `file_bytes` or the length of a contract is 0.
    ///
    /// `((initial wallet − final remaining renter funds − final upload spending) × price / file TB) / months per
    /// contract`
    ///
    /// Fees and money that disappeared count as cost. Spending on uploads does not. The study's formula starts from the
    /// *initial wallet*. In the study's best case, however, money was left in the wallet at the end. The published
    /// numbers do not include that money, and neither does this function.
    ///
    /// # Errors
    /// Returns an error if the amounts are in different currencies, or if `rate` is for other currencies.
    pub fn per_tb_month(
        &self,
        rate: Option<&Rate>,
        file_bytes: u64,
        contract: &Months,
    ) -> Result<Option<Money>, OutlayError> {
        let spent = self.left_wallet.minus(&self.remaining)?.minus(&self.upload)?;
        let price = match rate {
            Some(rate) => rate.convert(&spent)?,
            None => spent,
        };
        let terabyte_months = &DataUnit::Terabyte.count(&Exact::from(file_bytes)) * &contract.0;
        let amount = price.amount.checked_div(&terabyte_months);
        Ok(amount.map(|amount| Money::new(amount, price.currency)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sia::siad::{CHUNK_BYTES, SECTOR_BYTES};
    use std::time::Duration;

    fn hours(text: &str) -> Hours {
        Hours(text.parse().unwrap())
    }

    fn money(text: &str) -> Money {
        text.parse().unwrap()
    }

    fn mbit(bytes: u64, time: &Hours, decimals: u32) -> String {
        bandwidth_bits_per_second(bytes, time).unwrap().shifted_right(6).to_decimal(decimals)
    }

    #[test]
    fn bandwidths_of_the_study() {
        assert_eq!(mbit(4_779_487_970_000, &hours("231.7"), 1), "45.8");
        assert_eq!(mbit(40_552 * CHUNK_BYTES, &hours("336.0"), 1), "11.2");
        assert_eq!(mbit(48_358, &hours("596.8"), 8), "0.00000018");
        // The slowest progress that the test accepted: 3 Mbit/s for an hour.
        assert_eq!(mbit(1_350_000_000, &hours("1"), 0), "3");
        // The example in the study's blog posts: 500 MB are uploaded in 40 s, as 12 whole chunks of 42 MB. Each chunk
        // is stored on three hosts.
        let time = Hours::from(Duration::from_secs(40));
        assert_eq!((mbit(500_000_000, &time, 0), mbit(42_000_000 * 12 * 3, &time, 1)), ("100".into(), "302.4".into()));
        assert_eq!(bandwidth_bits_per_second(1, &hours("0")), None);
    }

    #[test]
    fn efficiencies_of_the_study() {
        let percent = |share: Exact| &share * &Exact::from(100_u64);
        // The best possible efficiency of a file of 1 byte. The post omits the factor 3 and prints 0.0000024 %.
        let bound = percent(storage_efficiency(1, CHUNK_BYTES * 3).unwrap());
        assert_eq!(bound.to_decimal(8), "0.00000079");
        let forgotten = percent(storage_efficiency(1, CHUNK_BYTES).unwrap());
        assert_eq!(forgotten.to_decimal(7), "0.0000024");
        // "Sia used an average of 213 MiB to upload each 1-byte file."
        let average = Exact::from(100_u64).checked_div(&"0.000000447".parse().unwrap()).unwrap();
        assert_eq!(DataUnit::Gibibyte.count(&(&average * &Exact::from(1024_u64))).to_decimal(0), "213");
        let whole = percent(storage_efficiency(CHUNK_BYTES, 30 * SECTOR_BYTES).unwrap());
        assert_eq!(whole.to_decimal(1), "33.3");
        assert_eq!(storage_efficiency(1, 0), None);
    }

    #[test]
    fn redundancies_of_the_study() {
        let shown = |stored| redundancy(stored, 10).unwrap().to_decimal(1);
        assert_eq!((shown(28), shown(30), shown(31)), ("2.8".to_owned(), "3.0".to_owned(), "3.1".to_owned()));
        assert_eq!(redundancy(1, 0), None);
    }

    /// Two sizes from the study: 205 copies of 50 GiB are about 10 TiB, and 250 MiB of dummy data are 5 files of 50
    /// MiB.
    #[test]
    fn sizes_of_the_study() {
        let copies = DataUnit::Tebibyte.count(&Exact::from(205 * (50_u64 << 30)));
        assert_eq!(copies.to_decimal(0), "10");
        assert_eq!(262_144_000_u64.div_ceil(52_428_800), 5);
        // The author proposed a minimum of 50 Mbit/s for 24 hours: "~500 GiB per day".
        let day = &Exact::from(50_000_000_u64 / 8) * &Exact::from(86_400_u64);
        assert_eq!(DataUnit::Gibibyte.count(&day).to_decimal(0), "503");
    }

    #[test]
    fn the_price_of_the_study() {
        let date = "2018-03-11".parse().unwrap();
        let (from, to) = ("SC".parse().unwrap(), "USD".parse().unwrap());
        let rate = Rate::new(from, to, "0.013951".parse().unwrap(), date).unwrap();
        let outlay = Outlay { left_wallet: money("5000SC"), remaining: money("622.9SC"), upload: money("94.3SC") };
        let contract = "2.77 months".parse().unwrap();
        let price = outlay.per_tb_month(Some(&rate), 4_779_487_970_000, &contract).unwrap().unwrap();
        assert_eq!(price.to_string(), "4.51 USD");
        assert_eq!(outlay.left_wallet.minus(&outlay.remaining).unwrap().to_decimals(1), "4377.1 SC");
        let siacoins = outlay.per_tb_month(None, 4_779_487_970_000, &contract).unwrap().unwrap();
        assert_eq!(siacoins.to_string(), "323.49 SC");
        assert_eq!(outlay.per_tb_month(Some(&rate), 0, &contract), Ok(None));
        assert_eq!(outlay.per_tb_month(Some(&rate), 1, &Months::zero()), Ok(None));
        let mixed = Outlay { upload: money("94.3USD"), ..outlay.clone() };
        assert!(matches!(mixed.per_tb_month(Some(&rate), 1, &contract), Err(OutlayError::Currencies(_))));
        let euro = Rate::new("EUR".parse().unwrap(), to, "1.1".parse().unwrap(), date).unwrap();
        assert!(matches!(outlay.per_tb_month(Some(&euro), 1, &contract), Err(OutlayError::Rate(_))));
    }
}
