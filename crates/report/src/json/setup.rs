//! Load, target, settings, host and server of a run, in a [`JsonReport`](super::JsonReport).

use crate::escape::{bounded, escape};
use measure::Model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{SavedRun, Server, Tls};

/// Characters of a text that the user typed.
const TYPED_MAX: usize = 4096;

/// The setup of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// Version of the program.
    pub version: String,
    /// Whether the program was built without optimization.
    pub debug_build: bool,
    /// Wall time of the start.
    pub started_unix_ms: u64,
    /// Command line, without secrets.
    pub command: Vec<String>,
    /// First targets, without secrets.
    pub targets: Vec<String>,
    /// Number of URLs.
    pub urls: u64,
    /// Load model.
    pub model: ModelName,
    /// Slots of a closed run; most operations in flight of an open one.
    pub concurrency: u64,
    /// Load in one line, with its warm-up.
    pub load: String,
    /// Planned changes of the load's level; null if it stays the same.
    pub levels: Option<Levels>,
    /// Length of the warm-up.
    pub warmup_ms: u64,
    /// Length of the window; null if the run ends by a count.
    pub duration_ms: Option<u64>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads that make load.
    pub threads: u32,
    /// All settings, with defaults filled in.
    pub settings: Vec<Setting>,
    /// Host of the client.
    pub host: ClientHost,
}

/// Planned changes of the load's level: slots in the closed model, operations per second in the open one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Levels {
    /// Level at the start.
    pub from: f64,
    /// Stages in order. The level stays after the last one.
    pub stages: Vec<LevelStage>,
}

/// A stage in which the level changes linearly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelStage {
    /// Its length.
    pub length_nanos: u64,
    /// Level at its end.
    pub level: f64,
}

/// The load model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelName {
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

/// The first successful response, as far as it describes the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstResponse {
    /// Its `Server` header.
    pub software: Option<String>,
    /// Address of the server.
    pub address: String,
    /// Length of its body.
    pub document_bytes: u64,
    /// Its status code.
    pub status: u16,
    /// Its HTTP version.
    pub http_version: String,
    /// TLS session; null for plain HTTP.
    pub tls: Option<TlsSession>,
}

/// The parameters of a TLS session, and the server's certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSession {
    /// Version, like `TLSv1.3`.
    pub version: String,
    /// Cipher suite, like `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// Protocol that the server chose by ALPN.
    pub protocol: Option<String>,
    /// Server name that the client requested.
    pub server_name: String,
    /// Subject of the certificate.
    pub subject: Option<String>,
    /// Issuer of the certificate.
    pub issuer: Option<String>,
}

impl Setup {
    pub(super) fn of(run: &SavedRun) -> Self {
        let begin = &run.begin;
        let typed = |text: &String| bounded(text, TYPED_MAX);
        let (model, concurrency) = match begin.model {
            Model::Closed { concurrency } => (ModelName::Closed, concurrency),
            Model::Open { in_flight_max } => (ModelName::Open, in_flight_max),
        };
        let setting = |(name, value): &(String, String)| Setting { name: typed(name), value: typed(value) };
        Self {
            version: escape(&begin.version),
            debug_build: begin.debug_build,
            started_unix_ms: begin.started_unix_ms,
            command: begin.command.iter().map(typed).collect(),
            targets: begin.targets.iter().map(typed).collect(),
            urls: begin.urls,
            model,
            concurrency,
            load: escape(&begin.load),
            levels: begin.levels.as_ref().map(Levels::of),
            warmup_ms: begin.warmup_ms,
            duration_ms: begin.duration_ms,
            seed: begin.seed,
            threads: begin.threads,
            settings: begin.settings.iter().map(setting).collect(),
            host: ClientHost {
                name: escape(&begin.host.name),
                kernel: escape(&begin.host.kernel),
                cpu: escape(&begin.host.cpu),
                cores: begin.host.cores,
                memory_bytes: begin.host.memory_bytes,
            },
        }
    }
}

impl Levels {
    fn of(levels: &store::Levels) -> Self {
        let stage = |stage: &store::LevelStage| LevelStage { length_nanos: stage.length_nanos, level: stage.level };
        Self { from: levels.from, stages: levels.stages.iter().map(stage).collect() }
    }
}

impl FirstResponse {
    pub(super) fn of(server: &Server) -> Self {
        Self {
            software: server.software.as_deref().map(escape),
            address: escape(&server.address),
            document_bytes: server.document_bytes,
            status: server.status,
            http_version: escape(&server.http_version),
            tls: server.tls.as_ref().map(TlsSession::of),
        }
    }
}

impl TlsSession {
    fn of(tls: &Tls) -> Self {
        Self {
            version: escape(&tls.version),
            cipher: escape(&tls.cipher),
            protocol: tls.protocol.as_deref().map(escape),
            server_name: escape(&tls.server_name),
            subject: tls.subject.as_deref().map(escape),
            issuer: tls.issuer.as_deref().map(escape),
        }
    }
}
