//! Samples of siad's state, in the format of the study's collector.

use std::fmt::Write;
use std::time::Duration;

use super::{ContractTotals, FileTotals, Wallet};
use crate::amount::Hastings;
use crate::number::python_repr;
use crate::table::{self, Append, OtherHeader, TableError};
use crate::timestamp::UtcSecond;

/// The columns of a table of samples. Amounts are in hastings, and the latency is in milliseconds.
pub const COLUMNS: [&str; 17] = [
    "timestamp",
    "contract_count",
    "file_count",
    "uploads_in_progress_count",
    "total_contract_size",
    "total_file_bytes",
    "uploaded_bytes",
    "total_contract_spending",
    "contract_fee_spending",
    "storage_spending",
    "upload_spending",
    "download_spending",
    "remaining_renter_funds",
    "wallet_siacoin_balance",
    "wallet_outgoing_siacoins",
    "wallet_incoming_siacoins",
    "api_latency",
];

/// Results of polling `/renter/contracts`, `/renter/files` and `/wallet` once, in this order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The time at the end of the poll; `None` if the cell in the table is blank.
    pub timestamp: Option<UtcSecond>,
    /// Totals over contracts; `None` if this request failed.
    pub contracts: Option<ContractTotals>,
    /// Totals over files; `None` if this request failed.
    pub files: Option<FileTotals>,
    /// The wallet; `None` if this request failed.
    pub wallet: Option<WalletTotals>,
    /// The total time of all requests, in milliseconds.
    pub api_latency_ms: Option<f64>,
}

/// The balance of a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalletTotals {
    /// The balance in confirmed blocks.
    pub confirmed: Hastings,
    /// Unconfirmed payments: all money that they take from the wallet, including the change that will return.
    pub outgoing: Hastings,
    /// Unconfirmed receipts, including the change of unconfirmed payments.
    pub incoming: Hastings,
}

impl From<Wallet> for WalletTotals {
    fn from(Wallet { confirmed, outgoing, incoming, .. }: Wallet) -> Self {
        Self { confirmed, outgoing, incoming }
    }
}

/// Converts a time to milliseconds. The study's collector converted microseconds to seconds and then multiplied by
/// 1000. This function does the same, so that the rounding is the same.
#[must_use]
pub fn collector_ms(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e6 * 1000.0
}

impl Sample {
    /// Creates the sample of a poll that ended at `timestamp`.
    #[must_use]
    pub fn new(
        timestamp: UtcSecond,
        contracts: Option<ContractTotals>,
        files: Option<FileTotals>,
        wallet: Option<WalletTotals>,
        api_latency: Duration,
    ) -> Self {
        let api_latency_ms = Some(collector_ms(api_latency));
        Self { timestamp: Some(timestamp), contracts, files, wallet, api_latency_ms }
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
        let mut cell = |value: Option<&dyn std::fmt::Display>| {
            row.push(',');
            if let Some(value) = value {
                // Writing to a string cannot fail.
                let _ = write!(row, "{value}");
            }
        };
        let (contracts, files, wallet) = (self.contracts.as_ref(), self.files.as_ref(), self.wallet.as_ref());
        let file_bytes = files.map(FileTotals::file_bytes_text);
        cell(contracts.map(|contracts| &contracts.count as _));
        cell(files.map(|files| &files.count as _));
        cell(files.map(|files| &files.in_progress as _));
        cell(contracts.map(|contracts| &contracts.size_bytes as _));
        cell(file_bytes.as_ref().map(|text| text as _));
        cell(files.map(|files| &files.uploaded_bytes as _));
        cell(contracts.map(|contracts| &contracts.total_cost as _));
        cell(contracts.map(|contracts| &contracts.fees as _));
        cell(contracts.map(|contracts| &contracts.storage as _));
        cell(contracts.map(|contracts| &contracts.upload as _));
        cell(contracts.map(|contracts| &contracts.download as _));
        cell(contracts.map(|contracts| &contracts.remaining as _));
        cell(wallet.map(|wallet| &wallet.confirmed as _));
        cell(wallet.map(|wallet| &wallet.outgoing as _));
        cell(wallet.map(|wallet| &wallet.incoming as _));
        let latency = self.api_latency_ms.map(python_repr);
        cell(latency.as_ref().map(|text| text as _));
        row
    }

    /// Parses a row of a table. If one cell of a group (contracts, files or wallet) is blank, the whole group is
    /// unknown.
    ///
    /// # Errors
    /// Returns an error if the row has the wrong number of cells, or if a cell is not valid for its column.
    pub fn parse_row(row: &str) -> Result<Self, TableError> {
        let cells: [&str; COLUMNS.len()] = table::cells(row)?;
        let number = |index: usize| table::cell::<u64>(COLUMNS[index], cells[index]);
        let amount = |index: usize| table::cell::<Hastings>(COLUMNS[index], cells[index]);
        let float = |index: usize| match table::cell::<f64>(COLUMNS[index], cells[index])? {
            Some(number) if !number.is_finite() => Err(table::not_finite(COLUMNS[index], cells[index])),
            number => Ok(number),
        };
        let spending = [amount(7)?, amount(8)?, amount(9)?, amount(10)?, amount(11)?, amount(12)?];
        let contracts = match (number(1)?, number(4)?, spending) {
            (
                Some(count),
                Some(size_bytes),
                [Some(total_cost), Some(fees), Some(storage), Some(upload), Some(download), Some(remaining)],
            ) => Some(ContractTotals { count, size_bytes, total_cost, fees, storage, upload, download, remaining }),
            _ => None,
        };
        let files = match (number(2)?, number(3)?, float(5)?, number(6)?) {
            (Some(count), Some(in_progress), Some(file_bytes), Some(uploaded_bytes)) => {
                Some(FileTotals { count, in_progress, file_bytes, uploaded_bytes })
            }
            _ => None,
        };
        let wallet = match (amount(13)?, amount(14)?, amount(15)?) {
            (Some(confirmed), Some(outgoing), Some(incoming)) => Some(WalletTotals { confirmed, outgoing, incoming }),
            _ => None,
        };
        let timestamp = table::cell(COLUMNS[0], cells[0])?;
        Ok(Self { timestamp, contracts, files, wallet, api_latency_ms: float(16)? })
    }
}

impl FileTotals {
    /// Formats the file bytes. The study's collector added floating-point numbers to the integer 0. If there were no
    /// files, the collector therefore wrote a sum of 0 without a decimal point.
    fn file_bytes_text(&self) -> String {
        if self.count == 0 && self.file_bytes == 0.0 { "0".to_owned() } else { python_repr(self.file_bytes) }
    }
}
