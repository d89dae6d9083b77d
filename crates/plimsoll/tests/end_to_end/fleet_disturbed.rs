//! Runs of several hosts whose clocks are set, whose processes get no CPU time, or whose network is cut.

use crate::fleet::{TRIES, end_of, intervals, ok_of_agents, serve, words};
use crate::fleet_bus::{received, wait_for_intervals};
use crate::support::{
    Agent, Hosts, Namespaces, Nats, Node, Report, Running, TestDir, all_cores, clock_set_by, expect_refusal,
    shared_cores, signal, wait_for,
};
use std::thread;
use std::time::Duration;

#[test]
fn a_wall_clock_that_is_set_during_a_run_changes_nothing() {
    let _cores = all_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let file = place.write("clock", "+0s");
    let Some(clock) = clock_set_by(&file) else { return };
    let Some(hosts) = Hosts::start_with(&place, vec![Vec::new(), clock]) else { return };
    // Other processes may delay the start of a thread.
    let command = ["get", &url, "-R", "100", "-d", "9s", "--start-spread", "1m", "--json", "--out", "out"];
    let running = place.start(words(&command, &hosts.flags_with_program()));
    wait_for("second interval", || (intervals(&place.path("out/agents/2-b")) >= 2).then_some(()));
    place.write("clock", "+3600s");
    thread::sleep(Duration::from_secs(3));
    place.write("clock", "-3600s");
    let ended = running.end();
    let report = Report::read(&ended);
    ended.expect(0);
    assert_eq!((report.violations(), report.text("/result/word")), (0, "pass"), "{}", report.at("/result"));
    assert_eq!((ok_of_agents(&report), server.ledger().complete.count), (vec![450, 450], 900));
    assert_eq!(report.at("/operations/window_seconds").as_f64(), Some(9.0));
    for agent in report.list("/fleet/agents") {
        let number = |name: &str| agent[name].as_i64().unwrap_or_else(|| panic!("no {name}: {agent}"));
        assert!(number("clock_drift_nanos").abs() <= number("clock_drift_error_nanos"), "{agent}");
    }
}

#[test]
fn a_host_that_gets_no_cpu_time_is_named_as_the_limit() {
    let _cores = all_cores();
    let (_server, url) = serve();
    for _ in 0..TRIES {
        let place = TestDir::new();
        let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
        let objective = ["--objective", "response p99 <= 100ms", "--start-spread", "1m", "--json", "--out", "out"];
        let command = [&["get", &url, "-R", "200", "-d", "8s"][..], &objective].concat();
        let running = place.start(words(&command, &hosts.flags_with_program()));
        wait_for("second interval", || (intervals(&place.path("out/agents/2-b")) >= 2).then_some(()));
        let agent = hosts.hosts[1].agent().expect("the agent runs");
        signal(agent, "STOP");
        thread::sleep(Duration::from_secs(3));
        signal(agent, "CONT");
        let ended = running.end();
        let report = Report::read(&ended);
        assert_eq!((report.text("/result/word"), ended.code), ("unusable", Some(3)), "{}", report.at("/result"));
        let limit = |index: usize| report.text(&format!("/fleet/agents/{index}/limited_by")).to_owned();
        assert!(["client", "shared_host"].contains(&limit(1).as_str()), "{}", report.at("/fleet"));
        assert!(report.list("/fleet/agents").iter().all(|agent| agent["lost"].is_null()));
        if limit(0) == "shared_host" {
            eprintln!("other processes took the cores: {}", report.at("/fleet"));
            continue;
        }
        assert_eq!(limit(0), "rate", "{}", report.at("/fleet"));
        return;
    }
    panic!("other processes took the cores in every try");
}

#[test]
fn a_policy_in_a_forced_command_of_ssh_cannot_be_left_out() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0]) else { return };
    let policy = place.write("policy.yaml", "rate: 100\nduration: 5s\n");
    let program = env!("CARGO_BIN_EXE_plimsoll");
    let agent = format!("echo plimsoll agent; exec {program} agent --policy {}", policy.display());
    hosts.hosts[0].force_command(&agent);
    let make = |rate: &str| {
        let command = ["get", &url, "-R", rate, "-d", "1s", "--start-spread", "1m", "--json", "--out", "out"];
        place.run(words(&command, &hosts.flags_with_program()))
    };
    let refused = make("101");
    let message = "the policy of this agent does not allow 101 operations per second (allowed: up to 100/s)";
    expect_refusal("policy", &refused, 4, &["a was lost before the start", message]);
    assert_eq!(server.ledger().connections_accepted, 0);
    let _ = std::fs::remove_dir_all(place.path("out"));
    assert_eq!(Report::read(make("100").expect(0)).number("/operations/ok"), 100);
}

