//! The records of a run, besides the intervals, which are `measure`'s.

use measure::evidence::Probes;
use measure::Model;
use measure::values::bounded;
use measure::{Cause, Instant, Interval, Objective};
use serde::{Deserialize, Serialize};

/// Version of the format of saved runs. A reader refuses any other.
pub const FORMAT: u32 = 1;

/// What was asked for, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// Version of the format, [`FORMAT`].
    pub format: u32,
    /// Version of the program that made the run.
    pub version: String,
    /// Whether that program was built without optimisation.
    pub debug_build: bool,
    /// Wall time of the start, in milliseconds since 1970 UTC. A label only.
    pub started_unix_ms: u64,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// The first ten targets, without secrets.
    pub targets: Vec<String>,
    /// How many URLs were asked for.
    pub urls: u64,
    /// The load model.
    pub model: Model,
    /// The load in one line, for people, with its warm-up.
    pub load: String,
    /// How its level was asked to change; `None` when it does not.
    #[serde(default)]
    pub levels: Option<Levels>,
    /// Length of the warm-up in milliseconds.
    pub warmup_ms: u64,
    /// Length of the measured window in milliseconds; `None` when the run ends by a count.
    pub duration_ms: Option<u64>,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads of the run loop.
    pub threads: u32,
    /// All settings as they were resolved, in order, without secrets.
    pub settings: Vec<(String, String)>,
    /// What the run is held to.
    pub objectives: Vec<Objective>,
    /// Whether an objective without enough data is accepted.
    #[serde(default)]
    pub accept_not_enough_data: bool,
    /// The client's host.
    pub host: Host,
    /// Whether client and target share one host.
    pub loopback: bool,
    /// Name of the response header that figures are broken down by.
    pub header: Option<String>,
    /// Whether certificates were not checked.
    pub insecure: bool,
}

/// Stages of one run that are read, at most. A command line of two megabytes, which is all that the system takes, holds
/// fewer.
const STAGES_MAX: usize = 1 << 20;

/// How the level of the load was asked to change: slots in the closed model, operations per second in the open one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Levels {
    /// The level at the start.
    pub from: f64,
    /// The stages in order. After the last one the level stays.
    #[serde(deserialize_with = "bounded::list::<_, _, STAGES_MAX>")]
    pub stages: Vec<LevelStage>,
}

/// One stage: over its length, the level moves linearly to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelStage {
    /// Its length in nanoseconds.
    pub length_nanos: u64,
    /// The level at its end.
    pub level: f64,
}

/// The client's host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Release of its kernel.
    pub kernel: String,
    /// Model of its processor.
    pub cpu: String,
    /// Cores that the process may use.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

/// How the run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Why.
    pub reason: EndReason,
    /// When, on the run's clock.
    pub at: Instant,
    /// What the first good answer said; `None` without one.
    pub server: Option<Server>,
    /// Largest resident memory of the client, in bytes.
    pub peak_memory_bytes: u64,
    /// CPU time of the client over the whole run, in nanoseconds.
    pub cpu_nanos: u64,
    /// What became of multipart uploads that were open when the load ended; `None` when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uploads: Option<Uploads>,
    /// Damaged objects that were found; `None` when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged: Option<Damaged>,
    /// Every object that the run wrote beside those of its dataset has a number below this, or is of the warm-up.
    #[serde(default)]
    pub fresh_below: u64,
    /// What other numbers of slots reached after the run; `None` unless that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Probes>,
}

/// Multipart uploads that were neither completed nor aborted when the load ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uploads {
    /// Those that were aborted then.
    pub aborted: u64,
    /// Those that could not be aborted and stay at the server.
    pub left: u64,
    /// Those that may be open as well: the server did not say their ID.
    pub unknown: u64,
}

impl Uploads {
    /// Those of two runs together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            aborted: self.aborted.saturating_add(other.aborted),
            left: self.left.saturating_add(other.left),
            unknown: self.unknown.saturating_add(other.unknown),
        }
    }
}

impl Damaged {
    /// Those of two runs together. Each run keeps its own file.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.operations = self.operations.saturating_add(other.operations);
        self.listed = self.listed.saturating_add(other.listed);
        self.beyond = self.beyond.saturating_add(other.beyond);
        self.first.extend(other.first);
        self.first.truncate(DAMAGED_SHOWN_MAX);
        self
    }
}

/// Damaged objects that a run shows itself; [`DAMAGED_FILE`] has all.
pub const DAMAGED_SHOWN_MAX: usize = 20;
/// Damaged objects that are listed in [`DAMAGED_FILE`], at most.
pub const DAMAGED_LISTED_MAX: usize = 100_000;
/// Name of the file of damaged objects, one JSON object a line.
pub const DAMAGED_FILE: &str = "damaged.jsonl";

/// Objects whose content was wrong or missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    /// Operations that found one, each time.
    pub operations: u64,
    /// Different damages in [`DAMAGED_FILE`]: an object may have several, at different offsets.
    pub listed: u64,
    /// Operations whose damage is not in the file since the file is full.
    pub beyond: u64,
    /// The first ones.
    #[serde(deserialize_with = "bounded::list::<_, _, DAMAGED_SHOWN_MAX>")]
    pub first: Vec<DamagedObject>,
}

/// One damage of an object. Its name may be a server's or a user's text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DamagedObject {
    /// Key in its bucket, or URL.
    pub object: String,
    /// Offset of the first byte that differs, where bytes were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// What was found.
    pub cause: Cause,
    /// Status of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EndReason {
    /// It did what was asked.
    Completed,
    /// The user ended it early, in good order: the window was closed and drained.
    Interrupted {
        /// Number of the signal.
        signal: i32,
    },
    /// Its objectives were decided, be it before its time was over.
    Decided {
        /// The one that is not met; made by this program from a parsed one. `None` when all are.
        broke: Option<String>,
    },
    /// The user has named a condition that ends a run, and it was met.
    Aborted {
        /// Which; made by this program from a parsed one.
        condition: String,
    },
    /// It is made of several runs that were measured at the same time on several machines.
    Merged {
        /// How many.
        runs: u64,
    },
    /// There was no room for further records.
    DiskFull,
    /// The target could not be reached at all.
    Unreachable {
        /// What was seen.
        detail: String,
    },
    /// Something else made it impossible to go on.
    Failed {
        /// What was seen.
        detail: String,
    },
}

/// What the first good answer said. Server text, not to be trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Its `Server` header.
    pub software: Option<String>,
    /// The address that was connected to.
    pub address: String,
    /// Length of its body in bytes.
    pub document_bytes: u64,
    /// Its status code.
    pub status: u16,
    /// Its version, like `HTTP/1.1`.
    pub http_version: String,
    /// What TLS agreed on; `None` for plain HTTP.
    #[serde(default)]
    pub tls: Option<Tls>,
}

/// What TLS agreed on. Server text, not to be trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// Like `TLSv1.3`.
    pub version: String,
    /// Like `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// The protocol that the server chose by ALPN.
    pub protocol: Option<String>,
    /// The name that the server was asked for.
    pub server_name: String,
    /// Whom the certificate is for.
    pub subject: Option<String>,
    /// Who has signed it.
    pub issuer: Option<String>,
}

/// One record of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// Always the first.
    Begin(Box<Begin>),
    /// One for each interval, oldest first.
    Interval(Box<Interval>),
    /// Always the last; missing after a crash and while the run goes on.
    End(Box<End>),
}

/// [`Record`] without owning it.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordRef<'a> {
    Begin(&'a Begin),
    Interval(&'a Interval),
    End(&'a End),
}
