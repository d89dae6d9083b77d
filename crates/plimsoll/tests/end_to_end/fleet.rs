//! Runs on several hosts, over a real ssh with real keys: the parts add up to the load, the starts agree although clocks
//! do not, and every failure is named.

use crate::support::{Host, Hosts, PATIENCE, Report, TestDir, all_cores, respond, shared_cores, signal, wait_for};
use serde_json::Value;
use server::{Config, Server};
use std::fs;
use std::path::Path;
use std::time::Duration;

pub fn serve() -> (Server, String) {
    let server = Server::start(&Config::default()).expect("the server starts");
    let url = format!("http://{}/blackhole/1KiB", server.addresses()[0]);
    (server, url)
}

/// Returns the words of a command with these flags.
pub fn words(command: &[&str], flags: &[String]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).chain(flags.iter().cloned()).collect()
}

/// Returns the number of operations of each agent that succeeded.
pub fn ok_of_agents(report: &Report) -> Vec<u64> {
    report.list("/fleet/agents").iter().map(|agent| agent["ok"].as_u64().unwrap()).collect()
}

/// Returns the records of a run.
pub fn records(directory: &Path) -> Vec<Value> {
    let bytes = fs::read(directory.join("records.jsonl.zst")).unwrap_or_default();
    let mut text = Vec::new();
    let _ = std::io::copy(&mut zstd::stream::read::Decoder::new(bytes.as_slice()).unwrap(), &mut text);
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

pub fn intervals(directory: &Path) -> usize {
    records(directory).iter().filter(|record| record.get("interval").is_some()).count()
}

pub fn end_of(directory: &Path) -> Option<Value> {
    records(directory).iter().find_map(|record| record.get("end").cloned())
}

/// Returns the wall-clock time at which an agent started.
pub fn started_unix_ms(directory: &Path) -> i64 {
    records(directory).remove(0)["begin"]["started_unix_ms"].as_i64().expect("a run begins with its time")
}

/// Maximum number of attempts until a run is not disturbed. In an attempt, other processes may delay a thread of an agent
/// by more than the limit, or take the cores.
pub const TRIES: usize = 5;

#[test]
fn agents_with_wrong_clocks_start_together_and_their_sum_is_what_the_server_counts() {
    let _cores = all_cores();
    let shifts = [5, -3, 0];
    for _ in 0..TRIES {
        let (server, url) = serve();
        let place = TestDir::new();
        let Some(hosts) = Hosts::start(&place, &shifts) else { return };
        let command = ["get", &url, "-R", "300", "-d", "3s", "--warmup", "1s", "--json", "--out", "out"];
        let ended = place.run(words(&command, &hosts.flags_with_program()));
        let report = Report::read(&ended);
        ended.expect_no_panic();
        assert_eq!(report.violations(), 0);
        let dropped = report.number("/operations/dropped");
        assert_eq!((report.number("/operations/ok") + dropped, report.number("/operations/offered")), (900, 900));
        assert_eq!(ok_of_agents(&report).iter().sum::<u64>() + dropped, 900);
        // The warm-up of one second is part of the server's count.
        let attempts = 300 + report.number("/operations/attempts");
        assert_eq!((server.ledger().complete.count, server.ledger().complete.body_bytes), (attempts, attempts * 1024));
        assert_eq!(report.bytes("body_bytes"), attempts * 1024);
        // The merged run and the saved runs of the agents can be read again.
        for (directory, heading) in [("out", "Agents"), ("out/agents/1-a", "Agent\n"), ("out/agents/3-c", "Agent\n")] {
            let again = place.run(["report", directory, "--full"]);
            assert!(again.expect_no_panic().stdout.contains(heading), "{}", again.stdout);
        }
        if report.number("/fleet/start_spread_nanos") > 5_000_000 {
            assert_eq!(report.text("/result/word"), "partial", "{}", report.at("/result"));
            continue;
        }
        assert_eq!((report.text("/result/word"), ended.code), ("pass", Some(0)), "{}", report.at("/result"));
        assert_eq!(ok_of_agents(&report), [300, 300, 300]);
        // Each agent writes the wall-clock time of its start. The clocks are wrong by known amounts, which are
        // subtracted.
        let start_of = |(host, shift): (&Host, i64)| {
            started_unix_ms(&host.run().expect("each host keeps its own run")) - 1000 * shift
        };
        let starts: Vec<i64> = hosts.hosts.iter().zip(shifts).map(start_of).collect();
        let (first, last) = (starts.iter().min().unwrap(), starts.iter().max().unwrap());
        assert!(last - first <= 5, "{starts:?}");
        return;
    }
    panic!("the starts were too far apart in every try");
}

#[test]
fn a_lost_agent_makes_the_run_partial_unless_it_is_tolerated() {
    let _cores = all_cores();
    let (_server, url) = serve();
    for tolerated in [false, true] {
        let place = TestDir::new();
        let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
        let mut command = vec!["get", &url, "-c", "2", "-d", "5s", "--start-spread", "1m", "--json", "--out", "out"];
        if tolerated {
            command.extend(["--tolerate-lost", "1"]);
        }
        let running = place.start(words(&command, &hosts.flags_with_program()));
        let lost = place.path("out/agents/2-b");
        wait_for("second interval", || (intervals(&lost) >= 2).then_some(()));
        signal(hosts.hosts[1].agent().expect("the agent runs"), "KILL");
        let ended = running.end();
        let report = Report::read(&ended);
        ended.expect(0);
        let agents = report.list("/fleet/agents");
        assert_eq!((&agents[0]["lost"], agents[1]["lost"].is_string()), (&Value::Null, true), "{agents:?}");
        let (of_a, of_b) = (agents[0]["ok"].as_u64().unwrap(), agents[1]["ok"].as_u64().unwrap());
        let kept = agents[1]["measured_nanos"].as_u64().unwrap();
        assert!(
            of_b > 0 && (2_000_000_000..5_000_000_000).contains(&kept),
            "the data of the lost agent is kept: {kept}"
        );
        let ok = report.number("/operations/ok");
        let seconds = report.at("/operations/window_seconds").as_f64().unwrap();
        if tolerated {
            assert_eq!((report.text("/result/word"), ok, seconds), ("pass", of_a, 5.0));
        } else {
            assert_eq!(report.text("/result/word"), "partial");
            let reason = report.text("/result/reasons/0/text");
            assert!(reason.starts_with("lost 1 of 2 agents after the start (b)"), "{reason}");
            // The result covers only the seconds in which both agents measured.
            assert_eq!(seconds, (kept / 1_000_000_000) as f64);
            assert!(ok > of_b && ok < of_a + of_b, "{ok} of {of_a} + {of_b}");
        }
        assert_eq!(end_of(&hosts.hosts[0].run().unwrap()).unwrap()["reason"]["kind"], "completed");
    }
}

#[test]
fn an_agent_that_is_lost_before_the_start_aborts_the_run_and_is_named() {
    let _cores = shared_cores();
    // The preparation waits for the size of the object, which this server never sends.
    let url = respond(|_| std::thread::sleep(PATIENCE));
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let command = ["get", &url, "--range", "1KiB", "-d", "2s", "--out", "out"];
    let running = place.start(words(&command, &hosts.flags_with_program()));
    let agents = wait_for("agents", || hosts.hosts.iter().map(Host::agent).collect::<Option<Vec<u32>>>());
    signal(agents[1], "KILL");
    let ended = running.end();
    ended.expect(4);
    assert!(ended.stderr.contains("no run was made: b was lost before the start"), "{}", ended.stderr);
    assert!(!place.path("out").exists(), "a run was saved");
    wait_for("end of the other agent", || hosts.hosts[0].agent().is_none().then_some(()));
    assert!(hosts.hosts.iter().all(|host| host.run().is_none()), "an agent made load");
}

#[test]
fn a_mistake_that_only_an_agent_can_find_is_reported_with_its_name() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    for (more, message) in
        [(["-u", "@/no/such/file"], "no/such/file"), (["-n", "1"], "1 operations cannot be divided among 2 machines")]
    {
        let ended = place.run(words(&["get", &url, "--out", "out", more[0], more[1]], &hosts.flags_with_program()));
        ended.expect(4);
        let named = ended.stderr.contains("a was lost before the start") || ended.stderr.contains("b was lost before");
        assert!(named && ended.stderr.contains(message), "{}", ended.stderr);
    }
}

