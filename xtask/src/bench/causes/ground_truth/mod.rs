//! The true response times, as a perfect client would measure them, computed from the schedule and from the target's
//! log.
//!
//! The schedule contains the times at which requests were due, and the log contains the time that the target spent on
//! each request. A simulation of the target's queue combines the two. The result therefore does not depend on when the
//! client under test really sent its requests.
//!
//! In addition to the planned work, a target needs time for other things, for example to wake up or to encrypt. This
//! time delays the request itself, but not the requests that queue behind it.
//!
//! A printed percentile is right if its interval contains the true value, or the value of the next faster or next
//! slower operation. The reason is that response times jump at the beginning and end of a planned pause. A small shift
//! of the load can move a percentile across such a jump.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Tolerance for a printed percentile, as a fraction of the true value. The larger of the two tolerances applies.
const TOLERANCE_SHARE: f64 = 0.10;
/// Tolerance for a printed percentile, in seconds. Loopback and the schedulers of two cores can add this delay to each
/// operation.
const TOLERANCE_SECONDS: f64 = 200e-6;

/// A line of the target's log, in nanoseconds of the target's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Instant at which the kernel received the request's header.
    pub arrival: u64,
    /// Time from `arrival` until the server had received the body.
    pub received: u64,
    /// Instant at which the request started to wait for a place. The number of places limits how many requests the
    /// server works on at the same time.
    pub asked: u64,
    /// Instant at which the request got a place.
    pub start: u64,
    /// Instant at which the work was done and the place became free.
    pub end: u64,
    /// Instant at which the kernel had accepted the whole response.
    pub left: u64,
    /// Time between `start` and `end` that the server spent in a planned pause.
    pub held: u64,
    /// Number of the connection, counted from 0 in the order in which the server accepted the connections.
    pub connection: u64,
}

/// Time that a request takes at the server, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// `true` if the request of a closed run is not counted, because the client sent it in the warm-up.
    pub in_warmup: bool,
    /// Time from arrival until the request waits for a place.
    pub before: f64,
    /// Time during which the request occupies its place.
    pub work: f64,
    /// Time from leaving the place until the response has been sent.
    pub after: f64,
}

/// The period in which the operations of an open run are due, in seconds from the first operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// End of the warm-up. Operations of the warm-up are not counted, but they affect the queue.
    pub warmup: f64,
    /// End of the measured time.
    pub end: f64,
}

/// The load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Number of requests per second, evenly spaced.
    Open(f64),
    /// Number of slots. Each slot sends a request as soon as its previous request has ended.
    Closed(u32),
}

/// Properties of the server that affect its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Queue {
    /// Number of places, which is the maximum number of requests served at the same time; `None` for no limit.
    pub servers: Option<usize>,
    /// The server's pauses.
    pub stall: Option<Pauses>,
}

/// Pauses of a server. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pauses {
    /// Start and end of the first pause, counted from the first request.
    pub first: (f64, f64),
    /// Time from the start of a pause to the start of the next one; infinite if there is only one pause.
    pub every: f64,
}

impl LogEntry {
    /// Parses a line of the log.
    pub fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ').map(|field| field.parse().ok());
        let mut next = || fields.next().flatten();
        let [arrival, received, asked, start] = [next()?, next()?, next()?, next()?];
        let [end, left, held, connection] = [next()?, next()?, next()?, next()?];
        Some(Self { arrival, received, asked, start, end, left, held, connection })
    }

    /// Returns the cost of the request, for a client that takes `receiving` nanoseconds to send a body.
    fn cost(&self, receiving: u64) -> Cost {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let before = self.asked.saturating_sub(self.arrival).saturating_sub(self.received) + receiving;
        let work = self.end.saturating_sub(self.start).saturating_sub(self.held);
        let after = self.left.saturating_sub(self.end);
        Cost { in_warmup: false, before: seconds(before), work: seconds(work), after: seconds(after) }
    }
}

/// Returns by how many seconds the first request of a schedule was late. Planned pauses are timed from that request, so
/// they are late by the same time.
///
/// If requests are missing or late, the requests after them look late too. The start of the schedule is therefore
/// computed from the request with the smallest lateness.
pub fn first_lateness(log: &[LogEntry], rate: f64) -> f64 {
    let mut arrivals: Vec<u64> = log.iter().map(|served| served.arrival).collect();
    arrivals.sort_unstable();
    let first = arrivals.first().copied().unwrap_or(0);
    let since = |arrival: u64| (arrival - first) as f64 / 1e9;
    let earliest = arrivals.iter().enumerate().map(|(number, &arrival)| since(arrival) - number as f64 / rate);
    -earliest.fold(0.0, f64::min)
}

/// Returns the costs of the requests of an open run, in the order in which they were served.
pub fn open_costs(log: &[LogEntry]) -> Vec<Cost> {
    let mut log = log.to_vec();
    log.sort_by_key(|served| served.start);
    let receiving = usual_receiving(&log);
    log.iter().map(|served| served.cost(receiving)).collect()
}

