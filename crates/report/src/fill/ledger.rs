//! The target's own ledger of a fill, computed from snapshots. The ledger contains spending, contracts, stored bytes
//! and redundancy.

use super::{Costs, Pace};
use cost::study_table::{Download, StudyInputs, StudyMoney};
use cost::{Bill, Component, Currency, Exact, Hours, Ledger, Money, Months};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sia::siad;
use sia::snapshot::{Snapshot as Documents, System};
use std::time::Duration;
use store::fill_directory::Snapshot;
use store::{SavedFill, SavedRun};

/// Blocks of Sia per hour.
const BLOCKS_PER_HOUR: u64 = 6;
/// Power of ten between hastings and siacoins.
const HASTINGS_EXPONENT: u32 = 24;
/// Maximum error of a file's redundancy by rounding.
const ROUNDING: f64 = 1e-6;

/// The moment of a snapshot within its session. The order of the variants is the order in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Before,
    /// After the uploads, before objects are deleted.
    Uploaded,
    After,
}

/// The target's own ledger of a fill.
#[derive(Clone, Debug)]
pub struct LedgerReport {
    /// The target.
    pub system: System,
    /// Wall times of the first and the last snapshot, in milliseconds since 1970.
    pub unix_ms: (u64, u64),
    /// Number of snapshots.
    pub snapshots: usize,
    /// Money spent; `None` if no snapshot has both contracts and wallet.
    pub spending: Option<LedgerSpending>,
    /// Contents of the target.
    pub stored: StoredAtTarget,
    /// Number of times that the target restarted between two snapshots; `None` if the target does not report its start.
    pub restarts: Option<u64>,
    /// Documents that are missing in the last snapshot, with the reasons.
    pub gaps: Vec<String>,
    /// Inputs of the study's table.
    pub study: StudyInputs,
}

/// The money that a target has spent during a fill.
#[derive(Clone, Debug)]
pub struct LedgerSpending {
    /// Spending by component.
    pub bill: Bill,
    /// Ledger at the first snapshot.
    pub start: Ledger,
    /// Ledger at the last snapshot.
    pub end: Ledger,
}

/// Contents of a target that belong to a fill.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoredAtTarget {
    /// Number of contracts.
    pub contracts: Option<u64>,
    /// Bytes that the fill has added on hosts, including padding and redundancy.
    pub absolute_bytes: Option<u64>,
    /// Bytes of files that wait to be packed, and are not on hosts yet. Only renterd packs files.
    pub waiting_bytes: Option<u64>,
    /// Redundancy that the settings require: the number of pieces of a chunk, divided by the number of pieces needed to
    /// restore the chunk.
    pub target_redundancy: Option<f64>,
    /// Redundancy of the fill's files.
    pub redundancy: Option<RedundancyOfFiles>,
    /// Health of the least healthy object, from 0 to 1.
    pub min_health: Option<f64>,
}

/// Redundancy of the files of a fill, without empty files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JsonRedundancy")]
pub struct RedundancyOfFiles {
    /// Number of files.
    pub files: u64,
    /// Lowest redundancy.
    pub min: f64,
    /// Median redundancy.
    pub median: f64,
    /// Mean redundancy.
    pub mean: f64,
    /// Highest redundancy.
    pub max: f64,
    /// Number of files with more redundancy than the settings require.
    pub above_target: u64,
}

impl LedgerReport {
    /// Computes the report from the snapshots of a fill; `None` if there are no snapshots.
    #[must_use]
    pub fn of(fill: &SavedFill, prices: &Costs) -> Option<Self> {
        let placed = in_order(&fill.snapshots);
        let last = placed.iter().rev().find_map(Placed::read)?;
        let first = placed.iter().find_map(Placed::with_ledger).unwrap_or_else(|| last.clone());
        let full = placed.iter().rev().find_map(Placed::with_ledger).unwrap_or_else(|| last.clone());
        let undeleted = || placed.iter().rfind(|placed| placed.moment == Moment::Uploaded)?.read();
        let holding = if !fill.state.deleted.is_empty() { undeleted() } else { None };
        let mut stored = StoredAtTarget::between(&first, holding.as_ref().unwrap_or(&full), fill);
        // Spending is the difference between two snapshots. A session that still runs, or was killed, may have only
        // one, so its spending is not known.
        let is_one = first.unix_ms == full.unix_ms;
        let spending = if is_one { None } else { LedgerSpending::between(&first, &full) };
        if is_one {
            stored.absolute_bytes = None;
        }
        let restarts = (last.system == System::Renterd).then(|| restarts(&placed)).flatten();
        let contract = full.contract_blocks().map(months_of_blocks);
        let study = study_inputs(fill, prices, &stored, (spending.as_ref(), contract, restarts));
        Some(Self {
            system: last.system,
            unix_ms: (first.unix_ms, last.unix_ms),
            snapshots: placed.len(),
            spending,
            stored,
            restarts,
            gaps: last.missing.iter().map(|(name, why)| format!("{name}: {why}")).collect(),
            study,
        })
    }
}

