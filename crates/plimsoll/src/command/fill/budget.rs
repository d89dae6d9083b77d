//! The costs of a fill: the estimate before it, the spending while it runs, and the limit on it.

use super::Args;
use super::objects::Objects;
use crate::failure::Failure;
use crate::prices;
use cost::{Cap, Months, Spending};
use report::fill::{Costs, usage};
use std::num::NonZeroU64;
use store::journal::Totals;

/// Price sheets, and the limit on spending by the first of them.
pub struct Budget {
    costs: Costs,
    cap: Option<Cap>,
}

impl Budget {
    /// Returns the budget that the flags describe.
    pub fn of(args: &Args) -> Result<Self, Failure> {
        let budget = Self { costs: prices::costs(&args.prices, args.keep.clone())?, cap: args.cap.clone() };
        match (&budget.cap, budget.costs.sheets.first()) {
            (None, _) => Ok(budget),
            (Some(_), None) => {
                Err(Failure::usage("--cap needs prices: add --prices, for example --prices s3-standard"))
            }
            (Some(cap), Some(sheet)) => {
                // Fails now, and not after the first upload, if the sheet has no rate for the currency.
                cap.decide(&cost::Money::zero(sheet.currency), &sheet.rates)
                    .map_err(|error| Failure::usage(format!("--cap {cap}: {error}")))?;
                let unknown = sheet.bill(&example()).total().without;
                match unknown.first() {
                    None => Ok(budget),
                    Some(component) => Err(Failure::usage(format!(
                        "--cap {cap}: the price sheet `{}` has no price for {}: add it",
                        sheet.name,
                        component.name()
                    ))),
                }
            }
        }
    }

    /// Returns the price sheets, and for how long files are kept.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// Returns the spending so far by the first price sheet, if there is one.
    pub fn spent(&self, totals: &Totals) -> Option<cost::Money> {
        let sheet = self.costs.sheets.first()?;
        Some(sheet.bill(&usage(totals, &self.costs.keep)).total().money)
    }

    /// Returns the limit, if it is reached.
    pub fn reached(&self, totals: &Totals) -> Option<&Cap> {
        let (cap, sheet, spent) = (self.cap.as_ref()?, self.costs.sheets.first()?, self.spent(totals)?);
        // The constructor has checked that there is a rate.
        let is_reached = !matches!(cap.decide(&spent, &sheet.rates), Ok(Spending::Within(_)));
        is_reached.then_some(cap)
    }

    /// Returns the estimate for the whole fill as text: the plan, and a table of costs.
    pub fn estimate(&self, objects: &Objects, style: &report::Style) -> String {
        let planned = planned(objects);
        report::fill::estimate(&objects.description(), &planned, &self.costs, style)
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

/// Returns the number of requests of a multipart upload: its beginning, its parts, its completion.
fn requests_of(size: u64, part_bytes: NonZeroU64) -> u64 {
    size.div_ceil(part_bytes.get()).max(1) + 2
}

/// Returns a usage with all that a fill uses, to find out which prices are missing.
fn example() -> cost::Usage {
    let totals = Totals { objects: 1, file_bytes: 1, sent_bytes: 1, attempts: 1, ..Totals::default() };
    usage(&totals, &Months::zero())
}
