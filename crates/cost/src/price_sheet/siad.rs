//! The price sheet of a running siad.

use sia::siad::Prices;

use super::{Basis, DataPrice, Fees, PriceSheet, RequestPrices, StoragePrice};
use crate::date::Date;
use crate::exact::Exact;
use crate::money::{Currency, Money, Rates};
use crate::units::{DataUnit, Months};

impl PriceSheet {
    /// Returns siad's current price estimates as a price sheet for contracts of length `term`. The study recorded such
    /// estimates before each test.
    #[must_use]
    pub fn of_siad(prices: &Prices, date: Date, term: Months, rates: Rates) -> Self {
        let per_tb =
            |hastings| DataPrice { price: Money::from(hastings).amount, per: DataUnit::Terabyte, bytes: Basis::File };
        let download = DataPrice { bytes: Basis::Transferred, ..per_tb(prices.download_tb) };
        let fixed = Money::from(prices.form_contracts).amount;
        Self {
            name: "siad".to_owned(),
            currency: Currency::SIACOIN,
            date,
            source: Some("GET /renter/prices".to_owned()),
            notes: None,
            storage: Some(StoragePrice { data: per_tb(prices.storage_tb_month), minimum: None }),
            upload: Some(per_tb(prices.upload_tb)),
            download: Some(download),
            requests: RequestPrices::default(),
            fees: Some(Fees { fixed, per_contract: Exact::zero(), contracts: 0 }),
            term: Some(term).filter(|term| !term.0.is_zero()),
            rates,
        }
    }
}
