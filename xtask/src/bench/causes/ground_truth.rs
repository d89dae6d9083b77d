//! The true response times: what a perfect client would have measured, computed from the schedule and the target's log.
//!
//! The log has the time that the target spent on each request, and the schedule has the times at which requests were due. The queue
//! between them is simulated, so the result does not depend on when the client under test really sent its requests.
//!
//! Time that the target needs in addition to the planned work, for example to wake up or to encrypt, delays a request but occupies no
//! place in the queue.
//!
//! A printed percentile is right if its interval contains a true value at most one operation above or below. At the edge of a planned
//! pause a single operation makes all the difference, and the phase of the load decides on which side it falls.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A percentile is wrong if it differs from the true value by more than this share of it …
const TOLERANCE_SHARE: f64 = 0.10;
/// … and by more than this, in seconds: the delay that loopback and two schedulers add to each operation.
const TOLERANCE_SECONDS: f64 = 200e-6;

/// A line of the target's log, in nanoseconds of the target's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When the kernel received the request's header.
    pub arrival: u64,
    /// How much later it received the body.
    pub received: u64,
    /// When the server asked for a place in which to serve the request.
    pub asked: u64,
    /// When it got the place.
    pub start: u64,
    /// When the work was done and the place was free again.
    pub end: u64,
    /// When the kernel had taken the response.
    pub left: u64,
    /// Part of the time from `start` to `end` in which the server was paused as planned.
    pub held: u64,
}

/// Time that a request takes at the server, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Time until it asks for a place.
    pub before: f64,
    /// Time in its place.
    pub work: f64,
    /// Time from then until its response has left.
    pub after: f64,
}

/// Time in which operations are due, in seconds from the first operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// End of the warm-up, whose operations count for the queue only.
    pub warmup: f64,
    /// End of the measured time.
    pub end: f64,
}

/// The load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Evenly spaced arrivals per second.
    Open(f64),
    /// Slots, each of which sends its next request when the last one has ended.
    Closed(u32),
}

/// Properties of the server that affect its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Queue {
    /// Requests served at the same time; `None` for no limit.
    pub servers: Option<usize>,
    /// Start and end of the server's pause, in seconds after the first request.
    pub stall: Option<(f64, f64)>,
}

impl LogEntry {
    /// Parses a line of the log.
    pub fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ').map(|field| field.parse().ok());
        let mut next = || fields.next().flatten();
        let [arrival, received, asked, start] = [next()?, next()?, next()?, next()?];
        Some(Self { arrival, received, asked, start, end: next()?, left: next()?, held: next()? })
    }

    /// Returns its cost at a client that sends a body in `receiving` nanoseconds.
    fn cost(&self, receiving: u64) -> Cost {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let before = self.asked.saturating_sub(self.arrival).saturating_sub(self.received) + receiving;
        let work = self.end.saturating_sub(self.start).saturating_sub(self.held);
        Cost { before: seconds(before), work: seconds(work), after: seconds(self.left.saturating_sub(self.end)) }
    }
}

/// Returns the lateness of the first request of a schedule, in seconds. A planned pause, which counts from that request, is late by the
/// same time.
///
/// Missing or late requests make later ones look late, so the request with the least lateness tells when the schedule began.
pub fn first_lateness(log: &[LogEntry], rate: f64) -> f64 {
    let mut arrivals: Vec<u64> = log.iter().map(|served| served.arrival).collect();
    arrivals.sort_unstable();
    let first = arrivals.first().copied().unwrap_or(0);
    let since = |arrival: u64| (arrival - first) as f64 / 1e9;
    let earliest = arrivals.iter().enumerate().map(|(number, &arrival)| since(arrival) - number as f64 / rate);
    -earliest.fold(0.0, f64::min)
}

