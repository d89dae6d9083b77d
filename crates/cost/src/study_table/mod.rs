//! The result table of the Sia study, computed for any run. The table has the 11 published rows, and further rows that
//! the study's author proposed.

mod money;
mod quantity;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Serialize, Serializer};

pub use quantity::Quantity;

use crate::exact::Exact;
use crate::formulas::{Outlay, OutlayError, bandwidth_bits_per_second, storage_efficiency};
use crate::money::{Money, Rate};
use crate::units::{DataUnit, Hours, Months};

/// The inputs of the table. `None` means that the run or its target did not report the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyInputs {
    /// The sum of the sizes of the uploaded files.
    pub file_bytes: u64,
    /// All bytes that the system stored for the files.
    pub absolute_bytes: Option<u64>,
    /// The number of uploaded files.
    pub files: u64,
    /// The number of contracts that were formed.
    pub contracts: Option<u64>,
    /// The cost of the run.
    pub money: Option<StudyMoney>,
    /// The time from start to end.
    pub wall_time: Hours,
    /// The time during which uploads ran.
    pub active_time: Option<Hours>,
    /// Unplanned restarts of the target. The study calls them crashes.
    pub unplanned_restarts: Option<u64>,
    /// Files with more redundancy than requested.
    pub files_above_target: Option<u64>,
    /// The data that was read back.
    pub download: Option<Download>,
}

/// The cost of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyMoney {
    /// Money that left the wallet: its balance at the start minus its balance at the end.
    pub left_wallet: Money,
    /// Money that remains in contracts and is expected back.
    pub remaining: Money,
    /// Spending on uploads, as reported by the target.
    pub upload: Option<Money>,
    /// Spending on fees, as reported by the target.
    pub fees: Option<Money>,
    /// Total spending, as reported by the target.
    pub reported: Option<Money>,
    /// The rate for converting to the currency of the report; `None` to keep the currency of the amounts.
    pub rate: Option<Rate>,
    /// The length of a contract.
    pub contract: Months,
}

/// The data read back, and its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// Bytes of files.
    pub bytes: u64,
    /// The duration of the downloads.
    pub time: Hours,
    /// The cost of the downloads.
    pub cost: Option<Money>,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Row {
    /// Uploaded file bytes.
    FileBytes,
    /// Bytes that the system stored.
    AbsoluteBytes,
    /// File bytes as a share of absolute bytes.
    StorageEfficiency,
    /// Number of files.
    Files,
    /// Number of contracts that were formed.
    Contracts,
    /// Money that left the wallet and does not come back.
    Spent,
    /// The cost per TB and month by the study's formula.
    CostPerTbMonth,
    /// Time from start to end.
    Time,
    /// File bytes per time.
    FileBandwidth,
    /// Absolute bytes per time.
    AbsoluteBandwidth,
    /// Unplanned restarts of the target.
    UnplannedRestarts,
    /// File bytes per time, counting only the time during which uploads ran.
    ActiveFileBandwidth,
    /// Fees as a share of total spending, as reported by the target.
    FeeShare,
    /// Files with more redundancy than requested.
    FilesAboveTarget,
    /// Downloaded bytes per time.
    DownloadBandwidth,
    /// The cost of downloading a TB.
    DownloadCost,
}

/// A cell of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// A value, sometimes in two units.
    Known(Vec<Quantity>),
    /// No value, with the reason.
    Missing(Missing),
}

/// The reason why a cell has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// An input is unknown.
    Input(&'static str),
    /// The row would divide by an input that is 0.
    Zero(&'static str),
    /// Amounts of money are in different currencies, or there is no rate between them.
    Money(OutlayError),
}

impl Row {
    /// The 11 rows of the published table.
    pub const PUBLISHED: [Self; 11] = [
        Self::FileBytes,
        Self::AbsoluteBytes,
        Self::StorageEfficiency,
        Self::Files,
        Self::Contracts,
        Self::Spent,
        Self::CostPerTbMonth,
        Self::Time,
        Self::FileBandwidth,
        Self::AbsoluteBandwidth,
        Self::UnplannedRestarts,
    ];

    /// Rows that the published table lacks.
    pub const FURTHER: [Self; 5] = [
        Self::ActiveFileBandwidth,
        Self::FeeShare,
        Self::FilesAboveTarget,
        Self::DownloadBandwidth,
        Self::DownloadCost,
    ];

    /// Returns the name of the row in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FileBytes => "Total uploaded (file bytes)",
            Self::AbsoluteBytes => "Total uploaded (absolute bytes)",
            Self::StorageEfficiency => "Storage efficiency",
            Self::Files => "Total files uploaded",
            Self::Contracts => "Total file contracts created",
            Self::Spent => "Total spent",
            Self::CostPerTbMonth => "Cost per TB and month",
            Self::Time => "Total test time",
            Self::FileBandwidth => "Average upload bandwidth (file data)",
            Self::AbsoluteBandwidth => "Average upload bandwidth (absolute)",
            Self::UnplannedRestarts => "Unplanned restarts of the target",
            Self::ActiveFileBandwidth => "Upload bandwidth while uploads ran (file data)",
            Self::FeeShare => "Fees as a share of spending",
            Self::FilesAboveTarget => "Files above target redundancy",
            Self::DownloadBandwidth => "Average download bandwidth (file data)",
            Self::DownloadCost => "Cost of downloading a TB",
        }
    }
}

/// Returns an input, or an error with the name of the input if it is unknown.
fn known<'i, T>(input: Option<&'i T>, name: &'static str) -> Result<&'i T, Missing> {
    input.ok_or(Missing::Input(name))
}

fn percent(share: &Exact) -> Quantity {
    Quantity::Percent(share * &Exact::from(100_u64))
}

