//! Studies of scenario files. Every trial runs once, in a fair order, and mistakes are reported with their position.

use crate::support::{Ended, Running, TestDir, all_cores, shared_cores};
use serde_json::Value;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

const SCENARIO: &str = "\
name: pair
vars: {fast: 'http://127.0.0.1:1'}
targets:
  fast: {url: '${fast}/blackhole/1KiB'}
  slow: {url: '${fast}/blackhole/1KiB?delay=20ms'}
settings: {duration: 200ms}
matrix: {concurrency: [1, 2]}
repeats: 2
";

fn server(place: &TestDir) -> (Running, String) {
    let (server, url) = place.serve(&[]);
    let base = url.split("/blackhole").next().unwrap().to_owned();
    (server, base)
}

fn trials(ended: &Ended) -> Vec<Value> {
    let study: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
    study["trials"].as_array().unwrap().clone()
}

#[test]
fn ten_wrong_settings_have_ten_messages() {
    let place = TestDir::new();
    let wrong = [
        ("concurrency", "many"),
        ("duration", "1 fortnight"),
        ("think", "soon"),
        ("timeout-head", "0s"),
        ("expect-status", "9"),
        ("success", "101%"),
        ("objective", "p99 = fast"),
        ("abort-when", "p99 <= 1s"),
        ("thread", "2"),
        ("seed", "-1"),
    ];
    let lines: String = wrong.iter().map(|(name, value)| format!("  {name}: '{value}'\n")).collect();
    place.write("wrong.yaml", format!("name: wrong\ntargets: {{a: {{url: http://127.0.0.1:1/}}}}\nsettings:\n{lines}"));
    let ended = place.run(["run", "wrong.yaml"]);
    ended.expect(2);
    for (line, (name, _)) in (4..).zip(wrong) {
        let told =
            ended.stderr.lines().any(|told| told.starts_with(&format!("wrong.yaml:{line}:")) && told.contains(name));
        assert!(told, "{line} {name}: {}", ended.stderr);
    }
    assert!(ended.stderr.contains("10 mistakes"), "{}", ended.stderr);
}

