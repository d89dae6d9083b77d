//! Fills of several hosts, with real sshds and a real nats-server, against the embedded S3 server. Agents and coordinators
//! are killed. Afterwards, the store must have the right bytes of every object and nothing else, and the report must be the
//! sum of the journals.

use crate::fill::{self, json, make_bucket, open_uploads};
use crate::fleet_bus::start_agents;
use crate::s3::serve;
use crate::support::fill_oracle::{Journal, compare_objects, objects_of_embedded};
use crate::support::versitygw::run;
use crate::support::{Agent, Ended, Hosts, Nats, TestDir, expect_refusal, shared_cores, signal, wait_for};
use content::{Dataset, Description};
use measure::values::random::mix;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::SavedFill;
use store::fill_directory::{FillDirectory, Share};

/// Time limit for a fill that waits until a lost agent was silent for 30 seconds.
const LONG: Duration = Duration::from_secs(120);
/// Number of starts of the command, after the kills, in which the fill must succeed.
const STARTS_MAX: u32 = 3;

/// Returns the words of a fill with these flags.
fn words(endpoint: &str, flags: &[String], more: &[&str]) -> Vec<String> {
    let usual = ["fill", "s3://bucket/f", "--endpoint", endpoint, "--out", "out", "--json"];
    usual.iter().chain(more).map(|word| (*word).to_owned()).chain(flags.iter().cloned()).collect()
}

/// Returns the flags that make a fill on agents of the bus.
fn on_bus(nats: &Nats, agents: usize) -> Vec<String> {
    ["--fleet", &nats.url(), "--agents", &agents.to_string()].map(str::to_owned).into()
}

/// Returns the directories of the shares on all hosts, in order of the shares.
fn shares(fills: &[PathBuf]) -> Vec<(Share, PathBuf)> {
    let entries = fills.iter().filter_map(|fill| std::fs::read_dir(fill).ok()).flatten().flatten();
    let fills = entries.map(|entry| entry.path()).filter(|path| SavedFill::is_in(path));
    let share = |path: PathBuf| (FillDirectory::read_identity(&path).unwrap().0.share.expect("a share"), path);
    let mut shares: Vec<(Share, PathBuf)> = fills.map(share).collect();
    shares.sort_by_key(|(share, _)| share.index);
    shares
}

/// Checks the journals of all shares, the report and the store. Returns the sum of all attempts.
#[track_caller]
pub fn check(report: &Value, fills: &[PathBuf], store: &Path) -> u64 {
    let shares = shares(fills);
    let description: Description =
        serde_json::from_value(FillDirectory::read_identity(&shares[0].1).unwrap().0.dataset).unwrap();
    let dataset = Dataset::new(description);
    let (mut acked, mut found, mut attempts, mut sent) = (std::collections::BTreeMap::new(), 0, 0, 0);
    for (number, (share, directory)) in shares.iter().enumerate() {
        assert_eq!((share.index as usize, share.of as usize), (number, shares.len()), "each share is on one host");
        let journal = Journal::read(directory).unwrap();
        for (own, size) in journal.acked {
            // Object n of a share is object n × of + index of the dataset.
            let number = own * u64::from(share.of) + u64::from(share.index);
            assert_eq!(dataset.size(number).map(|size| size.0), Some(size));
            assert!(acked.insert(number, size).is_none(), "object {number} belongs to two shares");
        }
        (found, attempts, sent) = (found + journal.found, attempts + journal.attempts, sent + journal.sent_bytes);
    }
    let stored = acked.values().sum::<u64>();
    for (name, expected) in [
        ("objects", dataset.count()),
        ("stored", dataset.count()),
        ("stored", acked.len() as u64),
        ("stored_bytes", stored),
        ("object_bytes", stored),
        ("found_on_resume", found),
        ("attempts", attempts),
        ("sent_bytes", sent),
        ("failed", 0),
    ] {
        assert_eq!(report[name], expected, "{name}: {report:#}");
    }
    let agents = report["fleet"]["agents"].as_array().unwrap();
    let sum = |name: &str| agents.iter().map(|agent| agent["fill"][name].as_u64().unwrap()).sum::<u64>();
    for name in ["objects", "stored", "stored_bytes", "attempts", "sent_bytes", "found_on_resume"] {
        assert_eq!(report[name], sum(name), "{name} is not the sum of the agents: {report:#}");
    }
    compare_objects(&objects_of_embedded(store, "f/").unwrap(), &dataset).unwrap();
    attempts
}