/// Returns the costs of the requests of a closed run, in the order in which they were served. The client had `slots`
/// connections, and counted `counted` requests. Returns `None` if the log contains fewer requests.
///
/// After the window, the client sends no more requests on these connections, because probes have their own connections.
/// The counted requests are therefore the last ones in the log of these connections. They are not selected by time,
/// because the clocks of client and target differ, and a simulated client is faster than the real one. At the edges of
/// the window, a selection by time would count a few slow requests for only one of the two clients. This would change
/// the p99.9 of a few thousand requests.
///
/// The time during which a request was held in a planned pause remains a part of its work.
pub fn closed_costs(log: &[LogEntry], slots: u32, counted: u64) -> Option<Vec<Cost>> {
    let mut log: Vec<LogEntry> = log.iter().filter(|served| served.connection < slots.into()).copied().collect();
    log.sort_by_key(|served| served.arrival);
    let warmup = log.len().checked_sub(usize::try_from(counted).ok()?)?;
    let receiving = usual_receiving(&log);
    let mut log: Vec<(usize, LogEntry)> = log.into_iter().enumerate().collect();
    log.sort_by_key(|(_, served)| served.start);
    let cost = |(number, served): &(usize, LogEntry)| {
        let cost = LogEntry { held: 0, ..*served }.cost(receiving);
        Cost { in_warmup: *number < warmup, ..cost }
    };
    Some(log.iter().map(cost).collect())
}

/// Returns the tenth percentile of the times to receive a body, in nanoseconds. It replaces the logged time in every
/// cost, because the logged times depend on the client under test.
fn usual_receiving(log: &[LogEntry]) -> u64 {
    let mut received: Vec<u64> = log.iter().map(|served| served.received).collect();
    received.sort_unstable();
    received.get(received.len() / 10).copied().unwrap_or(0)
}

/// Returns the sorted response times, in seconds, of the operations that count. In an open run, these are due in the
/// window. `None` if there are no costs.
///
/// A closed run ends when the costs are used up, because the costs of further requests are unknown.
pub fn responses(load: Load, window: Window, queue: Queue, costs: &[Cost]) -> Option<Vec<f64>> {
    if costs.is_empty() {
        return None;
    }
    let mut server = Server { queue, free: BinaryHeap::new() };
    let mut next = costs.iter().copied().cycle();
    let mut coming = first_requests(load, window, &mut next);
    let (mut times, mut begun) = (Vec::new(), coming.len());
    let closed = matches!(load, Load::Closed(_));
    while let Some(Reverse(Request { asks: Instant(asks), due, cost })) = coming.pop() {
        let end = server.serve(asks, cost.work) + cost.after;
        let counts = if closed { !cost.in_warmup } else { due >= window.warmup };
        if counts {
            times.push(end - due);
        }
        if closed && begun < costs.len() {
            begun += 1;
            coming.push(Reverse(Request::due(end, next.next()?)));
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    Some(times)
}

/// Returns the requests that do not depend on earlier ones: all requests of a schedule, or the first request of each
/// slot.
fn first_requests(load: Load, window: Window, costs: impl Iterator<Item = Cost>) -> BinaryHeap<Reverse<Request>> {
    let (count, gap) = match load {
        Load::Open(rate) => ((rate * window.end).round() as u64, 1.0 / rate),
        Load::Closed(slots) => (slots.into(), 0.0),
    };
    let requests = (0..count).zip(costs).map(|(number, cost)| Reverse(Request::due(number as f64 * gap, cost)));
    requests.collect()
}

/// A request on its way to the server. Requests are ordered by the time at which they start to wait for a place.
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
    /// Times at which the places become free.
    free: BinaryHeap<Reverse<Instant>>,
}

impl Server {
    /// Serves a request, and returns the time at which its work ends.
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

    /// Returns `at`, or the end of the pause if `at` lies in a pause.
    fn released(&self, at: f64) -> f64 {
        let Some(Pauses { first: (from, until), every }) = self.queue.stall else { return at };
        let earlier = ((at - from) / every).floor().max(0.0);
        let shift = if earlier > 0.0 { earlier * every } else { 0.0 };
        if (from + shift..until + shift).contains(&at) { until + shift } else { at }
    }
}

/// A time in seconds. Unlike `f64`, this type has a total order.
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

/// Returns two bounds of quantile `q`: the values of the operations just below and just above the quantile. `sorted`
/// contains the values of all operations in ascending order.
pub fn quantile(sorted: &[f64], q: f64) -> Option<(f64, f64)> {
    let last = sorted.len().checked_sub(1)?;
    let index = ((q * sorted.len() as f64).ceil() as usize).saturating_sub(1).min(last);
    Some((sorted[index.saturating_sub(1)], sorted[(index + 1).min(last)]))
}

/// Returns whether a printed percentile is wrong. `low` and `high` are the ends of its interval, and `truth` contains
/// the bounds of the true value. All values are in seconds.
pub fn is_wrong(low: f64, high: f64, truth: (f64, f64)) -> bool {
    let tolerance = |truth: f64| TOLERANCE_SECONDS.max(TOLERANCE_SHARE * truth);
    truth.1 < low - tolerance(truth.1) || truth.0 > high + tolerance(truth.0)
}

#[cfg(test)]
mod tests;
