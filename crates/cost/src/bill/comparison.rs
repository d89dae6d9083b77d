//! Comparisons of bills: estimated costs compared with the actual costs of a run, and the costs of the same usage at
//! several providers.

use serde::Serialize;

use super::{Bill, Component};
use crate::exact::Exact;
use crate::money::{Currency, Money, NoRate, OtherCurrency};
use crate::price_sheet::PriceSheet;
use crate::units::Months;
use crate::usage::Usage;

/// The estimated and the actual cost of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deviation {
    /// The component; `None` for the sum of the bill.
    pub component: Option<Component>,
    /// The estimate; `None` if the price of the component is unknown.
    pub estimated: Option<Money>,
    /// The actual amount; `None` if it is unknown.
    pub actual: Option<Money>,
    /// The deviation from the estimate in percent. `None` if an amount is unknown or the estimate is 0.
    pub percent: Option<Exact>,
}

/// Returns the percentage by which `actual` exceeds `estimated`, negative if `actual` is lower; `None` if the estimate
/// is 0.
///
/// # Errors
/// Returns an error if the currencies differ.
pub fn deviation_percent(estimated: &Money, actual: &Money) -> Result<Option<Exact>, OtherCurrency> {
    let ratio = actual.minus(estimated)?.ratio(estimated)?;
    Ok(ratio.map(|ratio| &ratio * &Exact::from(100_u64)))
}

/// Compares each component of two bills, and their sums.
///
/// # Errors
/// Returns an error if the currencies differ.
pub fn deviations(estimated: &Bill, actual: &Bill) -> Result<Vec<Deviation>, OtherCurrency> {
    let listed =
        |component: &Component| estimated.charges.contains_key(component) || actual.charges.contains_key(component);
    let sum = |bill: &Bill| Some(bill.total()).filter(|total| total.without.is_empty()).map(|total| total.money);
    let mut rows = Vec::new();
    for component in Component::ALL.into_iter().filter(listed) {
        rows.push(deviation(Some(component), estimated.amount(component), actual.amount(component))?);
    }
    rows.push(deviation(None, sum(estimated), sum(actual))?);
    Ok(rows)
}

fn deviation(
    component: Option<Component>,
    estimated: Option<Money>,
    actual: Option<Money>,
) -> Result<Deviation, OtherCurrency> {
    let percent = match (&estimated, &actual) {
        (Some(estimated), Some(actual)) => deviation_percent(estimated, actual)?,
        _ => None,
    };
    Ok(Deviation { component, estimated, actual, percent })
}

/// The cost of the compared usage with the prices of one sheet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// The bill in the currency of the comparison. If the sheet has no rate for this currency, the bill stays in the
    /// sheet's own currency.
    pub bill: Bill,
    /// The time during which storage is charged.
    pub charged: Months,
    /// The total cost per TB and month of storage; `None` if a price is unknown.
    pub per_tb_month: Option<Money>,
    /// The reason why the bill could not be converted to the currency of the comparison.
    #[serde(skip)]
    pub no_rate: Option<NoRate>,
}

/// Computes the cost of a usage with each price sheet. Converts the costs to `currency` if the sheet has a rate for it.
#[must_use]
pub fn offers(usage: &Usage, sheets: &[PriceSheet], currency: Currency) -> Vec<Offer> {
    let offer = |sheet: &PriceSheet| {
        let own = sheet.bill(usage);
        let (bill, no_rate) = match own.converted(&sheet.rates, currency) {
            Ok(bill) => (bill, None),
            Err(no_rate) => (own, Some(no_rate)),
        };
        let (charged, _) = sheet.charged_time(&usage.stored);
        Offer { per_tb_month: bill.per_tb_month(usage.file_bytes, &usage.stored), bill, charged, no_rate }
    };
    sheets.iter().map(offer).collect()
}
