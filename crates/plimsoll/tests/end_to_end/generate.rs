//! Datasets on disk. `generate` writes complete datasets, resumes after an interrupt, and never overwrites other files.

use crate::support::{Ended, KIB, Running, TestDir, peer, skip, wait_for};
use report::number::count;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Returns the path and the size of every file below a directory.
fn files(directory: &Path) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in fs::read_dir(next).expect("can read a directory") {
            let entry = entry.expect("can read a directory");
            let kind = entry.metadata().expect("there is a file");
            if kind.is_dir() {
                directories.push(entry.path());
            } else {
                let name = entry
                    .path()
                    .strip_prefix(directory)
                    .expect("the path is below the directory")
                    .display()
                    .to_string();
                found.insert(name, kind.len());
            }
        }
    }
    found
}

fn sha256(path: &Path) -> String {
    let hash = Sha256::digest(fs::read(path).expect("can read a file"));
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Asserts that the message is one line with all of these words, and that the exit code is `code`.
#[track_caller]
fn expect_refusal(ended: &Ended, code: i32, words: &[&str]) {
    ended.expect(code);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    for word in words {
        assert!(ended.stderr.contains(word), "`{word}` is missing: {}", ended.stderr);
    }
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
}

/// Asserts that the program printed only the summary.
#[track_caller]
fn expect_summary(ended: &Ended, beginning: &str, end: &str) {
    ended.expect(0);
    assert!(ended.stdout.starts_with(beginning) && ended.stdout.trim_end().ends_with(end), "{}", ended.stdout);
    assert_eq!(ended.stdout.lines().count(), 1);
    assert!(ended.stderr.is_empty(), "a progress line without a terminal: {}", ended.stderr);
}

/// The hash was computed with Python and openssl (see crates/content/tests/vectors/make.py).
#[test]
fn the_bytes_equal_those_of_another_implementation() {
    let place = TestDir::new();
    let ended = place.run(["generate", "set", "--count", "1", "--size", "1000003"]);
    expect_summary(&ended, "1 file, 1.00 MB in ", " GB/s");
    assert_eq!(
        sha256(&place.path("set/object-00000000.bin")),
        "b1cb7bab8ccd029f6ce8b650cd2dbe4edf4a66b9600fbdbb31733dd06a0630dd"
    );
}

#[test]
fn a_total_is_exact_with_any_distribution() {
    for size in ["64KiB", "1KiB..100KiB", "10KiB,20KiB,0", "1KiB:5,100KiB:1", "loguniform:1KiB..1MiB"] {
        let place = TestDir::new();
        place.run(["generate", "set", "--total", "3000001", "--size", size, "--threads", "3"]).expect(0);
        let found = files(&place.path("set"));
        assert_eq!(found.values().sum::<u64>(), 3_000_001, "{size}: {found:?}");
        for (index, name) in found.keys().enumerate() {
            assert_eq!(*name, format!("object-{index:08}.bin"));
        }
    }
}

#[test]
fn names_follow_the_flags() {
    let place = TestDir::new();
    let names = ["--prefix", "a/b-", "--digits", "3", "--extension", ".x", "--directories", "4"];
    place.run(["generate", "deep/set", "--count", "40", "--size", "10"].iter().chain(&names)).expect(0);
    let found = files(&place.path("deep/set"));
    assert_eq!(found.len(), 40);
    let directories: std::collections::BTreeSet<&str> = found.keys().map(|name| &name[..4]).collect();
    assert_eq!(directories.into_iter().collect::<Vec<_>>(), ["a/0/", "a/1/", "a/2/", "a/3/"]);
    assert!(found.keys().all(|name| name[4..].starts_with("b-0") && name.ends_with(".x")), "{found:?}");
}

/// For a total of 250 MiB, the other tool makes 5 files of 50 MiB. This test uses sizes that are 100 times smaller. If
/// the total is not a multiple of the file size, the tool writes one more file of full size.
#[test]
fn like_dummy_file_generator_names_and_sizes_files_in_its_way() {
    let place = TestDir::new();
    let like = |total, directory| {
        let size = ["--size", "524288", "--prefix", "dummy-"];
        place.run(["generate", "--like", "dummy-file-generator", "--total", total, directory].iter().chain(&size))
    };
    like("2621440", "even").expect(0);
    let names = |count: u64| (0..count).map(|index| (format!("dummy-{index:08}.testfile"), 524_288)).collect();
    assert_eq!(files(&place.path("even")), names(5));
    like("2621441", "odd").expect(0);
    assert_eq!(files(&place.path("odd")), names(6));
    like("0", "none").expect(0);
    assert!(files(&place.path("none")).is_empty());
}

#[test]
fn a_second_run_completes_the_missing_files_and_changes_no_other() {
    let place = TestDir::new();
    let words = ["generate", "set", "--total", "1MiB", "--size", "100KiB"];
    place.run(words).expect(0);
    let whole = files(&place.path("set"));
    assert_eq!(whole.len(), 11);
    let sum = sha256(&place.path("set/object-00000004.bin"));
    let untouched = || fs::metadata(place.path("set/object-00000001.bin")).map(|file| (file.ino(), file.mtime_nsec()));
    let before = untouched().expect("the file exists");

    // Create the state after a killed run. A file is missing, and a file with a temporary name has its first bytes.
    fs::remove_file(place.path("set/object-00000004.bin")).expect("the file existed");
    place.write("set/.object-00000004.bin.partial", b"rubbish of a killed run");
    place.write("set/notes.txt", b"mine");
    let again = place.run(words);
    expect_summary(&again, "1 file, 102.40 kB in ", "; 10 existed already");
    assert_eq!(sha256(&place.path("set/object-00000004.bin")), sum);
    assert_eq!(untouched().expect("the file exists"), before);
    fs::remove_file(place.path("set/notes.txt")).expect("other files are unchanged");
    assert_eq!(files(&place.path("set")), whole, "an incomplete file was left");
    expect_summary(&place.run(words), "0 files, 0 B in ", "; 11 existed already");
}

#[test]
fn check_compares_the_content_of_existing_files() {
    let place = TestDir::new();
    let words = ["generate", "set", "--count", "3", "--size", "2000000"];
    place.run(words).expect(0);
    let check = || place.run(words.iter().chain(&["--check"]));
    expect_summary(&check(), "0 files, 0 B in ", "; 3 existed with the right content");

    let path = place.path("set/object-00000001.bin");
    let mut bytes = fs::read(&path).expect("the file exists");
    bytes[1_234_567] ^= 1;
    fs::write(&path, &bytes).expect("can change the file");
    expect_summary(&place.run(words), "0 files, 0 B in ", "; 3 existed already");
    expect_refusal(&check(), 4, &["object-00000001.bin", "byte 1234567: expected ", "remove this file"]);
    assert_eq!(fs::read(&path).expect("the file exists"), bytes, "the file was changed");
    let other = place.run(words.iter().chain(&["--check", "--seed", "2"]));
    expect_refusal(&other, 4, &["byte 0: expected ", "another seed"]);
}

#[test]
fn existing_files_are_never_overwritten() {
    let place = TestDir::new();
    let words = ["generate", "set", "--count", "3", "--size", "1KiB", "--threads", "1"];
    fs::create_dir(place.path("set")).expect("can create a directory");
    place.write("set/object-00000001.bin", b"mine");
    expect_refusal(&place.run(words), 4, &["object-00000001.bin", "4 B", "1024 B", "remove this file"]);
    assert_eq!(fs::read(place.path("set/object-00000001.bin")).expect("the file exists"), b"mine");

    fs::remove_file(place.path("set/object-00000001.bin")).expect("can remove the file");
    fs::create_dir(place.path("set/object-00000001.bin")).expect("can create a directory");
    expect_refusal(&place.run(words), 4, &["object-00000001.bin", "not a regular file"]);

    // Links must not be followed or replaced.
    fs::remove_dir(place.path("set/object-00000001.bin")).expect("can remove the file");
    let kept = place.write("kept", b"mine as well");
    for link in ["object-00000001.bin", ".object-00000002.bin.partial"] {
        std::os::unix::fs::symlink(&kept, place.path("set").join(link)).expect("can create a link");
    }
    expect_refusal(&place.run(words), 4, &["object-00000001.bin", "not a regular file"]);
    fs::remove_file(place.path("set/object-00000001.bin")).expect("can remove the file");
    place.run(words).expect(0);
    assert_eq!(fs::read(kept).expect("the file exists"), b"mine as well");
}

#[test]
fn an_interrupt_leaves_only_complete_files() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let place = TestDir::new();
        let words = ["generate", "set", "--count", "10000", "--size", "4KiB", "--threads", "2"];
        let run = place.start(words);
        wait_for("first file", || place.path("set/object-00000010.bin").exists().then_some(()));
        run.signal(signal);
        let ended = run.end();
        let there = files(&place.path("set"));
        if ended.code == Some(0) {
            assert_eq!(there.len(), 10_000, "files are missing although the signal came too late");
            continue;
        }
        expect_refusal(&ended, code, &[&format!("{} of 10,000 files", count(there.len() as u64)), "same command"]);
        assert!(there.iter().all(|(name, size)| name.starts_with("object-") && *size == 4 * KIB));
        let rest = place.run(words);
        expect_summary(
            &rest,
            &format!("{} files", count(10_000 - there.len() as u64)),
            &format!("; {} existed already", count(there.len() as u64)),
        );
        assert_eq!(files(&place.path("set")).len(), 10_000);
    }
}

