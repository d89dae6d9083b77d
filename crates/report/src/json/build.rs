//! From a saved run to its [`JsonReport`].

use super::{
    AccountingChecks, Asked, Bytes, CauseCount, ClassCount, Client, ClientHost, ConnectionCounts, EndWord, Ending,
    FORMAT, FailureExample, Failures, FlagCount, GroupFigures, HopFigures, HostConnections, JsonReport, JudgementWord,
    KindFigures, LabelKind, LevelStage, Levels, ModelWord, NoteText, ObjectiveResult, Operations, QuantileNanos,
    QuantileState, Redirects, ResultOfRun, SeriesPoint, ServerAnswer, Setting, Speeds, Spread, StageBytes, StatusCount,
    Times, TlsAgreed, Violated,
};
use crate::escape::{bounded, escape};
use crate::percentile::{self, LADDER, Percentile};
use crate::result;
use crate::standing;
use measure::stats::redirect_chains::HopStats;
use measure::objective::{Judged, Judgement, Timed};
use measure::result::Reason;
use measure::stats::KindStats;
use measure::summary::StageTotals;
use measure::{AttemptClass, Cause, Distribution, Enumerated, Example, Label, Model, OpKind, RunResult};
use store::{EndReason, Point, SavedRun};

/// Characters of text that the user typed.
const TYPED_MAX: usize = 4096;

/// The report of a saved run.
#[must_use]
pub fn json(run: &SavedRun) -> JsonReport {
    let result = result::of(run);
    JsonReport {
        format: FORMAT,
        result: result_of_run(&result),
        accounting: accounting(&result),
        limited_by: standing::limited_by(run),
        limited_because: standing::because(run),
        at_least: standing::is_at_least(run),
        end: ending(run),
        notes: standing::notes(run)
            .iter()
            .map(|note| NoteText { name: note.name().into(), text: note.to_string() })
            .collect(),
        asked: asked(run),
        server: server(run),
        operations: operations(run),
        objectives: objectives(&result),
        times: times(run),
        kinds: kinds(run),
        speed: speed(&run.summary().all.speed),
        connections: connections(run),
        bytes: bytes(run),
        failures: failures(run),
        redirects: redirects(run),
        groups: groups(run),
        client: client(run),
        series: run.points.iter().map(point).collect(),
    }
}

fn result_of_run(result: &RunResult) -> ResultOfRun {
    let reason = |reason: &Reason| NoteText { name: reason.name().into(), text: result::text(reason) };
    let reasons = result.reasons.iter().map(reason).collect();
    ResultOfRun { word: result.word, exit_code: result.exit.code(), reasons }
}

fn accounting(result: &RunResult) -> AccountingChecks {
    let violated = |violation: &measure::result::accounting::Violation| Violated {
        identity: violation.identity.name().into(),
        about: violation.identity.about().into(),
        left: violation.left,
        right: violation.right,
    };
    let violations = result.accounting.violations.iter().map(violated).collect();
    AccountingChecks { checks: result.accounting.checks, violations }
}

fn ending(run: &SavedRun) -> Option<Ending> {
    let end = run.end.as_ref()?;
    let (reason, signal, detail) = match &end.reason {
        EndReason::Completed => (EndWord::Completed, None, None),
        EndReason::Interrupted { signal } => (EndWord::Interrupted, Some(*signal), None),
        EndReason::Decided { broke } => (EndWord::Decided, None, broke.as_deref().map(escape)),
        EndReason::Aborted { condition } => (EndWord::Aborted, None, Some(escape(condition))),
        EndReason::Merged { .. } => (EndWord::Merged, None, None),
        EndReason::DiskFull => (EndWord::DiskFull, None, None),
        EndReason::Unreachable { detail } => (EndWord::Unreachable, None, Some(escape(detail))),
        EndReason::Failed { detail } => (EndWord::Failed, None, Some(escape(detail))),
    };
    Some(Ending { reason, signal, detail, at_nanos: end.at.as_nanos() })
}

