//! Tests of clients that stall, with servers whose delays are known, on simulated time. The reported ranges of
//! percentiles must contain the percentiles that a client without stalls measures.

use crate::support::*;
use engine::plan::*;
use engine::sim::{Reply, SimNetwork, SimServer, simulate};
use measure::limits;
use measure::result::accounting::audit;
use measure::{Instant, QuantileRange, Summary, Timed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;
use std::time::Duration;

/// Time that a server takes to process a request.
#[derive(Clone, Copy, Debug)]
enum Work {
    Constant,
    Exponential,
}

/// Several servers with one common queue.
struct Queue {
    work: Work,
    mean: Duration,
    free: BinaryHeap<Reverse<Instant>>,
    random: u64,
}

impl Queue {
    fn new(work: Work, mean: Duration, servers: usize) -> Self {
        let free = std::iter::repeat_n(Reverse(Instant::ZERO), servers).collect();
        Self { work, mean, free, random: 0x9E37_79B9_7F4A_7C15 }
    }

    /// Returns a random number from xorshift64*. The sequence of numbers is the same in all runs, so each request takes
    /// the same time in all runs.
    fn draw(&mut self) -> f64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl SimServer for Queue {
    fn request(&mut self, now: Instant, _: &str) -> Vec<(Instant, Reply)> {
        let took = match self.work {
            Work::Constant => self.mean,
            Work::Exponential => self.mean.mul_f64(-(1.0 - self.draw()).ln()),
        };
        let Reverse(free) = self.free.pop().expect("there is a server");
        let done = free.max(now) + took;
        self.free.push(Reverse(done));
        respond_at(done, 10)
    }
}

/// Returns the start and the end of each stall of the client. There is about one stall of `length` in each period of
/// `every`.
fn stalls(every: Duration, length: Duration, until: Duration) -> Vec<(Instant, Instant)> {
    let place = |n: u32| every.mul_f64(f64::from(n) + 0.3 + 0.4 * f64::from(n * 7919 % 101) / 101.0);
    let starts = (0..).map(place).take_while(|at| *at < until);
    starts.map(|at| (Instant::ZERO + at, Instant::ZERO + at + length)).collect()
}

fn seconds(seconds: u64) -> StopAfter {
    StopAfter { time: Some(Duration::from_secs(seconds)), ..StopAfter::default() }
}

fn measured<S: SimServer>(plan: &Plan, server: impl Fn() -> S, stalls: &[(Instant, Instant)]) -> Summary {
    let network = |_| SimNetwork::new(server()).with_stalls(stalls.to_vec());
    let (intervals, _) = simulate(plan, network);
    let summary = summary(plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    summary
}

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Minimum lateness that counts as a stall, in nanoseconds.
const LATE_MIN: f64 = 100e3;

/// Returns whether the range contains the true value. `noise` is the relative error of the true value.
fn holds(range: QuantileRange, truth: u64, noise: f64) -> bool {
    let truth = truth as f64;
    range.low as f64 <= truth * (1.0 + noise) + LATE_MIN && range.high as f64 >= truth * (1.0 - noise)
}

#[test]
fn a_range_contains_the_percentile_without_stalls() {
    let us = Duration::from_micros;
    const SLOTS: u64 = 100_000;
    let loads = [
        (950.0, SLOTS, Work::Constant, us(1000), 1),
        (950.0, SLOTS, Work::Exponential, us(1000), 1),
        (800.0, SLOTS, Work::Exponential, us(1000), 1),
        (500.0, SLOTS, Work::Constant, us(1000), 1),
        (500.0, SLOTS, Work::Exponential, us(1000), 1),
        (900.0, SLOTS, Work::Exponential, ms(10), 10),
        (100.0, SLOTS, Work::Exponential, us(1000), 1),
        (20.0, SLOTS, Work::Constant, ms(8), 1),
        (1000.0, SLOTS, Work::Exponential, ms(100), 1000),
        (1000.0, SLOTS, Work::Constant, ms(20), 1000),
        // In the following cases, operations also wait for a slot.
        (800.0, 8, Work::Exponential, us(1000), 1),
        (500.0, 2, Work::Constant, us(1000), 1),
        (900.0, 20, Work::Exponential, ms(10), 10),
    ];
    let patterns = [(1000, 50_000), (200, 10_000), (50, 2_000), (5000, 1_000_000), (10, 1000), (7, 300)];
    let mut wrong = Vec::new();
    for (rate, slots, work, mean, servers) in loads {
        let plan = Plan { load: open(rate, slots), stop: seconds(30), ..plan() };
        let server = || Queue::new(work, mean, servers);
        let truth = measured(&plan, server, &[]);
        assert_eq!(truth.all.affected.ok, 0, "{rate} {work:?}: there was no stall");
        assert_eq!(truth.client_share().unwrap().share, 0.0);
        for (every, length) in patterns {
            let found = measured(&plan, server, &stalls(ms(every), us(length), Duration::from_secs(30)));
            let part = found.all.affected.ok as f64 / found.all.ok as f64;
            let noise = match work {
                // Stalls below 5 % of the median do not count.
                Work::Constant => 0.05,
                // With exponential times, the error is larger, because fewer operations are unaffected by stalls, and
                // the response times of these operations depend on each other.
                Work::Exponential => 0.12,
            };
            for timed in [Timed::Response, Timed::Service, Timed::Ttfb] {
                for q in [0.5, 0.9, 0.99] {
                    let truth = truth.all.timed(timed).0.quantile(q).unwrap();
                    let range = found.quantile_range(timed, q).unwrap();
                    let line = format!(
                        "{rate}/s in {slots} {work:?} {mean:?}, {length} µs each {every} ms, affected {part:.2}: {timed} p{}: {:.2} <= {:.2} <= {:.2} ms",
                        q * 100.0,
                        millis(range.low),
                        millis(truth),
                        millis(range.high),
                    );
                    if holds(range, truth, noise) {
                        println!("{line}");
                    } else {
                        wrong.push(line);
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_catch_up_burst_at_the_target_belongs_to_the_client() {
    // The load is 95 % of the server's capacity. The client stalls for 50 ms of each second, and the queue drains in
    // the rest of the second.
    let plan = Plan { load: open(950.0, 10_000), ..plan() };
    let server = || Queue::new(Work::Constant, ms(1), 1);
    let found = measured(&plan, server, &stalls(ms(1000), ms(50), Duration::from_secs(10)));
    let range = found.quantile_range(Timed::Response, 0.5).unwrap();
    assert!(range.high > 20_000_000, "{range:?}");
    assert!(range.low <= 1_010_000, "{range:?}");
    assert!(range.is_wide());
    let late = found.all.lateness.quantile(0.9).unwrap();
    assert!(late < 5_000_000, "lateness must hardly show the stalls: {late}");
}

#[test]
fn handing_over_a_request_is_time_inside_the_client() {
    for load in [open(300.0, 1000), closed(1)] {
        let plan = Plan { load, ..plan() };
        let cost = Duration::from_micros(300);
        let network = |_| SimNetwork::new(|now, _: &str| respond_at(now + ms(2), 5)).with_send_cost(cost);
        let (intervals, _) = simulate(&plan, network);
        let range = summary(&plan, &intervals).quantile_range(Timed::Response, 0.5).unwrap();
        assert!(range.low.abs_diff(2_000_000) < 20_000 && range.high.abs_diff(2_300_000) < 20_000, "{range:?}");
        assert!(range.is_wide());
    }
}

/// The target stalls for a second, so 190 of 200 operations wait for one of ten slots. When the first responses arrive,
/// the client is late by a millisecond.
#[test]
fn the_target_causes_waits_for_a_slot_except_for_client_stalls() {
    let still = (Instant::ZERO + ms(2000), Instant::ZERO + ms(3000));
    let server = |now: Instant, _: &str| {
        let at = if (still.0..still.1).contains(&now) { still.1 } else { now };
        respond_at(at + Duration::from_micros(100), 10)
    };
    let plan = Plan { load: open(200.0, 10), stop: seconds(10), ..plan() };
    let network = |_| SimNetwork::new(server).with_stalls(vec![(still.1 - ms(1), still.1 + ms(1))]);
    let (intervals, _) = simulate(&plan, network);
    let found = summary(&plan, &intervals);
    assert!(found.all.affected.ok > 0, "{:?}", found.all.affected.ok);
    let range = found.quantile_range(Timed::Response, 0.99).unwrap();
    assert!(!range.is_wide() && range.low > 850_000_000, "{range:?}");
    assert_eq!(limits::limited_by(&found, &plan.load.model()), measure::LimitedBy::Rate);
}

#[test]
fn a_hiccup_does_not_mark_an_overloaded_run() {
    // The load is twice the server's capacity, so the number of operations in flight grows during the whole run.
    let plan = Plan { load: open(1600.0, 100_000), stop: seconds(5), ..plan() };
    let server = || Queue::new(Work::Constant, Duration::from_micros(1250), 1);
    let hiccup = [(Instant::ZERO + ms(1500), Instant::ZERO + ms(1501))];
    let found = measured(&plan, server, &hiccup);
    let part = found.all.affected.ok as f64 / found.all.ok as f64;
    assert!(part < 0.2, "{part}");
    let early = [(Instant::ZERO + ms(50), Instant::ZERO + ms(51))];
    let found = measured(&plan, server, &early);
    let part = found.all.affected.ok as f64 / found.all.ok as f64;
    assert!(part > 0.0 && part < 0.2, "{part}");
}

#[test]
fn a_stall_affects_few_operations_when_none_is_in_flight() {
    let plan = Plan { load: open(10.0, 100), ..plan() };
    let server = || Queue::new(Work::Constant, ms(5), 1);
    // The second and the third arrival start late, and the response to the fourth is read late.
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let found =
        measured(&plan, server, &[(at(99), at(102)), (at(199), at(220)), (at(303), at(330)), (at(450), at(480))]);
    assert_eq!((found.all.ok, found.all.affected.ok), (100, 3));
    let low = found.quantile_range(Timed::Response, 0.5).unwrap().low;
    assert!(low.abs_diff(5_000_000) < 10_000, "{low}");
}

#[test]
fn a_client_with_a_hundredth_of_a_core_shows_in_a_second_and_a_half() {
    let sliver: Vec<_> =
        (0..16).map(|n| (Instant::ZERO + ms(100 * n + 1), Instant::ZERO + ms(100 * n + 100))).collect();
    let server = || Queue::new(Work::Exponential, ms(1), 8);
    let stop = StopAfter { time: Some(ms(1500)), ..StopAfter::default() };
    let open = Plan { load: open(500.0, 10_000), stop, ..plan() };
    let found = measured(&open, server, &sliver);
    assert!(found.all.affected.ok as f64 > 0.95 * found.all.ok as f64, "{} of {}", found.all.affected.ok, found.all.ok);
    assert!(found.quantile_range(Timed::Response, 0.9).unwrap().is_wide());
    assert!(found.client_share().unwrap().share > 0.5);
    let closed = Plan { load: closed(8), ..open };
    let found = measured(&closed, server, &sliver);
    assert!(found.client_share().unwrap().share > 0.9, "{:?}", found.client_share());
}

#[test]
fn operations_that_were_due_and_not_started_are_missed_by_the_client() {
    // The client stalls during the last 20 ms of the measured window.
    let stop = StopAfter { time: Some(ms(1500)), ..StopAfter::default() };
    let plan = Plan { load: open(1000.0, 1000), stop, ..plan() };
    let still = [(Instant::ZERO + ms(1480), Instant::ZERO + ms(1510))];
    let found = measured(&plan, || Queue::new(Work::Constant, ms(1), 4), &still);
    let tally = &found.stats.measured;
    assert_eq!((tally.dropped, tally.missed_by_client), (20, 20));
    // The target keeps all slots busy. Operations that wait for a slot therefore wait for the target.
    let plan = Plan { load: open(1000.0, 10), ..plan };
    let found = measured(&plan, || Queue::new(Work::Constant, ms(10), 1), &[]);
    let tally = &found.stats.measured;
    assert!(tally.dropped > 1000 && tally.missed_by_client == 0, "{tally:?}");
}

#[test]
fn responses_that_wait_unread_show_as_the_clients_share() {
    let server = || Queue::new(Work::Constant, ms(10), 64);
    // The client alternates between 30 ms of reading and a stall of 70 ms. Responses take 10 ms. A response that
    // arrives during a stall waits until the stall ends.
    let still: Vec<_> =
        (0..100).map(|n| (Instant::ZERO + ms(100 * n + 30), Instant::ZERO + ms(100 * n + 100))).collect();
    for slots in [1, 16] {
        let plan = Plan { load: closed(slots), stop: seconds(10), ..plan() };
        let found = measured(&plan, server, &still);
        let share = found.client_share().unwrap();
        // In each period of 100 ms, three requests take 10 ms each until their response is read. The third request
        // starts at 20 ms, and its response is read at 30 ms. The next request starts at 30 ms, and its response waits
        // unread for 60 ms.
        let service = found.all.service.moments().sum as f64;
        let truth = 1.0 - found.all.ok as f64 * 10e6 / service;
        assert!((share.share - truth).abs() < 0.01 && truth > 0.5, "{share:?}, truth {truth}");
        assert!(!share.at_least && share.samples >= found.all.ok);
    }
    let large =
        Plan { stop: StopAfter { ops: NonZeroU64::new(10), ..StopAfter::default() }, load: closed(1), ..plan() };
    let found = measured(&large, || |now: Instant, _: &str| respond_at(now + ms(1), 1_000_000), &[]);
    assert!(found.client_share().unwrap().at_least, "the response is longer than a segment");
}
