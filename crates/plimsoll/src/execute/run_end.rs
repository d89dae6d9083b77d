//! The end of a run: its reason, and the last record.

use super::recording::Recording;
use crate::failure::Failure;
use engine::plan::{Plan, Route};
use engine::{Control, StopReason};
use measure::Phase;
use store::{EndReason, SavedRun, Server};

/// Returns the reason why a recorded run ended.
pub fn reason(control: &Control, recording: &Recording) -> EndReason {
    if recording.is_full() {
        return EndReason::DiskFull;
    }
    let unreached = control.first_unreached().filter(|_| !control.is_reached());
    match (control.reason(), unreached) {
        (Some(StopReason::Unreachable | StopReason::Decided) | None, Some(first)) => {
            EndReason::Unreachable { detail: first.cause.about().to_owned() }
        }
        (Some(StopReason::Interrupted), _) => EndReason::Interrupted { signal: recording.signal() },
        (Some(StopReason::ResultsFull), _) => EndReason::DiskFull,
        (Some(StopReason::Decided), _) => recording.ended().cloned().unwrap_or(EndReason::Completed),
        _ => EndReason::Completed,
    }
}

/// Returns the failure for a run that never reached its target. Such a run has no report.
pub fn unreachable(plan: &Plan, run: &SavedRun) -> Option<Failure> {
    let Some(EndReason::Unreachable { detail }) = run.end.as_ref().map(|end| &end.reason) else { return None };
    let target = match &plan.connections.route {
        Route::Proxy { origin, .. } => format!("the proxy {origin}"),
        Route::Direct | Route::Unix(_) => run.begin.targets.first().map_or("the target", String::as_str).to_owned(),
    };
    let example = run.summary.stats.examples.first();
    Some(Failure::could_not_run(match example.filter(|example| example.outcome.phase == Phase::Tls) {
        Some(example) if example.detail.is_empty() => format!("cannot reach {target}: {detail}"),
        Some(example) => {
            format!("cannot reach {target}: {detail} ({})", report::escape::escape(&example.detail))
        }
        None => format!("cannot reach {target}: {detail}; check that it is running and that the address is right"),
    }))
}

/// Returns the part of the record that describes the server, as known from the first response.
pub fn server(first: engine::run_loop::FirstResponse) -> Server {
    Server {
        http_version: first.version_text().to_owned(),
        software: first.software,
        address: first.address,
        document_bytes: first.body_bytes,
        status: first.status,
        tls: first.tls.map(|tls| store::Tls {
            version: tls.version,
            cipher: tls.cipher,
            protocol: tls.protocol,
            server_name: tls.server_name,
            subject: tls.subject,
            issuer: tls.issuer,
        }),
    }
}
