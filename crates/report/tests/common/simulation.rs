//! Simulated operations, recorded by the recorder of real runs, and the first and last record of a run.

use super::{MS, SECOND};
use measure::recorder::Pacing;
use measure::sample::{AttemptKind, AttemptSample, BodyBytes, Example, HopSample, OpSample};
use measure::{
    AttemptClass, AttemptOutcome, Cause, ClientLoad, Flag, Flags, Instant, Interval, Model, Objective, OpOutcome,
    Phase, Recorder, Stage, Timeline,
};
use store::{Begin, End, EndReason, FORMAT, Host, Server};

/// One simulated operation. Instants are in nanoseconds.
#[derive(Clone)]
pub struct Op {
    pub intended: u64,
    pub started: u64,
    pub slot_wait: u64,
    pub first_byte: u64,
    pub end: u64,
    pub bytes: u64,
    pub outcome: OpOutcome,
    pub status: Option<u16>,
    pub host: &'static str,
    pub header: Option<&'static str>,
    pub connect: Option<u64>,
    pub flags: &'static [Flag],
    /// For a redirected operation: the instant at which the redirect was complete, and the new host and port.
    pub moved: Option<(u64, &'static str)>,
}

impl Op {
    pub fn ok(started: u64, end: u64, bytes: u64) -> Self {
        Self {
            intended: started,
            started,
            slot_wait: 0,
            first_byte: started + (end - started) / 2,
            end,
            bytes,
            outcome: OpOutcome::Ok,
            status: Some(200),
            host: "localhost:8080",
            header: None,
            connect: None,
            flags: &[Flag::KeptAlive, Flag::Persistent],
            moved: None,
        }
    }

    pub fn failed(self, class: AttemptClass, cause: Cause, phase: Phase, status: Option<u16>) -> Self {
        let outcome = OpOutcome::Failed(AttemptOutcome::failed(class, cause, phase));
        Self { outcome, status, flags: &[], ..self }
    }