/// Each line of the file has mistakes that a different check finds: the YAML, the keys, the variables, the targets, the
/// flags of the servers, the values of flags, their combinations, the axes, the links, the fill or the hooks.
#[test]
fn mistakes_of_every_kind_are_reported_in_one_go() {
    let place = TestDir::new();
    let text = "\
name: every mistake
nots: x
vars: {host: '${nowhere}', port: , size: 1MiB, size: 2MiB}
targets:
  a: {url: 'http://${host}:${port}/x', duration: 1 fortnight}
  b: {url: served/x, serve: {as: nothing, delay: soon, listen: '127.0.0.1:1'}}
  c: {url: ftp://h/x, hooks: {befor: sync}}
  d: {url: http://h/x, serve: {queue: 5}}
setings: {objective: p99 <= 500, duratoin: 1s, repeat: 3}
parts:
  load:
    settings: {range: 1M, verify: 'yes', rate: 100, think: 1s, insecure: true, cacert: x.pem}
    matrix: {timout-head: [1s, 2s], seed: [1, 1], drain: []}
  links:
    matrix: {link: {slow: {down: {rate: fast, delay: soon}}, odd: {dwon: 1ms}}}
    hooks: {check: }
  fill: {settings: {command: fill, stop-when: 'time > long', count: 3, size: 1MiB}}
  write: {settings: {command: psot, count: several}}
order: interleavd
hooks: {during: [a, b]}
";
    place.write("wrong.yaml", text);
    let ended = place.run(["run", "wrong.yaml", "--set", "tiem=1s"]);
    ended.expect(2);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let wanted = [
        "--set tiem: wrong.yaml has no such variable",
        "wrong.yaml:1:7: `every mistake` cannot name a directory",
        "wrong.yaml:2:1: unknown `nots`; did you mean `notes`?",
        "wrong.yaml:3:14: no variable `nowhere`",
        "wrong.yaml:3:48: `size` appears a second time",
        "wrong.yaml:5:12: no variable `port`",
        "wrong.yaml:5:50: --duration: `1 fortnight` is not a span of time",
        "wrong.yaml:6:30: invalid value 'nothing' for '--as",
        "wrong.yaml:6:43: --delay: `soon` is not a span of time",
        "wrong.yaml:6:56: `listen` is not a setting",
        "wrong.yaml:7:12: `ftp://h/x`: the scheme",
        "wrong.yaml:7:31: unknown `befor`; did you mean `before`?",
        "wrong.yaml:8:32: --queue requires --as alluxio",
        "wrong.yaml:9:1: unknown `setings`; did you mean `settings`?",
        "wrong.yaml:9:22: --objective",
        "wrong.yaml:9:44: unknown flag `--duratoin`",
        "wrong.yaml:9:48: `repeat` is not a setting of a scenario",
        "wrong.yaml:12:23: --range: `1M`",
        "wrong.yaml:12:35: --verify takes no value",
        "wrong.yaml:12:88: --insecure and --cacert exclude each other",
        "wrong.yaml:12:60: --rate and --think exclude each other",
        "wrong.yaml:13:14: unknown flag `--timout-head`",
        "wrong.yaml:13:47: `1` is listed twice",
        "wrong.yaml:13:58: `drain` has no values",
        "wrong.yaml:15:27: `link`: `fast` is not a data rate",
        "wrong.yaml:15:27: `link`: `soon` is not a span of time",
        "wrong.yaml:15:68: unknown `dwon`; did you mean `down`?",
        "wrong.yaml:16:13: `check` has no command",
        "wrong.yaml:17:47: --stop-when",
        "wrong.yaml:18:31: `command` must be get, put, mix, line or fill",
        "wrong.yaml:18:44: --count: `several` is not a whole number above 0",
        "wrong.yaml:19:8: unknown `interleavd`; did you mean `interleaved`?",
        "wrong.yaml:20:17: `during` must be a command",
    ];
    for wanted in wanted {
        assert!(lines.iter().any(|line| line.starts_with(wanted)), "no {wanted}:\n{}", ended.stderr);
    }
    // Nothing else is reported, because no mistake causes another one.
    assert_eq!(lines.len(), wanted.len() + 1, "{}", ended.stderr);
    assert_eq!(lines.last(), Some(&"plimsoll: 32 mistakes in wrong.yaml"));
}

/// One target becomes slow above 40 concurrent requests, and the other above 20.
#[test]
fn a_cell_can_be_a_load_line() {
    let _cores = all_cores();
    let place = TestDir::new();
    let slowing = |capacity: &str| place.serve(&["--delay", "10ms", "--capacity", capacity]);
    let ((_first, first), (_second, second)) = (slowing("40:30ms"), slowing("20:30ms"));
    place.write(
        "lines.yaml",
        "name: lines\ntargets: {first: {url: '${first}'}, second: {url: '${second}'}}\n\
         settings: {duration: 1s, objective: response p95 <= 25ms}\n\
         parts:\n  load: {matrix: {concurrency: [2]}}\n  \
         line: {settings: {from: 8, to: 128}, matrix: {concurrency: [line]}}\n",
    );
    let (first, second) = (format!("first={first}"), format!("second={second}"));
    let words = ["run", "lines.yaml", "--out", "study", "--set", &first, "--set", &second];
    let dry = place.run(words.iter().chain(&["--dry-run"]));
    dry.expect(0);
    assert!(
        dry.stdout.contains("plimsoll line --duration=1s") && dry.stdout.contains("--on=concurrency"),
        "{}",
        dry.stdout
    );
    // The projected time includes the searches.
    assert!(!dry.stdout.contains("until done"), "{}", dry.stdout);
    let study = place.run(words.iter().chain(&["--json"]));
    study.expect(0);
    assert_eq!(trials(&study).len(), 2);
    let found: Value = serde_json::from_str(&study.stdout).unwrap();
    for (index, (target, planted)) in [("first", 40), ("second", 20)].into_iter().enumerate() {
        let trial = &found["load_lines"][index];
        let passed = trial["load_line"]["passed"].as_i64().unwrap();
        assert!(trial["target"] == target && (passed - planted).abs() <= 2, "{trial:#}");
    }
    let text = place.run(["report", "study"]);
    text.expect(0);
    assert!(text.stdout.contains("load line") && text.stdout.contains("in flight"), "{}", text.stdout);
    place
        .write("put.yaml", "name: p\ntargets: {a: {url: http://127.0.0.1:1/}}\nsettings: {command: put, rate: line}\n");
    let put = place.run(["run", "put.yaml", "--dry-run"]);
    put.expect(2);
    assert!(put.stderr.contains("put.yaml:3:"), "the position is missing: {}", put.stderr);
    let writes = "name: p\ntargets: {a: {url: http://127.0.0.1:1/}}\n\
                  settings: {command: put, count: 1, size: 1KiB, rate: line}\n";
    place.write("put.yaml", writes);
    let put = place.run(["run", "put.yaml", "--dry-run"]);
    put.expect(0);
    assert!(put.stdout.contains("plimsoll line put --count=1 --size=1KiB --on=rate"), "{}", put.stdout);
}

#[test]
fn targets_take_turns_and_a_study_can_be_resumed() {
    let _cores = all_cores();
    let place = TestDir::new();
    let (server, base) = server(&place);
    place.write("pair.yaml", SCENARIO);
    let set = format!("fast={base}");
    let study = place.run(["run", "pair.yaml", "--set", &set, "--json", "--out", "study"]);
    study.expect(0);
    let all = trials(&study);
    let order: Vec<(&str, &str, u64)> = all
        .iter()
        .map(|trial| {
            let text = |key: &str| trial[key].as_str().unwrap();
            (text("cell"), text("target"), trial["repeat"].as_u64().unwrap())
        })
        .collect();
    let of = |cell| [(cell, "fast", 1), (cell, "slow", 1), (cell, "slow", 2), (cell, "fast", 2)];
    assert_eq!(order, [of("concurrency 1"), of("concurrency 2")].concat());
    for trial in &all {
        let (rate, p50) = (trial["ok_per_second"].as_f64().unwrap(), trial["response_p50_nanos"].as_u64().unwrap());
        let slow = trial["target"] == "slow";
        assert!(rate > 0.0 && (p50 >= 20_000_000) == slow, "{trial:#}");
    }
    // Put the files into the state that a kill during the sixth trial would leave.
    let log = place.path("study/study.jsonl");
    let lines: Vec<String> = fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 9);
    fs::write(&log, format!("{}\n{}", lines[..6].join("\n"), &lines[6][..20])).unwrap();
    let other = place.run(["run", "pair.yaml", "--set", "fast=http://127.0.0.1:2", "--resume", "study"]);
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    let resumed = place.run(["run", "pair.yaml", "--set", &set, "--json", "--resume", "study"]);
    resumed.expect(0);
    assert!(resumed.stderr.contains("[1 of 3]"), "{}", resumed.stderr);
    let again = trials(&resumed);
    assert_eq!((again.len(), &again[..5]), (8, &all[..5]), "complete trials were run again");
    let text = place.run(["report", "study"]);
    text.expect(0);
    assert!(text.stdout.contains("vs. first") && text.stdout.contains(" × ("), "{}", text.stdout);
    server.stop();
}

#[test]
fn cells_are_subtracted_in_pairs_and_failed_trials_are_kept() {
    let _cores = all_cores();
    let place = TestDir::new();
    let (server, base) = server(&place);
    place.write(
        "three.yaml",
        format!(
            "name: three\ntargets:\n  near: {{url: '{base}/blackhole/1KiB'}}\n  far: {{url: '{base}/blackhole/1KiB?delay=40ms'}}\n  \
             dead: {{url: '{base}/nothing'}}\nsettings: {{requests: 20}}\nmatrix: {{concurrency: [1, 2]}}\nrepeats: 2\n"
        ),
    );
    let study = place.run(["run", "three.yaml", "--out", "study", "--json"]);
    study.expect(1);
    let of = |words: &[&str]| -> Vec<Value> {
        let ended = place.run(["report", "study", "--json"].iter().chain(words));
        ended.expect(1);
        let found: Value = serde_json::from_str(&ended.stdout).unwrap();
        found["differences"].as_array().unwrap().clone()
    };
    let metric = |one: &Value, name: &str| -> Value {
        let metrics = one["metrics"].as_array().unwrap();
        metrics.iter().find(|metric| metric["metric"] == name).unwrap_or_else(|| panic!("no {name}: {one:#}")).clone()
    };
    let all = of(&[]);
    let sides: Vec<(&str, &str)> = all
        .iter()
        .map(|one| (one["of"]["target"].as_str().unwrap(), one["minus"]["target"].as_str().unwrap()))
        .collect();
    assert_eq!(sides, [("far", "near"), ("dead", "near"), ("far", "near"), ("dead", "near")]);
    for one in &all {
        assert_eq!(one["pairs"], 2, "{one:#}");
        let (success, ttfb) = (metric(one, "success"), metric(one, "ttfb_p50"));
        assert_eq!(ttfb["unit"], "nanoseconds");
        if one["of"]["target"] == "dead" {
            assert_eq!((&one["pairs_without_success"], &one["conclusion"]), (&2.into(), &"worse".into()), "{one:#}");
            assert_eq!((&success["difference"], &success["conclusion"]), (&(-1.0).into(), &"worse".into()));
            assert_eq!((&ttfb["of"], &ttfb["difference"]), (&Value::Null, &Value::Null));
        } else {
            assert_eq!((&one["pairs_without_success"], &success["difference"]), (&0.into(), &0.0.into()), "{one:#}");
            for name in ["ttfb_p50", "response_p50"] {
                let least = metric(one, name)["least"].as_f64().unwrap();
                assert!(least > 20e6, "{name}: {one:#}");
            }
        }
    }
    let text = place.run(["report", "study", "--subtract", "concurrency=2", "concurrency=1"]);
    assert!(text.stdout.contains("near: (concurrency 2) − (concurrency 1) · 2 pairs"), "{}", text.stdout);
    assert_eq!(of(&["--subtract", "concurrency=2", "concurrency=1"]).len(), 3);
    assert_eq!(of(&["--subtract", "concurrency 2", "concurrency 1"]).len(), 3);
    assert_eq!(of(&["--subtract", "target=far,concurrency=1", "target=near"]).len(), 1);
    for words in [["target=far", "target=elsewhere"], ["concurrency=7", "concurrency=1"], ["near", "far"]] {
        let ended = place.run(["report", "study", "--subtract"].iter().chain(&words));
        ended.expect(2);
        assert!(ended.stderr.contains("target (near, far, dead), concurrency (1, 2)"), "{}", ended.stderr);
    }
    let schema: Value = serde_json::from_str(&place.run(["schema", "study"]).stdout).unwrap();
    let whole = place.run(["report", "study", "--json"]);
    let errors: Vec<String> = jsonschema::validator_for(&schema)
        .unwrap()
        .iter_errors(&serde_json::from_str(&whole.stdout).unwrap())
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    server.stop();
}

#[test]
fn hooks_run_around_each_trial_and_a_failing_hook_ends_the_study() {
    let _cores = all_cores();
    let place = TestDir::new();
    let (server, base) = server(&place);
    let scenario = "name: hooked\ntargets: {a: {url: '${base}/blackhole/1KiB'}}\nsettings: {requests: 5}\n\
         matrix: {cache: [cold, warm]}\nhooks:\n  \
         before: 'echo $PLIMSOLL_CACHE on $PLIMSOLL_TARGET >> \"$PLACE/seen\"; echo said'\n  \
         check: 'test \"$PLIMSOLL_CACHE\" != \"$FORBIDDEN\"'\n  after: 'echo after >> \"$PLACE/seen\"'\n";
    place.write("hooked.yaml", scenario);
    let set = format!("base={base}");
    let here = place.path("").display().to_string();
    let words = ["run", "hooked.yaml", "--set", &set, "--out", "study", "--json"];
    let dry = place.run(words.iter().chain(&["--dry-run"]));
    dry.expect(0);
    assert!(dry.stdout.contains("before: echo $PLIMSOLL_CACHE") && !dry.stdout.contains("--cache"), "{}", dry.stdout);
    let run = |words: &[&str], forbidden: &str| {
        let mut command = place.command(words);
        command.env("PLACE", &here).env("FORBIDDEN", forbidden);
        Running::of(command).end()
    };
    let refused = run(&words, "warm");
    refused.expect(4);
    assert!(refused.stderr.contains("the hook `check` failed"), "{}", refused.stderr);
    let done = ["run", "hooked.yaml", "--set", &set, "--resume", "study", "--json"];
    let study = run(&done, "");
    study.expect(0);
    assert_eq!(trials(&study).len(), 2);
    let seen = fs::read_to_string(place.path("seen")).unwrap();
    assert_eq!(seen, "cold on a\nafter\nwarm on a\nafter\nwarm on a\nafter\n");
    let log = place.path("study/002-cache-warm/a-1.hooks.log");
    assert_eq!(fs::read_to_string(log).unwrap(), "said\nsaid\n", "not one line per attempt");
    server.stop();
}

/// The hook works like a profiler, which writes its results when it is asked to end. The hook has a child that would
/// run for 10 minutes if it were not killed.
#[test]
fn a_hook_runs_during_the_trial_and_is_stopped_with_it() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, base) = server(&place);
    let scenario = "name: profiled\ntargets: {a: {url: '${base}/blackhole/1KiB'}}\n\
         settings: {duration: 2s, rate: 50}\nmatrix: {concurrency: [1, 2]}\nhooks:\n  \
         during: 'trap \"echo profile; exit 0\" TERM; echo begin; sleep 600 & wait'\n  after: echo after\n";
    place.write("profiled.yaml", scenario);
    let set = format!("base={base}");
    let begun = Instant::now();
    place.run(["run", "profiled.yaml", "--set", &set, "--out", "study"]).expect(0);
    assert!(begun.elapsed() < Duration::from_secs(60), "the study waited for the hook");
    for trial in ["001-concurrency-1", "002-concurrency-2"] {
        let log = fs::read_to_string(place.path(&format!("study/{trial}/a-1.hooks.log"))).unwrap();
        assert_eq!(log, "begin\nprofile\nafter\n", "{trial}");
    }
    // A hook that fails does not end the study, but is reported.
    place.write("failing.yaml", scenario.replace("sleep 600 & wait", "exit 3"));
    let failing = place.run(["run", "failing.yaml", "--set", &set, "--out", "failing"]);
    let message = "the hook `during` failed (exit status: 3)";
    assert!(failing.expect(0).stderr.contains(message), "{}", failing.stderr);
    server.stop();
}

