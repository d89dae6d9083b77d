//! The target's own ledger of a fill as JSON.

use crate::fill::{Costs, LedgerReport, LedgerSpending, RedundancyOfFiles, hastings};
use cost::Money;
use cost::study_table::Row;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use store::SavedFill;

/// The target's own ledger of a fill, from snapshots before and after its sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonLedger {
    /// The target: `siad` or `renterd`.
    pub system: String,
    /// Wall time of the first snapshot, in milliseconds since 1970.
    pub first_unix_ms: u64,
    /// Wall time of the last snapshot, in milliseconds since 1970.
    pub last_unix_ms: u64,
    /// Number of snapshots.
    pub snapshots: u64,
    /// Money spent between the first and the last snapshot. Null if no snapshot has both contracts and wallet.
    pub spending: Option<JsonSpending>,
    /// Number of contracts; null if it is not known.
    pub contracts: Option<u64>,
    /// Bytes that the fill has added on hosts, including padding and redundancy; null if not known.
    pub absolute_bytes: Option<u64>,
    /// Bytes of files that wait to be packed at the last snapshot, and are not on hosts yet; null if the target does not
    /// report it.
    pub waiting_bytes: Option<u64>,
    /// Bytes of stored files divided by `absolute_bytes`. Null if `absolute_bytes` is 0 or null.
    pub storage_efficiency: Option<f64>,
    /// Redundancy that the target's settings require; null if not known.
    pub target_redundancy: Option<f64>,
    /// Redundancy of the files; null if the target does not report it.
    pub redundancy: Option<RedundancyOfFiles>,
    /// Health of the least healthy object, from 0 to 1; null if the target does not report it.
    pub min_health: Option<f64>,
    /// Number of times that the target restarted between two snapshots. Several restarts between the same two snapshots
    /// count once. Null if not known.
    pub restarts: Option<u64>,
    /// Documents that are missing in the last snapshot, with the reasons.
    pub missing: Vec<String>,
    /// The result table of the Sia study.
    pub study: Vec<JsonStudyRow>,
}

/// An exact amount of money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JsonAmount {
    /// Siacoins, as an exact decimal number.
    pub siacoins: String,
    /// Hastings; 10^24 of them are a siacoin.
    pub hastings: String,
}

/// The money that the target reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonSpending {
    /// Spending by component: storage, upload, download, fees, other.
    pub components: BTreeMap<String, JsonAmount>,
    /// Sum of the components.
    pub sum: JsonAmount,
    /// Fees divided by the sum; null if the sum is 0.
    pub fee_share: Option<f64>,
    /// Money in contracts that is neither spent nor remaining; null if the target does not report it.
    pub contract_gap: Option<JsonAmount>,
    /// Change of the money in wallet and contracts together. The change should be 0, because forming a contract only
    /// moves money.
    pub wealth_gap: Option<JsonAmount>,
    /// Names of sums that decreased, although they should not.
    pub decreases: Vec<String>,
}

/// A row of the result table of the Sia study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JsonStudyRow {
    /// Name of the row.
    pub name: String,
    /// The value as text, or the reason why there is none.
    pub value: String,
}

/// Returns the target's ledger as JSON; `None` if the fill has no snapshots.
pub(super) fn json_ledger(fill: &SavedFill, prices: &Costs) -> Option<JsonLedger> {
    let report = LedgerReport::of(fill, prices)?;
    let stored = report.stored;
    let efficiency = |absolute: u64| fill.state.totals.file_bytes as f64 / absolute as f64;
    let row = |row: Row| JsonStudyRow { name: row.name().to_owned(), value: report.study.cell(row).to_string() };
    Some(JsonLedger {
        system: report.system.name().to_owned(),
        first_unix_ms: report.unix_ms.0,
        last_unix_ms: report.unix_ms.1,
        snapshots: report.snapshots as u64,
        spending: report.spending.as_ref().map(spending),
        contracts: stored.contracts,
        absolute_bytes: stored.absolute_bytes,
        waiting_bytes: stored.waiting_bytes,
        storage_efficiency: stored.absolute_bytes.filter(|absolute| *absolute > 0).map(efficiency),
        target_redundancy: stored.target_redundancy,
        redundancy: stored.redundancy,
        min_health: stored.min_health,
        restarts: report.restarts,
        study: Row::PUBLISHED.into_iter().chain(Row::FURTHER).map(row).collect(),
        missing: report.gaps,
    })
}

fn amount(money: &Money) -> JsonAmount {
    JsonAmount { siacoins: money.amount.to_string(), hastings: hastings(money) }
}

fn spending(LedgerSpending { bill, start, end }: &LedgerSpending) -> JsonSpending {
    let component = |component: &cost::Component| {
        bill.amount(*component).map(|money| (component.name().to_owned(), amount(&money)))
    };
    JsonSpending {
        components: bill.charges.keys().filter_map(component).collect(),
        sum: amount(&bill.total().money),
        fee_share: bill.fee_share().and_then(|part| part.to_decimal(9).parse().ok()),
        contract_gap: end.contract_gap().as_ref().map(amount),
        wealth_gap: start.wealth_gap(end).ok().as_ref().map(amount),
        decreases: start.decreases(end).unwrap_or_default().into_iter().map(|fell| fell.name).collect(),
    }
}