    pub fn unfinished(self) -> Self {
        Self { outcome: OpOutcome::Unfinished, status: None, bytes: 0, flags: &[], ..self }
    }
}

/// Texts in the examples of failures.
pub struct Texts {
    pub url: &'static str,
    pub detail: &'static str,
}

pub const PLAIN: Texts = Texts { url: "http://localhost:8080/object", detail: "" };

/// Records these operations in order of time. `dropped` are the intended starts of dropped operations.
pub fn simulate(timeline: Timeline, pacing: Pacing, ops: &[Op], dropped: &[u64], texts: &Texts) -> Vec<Interval> {
    let mut recorder = Recorder::new(timeline, pacing);
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (index, op) in ops.iter().enumerate() {
        events.push((op.started, true, index));
        events.push((op.end, false, index));
    }
    events.sort_unstable();
    let mut last = 0;
    for (at, is_start, index) in events {
        recorder.advance(Instant::from_nanos(at));
        let intended = Instant::from_nanos(ops[index].intended);
        if is_start {
            recorder.scheduled(intended, 1);
            recorder.started(Instant::from_nanos(at), intended);
        } else {
            end(&mut recorder, timeline, &ops[index], texts);
        }
        last = at;
    }
    for intended in dropped {
        recorder.scheduled(Instant::from_nanos(*intended), 1);
        recorder.dropped(Instant::from_nanos(*intended), false);
    }
    recorder.finish(Instant::from_nanos(last + MS));
    recorder.take_finished().collect()
}

fn end(recorder: &mut Recorder, timeline: Timeline, op: &Op, texts: &Texts) {
    let at = Instant::from_nanos;
    let outcome = match op.outcome {
        OpOutcome::Ok => AttemptOutcome::OK,
        OpOutcome::Failed(outcome) => outcome,
        OpOutcome::Unfinished | OpOutcome::CutOff => {
            AttemptOutcome::failed(AttemptClass::InflightAtEnd, Cause::RunEnded, Phase::Head)
        }
    };
    let overhead = if op.status.is_some() { 160 } else { 0 };
    recorder.received(op.bytes, overhead);
    recorder.sent(90);
    if let Some(nanos) = op.connect {
        let host = recorder.host_label(op.host);
        recorder.connected(nanos, host);
    }
    if matches!(outcome.phase, Phase::Connect) {
        recorder.connect_failed();
    }
    let mut flags = Flags::default();
    op.flags.iter().for_each(|flag| flags.set(*flag));
    if op.moved.is_some() {
        redirect(recorder, op);
    }
    recorder.attempt(&AttemptSample {
        op_intended: at(op.intended),
        kind: if op.moved.is_some() { AttemptKind::Hop } else { AttemptKind::First },
        outcome,
        flags,
        status: op.status,
        body_bytes: op.bytes,
        overhead_bytes: overhead,
        sent_bytes: 90,
        sent_body: 0,
    });
    if matches!(op.outcome, OpOutcome::Failed(_)) {
        recorder.example(Example {
            outcome,
            at: at(op.end),
            url: texts.url.into(),
            address: Some("127.0.0.1:8080".into()),
            status: op.status,
            detail: texts.detail.into(),
        });
    }
    let host = recorder.host_label(op.host);
    let header = op.header.map(|value| recorder.header_label(Some(value)));
    let inside = timeline.stage(at(op.end)) == Stage::Measured;
    let sample = OpSample {
        intended: at(op.intended),
        sent: Some(at((op.started + 10_000).min(op.end))),
        first_byte: matches!(op.outcome, OpOutcome::Ok).then(|| at(op.first_byte)),
        slot_wait_nanos: op.slot_wait,
        connect_nanos: op.connect,
        outcome: op.outcome,
        body_bytes: op.bytes,
        window: BodyBytes { received: if inside { op.bytes } else { 0 }, sent: 0 },
        header,
        // A client that starts all operations late also delays these operations.
        affected_by: Some(op.started.saturating_sub(op.intended + op.slot_wait)).filter(|late| *late > MS),
        ..OpSample::simulated(host, at(op.started), at(op.end))
    };
    recorder.ended(&sample);
    if let Some((moved, owner)) = op.moved {
        let owner = recorder.host_label(owner);
        let hop = |host, sent, end, redirected, status, body_bytes| HopSample {
            host,
            sent: Some(sent),
            end,
            attempts: 1,
            redirected,
            opened: u64::from(redirected && op.connect.is_some()),
            status,
            body_bytes,
            overhead_bytes: 160,
        };
        let sent = sample.sent.unwrap_or(sample.end);
        let first = hop(host, sent, at(moved), true, Some(307), 5);
        recorder.chain(&sample, 2, &[first, hop(owner, at(moved + MS / 4), at(op.end), false, op.status, op.bytes)]);
    }
}

/// Returns the first attempt of a redirected operation.
fn redirect(recorder: &mut Recorder, op: &Op) {
    recorder.received(5, 160);
    recorder.wasted(BodyBytes { received: 5, sent: 0 });
    let mut flags = Flags::default();
    flags.set(Flag::Followed);
    recorder.attempt(&AttemptSample {
        op_intended: Instant::from_nanos(op.intended),
        kind: AttemptKind::First,
        outcome: AttemptOutcome::OK,
        flags,
        status: Some(307),
        body_bytes: 5,
        overhead_bytes: 160,
        sent_bytes: 0,
        sent_body: 0,
    });
}

pub fn begin(model: Model, load: &str, duration: Option<u64>) -> Begin {
    let command = ["plimsoll", "get", "-c", "8", "-d", "10s", "http://localhost:8080/object"];
    Begin {
        format: FORMAT,
        version: "0.1.0".into(),
        debug_build: false,
        started_unix_ms: 1_795_228_200_000,
        command: command.map(str::to_owned).to_vec(),
        targets: vec!["http://localhost:8080/object".into()],
        urls: 1,
        model,
        load: load.into(),
        levels: None,
        warmup_ms: 0,
        duration_ms: duration.map(|nanos| nanos / MS),
        seed: 42,
        threads: 1,
        settings: vec![("concurrency".into(), "8".into())],
        objectives: vec![Objective::DEFAULT],
        accept_not_enough_data: false,
        host: Host {
            name: "bench-1".into(),
            kernel: "6.12.0".into(),
            cpu: "AMD EPYC 9454".into(),
            cores: 2,
            memory_bytes: 17_179_869_184,
        },
        loopback: true,
        header: None,
        insecure: false,
        path: None,
        part: None,
    }
}

pub fn ended(reason: EndReason, at: u64) -> End {
    let server = Server {
        software: Some("nginx/1.26.3".into()),
        address: "127.0.0.1:8080".into(),
        document_bytes: 10_240,
        status: 200,
        http_version: "HTTP/1.1".into(),
        tls: None,
    };
    End {
        reason,
        at: Instant::from_nanos(at),
        server: Some(server),
        peak_memory_bytes: 12_582_912,
        cpu_nanos: 2 * SECOND,
        uploads: None,
        path: None,
        damaged: None,
        fresh_below: 0,
        fleet: None,
        probes: None,
    }
}

/// Returns the intervals, with this load on the client.
pub fn loaded(mut intervals: Vec<Interval>, client: ClientLoad) -> Vec<Interval> {
    intervals.iter_mut().for_each(|interval| interval.client = client);
    intervals
}

/// Load on a client that does not limit its run.
pub const CALM: ClientLoad = ClientLoad {
    busy: 0.43,
    unread: 0.02,
    throttled: 0.0,
    run_delay: 0.004,
    run_delay_sum: 0.004,
    steal: 0.0,
    nic: 0.0,
    descriptors: 0.01,
    ports: 0.01,
    frozen: 0.0,
    host_busy: 0.6,
    cpu_nanos: 431_000_000,
};
