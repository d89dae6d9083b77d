//! The scaling of a run on several hosts, with servers that sleep for a known time: with one queue for all hosts, and with
//! a queue for each connection. All requests of the servers are counted in one of the two runs.

use crate::fleet::ok_of_agents;
use crate::fleet_bus::start_agents;
use crate::support::{Hosts, Nats, Report, TestDir, all_cores, respond};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Time in which the server handles a request.
const SERVICE: Duration = Duration::from_millis(10);

/// Starts a server that handles one request at a time, or one per connection. Returns its URL and its count.
fn start(one_at_a_time: bool) -> (String, Arc<AtomicU64>) {
    let (queue, count) = (Mutex::new(()), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&count);
    let url = respond(move |send| {
        let turn = one_at_a_time.then(|| queue.lock().unwrap());
        thread::sleep(SERVICE);
        drop(turn);
        counted.fetch_add(1, Ordering::Relaxed);
        send();
    });
    (url, count)
}

/// Checks the scaling in a report. Returns it.
fn scaling(report: &Report, count: &AtomicU64) -> f64 {
    assert_eq!(report.violations(), 0);
    let alone = report.at("/fleet/alone");
    let made = alone["ok"].as_u64().unwrap() + ok_of_agents(report).iter().sum::<u64>();
    assert_eq!(made, count.load(Ordering::Relaxed), "{}", report.at("/fleet"));
    let of = |row: &serde_json::Value| {
        row["ok"].as_u64().unwrap() as f64 * 1e9 / row["measured_nanos"].as_u64().unwrap() as f64
    };
    let all: f64 = report.list("/fleet/agents").iter().map(of).sum();
    let expected = all / (report.list("/fleet/agents").len() as f64 * of(alone));
    let found = report.at("/fleet/scaling").as_f64().unwrap();
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    found
}

#[test]
fn hosts_that_share_a_queue_scale_by_their_number_and_others_do_not_slow_down() {
    let _cores = all_cores();
    for (one_at_a_time, planted) in [(true, 1.0 / 3.0), (false, 1.0)] {
        let place = TestDir::new();
        let Some(hosts) = Hosts::start(&place, &[0, 0, 0]) else { return };
        let (url, count) = start(one_at_a_time);
        let flags = ["get", &url, "-c", "3", "-d", "3s", "--scaling", "--start-spread", "1m", "--json", "--out", "out"];
        let words: Vec<String> =
            flags.iter().map(|flag| (*flag).to_owned()).chain(hosts.flags_with_program()).collect();
        let report = Report::read(place.run(words).expect_no_panic());
        let found = scaling(&report, &count);
        assert!((found / planted - 1.0).abs() < 0.15, "{found} is not {planted}");
        // The run of the first host alone is a run like any other.
        let alone = Report::read(place.run(["report", "out/alone", "--json"]).expect(0));
        assert_eq!(Some(alone.number("/operations/ok")), report.at("/fleet/alone")["ok"].as_u64());
        let text = place.run(["report", "out"]).stdout;
        assert!(text.contains(&format!("{found:.2}: ")), "{text}");
    }
}

#[test]
fn an_agent_of_a_bus_is_measured_alone_while_the_others_wait() {
    let _cores = all_cores();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let agents = start_agents(&place, &nats, 2);
    let (url, count) = start(true);
    let bus = nats.url();
    let command = [
        "get",
        &url,
        "-c",
        "2",
        "-n",
        "100",
        "--scaling",
        "--fleet",
        &bus,
        "--agents",
        "2",
        "--start-spread",
        "1m",
        "--json",
        "--out",
        "out",
    ];
    let report = Report::read(place.run(command).expect_no_panic());
    let found = scaling(&report, &count);
    assert!((found / 0.5 - 1.0).abs() < 0.15, "{found}");
    assert_eq!((report.at("/fleet/alone")["ok"].as_u64(), report.number("/operations/ok")), (Some(50), 100));
    assert_eq!(agents.iter().map(|agent| agent.runs().len()).collect::<Vec<_>>(), [2, 1]);
}