/// Returns the number of completed requests of this operation in a server's ledger.
pub fn completed(ledger: &str, operation: &str) -> u64 {
    let line = ledger.lines().find(|line| line.starts_with(&format!("{operation} ")) && line.contains(" 200 "));
    let line = line.unwrap_or_else(|| panic!("no {operation} in {ledger}"));
    line.split_whitespace().nth(2).unwrap().parse().unwrap()
}

/// Returns the number of objects that all journals record as stored.
pub fn stored(fills: &[PathBuf]) -> u64 {
    shares(fills).iter().map(|(_, share)| fill::stored(share)).sum()
}

fn fills_of(hosts: &Hosts) -> Vec<PathBuf> {
    hosts.hosts.iter().map(|host| host.fill("out")).collect()
}

fn fills_of_agents(agents: &[Agent]) -> Vec<PathBuf> {
    agents.iter().map(|agent| agent.fill("out")).collect()
}

#[test]
fn each_object_is_uploaded_by_one_host_and_the_report_is_the_sum() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0, 0]) else { return };
    let (server, endpoint) = serve(&place, &["--store", "store"]);
    make_bucket(&place, &endpoint);
    let dataset = ["--count", "100", "--size", "1KiB..8KiB", "-c", "6"];
    let flags = hosts.flags_with_program();
    let ended = place.run(words(&endpoint, &flags, &[&dataset[..], &["--verify"]].concat()));
    let report = json(ended.expect(0));
    assert_eq!((&report["result"], &report["verified"]["good"]), (&"pass".into(), &100.into()), "{report:#}");
    assert_eq!(check(&report, &fills_of(&hosts), &place.path("store")), 100);
    let agents = report["fleet"]["agents"].as_array().unwrap();
    let of_agents: Vec<_> = agents.iter().map(|agent| agent["fill"]["stored"].as_u64().unwrap()).collect();
    assert_eq!(of_agents, [34, 33, 33]);
    let times = |json: &Value| json["upload_times"]["uploads"].as_u64().unwrap();
    assert_eq!((times(&report["fleet"]), agents.iter().map(times).sum::<u64>()), (100, 100));
    assert_eq!(open_uploads(&place, &endpoint), 0);

    // The coordinator's directory is only a copy. Without it, and with the hosts in another order, nothing is sent again.
    std::fs::remove_dir_all(place.path("out")).unwrap();
    let reversed: Vec<String> = flags.iter().map(|flag| flag.replace("a,b,c", "c,b,a")).collect();
    let again = json(place.run(words(&endpoint, &reversed, &dataset)).expect(0));
    assert_eq!((&again["stored"], &again["sent_bytes"]), (&100.into(), &report["sent_bytes"]), "{again:#}");
    assert_eq!((&again["fleet"]["agents"][0]["name"], &again["fleet"]["agents"][0]["share"]), (&"c".into(), &3.into()));
    let shown = place.run(["report", "out", "--prices", "s3-standard"]);
    let text = &shown.expect(0).stdout;
    for part in ["PASS · 100 objects stored · ", "Agents\n", "33 of 33", "Amazon S3 Standard", "p50 "] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(json(place.run(["report", "out", "--json"]).expect(0)), again);
    expect_refusal("page", &place.run(["report", "out", "--html"]), 2, &["text or --json"]);
    place.run(["report", "out", "--junit", "out.xml", "--summary", "out.md"]).expect(0);
    let junit = std::fs::read_to_string(place.path("out.xml")).expect("a JUnit file");
    assert!(
        junit.contains("tests=\"1\" failures=\"0\"") && junit.contains("<testcase name=\"fill\" classname=\"out\""),
        "{junit}"
    );
    let summary = std::fs::read_to_string(place.path("out.md")).expect("a summary");
    assert!(summary.contains("PASS · 100 objects stored"), "{summary}");

    let fewer: Vec<String> = flags.iter().map(|flag| flag.replace("a,b,c", "a,b")).collect();
    let refused = place.run(words(&endpoint, &fewer, &dataset));
    expect_refusal("fewer hosts", &refused, 2, &["the hosts have this fill in 3 shares, so it needs 3 hosts"]);
    let other = place.run(words(&endpoint, &flags, &[&dataset[..], &["--prefix", "x-"]].concat()));
    assert!(other.code == Some(4) && other.stderr.contains("other settings (dataset names"), "{other:?}");
    let one = run(&place, &endpoint, &[&["fill", "s3://bucket/f", "--out", "out"][..], &dataset].concat());
    expect_refusal("one host", &one, 2, &["the directory is not empty"]);

    let deleted =
        json(place.run(words(&endpoint, &flags, &[&dataset[..], &["--no-upload", "--delete"]].concat())).expect(0));
    assert_eq!((&deleted["deleted"], &deleted["result"]), (&100.into(), &"pass".into()), "{deleted:#}");
    let ledger = server.stop();
    // `make_bucket` has stored an object and the record of its dataset.
    assert_eq!(completed(&ledger, "PutObject"), 102, "{ledger}");
}

