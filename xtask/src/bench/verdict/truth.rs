//! What a client without faults would have measured, from the schedule and the server's log.
//!
//! The log gives the time that the server spent on each request. The schedule gives the instants at which requests were due. The
//! queue between the two is computed again, so that it does not matter when the client under test really sent its requests.
//!
//! What the server took besides the planned work, such as to wake up or to encrypt, is latency of each request. It occupies none
//! of the places in the queue.
//!
//! What is printed for a percentile is right when it holds one of the truth's values at most one operation above or below. At the
//! edge of a planned stall one operation makes all the difference, and the phase of the load decides which side it is on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A percentile is wrong when it is further from the truth than this share of it …
const TOLERANCE_SHARE: f64 = 0.10;
/// … and than this, in seconds: what loopback and two schedulers add to each operation.
const TOLERANCE_SECONDS: f64 = 200e-6;

/// One line of the server's log, in nanoseconds of the server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When the kernel had the head of the request.
    pub arrival: u64,
    /// How much later it had the body.
    pub received: u64,
    /// When the server asked for a place to work on it.
    pub asked: u64,
    /// When it had that place.
    pub start: u64,
    /// When the work was done and the place free again.
    pub end: u64,
    /// When the kernel had the response.
    pub left: u64,
    /// For how long a planned stop of the server held it, from `start` to `end`.
    pub held: u64,
}

/// What one request costs at the server, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Until it asks for a place.
    pub before: f64,
    /// What keeps its place busy.
    pub work: f64,
    /// Until its response has left.
    pub after: f64,
}

/// The time in which operations are due, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Operations due before are not counted, but take their places.
    pub warmup: f64,
    /// When it is over, from the first operation on.
    pub end: f64,
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
        let [arrival, received, asked, start] = [next()?, next()?, next()?, next()?];
        Some(Self { arrival, received, asked, start, end: next()?, left: next()?, held: next()? })
    }

    /// Its cost, if a client sends bodies in this time.
    fn cost(&self, receiving: u64) -> Cost {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let before = self.asked.saturating_sub(self.arrival).saturating_sub(self.received) + receiving;
        let work = self.end.saturating_sub(self.start).saturating_sub(self.held);
        Cost { before: seconds(before), work: seconds(work), after: seconds(self.left.saturating_sub(self.end)) }
    }
}

/// How long after it was due the first request of a schedule arrived, in seconds: by so much a planned stop is late as well.
///
/// Requests that are missing or late make later ones look late, so the schedule began as early as the least late one tells.
pub fn first_lateness(log: &[Served], rate: f64) -> f64 {
    let mut arrivals: Vec<u64> = log.iter().map(|served| served.arrival).collect();
    arrivals.sort_unstable();
    let first = arrivals.first().copied().unwrap_or(0);
    let since = |arrival: u64| (arrival - first) as f64 / 1e9;
    let earliest = arrivals.iter().enumerate().map(|(number, &arrival)| since(arrival) - number as f64 / rate);
    -earliest.fold(0.0, f64::min)
}

/// What each request cost, in the order in which work on them began, of those that came so long after the first.
///
/// The time to receive a body depends on the client, so each request counts with a fast one: the tenth percentile.
pub fn costs(log: &[Served], seconds: f64) -> Vec<Cost> {
    let first = log.iter().map(|served| served.arrival).min().unwrap_or(0);
    let within = |served: &&Served| ((served.arrival - first) as f64) < seconds * 1e9;
    let mut log: Vec<Served> = log.iter().filter(within).copied().collect();
    log.sort_by_key(|served| served.start);
    let mut received: Vec<u64> = log.iter().map(|served| served.received).collect();
    received.sort_unstable();
    let receiving = received.get(received.len() / 10).copied().unwrap_or(0);
    log.iter().map(|served| served.cost(receiving)).collect()
}

