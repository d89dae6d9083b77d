//! Batch deletions in S3. The objects are deleted, and the counts of client and server agree.

use crate::support::versitygw::run;
use crate::support::{Ended, Report, TestDir, Versitygw, shared_cores};
use crate::versitygw::{gone, good, kinds};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[test]
fn batches_of_a_mix_agree_with_the_servers_counts_and_delete_their_objects() {
    let _cores = shared_cores();
    let Some(server) = Versitygw::start() else { return };
    let place = TestDir::new();
    let prepare = |location: &str, count: &str| {
        let words = ["prepare", location, "--make-bucket", "--count", count, "--size", "100B", "--print", "none"];
        good(run(&place, &server.endpoint(), &words));
    };
    let (mut puts, mut batches) = (0, 0);
    let ways = ["unsigned", "signed", "chunks", "chunks-trailer", "unsigned-trailer"].map(|how| ["--payload", how]);
    for how in ways.into_iter().chain([["--presign", "60s"]]) {
        // The name contains a character that must be escaped in XML.
        let location = format!("s3://bucket/{}&more", how[1]);
        prepare(&location, "5");
        let words = "--get 20 --put 40 --delete 10 --delete-batch 6 -c 4 -n 200 --json";
        let words: Vec<_> = ["mix", &location].into_iter().chain(words.split(' ')).chain(how).collect();
        let mixed = kinds(&Report::read(&good(run(&place, &server.endpoint(), &words))));
        assert_eq!(mixed.values().map(|(ok, _)| ok).sum::<u64>(), 200, "{how:?}");
        let left = server.keys("bucket").iter().filter(|key| key.contains("plimsoll-fresh-")).count() as u64;
        let deleted = mixed["put"].0 - left;
        assert!(deleted > mixed["delete"].0 && deleted <= 6 * mixed["delete"].0, "{deleted} objects of {mixed:?}");
        assert_eq!(gone(&good(run(&place, &server.endpoint(), &["cleanup", &location]))), (5, left), "{how:?}");
        assert_eq!(server.keys("bucket"), Vec::<String>::new(), "{how:?}");
        puts += 5 + mixed["put"].0 + 1;
        batches += mixed["delete"].0 + 1 + u64::from(left > 0);
    }
    prepare("s3://bucket", "1100");
    assert_eq!(server.keys("bucket").len(), 1101);
    assert_eq!(gone(&good(run(&place, &server.endpoint(), &["cleanup", "s3://bucket"]))), (1100, 0));
    assert_eq!(server.keys("bucket"), Vec::<String>::new());
    let log = server.stop();
    assert_eq!(log["DeleteObjects"].count(), batches + 2);
    // Only the descriptions of the datasets were deleted by single requests.
    assert_eq!((log["DeleteObject"].count(), log["PutObject"].count()), (7, puts + 1100 + 1));
}

#[test]
fn cleanup_in_batches_keeps_objects_of_others() {
    let _cores = shared_cores();
    let Some(server) = Versitygw::start() else { return };
    let place = TestDir::new();
    let dataset = ["--count", "20", "--size", "1KiB", "--print", "none"];
    good(run(&place, &server.endpoint(), &[&["prepare", "s3://bucket/one", "--make-bucket"][..], &dataset].concat()));
    good(run(&place, &server.endpoint(), &[&["put", "s3://bucket/one/deeper"][..], &dataset].concat()));
    good(run(&place, &server.endpoint(), &[&["put", "s3://bucket/other"][..], &dataset].concat()));
    let mix = "mix s3://bucket/one --put 1 --delete 0 -n 5 --print none".split(' ').collect::<Vec<_>>();
    good(run(&place, &server.endpoint(), &mix));
    assert_eq!(gone(&good(run(&place, &server.endpoint(), &["cleanup", "s3://bucket/one"]))), (20, 5));
    let left = server.keys("bucket");
    assert!(left.iter().all(|key| key.starts_with("one/deeper/") || key.starts_with("other/")), "{left:?}");
    assert_eq!(left.len(), 40);
}

/// Starts a server with an empty bucket. The server sends `batch` as its response to each batch, and accepts deletions
/// of single objects.
fn bucket(batch: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("the listener has an address"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let asked = Arc::clone(&asked);
            std::thread::spawn(move || serve(&stream, batch, &asked));
        }
    });
    (endpoint, seen)
}

