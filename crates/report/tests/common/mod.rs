//! Runs of simulated operations, recorded by the recorder of real runs. Nothing is random: the records are the same on every machine.

use measure::evidence::{Evidence, PathSample, Probe, Probes};
use measure::recorder::Pacing;
use measure::sample::HopSample;
use measure::sample::{AttemptKind, AttemptSample, Example, OpSample};
use measure::{
    AttemptClass, AttemptOutcome, Cause, ClientLoad, Flag, Flags, Instant, Interval, Model, Objective, OpKind,
    OpOutcome, Phase, Recorder, Stage, Timeline,
};
use std::time::Duration;
use store::{Begin, End, EndReason, FORMAT, Host, LevelStage, Levels, SavedRun, Server, Tls};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// One simulated operation; instants in nanoseconds.
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
    /// Instant at which the first host's redirect was complete, and the host and port that it named.
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

/// The texts of failure examples.
pub struct Texts {
    pub url: &'static str,
    pub detail: &'static str,
}

const PLAIN: Texts = Texts { url: "http://localhost:8080/object", detail: "" };

/// Records these operations in order of time, and the intended starts of dropped ones.
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
        kind: OpKind::Get,
        intended: at(op.intended),
        started: at(op.started),
        sent: Some(at((op.started + 10_000).min(op.end))),
        sent_all: None,
        expect_continue_nanos: None,
        first_byte: matches!(op.outcome, OpOutcome::Ok).then(|| at(op.first_byte)),
        end: at(op.end),
        slot_wait_nanos: op.slot_wait,
        connect_nanos: op.connect,
        handshake_nanos: None,
        outcome: op.outcome,
        body_bytes: op.bytes,
        window: measure::sample::BodyBytes { received: if inside { op.bytes } else { 0 }, sent: 0 },
        host,
        header,
        // Like a client that is late with everything.
        affected_by: Some(op.started.saturating_sub(op.intended + op.slot_wait)).filter(|late| *late > MS),
        client_send_nanos: 0,
        unread: None,
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
    recorder.wasted(measure::sample::BodyBytes { received: 5, sent: 0 });
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
        damaged: None,
        fresh_below: 0,
        probes: None,
    }
}

fn loaded(mut intervals: Vec<Interval>, client: ClientLoad) -> Vec<Interval> {
    intervals.iter_mut().for_each(|interval| interval.client = client);
    intervals
}

const CALM: ClientLoad = ClientLoad {
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

/// A pseudorandom sequence that is the same on every machine (Knuth's MMIX constants).
fn noise(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn closed_ops(slots: u64, until: u64) -> Vec<Op> {
    let mut state = 7;
    let mut ops = Vec::new();
    for slot in 0..slots {
        let (mut now, mut first) = (slot * 1000, true);
        while now < until {
            let dice = noise(&mut state);
            let length = 900_000 + dice % 2_500_000 + if dice.is_multiple_of(500) { 20 * MS } else { 0 };
            let bytes = [10_240, 10_240, 100_000][(dice % 3) as usize];
            let op = Op { connect: first.then_some(180_000 + dice % 90_000), ..Op::ok(now, now + length, bytes) };
            let too_busy = AttemptOutcome::failed(AttemptClass::Throttled, Cause::Status, Phase::Head);
            let throttled = Op { outcome: OpOutcome::Failed(too_busy), status: Some(503), bytes: 19, ..op.clone() };
            ops.push(if dice.is_multiple_of(997) { throttled } else { op });
            (now, first) = (now + length + 1000, false);
        }
    }
    ops
}

fn closed_run(client: ClientLoad, reason: EndReason, window: u64) -> (Begin, Vec<Interval>, End) {
    let mut begin =
        begin(Model::Closed { concurrency: 8 }, "closed, 8 slots, 10s, after 1s of warm-up", Some(10 * SECOND));
    begin.warmup_ms = 1000;
    let timeline = Timeline::new(Instant::ZERO, Duration::from_secs(1), Some(Duration::from_nanos(window)));
    let intervals = simulate(timeline, Pacing::Immediate, &closed_ops(8, SECOND + window), &[], &PLAIN);
    (begin, loaded(intervals, client), ended(reason, SECOND + window + 30 * MS))
}

pub fn closed() -> SavedRun {
    let (begin, intervals, end) = closed_run(CALM, EndReason::Completed, 10 * SECOND);
    SavedRun::of(begin, &intervals, Some(end))
}

/// Returns a closed run without evidence about queues.
pub fn not_determined() -> SavedRun {
    let (begin, mut intervals, end) = closed_run(CALM, EndReason::Completed, 10 * SECOND);
    intervals.iter_mut().for_each(|interval| interval.evidence = Evidence::default());
    SavedRun::of(begin, &intervals, Some(end))
}

/// Returns the same run with a probe that was no faster with twice the slots.
pub fn probed() -> SavedRun {
    let (begin, mut intervals, mut end) = closed_run(CALM, EndReason::Completed, 10 * SECOND);
    intervals.iter_mut().for_each(|interval| interval.evidence = Evidence::default());
    let probe = |slots, per_second| Some(Probe { slots, operations: 9000, per_second, client_limited: false });
    end.probes = Some(Probes { lower: probe(4, 3500.0), higher: probe(16, 3700.0) });
    SavedRun::of(begin, &intervals, Some(end))
}

pub fn client_limited() -> SavedRun {
    let busy = ClientLoad { busy: 0.995, unread: 0.93, ..CALM };
    let (mut begin, intervals, end) = closed_run(busy, EndReason::Completed, 10 * SECOND);
    (begin.debug_build, begin.insecure) = (true, true);
    SavedRun::of(begin, &intervals, Some(end))
}

pub fn client_nic() -> SavedRun {
    let (begin, intervals, end) = closed_run(ClientLoad { nic: 0.97, ..CALM }, EndReason::Completed, 10 * SECOND);
    SavedRun::of(begin, &intervals, Some(end))
}

/// Returns a run of 100 kB bodies over a link on which data queues for 80 ms.
pub fn link_full() -> SavedRun {
    let op = |index: u64| Op::ok(index * 100 * MS, index * 100 * MS + 95 * MS + index % 7 * 1000, 100_000);
    let ops: Vec<Op> = (0..100).map(op).collect();
    let begin = begin(Model::Closed { concurrency: 1 }, "closed, 1 slot, 100 operations", None);
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(10)));
    let mut intervals = loaded(simulate(timeline, Pacing::Immediate, &ops, &[], &PLAIN), CALM);
    let waiting = PathSample { round_trip: 80 * MS, shortest: MS / 10, ..PathSample::default() };
    intervals.iter_mut().for_each(|interval| interval.evidence.network_paths.add(&waiting));
    SavedRun::of(begin, &intervals, Some(ended(EndReason::Completed, 10 * SECOND)))
}