/// Two namespaces for agents, each with a server that only its agent uses, so that the load goes on while the network
/// between the namespaces is cut.
struct Islands {
    place: TestDir,
    namespaces: Namespaces,
    servers: Vec<Running>,
}

impl Islands {
    const URL: &str = "http://127.0.0.1:8080/blackhole/1KiB";

    fn new() -> Option<Self> {
        let (place, namespaces) = (TestDir::new(), Namespaces::new(2)?);
        let serve = |node: &Node| {
            let mut command = place.command(["serve", "--listen", "127.0.0.1:8080", "--stop-after", "300s"]);
            node.host(&mut command);
            let running = Running::of(command);
            running.wait_for_line("serving ");
            running
        };
        let servers = namespaces.clients.iter().map(serve).collect();
        Some(Self { place, namespaces, servers })
    }

    /// Starts a load of both agents with a rate of 20/s.
    fn start(&self, duration: &str, flags: &[String]) -> Running {
        let command = ["get", Self::URL, "-R", "20", "-d", duration, "--start-spread", "1m", "--json", "--out", "out"];
        let mut command = self.place.command(words(&command, flags));
        self.namespaces.parent.host(&mut command);
        Running::of(command)
    }

    fn agents(&self, nats: &Nats) -> Vec<Agent> {
        let agent = |(number, node): (usize, &Node)| {
            Agent::start_with(&self.place, number, &["--fleet", &nats.url()], |command| node.host(command))
        };
        let mut agents: Vec<Agent> = self.namespaces.clients.iter().enumerate().map(agent).collect();
        agents.sort_by(|a, b| a.name.cmp(&b.name));
        agents
    }

    fn stop(self) {
        self.servers.into_iter().for_each(|server| drop(server.stop()));
    }
}

/// Checks a run of 240 operations that is complete although the network was cut.
fn check_complete(report: &Report) {
    assert_eq!((report.violations(), report.text("/result/word")), (0, "pass"), "{}", report.at("/result"));
    assert_eq!(ok_of_agents(report), [120, 120]);
}

#[test]
fn a_short_cut_of_the_network_loses_nothing_over_ssh() {
    let _cores = shared_cores();
    let Some(islands) = Islands::new() else { return };
    let Some(hosts) = Hosts::start_in(&islands.place, &islands.namespaces.clients, &[0, 0]) else { return };
    let running = islands.start("12s", &hosts.flags_with_program());
    wait_for("interval", || (intervals(&islands.place.path("out/agents/1-client-1")) >= 2).then_some(()));
    islands.namespaces.cut_off(0);
    thread::sleep(Duration::from_secs(6));
    islands.namespaces.connect_again(0);
    check_complete(&Report::read(running.end().expect(0)));
    islands.stop();
}

#[test]
fn a_cut_of_the_network_of_a_bus_loses_nothing_if_it_is_short_and_else_the_agent_is_lost() {
    let _cores = shared_cores();
    let Some(islands) = Islands::new() else { return };
    let Some(nats) = Nats::start_in(&islands.place, &islands.namespaces.parent, 4222, "") else { return };
    let agents = islands.agents(&nats);
    let flags = ["--fleet", &nats.url(), "--agents", "2"].map(str::to_owned);
    let running = islands.start("12s", &flags);
    wait_for_intervals(&islands.place, &agents, 2);
    islands.namespaces.cut_off(0);
    thread::sleep(Duration::from_secs(6));
    islands.namespaces.connect_again(0);
    check_complete(&Report::read(running.end().expect(0)));
    for (number, agent) in (1..).zip(&agents) {
        assert_eq!(intervals(&received(&islands.place, number, agent)), intervals(&agent.runs()[0]));
    }

    std::fs::remove_dir_all(islands.place.path("out")).expect("the first run was saved");
    let running = islands.start("50s", &flags);
    wait_for_intervals(&islands.place, &agents, 2);
    islands.namespaces.cut_off(0);
    let ended = running.end_within(Duration::from_secs(120));
    islands.namespaces.connect_again(0);
    let report = Report::read(ended.expect_no_panic());
    assert_eq!(report.text("/result/word"), "partial", "{}", report.at("/result"));
    let lost = report.list("/fleet/agents").iter().filter(|agent| !agent["lost"].is_null()).count();
    assert_eq!(lost, 1, "{}", report.at("/fleet"));
    // The agent on the island has measured on until its lease ended, and its run is complete up to then.
    let own = |agent: &Agent| agent.runs().pop().expect("the run is kept");
    for agent in &agents {
        wait_for("end of the run", || end_of(&own(agent)));
    }
    let kept = agents.iter().map(|agent| intervals(&own(agent))).min();
    assert!(kept >= Some(20), "{kept:?}");
    islands.stop();
}
