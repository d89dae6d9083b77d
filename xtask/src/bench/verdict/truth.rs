//! What a client without faults would have measured, from the schedule and the server's log.
//!
//! The log gives the time that the server spent on each request. The schedule gives the instants at which requests were due. The
//! queue between the two is computed again, so that it does not matter when the client under test really sent its requests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A percentile is wrong when it is further from the truth than this share of it …
const TOLERANCE_SHARE: f64 = 0.10;
/// … and than this, in seconds: what loopback and two schedulers add to each operation.
const TOLERANCE_SECONDS: f64 = 200e-6;

/// One line of the server's log, in nanoseconds of the server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When the head of the request had come.
    pub arrival: u64,
    /// When the server began to work on it.
    pub start: u64,
    /// When the response had been handed to the kernel.
    pub end: u64,
    /// For how long a planned stop of the server held it, from `start` to `end`.
    pub held: u64,
    /// For how long its body was received, from `arrival` on.
    pub received: u64,
}

/// How the load is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Evenly spaced arrivals per second.
    Open(f64),
    /// Slots, each of which sends its next request when the last one ended.
    Closed(u32),
}

/// How the server works, as far as the queue depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Queue {
    /// Requests served at once; `None` for all.
    pub servers: Option<usize>,
    /// When the server stands still, in seconds from the first request: from, until.
    pub stall: Option<(f64, f64)>,
}

impl Served {
    /// Parses a line of the log.
    pub fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ').map(|field| field.parse().ok());
        let mut next = || fields.next().flatten();
        Some(Self { arrival: next()?, start: next()?, end: next()?, held: next()?, received: next()? })
    }
}

/// The work that each request was for the server, in seconds, in the order in which it was begun.
///
/// The time to receive a body depends on the client, so each request counts with a fast one: the tenth percentile.
pub fn work(log: &[Served]) -> Vec<f64> {
    let mut log = log.to_vec();
    log.sort_by_key(|served| served.start);
    let mut received: Vec<u64> = log.iter().map(|served| served.received).collect();
    received.sort_unstable();
    let receiving = received.get(received.len() / 10).copied().unwrap_or(0);
    let each = log.iter().map(|served| served.end.saturating_sub(served.start).saturating_sub(served.held) + receiving);
    each.map(|nanos| nanos as f64 / 1e9).collect()
}

