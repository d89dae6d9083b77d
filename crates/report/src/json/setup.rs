//! Load, target, settings, host and server of a run, in a [`JsonReport`](super::JsonReport).

use crate::escape::{bounded, escape};
use measure::Model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{SavedRun, Server, Tls};

/// Maximum length of a text that the user typed, in characters.
const TYPED_MAX: usize = 4096;

/// The setup of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// Version of the program.
    pub version: String,
    /// `true` if the program was built without optimization.
    pub debug_build: bool,
    /// Wall-clock time at which the run started.
    pub started_unix_ms: u64,
    /// Command line, without secrets.
    pub command: Vec<String>,
    /// The first targets, without secrets.
    pub targets: Vec<String>,
    /// Number of URLs.
    pub urls: u64,
    /// Load model.
    pub model: ModelName,
    /// Slots of a closed run, or the maximum number of operations in flight in an open run.
    pub concurrency: u64,
    /// The load in one line, including its warm-up.
    pub load: String,
    /// Planned changes of the load's level; null if the level stays the same.
    pub levels: Option<Levels>,
    /// Length of the warm-up.
    pub warmup_ms: u64,
    /// Length of the measured window; null if the run ends after a number of operations.
    pub duration_ms: Option<u64>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of threads that generate load.
    pub threads: u32,
    /// All settings, including defaults.
    pub settings: Vec<Setting>,
    /// Host of the client.
    pub host: ClientHost,
}

/// Planned changes of the load's level. The level is the number of slots in the closed model, and the number of
/// operations per second in the open model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Levels {
    /// Level at the start.
    pub from: f64,
    /// Stages in order. After the last stage, the level stays the same.
    pub stages: Vec<LevelStage>,
}

/// A stage of the load. During the stage, the level changes linearly from the previous level to `level`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelStage {
    /// Length of the stage.
    pub length_nanos: u64,
    /// Level at the end of the stage.
    pub level: f64,
}

/// The load model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelName {
    /// Each slot starts its next operation when its previous one has ended.
    Closed,
    /// Operations start at times given by a schedule.
    Open,
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Name of the setting.
    pub name: String,
    /// Value of the setting.
    pub value: String,
}

/// The client's host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientHost {
    /// Name of the host.
    pub name: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Model of the processor.
    pub cpu: String,
    /// Number of cores that the process may use.
    pub cores: u32,
    /// Memory of the host.
    pub memory_bytes: u64,
}

/// Properties of the server, taken from the first successful response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstResponse {
    /// Value of the `Server` header.
    pub software: Option<String>,
    /// Address of the server.
    pub address: String,
    /// Length of the response body.
    pub document_bytes: u64,
    /// Status code of the response.
    pub status: u16,
    /// HTTP version of the response.
    pub http_version: String,
    /// The TLS session; null for plain HTTP.
    pub tls: Option<TlsSession>,
}

/// The parameters of a TLS session, and the server's certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSession {
    /// TLS version, such as `TLSv1.3`.
    pub version: String,
    /// Cipher suite, such as `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// Application protocol that the server selected with ALPN.
    pub protocol: Option<String>,
    /// Server name that the client requested (SNI).
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
