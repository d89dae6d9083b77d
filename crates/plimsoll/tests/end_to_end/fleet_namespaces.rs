//! Runs of six agents in six network namespaces, against a redirecting cluster of six servers: over ssh, and over NATS
//! with one node and with three. The clocks of the agents are wrong. The sum of the agents is what the servers count.

use crate::fleet::{intervals, ok_of_agents, started_unix_ms};
use crate::fleet_bus::{received, wait_for_intervals};
use crate::support::{
    Agent, Ended, Host, Hosts, Namespaces, Nats, Report, Running, TestDir, all_cores, clock_shifted_by, skip, wait_for,
};
use std::path::PathBuf;

/// Number of agents, and of servers.
const COUNT: usize = 6;
/// Errors of the wall clocks of the agents, in seconds.
const SHIFTS: [i64; COUNT] = [5, -3, 1, 0, 5, -3];
/// Length of the list of objects.
const OBJECTS: &str = "300";
/// The load of all agents together.
const LOAD: [&str; 4] = ["-R", "300", "-d", "3s"];
/// Number of operations of the load.
const OFFERED: u64 = 900;
/// Maximum number of runs until one is not disturbed by other processes.
const TRIES: usize = 5;
/// Maximum time between the first and the last start.
const SPREAD_MAX_NANOS: u64 = 5_000_000;

/// The namespaces of a test, and the objects of its cluster.
struct Site {
    place: TestDir,
    namespaces: Namespaces,
    /// For each server, the URL of an object that it owns.
    owned: Vec<String>,
}

/// The counts of a server.
struct Ledger {
    responses: u64,
    redirects: u64,
    body_bytes: u64,
}

/// A run of the agents.
struct Made {
    ended: Ended,
    report: Report,
    ledgers: Vec<Ledger>,
}

impl Site {
    /// Makes the namespaces, and finds the owners of the objects. Returns `None` to skip the test.
    fn new() -> Option<Self> {
        let namespaces = Namespaces::new(u8::try_from(COUNT).expect("a small number"))?;
        let mut site = Self { place: TestDir::new(), namespaces, owned: Vec::new() };
        let cluster = site.cluster();
        let bucket = format!("http://{}:8080/blackhole", site.namespaces.servers.address);
        site.start(&["owners", &bucket, "--names", "names", "--out", "owners"].map(str::to_owned)).end().expect(0);
        cluster.stop();
        let lists = std::fs::read_dir(site.place.path("owners")).expect("the lists are there").flatten();
        let mut lists: Vec<PathBuf> = lists.map(|entry| entry.path()).collect();
        lists.retain(|path| path.extension().is_some_and(|extension| extension == "urls"));
        lists.sort();
        let first = |path: &PathBuf| std::fs::read_to_string(path).ok()?.lines().next().map(str::to_owned);
        site.owned = lists.iter().filter_map(first).collect();
        assert_eq!(site.owned.len(), COUNT);
        Some(site)
    }

    /// Starts the cluster. Its addresses are the same each time, and so are the owners of the objects.
    fn cluster(&self) -> Running {
        let (node, count) = (&self.namespaces.servers, COUNT.to_string());
        let listen = format!("{}:8080", node.address);
        let lists = ["--list", OBJECTS, "--list-size", "3000B", "--urls", "all", "--names", "names"];
        let words = ["serve", "--listen", &listen, "--cluster", &count, "--stop-after", "120s"];
        let mut command = self.place.command(words.iter().chain(&lists));
        node.host(&mut command);
        let running = Running::of(command);
        running.wait_for_line("server 5: serving ");
        wait_for("list", || std::fs::read_to_string(self.place.path("names")).ok().filter(|text| text.ends_with('\n')));
        running
    }

    /// Starts the program in the namespace from which all agents can be reached.
    fn start(&self, words: &[String]) -> Running {
        let mut command = self.place.command(words);
        self.namespaces.parent.host(&mut command);
        Running::of(command)
    }