#[test]
fn objects_that_only_one_target_serves_are_named() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, base) = server(&place);
    let good = format!("{base}/blackhole/1KiB\n");
    place.write("all.txt", good.repeat(4));
    place.write("some.txt", format!("{good}{base}/nothing\n{good}{base}/nothing/either\n"));
    place.write(
        "differing.yaml",
        "name: differing\ntargets: {whole: {url-file: all.txt}, torn: {url-file: some.txt}}\n\
         settings: {requests: 40, concurrency: 2, log-ops: true, objective: success >= 10%}\n",
    );
    let study = place.run(["run", "differing.yaml", "--out", "study", "--json"]);
    study.expect(0);
    let found: Value = serde_json::from_str(&study.stdout).unwrap();
    let [one] = found["discrepancies"].as_array().unwrap().as_slice() else { panic!("{found:#}") };
    assert_eq!((&one["succeeds_on"], &one["fails_on"]), (&"whole".into(), &"torn".into()));
    assert_eq!((&one["objects"], &one["requested"]), (&2.into(), &4.into()));
    let first: Vec<(u64, &str, u64)> = one["first"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["object"].as_u64().unwrap(), one["class"].as_str().unwrap(), one["failed"].as_u64().unwrap()))
        .collect();
    assert_eq!(first, [(1, "http_4xx", 10), (3, "http_4xx", 10)]);
    let text = place.run(["report", "study"]);
    assert!(
        text.stdout.contains("2 objects of 4 succeed on whole and fail on torn: #1 http_4xx, #3"),
        "{}",
        text.stdout
    );
    server.stop();
}

