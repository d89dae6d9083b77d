//! Snapshots of a renter: the documents of its API at one moment, as they were received, and functions that interpret
//! them.
//!
//! A snapshot keeps whole documents, so that later versions of this program can read more from it. If a request failed,
//! the snapshot contains the reason in place of the document.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::precondition::{Unmet, unmet_of_renterd, unmet_of_siad};
use crate::{ParseError, UtcSecond, renterd, siad};

/// Version of the format.
const FORMAT: u32 = 1;
/// Number of contracts that siad needs to complete an upload, because each piece of a chunk needs a contract.
const SIAD_CONTRACTS: u64 = siad::DATA_PIECES + siad::PARITY_PIECES;

/// A renter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    /// siad.
    Siad,
    /// renterd.
    Renterd,
}

/// A document of a renter's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document {
    /// Name in snapshots.
    pub name: &'static str,
    /// Path and query.
    pub path: &'static str,
}

const fn document(name: &'static str, path: &'static str) -> Document {
    Document { name, path }
}

/// The documents of siad. The first documents show whether siad accepts uploads.
const SIAD: [Document; 7] = [
    document("consensus", "/consensus"),
    document("wallet", "/wallet"),
    document("renter", "/renter"),
    document("contracts", "/renter/contracts?inactive=true"),
    document("prices", "/renter/prices"),
    document("version", "/daemon/version"),
    document("files", "/renter/files"),
];

/// The documents of renterd. The first documents show whether renterd accepts uploads.
const RENTERD: [Document; 8] = [
    document("consensus", "/api/bus/consensus/state"),
    document("wallet", "/api/bus/wallet"),
    document("autopilot", "/api/bus/autopilot"),
    document("contracts", "/api/bus/contracts?filtermode=all"),
    document("upload", "/api/bus/settings/upload"),
    document("objects", "/api/bus/stats/objects"),
    document("state", "/api/bus/state"),
    document("buffers", "/api/bus/slabbuffers"),
];

impl System {
    /// Returns the name of the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Siad => "siad",
            Self::Renterd => "renterd",
        }
    }

    /// Returns the documents of a snapshot.
    #[must_use]
    pub fn documents(self) -> &'static [Document] {
        match self {
            Self::Siad => &SIAD,
            Self::Renterd => &RENTERD,
        }
    }

    /// Returns the documents that show whether the renter accepts uploads.
    #[must_use]
    pub fn documents_of_readiness(self) -> &'static [Document] {
        match self {
            Self::Siad => &SIAD[..4],
            Self::Renterd => &RENTERD[..5],
        }
    }
}

/// The documents of a renter at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Version of the format.
    pub format: u32,
    /// The renter.
    pub system: System,
    /// Wall time at the end of the requests, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The documents by name.
    pub documents: BTreeMap<String, Value>,
    /// The reasons why documents are missing, by name.
    pub missing: BTreeMap<String, String>,
}

/// The reason why a value cannot be read from a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// A document is missing.
    #[error("{0}")]
    Missing(String),
    /// A document is not as expected.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

impl Snapshot {
    /// Returns a snapshot without documents.
    #[must_use]
    pub fn new(system: System) -> Self {
        Self { format: FORMAT, system, unix_ms: 0, documents: BTreeMap::new(), missing: BTreeMap::new() }
    }

    /// Adds the body of a response, or the reason why the request failed. An empty body counts as an empty list.
    pub fn add(&mut self, document: Document, body: Result<&[u8], String>) {
        let name = document.name.to_owned();
        let value = body.and_then(|body| match body.trim_ascii() {
            [] => Ok(Value::Null),
            body => serde_json::from_slice(body).map_err(|error| format!("the response is not JSON ({error})")),
        });
        match value {
            Ok(value) => drop(self.documents.insert(name, value)),
            Err(why) => drop(self.missing.insert(name, why)),
        }
    }