#[test]
fn another_build_is_refused() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0]) else { return };
    let mut other = fs::read(env!("CARGO_BIN_EXE_plimsoll")).unwrap();
    other.push(0);
    let path = place.write("other", other);
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut flags = hosts.flags();
    flags.extend(["--agent-program".to_owned(), path.display().to_string()]);
    let ended = place.run(words(&["get", &url, "-d", "1s", "--out", "out"], &flags));
    ended.expect(4);
    assert!(
        ended.stderr.contains("a was lost before the start: coordinator and agent are different builds of the program"),
        "{}",
        ended.stderr
    );
    assert_eq!(server.ledger().connections_accepted, 0);
}

#[test]
fn the_program_is_copied_once_and_again_if_the_copy_is_damaged() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0]) else { return };
    let run = |out: &str| {
        let ended =
            place.run(words(&["get", &url, "-c", "1", "-n", "20", "--print", "none", "--out", out], &hosts.flags()));
        ended.expect(0);
        ended.stderr.contains("copying plimsoll")
    };
    assert!(run("first"), "the program was not copied");
    assert!(!run("second"), "the program was copied again");
    let copy = hosts.hosts[0].copied_program().expect("the program was copied");
    let original = fs::read(env!("CARGO_BIN_EXE_plimsoll")).unwrap();
    assert!(fs::read(&copy).unwrap() == original, "the copy differs");
    fs::OpenOptions::new().write(true).open(&copy).unwrap().set_len(1000).unwrap();
    assert!(run("third"), "a damaged copy was used");
    assert!(fs::read(&copy).unwrap() == original, "the copy differs");
}