impl StudyInputs {
    /// Returns the cell of a row.
    #[must_use]
    pub fn cell(&self, row: Row) -> Cell {
        match self.quantities(row) {
            Ok(quantities) => Cell::Known(quantities),
            Err(missing) => Cell::Missing(missing),
        }
    }

    fn quantities(&self, row: Row) -> Result<Vec<Quantity>, Missing> {
        let absolute_bytes = || known(self.absolute_bytes.as_ref(), "absolute bytes").copied();
        let quantity = match row {
            Row::FileBytes => Quantity::Bytes(self.file_bytes),
            Row::AbsoluteBytes => Quantity::Bytes(absolute_bytes()?),
            Row::StorageEfficiency => {
                let share = storage_efficiency(self.file_bytes, absolute_bytes()?);
                percent(&share.ok_or(Missing::Zero("absolute bytes"))?)
            }
            Row::Files => Quantity::Count(self.files),
            Row::Contracts => Quantity::Count(*known(self.contracts.as_ref(), "number of contracts")?),
            Row::Spent => return self.spent(),
            Row::CostPerTbMonth => self.cost_per_tb_month()?,
            Row::Time => Quantity::Time(self.wall_time.clone()),
            Row::FileBandwidth => bandwidth(self.file_bytes, &self.wall_time)?,
            Row::AbsoluteBandwidth => bandwidth(absolute_bytes()?, &self.wall_time)?,
            Row::UnplannedRestarts => {
                Quantity::Count(*known(self.unplanned_restarts.as_ref(), "restarts of the target")?)
            }
            Row::ActiveFileBandwidth => {
                bandwidth(self.file_bytes, known(self.active_time.as_ref(), "time during which uploads ran")?)?
            }
            Row::FeeShare => self.fee_share()?,
            Row::FilesAboveTarget => {
                Quantity::Count(*known(self.files_above_target.as_ref(), "redundancy of each file")?)
            }
            Row::DownloadBandwidth => {
                let download = known(self.download.as_ref(), "download")?;
                bandwidth(download.bytes, &download.time)?
            }
            Row::DownloadCost => self.download_cost()?,
        };
        Ok(vec![quantity])
    }

    fn money(&self) -> Result<&StudyMoney, Missing> {
        known(self.money.as_ref(), "spending")
    }

    fn spent(&self) -> Result<Vec<Quantity>, Missing> {
        let money = self.money()?;
        let spent = money.left_wallet.minus(&money.remaining).map_err(|error| Missing::Money(error.into()))?;
        let converted = money.rate.as_ref().map(|rate| rate.convert(&spent)).transpose();
        let converted = converted.map_err(|error| Missing::Money(error.into()))?;
        Ok([Some(spent), converted].into_iter().flatten().map(Quantity::Money).collect())
    }

    fn cost_per_tb_month(&self) -> Result<Quantity, Missing> {
        let money = self.money()?;
        let outlay = Outlay {
            left_wallet: money.left_wallet.clone(),
            remaining: money.remaining.clone(),
            upload: known(money.upload.as_ref(), "final upload spending")?.clone(),
        };
        let cost =
            outlay.per_tb_month(money.rate.as_ref(), self.file_bytes, &money.contract).map_err(Missing::Money)?;
        cost.map(Quantity::Money).ok_or(Missing::Zero("file bytes or length of a contract"))
    }

    fn fee_share(&self) -> Result<Quantity, Missing> {
        let money = self.money()?;
        let fees = known(money.fees.as_ref(), "fees")?;
        let reported = known(money.reported.as_ref(), "spending as reported by the target")?;
        let share = fees.ratio(reported).map_err(|error| Missing::Money(error.into()))?;
        Ok(percent(&share.ok_or(Missing::Zero("spending as reported by the target"))?))
    }

    fn download_cost(&self) -> Result<Quantity, Missing> {
        let download = known(self.download.as_ref(), "download")?;
        let cost = known(download.cost.as_ref(), "cost of the download")?;
        let terabytes = DataUnit::Terabyte.count(&Exact::from(download.bytes));
        let amount = cost.amount.checked_div(&terabytes).ok_or(Missing::Zero("downloaded bytes"))?;
        Ok(Quantity::Money(Money::new(amount, cost.currency)))
    }

    /// Returns the assumptions behind the table, as footnotes.
    #[must_use]
    pub fn footnotes(&self) -> Vec<String> {
        let Some(money) = &self.money else { return Vec::new() };
        let mut notes = vec![
            "Total spent is the money that left the wallet, minus the money in contracts that is assumed to come back."
                .to_owned(),
        ];
        if let Some(rate) = &money.rate {
            notes.push(format!("1 {} = {} {} on {}.", rate.from(), rate.value(), rate.to(), rate.date()));
        }
        notes.push(format!(
            "Cost per TB (10^12 bytes) and month is for contracts of {}. It includes fees and excludes uploads.",
            money.contract
        ));
        notes
    }
}

fn bandwidth(bytes: u64, time: &Hours) -> Result<Quantity, Missing> {
    bandwidth_bits_per_second(bytes, time).map(Quantity::BitsPerSecond).ok_or(Missing::Zero("time"))
}

impl fmt::Display for Cell {
    /// Formats the cell for people: `4,377.10 SC (61.06 USD)`, or the reason for a missing value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(missing) => write!(f, "n/a ({missing})"),
            Self::Known(quantities) => {
                for (index, quantity) in quantities.iter().enumerate() {
                    match index {
                        0 => write!(f, "{quantity}")?,
                        _ => write!(f, " ({quantity})")?,
                    }
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(name) => write!(f, "not known: {name}"),
            Self::Zero(name) => write!(f, "{name}: 0"),
            Self::Money(error) => error.fmt(f),
        }
    }
}

impl Serialize for Missing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