    /// Returns the words of the load. Paired agents read one object of their server. Otherwise all agents read all
    /// objects through one server, which redirects them.
    fn words(&self, is_paired: bool, flags: &[String]) -> Vec<String> {
        let target = match is_paired {
            true => self.owned.iter().cloned().chain(["--pair".to_owned(), "--scaling".to_owned()]).collect(),
            // Agents look for relative paths in the home directory.
            false => vec!["--url-file".to_owned(), self.place.path("all").display().to_string()],
        };
        let words = ["get"].iter().chain(&LOAD).chain(&["--json", "--out", "out"]).map(|word| (*word).to_owned());
        words.chain(target).chain(flags.iter().cloned()).collect()
    }

    /// Makes runs until one is not disturbed by other processes, and checks that all runs add up. Calls `during` while
    /// the coordinator runs. Returns whether there was an undisturbed run. If not, the test is skipped.
    fn run(&self, is_paired: bool, flags: &[String], mut during: impl FnMut()) -> bool {
        let mut is_unusable = false;
        for _ in 0..TRIES {
            let _ = std::fs::remove_dir_all(self.place.path("out"));
            let cluster = self.cluster();
            let running = self.start(&self.words(is_paired, flags));
            during();
            let ended = running.end();
            let report = Report::read(&ended);
            ended.expect_no_panic();
            let made = Made { report, ended, ledgers: ledgers(&cluster.stop()) };
            made.check_sums();
            match is_paired {
                true => made.check_pairs(),
                false => made.check_redirects(),
            }
            let (word, result) = (made.report.text("/result/word"), made.report.at("/result"));
            if made.report.number("/fleet/start_spread_nanos") > SPREAD_MAX_NANOS {
                assert_eq!(word, "partial", "{result}");
            } else if made.ended.code == Some(3) {
                assert_eq!(word, "unusable", "{result}");
                is_unusable = true;
            } else {
                assert_eq!((word, made.ended.code), ("pass", Some(0)), "{result}");
                self.check_table(&made.report);
                return true;
            }
        }
        assert!(is_unusable, "the starts were too far apart in every run");
        skip("others took the cores in every run");
        false
    }

    /// Checks that the text report has a row for each agent, and the scaling if it was measured.
    fn check_table(&self, report: &Report) {
        let text = self.place.run(["report", "out", "--full"]).expect(0).stdout.clone();
        let table = text.split("\nAgents\n").nth(1).unwrap_or_else(|| panic!("no agents in {text}"));
        for agent in report.list("/fleet/agents") {
            let row = format!("{} ", agent["name"].as_str().expect("an agent has a name"));
            let row = table.lines().find(|line| line.trim_start().starts_with(&row));
            let ok = agent["ok"].to_string();
            assert!(row.is_some_and(|row| row.split_whitespace().nth(1) == Some(&ok)), "{agent}: {table}");
        }
        let shown = table.lines().find_map(|line| line.trim_start().strip_prefix("scaling "));
        let measured = report.at("/fleet/scaling").as_f64();
        let is_equal = |(factor, shown): (f64, &str)| shown.trim_start().starts_with(&format!("{factor:.2}: "));
        assert_eq!(measured.zip(shown).map(is_equal), measured.map(|_| true), "{table}");
        // The target sustains the rate.
        assert!(measured.is_none_or(|factor| (0.95..1.05).contains(&factor)), "{measured:?}");
    }
}