#[test]
fn an_interrupt_ends_the_load_of_all_agents_and_their_results_are_kept() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let running = place
        .start(words(&["get", &url, "-c", "2", "-d", "60s", "--json", "--out", "out"], &hosts.flags_with_program()));
    wait_for("interval", || (intervals(&place.path("out/agents/2-b")) >= 1).then_some(()));
    running.signal("INT");
    let ended = running.end();
    ended.expect(130);
    let report = Report::read(&ended);
    assert_eq!(report.text("/result/word"), "partial");
    assert_eq!(report.text("/end/reason"), "interrupted");
    assert_eq!(report.number("/operations/ok"), server.ledger().complete.count);
    for host in &hosts.hosts {
        assert_eq!(end_of(&host.run().unwrap()).unwrap()["reason"]["kind"], "interrupted");
    }
}

#[test]
fn agents_stop_when_their_coordinator_is_killed() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let running =
        place.start(words(&["get", &url, "-c", "2", "-d", "300s", "--out", "out"], &hosts.flags_with_program()));
    wait_for("interval", || (intervals(&place.path("out/agents/1-a")) >= 1).then_some(()));
    running.signal("KILL");
    let _ = running.end();
    for host in &hosts.hosts {
        wait_for("end of the agent", || host.agent().is_none().then_some(()));
        let end = end_of(&host.run().expect("the run is kept")).expect("the run was ended");
        assert_eq!(end["reason"]["kind"], "interrupted");
    }
}

/// Returns the name of a run, from the directory of the part that a host keeps.
pub fn name_of_run(part: &Path) -> String {
    let name = part.file_name().and_then(|name| name.to_str()).expect("the name is text").to_owned();
    name.rsplit_once('-').expect("the name ends with a number").0.to_owned()
}

