//! The first record of a run, with all settings, including defaults, but without secrets.

use super::{RunOptions, host};
use crate::emulated_link::LinkDuringRun;
use crate::redact;
use engine::plan::{
    Auth, BodyPlan, Choice, ExpectedChecksum, Follow, Framing, LoadModel, ObjectSet, Pick, Plan, RangeChoice,
    RangeStatus, RedirectHosts, RedirectRule, RequestPlan, ResponseBody, Route, Shared, Source, Subject, Targets,
};
use engine::schedule::{Profile, Spacing, StagePlan};
use measure::Enumerated;
use measure::path::{EmulatedPath, Emulation};
use measure::units::{ByteSize, format_span};
use report::number::{count, plural};
use sha2::{Digest, Sha256};
use store::{Begin, FORMAT, LevelStage, Levels};
use wire::gateway::Depth;
use wire::{Scheme, Version};

/// Maximum number of targets in the record.
const TARGETS_MAX: u64 = 10;

/// Returns the record of a run that starts at `unix_ms`.
pub fn begin(plan: &Plan, options: &RunOptions, link: Option<&LinkDuringRun>, unix_ms: u64) -> Begin {
    let path = link.map(LinkDuringRun::path);
    let is_emulated_here = path.as_ref().is_some_and(|path| path.emulation == Emulation::Packets);
    let shown = plan.targets.count().min(TARGETS_MAX);
    let targets = (0..shown).map(|index| redact::url_text(&plan.targets.url(Subject::Target(index))));
    let unix_socket = matches!(plan.connections.route, Route::Unix(_));
    let addresses =
        plan.connections.known.values().flat_map(|addresses| addresses.iter().map(std::net::SocketAddr::ip));
    Begin {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        debug_build: cfg!(debug_assertions),
        started_unix_ms: unix_ms,
        command: options.part.as_ref().map_or_else(command_line, |part| part.command.clone()),
        targets: targets.collect(),
        urls: plan.targets.count(),
        model: plan.load.model(),
        load: load_text(plan),
        levels: levels(&plan.load),
        warmup_ms: plan.warmup.as_millis() as u64,
        duration_ms: plan.stop.time.map(|time| time.as_millis() as u64),
        seed: plan.seed,
        threads: plan.threads_used(),
        settings: settings(plan).into_iter().chain(path.as_ref().map(path_setting)).collect(),
        objectives: options.objectives.clone(),
        accept_not_enough_data: options.accept_not_enough_data,
        host: host::facts(),
        loopback: unix_socket || is_emulated_here || host::is_local(addresses),
        header: plan.group_by.as_deref().map(str::to_owned),
        insecure: plan.connections.tls.is_insecure(),
        path,
        part: options.part.as_ref().map(|part| part.part.clone()),
    }
}

/// Returns the setting that describes an emulated path.
fn path_setting(path: &EmulatedPath) -> (String, String) {
    let through = if path.emulation == Emulation::Relay { "relay, " } else { "" };
    let congestion = path.congestion.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
    ("link".to_owned(), format!("{through}{} down, {} up{congestion}", path.down, path.up))
}

/// Returns the command line as a user would type it: `plimsoll` without its path, and without secrets.
pub fn command_line() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    redact::command_line(std::iter::once("plimsoll".to_owned()).chain(words))
}

/// Formats the level of a load. If the level changes, the text has the highest level and the duration of the changes.
fn over_time(profile: &Profile, shown: impl Fn(f64) -> String) -> String {
    let peak = shown(profile.peak());
    if profile.is_constant() {
        return peak;
    }
    format!("up to {peak} in stages of {}", format_span(profile.length()))
}

/// Returns the stages of the load, or `None` if the level is constant.
fn levels(load: &LoadModel) -> Option<Levels> {
    let (LoadModel::Closed { slots: profile, .. } | LoadModel::Open { rate: profile, .. }) = load;
    let stage = |stage: &StagePlan| LevelStage {
        length_nanos: u64::try_from(stage.length.as_nanos()).unwrap_or(u64::MAX),
        level: stage.level,
    };
    let stages: Vec<_> = profile.as_stages().iter().map(stage).collect();
    (!stages.is_empty()).then(|| Levels { from: profile.level_at_start(), stages })
}