#[test]
fn a_long_dry_run_shows_the_parts_of_the_study_first() {
    let place = TestDir::new();
    let text = "name: long\ntargets: {a: {url: http://127.0.0.1:1/}, b: {url: http://127.0.0.1:2/}}\n\
                settings: {duration: 1m}\nhooks: {before: sync}\nrepeats: 3\nparts:\n  \
                load: {matrix: {concurrency: [1, 2, 4, 8, 16], range: [1KiB, 1MiB]}}\n  \
                work: {settings: {duration: false, requests: 10}}\n";
    place.write("long.yaml", text);
    let short = place.run(["run", "long.yaml", "--dry-run"]);
    short.expect(0);
    let wanted = "\
long: 66 trials

  load: 10 cells on 2 targets, 3 repeats: 1h
    concurrency: 1 to 16 (5 values)
    range: 1KiB, 1MiB
  work: 1 cell on 2 targets, 3 repeats: 6 trials that run until done

projected time: 1h, plus 6 trials that run until done
not known: speeds; --assume 1.25GB/s, for example, projects more times and bytes
--full also prints every cell with its command, hooks and costs
";
    assert_eq!(short.stdout, wanted);
    let full = place.run(["run", "long.yaml", "--dry-run", "--full"]);
    full.expect(0);
    assert_eq!(full.stdout.matches("    plimsoll get ").count(), 22, "{}", full.stdout);
    assert_eq!(full.stdout.matches("    before: sync").count(), 22, "{}", full.stdout);
}