#[test]
fn a_collected_run_is_that_of_the_first_coordinator() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[7, -3]) else { return };
    let flags = hosts.flags_with_program();
    let command = ["get", &url, "-R", "100", "-d", "2s", "--start-spread", "50ms", "--print", "none", "--out", "out"];
    let ended = place.run(words(&command, &flags));
    let run = name_of_run(&hosts.hosts[0].run().expect("the host keeps its run"));
    assert!(ended.expect_no_panic().stderr.contains(&format!("run {run} on 2 agents")), "{}", ended.stderr);
    let collected = place.run(words(&["fleet", "collect", &run, "--out", "collected"], &flags));
    assert_eq!(collected.code, ended.code, "{}", collected.stderr);
    for directory in ["", "agents/1-a", "agents/2-b"] {
        let read = |base: &str| {
            let mut records = records(&place.path(base).join(directory));
            assert!(records.len() >= 4, "{base}/{directory}");
            // The only differences are the command of the merged run, and the drift of the clocks, which only the first
            // coordinator measures.
            records[0]["begin"]["command"] = Value::Null;
            let agents = records.iter_mut().filter_map(|record| record.pointer_mut("/end/fleet/agents"));
            let agents = agents.filter_map(Value::as_array_mut).flatten().filter_map(Value::as_object_mut);
            agents.for_each(|agent| drop(agent.remove("drift")));
            records
        };
        assert_eq!(read("out"), read("collected"), "{directory}");
    }
}

#[test]
fn a_run_is_collected_over_ssh_after_its_coordinator_was_killed() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let flags = hosts.flags_with_program();
    let running = place.start(words(&["get", &url, "-c", "2", "-d", "300s", "--out", "out"], &flags));
    wait_for("interval", || (intervals(&place.path("out/agents/2-b")) >= 2).then_some(()));
    running.signal("KILL");
    let _ = running.end();
    let run = name_of_run(&hosts.hosts[0].run().expect("the host keeps its run"));
    let ended = place.run(words(&["fleet", "collect", &run, "--out", "collected"], &flags));
    // The result is that of a run that was interrupted by SIGTERM.
    ended.expect(143);
    let report = Report::read(place.run(["report", "collected", "--json"]).expect(143));
    assert_eq!((report.violations(), report.text("/result/word")), (0, "partial"), "{}", report.at("/result"));
    assert_eq!(report.text("/end/reason"), "interrupted");
    assert_eq!(report.number("/operations/ok"), server.ledger().complete.count);
    let again = place.run(words(&["fleet", "collect", &run, "--out", "collected"], &flags));
    assert_eq!(again.code, Some(4), "a run was overwritten: {}", again.stderr);
}

#[test]
fn paired_agents_load_only_their_own_server() {
    let _cores = shared_cores();
    let servers = [serve(), serve()];
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0, 0]) else { return };
    let command = ["get", &servers[0].1, &servers[1].1, "--pair", "-n", "301", "-c", "4", "--json", "--out", "out"];
    let ended = place.run(words(&command, &hosts.flags_with_program()));
    let report = Report::read(&ended);
    ended.expect(0);
    let counted: Vec<u64> = servers.iter().map(|(server, _)| server.ledger().complete.count).collect();
    assert_eq!(counted, [151, 150]);
    assert_eq!(ok_of_agents(&report), counted);
    assert_eq!(report.number("/operations/ok"), 301);
}

