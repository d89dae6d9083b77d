//! Directories that contain no readable run, or a run that must not be overwritten.

use crate::support::{Nginx, Setup, TestDir, expect_refusal};
use std::process::Command;
use std::time::Duration;

#[test]
fn a_directory_that_contains_a_run_is_not_overwritten() {
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    place.run(["get", &nginx.url("/f/1k"), "-n", "10", "--out", "out"]).expect(0);
    let before = std::fs::read(place.path("out/records.jsonl.zst")).expect("there is a run");
    let ended = place.run(["get", &nginx.url("/f/1k"), "-n", "10", "--out", "out"]);
    assert!(matches!(ended.code, Some(2 | 4)), "{:?}", ended.code);
    expect_refusal("--out", &ended, ended.code.unwrap_or(0), &["out", "already contains a run", "another directory"]);
    assert_eq!(std::fs::read(place.path("out/records.jsonl.zst")).ok(), Some(before));
    assert_eq!(nginx.quit().len(), 10, "the second run sent nothing");
}

#[test]
fn a_directory_without_a_run_has_no_report() {
    let place = TestDir::new();
    place.write("file", "x");
    std::fs::create_dir_all(place.path("garbage")).expect("can create a directory");
    place.write("garbage/records.jsonl.zst", "this is not zstd");
    for directory in ["file", "garbage", "."] {
        expect_refusal(directory, &place.run(["report", directory]), 2, &[directory]);
    }
    expect_refusal("missing", &place.run(["report", "missing"]), 2, &["missing", "no such directory"]);
}

#[test]
fn a_pipe_instead_of_records_does_not_block() {
    let place = TestDir::new();
    for directory in ["pipe", "device", "directory"] {
        std::fs::create_dir(place.path(directory)).expect("can create a directory");
    }
    let made = Command::new("mkfifo").arg(place.path("pipe/records.jsonl.zst")).status();
    assert!(made.is_ok_and(|status| status.success()), "can create a pipe");
    std::os::unix::fs::symlink("/dev/zero", place.path("device/records.jsonl.zst")).expect("can create a link");
    std::fs::create_dir(place.path("directory/records.jsonl.zst")).expect("can create a directory");
    for directory in ["pipe", "device", "directory"] {
        let ended = place.start(["report", directory]).end_within(Duration::from_secs(10));
        expect_refusal(directory, &ended, 2, &[directory, "not a regular file"]);
    }
}

#[test]
fn runs_and_studies_of_another_version_are_refused_with_its_format() {
    let place = TestDir::new();
    for directory in ["run", "repeats/1", "study", "line"] {
        std::fs::create_dir_all(place.path(directory)).expect("can create a directory");
    }
    let begin = zstd::bulk::compress(b"{\"begin\":{\"format\":1,\"old\":0}}\n", 1).expect("can compress the record");
    place.write("run/records.jsonl.zst", &begin);
    place.write("repeats/1/records.jsonl.zst", &begin);
    place.write("study/study.jsonl", "{\"scenario\":{\"format\":1,\"old\":0}}\n");
    place.write("line/study.jsonl", "{\"line\":{\"format\":1,\"old\":0}}\n");
    let words = ["made by another version of plimsoll", "format 1", "only format 2", "use that version"];
    for directory in ["run", "study", "line"] {
        expect_refusal(directory, &place.run(["report", directory]), 2, &words);
    }
    let repeats = place.run(["report", "repeats"]);
    expect_refusal("repeats", &repeats, repeats.code.unwrap_or(0), &words);
    let scenario = place.write("s.yaml", "name: s\ntargets: {a: {url: http://127.0.0.1:1/}}\n");
    let resumed = place.run(["run", &scenario.display().to_string(), "--resume", "study"]);
    expect_refusal("--resume", &resumed, resumed.code.unwrap_or(0), &words[..3]);
}
