//! The search for the load line on several hosts: one search, whose levels are decided on the sum of all agents.

use crate::fleet::{end_of, intervals, ok_of_agents};
use crate::fleet_bus::start_agents;
use crate::support::{Ended, Hosts, Nats, Report, Running, TestDir, all_cores, shared_cores, signal, wait_for};
use serde_json::Value;
use std::time::Duration;

/// Starts a search on these hosts. Other tests may delay the start of a thread.
fn start(place: &TestDir, hosts: &Hosts, url: &str, words: &[&str]) -> Running {
    let usual = ["line", url, "--start-spread", "1m", "--json", "--out", "found"];
    let words = usual.iter().chain(words).map(|word| (*word).to_owned());
    place.start(words.chain(hosts.flags_with_program()))
}

fn found(ended: &Ended) -> Value {
    ended.expect_no_panic();
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr))
}

fn levels(found: &Value) -> &[Value] {
    found["levels"].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the report of a level.
fn level_report(place: &TestDir, level: &Value) -> Report {
    let directory = format!("found/{}", level["directory"].as_str().unwrap());
    Report::read(place.run(["report", "--json", &directory]).expect_no_panic())
}

#[test]
fn the_line_of_two_hosts_is_found_in_one_search_and_both_stay_connected() {
    let _cores = all_cores();
    let place = TestDir::new();
    // Requests take 20 ms. Each concurrent request above 8 adds 40 ms, so neither host reaches the line on its own.
    let (server, url) = place.serve(&["--delay", "20ms", "--capacity", "8:40ms"]);
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let words = ["--from", "4", "--to", "64", "--precision", "50%", "-d", "3s", "--objective", "p95 <= 100ms"];
    let ended = start(&place, &hosts, &url, &words).end();
    let found = found(&ended);
    ended.expect(0);
    assert_eq!(found["outcome"], "found", "{found:#}");
    let (passed, failed) = (found["passed"].as_u64().unwrap(), found["failed"].as_u64().unwrap());
    assert!(passed >= 8 && failed <= 16 && passed < failed, "{found:#}");
    for level in levels(&found) {
        let report = level_report(&place, level);
        let ok = ok_of_agents(&report);
        assert_eq!((report.violations(), ok.len()), (0, 2), "{level:#}");
        assert!(ok.iter().all(|ok| *ok > 0), "an agent made no load: {level:#}");
        assert_eq!(report.number("/operations/ok"), ok.iter().sum::<u64>());
        assert_eq!(report.number("/setup/concurrency"), level["level"].as_u64().unwrap(), "{}", report.at("/setup"));
    }
    let over = levels(&found).iter().find(|level| level["level"] == 16).unwrap();
    assert!(over["certain"] == true && over["passed"] == false, "{over:#}");
    assert!(over["seconds"].as_f64().unwrap() < 3.0, "the level did not stop although it was decided: {over:#}");
    assert_eq!(level_report(&place, over).text("/end/reason"), "stopped_early");
    for host in &hosts.hosts {
        assert_eq!(host.logins(), 1, "the agent of {} did not stay connected", host.name);
        assert_eq!(host.runs().len(), levels(&found).len(), "each host keeps its part of each level, and nothing else");
        wait_for("end of the agent", || host.agent().is_none().then_some(()));
    }
    let again = place.run(["report", "found", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&again.expect(0).stdout).unwrap(), found);
    server.stop();
}

#[test]
fn a_host_that_limits_a_level_is_named_and_the_level_is_tried_again() {
    let _cores = all_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&["--delay", "10ms"]);
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let words = [
        "--from",
        "4",
        "--to",
        "4",
        "-d",
        "5s",
        "--objective",
        "response p50 <= 100ms",
        "--objective",
        "response max <= 1s",
    ];
    let running = start(&place, &hosts, &url, &words);
    let part = place.path("found/levels/01-4/agents/2-b");
    wait_for("second interval", || (intervals(&part) >= 2).then_some(()));
    let agent = hosts.hosts[1].agent().expect("the agent runs");
    signal(agent, "STOP");
    std::thread::sleep(Duration::from_secs(3));
    signal(agent, "CONT");
    let ended = running.end();
    let found = found(&ended);
    let first = &levels(&found)[0];
    assert_eq!((&first["outcome"], &first["limited_by_client"]), (&"client_limited".into(), &true.into()), "{found:#}");
    assert!(first["limited_by"].as_str().unwrap().ends_with("(host b)"), "{first:#}");
    let text = place.run(["report", "found", "--full"]);
    assert!(text.stdout.contains("(host b)"), "{}", text.stdout);
    assert_eq!((&found["outcome"], &found["passed"]), (&"at_least".into(), &4.into()), "{found:#}");
    server.stop();
}