#[test]
fn stop_rules_and_the_limit_on_spending_are_about_the_sum() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let (server, endpoint) = serve(&place, &["--store", "store", "--delay", "40ms"]);
    make_bucket(&place, &endpoint);
    let flags = hosts.flags_with_program();
    let dataset = ["--count", "1200", "--size", "1KiB", "-c", "4"];
    let fill = |more: &[&str]| place.run(words(&endpoint, &flags, &[&dataset[..], more].concat()));
    let ended = fill(&["--stop-when", "files >= 100", "--verify"]);
    let report = json(ended.expect(0));
    let stored = report["stored"].as_u64().unwrap();
    assert!((100..1200).contains(&stored), "{report:#}");
    assert_eq!(report["fleet"]["end"], "stopped: files >= 100");
    assert_eq!((&report["result"], &report["verified"]["good"]), (&"pass".into(), &stored.into()), "{report:#}");
    assert!(ended.stderr.contains("the stop rule `files >= 100` holds; waiting for uploads in flight"), "{ended:?}");
    let again = fill(&["--stop-when", "files >= 100"]);
    assert_eq!(json(again.expect(0))["stored"], stored, "nothing more is uploaded");
    assert!(again.stderr.contains("nothing is uploaded: the stop rule `files >= 100` holds"), "{again:?}");
    // Uploads cost 0.000005 USD each, so these have been paid for already.
    let paid = fill(&["--prices", "s3-standard", "--cap", "0.0001USD"]);
    assert_eq!(json(paid.expect(0))["stored"], stored);
    let slow = fill(&["--stop-when", "trailing 2s bandwidth < 50Mbit/s", "--junit", "slow.xml"]);
    let report = json(slow.expect(1));
    assert!(slow.stderr.contains("plimsoll: FAIL: the fill was stopped"), "{slow:?}");
    let junit = std::fs::read_to_string(place.path("slow.xml")).expect("a JUnit file");
    assert!(junit.contains("failures=\"1\""), "{junit}");
    assert_eq!(report["result"], "fail", "{report:#}");
    assert!(report["reasons"][0].as_str().unwrap().contains("trailing 2s bandwidth < 50Mbit/s"), "{report:#}");
    let report = json(fill(&["--verify"]).expect(0));
    assert_eq!(report["verified"]["good"], 1200, "{report:#}");
    check(&report, &fills_of(&hosts), &place.path("store"));
    server.stop();
}