fn asked(run: &SavedRun) -> Asked {
    let begin = &run.begin;
    let typed = |text: &String| bounded(text, TYPED_MAX);
    let (model, concurrency) = match begin.model {
        Model::Closed { concurrency } => (ModelWord::Closed, concurrency),
        Model::Open { in_flight_max } => (ModelWord::Open, in_flight_max),
    };
    Asked {
        version: escape(&begin.version),
        debug_build: begin.debug_build,
        started_unix_ms: begin.started_unix_ms,
        command: begin.command.iter().map(typed).collect(),
        targets: begin.targets.iter().map(typed).collect(),
        urls: begin.urls,
        model,
        concurrency,
        load: escape(&begin.load),
        levels: begin.levels.as_ref().map(levels),
        warmup_ms: begin.warmup_ms,
        duration_ms: begin.duration_ms,
        seed: begin.seed,
        threads: begin.threads,
        settings: begin
            .settings
            .iter()
            .map(|(name, value)| Setting { name: typed(name), value: typed(value) })
            .collect(),
        host: ClientHost {
            name: escape(&begin.host.name),
            kernel: escape(&begin.host.kernel),
            cpu: escape(&begin.host.cpu),
            cores: begin.host.cores,
            memory_bytes: begin.host.memory_bytes,
        },
    }
}

fn levels(levels: &store::Levels) -> Levels {
    let stage = |stage: &store::LevelStage| LevelStage { length_nanos: stage.length_nanos, level: stage.level };
    Levels { from: levels.from, stages: levels.stages.iter().map(stage).collect() }
}

fn server(run: &SavedRun) -> Option<ServerAnswer> {
    let server = run.end.as_ref()?.server.as_ref()?;
    Some(ServerAnswer {
        software: server.software.as_deref().map(escape),
        address: escape(&server.address),
        document_bytes: server.document_bytes,
        status: server.status,
        http_version: escape(&server.http_version),
        tls: server.tls.as_ref().map(|tls| TlsAgreed {
            version: escape(&tls.version),
            cipher: escape(&tls.cipher),
            protocol: tls.protocol.as_deref().map(escape),
            server_name: escape(&tls.server_name),
            subject: tls.subject.as_deref().map(escape),
            issuer: tls.issuer.as_deref().map(escape),
        }),
    })
}

fn operations(run: &SavedRun) -> Operations {
    let summary = run.summary();
    let tally = &summary.stats.measured;
    Operations {
        window_seconds: summary.measured.seconds,
        offered: tally.scheduled,
        started: tally.started,
        completed: tally.completed(),
        ok: tally.ok,
        failed: tally.failed,
        dropped: tally.dropped,
        unfinished: tally.unfinished,
        attempts: tally.attempts,
        hops: tally.hops,
        resends: tally.resends,
        offered_per_second: summary.offered_rate(),
        started_per_second: summary.started_rate(),
        completed_per_second: summary.completed_rate(),
        ok_per_second: summary.ok_rate(),
        success_share: summary.success(),
        in_flight_mean: summary.mean_in_flight(),
        in_flight_peak: summary.in_flight_peak,
    }
}

fn objectives(result: &RunResult) -> Vec<ObjectiveResult> {
    let judged = |judged: &Judged| ObjectiveResult {
        objective: judged.objective.to_string(),
        judgement: match judged.judgement {
            Judgement::Met => JudgementWord::Met,
            Judgement::Missed => JudgementWord::Missed,
            Judgement::NotEnoughData => JudgementWord::NotEnoughData,
            Judgement::ClientLimited => JudgementWord::ClientLimited,
        },
        value: judged.value,
        operations: judged.operations,
        needed: judged.needed,
    };
    result.objectives.iter().map(judged).collect()
}

fn times(run: &SavedRun) -> Times {
    let (all, dropped) = (&run.summary().all, run.summary().stats.measured.dropped);
    Times {
        response: timed(all, Timed::Response),
        response_of_all: LADDER.iter().map(|q| quantile(*q, percentile::of_all(all, dropped, *q))).collect(),
        service: timed(all, Timed::Service),
        ttfb: timed(all, Timed::Ttfb),
        transfer: spread(&all.transfer),
        agreement: spread(&all.agreement),
        sending: spread(&all.sending),
        waiting: spread(&all.waiting),
        connect: spread(&all.connect),
        handshake: spread(&all.handshake),
        lateness: spread(&all.lateness),
        slot_wait: spread(&all.slot_wait),
        failed_response: spread(&all.failed_response),
    }
}

fn kinds(run: &SavedRun) -> Vec<KindFigures> {
    let figures = |(kind, stats): &(OpKind, KindStats)| KindFigures {
        kind: kind.name().into(),
        ok: stats.ok,
        failed: stats.failed,
        unfinished: stats.unfinished,
        ok_body_bytes: stats.ok_bytes,
        response: timed(stats, Timed::Response),
        service: timed(stats, Timed::Service),
    };
    run.summary().stats.kinds.iter().map(figures).collect()
}

fn spread(values: &Distribution) -> Spread {
    spread_of(values, |q| percentile::of(values, q))
}