#[test]
fn a_search_ends_if_it_loses_a_host_and_its_levels_are_kept() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&["--delay", "10ms"]);
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let running = start(&place, &hosts, &url, &["--from", "2", "--to", "4", "-d", "3s"]);
    let second = place.path("found/levels/02-4/agents/2-b");
    wait_for("second level", || (intervals(&second) >= 1).then_some(()));
    signal(hosts.hosts[1].agent().expect("the agent runs"), "KILL");
    let ended = running.end();
    ended.expect(4);
    assert!(ended.stderr.contains("b was lost, and a search needs all of its hosts"), "{}", ended.stderr);
    let kept = place.run(["report", "found", "--json"]);
    let kept: Value = serde_json::from_str(&kept.stdout).unwrap();
    assert_eq!((&kept["outcome"], levels(&kept).len()), (&"unfinished".into(), 1), "{kept:#}");
    wait_for("end of the other agent", || hosts.hosts[0].agent().is_none().then_some(()));
    server.stop();
}

#[test]
fn an_interrupt_ends_a_search_on_all_hosts() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&["--delay", "10ms"]);
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let running = start(&place, &hosts, &url, &["--from", "2", "--to", "2", "-d", "60s"]);
    let part = place.path("found/levels/01-2/agents/2-b");
    wait_for("interval", || (intervals(&part) >= 1).then_some(()));
    running.signal("INT");
    let ended = running.end();
    ended.expect(130);
    assert_eq!(found(&ended)["outcome"], "interrupted");
    for host in &hosts.hosts {
        wait_for("end of the agent", || host.agent().is_none().then_some(()));
        assert_eq!(end_of(&host.run().unwrap()).unwrap()["reason"]["kind"], "interrupted");
    }
    server.stop();
}

#[test]
fn a_target_that_cannot_be_reached_is_reported_before_the_first_level() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let ended = start(&place, &hosts, "http://127.0.0.1:1/", &["--to", "4"]).end();
    ended.expect(4);
    assert!(ended.stderr.contains("cannot reach http://127.0.0.1:1"), "{}", ended.stderr);
}

#[test]
fn the_agents_of_a_bus_make_all_levels_of_a_search_on_rate() {
    let _cores = all_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&["--delay", "5ms"]);
    let Some(nats) = Nats::start(&place, "") else { return };
    let mut agents = start_agents(&place, &nats, 2);
    let bus = nats.url();
    let line = ["line", &url, "--on", "rate", "--from", "100", "--to", "200", "-d", "2s", "--rest", "1s"];
    let fleet = ["--fleet", &bus, "--agents", "2", "--start-spread", "1m", "--json", "--out", "found"];
    let ended = place.run(line.iter().chain(&fleet));
    let found = found(&ended);
    ended.expect(0);
    assert_eq!((&found["outcome"], &found["passed"]), (&"at_least".into(), &200.into()), "{found:#}");
    for level in levels(&found) {
        let (report, rate) = (level_report(&place, level), level["level"].as_f64().unwrap());
        let offered = report.number("/operations/offered") as f64;
        let seconds = report.at("/operations/window_seconds").as_f64().unwrap();
        assert!((offered - rate * seconds).abs() <= 0.02 * offered, "{offered} in {seconds} s: {level:#}");
        assert!(ok_of_agents(&report).iter().all(|ok| *ok > 0), "an agent made no load: {level:#}");
    }
    for agent in &mut agents {
        agent.process.wait_for_message(": done");
        assert_eq!(agent.runs().len(), levels(&found).len());
    }
    // The agents are free again.
    let get = place.run(["get", &url, "-n", "10", "-c", "2", "--fleet", &bus, "--agents", "2", "--json"]);
    assert_eq!(Report::read(&get).number("/operations/ok"), 10);
    server.stop();
}

#[test]
fn mistakes_in_a_search_on_several_hosts_are_reported_before_any_host_is_reached() {
    let _cores = shared_cores();
    let place = TestDir::new();
    for (words, message) in [
        (
            &["--from", "1"][..],
            "each of the 2 machines needs at least one operation in flight, so use --from 2 or more",
        ),
        (&["--tolerate-lost", "1"], "a search needs all of its hosts"),
        (&["--abort-when", "p99 > 1s"], "--hosts does not support --abort-when yet"),
        (&["-c", "5"], "-c cannot be used in a search"),
        (&["--pair"], "--pair needs one URL per host"),
        (&["-u", "me:CANARY"], "contains a secret, which is not sent to other hosts"),
    ] {
        let ended = place.run(["line", "http://h/", "--hosts", "a,b"].iter().chain(words));
        ended.expect(2);
        assert!(ended.stderr.contains(message) && !ended.stderr.contains("CANARY"), "{words:?}: {}", ended.stderr);
    }
}