#[test]
fn a_lost_agent_makes_the_fill_partial_and_the_same_command_finishes_it() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let (server, endpoint) = serve(&place, &["--store", "store", "--delay", "40ms"]);
    make_bucket(&place, &endpoint);
    let (flags, fills) = (hosts.flags_with_program(), fills_of(&hosts));
    let dataset = ["--count", "800", "--size", "1KiB", "-c", "4"];
    let mut running = place.start(words(&endpoint, &flags, &dataset));
    wait_for("stored objects", || (stored(&fills) >= 240).then_some(()));
    signal(hosts.hosts[1].agent().expect("the agent runs"), "KILL");
    running.wait_for_message("b is lost, and the other agents go on");
    let ended = running.end();
    let report = json(ended.expect(0));
    assert_eq!(report["result"], "partial", "{report:#}");
    assert_eq!(report["reasons"][0], "lost 1 of 2 agents after the start (b)");
    let agents = report["fleet"]["agents"].as_array().unwrap();
    assert_eq!((&agents[0]["fill"]["stored"], &agents[0]["lost"]), (&400.into(), &Value::Null));
    assert!(agents[1]["lost"].is_string() && agents[1]["fill"]["stored"].as_u64().unwrap() > 0, "{report:#}");
    assert!(ended.stderr.contains("run the same command again to continue this fill"), "{ended:?}");

    // The interrupt of the second session ends the load of all agents.
    let running = place.start(words(&endpoint, &flags, &[&dataset[..], &["--verify"]].concat()));
    let before = stored(&fills);
    wait_for("stored objects", || (stored(&fills) >= before + 40).then_some(()));
    running.signal("INT");
    let ended = running.end();
    assert_eq!((ended.code, &json(&ended)["result"]), (Some(130), &"partial".into()), "{ended:?}");

    let report = json(place.run(words(&endpoint, &flags, &[&dataset[..], &["--verify"]].concat())).expect(0));
    assert_eq!((&report["result"], &report["verified"]["good"]), (&"pass".into(), &800.into()), "{report:#}");
    check(&report, &fills, &place.path("store"));
    server.stop();
}

/// Random numbers that depend on a seed only.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0) % end
    }
}

/// Kills agents and coordinators at random times, and then lets the same command run to the end.
fn kill_at_random(dataset: &[&str], faults: &[&str], kills_max: u32) {
    let seed = std::env::var("PLIMSOLL_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| std::process::id().into());
    // The harness shows this line if the test fails.
    eprintln!("seed {seed}: PLIMSOLL_TEST_SEED={seed} repeats the choices");
    let (mut random, mut kills, mut killed) = (Random(seed), 0, [0_u32; 2]);
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0, 0]) else { return };
    let (server, endpoint) = serve(&place, &[&["--store", "store"][..], faults].concat());
    make_bucket(&place, &endpoint);
    let (flags, fills) = (hosts.flags_with_program(), fills_of(&hosts));
    let mut acked = vec![std::collections::BTreeMap::new(); hosts.hosts.len()];
    while kills < kills_max {
        let mut running = Some(place.start(words(&endpoint, &flags, dataset)));
        let begun = stored(&fills);
        // Often kill before the first upload, too.
        if random.below(4) > 0 {
            let more = 1 + random.below(60);
            let is_over = || running.as_ref().is_some_and(|running| has_ended(running.id()));
            wait_for("stored objects", || (stored(&fills) >= begun + more || is_over()).then_some(()));
        } else {
            std::thread::sleep(Duration::from_millis(random.below(2500)));
        }
        for _ in 0..=random.below(3) {
            let victim = random.below(4) as usize;
            match hosts.hosts.get(victim) {
                Some(host) => {
                    if let Some(agent) = host.agent() {
                        signal(agent, "KILL");
                        killed[0] += 1;
                    }
                }
                None => {
                    if let Some(coordinator) = running.take() {
                        // Dropping the value kills the process.
                        drop(coordinator);
                        killed[1] += 1;
                    }
                }
            }
            kills += 1;
            std::thread::sleep(Duration::from_millis(random.below(400)));
        }
        if let Some(coordinator) = running {
            coordinator.signal("INT");
            coordinator.end().expect_no_panic();
        }
        wait_for("end of all agents", || hosts.hosts.iter().all(|host| host.agent().is_none()).then_some(()));
        // No kill may lose an acknowledged object.
        for (share, directory) in shares(&fills) {
            let journal = Journal::read(&directory).unwrap();
            let before = std::mem::replace(&mut acked[share.index as usize], journal.acked.clone());
            let lost: Vec<_> = before.keys().filter(|number| !journal.acked.contains_key(number)).collect();
            assert!(lost.is_empty(), "seed {seed}: {lost:?} of share {share} are lost");
        }
    }
    let report = finish(|| place.run(words(&endpoint, &flags, &[dataset, &["--verify"]].concat())));
    eprintln!("{} kills of agents, {} of coordinators; {}", killed[0], killed[1], report["found_on_resume"]);
    assert_eq!(
        (&report["result"], &report["verified"]["good"]),
        (&"pass".into(), &report["objects"]),
        "seed {seed}: {report:#}"
    );
    assert_eq!(open_uploads(&place, &endpoint), 0, "seed {seed}");
    check(&report, &fills, &place.path("store"));
    let (ledger, found) = (server.stop(), report["found_on_resume"].as_u64().unwrap());
    let operation = if dataset.contains(&"--multipart") { "CompleteMultipartUpload" } else { "PutObject" };
    // Each object was uploaded at least once. `make_bucket` has stored two more with PutObject.
    let more = if operation == "PutObject" { 2 } else { 0 };
    let (uploads, objects) = (completed(&ledger, operation) - more, report["objects"].as_u64().unwrap());
    assert!(uploads >= objects && found <= objects, "seed {seed}: {uploads} uploads of {objects} objects: {ledger}");
}

