//! Runs of agents that wait on NATS, with a real nats-server: the parts add up to the load, nothing is lost if the bus
//! restarts, and every failure is named.

use crate::fleet::{end_of, intervals, name_of_run, ok_of_agents, serve};
use crate::support::{
    Agent, Nats, Recorder, Report, TestDir, all_cores, expect_refusal, send_again, shared_cores, wait_for,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time limit for a run that waits until a lost agent was silent for 30 seconds.
const LONG: Duration = Duration::from_secs(120);

/// Returns the words of a command that makes a load on agents of the bus.
fn words(nats: &Nats, agents: usize, command: &[&str]) -> Vec<String> {
    let (url, agents) = (nats.url(), agents.to_string());
    // Other processes may delay the start of a thread.
    let flags = ["--fleet", &url, "--agents", &agents, "--start-spread", "1m", "--json", "--out", "out"];
    command.iter().chain(&flags).map(|word| (*word).to_owned()).collect()
}

/// Starts agents, and sorts them by their names, because a run numbers them in this order.
pub fn start_agents(place: &TestDir, nats: &Nats, count: usize) -> Vec<Agent> {
    let url = nats.url();
    let mut agents: Vec<Agent> = (0..count).map(|number| Agent::start(place, number, &["--fleet", &url])).collect();
    agents.sort_by(|a, b| a.name.cmp(&b.name));
    agents
}

/// Returns the directory of the records that an agent sent.
pub fn received(place: &TestDir, number: usize, agent: &Agent) -> PathBuf {
    place.path(&format!("out/agents/{number}-{}", agent.name))
}

/// Waits until the coordinator has so many intervals of each agent.
pub fn wait_for_intervals(place: &TestDir, agents: &[Agent], count: usize) {
    for (number, agent) in (1..).zip(agents) {
        wait_for("intervals", || (intervals(&received(place, number, agent)) >= count).then_some(()));
    }
}

#[test]
fn the_sum_of_three_agents_is_what_the_server_counts_in_one_run_after_the_other() {
    let _cores = all_cores();
    let place = TestDir::new();
    // With this limit, each record must be split into several messages.
    let Some(nats) = Nats::start(&place, "max_payload: 4096") else { return };
    let mut agents = start_agents(&place, &nats, 4);
    for round in 1..=2 {
        let (server, url) = serve();
        let command = ["get", &url, "-n", "900", "-R", "300", "-d", "10s"];
        let _ = std::fs::remove_dir_all(place.path("out"));
        let ended = place.run(words(&nats, 3, &command));
        let report = Report::read(&ended);
        ended.expect_no_panic();
        assert_eq!(report.violations(), 0);
        assert_eq!((ended.code, report.text("/result/word")), (Some(0), "pass"), "{}", report.at("/result"));
        assert_eq!(ok_of_agents(&report), [300, 300, 300]);
        assert_eq!((report.number("/operations/ok"), server.ledger().complete.count), (900, 900));
        let made = agents.iter().map(|agent| agent.runs().len()).collect::<Vec<_>>();
        assert_eq!(made, [round, round, round, 0], "the run used other agents than the first three");
        for agent in &agents[..3] {
            assert_eq!(end_of(agent.runs().last().unwrap()).unwrap()["reason"]["kind"], "completed");
        }
    }
    for agent in &mut agents[..3] {
        agent.process.wait_for_message(": done");
    }
    for agent in agents {
        agent.process.signal("TERM");
        agent.process.end().expect(143);
    }
}

#[test]
fn an_agent_that_is_killed_makes_the_run_partial_and_its_data_is_kept() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let agents = start_agents(&place, &nats, 2);
    let running = place.start(words(&nats, 2, &["get", &url, "-R", "40", "-d", "4s"]));
    wait_for_intervals(&place, &agents, 2);
    agents[1].process.signal("KILL");
    let killed = Instant::now();
    let ended = running.end_within(LONG);
    // The server reports that the agent has no connection, long before its silence shows it.
    assert!(killed.elapsed() < Duration::from_secs(20), "{:?}", killed.elapsed());
    let report = Report::read(&ended);
    ended.expect(0);
    assert_eq!(report.text("/result/word"), "partial");
    let reason = report.text("/result/reasons/0/text");
    assert!(reason.starts_with(&format!("lost 1 of 2 agents after the start ({})", agents[1].name)), "{reason}");
    assert!(ok_of_agents(&report)[1] > 0, "the data of the lost agent is gone");
    assert_eq!(ok_of_agents(&report)[0], 80);
    let lost = report.list("/fleet/agents")[1]["lost"].as_str().unwrap().to_owned();
    assert!(lost.contains("not connected to NATS any more"), "{lost}");
}