/// A script that holds a lease on a file. Any other process that opens the file is blocked, as on a disk that does not
/// respond. The lease ends when the script releases it, or when the system breaks it after 45 s.
const LEASE: &str = "import fcntl, signal, sys
signal.signal(signal.SIGIO, lambda *_: print('waited for', flush=True))
file = open(sys.argv[1], 'r+')
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('taken', flush=True)
while True: signal.pause()";

#[test]
fn a_second_interrupt_ends_the_program_at_once() {
    let place = TestDir::new();
    let words = ["generate", "set", "--count", "2", "--size", "1KiB", "--threads", "1"];
    place.run(words).expect(0);
    let mut command = Command::new("python3");
    command.args(["-c", LEASE]).arg(place.path("set/object-00000000.bin"));
    if peer("python3", Command::new("python3").arg("--version").output().ok()).is_none() {
        return;
    }
    let lease = Running::of(command);
    lease.wait_for_line("taken");
    let run = place.start(words.iter().chain(&["--check"]));
    lease.wait_for_line("waited for");
    let begun = Instant::now();
    // Two signals in quick succession count as one, so repeat them until the program ends.
    let ended = run.signal_until_over("INT");
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited for the blocked file: {:?}", begun.elapsed());
    expect_refusal(&ended, 130, &["0 of 2 files are complete", "same command"]);
    drop(lease);
    place.run(words.iter().chain(&["--check"])).expect(0);
}

