//! Tests that the counters agree, for any load and any misbehavior of the server.

use crate::support::*;
use engine::plan::*;
use engine::schedule::{Profile, Spacing, StagePlan};
use engine::sim::{Accept, Reply, SimNetwork, SimServer, simulate};
use measure::Instant;
use measure::result::accounting::audit;
use proptest::prelude::*;
use std::num::NonZeroU64;
use std::time::Duration;

/// Reaction of a server to a request.
#[derive(Clone, Debug)]
enum Deed {
    Respond { bytes: u64, parts: u64 },
    Chunked { chunks: Vec<u16>, ends: bool },
    UntilClose { bytes: u64 },
    Status(u16),
    Redirect { to: u8 },
    Cut { at: usize },
    ResetAfter { bytes: u64 },
    Excess,
    Garbage(Vec<u8>),
    Silence,
    Close,
}

fn deeds() -> impl Strategy<Value = Vec<(Deed, u64)>> {
    let deed = prop_oneof![
        6 => (0_u64..200_000, 1_u64..4).prop_map(|(bytes, parts)| Deed::Respond { bytes, parts }),
        2 => (prop::collection::vec(1_u16..5000, 0..4), any::<bool>()).prop_map(|(chunks, ends)| Deed::Chunked { chunks, ends }),
        1 => (0_u64..50_000).prop_map(|bytes| Deed::UntilClose { bytes }),
        1 => prop::sample::select(vec![204_u16, 304, 404, 429, 500, 503]).prop_map(Deed::Status),
        1 => any::<u8>().prop_map(|to| Deed::Redirect { to }),
        1 => (0_usize..60).prop_map(|at| Deed::Cut { at }),
        1 => (0_u64..5000).prop_map(|bytes| Deed::ResetAfter { bytes }),
        1 => Just(Deed::Excess),
        1 => prop::collection::vec(any::<u8>(), 1..100).prop_map(Deed::Garbage),
        1 => Just(Deed::Silence),
        1 => Just(Deed::Close),
    ];
    prop::collection::vec((deed, 0_u64..300), 1..12)
}

/// A server with a list of reactions, each with a delay in milliseconds. Each request gets the next reaction.
struct Unruly {
    deeds: Vec<(Deed, u64)>,
    requests: usize,
    connections: usize,
    refuse_every: usize,
}

impl SimServer for Unruly {
    fn connect(&mut self, _: Instant) -> Accept {
        self.connections += 1;
        match self.refuse_every {
            0 => Accept::After(Duration::from_micros(50)),
            every if self.connections.is_multiple_of(every) => Accept::Refuse,
            _ => Accept::After(ms(2)),
        }
    }

