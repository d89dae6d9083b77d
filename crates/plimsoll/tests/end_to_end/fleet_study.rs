//! Studies on several hosts: each trial is one run of all agents, which stay connected, and everything else happens once, on
//! the host of the command.

use crate::fill::make_bucket;
use crate::fleet::{intervals, serve, words};
use crate::fleet_bus::start_agents;
use crate::fleet_fill::{check, completed, stored};
use crate::s3;
use crate::support::{
    Ended, Host, Hosts, Nats, Running, TestDir, all_cores, expect_refusal, shared_cores, signal, wait_for,
};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Two cells with a fixed number of operations. Hooks and collectors leave traces on the host of the command. Other tests
/// may delay the start of a thread.
const SCENARIO: &str = "\
name: pair
vars: {url: 'http://127.0.0.1:1/'}
targets: {mine: {url: '${url}'}}
settings: {start-spread: 1m}
collectors: [host]
matrix: {requests: [100, 300]}
repeats: 2
hooks: {before: 'echo $PLIMSOLL_CELL >> seen'}
";

fn study(ended: &Ended) -> Value {
    ended.expect_no_panic();
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr))
}

fn trials(study: &Value) -> &[Value] {
    study["trials"].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the successful operations of each agent of a trial.
fn of_agents(trial: &Value) -> Vec<u64> {
    let agents = trial["fleet"]["agents"].as_array().unwrap_or_else(|| panic!("no agents: {trial:#}"));
    agents.iter().map(|agent| agent["ok"].as_u64().expect("a number")).collect()
}

#[test]
fn each_trial_is_one_run_of_all_hosts_and_the_server_counts_their_sums() {
    let _cores = all_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    place.write("pair.yaml", SCENARIO);
    let set = format!("url={url}");
    let command = ["run", "pair.yaml", "--set", &set, "--out", "study", "--json"];
    let ended = place.run(words(&command, &hosts.flags_with_program()));
    let first = study(&ended);
    ended.expect(0);
    let sums: Vec<Vec<u64>> = trials(&first).iter().map(of_agents).collect();
    assert_eq!(sums, [[50, 50], [50, 50], [150, 150], [150, 150]]);
    assert_eq!(server.ledger().complete.count, 800);
    for host in &hosts.hosts {
        assert_eq!((host.logins(), host.runs().len()), (1, 4), "the agent of {} did not stay connected", host.name);
        wait_for("end of the agent", || host.agent().is_none().then_some(()));
    }
    let seen = fs::read_to_string(place.path("seen")).expect("the hooks ran here");
    assert_eq!(seen.lines().collect::<Vec<_>>(), ["requests 100", "requests 100", "requests 300", "requests 300"]);
    for trial in trials(&first) {
        let directory = place.path(&format!("study/{}", trial["directory"].as_str().expect("a directory")));
        assert!(directory.join("agents/2-b/records.jsonl.zst").exists(), "the parts of the agents are missing");
        let (_, report) = place.report(&directory);
        assert_eq!((report.violations(), report.number("/operations/ok")), (0, of_agents(trial).iter().sum()));
        let directory = directory.display().to_string();
        let text = place.run(["report", &directory, "--full"]).expect(0).stdout.clone();
        assert!(text.contains("host_cpu_busy") && text.contains("\nAgents\n"), "{text}");
    }
    let text = place.run(["report", "study", "--full"]).expect(0).stdout.clone();
    assert!(text.contains("starts apart") && text.contains("slowest"), "{text}");

    // Put the files into the state that a kill during the last trial would leave.
    let log = place.path("study/study.jsonl");
    let lines = fs::read_to_string(&log).expect("the log can be read");
    let kept: Vec<&str> = lines.lines().take(4).collect();
    fs::write(&log, kept.join("\n") + "\n").expect("the log can be written");
    let resume = ["run", "pair.yaml", "--set", &set, "--resume", "study", "--json"];
    let alone = place.run(words(&resume, &[]));
    expect_refusal("resume on one host", &alone, 2, &["was begun on 2 hosts", "cannot be resumed on this host alone"]);
    let ended = place.run(words(&resume, &hosts.flags_with_program()));
    let again = study(&ended);
    ended.expect(0);
    assert_eq!((trials(&again).len(), &trials(&again)[..3]), (4, &trials(&first)[..3]), "a trial was run again");
    assert_eq!(server.ledger().complete.count, 1100);
}

/// Starts a study with two trials of 4 s on hosts a and b, and kills the agent of b during the first trial.
fn lose_b(place: &TestDir, hosts: &Hosts, url: &str, more: &[&str]) -> Ended {
    let scenario = "name: lossy\ntargets: {mine: {url: '${url}'}}\n\
                    settings: {start-spread: 1m, duration: 4s}\nmatrix: {concurrency: [2, 4]}\n";
    place.write("lossy.yaml", scenario);
    let set = format!("url={url}");
    let command = [&["run", "lossy.yaml", "--set", &set, "--out", "study", "--json"][..], more].concat();
    let running = place.start(words(&command, &hosts.flags_with_program()));
    let lost = place.path("study/001-concurrency-2/mine-1/agents/2-b");
    wait_for("second interval", || (intervals(&lost) >= 2).then_some(()));
    signal(hosts.hosts[1].agent().expect("the agent runs"), "KILL");
    running.end()
}

#[test]
fn a_lost_host_makes_its_trial_partial_and_stops_the_study_which_can_be_resumed() {
    let _cores = all_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let ended = lose_b(&place, &hosts, &url, &[]);
    ended.expect(4);
    let stopped = study(&ended);
    assert_eq!((trials(&stopped).len(), &trials(&stopped)[0]["result"]), (1, &"partial".into()), "{stopped:#}");
    assert!(of_agents(&trials(&stopped)[0])[1] > 0, "the data of the lost agent is gone");
    assert!(ended.stderr.contains("b was lost: the connection ended"), "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("b was lost, and this load needs 2 hosts"), "{}", ended.stderr);
    assert!(last.contains("`plimsoll run lossy.yaml --resume study` continues the study"), "{}", ended.stderr);
    let text = place.run(["report", "study"]).stdout;
    assert!(text.lines().any(|line| line.contains("starts apart")) && text.contains(" b\n"), "{text}");
    // The partial trial is measured again.
    let set = format!("url={url}");
    let resume = ["run", "lossy.yaml", "--set", &set, "--resume", "study", "--json"];
    let ended = place.run(words(&resume, &hosts.flags_with_program()));
    let whole = study(&ended);
    ended.expect(0);
    assert!(ended.stderr.contains("[1 of 2]"), "{}", ended.stderr);
    let results: Vec<&Value> = trials(&whole).iter().map(|trial| &trial["result"]).collect();
    assert_eq!(results, ["pass", "pass"], "{whole:#}");
}

#[test]
fn a_study_goes_on_with_the_other_hosts_if_the_loss_is_tolerated() {
    let _cores = all_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let ended = lose_b(&place, &hosts, &url, &["--tolerate-lost", "1"]);
    ended.expect(0);
    let found = study(&ended);
    let [first, second] = trials(&found) else { panic!("{found:#}") };
    assert_eq!((&first["result"], of_agents(first).len()), (&"pass".into(), 2), "{first:#}");
    assert_eq!((&second["result"], of_agents(second).len()), (&"pass".into(), 1), "{second:#}");
    // The other host makes the whole load.
    let (_, report) = place.report(&place.path("study/002-concurrency-4/mine-1"));
    assert_eq!(report.number("/setup/concurrency"), 4);
}

#[test]
fn agents_of_a_bus_load_the_servers_of_a_study_in_pairs_and_find_a_load_line() {
    let _cores = all_cores();
    let place = TestDir::new();
    let Some(nats) = Nats::start(&place, "") else { return };
    let agents = start_agents(&place, &nats, 2);
    let cluster = "serve: {as: alluxio, cluster: 2, list: 20, list-size: 1KiB}";
    place.write(
        "patterns.yaml",
        format!(
            "name: patterns\nmachines: {{fleet: '{}', agents: 2, serve-at: 127.0.0.1}}\ntargets:\n  \
             pairs: {{url-file: served/each, pair: true, {cluster}}}\n  all: {{url-file: served/all, {cluster}}}\n\
             settings: {{start-spread: 1m}}\nparts:\n  \
             load: {{settings: {{requests: 200, concurrency: 4}}, matrix: {{agents: [1, 2]}}}}\n  \
             line: {{settings: {{from: 2, to: 4, duration: 1s}}, matrix: {{concurrency: [line]}}}}\n",
            nats.url()
        ),
    );
    let dry = place.run(["run", "patterns.yaml", "--dry-run"]);
    let shown = dry.expect(0).stdout.clone();
    assert!(shown.contains(" --agents=1") && shown.contains(" --agents=2") && shown.contains("--pair"), "{shown}");
    let ended = place.run(["run", "patterns.yaml", "--out", "study", "--json"]);
    let found = study(&ended);
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.stderr);
    let sums: Vec<(&str, Vec<u64>)> =
        trials(&found).iter().map(|trial| (trial["target"].as_str().expect("a name"), of_agents(trial))).collect();
    let expected = [("pairs", vec![200]), ("all", vec![200]), ("pairs", vec![100, 100]), ("all", vec![100, 100])];
    assert_eq!(sums, expected);
    for trial in trials(&found) {
        let directory = trial["directory"].as_str().expect("a directory");
        let (_, report) = place.report(&place.path(&format!("study/{directory}")));
        assert_eq!((report.violations(), report.number("/operations/failed")), (0, 0));
        // Paired agents ask the owner of their objects, so only the others are redirected.
        assert_eq!(report.number("/operations/hops") == 0, trial["target"] == "pairs", "{trial:#}");
    }
    let last = &trials(&found)[2]["fleet"]["agents"];
    assert_ne!(last[0]["target"], last[1]["target"], "paired agents had the same server");
    let lines = found["load_lines"].as_array().expect("a list");
    assert_eq!(lines.len(), 2);
    for line in lines {
        let levels = line["load_line"]["levels"].as_array().expect("levels");
        assert!(!levels.is_empty() && line["load_line"]["passed"].as_u64().is_some(), "{line:#}");
    }
    for mut agent in agents {
        agent.process.wait_for_message(": done");
        agent.process.signal("TERM");
        agent.process.end().expect(143);
    }
}

/// Writes a scenario of fills with these settings and this matrix.
fn write_fills(place: &TestDir, endpoint: &str, settings: &str, matrix: &str) {
    let target = format!("targets: {{bucket: {{url: 's3://bucket/f', endpoint: '{endpoint}'}}}}");
    place.write("fills.yaml", format!("name: fills\n{target}\nsettings: {{command: fill, {settings}}}\n{matrix}"));
}

#[test]
fn fills_are_made_by_all_hosts_and_a_new_study_makes_new_fills() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let (server, endpoint) = s3::serve(&place, &[]);
    make_bucket(&place, &endpoint);
    // Fills ignore the largest difference of the starts, which other parts of a study may need.
    let settings = "count: 30, concurrency: 4, verify: true, delete: true, prices: s3-standard, start-spread: 1s";
    write_fills(&place, &endpoint, settings, "matrix: {size: [1KiB, 4KiB]}\nrepeats: 2\n");
    for (number, out) in [(1, "one"), (2, "two")] {
        let command = ["run", "fills.yaml", "--out", out, "--json", "--junit", "study.xml"];
        let ended = place.run(words(&command, &hosts.flags_with_program()));
        let found = study(&ended);
        ended.expect(0);
        let fills = found["fills"].as_array().expect("a list");
        assert_eq!((&found["result"]["word"], fills.len()), (&"pass".into(), 4), "{found:#}");
        for (trial, size) in fills.iter().zip([1024, 1024, 4096, 4096]) {
            let fill = &trial["fill"];
            assert_eq!(
                (&fill["stored_bytes"], &fill["sent_bytes"]),
                (&(30 * size).into(), &(30 * size).into()),
                "{out}"
            );
            assert_eq!((&fill["verified"]["good"], &fill["deleted"]), (&30.into(), &30.into()), "{fill:#}");
            let agents = fill["fleet"]["agents"].as_array().expect("a list");
            let stored: Vec<_> = agents.iter().map(|agent| agent["fill"]["stored"].as_u64()).collect();
            assert_eq!(stored, [Some(15); 2], "{fill:#}");
            assert_eq!(fill["costs"][0]["currency"], "USD", "{fill:#}");
        }
        let junit = fs::read_to_string(place.path("study.xml")).expect("a JUnit file");
        assert!(junit.contains("tests=\"4\" failures=\"0\"") && junit.contains("bucket, run 2: fill"), "{junit}");
        let text = place.run(["report", out]).expect(0).stdout.clone();
        assert!(text.starts_with("PASS · 4 of 4 fills passed") && text.contains("30 good"), "{text}");
        for host in &hosts.hosts {
            assert_eq!((host.logins(), fills_of(host).len()), (number, 4 * number), "{}", host.name);
        }
    }
    let rows = place.run(["export", "one", "--as", "csv"]);
    assert_eq!(rows.expect(0).stdout.lines().count(), 1, "{}", rows.stdout);
    assert!(rows.stderr.contains("4 fills of several hosts left out"), "{}", rows.stderr);
    let one = place.run(["report", "one/001-size-1KiB/bucket-1"]).expect(0).stdout.clone();
    assert!(one.starts_with("PASS · 30 objects stored, 30 deleted again") && one.contains("\nAgents\n"), "{one}");
    // `make_bucket` has stored an object and the record of its dataset.
    assert_eq!(completed(&server.stop(), "PutObject"), 2 + 2 * 4 * 30);
}

