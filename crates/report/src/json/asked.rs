//! What was asked for, from which client, and who answered: those parts of a [`JsonReport`](super::JsonReport).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was asked for, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// Version of the program.
    pub version: String,
    /// Whether the program was built without optimisation.
    pub debug_build: bool,
    /// Wall time of the start.
    pub started_unix_ms: u64,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// The first targets, without secrets.
    pub targets: Vec<String>,
    /// How many URLs were asked for.
    pub urls: u64,
    /// The load model.
    pub model: ModelWord,
    /// Slots of a closed run; operations in flight at most in an open one.
    pub concurrency: u64,
    /// The load in one line, with its warm-up.
    pub load: String,
    /// How its level was asked to change; null when it does not.
    pub levels: Option<Levels>,
    /// Length of the warm-up.
    pub warmup_ms: u64,
    /// Length of the window; null when the run ends by a count.
    pub duration_ms: Option<u64>,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads of the run loop.
    pub threads: u32,
    /// All settings as resolved.
    pub settings: Vec<Setting>,
    /// The client's host.
    pub host: ClientHost,
}

/// How the level of the load was asked to change: slots in the closed model, operations per second in the open one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Levels {
    /// The level at the start.
    pub from: f64,
    /// The stages in order. After the last one the level stays.
    pub stages: Vec<LevelStage>,
}

/// One stage: over its length, the level moves linearly to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelStage {
    /// Its length.
    pub length_nanos: u64,
    /// The level at its end.
    pub level: f64,
}

/// The load model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelWord {
    /// Each slot starts an operation when its last one ended.
    Closed,
    /// Arrivals follow a schedule.
    Open,
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The client's host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientHost {
    /// Its name.
    pub name: String,
    /// Release of its kernel.
    pub kernel: String,
    /// Model of its processor.
    pub cpu: String,
    /// Cores that the process may use.
    pub cores: u32,
    /// Its memory.
    pub memory_bytes: u64,
}

/// What the first good answer said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerAnswer {
    /// Its `Server` header.
    pub software: Option<String>,
    /// The address that was connected to.
    pub address: String,
    /// Length of its body.
    pub document_bytes: u64,
    /// Its status code.
    pub status: u16,
    /// Its version of HTTP.
    pub http_version: String,
    /// What TLS agreed on; null for plain HTTP.
    pub tls: Option<TlsAgreed>,
}

/// What TLS agreed on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TlsAgreed {
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