#[test]
fn a_killed_run_is_completed_by_the_next() {
    let place = TestDir::new();
    let words = ["generate", "set", "--count", "3000", "--size", "100KiB", "--threads", "2"];
    let run = place.start(words);
    wait_for("first file", || place.path("set/object-00000002.bin").exists().then_some(()));
    run.signal("KILL");
    run.end();
    place.run(words).expect(0);
    let ended = place.run(words.iter().chain(&["--check"]));
    expect_summary(&ended, "0 files, 0 B in ", "; 3,000 existed with the right content");
    assert_eq!(files(&place.path("set")).len(), 3000, "an incomplete file was left");
}

#[test]
fn a_second_writer_is_refused() {
    let place = TestDir::new();
    fs::create_dir(place.path("set")).expect("can create a directory");
    let lock = File::open(place.path("set")).expect("can open the directory");
    lock.try_lock().expect("no other thread has the lock");
    let ended = place.run(["generate", "set", "--count", "1"]);
    expect_refusal(&ended, 4, &["another `plimsoll generate`", "set"]);
    drop(lock);
    place.run(["generate", "set", "--count", "1"]).expect(0);
}

#[test]
fn unusable_directories_get_a_one_line_message() {
    let place = TestDir::new();
    place.write("file", b"");
    for directory in ["file", "file/below", "/proc/plimsoll"] {
        let ended = place.run(["generate", directory, "--count", "1"]);
        expect_refusal(&ended, 4, &[directory, "cannot use", "writable directory"]);
    }
}