fn has_ended(process: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with('Z') || rest.trim().is_empty())
}

/// Starts a fill until it succeeds. A killed server may have lost its open uploads.
fn finish(start: impl Fn() -> Ended) -> Value {
    let mut last = None;
    for _ in 0..STARTS_MAX {
        let ended = start();
        ended.expect_no_panic();
        if ended.code == Some(0) {
            return json(&ended);
        }
        last = Some(ended);
    }
    panic!("the fill does not succeed in {STARTS_MAX} starts: {last:?}");
}

#[test]
fn kills_of_agents_and_coordinators_lose_nothing() {
    let _cores = shared_cores();
    kill_at_random(&["--count", "900", "--size", "1KiB..4KiB", "-c", "6"], &["--delay", "60ms"], 8);
}

#[test]
fn kills_during_multipart_uploads_lose_nothing_and_leave_nothing_open() {
    let _cores = shared_cores();
    let dataset = ["--count", "45", "--size", "5MiB..9MiB", "--multipart", "5MiB", "-c", "6"];
    kill_at_random(&dataset, &["--delay", "250ms", "--error-every", "31"], 6);
}

#[test]
fn agents_of_a_bus_keep_their_shares_although_their_names_change() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let (server, endpoint) = serve(&place, &["--store", "store"]);
    make_bucket(&place, &endpoint);
    let flags = on_bus(&nats, 2);
    let dataset = ["--count", "60", "--size", "1KiB", "-c", "2"];
    let agents = start_agents(&place, &nats, 2);
    let fills = fills_of_agents(&agents);
    let first = json(place.run(words(&endpoint, &flags, &dataset)).expect(0));
    assert_eq!(check(&first, &fills, &place.path("store")), 60);
    for agent in agents {
        agent.process.signal("TERM");
        agent.process.end().expect(143);
    }
    // The new agents have other names, and so they may have another order.
    let agents = start_agents(&place, &nats, 2);
    let again = json(place.run(words(&endpoint, &flags, &[&dataset[..], &["--verify"]].concat())).expect(0));
    assert_eq!((&again["verified"]["good"], &again["sent_bytes"]), (&60.into(), &first["sent_bytes"]), "{again:#}");
    assert_eq!(shares(&fills).len(), 2, "a share has moved to another host");
    drop(agents);
    server.stop();
}

