//! Samples of renterd's state.

use std::fmt::{Display, Write};
use std::time::Duration;

use super::{ContractTotals, ObjectStats, Spending, Wallet};
use crate::amount::{Hastings, SignedHastings};
use crate::table::{self, Append, OtherHeader, TableError};
use crate::timestamp::UtcSecond;

/// The columns of a table of samples. Amounts are in hastings, sizes are in bytes, and the latency is in milliseconds.
pub const COLUMNS: [&str; 21] = [
    "timestamp",
    "contract_count",
    "total_contract_size",
    "object_count",
    "unfinished_object_count",
    "total_object_bytes",
    "total_sector_bytes",
    "min_health",
    "contract_fee_spending",
    "upload_spending",
    "fund_account_spending",
    "deletion_spending",
    "sector_roots_spending",
    "total_contract_spending",
    "remaining_contract_funds",
    "wallet_spendable",
    "wallet_confirmed",
    "wallet_unconfirmed",
    "wallet_immature",
    "waiting_bytes",
    "api_latency",
];

/// Results of polling contracts, objects and wallet once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The time at the end of the poll; `None` if the cell in the table is blank.
    pub timestamp: Option<UtcSecond>,
    /// Totals over contracts; `None` if this request failed.
    pub contracts: Option<ContractTotals>,
    /// Totals over objects; `None` if this request failed.
    pub objects: Option<ObjectTotals>,
    /// The wallet; `None` if this request failed.
    pub wallet: Option<Wallet>,
    /// Bytes that wait to be packed into slabs; `None` if this request failed.
    pub waiting_bytes: Option<u64>,
    /// The total time of all requests, in microseconds.
    pub api_latency_us: Option<u64>,
}

/// Totals over objects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectTotals {
    /// The number of objects.
    pub count: u64,
    /// The number of open multipart uploads.
    pub unfinished: u64,
    /// The sum of the sizes of all objects (file bytes).
    pub object_bytes: u64,
    /// Bytes of the slabs on hosts, with redundancy (absolute bytes).
    pub sector_bytes: u64,
    /// The health of the least healthy object, from 0 to 1.
    pub min_health: f64,
}

impl From<ObjectStats> for ObjectTotals {
    fn from(stats: ObjectStats) -> Self {
        Self {
            count: stats.num_objects,
            unfinished: stats.num_unfinished_objects,
            object_bytes: stats.objects_bytes,
            sector_bytes: stats.sectors_bytes,
            min_health: stats.min_health,
        }
    }
}

impl Sample {
    /// Creates the sample of a poll that ended at `timestamp`.
    #[must_use]
    pub fn new(
        timestamp: UtcSecond,
        contracts: Option<ContractTotals>,
        objects: Option<ObjectTotals>,
        wallet: Option<Wallet>,
        waiting_bytes: Option<u64>,
        api_latency: Duration,
    ) -> Self {
        let api_latency_us = u64::try_from(api_latency.as_micros()).ok();
        Self { timestamp: Some(timestamp), contracts, objects, wallet, waiting_bytes, api_latency_us }
    }

    /// Returns the sum of fees and spending; `None` if it is unknown.
    #[must_use]
    pub fn total_spending(&self) -> Option<Hastings> {
        let contracts = self.contracts?;
        contracts.fees.checked_add(contracts.spending.total()?)
    }

    /// Returns the instructions for appending samples to a table that may already exist. `first` is the beginning of
    /// the file: at least 1 KiB, or the whole file if the file is shorter. `last` is the last byte of the file.
    ///
    /// # Errors
    /// Returns an error if the file has a different header.
    pub fn append(first: &[u8], last: Option<u8>) -> Result<Append, OtherHeader> {
        table::append(&COLUMNS, first, last)
    }