#[test]
fn an_agent_that_only_stands_still_for_a_while_is_not_lost() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let agents = start_agents(&place, &nats, 2);
    let running = place.start(words(&nats, 2, &["get", &url, "-R", "40", "-d", "12s", "--success", "0%"]));
    wait_for_intervals(&place, &agents, 2);
    agents[1].process.signal("STOP");
    std::thread::sleep(Duration::from_secs(7));
    agents[1].process.signal("CONT");
    let report = Report::read(&running.end());
    assert!(report.list("/fleet/agents").iter().all(|agent| agent["lost"].is_null()), "{}", report.at("/fleet"));
    for (number, agent) in (1..).zip(&agents) {
        assert_eq!(intervals(&received(&place, number, agent)), intervals(&agent.runs()[0]), "a record is missing");
    }
}

#[test]
fn a_restart_of_the_bus_during_a_run_loses_nothing() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(mut nats) = Nats::start(&place, "") else { return };
    let agents = start_agents(&place, &nats, 2);
    let mut running = place.start(words(&nats, 2, &["get", &url, "-R", "100", "-d", "10s"]));
    wait_for_intervals(&place, &agents, 2);
    nats.kill();
    let killed = Instant::now();
    running.wait_for_message("the connection to NATS is lost");
    let count = server.ledger().complete.count;
    wait_for("load without the bus", || (server.ledger().complete.count > count + 300).then_some(()));
    nats.start_again();
    assert!(killed.elapsed() < Duration::from_secs(20), "the bus was away for too long");
    let ended = running.end();
    let report = Report::read(&ended);
    ended.expect(0);
    assert_eq!((report.violations(), report.text("/result/word")), (0, "pass"), "{}", report.at("/result"));
    assert_eq!(ok_of_agents(&report), [500, 500]);
    assert_eq!(server.ledger().complete.count, 1000);
    for (number, agent) in (1..).zip(&agents) {
        assert_eq!(intervals(&received(&place, number, agent)), intervals(&agent.runs()[0]), "a record is missing");
    }
}

#[test]
fn a_bus_that_is_away_for_longer_than_a_lease_loses_nothing() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(mut nats) = Nats::start(&place, "") else { return };
    let mut agents = start_agents(&place, &nats, 2);
    // One run ends after the bus is back, and the other one while it is away.
    for seconds in ["45s", "20s"] {
        let made = server.ledger().complete.count;
        let _ = std::fs::remove_dir_all(place.path("out"));
        let mut running = place.start(words(&nats, 2, &["get", &url, "-R", "20", "-d", seconds]));
        wait_for_intervals(&place, &agents, 2);
        nats.kill();
        running.wait_for_message("the connection to NATS is lost");
        std::thread::sleep(Duration::from_secs(36));
        nats.start_again();
        let ended = running.end_within(LONG);
        let report = Report::read(&ended);
        ended.expect(0);
        assert_eq!((report.violations(), report.text("/result/word")), (0, "pass"), "{}", report.at("/result"));
        let all = server.ledger().complete.count - made;
        assert_eq!(report.number("/operations/ok"), all);
        assert_eq!(all, 20 * seconds.trim_end_matches('s').parse::<u64>().unwrap());
        for (number, agent) in (1..).zip(&mut agents) {
            let run = agent.runs().pop().unwrap();
            assert_eq!(end_of(&run).unwrap()["reason"]["kind"], "completed");
            assert_eq!(intervals(&received(&place, number, agent)), intervals(&run), "a record is missing");
            agent.process.wait_for_message(": done");
        }
    }
}

