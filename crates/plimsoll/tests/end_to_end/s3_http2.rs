//! Signed requests over HTTP/2: the client's counts equal the ledger of `plimsoll serve --s3`.

use crate::support::versitygw::run;
use crate::support::{Ended, Report, Running, TestDir, shared_cores};
use crate::{s3, versitygw};

const DATASET: [&str; 4] = ["--count", "40", "--size", "10..200KiB"];

/// The ledger's counts for one operation and one status.
struct Booked {
    complete: u64,
    aborted: u64,
    bytes_in: u64,
    bytes_out: u64,
}

/// An S3 server, and a directory for its clients.
struct Target {
    place: TestDir,
    server: Running,
    endpoint: String,
}

impl Target {
    fn start(words: &[&str]) -> Self {
        let place = TestDir::new();
        let (server, endpoint) = s3::serve(&place, words);
        Self { place, server, endpoint }
    }

    /// Runs the program with HTTP/2. The program must succeed.
    #[track_caller]
    fn run(&self, words: &[&str]) -> Ended {
        let secure = self.place.path("ca.pem").exists();
        let trust: &[&str] = if secure { &["--cacert", "ca.pem"] } else { &[] };
        versitygw::good(run(&self.place, &self.endpoint, &[words, &["--http2", "-c", "8"], trust].concat()))
    }

    #[track_caller]
    fn report(&self, words: &[&str]) -> Report {
        let report = Report::read(&self.run(&[words, &["--json"]].concat()));
        assert_eq!((report.violations(), report.text("/server/http_version")), (0, "HTTP/2"));
        report
    }
}

fn booked(ledger: &str, operation: &str, status: &str) -> Booked {
    let line = ledger.lines().find(|line| line.split_whitespace().take(2).eq([operation, status]));
    let line = line.unwrap_or_else(|| panic!("no {operation} {status} in:\n{ledger}"));
    let numbers: Vec<u64> = line.split_whitespace().skip(2).filter_map(|word| word.parse().ok()).collect();
    let [complete, aborted, bytes_in, bytes_out] = numbers[..] else { panic!("{line}") };
    Booked { complete, aborted, bytes_in, bytes_out }
}

#[test]
fn counts_of_signed_requests_over_http2_equal_the_ledger() {
    let _cores = shared_cores();
    for words in [&["--tls", "--tls-ca-out", "ca.pem"][..], &["--http2"]] {
        let target = Target::start(words);
        let with_dataset = |words: &[&'static str]| [words, &DATASET].concat();
        let prepare = with_dataset(&["prepare", "s3://bucket/x", "--make-bucket", "--json"]);
        let prepared = versitygw::prepared(&target.run(&prepare));
        let put = target.report(&with_dataset(&["put", "s3://bucket/y"]));
        let got = target.report(&with_dataset(&["get", "s3://bucket/y", "--order", "once", "--verify"]));
        let mix = "mix s3://bucket/x --get 30 --get-range 15 --range 4KiB --head 20 --put 20 --delete 5 \
            --delete-batch 7 --list 5 --verify -n 600";
        let mixed = versitygw::kinds(&target.report(&mix.split_whitespace().collect::<Vec<_>>()));
        let (cleaned, left) = versitygw::gone(&target.run(&["cleanup", "s3://bucket/x"]));
        let ledger = target.server.stop();

        let put = versitygw::kinds(&put)["put"];
        let got = versitygw::kinds(&got)["get"];
        assert_eq!((prepared.0, put.0, got), (40, 40, put), "{words:?}");
        assert_eq!(mixed.values().map(|(ok, _)| ok).sum::<u64>(), 600, "{words:?}");
        // The description of the dataset was written once and deleted once. Of three requests for the description, two
        // found it.
        let puts = booked(&ledger, "PutObject", "200");
        assert_eq!(puts.complete, 40 + 40 + mixed["put"].0 + 1, "{ledger}");
        let description = puts.bytes_in - prepared.1 - put.1 - mixed["put"].1;
        assert!((50..500).contains(&description), "{description} bytes that no metric accounts for:\n{ledger}");
        let gets = booked(&ledger, "GetObject", "200");
        assert_eq!(gets.complete, got.0 + mixed["get"].0 + 2, "{ledger}");
        assert_eq!(gets.bytes_out, got.1 + mixed["get"].1 + 2 * description, "{ledger}");
        let ranges = booked(&ledger, "GetObject", "206");
        assert_eq!((ranges.complete, ranges.bytes_out), mixed["get-range"], "{ledger}");
        assert_eq!(booked(&ledger, "HeadObject", "200").complete, mixed["head"].0, "{ledger}");
        assert!(cleaned == 40 && left + mixed["delete"].0 < mixed["put"].0, "{left} are left of {mixed:?}");
        let batches = mixed["delete"].0 + 1 + u64::from(left > 0);
        assert_eq!(booked(&ledger, "DeleteObjects", "200").complete, batches, "{ledger}");
        assert_eq!(booked(&ledger, "DeleteObject", "204").complete, 1, "{ledger}");
        for booked in [puts, gets, ranges] {
            assert_eq!(booked.aborted, 0, "{ledger}");
        }
    }
}

#[test]
fn every_way_to_sign_a_body_returns_every_byte_over_http2() {
    let _cores = shared_cores();
    let target = Target::start(&["--http2"]);
    target.run(&["prepare", "s3://bucket/x", "--make-bucket", "--count", "1", "--print", "none"]);
    let mut written = 0;
    for how in ["unsigned", "signed", "chunks", "chunks-trailer", "unsigned-trailer"] {
        let location = format!("s3://bucket/{how}");
        let put = target.report(&[&["put", &location, "--payload", how][..], &DATASET].concat());
        let (objects, bytes) = versitygw::kinds(&put)["put"];
        assert_eq!((objects, put.bytes("sent_body_bytes")), (40, bytes), "{how}");
        let got = target.report(&[&["get", &location, "--order", "once", "--verify"][..], &DATASET].concat());
        assert_eq!(versitygw::kinds(&got)["get"], (objects, bytes), "{how}");
        written += bytes;
    }
    let gets = booked(&target.server.stop(), "GetObject", "200");
    assert_eq!((gets.complete, gets.bytes_out), (5 * 40, written));
}