/// Returns a one-line description of the load.
pub fn load_text(plan: &Plan) -> String {
    let mut parts = match &plan.load {
        LoadModel::Closed { slots, think } => {
            let mut parts = vec!["closed".to_owned(), over_time(slots, |slots| plural(slots as u64, "slot"))];
            if !think.is_zero() {
                parts.push(format!("think time {}", format_span(*think)));
            }
            parts
        }
        LoadModel::Open { rate, spacing, in_flight_max } => {
            let spacing = match spacing {
                Spacing::Constant => "evenly spaced",
                Spacing::Poisson => "Poisson",
            };
            vec![
                "open".to_owned(),
                over_time(rate, |rate| format!("{rate}/s")),
                spacing.to_owned(),
                format!("at most {} in flight", count(in_flight_max.get())),
            ]
        }
    };
    let stop = &plan.stop;
    let ends = [
        stop.time.map(format_span),
        stop.ops.map(|ops| plural(ops.get(), "operation")),
        stop.ops_per_slot.map(|ops| plural(ops.get(), "operation") + " a slot"),
        stop.bytes.map(|bytes| ByteSize(bytes.get()).to_string()),
    ];
    parts.extend(ends.into_iter().flatten());
    if !plan.warmup.is_zero() {
        parts.push(format!("after {} of warm-up", format_span(plan.warmup)));
    }
    parts.join(", ")
}

/// Returns all settings that affect the run.
fn settings(plan: &Plan) -> Vec<(String, String)> {
    let (timeouts, connections) = (&plan.timeouts, &plan.connections);
    let mut settings = requests(plan);
    settings.extend(objects(&plan.targets));
    let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
    let version = match (&connections.http2, plan.http.version) {
        (Some(_), _) => "2",
        (None, Version::Http10) => "1.0",
        (None, Version::Http11 | Version::Http2) => "1.1",
    };
    set("http", version.to_owned());
    if let Some(http2) = &connections.http2 {
        set("streams", http2.streams.to_string());
    }
    set("keep_alive", plan.http.keep_alive.to_string());
    set(
        "order",
        match plan.choice {
            Choice::RoundRobin => "round-robin".to_owned(),
            Choice::Random => "random".to_owned(),
            Choice::Zipf(zipf) => format!("zipf:{}", zipf.exponent()),
        },
    );
    set(
        "redirects",
        match plan.follow {
            Follow::Never => "not followed".to_owned(),
            Follow::UpTo(most, traps) => {
                let also = |trap, text| if trap == RedirectRule::Allow { text } else { "" };
                let downgrade = also(traps.downgrade, ", also from https to http");
                let private = also(traps.private, ", also from public to private addresses");
                let hosts = if traps.hosts == RedirectHosts::Named { ", only to named hosts" } else { "" };
                format!("followed, up to {most}{downgrade}{private}{hosts}")
            }
        },
    );
    if let Auth::Session(sessions) = &plan.auth {
        let shared = if sessions.shared == Shared::One { "one for all slots" } else { "one for each slot" };
        set("sessions", format!("{}, {shared}", sessions.opening.about));
    }
    set("drain", format_span(plan.drain));
    set("timeout_connect", format_span(timeouts.connect));
    set("timeout_head", format_span(timeouts.head));
    set("timeout_idle", format_span(timeouts.idle));
    set("timeout_total", timeouts.total.map_or_else(|| "none".to_owned(), format_span));
    match &connections.route {
        Route::Direct => {}
        Route::Proxy { origin, .. } => set("proxy", origin.to_string()),
        Route::Unix(path) => set("unix_socket", path.display().to_string()),
    }
    for rule in &connections.connect_to {
        set("connect_to", format!("{:?}:{:?} to {}:{:?}", rule.host, rule.port, rule.to_host, rule.to_port));
    }
    for address in connections.from.iter() {
        set("local_address", address.to_string());
    }
    if let Some(most) = connections.requests_max {
        set("requests_per_connection", most.to_string());
    }
    if plan.targets.origins().iter().any(|origin| origin.scheme == Scheme::Https) {
        let tls = &connections.tls;
        set("tls_certificates", if tls.is_insecure() { "not checked" } else { "checked" }.to_owned());
        set("tls_resumption", tls.resumes().to_string());
        set("tls_client_certificate", tls.has_identity().to_string());
    }
    if let Some(mark) = connections.receive_low_water {
        set("receive_low_water", ByteSize(mark as u64).to_string());
    }
    settings
}