#[test]
fn a_dry_run_shows_how_long_a_cell_takes() {
    let place = TestDir::new();
    place.write(
        "long.yaml",
        "name: long\ntargets: {a: {url: http://127.0.0.1:1/piece}}\nsettings: {range: 1GiB, warmup: 0s}\nparts:\n  \
         once: {settings: {ops-per-slot: 1}, matrix: {concurrency: [1000]}}\n  \
         timed: {settings: {duration: 1m}, matrix: {concurrency: [8]}}\n",
    );
    let dry = |words: &[&str]| {
        let ended = place.run(["run", "long.yaml", "--dry-run"].iter().chain(words));
        ended.expect(0);
        ended.stdout
    };
    let assumed = dry(&["--assume", "1.25GB/s"]);
    // At 1.25 GB/s, reading 1,000 objects of 1 GiB takes 859 s, and 75 GB are read in a minute.
    assert!(assumed.contains("once, concurrency 1000, a: 1 × 14m19s, at most 1.07 TB"), "{assumed}");
    assert!(assumed.contains("timed, concurrency 8, a: 1 × 1m, at most 75.00 GB"), "{assumed}");
    assert!(assumed.contains("projected time: 15m19s\nprojected bytes: at most 1.15 TB\n"), "{assumed}");
    let unknown = dry(&[]);
    assert!(unknown.contains("1 × until done, at most 1.07 TB") && unknown.contains("a: 1 × 1m\n"), "{unknown}");
}

