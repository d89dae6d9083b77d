//! Tests of the diagnosis that names the limit of a run. The limits of the simulated targets and clients are known.

use crate::support::*;
use engine::network::Address;
use engine::plan::*;
use engine::schedule::Profile;
use engine::sim::{Accept, Reply, SimNetwork, SimServer, simulate};
use measure::limits;
use measure::values::random::Random;
use measure::{Instant, LimitedBy, OpKind, Summary};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;
use std::time::Duration;

/// Time that a target takes to process a request.
#[derive(Clone, Copy)]
enum Work {
    Constant(Duration),
    /// The times have an exponential distribution with this mean.
    Exponential(Duration),
}

impl Work {
    fn draw(self, random: &mut Random) -> Duration {
        match self {
            Self::Constant(time) => time,
            Self::Exponential(mean) => mean.mul_f64(-(1.0 - random.unit()).ln()),
        }
    }
}

/// A target whose workers each process one request at a time, in the order of arrival.
struct Target {
    random: Random,
    work: Work,
    /// Times at which the workers become free; empty if there is no limit, so no request waits for a worker.
    workers: BinaryHeap<Reverse<Instant>>,
    bytes: fn(u64) -> u64,
    count: u64,
}

fn target(workers: usize, work: Work, seed: u64) -> Target {
    let workers = (0..workers).map(|_| Reverse(Instant::ZERO)).collect();
    Target { random: Random::new(seed), work, workers, bytes: |_| 100, count: 0 }
}

impl SimServer for Target {
    fn request(&mut self, now: Instant, _: &str) -> Vec<(Instant, Reply)> {
        self.count += 1;
        let begins = self.workers.pop().map(|Reverse(free)| free.max(now));
        let ends = begins.unwrap_or(now) + self.work.draw(&mut self.random);
        if begins.is_some() {
            self.workers.push(Reverse(ends));
        }
        respond_at(ends, (self.bytes)(self.count))
    }
}

fn for_seconds(seconds: f64, load: LoadModel) -> Plan {
    let stop = StopAfter { time: Some(Duration::from_secs_f64(seconds)), ..StopAfter::default() };
    Plan { load, stop, ..plan() }
}

fn of_operations(ops: u64, load: LoadModel) -> Plan {
    Plan { load, stop: StopAfter { ops: NonZeroU64::new(ops), ..StopAfter::default() }, ..plan() }
}

fn run_of<S: SimServer>(plan: &Plan, server: S) -> Summary {
    let network = std::cell::Cell::new(Some(SimNetwork::new(server)));
    let (intervals, _) = simulate(plan, |_| network.take().expect("one thread"));
    summary(plan, &intervals)
}

fn named<S: SimServer>(plan: &Plan, server: S) -> LimitedBy {
    let summary = run_of(plan, server);
    let named = limits::limited_by(&summary, &plan.load.model());
    let (tally, odds) = (&summary.stats.measured, limits::queueing_odds(&summary));
    println!("{named}: {} of {} ok, {odds:?}, {:?}", tally.ok, tally.scheduled, limits::growth(&summary));
    named
}

const MS: Duration = Duration::from_millis(1);
const SEEDS: std::ops::Range<u64> = 1..6;

#[test]
fn independent_responses_are_limited_by_concurrency() {
    let (mut few, mut named_of_few) = (0, 0);
    for seed in 1..11 {
        // Each slot gets 43 responses per second.
        let work = Work::Exponential(Duration::from_micros(23_256));
        for slots in [1, 16, 32, 64] {
            let named = named(&for_seconds(10.0, closed(slots)), target(0, work, seed));
            assert_eq!(named, LimitedBy::Concurrency, "{slots} slots, seed {seed}");
        }
        // With few slots, the diagnosis may be missing, but must not be wrong.
        for slots in [2, 3, 4, 6, 8] {
            let named = named(&for_seconds(10.0, closed(slots)), target(0, work, seed));
            let known = matches!(named, LimitedBy::Concurrency | LimitedBy::NotDetermined);
            assert!(known, "{named}: {slots} slots, seed {seed}");
            few += 1;
            named_of_few += u32::from(named == LimitedBy::Concurrency);
        }
    }
    assert!(named_of_few * 10 >= few * 8, "{named_of_few} of {few}");
}

#[test]
fn constant_delays_are_limited_by_concurrency() {
    for slots in [1, 2, 4, 10, 64] {
        for plan in [for_seconds(3.0, closed(slots)), of_operations(60 * slots, closed(slots))] {
            assert_eq!(named(&plan, target(0, Work::Constant(20 * MS), 1)), LimitedBy::Concurrency, "{slots} slots");
        }
    }
}

