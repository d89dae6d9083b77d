//! The records of a run. `measure` defines the intervals.

use crate::fleet::{AGENTS_MAX, Fleet, FleetPart};
use measure::Model;
use measure::evidence::Probes;
use measure::path::{EmulatedPath, PathTraffic};
use measure::values::bounded;
use measure::{Cause, Instant, Interval, Objective};
use serde::{Deserialize, Serialize};

/// Version of the format of saved runs. Readers reject other versions.
pub const FORMAT: u32 = 2;

/// The setup of a run and the client's host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// Version of the format, [`FORMAT`].
    pub format: u32,
    /// Version of the program.
    pub version: String,
    /// `true` if the program was built without optimization.
    pub debug_build: bool,
    /// Wall time of the start in milliseconds since 1970 UTC. The time is only a label.
    pub started_unix_ms: u64,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// The first ten targets, without secrets.
    pub targets: Vec<String>,
    /// Number of URLs.
    pub urls: u64,
    /// The load model.
    pub model: Model,
    /// Description of the load and of the warm-up in one line of plain text.
    pub load: String,
    /// Planned changes of the load level. `None` for a constant level.
    #[serde(default)]
    pub levels: Option<Levels>,
    /// Length of the warm-up in milliseconds.
    pub warmup_ms: u64,
    /// Length of the measured window in milliseconds. `None` if the run ends after a number of operations or bytes.
    pub duration_ms: Option<u64>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of threads that generate load.
    pub threads: u32,
    /// All settings after resolving defaults, in order, without secrets.
    pub settings: Vec<(String, String)>,
    /// The objectives of the run.
    pub objectives: Vec<Objective>,
    /// `true` if objectives without enough data count as met.
    #[serde(default)]
    pub accept_not_enough_data: bool,
    /// The client's host.
    pub host: Host,
    /// `true` if client and target run on the same host.
    pub loopback: bool,
    /// Name of the response header by which metrics are grouped.
    pub header: Option<String>,
    /// `true` if certificate checks were disabled.
    pub insecure: bool,
    /// The emulated path between client and target. `None` if no path is emulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<EmulatedPath>,
    /// The part of this run in a run of several hosts. `None` for all other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<FleetPart>,
}

/// Maximum number of stages that readers accept. A command line cannot contain more stages, because the system limits
/// command lines to two megabytes.
const STAGES_MAX: usize = 1 << 20;

/// Planned changes of the load level: slots in the closed model, operations per second in the open model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Levels {
    /// The level at the start.
    pub from: f64,
    /// The stages in order. After the last stage, the level is constant.
    #[serde(deserialize_with = "bounded::list::<_, _, STAGES_MAX>")]
    pub stages: Vec<LevelStage>,
}

/// A linear change of the level over a period of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelStage {
    /// The period in nanoseconds.
    pub length_nanos: u64,
    /// The level at the end of the period.
    pub level: f64,
}

/// The client's host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Number of cores that the process may use.
    pub cores: u32,
    /// Physical memory in bytes.
    pub memory_bytes: u64,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The reason.
    pub reason: EndReason,
    /// The time on the run's clock.
    pub at: Instant,
    /// The server, as described by its first successful response. `None` if no response was successful.
    pub server: Option<Server>,
    /// Peak resident memory of the client in bytes.
    pub peak_memory_bytes: u64,
    /// CPU time of the client over the whole run in nanoseconds.
    pub cpu_nanos: u64,
    /// Multipart uploads that were open when the load ended. `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uploads: Option<Uploads>,
    /// Damaged objects. `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged: Option<Damaged>,
    /// One more than the highest number of an object that the run wrote in addition to its dataset. Does not include
    /// objects that the warm-up wrote.
    #[serde(default)]
    pub fresh_below: u64,
    /// Rates that `--probe` measured after the run with other numbers of slots. `None` without `--probe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Probes>,
    /// Traffic on the emulated path. `None` without one, and for a relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathTraffic>,
    /// The agents of a run of several hosts. `None` for all other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Box<Fleet>>,
}

/// Multipart uploads that were neither completed nor aborted when the load ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uploads {
    /// Number of uploads that the client aborted.
    pub aborted: u64,
    /// Number of uploads that could not be aborted and remain on the server.
    pub left: u64,
    /// Number of uploads that may still be open, because the response with their ID never arrived.
    pub unknown: u64,
}

impl Uploads {
    /// Returns the sum of two runs.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let Self { aborted, left, unknown } = other;
        Self {
            aborted: self.aborted.saturating_add(aborted),
            left: self.left.saturating_add(left),
            unknown: self.unknown.saturating_add(unknown),
        }
    }
}

impl Damaged {
    /// Returns the sum of two runs. The files of the runs are not merged.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        let Self { operations, listed, beyond, first } = other;
        self.operations = self.operations.saturating_add(operations);
        self.listed = self.listed.saturating_add(listed);
        self.beyond = self.beyond.saturating_add(beyond);
        self.first.extend(first);
        self.first.truncate(DAMAGED_SHOWN_MAX);
        self
    }
}