    fn request(&mut self, now: Instant, _: &str) -> Vec<(Instant, Reply)> {
        let (deed, delay) = self.deeds[self.requests % self.deeds.len()].clone();
        self.requests += 1;
        let at = now + ms(delay);
        let head = |rest: &str| Reply::Bytes(format!("HTTP/1.1 {rest}\r\n\r\n").into_bytes());
        match deed {
            Deed::Respond { bytes, parts } => {
                let mut replies = vec![(at, head(&format!("200 OK\r\nContent-Length: {bytes}")))];
                let part = bytes / parts;
                for index in 0..parts {
                    let size = if index + 1 == parts { bytes - part * (parts - 1) } else { part };
                    if size > 0 {
                        replies.push((at + ms(index * 20), Reply::Filler(size)));
                    }
                }
                replies
            }
            Deed::Chunked { chunks, ends } => {
                let mut text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
                for size in chunks {
                    text.extend_from_slice(format!("{size:x};note=1\r\n").as_bytes());
                    text.extend(vec![b'x'; usize::from(size)]);
                    text.extend_from_slice(b"\r\n");
                }
                if ends {
                    text.extend_from_slice(b"0\r\nTrailer: yes\r\n\r\n");
                }
                let mut replies = vec![(at, Reply::Bytes(text))];
                if !ends {
                    replies.push((at + ms(1), Reply::End));
                }
                replies
            }
            Deed::UntilClose { bytes } => {
                let mut replies = vec![(at, head("200 OK\r\nConnection: close"))];
                if bytes > 0 {
                    replies.push((at, Reply::Filler(bytes)));
                }
                replies.push((at + ms(5), Reply::End));
                replies
            }
            Deed::Status(status) => vec![(at, head(&format!("{status} Sorry\r\nContent-Length: 0")))],
            Deed::Redirect { to } => {
                vec![(at, head(&format!("307 There\r\nContent-Length: 0\r\nLocation: http://sim{}:80/x", to % 3)))]
            }
            Deed::Cut { at: bytes } => {
                let text = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n12345678901234567890";
                let mut replies = Vec::new();
                if bytes > 0 {
                    replies.push((at, Reply::Bytes(text[..bytes.min(text.len())].to_vec())));
                }
                replies.push((at + ms(1), Reply::End));
                replies
            }
            Deed::ResetAfter { bytes } => {
                let mut replies = vec![(at, head("200 OK\r\nContent-Length: 10000"))];
                if bytes > 0 {
                    replies.push((at, Reply::Filler(bytes)));
                }
                replies.push((at + ms(1), Reply::Reset));
                replies
            }
            Deed::Excess => vec![(at, Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokjunk".to_vec()))],
            Deed::Garbage(bytes) => vec![(at, Reply::Bytes(bytes)), (at + ms(1), Reply::End)],
            Deed::Silence => Vec::new(),
            Deed::Close => vec![(at, Reply::End)],
        }
    }
}

fn loads() -> impl Strategy<Value = LoadModel> {
    let profile =
        (1.0_f64..40.0, prop::collection::vec((0_u64..800, 0.0_f64..60.0), 0..3)).prop_map(|(from, stages)| {
            let stages: Vec<_> =
                stages.into_iter().map(|(length, level)| StagePlan { length: ms(length), level }).collect();
            Profile::stages(from, &stages).unwrap()
        });
    prop_oneof![
        (profile.clone(), 0_u64..50).prop_map(|(slots, think)| LoadModel::Closed { slots, think: ms(think) }),
        (profile, any::<bool>(), 1_u64..30).prop_map(|(rate, poisson, max)| LoadModel::Open {
            rate,
            spacing: if poisson { Spacing::Poisson } else { Spacing::Constant },
            in_flight_max: NonZeroU64::new(max).unwrap(),
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn the_books_balance(
        load in loads(),
        deeds in deeds(),
        refuse_every in 0_usize..7,
        threads in 1_u32..4,
        (warmup, window, drain) in (0_u64..700, 1_u64..1500, 0_u64..500),
        (ops, bytes) in (prop::option::of(1_u64..60), prop::option::of(1_u64..300_000)),
        (keep_alive, retries) in any::<(bool, bool)>(),
    ) {
        let mut plan = plan();
        plan.load = load;
        plan.threads = threads;
        plan.warmup = ms(warmup);
        plan.drain = ms(drain);
        plan.stop = StopAfter {
            time: Some(ms(window)),
            ops: ops.and_then(NonZeroU64::new),
            bytes: bytes.and_then(NonZeroU64::new),
            ..StopAfter::default()
        };
        plan.timeouts = Timeouts { connect: ms(60), head: ms(150), idle: ms(100), total: Some(ms(400)) };
        plan.http.keep_alive = keep_alive;
        plan.retry = retries.then(RetryPolicy::default);
        plan.log_ops = true;
        let server = || Unruly { deeds: deeds.clone(), requests: 0, connections: 0, refuse_every };
        let (intervals, logged) = simulate(&plan, |_| SimNetwork::new(server()));
        let summary = summary(&plan, &intervals);
        prop_assert_eq!(audit(&summary, true).violations, []);
        let stats = &summary.stats;
        let ended = [&stats.measured, &stats.outside].map(|tally| tally.ok + tally.failed + tally.unfinished);
        prop_assert_eq!(logged.len() as u64, ended.iter().sum::<u64>(), "every operation must be logged once");
        let received: u64 = logged.iter().map(|op| op.received_bytes).sum();
        prop_assert_eq!(received, stats.traffic.body + stats.traffic.overhead, "every byte must belong to one operation");
        // The intervals must cover the time without gaps. This property is checked only for a single thread. Simulated
        // threads run one after the other. With several threads, some would therefore detect a stop too late.
        for pair in intervals.windows(2).filter(|_| threads == 1) {
            prop_assert_eq!(pair[0].end, pair[1].start);
        }
    }
}

#[test]
fn threads_without_a_share_of_the_operations_warm_up_as_well() {
    let mut plan = plan();
    let rising = [StagePlan { length: ms(231), level: 49.678_812_328_506_52 }];
    plan.load = LoadModel::Open {
        rate: Profile::stages(1.0, &rising).unwrap(),
        spacing: Spacing::Constant,
        in_flight_max: NonZeroU64::new(3).unwrap(),
    };
    (plan.threads, plan.warmup, plan.drain) = (3, ms(375), ms(0));
    plan.stop =
        StopAfter { time: Some(ms(470)), ops: NonZeroU64::new(2), bytes: NonZeroU64::new(1), ..StopAfter::default() };
    plan.http.keep_alive = false;
    let deeds = vec![(Deed::Respond { bytes: 27_496, parts: 1 }, 125)];
    let server = || Unruly { deeds: deeds.clone(), requests: 0, connections: 0, refuse_every: 2 };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server()));
    assert_eq!(audit(&summary(&plan, &intervals), true).violations, []);
}