/// Client and target share the cores of the host. If all cores are busy, it is possible that more slots do not increase
/// the throughput, although the response times show no queue. The diagnosis must not name the concurrency in this case.
#[test]
fn a_host_without_a_free_core_sustains_no_more_with_more_slots() {
    let plan = for_seconds(3.0, closed(16));
    let limit = |host_busy: f64| {
        let network = |_| SimNetwork::new(target(0, Work::Constant(20 * MS), 1));
        let (mut intervals, _) = simulate(&plan, network);
        intervals.iter_mut().for_each(|interval| interval.client.host_busy = host_busy);
        limits::limited_by(&summary(&plan, &intervals), &plan.load.model())
    };
    assert_eq!((limit(0.9), limit(0.99)), (LimitedBy::Concurrency, LimitedBy::NotDetermined));
}

#[test]
fn a_saturated_queue_is_the_target() {
    for seed in SEEDS {
        for (servers, slots) in [(37, 80), (37, 300), (8, 32), (2, 10), (1, 8)] {
            for work in [Work::Exponential(20 * MS), Work::Constant(20 * MS)] {
                for plan in [for_seconds(10.0, closed(slots)), of_operations(4_000, closed(slots))] {
                    let named = named(&plan, target(servers, work, seed));
                    assert_eq!(named, LimitedBy::Target, "{servers} servers, {slots} slots, seed {seed}");
                }
            }
        }
    }
}

#[test]
fn a_queue_that_has_just_filled_is_hardly_ever_the_concurrency() {
    let (mut all, mut wrong) = (0, 0);
    for seed in SEEDS {
        for (servers, slots) in [(1, 2), (2, 4), (3, 5), (8, 16), (30, 40)] {
            let named = named(&for_seconds(5.0, closed(slots)), target(servers, Work::Exponential(20 * MS), seed));
            let known = matches!(named, LimitedBy::Target | LimitedBy::NotDetermined | LimitedBy::Concurrency);
            assert!(known, "{named}: {servers} servers, {slots} slots, seed {seed}");
            all += 1;
            wrong += u32::from(named == LimitedBy::Concurrency);
        }
    }
    assert!(wrong * 20 <= all, "{wrong} of {all}");
}

#[test]
fn a_rate_cap_is_the_target() {
    for (gap, slots) in [(Duration::from_micros(200), 64), (10 * MS, 10), (100 * MS, 4)] {
        let named = named(&for_seconds(10.0, closed(slots)), target(1, Work::Constant(gap), 1));
        assert_eq!(named, LimitedBy::Target, "one request each {gap:?}, {slots} slots");
    }
}

#[test]
fn two_sizes_on_one_slot_do_not_queue() {
    let sizes = |slots| {
        let mut count = 0_u64;
        let delayed = move |now: Instant, _: &str| {
            count += 1;
            let (delay, bytes) = if count.is_multiple_of(2) { (50 * MS, 1 << 20) } else { (2 * MS, 1_000) };
            respond_at(now + delay, bytes)
        };
        named(&for_seconds(10.0, closed(slots)), delayed)
    };
    for slots in [1, 2, 8, 32] {
        assert_eq!(sizes(slots), LimitedBy::Concurrency, "{slots} slots");
    }
}

#[test]
fn two_sizes_behind_one_queue_are_the_target() {
    for slots in [8, 32] {
        let mut server = target(2, Work::Exponential(5 * MS), 3);
        server.bytes = |count| if count % 2 == 0 { 1 << 20 } else { 1_000 };
        assert_eq!(named(&for_seconds(10.0, closed(slots)), server), LimitedBy::Target, "{slots} slots");
    }
}

/// The diagnosis does not depend on the length of the run. Even a run of 1 s shows the rate that the target sustains,
/// and the growth of response times.
#[test]
fn an_open_run_beyond_the_target_is_limited_by_it() {
    for seed in SEEDS {
        for work in [Work::Constant(Duration::from_micros(1_250)), Work::Exponential(Duration::from_micros(1_250))] {
            for seconds in [1.0, 3.0, 12.0] {
                let plan = for_seconds(seconds, open(1600.0, 10_000));
                assert_eq!(named(&plan, target(1, work, seed)), LimitedBy::Target, "{seconds} s, seed {seed}");
            }
            let counted = of_operations(1_600, open(1600.0, 10_000));
            let summary = run_of(&counted, target(1, work, seed));
            assert_eq!(limits::limited_by(&summary, &counted.load.model()), LimitedBy::Target, "-n, seed {seed}");
            assert_eq!(
                summary.offered_rate().map(f64::round),
                Some(1600.0),
                "the time after the last arrival must not count"
            );
            let ok = summary.ok_rate().unwrap();
            assert!((700.0..900.0).contains(&ok), "{ok}");
        }
    }
    let slow = for_seconds(60.0, open(3.0, 10_000));
    assert_eq!(
        named(&slow, target(1, Work::Constant(500 * MS), 1)),
        LimitedBy::Target,
        "3/s are requested, 2/s are possible"
    );
}