    /// Formats the sample as a row without a line end. Unknown values are blank.
    #[must_use]
    pub fn row(&self) -> String {
        let mut row = self.timestamp.map(|timestamp| timestamp.to_string()).unwrap_or_default();
        let mut cell = |value: Option<&dyn Display>| {
            row.push(',');
            if let Some(value) = value {
                // Writing to a string cannot fail.
                let _ = write!(row, "{value}");
            }
        };
        let (contracts, objects, wallet) = (self.contracts.as_ref(), self.objects.as_ref(), self.wallet.as_ref());
        let (total, latency) = (self.total_spending(), self.api_latency_us.map(milliseconds));
        cell(contracts.map(|contracts| &contracts.count as _));
        cell(contracts.map(|contracts| &contracts.size_bytes as _));
        cell(objects.map(|objects| &objects.count as _));
        cell(objects.map(|objects| &objects.unfinished as _));
        cell(objects.map(|objects| &objects.object_bytes as _));
        cell(objects.map(|objects| &objects.sector_bytes as _));
        cell(objects.map(|objects| &objects.min_health as _));
        cell(contracts.map(|contracts| &contracts.fees as _));
        cell(contracts.map(|contracts| &contracts.spending.uploads as _));
        cell(contracts.map(|contracts| &contracts.spending.fund_account as _));
        cell(contracts.map(|contracts| &contracts.spending.deletions as _));
        cell(contracts.map(|contracts| &contracts.spending.sector_roots as _));
        cell(total.as_ref().map(|total| total as _));
        cell(contracts.map(|contracts| &contracts.remaining as _));
        cell(wallet.map(|wallet| &wallet.spendable as _));
        cell(wallet.map(|wallet| &wallet.confirmed as _));
        cell(wallet.map(|wallet| &wallet.unconfirmed as _));
        cell(wallet.map(|wallet| &wallet.immature as _));
        cell(self.waiting_bytes.as_ref().map(|bytes| bytes as _));
        cell(latency.as_ref().map(|text| text as _));
        row
    }

    /// Parses a row of a table. If one cell of a group (contracts, objects or wallet) is blank, the whole group is
    /// unknown.
    ///
    /// # Errors
    /// Returns an error if the row has the wrong number of cells, or if a cell is not valid for its column.
    pub fn parse_row(row: &str) -> Result<Self, TableError> {
        let cells: [&str; COLUMNS.len()] = table::cells(row)?;
        let number = |index: usize| table::cell::<u64>(COLUMNS[index], cells[index]);
        let amount = |index: usize| table::cell::<Hastings>(COLUMNS[index], cells[index]);
        let remaining = table::cell::<SignedHastings>(COLUMNS[14], cells[14])?;
        let spent = [amount(9)?, amount(10)?, amount(11)?, amount(12)?];
        let contracts = match (number(1)?, number(2)?, amount(8)?, spent, remaining) {
            (
                Some(count),
                Some(size_bytes),
                Some(fees),
                [Some(uploads), Some(fund_account), Some(deletions), Some(sector_roots)],
                Some(remaining),
            ) => {
                let spending = Spending { uploads, fund_account, deletions, sector_roots };
                Some(ContractTotals { count, size_bytes, fees, spending, remaining })
            }
            _ => None,
        };
        let min_health = table::cell::<f64>(COLUMNS[7], cells[7])?;
        if min_health.is_some_and(|health| !health.is_finite()) {
            return Err(table::not_finite(COLUMNS[7], cells[7]));
        }
        let objects = match (number(3)?, number(4)?, number(5)?, number(6)?, min_health) {
            (Some(count), Some(unfinished), Some(object_bytes), Some(sector_bytes), Some(min_health)) => {
                Some(ObjectTotals { count, unfinished, object_bytes, sector_bytes, min_health })
            }
            _ => None,
        };
        let wallet = match (amount(15)?, amount(16)?, amount(17)?, amount(18)?) {
            (Some(spendable), Some(confirmed), Some(unconfirmed), Some(immature)) => {
                Some(Wallet { spendable, confirmed, unconfirmed, immature })
            }
            _ => None,
        };
        let timestamp = table::cell(COLUMNS[0], cells[0])?;
        let (waiting_bytes, api_latency_us) = (number(19)?, microseconds(cells[20])?);
        Ok(Self { timestamp, contracts, objects, wallet, waiting_bytes, api_latency_us })
    }
}

/// Formats microseconds as milliseconds.
fn milliseconds(microseconds: u64) -> String {
    format!("{}.{:03}", microseconds / 1000, microseconds % 1000)
}

/// Parses milliseconds; `None` if the cell is blank. Collectors write the digits of a double, such as
/// `37.150000000000006`, so the value is rounded to microseconds.
fn microseconds(text: &str) -> Result<Option<u64>, TableError> {
    let Some(milliseconds) = table::cell::<f64>(COLUMNS[20], text)? else { return Ok(None) };
    let microseconds = (milliseconds * 1000.0).round();
    if !(0.0..=u64::MAX as f64).contains(&microseconds) {
        return Err(table::not_finite(COLUMNS[20], text));
    }
    Ok(Some(microseconds as u64))
}