#[test]
fn a_run_is_collected_after_its_coordinator_was_killed() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let mut agents = start_agents(&place, &nats, 3);
    let running = place.start(words(&nats, 2, &["get", &url, "-R", "100", "-d", "10s"]));
    wait_for_intervals(&place, &agents[..2], 2);
    running.signal("KILL");
    let _ = running.end();
    let run = name_of_run(&agents[0].runs().pop().expect("the agent made a run"));
    // The agents finish their parts, which takes less than a lease, and then wait until the lease ends.
    let bus = nats.url();
    let collect = ["fleet", "collect", &run, "--fleet", &bus, "--out", "collected"];
    let collecting = place.start(collect);
    let ended = collecting.end_within(LONG);
    assert!(ended.expect(0).stderr.contains("waiting: no agent has "), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("PASS"), "{}", ended.stdout);
    let report = Report::read(place.run(["report", "collected", "--json"]).expect(0));
    assert_eq!((report.violations(), report.text("/result/word")), (0, "pass"), "{}", report.at("/result"));
    assert_eq!((report.number("/operations/ok"), server.ledger().complete.count), (1000, 1000));
    assert_eq!(ok_of_agents(&report), [500, 500]);
    let names: Vec<&str> = report.list("/fleet/agents").iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names, [agents[0].name.as_str(), agents[1].name.as_str()]);
    agents[0].process.wait_for_message("a coordinator has collected an earlier run");
    // Without the agent of a part, only the rest can be collected.
    agents.remove(1).process.signal("KILL");
    let mut missing: Vec<&str> = collect.into_iter().take(6).chain(["other", "--wait", "1ms"]).collect();
    let refused = place.run(&missing);
    expect_refusal("missing part", &refused, 4, &["no agent has part 2 of 2", "--partial"]);
    missing.push("--partial");
    place.run(&missing).expect(0);
    let report = Report::read(place.run(["report", "other", "--json"]).expect(0));
    assert_eq!((report.text("/result/word"), report.number("/operations/ok")), ("partial", 500));
    let unknown = place.run(["fleet", "collect", "1-a", "--fleet", &bus, "--out", "third", "--wait", "1ms"]);
    expect_refusal("unknown run", &unknown, 4, &["no agent has a part of it", "check the name of the run"]);
    assert!(!place.path("third").exists());
}

#[test]
fn a_second_coordinator_is_refused_and_does_not_disturb_the_first() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let agents = start_agents(&place, &nats, 2);
    let running = place.start(words(&nats, 2, &["get", &url, "-n", "200", "-R", "40", "-d", "60s"]));
    wait_for_intervals(&place, &agents, 1);
    let mut second = words(&nats, 2, &["get", &url, "-d", "1s", "--agents-wait", "1s"]);
    if let Some(out) = second.last_mut() {
        *out = "second".to_owned();
    }
    let refused = place.run(second);
    let message = "only 0 of 2 agents were free within 1 s, and 2 were busy with other runs";
    expect_refusal("second coordinator", &refused, 4, &[message]);
    let ended = running.end();
    let report = Report::read(&ended);
    ended.expect(0);
    assert_eq!((report.text("/result/word"), server.ledger().complete.count), ("pass", 200));
}

#[test]
fn agents_stop_when_their_coordinator_is_interrupted_twice_and_take_part_in_the_next_run() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let mut agents = start_agents(&place, &nats, 2);
    let running = place.start(words(&nats, 2, &["get", &url, "-c", "2", "-d", "300s"]));
    wait_for_intervals(&place, &agents, 1);
    running.signal_until_over("INT").expect(130);
    for agent in &mut agents {
        agent.process.wait_for_message("run ");
        assert_eq!(end_of(&agent.runs()[0]).unwrap()["reason"]["kind"], "interrupted");
    }
    let _ = std::fs::remove_dir_all(place.path("out"));
    let ended = place.run(words(&nats, 2, &["get", &url, "-c", "2", "-n", "100"]));
    assert_eq!(Report::read(ended.expect(0)).number("/operations/ok"), 100);
}

