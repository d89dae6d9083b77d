//! What was asked for, by which program, on which host, and who answered.

use super::page::Page;
use crate::escape::{bounded, escape};
use crate::number::{bytes, plural};
use measure::units::format_span;
use std::time::Duration;
use store::runs::Utc;
use store::{Levels, SavedRun, Tls};

/// Targets that are listed.
const TARGETS_SHOWN: usize = 3;
/// Stages of the load that are listed.
const STAGES_SHOWN: usize = 20;
/// Characters of the command line and of a target that are shown. The user typed them.
const TYPED_MAX: usize = 2000;

pub fn write(page: &mut Page, run: &SavedRun) {
    page.heading("Asked for");
    asked(page, run);
    loaded(page, run);
    load(page, run);
    made_by(page, run);
    answered(page, run);
}

/// Without the load, which is another one in each of several runs.
pub fn write_for_all(page: &mut Page, run: &SavedRun) {
    page.heading("Asked for");
    asked(page, run);
    loaded(page, run);
    made_by(page, run);
    answered(page, run);
}

/// Without load and target, of runs that have several of both.
pub fn write_for_targets(page: &mut Page, run: &SavedRun) {
    page.heading("Asked for");
    asked(page, run);
    made_by(page, run);
}

fn asked(page: &mut Page, run: &SavedRun) {
    if !run.begin.command.is_empty() {
        page.item("command", &command(&run.begin.command));
    }
}

fn loaded(page: &mut Page, run: &SavedRun) {
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

fn made_by(page: &mut Page, run: &SavedRun) {
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

fn answered(page: &mut Page, run: &SavedRun) {
    if let Some(server) = run.end.as_ref().and_then(|end| end.server.as_ref()) {
        let software = server.software.as_deref().map_or_else(|| "no Server header".into(), escape);
        let (address, version) = (escape(&server.address), escape(&server.http_version));
        let document = bytes(server.document_bytes);
        page.item("first answer", &format!("{software} · {address} · {version} {} · {document}", server.status));
        if let Some(tls) = &server.tls {
            page.item("TLS", &agreed(tls));
        }
    }
}

/// What TLS agreed on, and whose certificate the server has.
fn agreed(tls: &Tls) -> String {
    let mut pieces = vec![escape(&tls.version), escape(&tls.cipher)];
    pieces.extend(tls.protocol.as_deref().map(escape));
    if let (Some(subject), Some(issuer)) = (&tls.subject, &tls.issuer) {
        let name = |text: &str| if text.is_empty() { "no name".into() } else { escape(text) };
        pieces.push(format!("certificate of {}, signed by {}", name(subject), name(issuer)));
    }
    pieces.join(" · ")
}

/// The stages as they were asked for, after the level at the start.
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

/// The command as a shell would take it.
fn command(words: &[String]) -> String {
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