/// Maximum number of damaged objects in the end record. [`DAMAGED_FILE`] lists more.
pub const DAMAGED_SHOWN_MAX: usize = 20;
/// Maximum number of entries in [`DAMAGED_FILE`].
pub const DAMAGED_LISTED_MAX: usize = 100_000;
/// Name of the file of damaged objects, one JSON object per line.
pub const DAMAGED_FILE: &str = "damaged.jsonl";

/// Objects with wrong or missing content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    /// Number of operations that found a damaged object.
    pub operations: u64,
    /// Number of entries in [`DAMAGED_FILE`]. An object may have several entries, at different offsets.
    pub listed: u64,
    /// Number of operations whose damage is not in the file, because the file is full.
    pub beyond: u64,
    /// The first entries.
    #[serde(deserialize_with = "bounded::list::<_, _, DAMAGED_SHOWN_MAX>")]
    pub first: Vec<DamagedObject>,
}

/// Damage found in an object. The name of the object is untrusted text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DamagedObject {
    /// The key in the bucket, or the URL.
    pub object: String,
    /// Offset of the first different byte. `None` if bytes were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The kind of damage.
    pub cause: Cause,
    /// Status of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// The reason for the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EndReason {
    /// The run reached its planned end.
    Completed,
    /// The user interrupted the run. The run finished the operations in flight.
    Interrupted {
        /// The signal number.
        signal: i32,
    },
    /// The results of the objectives were certain before the planned end.
    StoppedEarly {
        /// The first objective missed, formatted by this program. `None` if all are met.
        first_missed: Option<String>,
    },
    /// An abort condition of the user was met.
    Aborted {
        /// The condition, formatted by this program.
        condition: String,
    },
    /// The run was merged from simultaneous runs on several machines.
    Merged {
        /// The number of runs.
        runs: u64,
    },
    /// Agents of a run of several hosts were lost after the start.
    AgentsLost {
        /// Names of the lost agents.
        #[serde(deserialize_with = "bounded::list::<_, _, AGENTS_MAX>")]
        lost: Vec<String>,
        /// Number of all agents.
        agents: u64,
    },
    /// The agents of a run of several hosts did not start together.
    StartsApart {
        /// Time between the first and the last start in nanoseconds.
        spread_nanos: u64,
        /// The limit in nanoseconds.
        limit_nanos: u64,
    },
    /// The disk has no space for further records.
    DiskFull,
    /// The target could not be reached at all.
    Unreachable {
        /// The error message.
        detail: String,
    },
    /// Another error stopped the run.
    Failed {
        /// The error message.
        detail: String,
    },
}

/// The server, as described by its first successful response. The texts are untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// The value of the `Server` header.
    pub software: Option<String>,
    /// The address of the connection.
    pub address: String,
    /// Length of the response body in bytes.
    pub document_bytes: u64,
    /// The status code.
    pub status: u16,
    /// The protocol version, for example `HTTP/1.1`.
    pub http_version: String,
    /// The TLS parameters. `None` for plain HTTP.
    #[serde(default)]
    pub tls: Option<Tls>,
}

/// The negotiated TLS parameters. The texts are untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// The protocol version, for example `TLSv1.3`.
    pub version: String,
    /// The cipher suite, for example `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// The protocol that the server selected with ALPN.
    pub protocol: Option<String>,
    /// The server name that the client sent (SNI).
    pub server_name: String,
    /// The subject of the server's certificate.
    pub subject: Option<String>,
    /// The issuer of the server's certificate.
    pub issuer: Option<String>,
}

/// One record of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// The first record.
    Begin(Box<Begin>),
    /// The first record of each file except the first file. Readers check this record, but do not return it.
    Segment(Segment),
    /// An interval. Intervals are ordered by time.
    Interval(Box<Interval>),
    /// The last record. Missing after a crash and during the run.
    End(Box<End>),
}

impl Record {
    /// Parses a record. Returns `None` if the line is not a record.
    ///
    /// Coordinators parse records of many agents. This function is not generic, so it has the optimization level of this
    /// crate in all of its callers.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// The format of a file. All versions of the begin record have this field. Versions may differ in all other fields.
#[derive(Deserialize)]
pub(crate) struct Versioned {
    pub format: u64,
}

impl Versioned {
    /// Reads a begin record. Returns `None` for other lines.
    pub(crate) fn of_begin(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct First {
            begin: Versioned,
        }
        serde_json::from_slice::<First>(line).ok().map(|first| first.begin)
    }
}

/// Position of a file in the sequence of record files of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Number of the file, from 2. The first file, with number 1, contains a begin record instead of this one.
    pub number: u32,
}

/// A borrowed [`Record`].
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordRef<'a> {
    Begin(&'a Begin),
    Segment(&'a Segment),
    Interval(&'a Interval),
    End(&'a End),
}
