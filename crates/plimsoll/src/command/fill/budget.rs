//! The costs of a fill: an estimate before the fill, the spending during the fill, and the limit on spending.

use super::Args;
use super::objects::Objects;
use super::renter::ActualSpending;
use crate::failure::Failure;
use crate::prices;
use cost::{Cap, Currency, Money, Months, Rates, Spending};
use report::fill::{Costs, usage};
use std::fmt::Display;
use std::num::NonZeroU64;
use store::journal::Totals;

/// Price sheets, and the limit on spending. The limit applies to the spending that the target reports. If the target
/// has no ledger, the first price sheet determines the spending.
pub struct Budget {
    costs: Costs,
    cap: Option<Cap>,
    actual: Option<ActualSpending>,
}

impl Budget {
    /// Returns the budget for the flags of a fill.
    pub fn of(args: &Args) -> Result<Self, Failure> {
        let costs = prices::costs(&args.prices, args.keep.clone())?;
        let budget = Self { costs, cap: args.cap.clone(), actual: None };
        let Some(cap) = &budget.cap else { return Ok(budget) };
        let refused = |error: &dyn Display| Failure::usage(format!("--cap {cap}: {error}"));
        let currency = match budget.costs.sheets.first() {
            _ if args.has_ledger() => Currency::SIACOIN,
            Some(sheet) => sheet.currency,
            None => {
                return Err(Failure::usage("--cap needs prices: add --prices, for example --prices s3-standard"));
            }
        };
        // Fail now if the price sheet has no rate for the currency of the limit, and not after the first upload.
        cap.decide(&Money::zero(currency), &budget.rates()).map_err(|error| refused(&error))?;
        match budget.costs.sheets.first().filter(|_| !args.has_ledger()) {
            None => Ok(budget),
            Some(sheet) => match sheet.bill(&example()).total().without.first() {
                None => Ok(budget),
                Some(component) => {
                    let (sheet, component) = (&sheet.name, component.name());
                    Err(refused(&format_args!("the price sheet `{sheet}` has no price for {component}; add it")))
                }
            },
        }
    }

    /// From now on, uses the spending that the target reports.
    pub fn use_actual(&mut self, actual: Option<ActualSpending>) {
        self.actual = actual;
    }

    /// Returns the price sheets and the storage period.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// Returns the rates of the first price sheet.
    fn rates(&self) -> Rates {
        self.costs.sheets.first().map(|sheet| sheet.rates.clone()).unwrap_or_default()
    }

    /// Returns the spending so far, or `None` if it is unknown.
    pub fn spent(&self, totals: &Totals) -> Option<Money> {
        if let Some(actual) = &self.actual {
            return actual.spent();
        }
        let sheet = self.costs.sheets.first()?;
        Some(sheet.bill(&usage(totals, &self.costs.keep)).total().money)
    }

    /// Returns the number of bytes that the target still has to pack, if it reports this number.
    pub fn waiting_bytes(&self) -> Option<u64> {
        self.actual.as_ref()?.waiting_bytes()
    }

    /// Returns the limit on spending.
    pub fn cap(&self) -> Option<&Cap> {
        self.cap.as_ref()
    }

    /// Returns the limit if the spending has reached it.
    pub fn reached(&self, totals: &Totals) -> Option<&Cap> {
        let (cap, spent) = (self.cap.as_ref()?, self.spent(totals)?);
        // `of` has checked that the sheet has a rate for the currency, so the comparison cannot fail.
        let is_reached = !matches!(cap.decide(&spent, &self.rates()), Ok(Spending::Within(_)));
        is_reached.then_some(cap)
    }

    /// Returns the estimate for the whole fill as text: the plan, and a table of costs.
    pub fn estimate(&self, objects: &Objects, style: &report::Style) -> String {
        let planned = planned(objects);
        report::fill_estimate(&objects.description(), &planned, &self.costs, style)
    }
}

/// Returns the totals of a fill in which every request is made once.
pub fn planned(objects: &Objects) -> Totals {
    let count = objects.set.count();
    let mut totals = Totals { objects: count, ..Totals::default() };
    for number in 0..count {
        let size = objects.size(number);
        totals.file_bytes = totals.file_bytes.saturating_add(size);
        totals.attempts += objects.part_bytes(number).map_or(1, |part| requests_of(size, part));
    }
    totals.sent_bytes = totals.file_bytes;
    totals
}

/// Returns the number of requests of a multipart upload: one to begin, one per part, and one to complete.
fn requests_of(size: u64, part_bytes: NonZeroU64) -> u64 {
    size.div_ceil(part_bytes.get()).max(1) + 2
}

/// Returns an example of usage that needs every price of a fill, so that its bill shows which prices are missing.
fn example() -> cost::Usage {
    let totals = Totals { objects: 1, file_bytes: 1, sent_bytes: 1, attempts: 1, ..Totals::default() };
    usage(&totals, &Months::zero())
}