pub fn shared_host() -> SavedRun {
    let crowded = ClientLoad { busy: 0.68, unread: 0.8, run_delay: 0.3, ..CALM };
    let (begin, intervals, end) = closed_run(crowded, EndReason::Completed, 10 * SECOND);
    SavedRun::of(begin, &intervals, Some(end))
}

/// Returns a run on a target that responds to every request as fast as to the first.
pub fn concurrency() -> SavedRun {
    let op = |index: u64| Op::ok(index * MS, index * MS + 900_000 + index % 7 * 1000, 4096);
    let ops: Vec<Op> = (0..2000).map(op).collect();
    short(&ops, &PLAIN, |begin, _| {
        begin.model = Model::Closed { concurrency: 1 };
        begin.load = "closed, 1 slot, 2,000 operations".into();
    })
}

pub fn interrupted() -> SavedRun {
    let (begin, intervals, end) = closed_run(CALM, EndReason::Interrupted { signal: 2 }, 3_200 * MS);
    SavedRun::of(begin, &intervals, Some(end))
}

pub fn counters_disagree() -> SavedRun {
    let (begin, mut intervals, end) = closed_run(CALM, EndReason::Completed, 10 * SECOND);
    intervals[4].stats.traffic.body -= 12_345;
    intervals[4].stats.measured.dropped += 3;
    SavedRun::of(begin, &intervals, Some(end))
}

pub fn partial() -> SavedRun {
    let (begin, intervals, _) = closed_run(CALM, EndReason::Completed, 10 * SECOND);
    let mut run = SavedRun::of(begin, &intervals[..5], None);
    run.torn_bytes = 1_234;
    run
}

/// Returns a run of 1,000 operations a second for 10 s. The target stops from 4 s to 5 s, and for good from 9.5 s on.
pub fn open_stall() -> SavedRun {
    const IN_FLIGHT_MAX: u64 = 400;
    let mut begin = begin(
        Model::Open { in_flight_max: IN_FLIGHT_MAX },
        "open, 1000/s, evenly spaced, at most 400 in flight, 10s",
        Some(10 * SECOND),
    );
    begin.loopback = false;
    let (mut ops, mut dropped) = (Vec::new(), Vec::new());
    for index in 0..10_000_u64 {
        let intended = index * MS;
        let late = 5_000 + index % 7 * 1_000;
        let (stalled_first, gone_first) = (index.saturating_sub(4_000), index.saturating_sub(9_500));
        let op = Op::ok(intended + late, intended + late + 800_000 + index % 11 * 50_000, 4_096);
        let op = Op { intended, ..op };
        ops.push(match index {
            4_000..5_000 if stalled_first < IN_FLIGHT_MAX => {
                let end = 5 * SECOND + stalled_first * 10_000;
                Op { end, first_byte: end - 50_000, ..op }
            }
            4_000..5_000 => {
                let started = 5 * SECOND + 4 * MS + stalled_first * 10_000;
                let (end, slot_wait) = (started + MS, started - intended - late);
                Op { started, slot_wait, end, first_byte: end - 50_000, ..op }
            }
            9_500.. if gone_first < IN_FLIGHT_MAX => Op { end: 12 * SECOND, ..op }.unfinished(),
            9_500.. => {
                dropped.push(intended);
                continue;
            }
            _ => op,
        });
    }
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(10)));
    let intervals = simulate(timeline, Pacing::Scheduled, &ops, &dropped, &PLAIN);
    SavedRun::of(begin, &loaded(intervals, CALM), Some(ended(EndReason::Completed, 12 * SECOND)))
}