#[test]
fn every_mistake_is_reported_with_its_position_and_nothing_is_run() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let text = "name: t\ntargets:\n  a: {url: ftp://h/x}\nsettings:\n  duratoin: 1s\nmatrix:\n  concurrency: [1, many]\n  range: [1M]\n";
    place.write("wrong.yaml", text);
    let ended = place.run(["run", "wrong.yaml"]);
    assert_eq!(ended.code, Some(2));
    let wanted = ["wrong.yaml:3:12: ", "ftp://", "wrong.yaml:5:13: ", "duratoin", "wrong.yaml:7:20: ", "many"];
    for told in wanted.iter().chain(&["wrong.yaml:8:11: ", "1MB or 1MiB"]) {
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
    assert!(!place.path("runs").exists(), "a trial was run");
    let absent = place.run(["run", "none.yaml"]);
    assert_eq!(absent.code, Some(2), "{}", absent.stderr);
    place.write("twice.yaml", SCENARIO.replace("[1, 2]", "[1, 2, 1]"));
    let twice = place.run(["run", "twice.yaml", "--dry-run"]);
    twice.expect(2);
    let told = "twice.yaml:7:30: `1` is listed twice as a value of `concurrency`";
    assert!(twice.stderr.contains(told), "{}", twice.stderr);
}