impl Made {
    /// Checks the sums of the agents.
    fn check_sums(&self) {
        let report = &self.report;
        assert_eq!(report.violations(), 0);
        let (ok, dropped) = (report.number("/operations/ok"), report.number("/operations/dropped"));
        assert_eq!(
            (ok + dropped, report.number("/operations/offered")),
            (OFFERED, OFFERED),
            "{}",
            report.at("/failures")
        );
        assert_eq!((ok_of_agents(report).len(), ok_of_agents(report).iter().sum::<u64>()), (COUNT, ok));
        // With --scaling, the servers also count the load of the first agent alone.
        let alone =
            |name: &str| report.0.pointer(&format!("/fleet/alone/{name}")).map_or(0, |value| value.as_u64().unwrap());
        let sum = |of: fn(&Ledger) -> u64| self.ledgers.iter().map(of).sum::<u64>();
        assert_eq!(report.number("/operations/attempts") + alone("ok"), sum(|ledger| ledger.responses));
        assert_eq!(report.bytes("body_bytes") + alone("body_bytes"), sum(|ledger| ledger.body_bytes));
        assert_eq!(report.number("/operations/hops"), sum(|ledger| ledger.redirects));
    }

    /// Checks that all objects were requested from the first server, and read from their owners.
    fn check_redirects(&self) {
        let entry = &self.ledgers[0];
        assert_eq!(entry.responses, self.report.number("/operations/ok"));
        assert!(entry.redirects > OFFERED / 2, "{}", entry.redirects);
        assert!(self.ledgers.iter().all(|ledger| ledger.body_bytes > 0), "a server was never used");
    }

    /// Checks that each server was used only by its agent.
    fn check_pairs(&self) {
        let mut expected = ok_of_agents(&self.report);
        expected[0] += self.report.at("/fleet/alone")["ok"].as_u64().expect("the first agent was measured alone");
        assert_eq!(self.ledgers.iter().map(|ledger| ledger.responses).collect::<Vec<_>>(), expected);
        assert!(self.ledgers.iter().all(|ledger| ledger.redirects == 0), "a paired agent was redirected");
    }
}

/// Parses the ledgers of the servers, without the sum that follows them.
fn ledgers(stdout: &str) -> Vec<Ledger> {
    let (servers, _) = stdout.split_once("\nall servers\n").expect("the servers have a sum");
    let read = |text: &str| {
        let rest = |name| text.lines().find_map(|line| line.strip_prefix(name)).expect("a ledger has this line").trim();
        let first =
            |name| rest(name).split(' ').next().and_then(|word| word.parse().ok()).expect("the line has a count");
        assert!(rest("responses").ends_with(" complete, 0 aborted"), "{text}");
        let redirects = rest("status").split(", ").find_map(|count| count.strip_prefix("307 × "));
        let redirects = redirects.map_or(0, |count| count.parse().expect("a count is a number"));
        Ledger { responses: first("responses"), redirects, body_bytes: first("body bytes") }
    };
    let ledgers: Vec<Ledger> = servers.split("\n\nserver ").skip(1).map(read).collect();
    assert_eq!(ledgers.len(), COUNT, "{stdout}");
    ledgers
}

/// Checks that runs with these directories started within the limit, after the shifts of the clocks are subtracted.
fn check_starts(runs: impl Iterator<Item = (PathBuf, i64)>) {
    let starts: Vec<i64> = runs.map(|(run, shift)| started_unix_ms(&run) - 1000 * shift).collect();
    let (first, last) = (starts.iter().min().expect("there are runs"), starts.iter().max().expect("there are runs"));
    assert!(starts.len() == COUNT && last - first <= 5, "{starts:?}");
}

#[test]
fn hosts_in_their_own_networks_follow_redirects_and_their_sum_is_what_six_servers_count() {
    let _cores = all_cores();
    let Some(site) = Site::new() else { return };
    let Some(hosts) = Hosts::start_in(&site.place, &site.namespaces.clients, &SHIFTS) else { return };
    if site.run(false, &hosts.flags_with_program(), || ()) {
        let last = |host: &Host| host.runs().into_iter().max().expect("each host keeps its runs");
        check_starts(hosts.hosts.iter().map(last).zip(SHIFTS));
    }
}

#[test]
fn paired_hosts_in_their_own_networks_read_only_the_objects_of_their_server() {
    let _cores = all_cores();
    let Some(site) = Site::new() else { return };
    let Some(hosts) = Hosts::start_in(&site.place, &site.namespaces.clients, &SHIFTS) else { return };
    site.run(true, &hosts.flags_with_program(), || ());
}