/// The response times of the operations that are due in a window, sorted, in seconds. `None` without any cost in the log.
pub fn responses(load: Load, window: Window, queue: Queue, costs: &[Cost]) -> Option<Vec<f64>> {
    if costs.is_empty() {
        return None;
    }
    let mut server = Server { queue, free: BinaryHeap::new() };
    let mut next = costs.iter().copied().cycle();
    let mut coming = first_requests(load, window, &mut next);
    let (mut times, mut begun) = (Vec::new(), coming.len());
    // More requests of slots than the log has would be made up.
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

/// The requests that wait for no other: all of a schedule, one of each slot.
fn first_requests(load: Load, window: Window, costs: impl Iterator<Item = Cost>) -> BinaryHeap<Reverse<Request>> {
    let (count, gap) = match load {
        Load::Open(rate) => ((rate * window.end).round() as u64, 1.0 / rate),
        Load::Closed(slots) => (slots.into(), 0.0),
    };
    let requests = (0..count).zip(costs).map(|(number, cost)| Reverse(Request::due(number as f64 * gap, cost)));
    requests.collect()
}

/// A request on its way to the server, in the order in which they ask for a place.
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

/// The values that a share `q` of sorted values does not exceed, give or take one operation.
pub fn quantile(sorted: &[f64], q: f64) -> Option<(f64, f64)> {
    let last = sorted.len().checked_sub(1)?;
    let index = ((q * sorted.len() as f64).ceil() as usize).saturating_sub(1).min(last);
    Some((sorted[index.saturating_sub(1)], sorted[(index + 1).min(last)]))
}

/// Whether a printed percentile, with its interval, misses the truth, which lies between two values. All in seconds.
pub fn is_off(low: f64, high: f64, truth: (f64, f64)) -> bool {
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
    fn a_server_for_all_adds_nothing_to_its_work() {
        let all = Queue::default();
        let times = times(Load::Open(100.0), 1.0, all, &[work(0.01)]);
        assert!(times.len() == 100 && times.iter().all(|time| (time - 0.01).abs() < 1e-9), "{times:?}");
    }

    #[test]
    fn an_overloaded_server_queues_without_end() {
        // 200 a second at one server of 10 ms: the backlog grows by half of the load.
        let one = Queue { servers: Some(1), stall: None };
        let times = times(Load::Open(200.0), 2.0, one, &[work(0.01)]);
        assert_eq!(times.len(), 400);
        // The last one is due at 1.995 s and ends at 4 s.
        assert!((times[399] - 2.005).abs() < 1e-9, "{}", times[399]);
        assert!((middle(&times, 0.5) - 1.005).abs() < 1e-9);
    }

    #[test]
    fn what_occupies_no_place_is_added_once() {
        // A place is busy for 4 ms of every 5 ms: nothing queues, though each request takes 9 ms.
        let (one, cost) = (Queue { servers: Some(1), stall: None }, Cost { before: 0.002, work: 0.004, after: 0.003 });
        let open = times(Load::Open(200.0), 1.0, one, &[cost]);
        assert!(open.len() == 200 && open.iter().all(|time| (time - 0.009).abs() < 1e-9), "{open:?}");
        // A slot does wait for all of it.
        let closed = times(Load::Closed(1), 0.9, one, &[cost; 1_000]);
        assert!(closed.len().abs_diff(100) <= 1 && closed.iter().all(|time| (time - 0.009).abs() < 1e-9));
        // One that is late does not hold up those that are there.
        let late = Cost { before: 0.1, ..work(0.001) };
        let mixed = times(Load::Open(100.0), 0.1, one, &[late, work(0.001)]);
        assert!(mixed[..5].iter().all(|time| (time - 0.001).abs() < 1e-9), "{mixed:?}");
    }

    #[test]
    fn a_warmup_leaves_its_backlog_behind() {
        let one = Queue { servers: Some(1), stall: None };
        let late = Window { warmup: 1.0, end: 2.0 };
        let open = responses(Load::Open(200.0), late, one, &[work(0.01)]).unwrap();
        assert!(open.len() == 200 && (open[0] - 1.01).abs() < 1e-9, "{}", open[0]);
        let closed = responses(Load::Closed(2), late, Queue::default(), &[work(0.01); 1_000]).unwrap();
        assert!(closed.len().abs_diff(200) <= 2, "{}", closed.len());
    }

    #[test]
    fn slots_wait_for_each_other_at_few_servers() {
        let two = Queue { servers: Some(2), stall: None };
        let costs = vec![work(0.01); 100_000];
        let times = times(Load::Closed(8), 1.0, two, &costs);
        // 200 a second, and the 8 of the end.
        assert!((199..=209).contains(&times.len()), "{}", times.len());
        assert!((middle(&times, 0.5) - 0.04).abs() < 1e-9);
        // Those of the log are all there are.
        assert_eq!(responses(Load::Closed(8), until(1.0), two, &[work(0.01); 20]).unwrap().len(), 20);
    }

    #[test]
    fn a_stall_holds_what_falls_into_it() {
        let queue = Queue { servers: None, stall: Some((1.0, 2.0)) };
        let times = times(Load::Open(1_000.0), 10.0, queue, &[work(0.0)]);
        // A tenth waits, evenly up to 1 s.
        assert!((middle(&times, 0.99) - 0.9).abs() < 2e-3);
        assert!(middle(&times, 0.89) < 1e-9);
    }

    #[test]
    fn costs_leave_out_planned_stops_and_slow_senders() {
        let line = |text| Served::parse(text).unwrap();
        let log = [
            line("5 3 20 30 130 140 40"),
            line("0 900 904 910 920 920 0"),
            line("0 2 5 9 19 19 0"),
            line("1000 2 5 9 19 19 0"),
        ];
        let costs = costs(&log, 999e-9);
        // In the order of their starts, without the last, which came too late; the tenth percentile of receiving is 2 ns.
        let wanted = [(5.0, 10.0, 0.0), (14.0, 60.0, 10.0), (6.0, 10.0, 0.0)];
        assert_eq!(costs.len(), wanted.len());
        for (got, (before, work, after)) in costs.iter().zip(wanted) {
            let near = |got: f64, nanos: f64| (got * 1e9 - nanos).abs() < 1e-6;
            assert!(near(got.before, before) && near(got.work, work) && near(got.after, after), "{costs:?}");
        }
        assert_eq!(Served::parse("1 2 3 4 5 6"), None);
        assert_eq!(responses(Load::Open(1.0), until(1.0), Queue::default(), &[]), None);
    }

    #[test]
    fn the_least_late_request_tells_when_a_schedule_began() {
        let served = |arrival| Served { arrival, received: 0, asked: 0, start: 0, end: 0, left: 0, held: 0 };
        // Due at 0, 10, 20 and 30 ms of a schedule that began at 100 ms, with 25, 17, 7 and 1 ms of delay.
        let log = [125, 127, 127, 131].map(|ms| served(ms * 1_000_000));
        assert!((first_lateness(&log, 100.0) - 0.024).abs() < 1e-9, "{}", first_lateness(&log, 100.0));
        // One is missing.
        assert!((first_lateness(&log[1..], 100.0) - 0.016).abs() < 1e-9);
        assert_eq!(first_lateness(&[], 100.0), 0.0);
    }

    #[test]
    fn percentiles_have_a_tolerance_and_their_interval() {
        let off = |low, high, truth| is_off(low, high, (truth, truth));
        assert!(!off(1.0, 1.0, 1.09) && off(1.0, 1.0, 1.2) && off(1.0, 1.0, 0.8));
        assert!(!off(0.0001, 0.0001, 0.0002) && off(0.0001, 0.0001, 0.0004));
        assert!(!off(0.5, 2.0, 1.0) && off(0.5, 2.0, 3.0));
        // Nothing is known of its lower end.
        assert!(!off(0.0, 2.0, 0.0) && !off(0.0, 2.0, 2.1) && off(0.0, 2.0, 2.5));
    }

    #[test]
    fn one_operation_may_lie_on_either_side_of_an_edge() {
        let sorted: Vec<f64> = (0..100).map(|number| if number < 90 { 0.005 } else { 0.7 }).collect();
        assert_eq!(quantile(&sorted, 0.9), Some((0.005, 0.7)));
        let edge = quantile(&sorted, 0.9).unwrap();
        assert!(!is_off(0.005, 0.005, edge) && !is_off(0.7, 0.7, edge) && is_off(0.001, 0.002, edge));
        // Two operations away it decides nothing.
        assert_eq!(quantile(&sorted, 0.88), Some((0.005, 0.005)));
        assert_eq!((quantile(&[], 0.5), quantile(&[1.0], 0.5)), (None, Some((1.0, 1.0))));
    }
}