#[test]
fn agents_stop_after_the_lease_of_a_killed_coordinator_and_wait_for_the_next_run() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let mut agents = start_agents(&place, &nats, 1);
    let running = place.start(words(&nats, 1, &["get", &url, "-R", "20", "-d", "300s"]));
    wait_for_intervals(&place, &agents, 1);
    running.signal("KILL");
    let _ = running.end();
    agents[0].process.wait_for_message("the coordinator was silent for too long, so the load was stopped");
    assert_eq!(end_of(&agents[0].runs()[0]).unwrap()["reason"]["kind"], "interrupted");
    let _ = std::fs::remove_dir_all(place.path("out"));
    let ended = place.run(words(&nats, 1, &["get", &url, "-c", "1", "-n", "50"]));
    assert_eq!(Report::read(ended.expect(0)).number("/operations/ok"), 50);
}

#[test]
fn a_plan_that_breaks_the_policy_of_an_agent_is_refused() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let port = server.addresses()[0].port();
    let policy =
        place.write("policy.yaml", format!("targets: ['127.0.0.1:{port}']\nrate: 100\nduration: 5s\nverbs: [get]\n"));
    let policy = policy.display().to_string();
    let mut agent = Agent::start(&place, 0, &["--fleet", &nats.url(), "--policy", &policy]);
    for (command, message) in [
        (vec!["get", &url, "-R", "101", "-d", "1s"], "101 operations per second (allowed: up to 100/s)"),
        (vec!["get", &url, "-R", "10", "-d", "6s"], "a duration of 6s (allowed: up to 5s)"),
        (vec!["get", "http://127.0.0.1:1/", "-R", "10", "-d", "1s"], "the target 127.0.0.1:1 (allowed: 127.0.0.1:"),
        (vec!["put", &url, "--count", "1", "--size", "1KiB"], "`put` (allowed: get)"),
    ] {
        let ended = place.run(words(&nats, 1, &command));
        let message = format!("the policy of this agent does not allow {message}");
        expect_refusal("policy", &ended, 4, &["was lost before the start", &message]);
        agent.process.wait_for_message(&message);
    }
    assert_eq!(server.ledger().connections_accepted, 0);
    let ended = place.run(words(&nats, 1, &["get", &url, "-R", "100", "-d", "1s"]));
    assert_eq!(Report::read(ended.expect(0)).number("/operations/ok"), 100);
}

#[test]
fn a_plan_that_is_sent_again_makes_no_load() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let mut agents = start_agents(&place, &nats, 1);
    let run = |count: &str| {
        let _ = std::fs::remove_dir_all(place.path("out"));
        place.run(words(&nats, 1, &["get", &url, "-c", "1", "-n", count])).expect(0);
    };
    let recorder = Recorder::start(&nats.url());
    run("40");
    let first = recorder.finish();
    assert!(!first.is_empty());
    let recorder = Recorder::start(&nats.url());
    run("30");
    let second = recorder.finish();
    assert!(!second.is_empty());
    // The agent ignores messages of its last run. It joins an earlier one, but refuses it, because the messages come faster
    // than it prepares the load, or else because the start is over.
    send_again(&nats.url(), &second);
    send_again(&nats.url(), &first);
    agents[0].process.wait_for_message(": this agent ");
    run("20");
    assert_eq!(server.ledger().complete.count, 90);
    assert_eq!(agents[0].runs().len(), 3);
}