/// Returns a setting that describes the objects of the load. Returns `None` for a list of URLs that is short enough to
/// be in the record.
fn objects(targets: &Targets) -> Option<(String, String)> {
    if let Some(dataset) = targets.area().and_then(|area| area.set.dataset()) {
        let description = dataset.description();
        let (count, last) = (plural(description.count, "object"), description.last_bytes);
        let last = last.map(|size| format!(", the last of {size}")).unwrap_or_default();
        let (sizes, seed) = (&description.sizes, description.seed.0);
        return Some(("dataset".to_owned(), format!("{count}, sizes {sizes}{last}, seed {seed}")));
    }
    if let Some(ObjectSet::Files(files)) = targets.area().map(|area| &area.set) {
        let (count, copies) = (plural(files.files().len() as u64, "file"), plural(files.copies().get(), "copy"));
        return Some(("files".to_owned(), format!("{count}, {copies} of each, {} B", files.total_bytes())));
    }
    (targets.count() > TARGETS_MAX).then(|| ("url_list".to_owned(), list_digest(targets)))
}

/// Returns a hash of the paths and queries of a list, in order. The hash excludes secrets and server addresses, so a
/// list has the same hash on every server.
fn list_digest(targets: &Targets) -> String {
    let (mut digest, mut path) = (Sha256::new(), String::new());
    for index in 0..targets.count() {
        path.clear();
        targets.write_path(Subject::Target(index), &mut String::new(), &mut path);
        let has_query = path.contains('?');
        let line =
            if has_query { redact::url_text(&format!("http://list{path}")) } else { format!("http://list{path}") };
        digest.update(line.as_bytes());
        digest.update(b"\n");
    }
    let hex: String = digest.finalize().iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect();
    let servers = plural(targets.origins().len() as u64, "server");
    format!("{} on {servers}, sha256 {hex}", plural(targets.count(), "path"))
}

/// Number of hash bytes to show.
const DIGEST_BYTES: usize = 16;

/// Returns the settings of each request, with the names of the flags. The settings of a mix include the share of each
/// request.
fn requests(plan: &Plan) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let several = plan.mix.requests().len() > 1;
    for (share, request) in plan.mix.shares() {
        if several {
            settings.push(("share".to_owned(), format!("{} % {}", number(share * 100.0), request.kind.name())));
        }
        settings.extend(request_settings(request));
    }
    settings
}

fn number(value: f64) -> String {
    format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn request_settings(request: &RequestPlan) -> Vec<(String, String)> {
    let mut settings: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
    set("method", request.method.to_string());
    for header in &request.headers {
        set("header", redact::of_header(header));
    }
    if let Some(body) = &request.body {
        set("body", body_text(body));
    }
    match request.range {
        None => {}
        Some(RangeChoice::Fixed(range)) => set("range", format!("bytes {} to {}", range.first(), range.last())),
        Some(RangeChoice::Random { length }) => set("range", format!("{} at random", ByteSize(length.get()))),
    }
    if let Pick::Batch(batch) = request.pick {
        set("delete_batch", batch.size_max.get().to_string());
    }
    let checks = &request.checks;
    if checks.ranges == RangeStatus::Also200 {
        set("accept_200_ranges", true.to_string());
    }
    if !checks.statuses.is_empty() {
        set("expect_status", checks.statuses.iter().map(u16::to_string).collect::<Vec<_>>().join(","));
    }
    if let Some(size) = checks.size {
        set("expect_size", ByteSize(size).to_string());
    }
    for header in &checks.headers {
        set("expect_header", redact::of_header(header));
    }
    if checks.etag_is_name {
        set("expect_etag", "the object's name".to_owned());
    }
    if matches!(request.response_body, ResponseBody::Compared(_)) {
        set("verify", "every byte".to_owned());
    }
    match &request.response_body {
        ResponseBody::Gateway(Depth::Structure) => set("verify", "framing of CARs".to_owned()),
        ResponseBody::Gateway(Depth::Blocks) => set("verify", "every block, and that none is missing".to_owned()),
        _ => {}
    }
    if let ResponseBody::Hashed(wanted) = &request.response_body {
        let expected = match wanted {
            ExpectedChecksum::Given(checksum) => checksum.to_string(),
            ExpectedChecksum::Etag => "etag".to_owned(),
            ExpectedChecksum::FromResponse => "checksum".to_owned(),
        };
        set("expect", expected);
    }
    settings
}

fn body_text(body: &BodyPlan) -> String {
    let mut parts = vec![match &body.source {
        Source::Bytes(bytes) => ByteSize(bytes.len() as u64).to_string(),
        Source::Content(content) => format!("made from seed {}", content.seed().0),
        Source::Files(files) => plural(files.files().len() as u64, "file"),
        Source::Own => "a message".to_owned(),
    }];
    if body.framing == Framing::Chunked {
        parts.push("chunked".to_owned());
    }
    if body.expect_continue {
        parts.push("after 100-continue".to_owned());
    }
    parts.join(", ")
}