/// Returns the fills on a host, with the shares of each.
fn fills_of(host: &Host) -> Vec<PathBuf> {
    let fills = fs::read_dir(host.fill("")).into_iter().flatten().flatten();
    fills.map(|entry| entry.path()).collect()
}

#[test]
fn a_fill_that_was_interrupted_or_lost_a_host_is_continued() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let (server, endpoint) = s3::serve(&place, &["--store", "store", "--delay", "40ms"]);
    make_bucket(&place, &endpoint);
    write_fills(&place, &endpoint, "count: 1000, size: 1KiB, concurrency: 4", "");
    let all = || hosts.hosts.iter().flat_map(fills_of).collect::<Vec<_>>();
    // Host a finishes its share after the first loss of b.
    let run_until = |how: [&str; 2], objects_of_b: u64| {
        let command = [&["run", "fills.yaml", "--json"][..], &how].concat();
        let running = place.start(words(&command, &hosts.flags_with_program()));
        wait_for("stored objects", || (stored(&fills_of(&hosts.hosts[1])) >= objects_of_b).then_some(()));
        running
    };
    let interrupted = |running: Running| {
        running.signal("INT");
        let ended = running.end();
        let found = study(&ended);
        assert_eq!((ended.code, &found["result"]["word"]), (Some(130), &"partial".into()), "{found:#}");
    };
    let lost = |running: Running| {
        signal(hosts.hosts[1].agent().expect("the agent runs"), "KILL");
        let ended = running.end();
        let found = study(ended.expect(0));
        let fills = found["fills"].as_array().expect("a list");
        assert_eq!(fills.len(), 1, "a trial is counted twice: {found:#}");
        assert_eq!(fills[0]["fill"]["reasons"][0], "lost 1 of 2 agents after the start (b)", "{found:#}");
        assert!(ended.stderr.contains("    b was lost: the connection ended"), "{}", ended.stderr);
    };
    let resume = ["--resume", "study"];
    interrupted(run_until(["--out", "study"], 40));
    lost(run_until(resume, 100));
    interrupted(run_until(resume, 160));
    lost(run_until(resume, 220));
    lost(run_until(resume, 280));
    let whole = study(run_until(resume, 500).end().expect(0));
    let fill = &whole["fills"][0]["fill"];
    assert_eq!((&fill["result"], &fill["stored"]), (&"pass".into(), &1000.into()), "{fill:#}");
    check(fill, &all(), &place.path("store"));
    assert_eq!(study(run_until(resume, 500).end().expect(0))["fills"], whole["fills"], "a complete fill is made again");
    server.stop();
}