#[test]
fn an_open_run_that_the_target_sustains_is_limited_by_its_rate() {
    for seed in SEEDS {
        let work = Work::Exponential(Duration::from_micros(1_250));
        for (rate, seconds) in [(400.0, 1.0), (400.0, 12.0), (640.0, 3.0), (720.0, 12.0)] {
            let plan = for_seconds(seconds, open(rate, 10_000));
            assert_eq!(named(&plan, target(1, work, seed)), LimitedBy::Rate, "{rate}/s for {seconds} s, seed {seed}");
        }
        for seconds in [1.0, 5.0] {
            // Responses take as long as the run, but the target keeps up.
            let plan = for_seconds(seconds, open(200.0, 10_000));
            let slow = Work::Exponential(Duration::from_secs(1));
            assert_eq!(named(&plan, target(0, slow, seed)), LimitedBy::Rate, "{seconds} s, seed {seed}");
        }
        let counted = of_operations(700, open(700.0, 10_000));
        assert_eq!(named(&counted, target(1, work, seed)), LimitedBy::Rate, "-n, seed {seed}");
    }
    let slow = for_seconds(60.0, open(1.0, 100));
    assert_eq!(
        named(&slow, target(1, Work::Constant(500 * MS), 1)),
        LimitedBy::Rate,
        "1/s is requested, 2/s are possible"
    );
}

#[test]
fn uploads_that_fill_a_thread_are_limited_by_its_cpu() {
    for slots in [1, 4, 16] {
        let mut plan = for_seconds(3.0, closed(slots));
        let request = &mut plan.mix.requests_mut()[0];
        (request.method, request.kind) = ("PUT".into(), OpKind::Put);
        request.body = Some(BodyPlan::of_bytes(vec![b'x'; 1 << 20].into()));
        let server = |now: Instant, _: &str| respond_at(now + Duration::from_micros(100), 0);
        let (intervals, _) =
            simulate(&plan, |_| SimNetwork::new(Put(server)).with_send_cost(Duration::from_micros(400)));
        let summary = summary(&plan, &intervals);
        assert!(summary.stats.measured.ok > 100, "{:?}", summary.stats.measured);
        let (busy, unread) = (summary.limits.mean_busy(), intervals[0].client.unread);
        assert_eq!(
            limits::limited_by(&summary, &plan.load.model()),
            LimitedBy::ClientCpu,
            "{slots} slots: {busy}, {unread}"
        );
    }
}

/// A server that responds only after it has received the whole body of 1 MiB.
struct Put<F>(F);

impl<F: FnMut(Instant, &str) -> Vec<(Instant, Reply)>> SimServer for Put<F> {
    fn request(&mut self, now: Instant, request: &str) -> Vec<(Instant, Reply)> {
        self.0(now, request)
    }
    fn received(&mut self, now: Instant, _: usize, bytes: &mut Vec<u8>) -> Vec<(Instant, Reply)> {
        if bytes.len() < 1 << 20 {
            return Vec::new();
        }
        bytes.clear();
        self.0(now, "")
    }
}

#[test]
fn a_dead_endpoint_among_others_is_the_target() {
    /// A server with several endpoints. One endpoint is dead, so it refuses connections or never responds.
    struct OneDead(Accept);
    impl SimServer for OneDead {
        fn connect_to(&mut self, _: Instant, address: &Address) -> Accept {
            let dead = matches!(address, Address::Tcp(address) if address.port() == 81);
            if dead { self.0 } else { Accept::After(Duration::ZERO) }
        }
        fn request(&mut self, now: Instant, _: &str) -> Vec<(Instant, Reply)> {
            respond_at(now + 5 * MS, 100)
        }
    }
    for dead in [Accept::Refuse, Accept::Ignore] {
        for slots in [2, 10, 64] {
            let mut plan = for_seconds(10.0, closed(slots));
            let mut targets = Targets::default();
            for url in ["http://alive:80/object", "http://dead:81/object"] {
                assert!(targets.push(&wire::Url::parse(url).unwrap()));
            }
            (plan.targets, plan.drain) = (targets.into(), Duration::from_secs(1));
            assert_eq!(named(&plan, OneDead(dead)), LimitedBy::Target, "{dead:?}, {slots} slots");
        }
    }
}

#[test]
fn slots_that_pause_are_too_few() {
    let slots = Profile::constant(10.0).unwrap();
    let plan = for_seconds(10.0, LoadModel::Closed { slots, think: 200 * MS });
    assert_eq!(named(&plan, target(0, Work::Exponential(10 * MS), 1)), LimitedBy::Concurrency);
}

#[test]
fn a_few_operations_give_no_diagnosis() {
    let plan = of_operations(10, closed(2));
    assert_eq!(named(&plan, target(0, Work::Exponential(10 * MS), 1)), LimitedBy::Unknown);
}