#[test]
fn mistakes_are_reported_in_one_line() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let bad_policy = place.write("bad.yaml", "rate: fast\n").display().to_string();
    for (command, code, words) in [
        (vec!["get", "http://h/", "--fleet", "nats://me:CANARY@h:1", "--agents", "1"], 2, "--fleet-creds FILE"),
        (vec!["agent", "--fleet", "nats://me:CANARY@h:1"], 2, "--fleet-creds FILE"),
        (vec!["get", "http://h/", "--fleet", "http://h:1", "--agents", "1"], 2, "nats://HOST:PORT"),
        (vec!["get", "http://h/", "--fleet", "nats://h:1"], 2, "add --agents N"),
        (vec!["get", "http://h/", "--fleet", "nats://h:1", "--agents", "1025"], 2, "at most 1024 agents"),
        (vec!["get", "http://h/", "--agents", "1"], 2, "--fleet"),
        (
            vec!["prepare", "s3://b/a", "--count", "1", "--size", "1KiB", "--fleet", "nats://h:1", "--agents", "1"],
            2,
            "--fleet works with get, put, mix, line, fill and run",
        ),
        (
            vec!["get", "http://h/", "--fleet", "nats://127.0.0.1:1", "--agents", "1"],
            4,
            "cannot connect to nats://127.0.0.1:1",
        ),
        (vec!["fleet", "collect", "a-b", "--out", "out"], 2, "name the hosts with --hosts, or the message bus"),
        (vec!["fleet", "collect", "A b", "--fleet", "nats://h:1", "--out", "out"], 2, "lower-case letters, digits"),
        (
            vec!["fleet", "collect", "a", "--fleet", "nats://127.0.0.1:1", "--out", "out"],
            4,
            "cannot connect to nats://127.0.0.1:1",
        ),
        (vec!["agent", "--fleet", "nats://127.0.0.1:1"], 4, "cannot connect to nats://127.0.0.1:1"),
        (vec!["agent", "--fleet", "nats://h:1", "--fleet-creds", "/no/such/file"], 2, "/no/such/file"),
        (vec!["agent", "--policy", &bad_policy], 2, "bad.yaml:1:7: `fast` is not a rate"),
    ] {
        let ended = place.run(&command);
        assert!(!ended.stderr.contains("CANARY"), "{}", ended.stderr);
        expect_refusal(&command.join(" "), &ended, code, &[words]);
    }
}

#[test]
fn a_bus_for_small_messages_and_a_bus_without_agents_are_refused() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "max_payload: 1024") else { return };
    let ended = place.run(words(&nats, 1, &["get", "http://h/", "-d", "1s"]));
    expect_refusal("small messages", &ended, 4, &["messages up to 1024 bytes", "max_payload"]);
    let other = TestDir::new();
    let Some(nats) = Nats::start(&other, "") else { return };
    let ended = other.run(words(&nats, 1, &["get", "http://h/", "-d", "1s", "--agents-wait", "1s"]));
    expect_refusal("no agents", &ended, 4, &["only 0 of 1 agents were free within 1 s", "plimsoll agent --fleet"]);
}

#[test]
fn tls_and_credentials_come_from_files() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let certificate = place.write("cert.pem", made.cert.pem()).display().to_string();
    let key = place.write("key.pem", made.signing_key.serialize_pem()).display().to_string();
    let tls = format!("tls {{ cert_file: \"{certificate}\", key_file: \"{key}\" }}");
    let Some(nats) = Nats::start(&place, &tls) else { return };
    let bus = nats.tls_url();
    let refused = place.run(["get", &url, "-d", "1s", "--fleet", &bus, "--agents", "1"]);
    expect_refusal("unknown certificate", &refused, 4, &["cannot connect to tls://localhost"]);
    let flags = ["--fleet", &bus, "--fleet-ca", &certificate];
    let agent = Agent::start(&place, 0, &[&flags[..], &["--once"]].concat());
    let command = ["get", &url, "-n", "20", "-c", "1", "--agents", "1", "--json", "--out", "out"];
    let ended = place.run([&command[..], &flags].concat());
    assert_eq!(Report::read(ended.expect(0)).number("/operations/ok"), 20);
    agent.process.end().expect(0);
    assert_eq!(server.ledger().complete.count, 20);
}
