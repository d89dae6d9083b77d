//! Tests of the whole benchmark with one cause. The target is the real Go server, and a shell script replaces the
//! program.

use super::cause::Cause;
use super::confusion_matrix::JudgedRun;
use super::report::ResultWord;
use super::seed_of;
use super::test_bed::{TestBed, arguments};
use super::trial::Trial;
use crate::console;
use clap::ValueEnum;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns whether Go is installed. Panics if Go is missing and the environment contains `REQUIRE_PEERS=1`.
fn has_go() -> bool {
    let found = Command::new("go").arg("version").output().is_ok();
    let required = std::env::var_os("REQUIRE_PEERS").is_some_and(|value| value == "1");
    assert!(found || !required, "go is not installed, and REQUIRE_PEERS=1");
    if !found {
        console::note("skipped: go is not installed");
    }
    found
}

/// Writes a shell script that sends three requests and prints a report with this limit and median.
fn fake_program(directory: &Path, limit: &str, p50_nanos: u64) -> PathBuf {
    let report = json!({"limited_by": limit, "operations": {"offered": 3, "ok": 3}, "asked": {"model": "open"},
        "times": {"response": {"quantiles": [{"q": 0.5, "nanos": p50_nanos}]}}});
    let script = format!(
        "#!/bin/bash
for url; do :; done
rest=${{url#http://}}; host=${{rest%%/*}}
for number in 1 2 3; do
    exec 3<>/dev/tcp/${{host%%:*}}/${{host##*:}}
    printf 'GET /object HTTP/1.0\\r\\n\\r\\n' >&3
    cat <&3 >/dev/null
done
echo '{report}'
"
    );
    let path = directory.join("fake-program");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn trial() -> Trial {
    Trial { cause: Cause::TargetDelay, variant: Cause::TargetDelay.variant(0), seconds: 1, seed: 1 }
}

#[test]
fn a_run_is_judged_by_the_log_of_the_target() {
    if !has_go() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // A request takes 20 ms, plus the lateness of timers. A busy machine adds more delay, so one run of five with the
    // expected result is enough.
    for (limit, p50_nanos, right, spoiled) in [("rate", 21_000_000, true, false), ("target", 5_000_000, false, true)] {
        let bed = TestBed::new(fake_program(directory.path(), limit, p50_nanos)).unwrap();
        let tries = (0..5).map(|_| bed.run(trial()).unwrap().judge());
        let wanted =
            |run: &JudgedRun| run.named_right == right && run.spoiled == Some(spoiled) && run.word == ResultWord::Pass;
        let runs: Vec<JudgedRun> = tries.collect();
        assert!(runs.iter().any(wanted), "{runs:?}");
    }
}

#[test]
fn seeds_differ_and_fit_the_target() {
    let runs = Cause::value_variants().iter().flat_map(|&cause| (0..20).map(move |repeat| seed_of(7, cause, repeat)));
    let seeds: Vec<u64> = runs.collect();
    assert!(seeds.iter().all(|&seed| i64::try_from(seed).is_ok()));
    assert_eq!(seeds.iter().collect::<std::collections::HashSet<_>>().len(), seeds.len());
}

#[test]
fn command_lines_follow_the_variant() {
    let line = |cause: Cause, repeat| {
        arguments(Trial { cause, variant: cause.variant(repeat), seconds: 5, seed: 1 }, "URL").join(" ")
    };
    assert_eq!(line(Cause::TargetQueue, 0), "get --json --quiet --insecure -d 5s --warmup=1s -R 380 URL");
    assert_eq!(line(Cause::TargetQueue, 1), "get --json --quiet --insecure -d 5s --warmup=1s --probe=1s -c 16 URL");
    assert_eq!(line(Cause::OneLevel, 1), "get --json --quiet --insecure -d 5s --warmup=1s -c 8 URL");
    assert_eq!(
        line(Cause::TargetQueue, 2),
        "put --json --quiet --insecure -d 5s --warmup=1s -R 380 --http2 --streams=1 --count 1000 --size 1024 URL"
    );
    assert!(line(Cause::ClientSignedUpload, 0).ends_with("--payload signed s3://bucket/objects URL"));
    let ports = line(Cause::Ports, 0);
    assert!(ports.contains("--no-keepalive") && !ports.contains("--warmup"), "{ports}");
}