/// The response times of a load that lasts so long, sorted, in seconds. `None` without any work in the log.
pub fn responses(load: Load, seconds: f64, queue: Queue, work: &[f64]) -> Option<Vec<f64>> {
    if work.is_empty() {
        return None;
    }
    let mut server = Server { queue, free: BinaryHeap::new() };
    let mut works = work.iter().copied().cycle();
    let mut times = Vec::new();
    match load {
        Load::Open(rate) => {
            for number in 0..(rate * seconds).round() as u64 {
                let due = number as f64 / rate;
                times.push(server.serve(due, works.next()?) - due);
            }
        }
        Load::Closed(slots) => {
            let mut ready: BinaryHeap<Reverse<Instant>> = (0..slots).map(|_| Reverse(Instant(0.0))).collect();
            // More requests than the log has would be made up.
            while times.len() < work.len() {
                let Some(Reverse(Instant(due))) = ready.pop() else { break };
                if due >= seconds {
                    break;
                }
                let end = server.serve(due, works.next()?);
                times.push(end - due);
                ready.push(Reverse(Instant(end)));
            }
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    Some(times)
}

/// A server that takes requests in the order of their arrival.
struct Server {
    queue: Queue,
    /// When each of the servers is free again.
    free: BinaryHeap<Reverse<Instant>>,
}

impl Server {
    fn serve(&mut self, arrival: f64, work: f64) -> f64 {
        let mut start = arrival;
        if self.queue.servers.is_some_and(|servers| self.free.len() >= servers.max(1)) {
            let Reverse(Instant(free)) = self.free.pop().unwrap_or(Reverse(Instant(0.0)));
            start = start.max(free);
        }
        let end = self.released(self.released(start) + work);
        if self.queue.servers.is_some() {
            self.free.push(Reverse(Instant(end)));
        }
        end
    }

    fn released(&self, at: f64) -> f64 {
        match self.queue.stall {
            Some((from, until)) if (from..until).contains(&at) => until,
            _ => at,
        }
    }
}

/// Seconds, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Instant(f64);

impl Eq for Instant {}

impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Instant {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The value that a share `q` of sorted values does not exceed.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// Whether a printed percentile, with its interval, misses the truth. All in seconds.
pub fn is_off(low: f64, high: f64, truth: f64) -> bool {
    let tolerance = TOLERANCE_SECONDS.max(TOLERANCE_SHARE * truth);
    truth < low - tolerance || truth > high + tolerance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(load: Load, seconds: f64, queue: Queue, work: &[f64]) -> Vec<f64> {
        responses(load, seconds, queue, work).unwrap()
    }

    #[test]
    fn a_server_for_all_adds_nothing_to_its_work() {
        let all = Queue::default();
        let times = times(Load::Open(100.0), 1.0, all, &[0.01]);
        assert!(times.len() == 100 && times.iter().all(|time| (time - 0.01).abs() < 1e-9), "{times:?}");
    }

    #[test]
    fn an_overloaded_server_queues_without_end() {
        // 200 a second at one server of 10 ms: the backlog grows by half of the load.
        let one = Queue { servers: Some(1), stall: None };
        let times = times(Load::Open(200.0), 2.0, one, &[0.01]);
        assert_eq!(times.len(), 400);
        // The last one is due at 1.995 s and ends at 4 s.
        assert!((times[399] - 2.005).abs() < 1e-9, "{}", times[399]);
        assert!((quantile(&times, 0.5).unwrap() - 1.005).abs() < 1e-9);
    }

    #[test]
    fn slots_wait_for_each_other_at_few_servers() {
        let two = Queue { servers: Some(2), stall: None };
        let work = vec![0.01; 100_000];
        let times = times(Load::Closed(8), 1.0, two, &work);
        // 200 a second, and the 8 of the end.
        assert!((199..=209).contains(&times.len()), "{}", times.len());
        assert!((quantile(&times, 0.5).unwrap() - 0.04).abs() < 1e-9);
        // Those of the log are all there are.
        assert_eq!(responses(Load::Closed(8), 1.0, two, &[0.01; 5]).unwrap().len(), 5);
    }

    #[test]
    fn a_stall_holds_what_falls_into_it() {
        let queue = Queue { servers: None, stall: Some((1.0, 2.0)) };
        let times = times(Load::Open(1_000.0), 10.0, queue, &[0.0]);
        // A tenth waits, evenly up to 1 s.
        assert!((quantile(&times, 0.99).unwrap() - 0.9).abs() < 2e-3);
        assert!(quantile(&times, 0.89).unwrap() < 1e-9);
    }

    #[test]
    fn work_leaves_out_planned_stops_and_slow_senders() {
        let line = |text| Served::parse(text).unwrap();
        let log = [line("5 30 130 40 3"), line("0 10 20 0 900"), line("0 9 19 0 2")];
        let work = work(&log);
        // In the order of their starts; the tenth percentile of receiving is 2 ns.
        for (got, nanos) in work.iter().zip([12.0, 12.0, 62.0]) {
            assert!((got * 1e9 - nanos).abs() < 1e-6, "{work:?}");
        }
        assert_eq!(Served::parse("1 2 3"), None);
        assert_eq!(responses(Load::Open(1.0), 1.0, Queue::default(), &[]), None);
    }

    #[test]
    fn percentiles_have_a_tolerance_and_their_interval() {
        assert!(!is_off(1.0, 1.0, 1.09) && is_off(1.0, 1.0, 1.2) && is_off(1.0, 1.0, 0.8));
        assert!(!is_off(0.0001, 0.0001, 0.0002) && is_off(0.0001, 0.0001, 0.0004));
        assert!(!is_off(0.5, 2.0, 1.0) && is_off(0.5, 2.0, 3.0));
    }
}
