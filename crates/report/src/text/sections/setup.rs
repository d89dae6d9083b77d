//! The setup section: command, load, program, host and server.

use crate::escape::{bounded, escape};
use crate::number::{bytes, plural};
use crate::text::page::Page;
use measure::units::format_span;
use std::time::Duration;
use store::Utc;
use store::{Levels, SavedRun, Tls};

/// Maximum number of targets to list.
const TARGETS_SHOWN: usize = 3;
/// Maximum number of stages of the load to list.
const STAGES_SHOWN: usize = 20;
/// Maximum length of the command line and of a target, in characters. These texts may be long, because the user typed
/// them.
const TYPED_MAX: usize = 2000;

pub fn write(page: &mut Page, run: &SavedRun) {
    page.heading("Setup");
    command(page, run);
    targets(page, run);
    load(page, run);
    program(page, run);
    server(page, run);
}

/// Writes the section without the load, for one of several runs that have different loads.
pub fn write_without_load(page: &mut Page, run: &SavedRun) {
    page.heading("Setup");
    command(page, run);
    targets(page, run);
    program(page, run);
    server(page, run);
}

/// Writes the section without load and target, for one of several runs that have different loads and targets.
pub fn write_without_target(page: &mut Page, run: &SavedRun) {
    page.heading("Setup");
    command(page, run);
    program(page, run);
}

fn command(page: &mut Page, run: &SavedRun) {
    if !run.begin.command.is_empty() {
        page.item("command", &shell_quoted(&run.begin.command));
    }
}

fn targets(page: &mut Page, run: &SavedRun) {
    let begin = &run.begin;
    for (index, target) in begin.targets.iter().take(TARGETS_SHOWN).enumerate() {
        page.item(if index == 0 { "target" } else { "" }, &bounded(target, TYPED_MAX));
    }
    if begin.urls > begin.targets.len().min(TARGETS_SHOWN) as u64 {
        page.item("", &format!("{} in all", plural(begin.urls, "URL")));
    }
}

fn load(page: &mut Page, run: &SavedRun) {
    let begin = &run.begin;
    page.item("load", &escape(&begin.load));
    if let Some(levels) = &begin.levels {
        page.item("stages", &stages(levels, begin.model.is_open()));
    }
}

fn program(page: &mut Page, run: &SavedRun) {
    let begin = &run.begin;
    let threads = plural(u64::from(begin.threads), "thread");
    page.item("program", &format!("plimsoll {} · {threads} · seed {}", escape(&begin.version), begin.seed));
    page.item("started", &Utc::from_unix_ms(begin.started_unix_ms).to_string());
    let host = &begin.host;
    let cores = plural(u64::from(host.cores), "core");
    let about = [&host.name, &host.kernel, &host.cpu].map(|text| escape(text));
    page.item(
        "client",
        &format!("{} · {} · {cores} of {} · {}", about[0], about[1], about[2], bytes(host.memory_bytes)),
    );
}

fn server(page: &mut Page, run: &SavedRun) {
    if let Some(server) = run.end.as_ref().and_then(|end| end.server.as_ref()) {
        let software = server.software.as_deref().map_or_else(|| "no Server header".into(), escape);
        let (address, version) = (escape(&server.address), escape(&server.http_version));
        let document = bytes(server.document_bytes);
        page.item("first response", &format!("{software} · {address} · {version} {} · {document}", server.status));
        if let Some(tls) = &server.tls {
            page.item("TLS", &session(tls));
        }
    }
}

/// Formats the parameters of the TLS session, and the names in the server's certificate.
fn session(tls: &Tls) -> String {
    let mut pieces = vec![escape(&tls.version), escape(&tls.cipher)];
    pieces.extend(tls.protocol.as_deref().map(escape));
    if let (Some(subject), Some(issuer)) = (&tls.subject, &tls.issuer) {
        let name = |text: &str| if text.is_empty() { "no name".into() } else { escape(text) };
        pieces.push(format!("certificate of {}, signed by {}", name(subject), name(issuer)));
    }
    pieces.join(" · ")
}

/// Formats the level at the start and all stages.
fn stages(levels: &Levels, open: bool) -> String {
    let stage = |stage: &store::LevelStage| {
        format!("{}:{}", format_span(Duration::from_nanos(stage.length_nanos)), stage.level)
    };
    let shown: Vec<_> = levels.stages.iter().take(STAGES_SHOWN).map(stage).collect();
    let more = match levels.stages.len().saturating_sub(STAGES_SHOWN) {
        0 => String::new(),
        more => format!(" → and {more} more"),
    };
    let from = if open { format!("{}/s", levels.from) } else { plural(levels.from as u64, "slot") };
    format!("from {from}: {}{more} (time:level at its end)", shown.join(" → "))
}

/// Returns the command line, quoted for a shell.
fn shell_quoted(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quote = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    bounded(&words.iter().map(quote).collect::<Vec<_>>().join(" "), TYPED_MAX)
}