    /// Parses a saved snapshot; `None` if it is damaged or of another version.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().filter(|snapshot: &Self| snapshot.format == FORMAT)
    }

    /// Returns the first condition for uploads that is not met; `None` if all are met.
    ///
    /// # Errors
    /// Returns an error if a document is missing or not as expected.
    pub fn unmet(&self) -> Result<Option<Unmet>, Unknown> {
        match self.system {
            System::Siad => Ok(unmet_of_siad(
                &self.read("consensus", siad::Consensus::parse)?,
                &self.read("wallet", siad::Wallet::parse)?,
                &self.read("renter", siad::Renter::parse)?,
                &self.read("contracts", siad::Contracts::parse)?,
                SIAD_CONTRACTS,
            )),
            System::Renterd => Ok(unmet_of_renterd(
                &self.read("consensus", renterd::Consensus::parse)?,
                &self.read("wallet", renterd::Wallet::parse)?,
                &self.read("autopilot", renterd::Autopilot::parse)?,
                &self.read("contracts", renterd::contracts)?,
                &self.read("upload", renterd::UploadSettings::parse)?,
            )),
        }
    }

    /// Returns the sample of siad; `None` for another renter.
    #[must_use]
    pub fn siad_sample(&self) -> Option<siad::Sample> {
        (self.system == System::Siad).then_some(())?;
        let contracts = self.read("contracts", |body| siad::Contracts::parse(body)?.totals()).ok();
        let wallet = self.read("wallet", siad::Wallet::parse).ok().map(Into::into);
        Some(siad::Sample {
            timestamp: Some(UtcSecond(self.unix_ms / 1000)),
            contracts,
            files: self.read("files", siad::FileTotals::parse).ok(),
            wallet,
            api_latency_ms: None,
        })
    }

    /// Returns the sample of renterd; `None` for another renter.
    #[must_use]
    pub fn renterd_sample(&self) -> Option<renterd::Sample> {
        (self.system == System::Renterd).then_some(())?;
        let contracts = self.read("contracts", |body| renterd::contract_totals(&renterd::contracts(body)?)).ok();
        Some(renterd::Sample {
            timestamp: Some(UtcSecond(self.unix_ms / 1000)),
            contracts,
            objects: self.read("objects", renterd::ObjectStats::parse).ok().map(Into::into),
            wallet: self.read("wallet", renterd::Wallet::parse).ok(),
            waiting_bytes: self.read("buffers", renterd::waiting_bytes).ok(),
            api_latency_us: None,
        })
    }

    /// Returns the files of siad.
    ///
    /// # Errors
    /// Returns an error if the list is missing or not as expected.
    pub fn siad_files(&self) -> Result<siad::Files, Unknown> {
        self.read("files", siad::Files::parse)
    }

    /// Returns the redundancy that renterd's settings require.
    #[must_use]
    pub fn renterd_redundancy(&self) -> Option<renterd::Redundancy> {
        (self.system == System::Renterd).then_some(())?;
        self.read("upload", renterd::UploadSettings::parse).ok().map(|settings| settings.redundancy)
    }

    /// Returns the length of contracts in the renter's settings, in blocks; `None` if it is unknown or 0.
    #[must_use]
    pub fn contract_blocks(&self) -> Option<u64> {
        let blocks = match self.system {
            System::Siad => self.read("renter", siad::Renter::parse).ok()?.allowance.period,
            System::Renterd => self.read("autopilot", renterd::Autopilot::parse).ok()?.contracts.period,
        };
        Some(blocks).filter(|blocks| *blocks > 0)
    }

    /// Returns the renter's start time in the renter's own format. siad does not report its start time.
    #[must_use]
    pub fn started(&self) -> Option<&str> {
        self.documents.get("state")?.get("startTime")?.as_str()
    }

    /// Parses a document.
    fn read<T>(&self, name: &str, parse: impl FnOnce(&[u8]) -> Result<T, ParseError>) -> Result<T, Unknown> {
        let Some(value) = self.documents.get(name) else {
            let why = self.missing.get(name).map_or("it is not in the snapshot", String::as_str);
            return Err(Unknown::Missing(format!("cannot read {name} of {}: {why}", self.system.name())));
        };
        Ok(parse(value.to_string().as_bytes())?)
    }
}

#[cfg(test)]
mod tests;