/// The spread of a time of the target, which client stalls may have lengthened.
fn timed(stats: &KindStats, timed: Timed) -> Spread {
    spread_of(stats.timed(timed).0, |q| percentile::timed(stats, timed, q))
}

fn spread_of(values: &Distribution, shown: impl Fn(f64) -> Percentile) -> Spread {
    Spread {
        count: values.count(),
        min_nanos: values.min(),
        mean_nanos: values.moments().mean(),
        sd_nanos: values.moments().standard_deviation(),
        max_nanos: values.max(),
        quantiles: LADDER.iter().map(|q| quantile(*q, shown(*q))).collect(),
    }
}

fn quantile(q: f64, shown: Percentile) -> QuantileNanos {
    let low = if let Percentile::Between(low, _) = shown { Some(low) } else { None };
    let (nanos, state) = match shown {
        Percentile::Value(nanos) | Percentile::Between(_, nanos) => (Some(nanos), QuantileState::Value),
        Percentile::LongerThan(nanos) => (Some(nanos), QuantileState::LongerThan),
        Percentile::Failed => (None, QuantileState::Failed),
        Percentile::TooFew { .. } => (None, QuantileState::TooFew),
        Percentile::Empty => (None, QuantileState::Empty),
    };
    QuantileNanos { q, nanos, low_nanos: low.or(nanos), state, samples_needed: percentile::samples_needed(q) }
}

fn speed(values: &Distribution) -> Speeds {
    let at = |q: f64| match percentile::of(values, q) {
        Percentile::Value(value) => Some(value),
        _ => None,
    };
    Speeds {
        count: values.count(),
        p5_bytes_per_second: at(0.05),
        p50_bytes_per_second: at(0.5),
        p95_bytes_per_second: at(0.95),
    }
}

fn connections(run: &SavedRun) -> ConnectionCounts {
    let connections = &run.summary().stats.connections;
    ConnectionCounts {
        opened: connections.opened,
        failed: connections.failed,
        connect: spread(&connections.connect),
        handshakes_full: connections.handshakes_full,
        handshakes_resumed: connections.handshakes_resumed,
        handshake: spread(&connections.handshake),
        hosts: connections.hosts.iter().map(host).collect(),
    }
}

/// A host always has a port: it reads like none of the others.
fn name(host: &Label) -> String {
    host.value().map_or_else(|| "other".to_owned(), escape)
}

fn host(host: &measure::stats::HostConnections) -> HostConnections {
    HostConnections { host: name(&host.host), opened: host.opened }
}

fn redirects(run: &SavedRun) -> Option<Redirects> {
    let chains = run.summary().stats.redirect_chains.as_deref()?;
    let hop = |row: &HopStats| HopFigures {
        position: row.position,
        host: name(&row.host),
        attempts: row.attempts,
        redirects: row.redirects,
        connections_opened: row.opened,
        body_bytes: row.body_bytes,
        overhead_bytes: row.overhead_bytes,
        until_sent_nanos: row.until_sent_nanos,
        service: spread(&row.service),
        response_share: chains.share(row.nanos()),
    };
    let mut hops: Vec<HopFigures> = chains.rows.iter().map(hop).collect();
    hops.sort_by(|a, b| (a.position, &a.host).cmp(&(b.position, &b.host)));
    Some(Redirects {
        operations: chains.ops,
        operations_ok: chains.ok,
        attempts: chains.attempts,
        hops_max: chains.hops_max,
        response: spread(&chains.response),
        service: spread(&chains.service),
        redirect_nanos: chains.redirect_nanos,
        redirect_share: chains.share(u128::from(chains.redirect_nanos)),
        reach_nanos: chains.reach_nanos,
        reach_share: chains.share(u128::from(chains.reach_nanos)),
        redirect_body_bytes: chains.redirect_body_bytes,
        redirect_overhead_bytes: chains.redirect_overhead_bytes,
        hops,
    })
}

fn bytes(run: &SavedRun) -> Bytes {
    let summary = run.summary();
    let stage = |totals: &StageTotals| StageBytes {
        length_seconds: totals.seconds,
        body_bytes: totals.traffic.body,
        overhead_bytes: totals.traffic.overhead,
        sent_bytes: totals.traffic.sent,
        sent_body_bytes: totals.traffic.sent_body,
    };
    Bytes {
        warmup: stage(&summary.warmup),
        measured: stage(&summary.measured),
        drain: stage(&summary.drain),
        throughput_bytes_per_second: summary.throughput(),
        goodput_bytes_per_second: summary.goodput(),
        sending_bytes_per_second: summary.sending(),
        good_sending_bytes_per_second: summary.good_sending(),
    }
}

