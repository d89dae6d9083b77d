//! The cost of a run, from ledgers or from a bill.

use super::StudyMoney;
use crate::bill::{Bill, Component};
use crate::ledger::Ledger;
use crate::money::{Money, OtherCurrency, Rate};
use crate::units::Months;

impl StudyMoney {
    /// Returns the cost of a run from the target's ledgers at the start and at the end.
    ///
    /// # Errors
    /// Returns an error if the ledgers are in different currencies.
    pub fn of_ledgers(
        start: &Ledger,
        end: &Ledger,
        rate: Option<Rate>,
        contract: Months,
    ) -> Result<Self, OtherCurrency> {
        let money = |ledger: &Ledger, amount| Money::new(amount, ledger.currency);
        let left = |ledger: &Ledger| money(ledger, ledger.remaining.clone());
        let wallet = |ledger: &Ledger| money(ledger, ledger.wallet.clone());
        let reported = start.spent_until(end, "")?;
        Ok(Self {
            left_wallet: wallet(start).minus(&wallet(end))?,
            remaining: left(end).minus(&left(start))?,
            // The study's formula subtracts the spending on uploads. If the price of uploads includes storage, the rest
            // would lack a part of the cost of storage. The spending on uploads then counts as unknown.
            upload: reported.amount(Component::Upload).filter(|_| reported.charges.contains_key(&Component::Storage)),
            fees: reported.amount(Component::Fees),
            reported: Some(reported.total().money),
            rate,
            contract,
        })
    }

    /// Returns the cost of a run from a bill, for systems without wallets. `None` if a price is unknown.
    #[must_use]
    pub fn of_bill(bill: &Bill, charged: Months) -> Option<Self> {
        let total = Some(bill.total()).filter(|total| total.without.is_empty())?.money;
        Some(Self {
            remaining: Money::zero(bill.currency),
            upload: bill.amount(Component::Upload),
            fees: bill.amount(Component::Fees),
            reported: Some(total.clone()),
            left_wallet: total,
            rate: None,
            contract: charged,
        })
    }
}