#[test]
fn each_object_is_written_once_by_one_of_the_agents() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = crate::dialects::serve(&place, &["--as", "renterd", "--bucket", "photos"]);
    let Some(hosts) = Hosts::start(&place, &[0, 0, 0]) else { return };
    let target = format!("{}/photos/set", url.trim_end_matches('/'));
    // The command line contains only the path of the secret, and each host reads the secret itself.
    let secret = format!("@{}", place.write("secret", ":plimsoll").display());
    let dataset = ["--as", "renterd", "--count", "50", "--size", "1KiB", "-u", &secret];
    // Other tests may delay the start of a thread.
    let command = ["put", &target, "-c", "6", "--start-spread", "1m", "--json", "--out", "out"];
    let ended = place.run(words(&[&command[..], &dataset].concat(), &hosts.flags_with_program()));
    let report = Report::read(&ended);
    ended.expect(0);
    assert_eq!(ok_of_agents(&report), [17, 17, 16]);
    let result = report.at("/result");
    assert_eq!((report.text("/result/word"), report.number("/operations/ok")), ("pass", 50), "{result}");
    let read = ["get", &target, "--order", "once", "--verify", "--json"];
    let read = Report::read(place.run([&read[..], &dataset].concat()).expect(0));
    assert_eq!(read.number("/operations/ok"), 50, "an object is missing");
    drop(server);
}

#[test]
fn mistakes_are_reported_before_any_host_is_reached() {
    let _cores = shared_cores();
    let place = TestDir::new();
    for (words, message) in [
        (&["get", "http://h/", "--hosts", "a,,b"][..], "a host name is empty"),
        (&["get", "http://h/", "--hosts=-oProxyCommand=x"], "is not a host name"),
        (
            &["get", "http://h/", "-u", "me:CANARY", "--hosts", "a"],
            "contains a secret, which is not sent to other hosts",
        ),
        (&["get", "http://h/", "--repeat", "2", "--hosts", "a"], "--hosts does not support --repeat yet"),
        (&["get", "http://h/", "--pair", "--hosts", "a,b"], "--pair needs one URL per host"),
        (&["get", "http://h/", "--pair"], "--hosts"),
        (&["get", "--url-file", "-", "--hosts", "a"], "it must be a file on each host"),
        (&["get", "http://h/", "--tolerate-lost", "1", "--hosts", "a"], "at least one host must remain"),
        (&["get", "http://h/", "--scaling"], "--hosts"),
        (&["line", "http://h/", "--scaling", "--hosts", "a"], "a search measures no host alone"),
        (&["get", "http://h/", "--ssh", "", "--hosts", "a"], "the command is empty"),
        (&["get", "http://h/", "--agent-program", "a;b", "--hosts", "a"], "use an absolute path"),
        (
            &["prepare", "http://h/", "--count", "1", "--size", "1KiB", "--hosts", "a"],
            "--hosts works with get, put, mix, line, fill and run",
        ),
    ] {
        let ended = place.run(words);
        ended.expect(2);
        assert!(ended.stderr.contains(message) && !ended.stderr.contains("CANARY"), "{words:?}: {}", ended.stderr);
    }
    let unreachable = place.run(["get", "http://h/", "--hosts", "a", "--ssh", "/no/such/ssh"]);
    unreachable.expect(4);
    assert!(
        unreachable.stderr.contains("cannot start an agent on a: cannot start /no/such/ssh"),
        "{}",
        unreachable.stderr
    );
}

#[test]
#[ignore = "takes 40 s; the rule itself is tested in simulated time"]
fn an_agent_that_hears_nothing_for_30_s_stops() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let Some(hosts) = Hosts::start(&place, &[0]) else { return };
    let running =
        place.start(words(&["get", &url, "-R", "20", "-d", "300s", "--out", "out"], &hosts.flags_with_program()));
    wait_for("interval", || (intervals(&place.path("out/agents/1-a")) >= 1).then_some(()));
    let stopped = std::time::Instant::now();
    running.signal("STOP");
    wait_for("end of the agent", || hosts.hosts[0].agent().is_none().then_some(()));
    let took = stopped.elapsed();
    running.signal("KILL");
    assert!(took > Duration::from_secs(24) && took < Duration::from_secs(45), "{took:?}");
    assert_eq!(end_of(&hosts.hosts[0].run().unwrap()).unwrap()["reason"]["kind"], "interrupted");
}