/// Returns the ledger of a snapshot; `None` if the snapshot lacks contracts or wallet.
#[must_use]
pub fn ledger(documents: &Documents) -> Option<Ledger> {
    match documents.system {
        System::Siad => Ledger::of_siad(&documents.siad_sample()?),
        System::Renterd => Ledger::of_renterd(&documents.renterd_sample()?),
    }
}

/// Returns the ledger of the first snapshot that has both contracts and wallet.
#[must_use]
pub fn first_ledger(snapshots: &[Snapshot]) -> Option<Ledger> {
    in_order(snapshots).iter().find_map(Placed::with_ledger).and_then(|documents| ledger(&documents))
}

/// Returns an amount of siacoins in hastings.
pub(crate) fn hastings(money: &Money) -> String {
    (&money.amount * &Exact::from(10_u128.pow(HASTINGS_EXPONENT))).to_string()
}

/// A snapshot, and its place in the fill.
struct Placed<'a> {
    session: u32,
    moment: Moment,
    snapshot: &'a Snapshot,
}

impl<'a> Placed<'a> {
    /// Returns the place of a snapshot; `None` if the file is not a snapshot.
    fn of(snapshot: &'a Snapshot) -> Option<Self> {
        let (moment, session) = snapshot.name.rsplit_once('-')?;
        let moment = match moment {
            "before" => Moment::Before,
            "uploaded" => Moment::Uploaded,
            "after" => Moment::After,
            _ => return None,
        };
        Some(Self { session: session.parse().ok()?, moment, snapshot })
    }

    fn read(&self) -> Option<Documents> {
        Documents::parse(&self.snapshot.read().ok()?)
    }

    /// Reads the snapshot, if it has contracts and wallet.
    fn with_ledger(&self) -> Option<Documents> {
        self.read().filter(|documents| ledger(documents).is_some())
    }
}

/// Returns the snapshots in the order in which they were taken.
fn in_order(snapshots: &[Snapshot]) -> Vec<Placed<'_>> {
    let mut placed: Vec<_> = snapshots.iter().filter_map(Placed::of).collect();
    placed.sort_by_key(|placed| (placed.session, placed.moment));
    placed
}

/// Returns the number of times that the target's start time changed; `None` if no snapshot has a start time.
fn restarts(placed: &[Placed<'_>]) -> Option<u64> {
    let mut times: Vec<String> =
        placed.iter().filter_map(|placed| Some(placed.read()?.started()?.to_owned())).collect();
    times.dedup();
    (times.len() as u64).checked_sub(1)
}

fn months_of_blocks(blocks: u64) -> Months {
    let hours = Exact::from(blocks).checked_div(&Exact::from(BLOCKS_PER_HOUR));
    Months::from(&Hours(hours.unwrap_or_else(Exact::zero)))
}

impl LedgerSpending {
    fn between(first: &Documents, last: &Documents) -> Option<Self> {
        let (start, end) = (ledger(first)?, ledger(last)?);
        let bill = start.spent_until(&end, first.system.name()).ok()?;
        Some(Self { bill, start, end })
    }
}

impl StoredAtTarget {
    fn between(first: &Documents, last: &Documents, fill: &SavedFill) -> Self {
        match last.system {
            System::Siad => Self::at_siad(first, last, fill),
            System::Renterd => Self::at_renterd(first, last),
        }
    }

    fn at_siad(first: &Documents, last: &Documents, fill: &SavedFill) -> Self {
        let bytes = |documents: &Documents| Some(documents.siad_sample()?.files?.uploaded_bytes);
        let usual = siad::Redundancy::default();
        let target = 1.0 + usual.parity as f64 / usual.data.get() as f64;
        let files = last.siad_files().ok();
        let prefix = siad::siapath_of_upload(&fill.identity.target).unwrap_or_default();
        Self {
            contracts: last.siad_sample().and_then(|sample| Some(sample.contracts?.count)),
            absolute_bytes: bytes(first).zip(bytes(last)).map(|(before, after)| after.saturating_sub(before)),
            waiting_bytes: None,
            target_redundancy: Some(target),
            redundancy: files.and_then(|files| RedundancyOfFiles::of(&files, &prefix, target)),
            min_health: None,
        }
    }

    fn at_renterd(first: &Documents, last: &Documents) -> Self {
        let objects = |documents: &Documents| documents.renterd_sample()?.objects;
        let bytes = |documents: &Documents| Some(objects(documents)?.sector_bytes);
        let shards = last.renterd_redundancy().filter(|shards| shards.min_shards > 0);
        Self {
            contracts: last.renterd_sample().and_then(|sample| Some(sample.contracts?.count)),
            absolute_bytes: bytes(first).zip(bytes(last)).map(|(before, after)| after.saturating_sub(before)),
            waiting_bytes: last.renterd_sample().and_then(|sample| sample.waiting_bytes),
            target_redundancy: shards.map(|shards| shards.total_shards as f64 / shards.min_shards as f64),
            redundancy: None,
            min_health: objects(last).map(|objects| objects.min_health),
        }
    }
}

impl RedundancyOfFiles {
    /// Returns the redundancy of the files whose names begin with `prefix`; `None` if there are none.
    fn of(files: &siad::Files, prefix: &str, target: f64) -> Option<Self> {
        let own = files.files.iter().filter(|file| file.bytes > 0 && file.siapath.starts_with(prefix));
        let mut each: Vec<f64> = own.map(|file| file.redundancy).collect();
        each.sort_by(f64::total_cmp);
        let (min, max) = (*each.first()?, *each.last()?);
        let middle = each.len() / 2;
        let median = if each.len() % 2 == 1 { each[middle] } else { f64::midpoint(each[middle - 1], each[middle]) };
        let above_target = each.iter().filter(|redundancy| **redundancy > target + ROUNDING).count() as u64;
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        Some(Self { files: each.len() as u64, min, median, mean, max, above_target })
    }
}

/// The money of a fill, the length of a contract, and the restarts of the target.
type StudyFacts<'a> = (Option<&'a LedgerSpending>, Option<Months>, Option<u64>);

