//! Tests of the simulated queue with known response times.

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
    // 200 requests per second arrive, but with one place and 10 ms of work per request, the server serves only 100. So
    // the backlog grows by 100 requests per second.
    let one = Queue { servers: Some(1), stall: None };
    let times = times(Load::Open(200.0), 2.0, one, &[work(0.01)]);
    assert_eq!(times.len(), 400);
    // The last request is due at 1.995 s and ends at 4 s.
    assert!((times[399] - 2.005).abs() < 1e-9, "{}", times[399]);
    assert!((middle(&times, 0.5) - 1.005).abs() < 1e-9);
}

#[test]
fn time_outside_the_place_delays_only_its_own_request() {
    // The place is busy for 4 ms of every 5 ms. No request queues, although each request takes 9 ms.
    let (one, cost) = (Queue { servers: Some(1), stall: None }, Cost { before: 0.002, after: 0.003, ..work(0.004) });
    let open = times(Load::Open(200.0), 1.0, one, &[cost]);
    assert!(open.len() == 200 && open.iter().all(|time| (time - 0.009).abs() < 1e-9), "{open:?}");
    // A slot sends its next request after the full 9 ms.
    let closed = times(Load::Closed(1), 0.9, one, &[cost; 100]);
    assert!(closed.len() == 100 && closed.iter().all(|time| (time - 0.009).abs() < 1e-9));
    // A request that is due early but reaches the server late does not delay the requests that are served before it.
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
    let mut costs = [work(0.01); 300];
    costs[..200].iter_mut().for_each(|cost| cost.in_warmup = true);
    let closed = responses(Load::Closed(2), late, one, &costs).unwrap();
    assert!(closed.len() == 100 && (closed[0] - 0.02).abs() < 1e-9, "{closed:?}");
}

#[test]
fn slots_queue_for_few_places() {
    let two = Queue { servers: Some(2), stall: None };
    let times = times(Load::Closed(8), 1.0, two, &[work(0.01); 200]);
    assert_eq!(times.len(), 200);
    assert!((middle(&times, 0.5) - 0.04).abs() < 1e-9);
}

#[test]
fn a_pause_delays_the_requests_within_it() {
    let queue = Queue { servers: None, stall: Some(Pauses { first: (1.0, 2.0), every: f64::INFINITY }) };
    let times = times(Load::Open(1_000.0), 10.0, queue, &[work(0.0)]);
    // A tenth of the requests waits. The waiting times are uniformly distributed between 0 and 1 s.
    assert!((middle(&times, 0.99) - 0.9).abs() < 2e-3);
    assert!(middle(&times, 0.89) < 1e-9);
}

#[test]
fn pauses_come_again() {
    let queue = Queue { servers: None, stall: Some(Pauses { first: (1.0, 1.2), every: 1.0 }) };
    let times = times(Load::Open(1_000.0), 10.0, queue, &[work(0.0)]);
    // In 9 of the 10 s, a fifth of the requests waits. The waiting times are uniformly distributed between 0 and 0.2 s.
    assert!((middle(&times, 0.99) - 0.2 * (1.0 - 1.0 / 18.0)).abs() < 2e-3);
    assert!(middle(&times, 0.81) < 1e-9);
}

#[test]
fn costs_exclude_planned_pauses_and_slow_senders() {
    let line = |text| LogEntry::parse(text).unwrap();
    let log = [line("5 3 20 30 130 140 40 0"), line("0 900 904 910 920 920 0 1"), line("0 2 5 9 19 19 0 2")];
    let costs = open_costs(&log);
    // The costs are in the order in which work began. The tenth percentile of the receiving times is 2 ns.
    let wanted = [(5.0, 10.0, 0.0), (14.0, 60.0, 10.0), (6.0, 10.0, 0.0)];
    assert_eq!(costs.len(), wanted.len());
    for (got, (before, work, after)) in costs.iter().zip(wanted) {
        let near = |got: f64, nanos: f64| (got * 1e9 - nanos).abs() < 1e-6;
        assert!(near(got.before, before) && near(got.work, work) && near(got.after, after), "{costs:?}");
    }
    assert_eq!(LogEntry::parse("1 2 3 4 5 6 7"), None);
    assert_eq!(responses(Load::Open(1.0), until(1.0), Queue::default(), &[]), None);
}

/// A closed run of two slots, followed by probes. The server takes 5 ms for each request, but pauses for 20 ms when the
/// window begins. The real client takes 1 ms between two requests. A simulated perfect client takes no time, so it is
/// ahead of the real client.
#[test]
fn a_closed_run_counts_the_requests_that_the_client_counted() {
    let ms = 1_000_000;
    let served = |number: u64, connection: u64| {
        let pause = if number == 100 { 20 * ms } else { 0 };
        let arrival = number * 6 * ms + if number > 100 { 20 * ms } else { 0 } + connection;
        let end = arrival + 5 * ms + pause;
        LogEntry { arrival, received: 0, asked: arrival, start: arrival, end, left: end, held: pause, connection }
    };
    let main = (0..500).flat_map(|number| [served(number, 1), served(number, 0)]);
    let log: Vec<LogEntry> = main.chain((501..600).map(|number| served(number, 2))).collect();
    let of = |counted| {
        let costs = closed_costs(&log, 2, counted)?;
        responses(Load::Closed(2), until(0.0), Queue::default(), &costs)
    };
    let near = |times: &[f64], slow: usize| {
        times.iter().rev().enumerate().all(|(rank, time)| (time - if rank < slow { 0.025 } else { 0.005 }).abs() < 1e-9)
    };
    let (with_pause, without) = (of(800).unwrap(), of(798).unwrap());
    assert!(with_pause.len() == 800 && near(&with_pause, 2), "{with_pause:?}");
    assert!(without.len() == 798 && near(&without, 0), "{without:?}");
    assert_eq!((of(1000).map(|times| times.len()), of(1001)), (Some(1000), None));
}

#[test]
fn the_request_with_the_least_lateness_tells_when_the_schedule_began() {
    let served =
        |arrival| LogEntry { arrival, received: 0, asked: 0, start: 0, end: 0, left: 0, held: 0, connection: 0 };
    // The schedule begins at 100 ms, so the requests are due at 100, 110, 120 and 130 ms. The requests are late by 25,
    // 17, 7 and 1 ms.
    let log = [125, 127, 127, 131].map(|ms| served(ms * 1_000_000));
    assert!((first_lateness(&log, 100.0) - 0.024).abs() < 1e-9, "{}", first_lateness(&log, 100.0));
    // Without its first request, the log seems to begin with a request that is late by 17 ms.
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
    // A percentile that is two operations away from the edge is not affected by it.
    assert_eq!(quantile(&sorted, 0.88), Some((0.005, 0.005)));
    assert_eq!((quantile(&[], 0.5), quantile(&[1.0], 0.5)), (None, Some((1.0, 1.0))));
}