#[test]
fn fills_go_on_with_the_other_hosts_if_the_loss_is_tolerated() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let (server, endpoint) = s3::serve(&place, &["--delay", "40ms"]);
    make_bucket(&place, &endpoint);
    let settings = "size: 1KiB, concurrency: 4, tolerate-lost: 1";
    write_fills(&place, &endpoint, settings, "matrix: {count: [400, 40]}\n");
    let command = ["run", "fills.yaml", "--out", "study", "--json"];
    let running = place.start(words(&command, &hosts.flags_with_program()));
    let of_b = || fills_of(&hosts.hosts[1]);
    wait_for("stored objects", || (stored(&of_b()) >= 20).then_some(()));
    signal(hosts.hosts[1].agent().expect("the agent runs"), "KILL");
    let found = study(running.end().expect(0));
    let fills = found["fills"].as_array().expect("a list");
    let agents = |fill: usize| fills[fill]["fill"]["fleet"]["agents"].as_array().map(Vec::len);
    assert_eq!((agents(0), agents(1)), (Some(2), Some(1)), "{found:#}");
    assert_eq!((&fills[0]["fill"]["result"], &fills[1]["fill"]["result"]), (&"pass".into(), &"pass".into()));
    assert!(fills[0]["fill"]["stored"].as_u64() < Some(400) && fills[1]["fill"]["stored"] == 40, "{found:#}");
    server.stop();
}

