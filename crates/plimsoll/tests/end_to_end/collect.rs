//! `plimsoll collect`, and collectors during a run, against real systems.

use crate::support::{Nginx, Running, Setup, Sshd, TestDir, respond, shared_cores, wait_for};
use std::fs;

/// Returns the cells of a CSV file, without the header row.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect()).collect()
}

#[test]
fn nginx_is_collected_to_a_table_that_can_be_continued() {
    let _cores = shared_cores();
    let further = "location = /nginx_status { stub_status; access_log off; }";
    let Some(nginx) = Nginx::start(Setup { server: further, ..Setup::default() }) else { return };
    let place = TestDir::new();
    let url = nginx.url("/");
    let words = ["collect", "nginx", &url, "--every", "100ms", "-n", "3", "-o", "nginx.csv", "--out", "series"];
    let ended = place.run(words);
    ended.expect(0);
    assert_eq!(ended.stdout.lines().count(), 3, "{}", ended.stdout);
    assert!(ended.stdout.contains("connections_active "), "{}", ended.stdout);
    let again = place.run(words);
    again.expect(0);
    assert!(again.stderr.contains("appending to nginx.csv"), "{}", again.stderr);
    let text = fs::read_to_string(place.path("nginx.csv")).unwrap();
    let header = "timestamp,connections_active,connections_accepted,connections_handled,requests,connections_reading,connections_writing,connections_waiting,api_latency";
    assert_eq!(text.lines().next(), Some(header));
    let rows = rows(&text);
    assert_eq!(rows.len(), 6);
    let requests: Vec<u64> = rows.iter().map(|row| row[4].parse().unwrap()).collect();
    assert!(requests.is_sorted() && requests[5] >= requests[0] + 5, "each poll is a request: {requests:?}");
    assert!(rows.iter().all(|row| row[8].parse::<f64>().is_ok_and(|time| time > 0.0)), "{text}");
    assert!(place.path("series/collected.zst").exists());
    // A poll with other columns must not be appended to the table.
    let other = place.run(["collect", "--host", "-n", "1", "-o", "nginx.csv"]);
    other.expect(2);
    assert!(other.stderr.contains("begins with another header"), "{}", other.stderr);
    assert_eq!(fs::read_to_string(place.path("nginx.csv")).unwrap(), text);
}

#[test]
fn a_run_has_its_collectors_in_its_reports() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&["--stop-after", "120s"]);
    let address = url.trim_start_matches("http://").split('/').next().unwrap();
    let pid = server.id();
    let (probe, process) = (format!("probe={address}"), format!("process={pid}"));
    let words = ["get", &url, "-c", "2", "-d", "2s", "--out", "run", "--full", "--html"];
    let collect = ["--collect", "host", "--collect", &probe, "--collect", &process, "--collect-every", "200ms"];
    let ended = place.run(words.iter().chain(&collect));
    ended.expect(0);
    for text in ["Collected", "host_cpu_busy", "connect_127.0.0.1:", "process_"] {
        assert!(ended.stdout.contains(text), "{text}: {}", ended.stdout);
    }
    let html = fs::read_to_string(place.path("run/report.html")).unwrap();
    for text in ["Collected: shares", "host_cpu_busy", "line-0", "\"unit\":\"size\""] {
        assert!(html.contains(text), "{text}");
    }
    let again = place.run(["report", "run", "--full"]);
    again.expect(0);
    assert!(again.stdout.contains("host_memory_used"), "{}", again.stdout);
    server.stop();
}

#[test]
fn a_scenario_has_collectors() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&["--stop-after", "120s"]);
    let text = format!(
        "name: s\ncollectors: [host]\ntargets: {{a: {{url: '{url}'}}}}\nsettings: {{requests: 5, concurrency: 1}}\n"
    );
    place.write("s.yaml", text);
    place.run(["run", "s.yaml", "--out", "study"]).expect(0);
    let found = fs::read_dir(place.path("study")).unwrap().flatten().any(|entry| has_series(&entry.path()));
    assert!(found, "no run has a series");
    server.stop();
}

fn has_series(path: &std::path::Path) -> bool {
    let inside = || fs::read_dir(path).into_iter().flatten().flatten();
    path.join("collected.zst").exists() || (path.is_dir() && inside().any(|entry| has_series(&entry.path())))
}

#[test]
fn a_remote_host_and_its_processes_are_collected_over_ssh() {
    let _cores = shared_cores();
    let Some(sshd) = Sshd::start() else { return };
    let place = TestDir::new();
    let config = place.write("ssh_config", sshd.client_configuration());
    let config = config.to_str().unwrap();
    let words = ["collect", "--ssh", "target", "--process", "sshd@target", "--ssh-config", config];
    let ended = place.run(words.iter().chain(&["-n", "2", "--every", "5s", "-o", "remote.csv"]));
    ended.expect(0);
    let text = fs::read_to_string(place.path("remote.csv")).unwrap();
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let cell = |name: &str| rows(&text)[1][header.iter().position(|column| *column == name).unwrap()];
    assert!(cell("target_memory_used").parse::<u64>().is_ok_and(|bytes| bytes > 1 << 20), "{text}");
    assert!(cell("target_disk_free").parse::<u64>().is_ok_and(|bytes| bytes > 0), "{text}");
    assert!(cell("target_sshd_processes").parse::<u64>().is_ok_and(|count| count > 0), "{text}");
}