/// Returns a run of 100 operations a second for 4 s, then 200 a second for 6 s, each started late by `late`.
fn staged(late: u64, client: ClientLoad) -> SavedRun {
    let load = "open, up to 200/s in stages of 10s, evenly spaced, at most 50 in flight, 10s";
    let mut begin = begin(Model::Open { in_flight_max: 50 }, load, Some(10 * SECOND));
    let stages = [(4, 100.0), (0, 200.0), (6, 200.0)];
    let stage = |(seconds, level)| LevelStage { length_nanos: seconds * SECOND, level };
    begin.levels = Some(Levels { from: 100.0, stages: stages.map(stage).to_vec() });
    begin.loopback = false;
    let arrivals = (0..400).map(|index| index * 10 * MS).chain((0..1200).map(|index| 4 * SECOND + index * 5 * MS));
    let op = |intended: u64| {
        let started = intended + late + intended % 7_000;
        Op { intended, ..Op::ok(started, started + 800_000, 4096) }
    };
    let ops: Vec<Op> = arrivals.map(op).collect();
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(10)));
    let intervals = simulate(timeline, Pacing::Scheduled, &ops, &[], &PLAIN);
    SavedRun::of(begin, &loaded(intervals, client), Some(ended(EndReason::Completed, 10 * SECOND)))
}

pub fn rate() -> SavedRun {
    staged(20_000, CALM)
}

/// Returns a run of a client that starts everything late because it has no CPU time.
pub fn open_late() -> SavedRun {
    staged(6 * MS, ClientLoad { busy: 0.995, unread: 0.93, ..CALM })
}

/// Returns a run on a server that sends another header value in every response.
pub fn many_labels() -> SavedRun {
    let value = |index: u64| Some(&*Box::leak(format!("node-{index}").into_boxed_str()));
    let op = |index: u64| Op { header: value(index % 80), ..Op::ok(index * MS, index * MS + 800_000, 512) };
    let ops: Vec<Op> = (0..800).map(op).collect();
    short(&ops, &PLAIN, |begin, _| begin.header = Some("x-served-by".into()))
}

/// Returns a run in which three of four objects are on another server; one of them is gone.
pub fn redirected() -> SavedRun {
    let owners = ["localhost:8081", "localhost:8082", "localhost:8083"];
    let op = |index: u64| {
        let start = index * 2 * MS;
        let op = Op { connect: (index < 8).then_some(MS / 10), ..Op::ok(start, start + MS, 100_000) };
        match index % 4 {
            0 => op,
            place => Op { moved: Some((start + MS / 2, owners[place as usize - 1])), ..op },
        }
    };
    let mut ops: Vec<Op> = (0..800).map(op).collect();
    ops[401] = ops[401].clone().failed(AttemptClass::Http4xx, Cause::Status, Phase::Head, Some(404));
    short(&ops, &PLAIN, |_, _| ())
}

fn short(ops: &[Op], texts: &Texts, change: impl FnOnce(&mut Begin, &mut End)) -> SavedRun {
    let last = ops.iter().map(|op| op.end).max().unwrap_or(SECOND);
    let mut begin = begin(Model::Closed { concurrency: 4 }, "closed, 4 slots", None);
    let mut end = ended(EndReason::Completed, last + MS);
    change(&mut begin, &mut end);
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_nanos(last + MS)));
    SavedRun::of(begin, &loaded(simulate(timeline, Pacing::Immediate, ops, &[], texts), CALM), Some(end))
}

pub fn all_failed() -> SavedRun {
    let refused = |index: u64| {
        let op = Op { bytes: 0, ..Op::ok(index * 300_000, index * 300_000 + 200_000, 0) };
        op.failed(AttemptClass::ConnectRefused, Cause::Refused, Phase::Connect, None)
    };
    let ops: Vec<Op> = (0..100).map(refused).collect();
    let texts = Texts { url: PLAIN.url, detail: "connection refused (os error 111)" };
    short(&ops, &texts, |_, end| {
        (end.server, end.reason) = (None, EndReason::Unreachable { detail: "connection refused, 100 times".into() });
    })
}

