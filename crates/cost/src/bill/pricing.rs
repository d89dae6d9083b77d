//! Computation of a bill from a usage and a price sheet.

use super::{Bill, Charge, Component};
use crate::exact::Exact;
use crate::price_sheet::{Basis, DataPrice, Fees, PriceSheet};
use crate::units::Months;
use crate::usage::Usage;

impl PriceSheet {
    /// Returns the charged storage time and the number of terms. The charged time is at least the sheet's minimum, and
    /// is rounded up to whole terms.
    #[must_use]
    pub fn charged_time(&self, stored: &Months) -> (Months, Exact) {
        let minimum = self.storage.as_ref().and_then(|storage| storage.minimum.as_ref());
        let time = minimum.map_or(stored, |minimum| stored.max(minimum));
        match &self.term {
            Some(term) => time.in_terms(term),
            None => (time.clone(), Exact::from(1_u64)),
        }
    }

    /// Returns the bill for a usage.
    #[must_use]
    pub fn bill(&self, usage: &Usage) -> Bill {
        let (months, terms) = self.charged_time(&usage.stored);
        let storage = self.storage.as_ref().map(|storage| &storage.data);
        let mut bill = Bill::new(&self.name, self.currency);
        let mut charge = |component, charge: Option<Charge>| {
            if let Some(charge) = charge {
                bill.charges.insert(component, charge);
            }
        };
        charge(Component::Storage, data(storage, usage, usage.file_bytes).map(|charge| charge.times(&months.0)));
        charge(Component::Upload, data(self.upload.as_ref(), usage, usage.uploaded_bytes));
        charge(Component::Download, data(self.download.as_ref(), usage, usage.downloaded_bytes));
        charge(Component::Requests, self.request_charge(usage));
        charge(Component::Fees, fees(self.fees.as_ref(), usage, &terms));
        bill
    }

    /// Returns the charge for requests; `None` if there were no requests, or if they are free.
    fn request_charge(&self, usage: &Usage) -> Option<Charge> {
        let (prices, requests) = (&self.requests, &usage.requests);
        let kinds = [
            (&prices.put, requests.put),
            (&prices.get, requests.get),
            (&prices.list, requests.list),
            (&prices.delete, requests.delete),
        ];
        let used: Vec<_> = kinds.into_iter().filter(|(_, count)| *count > 0).collect();
        // If the sheet has no price for any kind of request, requests are free.
        if used.is_empty() || kinds.iter().all(|(price, _)| price.is_none()) {
            return None;
        }
        let mut sum = Exact::zero();
        for (price, count) in used {
            let Some(price) = price else { return Some(Charge::NoPrice) };
            sum = &sum + &(price * &Exact::from(count).shifted_right(3));
        }
        Some(Charge::Amount(sum))
    }
}

impl Charge {
    fn times(self, number: &Exact) -> Self {
        match self {
            Self::Amount(amount) => Self::Amount(&amount * number),
            Self::NoPrice => Self::NoPrice,
        }
    }
}

/// Returns the charge for data; `None` if there was no data. If the price is unknown, only `transferred_bytes` shows
/// whether there was data.
fn data(price: Option<&DataPrice>, usage: &Usage, transferred_bytes: u64) -> Option<Charge> {
    let Some(DataPrice { price, per, bytes }) = price else {
        return (transferred_bytes > 0).then_some(Charge::NoPrice);
    };
    let files = Exact::from(usage.file_bytes);
    let bytes = match bytes {
        Basis::File => files,
        Basis::Transferred => Exact::from(transferred_bytes),
        Basis::Absolute { redundancy } => usage.absolute_bytes.map_or(&files * redundancy, Exact::from),
    };
    (!bytes.is_zero()).then(|| Charge::Amount(price * &per.count(&bytes)))
}

/// Returns the fees; `None` if there are no contracts and the sheet has no fees.
fn fees(fees: Option<&Fees>, usage: &Usage, terms: &Exact) -> Option<Charge> {
    let Some(Fees { fixed, per_contract, contracts }) = fees else {
        return usage.contracts.filter(|contracts| *contracts > 0).map(|_| Charge::NoPrice);
    };
    let fixed = fixed * terms;
    // The reported number of contracts is the total over all terms, but the number in the sheet is for one term.
    let contracts = match usage.contracts {
        Some(contracts) => Exact::from(contracts),
        None => &Exact::from(*contracts) * terms,
    };
    Some(Charge::Amount(&fixed + &(per_contract * &contracts)))
}