fn failures(run: &SavedRun) -> Failures {
    let stats = &run.summary().stats;
    let tally = &stats.measured;
    let class = |(class, attempts): (AttemptClass, u64)| ClassCount {
        class: class.name().into(),
        about: class.about().into(),
        attempts,
        attempts_share: attempts as f64 / tally.attempts.max(1) as f64,
    };
    let cause = |(cause, attempts): (Cause, u64)| CauseCount {
        cause: cause.name().into(),
        about: cause.about().into(),
        attempts,
        example: stats.examples.iter().find(|example| example.cause() == cause).map(example),
    };
    Failures {
        classes: tally.classes.nonzero().filter(|(class, _)| *class != AttemptClass::Ok).map(class).collect(),
        causes: tally.causes.nonzero().filter(|(cause, _)| *cause != Cause::None).map(cause).collect(),
        statuses: tally
            .statuses
            .sorted()
            .into_iter()
            .map(|(status, attempts)| StatusCount { status, attempts })
            .collect(),
        damaged: run.end.as_ref().and_then(|end| end.damaged.as_ref()).map(Into::into),
        open_uploads: run.end.as_ref().and_then(|end| end.uploads.as_ref()).map(Into::into),
        flags: tally
            .flags
            .nonzero()
            .map(|(flag, attempts)| FlagCount { flag: flag.name().into(), about: flag.about().into(), attempts })
            .collect(),
    }
}

fn example(example: &Example) -> FailureExample {
    FailureExample {
        at_nanos: example.at.as_nanos(),
        class: example.outcome.class.name().into(),
        phase: example.outcome.phase.name().into(),
        url: escape(&example.url),
        address: example.address.as_deref().map(escape),
        status: example.status,
        detail: escape(&example.detail),
    }
}

fn groups(run: &SavedRun) -> Vec<GroupFigures> {
    let figures = |group: &measure::stats::Group| {
        let (kind, label) = match &group.label {
            Label::Value(value) => (LabelKind::Value, escape(value)),
            Label::Absent => (LabelKind::Absent, "(absent)".into()),
            Label::Other => (LabelKind::Other, "other".into()),
        };
        GroupFigures {
            dimension: group.dimension.name().into(),
            label,
            kind,
            ok: group.stats.ok,
            not_ok: group.stats.failed,
            ok_body_bytes: group.stats.ok_bytes,
            response: spread(&group.stats.response),
        }
    };
    run.summary().stats.groups.iter().map(figures).collect()
}

fn client(run: &SavedRun) -> Client {
    let summary = run.summary();
    let limits = &summary.limits;
    let (nanos, done) = (summary.measured.cpu_nanos, summary.stats.measured.completed());
    let body = summary.measured.traffic.moved();
    let unread = summary.client_share();
    Client {
        judged_seconds: limits.seconds,
        cpu_limited_seconds: limits.cpu,
        late_seconds: limits.late,
        nic_limited_seconds: limits.nic,
        shared_host_seconds: limits.host,
        busy_max_share: limits.busy_max,
        run_delay_max_share: limits.run_delay_max,
        nic_max_share: limits.nic_max,
        unread_share: unread.map(|unread| unread.share),
        unread_is_lower_bound: unread.is_some_and(|unread| unread.at_least),
        unread_samples: unread.map_or(0, |unread| unread.samples),
        cpu_nanos: nanos,
        cpu_nanos_per_operation: (done > 0).then(|| nanos as f64 / done as f64),
        // Nanoseconds by byte are seconds by GB.
        cpu_seconds_per_gigabyte: (body > 0).then(|| nanos as f64 / body as f64),
        peak_memory_bytes: run.end.as_ref().map(|end| end.peak_memory_bytes),
        loopback: run.begin.loopback,
        insecure: run.begin.insecure,
    }
}

fn point(point: &Point) -> SeriesPoint {
    SeriesPoint {
        start_nanos: point.start.as_nanos(),
        length_nanos: point.end.nanos_since(point.start),
        stage: point.stage.name().into(),
        ok: point.ok,
        failed: point.failed,
        dropped: point.dropped,
        body_bytes: point.body_bytes,
        sent_body_bytes: point.sent_body_bytes,
        response_p50_nanos: point.response_p50_nanos,
        response_p99_nanos: point.response_p99_nanos,
        in_flight: point.in_flight,
        client_busy_share: point.client.busy,
    }
}