#[test]
fn mistakes_get_a_one_line_message() {
    let place = TestDir::new();
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["--total 10GiB", "--count 1000"]),
        (&["--total", "10G"], &["--total", "10GB or 10GiB"]),
        (&["--total", "1MiB", "--count", "1"], &["--total", "--count"]),
        (&["--count", "0"], &["--count", "0"]),
        (&["--count", "1", "--size", "pareto:1"], &["--size", "pareto", "lognormal"]),
        (&["--count", "1", "--size", "2MiB..1MiB"], &["--size", "smaller size first"]),
        (&["--total", "1", "--size", "0"], &["--total", "larger size"]),
        (&["--count", "1", "--prefix", "../"], &["../", "prefix"]),
        (&["--count", "1", "--prefix", "/etc/"], &["/etc/", "prefix"]),
        (&["--count", "1", "--digits", "0"], &["digits", "1 to 20"]),
        (&["--count", "1", "--threads", "5000"], &["--threads 5000", "the maximum"]),
        (&["--like", "dummy-file-generator", "--total", "1MiB"], &["--size"]),
        (&["--like", "dummy-file-generator", "--total", "1MiB", "--size", "1..9"], &["--size 1B..9B", "one size"]),
        (&["--like", "dummy-file-generator", "--count", "5"], &["--count", "--like"]),
        (&["--like", "httpbench", "--total", "1MiB"], &["--like", "dummy-file-generator"]),
    ];
    for (words, wanted) in cases {
        expect_refusal(&place.run(["generate", "set"].iter().chain(*words)), 2, wanted);
    }
    assert!(!place.path("set").exists(), "a directory was created");
}

/// The test mounts a file system of 4 MiB in its own namespace, if the system allows it.
#[test]
fn a_full_disk_is_reported_and_leaves_only_complete_files() {
    let place = TestDir::new();
    fs::create_dir(place.path("small")).expect("can create a directory");
    let script = r#"mount -t tmpfs -o size=4m none small || exit 77
        "$0" generate small --count 9 --size "$1" --threads 1; code=$?; ls -A small >&2; exit $code"#;
    for size in ["1MiB", "1000000"] {
        let mut command = Command::new("unshare");
        command.args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            env!("CARGO_BIN_EXE_plimsoll"),
            size,
        ]);
        let Ok(output) = command.current_dir(place.path("")).output() else {
            return skip("unshare is not installed");
        };
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() == Some(77) || told.starts_with("unshare: ") {
            return skip("no file system can be mounted in a namespace");
        }
        assert_eq!(output.status.code(), Some(4), "{told}");
        let (line, left) = told.split_once('\n').expect("a line, and the names of the files that are left");
        assert!(line.contains("disk is full") && line.contains("of 9 files are complete"), "{line}");
        let left: Vec<&str> = left.lines().collect();
        assert!((1..=4).contains(&left.len()) && left.iter().all(|name| name.starts_with("object-")), "{left:?}");
        assert!(line.contains(&format!("{} of 9", left.len())), "{line}");
    }
}