#[test]
fn a_killed_agent_of_a_bus_is_replaced_with_the_next_command() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let (server, endpoint) = serve(&place, &["--store", "store", "--delay", "40ms"]);
    make_bucket(&place, &endpoint);
    let flags = on_bus(&nats, 2);
    let dataset = ["--count", "400", "--size", "1KiB", "-c", "4", "--tolerate-lost", "1"];
    let mut agents = start_agents(&place, &nats, 2);
    let fills = fills_of_agents(&agents);
    let running = place.start(words(&endpoint, &flags, &dataset));
    wait_for("stored objects", || (stored(&fills) >= 60).then_some(()));
    agents[0].process.signal("KILL");
    let report = json(running.end_within(LONG).expect(0));
    // The loss was tolerated, so the result is that of the other agent.
    assert_eq!(report["result"], "pass", "{report:#}");
    assert!(report["stored"].as_u64().unwrap() < 400 && report["fleet"]["agents"][0]["lost"].is_string(), "{report:#}");
    let killed = (0..2).find(|number| place.path(&format!("agent-{number}/plimsoll/fills/out")) == fills[0]).unwrap();
    agents[0] = Agent::start(&place, killed, &["--fleet", &nats.url()]);
    let report = json(place.run(words(&endpoint, &flags, &[&dataset[..], &["--verify"]].concat())).expect(0));
    assert_eq!(report["verified"]["good"], 400, "{report:#}");
    check(&report, &fills, &place.path("store"));
    server.stop();
}

#[test]
fn a_fill_obeys_the_policies_of_its_agents() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let (server, endpoint) = serve(&place, &[]);
    make_bucket(&place, &endpoint);
    let dataset = ["--count", "4", "--size", "1KiB", "-c", "2"];
    let host = endpoint.trim_start_matches("http://").to_owned();
    let policies = [
        ("verbs: [put]", "`fill` (allowed: put)"),
        ("rate: 100", "a fill, whose requests have no fixed rate"),
        ("duration: 1m", "a fill, whose duration has no limit"),
        ("concurrency: 1", "2 operations in flight (allowed: up to 1)"),
        ("targets: [other]", "the target 127.0.0.1:"),
    ];
    for (policy, message) in policies {
        let policy = place.write("policy.yaml", policy).display().to_string();
        let agent = Agent::start(&place, 0, &["--fleet", &nats.url(), "--policy", &policy]);
        let refused = place.run(words(&endpoint, &on_bus(&nats, 1), &dataset));
        let message = format!("the policy of this agent does not allow {message}");
        expect_refusal("policy", &refused, 4, &["was lost before the start", &message]);
        drop(agent);
    }
    let policy = place.write("policy.yaml", format!("targets: ['{host}']\nconcurrency: 2\nverbs: [fill]\n"));
    let policy = policy.display().to_string();
    let _agent: Agent = Agent::start(&place, 0, &["--fleet", &nats.url(), "--policy", &policy]);
    let report = json(place.run(words(&endpoint, &on_bus(&nats, 1), &dataset)).expect(0));
    assert_eq!((&report["stored"], &report["result"]), (&4.into(), &"pass".into()), "{report:#}");
    let ledger = server.stop();
    assert_eq!(completed(&ledger, "PutObject"), 6, "a refused fill has sent a request: {ledger}");
}

#[test]
fn mistakes_are_reported_before_any_agent_is_asked() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let fill = ["fill", "s3://bucket/a", "--endpoint", "http://127.0.0.1:1", "--hosts", "a,b"];
    let cases: [(&[&str], &str); 6] = [
        (&["--from", "/tmp"], "--from: each host may have other files"),
        (&["--count", "4", "--size", "1KiB", "--scaling"], "--scaling: a fill uploads each object once"),
        (&["--count", "4", "--size", "1KiB", "--start-spread", "1s"], "the hosts of a fill need not start together"),
        (&["--count", "4", "--size", "1KiB", "--metrics", "127.0.0.1:0"], "--hosts does not support --metrics yet"),
        (&["--count", "4", "--size", "1KiB", "-d", "5s"], "a fill uploads every object once"),
        (&["--count", "4", "--size", "1KiB", "--cap", "1USD"], "--cap needs prices"),
    ];
    for (more, message) in cases {
        expect_refusal(&more.join(" "), &place.run(fill.iter().chain(more)), 2, &[message]);
    }
    let estimated = place.run(fill.iter().chain(&["--count", "4", "--size", "1KiB", "--dry-run", "--anonymous"]));
    assert!(estimated.expect(0).stdout.contains("nothing was sent"), "{estimated:?}");
}
