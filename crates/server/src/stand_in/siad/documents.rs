//! The JSON documents of the API.

use serde::{Serialize, Serializer};

use super::contracts::{Account, hastings};
use super::daemon::{Allowance, Daemon};
use super::files::File;
use crate::config::sia::SiadVersion;

const CONTRACT_LABEL: u64 = 0x5349_4144;

/// `GET /consensus`.
#[derive(Debug, Serialize)]
pub(super) struct Consensus {
    synced: bool,
    height: u64,
    currentblock: String,
    difficulty: &'static str,
}

impl Consensus {
    pub(super) fn of(daemon: &Daemon) -> Self {
        let height = daemon.height();
        Self { synced: daemon.is_synced(), height, currentblock: format!("{height:064x}"), difficulty: "1234567890" }
    }
}

/// `GET /wallet`.
#[derive(Debug, Serialize)]
pub(super) struct Wallet {
    encrypted: bool,
    unlocked: bool,
    rescanning: bool,
    #[serde(serialize_with = "hastings")]
    confirmedsiacoinbalance: u128,
    unconfirmedoutgoingsiacoins: &'static str,
    unconfirmedincomingsiacoins: &'static str,
    siafundbalance: &'static str,
    siacoinclaimbalance: &'static str,
}

impl Wallet {
    pub(super) fn of(daemon: &Daemon) -> Self {
        Self {
            encrypted: true,
            unlocked: daemon.unlocked,
            rescanning: false,
            confirmedsiacoinbalance: daemon.balance(),
            unconfirmedoutgoingsiacoins: "0",
            unconfirmedincomingsiacoins: "0",
            siafundbalance: "0",
            siacoinclaimbalance: "0",
        }
    }
}

/// `GET /renter`.
#[derive(Debug, Serialize)]
pub(super) struct Renter {
    settings: Settings,
    financialmetrics: Metrics,
    currentperiod: u64,
}

#[derive(Debug, Serialize)]
struct Settings {
    allowance: ShownAllowance,
}

#[derive(Debug, Serialize)]
struct ShownAllowance {
    #[serde(serialize_with = "hastings")]
    funds: u128,
    hosts: u64,
    period: u64,
    renewwindow: u64,
}

#[derive(Debug, Serialize)]
struct Metrics {
    #[serde(serialize_with = "hastings")]
    contractspending: u128,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_hastings")]
    contractfees: Option<u128>,
    #[serde(serialize_with = "hastings")]
    downloadspending: u128,
    #[serde(serialize_with = "hastings")]
    storagespending: u128,
    #[serde(serialize_with = "hastings")]
    uploadspending: u128,
    #[serde(serialize_with = "hastings")]
    unspent: u128,
}

fn some_hastings<S: Serializer>(amount: &Option<u128>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&amount.unwrap_or_default())
}

impl Renter {
    pub(super) fn of(daemon: &Daemon) -> Self {
        let allowance = daemon.allowance.map_or(
            ShownAllowance { funds: 0, hosts: 0, period: 0, renewwindow: 0 },
            |Allowance { funds, hosts, period_blocks, renew_window_blocks }| ShownAllowance {
                funds,
                hosts,
                period: period_blocks,
                renewwindow: renew_window_blocks,
            },
        );
        let accounts = || (0..daemon.contract_count()).filter_map(|index| daemon.account(index));
        let sum = |part: fn(Account) -> u128| accounts().map(part).sum::<u128>();
        let spent = daemon.terms().map_or(0, |terms| terms.cost * u128::from(daemon.contract_count()));
        let later = daemon.config.version == SiadVersion::V1_3_7;
        let financialmetrics = Metrics {
            contractspending: spent,
            contractfees: later.then(|| sum(|account| account.fees)),
            downloadspending: sum(|account| account.download),
            storagespending: sum(|account| account.storage),
            uploadspending: sum(|account| account.upload),
            unspent: allowance.funds.saturating_sub(spent) + sum(|account| account.remaining),
        };
        Self { settings: Settings { allowance }, financialmetrics, currentperiod: daemon.height() }
    }
}