#[test]
fn failures_are_reported_once_and_mistakes_teach() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let url = respond(|send| send());
    let metric = ["collect", &url, "--column", "up=up", "-n", "3", "--every", "100ms", "-o", "a.csv"];
    let ended = place.run(metric);
    ended.expect(4);
    assert_eq!(ended.stderr.matches("its values stay blank").count(), 1, "{}", ended.stderr);
    let text = fs::read_to_string(place.path("a.csv")).unwrap();
    assert!(rows(&text).len() == 3 && rows(&text).iter().all(|row| row[1].is_empty()), "{text}");
    for (words, message) in [
        (&["collect"][..], "nothing to collect"),
        (&["collect", "http://h/"], "needs --column NAME=PLACE, or the name of a set"),
        (&["collect", "siad"], "the set siad needs the URL"),
        (&["collect", "sia", "http://h/"], "is not a set: use one of siad, renterd"),
        (&["collect", "http://h/", "--column", "a=$["], "not a JSONPath"),
        (&["collect", "http://h/", "--column", "a=$.b", "--column", "c=d"], "not both"),
        (&["collect", "--host", "--every", "1ms"], "at least 100ms"),
        (&["collect", "lotus-miner", "http://h/"], "?miner=f01234"),
        (&["get", "http://h/", "--collect", "gone"], "use SET=URL"),
    ] {
        let ended = place.run(words);
        ended.expect(2);
        assert!(ended.stderr.contains(message), "{words:?}: {}", ended.stderr);
    }
}

/// The password of a renter comes from the environment, and does not appear in any output.
#[test]
fn the_password_of_a_renter_comes_from_the_environment() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = crate::dialects::serve(&place, &["--as", "renterd", "--api-password", "c4nary"]);
    let poll = |url: &str, variable: &str| {
        let mut command = place.command(["collect", "renterd", url, "-n", "1", "-o", "table.csv", "--out", "series"]);
        command.env(variable, "c4nary");
        Running::of(command).end()
    };
    let with_user = root.replacen("http://", "http://:${MY_PASSWORD}@", 1);
    for (url, variable) in [(&root, "RENTERD_API_PASSWORD"), (&with_user, "MY_PASSWORD")] {
        let ended = poll(url, variable);
        assert!(ended.expect(0).stdout.contains("contract_count 3"), "{ended:?}");
        let table = fs::read_to_string(place.path("table.csv")).unwrap();
        assert!(!format!("{ended:?}{table}").contains("c4nary"), "{ended:?}");
    }
    let ended = poll(&with_user, "OTHER");
    assert!(ended.expect(2).stderr.contains("environment variable MY_PASSWORD is not set"), "{ended:?}");
    let refused = poll(&root, "OTHER");
    assert!(refused.expect(4).stderr.contains("401"), "{refused:?}");
    // With --collect, the variable has the same meaning.
    let words = ["get", &root, "-n", "1", "--expect-status", "401,404", "--collect", &format!("renterd={root}")];
    let mut command = place.command(words.iter().chain(&["--out", "run"]));
    command.env("RENTERD_API_PASSWORD", "c4nary");
    Running::of(command).end().expect(0);
    let collected = store::Collected::read(&place.path("run")).unwrap().expect("values were collected");
    assert!(format!("{collected:?}").contains("contract_count"), "{collected:?}");
    server.stop();
}

#[test]
fn an_interrupt_ends_the_command_and_keeps_the_table() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let running = place.start(["collect", "--host", "--every", "60s", "-o", "host.csv"]);
    let text = || fs::read_to_string(place.path("host.csv")).ok();
    wait_for("row", || text().filter(|text| text.lines().count() == 2));
    running.signal("INT");
    running.end().expect(130);
    assert_eq!(text().unwrap().lines().count(), 2);
}

#[test]
fn secrets_of_collectors_are_not_saved() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&["--stop-after", "120s"]);
    let secret = url.replace("http://", "http://me:CANARY@");
    let ended = place.run(["get", &url, "-n", "5", "--out", "run", "--collect", &format!("node={secret}")]);
    ended.expect(0);
    assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("CANARY"), "{ended:?}");
    for name in ["run/records.jsonl.zst", "run/collected.zst"] {
        let packed = fs::read(place.path(name)).unwrap();
        let text = zstd::stream::decode_all(packed.as_slice()).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("CANARY"), "{name}");
    }
    server.stop();
}