fn serve(stream: &TcpStream, batch: &str, seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut lines = BufReader::new(stream);
    loop {
        let (mut request, mut line, mut length) = (String::new(), String::new(), 0);
        lines.read_line(&mut request).ok().filter(|read| *read > 0)?;
        while lines.read_line(&mut line).ok()? > 2 {
            let told = line.strip_prefix("Content-Length: ").and_then(|value| value.trim().parse().ok());
            length = told.unwrap_or(length);
            line.clear();
        }
        lines.read_exact(&mut vec![0; length]).ok()?;
        let (status, body) = match request.split(' ').next()? {
            "POST" => batch.split_once('\n')?,
            "DELETE" => ("204 No Content", ""),
            _ => ("200 OK", "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"),
        };
        seen.lock().ok()?.push(request);
        let length =
            if status.starts_with("204") { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let mut out = stream;
        out.write_all(format!("HTTP/1.1 {status}\r\n{length}\r\n{body}").as_bytes()).ok()?;
    }
}

fn clean_up(answer: &'static str) -> (Ended, Vec<String>) {
    let (endpoint, seen) = bucket(answer);
    let place = TestDir::new();
    let ended = run(&place, &endpoint, &["cleanup", "s3://bucket/x", "--count", "2500", "--size", "1KiB"]);
    let seen = seen.lock().expect("no thread panicked with the lock").clone();
    (ended, seen)
}

fn count(seen: &[String], method: &str) -> usize {
    seen.iter().filter(|request| request.starts_with(method)).count()
}

#[test]
fn a_server_without_batches_gets_single_deletions() {
    for answer in ["501 Not Implemented\n<Error><Code>NotImplemented</Code></Error>", "405 Method Not Allowed\n"] {
        let (ended, seen) = clean_up(answer);
        ended.expect(0);
        assert!(ended.stdout.starts_with("deleted 2,500 objects; and 0 objects"), "{}", ended.stdout);
        // There are 2,501 deletions. The last deletion removes the description of the dataset.
        assert_eq!((count(&seen, "POST /bucket?delete= "), count(&seen, "DELETE /bucket/x/")), (3, 2501));
    }
}

#[test]
fn a_failed_batch_is_reported_and_not_tried_in_another_way() {
    let error = "<Error><Key>x/k</Key><Code>AccessDenied</Code><Message>no</Message></Error>";
    let denied = format!("200 OK\n<DeleteResult>{error}{error}</DeleteResult>").leak();
    for (answer, words) in [
        (&*denied, "cannot delete 6 objects"),
        ("403 Forbidden\n<Error><Code>AccessDenied</Code></Error>", "cannot delete 2,500 objects"),
        ("200 OK\nwhat?", "cannot delete 2,500 objects"),
    ] {
        let (ended, seen) = clean_up(answer);
        ended.expect(4);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
        assert_eq!((count(&seen, "POST"), count(&seen, "DELETE")), (3, 0));
        assert!(!answer.starts_with("200 OK\n<") || ended.stderr.contains("AccessDenied"), "{}", ended.stderr);
    }
}

#[test]
fn missing_objects_count_as_deleted() {
    let error = "<Error><Key>x/k</Key><Code>NoSuchKey</Code><Message>no</Message></Error>";
    let (ended, _) = clean_up(format!("200 OK\n<DeleteResult>{error}</DeleteResult>").leak());
    assert_eq!(gone(ended.expect(0)), (2500, 0));
}

#[test]
fn batches_require_s3_and_a_valid_size() {
    let place = TestDir::new();
    let refused = |words: &str, why: &str| {
        let ended = place.run(words.split(' '));
        ended.expect(2);
        assert!(ended.stderr.contains(why) && ended.stderr.lines().count() <= 3, "{words}: {}", ended.stderr);
    };
    refused("mix s3://bucket/x --delete-batch 0", "is not a whole number above 0");
    refused("mix s3://bucket/x --delete-batch 1001", "one request can delete at most 1000 objects");
    refused("mix http://127.0.0.1:9/x --delete-batch 2", "--delete-batch requires an s3:// location");
    refused(
        "mix s3://bucket/x --endpoint http://127.0.0.1:9 --anonymous --put 1 --delete-batch 2",
        "--delete-batch: this mix deletes nothing",
    );
}