/// `GET /renter/contracts`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Contracts {
    Until132 {
        contracts: Vec<Contract>,
    },
    Later {
        contracts: Vec<Contract>,
        activecontracts: Vec<Contract>,
        inactivecontracts: [Contract; 0],
        expiredcontracts: [Contract; 0],
    },
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Contract {
    #[serde(serialize_with = "hastings")]
    downloadspending: u128,
    endheight: u64,
    #[serde(serialize_with = "hastings")]
    fees: u128,
    id: String,
    lasttransaction: Empty,
    netaddress: String,
    #[serde(serialize_with = "hastings")]
    renterfunds: u128,
    size: u64,
    startheight: u64,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_hastings")]
    storagespending: Option<u128>,
    #[serde(rename = "StorageSpending", serialize_with = "hastings")]
    storage_spending_deprecated: u128,
    #[serde(serialize_with = "hastings")]
    totalcost: u128,
    #[serde(serialize_with = "hastings")]
    uploadspending: u128,
    #[serde(skip_serializing_if = "Option::is_none")]
    goodforupload: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goodforrenew: Option<bool>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Empty {}

impl Contracts {
    pub(super) fn of(daemon: &Daemon) -> Self {
        let later = daemon.config.version == SiadVersion::V1_3_7;
        let contract = |index| {
            let (account, terms) = (daemon.account(index)?, daemon.terms()?);
            let start = daemon.height();
            Some(Contract {
                downloadspending: account.download,
                endheight: start.saturating_add(terms.period_blocks),
                fees: account.fees,
                id: format!("{CONTRACT_LABEL:032x}{index:032x}"),
                lasttransaction: Empty {},
                netaddress: format!("host-{index}.example:9982"),
                renterfunds: account.remaining,
                size: account.sectors * super::contracts::SECTOR_BYTES,
                startheight: start,
                storagespending: later.then_some(account.storage),
                storage_spending_deprecated: account.storage,
                totalcost: terms.cost,
                uploadspending: account.upload,
                goodforupload: later.then_some(true),
                goodforrenew: later.then_some(true),
            })
        };
        let contracts: Vec<Contract> = (0..daemon.contract_count()).filter_map(contract).collect();
        if !later {
            return Self::Until132 { contracts };
        }
        let (inactivecontracts, expiredcontracts) = ([], []);
        Self::Later { activecontracts: contracts.clone(), contracts, inactivecontracts, expiredcontracts }
    }
}

/// `GET /renter/files`. Without files, the list is `null`.
#[derive(Debug, Serialize)]
pub(super) struct Files<'a> {
    files: Option<Vec<FileInfo<'a>>>,
}

#[derive(Debug, Serialize)]
struct FileInfo<'a> {
    siapath: &'a str,
    localpath: String,
    filesize: u64,
    available: bool,
    renewing: bool,
    redundancy: f64,
    uploadedbytes: u64,
    uploadprogress: f64,
    expiration: u64,
}

impl<'a> Files<'a> {
    pub(super) fn of(daemon: &'a Daemon) -> Self {
        let expiration = daemon.height().saturating_add(daemon.terms().map_or(0, |terms| terms.period_blocks));
        let info = |(name, file): (&'a String, &'a File)| FileInfo {
            siapath: name,
            localpath: file.source.to_string_lossy().into_owned(),
            filesize: file.bytes,
            available: file.is_available(),
            renewing: true,
            redundancy: file.redundancy(),
            uploadedbytes: file.uploaded_bytes(),
            uploadprogress: file.progress_percent(),
            expiration,
        };
        let files: Vec<_> = daemon.files.iter().map(info).collect();
        Self { files: Some(files).filter(|files| !files.is_empty()) }
    }
}