fn study_inputs(
    fill: &SavedFill,
    prices: &Costs,
    stored: &StoredAtTarget,
    (spending, contract, restarts): StudyFacts<'_>,
) -> StudyInputs {
    let pace = Pace::of(fill);
    let rate = prices.sheets.first().and_then(|sheet| sheet.rates.between(Currency::SIACOIN, sheet.currency));
    let money = spending.zip(contract).and_then(|(LedgerSpending { start, end, .. }, contract)| {
        StudyMoney::of_ledgers(start, end, rate.cloned(), contract).ok()
    });
    StudyInputs {
        file_bytes: fill.state.totals.file_bytes,
        absolute_bytes: stored.absolute_bytes,
        files: fill.state.totals.objects,
        contracts: stored.contracts,
        money,
        wall_time: Hours::from(pace.wall),
        active_time: Some(Hours::from(pace.uploading)),
        unplanned_restarts: restarts,
        files_above_target: stored.redundancy.map(|redundancy| redundancy.above_target),
        download: download(fill, spending),
    }
}

/// Returns the bytes, duration and cost of reading objects back; `None` if no object was read back.
fn download(fill: &SavedFill, spending: Option<&LedgerSpending>) -> Option<Download> {
    let (mut bytes, mut time) = (0, Duration::ZERO);
    for (_, directory) in &fill.sessions {
        let Ok(SavedRun { summary, .. }) = SavedRun::read(&directory.join("verify")) else { continue };
        bytes += summary.measured.traffic.body.saturating_sub(summary.stats.traffic.wasted);
        time += Duration::try_from_secs_f64(summary.measured.seconds).unwrap_or_default();
    }
    let bill = spending.map(|spending| &spending.bill);
    // renterd pays downloads from prepaid accounts, and does not report their cost.
    let bill = bill.filter(|bill| bill.charges.contains_key(&Component::Download));
    let cost = bill.and_then(|bill| bill.amount(Component::Download));
    (bytes > 0).then(|| Download { bytes, time: Hours::from(time), cost })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sia::siad::{FileInfo, Files};

    #[test]
    fn redundancy_is_that_of_the_fills_own_files() {
        let file = |name: &'static str, bytes, redundancy| FileInfo {
            siapath: name.into(),
            bytes,
            available: true,
            redundancy,
            uploaded_bytes: 0,
            progress_percent: 100.0,
        };
        let files = vec![file("a/1", 1, 3.0), file("a/2", 1, 2.8), file("a/3", 1, 3.1), file("a/empty", 0, -1.0)];
        let files = Files { files: [files, vec![file("b/1", 1, 1.0)]].concat() };
        let found = RedundancyOfFiles::of(&files, "a/", 3.0).unwrap();
        assert_eq!((found.files, found.min, found.median, found.max, found.above_target), (3, 2.8, 3.0, 3.1, 1));
        assert_eq!(RedundancyOfFiles::of(&files, "c/", 3.0), None);
    }

    #[test]
    fn snapshots_have_the_order_of_their_sessions() {
        let snapshot = |name: &str| Snapshot { name: name.to_owned(), path: name.into() };
        let names = ["after-0001", "after-0012", "before-0001", "before-0012", "other", "uploaded-0001"];
        let snapshots = names.map(snapshot);
        let order: Vec<&str> = in_order(&snapshots).iter().map(|placed| placed.snapshot.name.as_str()).collect();
        assert_eq!(order, ["before-0001", "uploaded-0001", "after-0001", "before-0012", "after-0012"]);
    }

    #[test]
    fn contracts_of_the_study_last_90_days() {
        assert_eq!(months_of_blocks(12_960), "90 days".parse().unwrap());
    }
}