/// Starts an agent in each namespace. The agents are sorted by their names, because a run numbers them in this order.
/// Returns them with the shifts of their clocks, or `None` to skip the test.
fn start_agents(site: &Site, url: &str) -> Option<(Vec<Agent>, Vec<i64>)> {
    let mut agents = Vec::new();
    for (number, (node, shift)) in site.namespaces.clients.iter().zip(SHIFTS).enumerate() {
        let clock = clock_shifted_by(shift)?;
        let agent = Agent::start_with(&site.place, number, &["--fleet", url], |command| {
            node.host(command.envs(clock));
        });
        agents.push((agent, shift));
    }
    agents.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    Some(agents.into_iter().unzip())
}

/// Returns the flags of a run with these agents.
fn flags(url: &str) -> Vec<String> {
    ["--fleet", url, "--agents", &COUNT.to_string()].map(str::to_owned).into()
}

#[test]
fn agents_in_their_own_networks_wait_on_a_bus_and_their_sum_is_what_six_servers_count() {
    let _cores = all_cores();
    let Some(site) = Site::new() else { return };
    let Some(nats) = Nats::start_in(&site.place, &site.namespaces.parent, 4222, "") else { return };
    let Some((agents, shifts)) = start_agents(&site, &nats.url()) else { return };
    if site.run(false, &flags(&nats.url()), || ()) {
        check_starts(agents.iter().map(last_run).zip(shifts));
        site.run(true, &flags(&nats.url()), || ());
    }
}

fn last_run(agent: &Agent) -> PathBuf {
    agent.runs().pop().expect("each agent keeps its runs")
}

/// Starts three nodes of NATS, which form a cluster. Returns `None` to skip the test.
fn start_nodes(site: &Site) -> Option<Vec<Nats>> {
    let parent = &site.namespaces.parent;
    let routes = [6222, 6223, 6224].map(|port| format!("\"nats-route://{}:{port}\"", parent.address)).join(", ");
    let start = |number: u16| {
        let listen = format!("listen: \"{}:{}\"", parent.address, 6222 + number);
        let cluster = format!("server_name: n{number}\ncluster {{ name: bus, {listen}, routes: [{routes}] }}");
        Nats::start_in(&site.place, parent, 4222 + number, &cluster)
    };
    (0..3).map(start).collect()
}

#[test]
fn a_cluster_of_three_nodes_is_a_bus_that_survives_the_loss_of_a_node() {
    let _cores = all_cores();
    let Some(site) = Site::new() else { return };
    let Some(mut nodes) = start_nodes(&site) else { return };
    let url = nodes.iter().map(Nats::url).collect::<Vec<_>>().join(",");
    let Some((agents, _)) = start_agents(&site, &url) else { return };
    if !site.run(true, &flags(&url), || ()) {
        return;
    }
    let mut killed: Option<usize> = None;
    let kill_one = || {
        if let Some(index) = killed.take() {
            nodes[index].start_again();
        }
        wait_for_intervals(&site.place, &agents, 1);
        // Clients choose a node at random, so kill the node with most of them.
        let index = (0..nodes.len()).max_by_key(|index| nodes[*index].clients()).expect("there are nodes");
        nodes[index].kill();
        killed = Some(index);
    };
    if !site.run(false, &flags(&url), kill_one) {
        return;
    }
    for (number, agent) in (1..).zip(&agents) {
        let sent = intervals(&last_run(agent));
        assert_eq!(intervals(&received(&site.place, number, agent)), sent, "a record is missing");
    }
    let stop = |agent: Agent| {
        agent.process.signal("TERM");
        agent.process.end().stderr
    };
    let lost = agents.into_iter().map(stop).filter(|stderr| stderr.contains("the connection to NATS is lost"));
    assert!(lost.count() > 0, "no agent was connected to the node that was killed");
}