#[test]
fn a_long_hook_keeps_the_agents_connected() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0]) else { return };
    // Agents stop if they hear nothing for 30 s.
    place.write(
        "slow.yaml",
        format!(
            "name: slow\ntargets: {{mine: {{url: '{url}'}}}}\nsettings: {{requests: 10, start-spread: 1m}}\n\
             hooks: {{before: sleep 33}}\n"
        ),
    );
    let ended = place.run(words(&["run", "slow.yaml", "--json"], &hosts.flags_with_program()));
    assert_eq!(of_agents(&trials(&study(ended.expect(0)))[0]), [10]);
}

#[test]
fn what_cannot_work_on_several_hosts_is_refused_with_its_place_in_the_file() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let refused = |text: &str, flags: &[&str], message: &str| {
        place.write("bad.yaml", text);
        let ended = place.run([&["run", "bad.yaml"][..], flags].concat());
        ended.expect(2);
        let first = ended.stderr.lines().next().unwrap_or_default();
        assert!(first.contains(message) && !ended.stderr.contains("CANARY"), "{text}: {}", ended.stderr);
        assert!(!place.path("runs").exists(), "a study was begun: {text}");
    };
    let of = |target: &str, settings: &str| {
        format!("name: t\ntargets:\n  a: {{{target}}}\nsettings: {{{settings}}}\nmachines: {{hosts: 'a,b'}}\n")
    };
    let url = "url: 'http://h/'";
    for (target, settings, message) in [
        ("url: served/x, serve: {}", "", "bad.yaml:3:12: the server of target `a` would listen on 127.0.0.1"),
        (url, "link: 40ms", "bad.yaml:4:18: `link`: the emulated link begins at this host"),
        (url, "probe: 1s", "bad.yaml:4:19: --hosts does not support --probe yet"),
        (url, "abort-when: 'p99 > 1s'", "bad.yaml:4:24: --hosts does not support --abort-when yet"),
        (url, "user: 'me:CANARY'", "contains a secret, which is not sent to other hosts"),
        (url, "pair: true", "bad.yaml:4:18: --pair needs one URL per host: the command has 1 URLs and 2 hosts"),
        (url, "agents: 3", "bad.yaml:4:20: `agents` must be a number from 1 to 2"),
        (url, "hosts: c", "`hosts` is not a setting of a scenario; leave it out; write it in `machines`"),
        (url, "concurrency: line, tolerate-lost: 1", "a search needs all of its hosts"),
        (url, "command: fill, count: 1, size: 1KiB, prices: nosuch.yaml", "nosuch.yaml"),
        (url, "command: fill, count: 1, size: 1KiB, cap: 5USD", "bad.yaml:4:54: --cap needs prices"),
        (url, "command: fill, from: set", "--from: each host may have other files"),
    ] {
        refused(&of(target, settings), &[], message);
    }
    place.write("bad.yaml", of(url, "probe: 1s, agents: 3, pair: true"));
    let all = place.run(["run", "bad.yaml"]);
    all.expect(2);
    let starts = ["bad.yaml:4:19: --hosts", "bad.yaml:4:31: `agents`", "bad.yaml:4:40: --pair", "plimsoll: 3 mistakes"];
    let lines: Vec<&str> = all.stderr.lines().collect();
    assert_eq!(lines.len(), starts.len(), "{}", all.stderr);
    assert!(lines.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{}", all.stderr);
    let plain = format!("name: t\ntargets: {{a: {{{url}}}}}\n");
    refused(&plain, &["--hosts", "a", "--metrics", "127.0.0.1:0"], "--hosts does not support --metrics yet");
    refused(&plain, &["--fleet", "nats://h:1"], "needs the number of agents");
    let agents = format!("{plain}machines: {{hosts: 'a,,b'}}\n");
    refused(&agents, &[], "bad.yaml:3:12: --hosts");
}