/// Returns the costs of the requests that arrived within `seconds` after the first, in the order in which the work on them began.
///
/// The time to receive a body depends on the client, so every request counts with the tenth percentile of these times.
pub fn costs(log: &[LogEntry], seconds: f64) -> Vec<Cost> {
    let first = log.iter().map(|served| served.arrival).min().unwrap_or(0);
    let within = |served: &&LogEntry| ((served.arrival - first) as f64) < seconds * 1e9;
    let mut log: Vec<LogEntry> = log.iter().filter(within).copied().collect();
    log.sort_by_key(|served| served.start);
    let mut received: Vec<u64> = log.iter().map(|served| served.received).collect();
    received.sort_unstable();
    let receiving = received.get(received.len() / 10).copied().unwrap_or(0);
    log.iter().map(|served| served.cost(receiving)).collect()
}

/// Returns the sorted response times of the operations that are due in a window, in seconds. `None` if there are no costs.
pub fn responses(load: Load, window: Window, queue: Queue, costs: &[Cost]) -> Option<Vec<f64>> {
    if costs.is_empty() {
        return None;
    }
    let mut server = Server { queue, free: BinaryHeap::new() };
    let mut next = costs.iter().copied().cycle();
    let mut coming = first_requests(load, window, &mut next);
    let (mut times, mut begun) = (Vec::new(), coming.len());
    // The log limits the requests of slots: more would be invented.
    while let Some(Reverse(Request { asks: Instant(asks), due, cost })) = coming.pop() {
        let end = server.serve(asks, cost.work) + cost.after;
        if due >= window.warmup {
            times.push(end - due);
        }
        if matches!(load, Load::Closed(_)) && end < window.end && begun < costs.len() {
            begun += 1;
            coming.push(Reverse(Request::due(end, next.next()?)));
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    Some(times)
}

/// Returns the requests that do not depend on others: all of a schedule, or one of each slot.
fn first_requests(load: Load, window: Window, costs: impl Iterator<Item = Cost>) -> BinaryHeap<Reverse<Request>> {
    let (count, gap) = match load {
        Load::Open(rate) => ((rate * window.end).round() as u64, 1.0 / rate),
        Load::Closed(slots) => (slots.into(), 0.0),
    };
    let requests = (0..count).zip(costs).map(|(number, cost)| Reverse(Request::due(number as f64 * gap, cost)));
    requests.collect()
}

/// A request on its way to the server, ordered by the time at which it asks for a place.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Request {
    asks: Instant,
    due: f64,
    cost: Cost,
}

impl Request {
    fn due(due: f64, cost: Cost) -> Self {
        Self { asks: Instant(due + cost.before), due, cost }
    }
}

impl Eq for Request {}

impl PartialOrd for Request {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Request {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.asks.cmp(&other.asks).then(self.due.total_cmp(&other.due))
    }
}

/// A simulated server that serves requests in the order of their arrival.
struct Server {
    queue: Queue,
    /// Times at which the busy places become free.
    free: BinaryHeap<Reverse<Instant>>,
}

impl Server {
    /// Serves a request and returns the end of its work.
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

    /// Returns the end of the pause for a time within it, or else the time itself.
    fn released(&self, at: f64) -> f64 {
        match self.queue.stall {
            Some((from, until)) if (from..until).contains(&at) => until,
            _ => at,
        }
    }
}

/// Time in seconds, with a total order.
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

/// Returns the values one operation below and above the quantile `q` of sorted values.
pub fn quantile(sorted: &[f64], q: f64) -> Option<(f64, f64)> {
    let last = sorted.len().checked_sub(1)?;
    let index = ((q * sorted.len() as f64).ceil() as usize).saturating_sub(1).min(last);
    Some((sorted[index.saturating_sub(1)], sorted[(index + 1).min(last)]))
}

/// Returns whether the interval of a printed percentile misses the true value, which lies between two values. All in seconds.
pub fn is_wrong(low: f64, high: f64, truth: (f64, f64)) -> bool {
    let tolerance = |truth: f64| TOLERANCE_SECONDS.max(TOLERANCE_SHARE * truth);
    truth.1 < low - tolerance(truth.1) || truth.0 > high + tolerance(truth.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(work: f64) -> Cost {
        Cost { work, ..Cost::default() }
    }

    fn until(end: f64) -> Window {
        Window { warmup: 0.0, end }
    }

    fn times(load: Load, seconds: f64, queue: Queue, costs: &[Cost]) -> Vec<f64> {
        responses(load, until(seconds), queue, costs).unwrap()
    }

    fn middle(times: &[f64], q: f64) -> f64 {
        let (low, high) = quantile(times, q).unwrap();
        f64::midpoint(low, high)
    }

    #[test]
    fn a_server_without_limit_has_no_queue() {
        let all = Queue::default();
        let times = times(Load::Open(100.0), 1.0, all, &[work(0.01)]);
        assert!(times.len() == 100 && times.iter().all(|time| (time - 0.01).abs() < 1e-9), "{times:?}");
    }

    #[test]
    fn the_queue_of_an_overloaded_server_grows() {
        // 200/s at one place with 10 ms of work: half of the load adds to the backlog.
        let one = Queue { servers: Some(1), stall: None };
        let times = times(Load::Open(200.0), 2.0, one, &[work(0.01)]);
        assert_eq!(times.len(), 400);
        // The last one is due at 1.995 s and ends at 4 s.
        assert!((times[399] - 2.005).abs() < 1e-9, "{}", times[399]);
        assert!((middle(&times, 0.5) - 1.005).abs() < 1e-9);
    }

    #[test]
    fn time_outside_the_place_delays_only_its_own_request() {
        // A place is busy for 4 ms of every 5 ms: nothing queues, though each request takes 9 ms.
        let (one, cost) = (Queue { servers: Some(1), stall: None }, Cost { before: 0.002, work: 0.004, after: 0.003 });
        let open = times(Load::Open(200.0), 1.0, one, &[cost]);
        assert!(open.len() == 200 && open.iter().all(|time| (time - 0.009).abs() < 1e-9), "{open:?}");
        // A slot waits for all of it.
        let closed = times(Load::Closed(1), 0.9, one, &[cost; 1_000]);
        assert!(closed.len().abs_diff(100) <= 1 && closed.iter().all(|time| (time - 0.009).abs() < 1e-9));
        // A late request does not delay those that are there.
        let late = Cost { before: 0.1, ..work(0.001) };
        let mixed = times(Load::Open(100.0), 0.1, one, &[late, work(0.001)]);
        assert!(mixed[..5].iter().all(|time| (time - 0.001).abs() < 1e-9), "{mixed:?}");
    }

    #[test]
    fn the_warmup_leaves_its_backlog() {
        let one = Queue { servers: Some(1), stall: None };
        let late = Window { warmup: 1.0, end: 2.0 };
        let open = responses(Load::Open(200.0), late, one, &[work(0.01)]).unwrap();
        assert!(open.len() == 200 && (open[0] - 1.01).abs() < 1e-9, "{}", open[0]);
        let closed = responses(Load::Closed(2), late, Queue::default(), &[work(0.01); 1_000]).unwrap();
        assert!(closed.len().abs_diff(200) <= 2, "{}", closed.len());
    }

    #[test]
    fn slots_queue_for_few_places() {
        let two = Queue { servers: Some(2), stall: None };
        let costs = vec![work(0.01); 100_000];
        let times = times(Load::Closed(8), 1.0, two, &costs);
        // 200/s, and the 8 that are in flight at the end.
        assert!((199..=209).contains(&times.len()), "{}", times.len());
        assert!((middle(&times, 0.5) - 0.04).abs() < 1e-9);
        // The log limits the number of requests.
        assert_eq!(responses(Load::Closed(8), until(1.0), two, &[work(0.01); 20]).unwrap().len(), 20);
    }

    #[test]
    fn a_pause_delays_the_requests_within_it() {
        let queue = Queue { servers: None, stall: Some((1.0, 2.0)) };
        let times = times(Load::Open(1_000.0), 10.0, queue, &[work(0.0)]);
        // A tenth of the requests waits, uniformly up to 1 s.
        assert!((middle(&times, 0.99) - 0.9).abs() < 2e-3);
        assert!(middle(&times, 0.89) < 1e-9);
    }

    #[test]
    fn costs_exclude_planned_pauses_and_slow_senders() {
        let line = |text| LogEntry::parse(text).unwrap();
        let log = [
            line("5 3 20 30 130 140 40"),
            line("0 900 904 910 920 920 0"),
            line("0 2 5 9 19 19 0"),
            line("1000 2 5 9 19 19 0"),
        ];
        let costs = costs(&log, 999e-9);
        // In the order of their starts, without the last entry, which is too late. The tenth percentile of receiving is 2 ns.
        let wanted = [(5.0, 10.0, 0.0), (14.0, 60.0, 10.0), (6.0, 10.0, 0.0)];
        assert_eq!(costs.len(), wanted.len());
        for (got, (before, work, after)) in costs.iter().zip(wanted) {
            let near = |got: f64, nanos: f64| (got * 1e9 - nanos).abs() < 1e-6;
            assert!(near(got.before, before) && near(got.work, work) && near(got.after, after), "{costs:?}");
        }
        assert_eq!(LogEntry::parse("1 2 3 4 5 6"), None);
        assert_eq!(responses(Load::Open(1.0), until(1.0), Queue::default(), &[]), None);
    }

    #[test]
    fn the_request_with_the_least_lateness_tells_when_the_schedule_began() {
        let served = |arrival| LogEntry { arrival, received: 0, asked: 0, start: 0, end: 0, left: 0, held: 0 };
        // Due at 0, 10, 20 and 30 ms of a schedule that began at 100 ms, with 25, 17, 7 and 1 ms of delay.
        let log = [125, 127, 127, 131].map(|ms| served(ms * 1_000_000));
        assert!((first_lateness(&log, 100.0) - 0.024).abs() < 1e-9, "{}", first_lateness(&log, 100.0));
        // The first request is missing.
        assert!((first_lateness(&log[1..], 100.0) - 0.016).abs() < 1e-9);
        assert_eq!(first_lateness(&[], 100.0), 0.0);
    }

    #[test]
    fn a_percentile_has_a_tolerance_and_an_interval() {
        let wrong = |low, high, truth| is_wrong(low, high, (truth, truth));
        assert!(!wrong(1.0, 1.0, 1.09) && wrong(1.0, 1.0, 1.2) && wrong(1.0, 1.0, 0.8));
        assert!(!wrong(0.0001, 0.0001, 0.0002) && wrong(0.0001, 0.0001, 0.0004));
        assert!(!wrong(0.5, 2.0, 1.0) && wrong(0.5, 2.0, 3.0));
        // The lower end is unknown.
        assert!(!wrong(0.0, 2.0, 0.0) && !wrong(0.0, 2.0, 2.1) && wrong(0.0, 2.0, 2.5));
    }

    #[test]
    fn one_operation_may_be_on_either_side_of_an_edge() {
        let sorted: Vec<f64> = (0..100).map(|number| if number < 90 { 0.005 } else { 0.7 }).collect();
        assert_eq!(quantile(&sorted, 0.9), Some((0.005, 0.7)));
        let edge = quantile(&sorted, 0.9).unwrap();
        assert!(!is_wrong(0.005, 0.005, edge) && !is_wrong(0.7, 0.7, edge) && is_wrong(0.001, 0.002, edge));
        // Two operations further, the edge does not matter.
        assert_eq!(quantile(&sorted, 0.88), Some((0.005, 0.005)));
        assert_eq!((quantile(&[], 0.5), quantile(&[1.0], 0.5)), (None, Some((1.0, 1.0))));
    }
}