pub fn nothing_ended() -> SavedRun {
    let ops: Vec<Op> = (0..4).map(|slot| Op::ok(slot * 1000, 20 * SECOND, 0).unfinished()).collect();
    let begin = begin(Model::Closed { concurrency: 4 }, "closed, 4 slots, 10s", Some(10 * SECOND));
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(10)));
    let intervals = simulate(timeline, Pacing::Immediate, &ops, &[], &PLAIN);
    let end = End { server: None, ..ended(EndReason::Completed, 20 * SECOND) };
    SavedRun::of(begin, &loaded(intervals, CALM), Some(end))
}

pub fn one_sample() -> SavedRun {
    short(&[Op { connect: Some(210_000), ..Op::ok(0, 1_234_567, 1_024) }], &PLAIN, |begin, _| {
        begin.model = Model::Closed { concurrency: 1 };
        begin.load = "closed, 1 slot, 1 operation".into();
    })
}

pub fn empty_objects() -> SavedRun {
    let ops: Vec<Op> = (0..400).map(|index| Op::ok(index * MS, index * MS + 700_000 + index * 100, 0)).collect();
    short(&ops, &PLAIN, |_, end| end.server.as_mut().unwrap().document_bytes = 0)
}

/// Returns a run with objects of more bytes than a 32-bit length or a signed 64-bit count of nanoseconds could hold.
pub fn huge_objects() -> SavedRun {
    let op = |index: u64| Op::ok(index * SECOND, index * SECOND + 8 * SECOND + index * MS, 9_300_000_000 + index);
    let ops: Vec<Op> = (0..42).map(op).collect();
    short(&ops, &PLAIN, |_, end| end.server.as_mut().unwrap().document_bytes = 9_300_000_000)
}

pub const HOSTILE: &str = "evil\u{1b}]0;owned\u{7}\r\n\u{202e}gnp.exe\u{0}\u{feff}<script>";

/// Returns a run on a server that tries to write to the reader's terminal in every field.
pub fn hostile() -> SavedRun {
    let op = |index: u64| {
        let op = Op { header: Some(HOSTILE), ..Op::ok(index * MS, index * MS + 800_000, 512) };
        match index % 4 {
            0 => op.failed(AttemptClass::Protocol, Cause::BadHead, Phase::Head, Some(999)),
            1 => Op { header: Some("HIT"), host: "other.example:443", flags: &[Flag::ExcessBytes, Flag::Http10], ..op },
            _ => op,
        }
    };
    let ops: Vec<Op> = (0..80).map(op).collect();
    let long: &'static str = Box::leak(format!("{HOSTILE}{}", "A".repeat(5_000)).into_boxed_str());
    let texts = Texts { url: "http://localhost:8080/\u{1b}[2Jobject", detail: long };
    short(&ops, &texts, |begin, end| {
        begin.header = Some("x-cache\u{1b}[1m".into());
        begin.targets = vec!["http://localhost:8080/\u{1b}[2Jobject".into(); 10];
        begin.urls = 25_000;
        let server = end.server.as_mut().unwrap();
        server.software = Some(long.into());
        server.http_version = HOSTILE.into();
        server.tls = Some(Tls {
            version: "TLSv1.3".into(),
            cipher: "TLS13_AES_256_GCM_SHA384".into(),
            protocol: Some(HOSTILE.into()),
            server_name: "localhost".into(),
            subject: Some(format!("CN={HOSTILE}")),
            issuer: Some(String::new()),
        });
    })
}

/// Returns a run that was killed in its first second.
pub fn begin_only() -> SavedRun {
    SavedRun::of(begin(Model::Closed { concurrency: 4 }, "closed, 4 slots, 10s", Some(10 * SECOND)), &[], None)
}

/// Returns all cases by name.
pub fn cases() -> Vec<(&'static str, SavedRun)> {
    vec![
        ("closed", closed()),
        ("client_limited", client_limited()),
        ("open_stall", open_stall()),
        ("all_failed", all_failed()),
        ("nothing_ended", nothing_ended()),
        ("one_sample", one_sample()),
        ("empty_objects", empty_objects()),
        ("huge_objects", huge_objects()),
        ("counters_disagree", counters_disagree()),
        ("partial", partial()),
        ("interrupted", interrupted()),
        ("hostile", hostile()),
        ("begin_only", begin_only()),
        ("client_nic", client_nic()),
        ("link_full", link_full()),
        ("shared_host", shared_host()),
        ("concurrency", concurrency()),
        ("rate", rate()),
        ("open_late", open_late()),
        ("many_labels", many_labels()),
        ("redirected", redirected()),
        ("not_determined", not_determined()),
        ("probed", probed()),
    ]
}