#[test]
fn an_unknown_name_is_refused_and_the_known_ones_are_listed() {
    let place = TestDir::new();
    place.write("pair.yaml", SCENARIO.replace("200ms", "'${time}'"));
    let dry = |words: &[&str]| place.run(["run", "pair.yaml", "--dry-run", "--set", "time=1s"].iter().chain(words));
    dry(&["--set", "fast=http://127.0.0.1:2"]).expect(0);
    dry(&["--only", "concurrency=2", "--only", "target=slow"]).expect(0);
    for (words, told) in [
        (["--set", "tiem=60s"], "--set tiem: pair.yaml has no such variable; its variables are fast, time"),
        (
            ["--only", "concurrency=3"],
            "--only concurrency=3 selects no trial: this scenario has target (fast, slow), concurrency (1, 2)",
        ),
        (
            ["--only", "rang=1MiB"],
            "--only rang=1MiB selects no trial: this scenario has target (fast, slow), concurrency (1, 2)",
        ),
    ] {
        let ended = dry(&words);
        ended.expect(2);
        assert_eq!(ended.stderr, format!("plimsoll: {told}\n"));
    }
    place.write("bare.yaml", "name: bare\ntargets: {a: {url: http://127.0.0.1:1/}}\n");
    let none = place.run(["run", "bare.yaml", "--dry-run", "--set", "a=b"]);
    none.expect(2);
    assert_eq!(none.stderr, "plimsoll: --set a: bare.yaml has no variables\n");
}

#[test]
fn a_study_that_stops_early_shows_its_results_and_how_to_resume_it() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, base) = server(&place);
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr()).unwrap();
    place.write(
        "pair.yaml",
        format!(
            "name: pair\ntargets: {{up: {{url: {base}/blackhole/1KiB}}, down: {{url: http://{closed}/}}}}\n\
             settings: {{requests: 5}}\n"
        ),
    );
    for (words, place_of) in [(&["--out", "study"], "[1 of 2]"), (&["--resume", "study"], "[1 of 1]")] {
        let ended = place.run(["run", "pair.yaml"].iter().chain(words));
        ended.expect(4);
        assert!(ended.stderr.contains(place_of) && ended.stderr.contains("\nsaved in study\n"), "{}", ended.stderr);
        let last = ended.stderr.lines().last().unwrap_or_default();
        assert!(last.contains("cannot reach"), "{}", ended.stderr);
        assert!(last.ends_with("; `plimsoll run pair.yaml --resume study` continues the study"), "{}", ended.stderr);
        assert!(
            ended.stdout.contains("1 of 2 missing: `plimsoll run SCENARIO --resume DIR` runs them"),
            "{}",
            ended.stdout
        );
        let shown = place.run(["report", "study"]);
        assert_eq!(shown.stdout, ended.stdout, "the later report differs");
    }
    server.stop();
}
