//! The costs of a fill by price sheets.

use crate::escape::escape;
use cost::bill::{Offer, offers};
use cost::{Months, PriceSheet, Requests, Usage};
use store::journal::Totals;

/// Prices for the costs of a fill.
#[derive(Clone, Debug)]
pub struct Costs {
    /// The price sheets. Amounts are converted to the currency of the first sheet if their sheet has an exchange rate.
    pub sheets: Vec<PriceSheet>,
    /// Time during which the stored objects are kept.
    pub keep: Months,
}

impl Costs {
    /// Returns no prices.
    #[must_use]
    pub fn none() -> Self {
        Self { sheets: Vec::new(), keep: Months::zero() }
    }

    /// Returns the bill of each price sheet.
    #[must_use]
    pub fn of(&self, totals: &Totals) -> Vec<Offer> {
        let currency = self.sheets.first().map(|sheet| sheet.currency);
        currency.map_or_else(Vec::new, |currency| offers(&usage(totals, &self.keep), &self.sheets, currency))
    }
}

/// Returns the sum of a bill, formatted as text. The text shows a lower bound if the sheet lacks a price.
#[must_use]
pub(crate) fn sum_text(offer: &Offer) -> String {
    let total = offer.bill.total();
    if total.without.is_empty() { total.money.to_string() } else { format!("≥ {}", total.money) }
}

/// Returns the sum of a bill with the name of its price sheet.
#[must_use]
pub fn offer_text(offer: &Offer) -> String {
    format!("{} ({})", sum_text(offer), escape(&offer.bill.name))
}

/// Returns the billable usage of a fill: its uploads with all attempts, and the time during which the objects are kept.
#[must_use]
pub fn usage(totals: &Totals, keep: &Months) -> Usage {
    Usage {
        file_bytes: totals.file_bytes,
        absolute_bytes: None,
        uploaded_bytes: totals.sent_bytes,
        downloaded_bytes: 0,
        requests: Requests { put: totals.attempts, ..Requests::default() },
        contracts: None,
        stored: keep.clone(),
    }
}
