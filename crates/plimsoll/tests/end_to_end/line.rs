//! The search for the load line, against servers that become slow above a known concurrency.

use crate::support::{Ended, TestDir, all_cores, shared_cores};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn search(place: &TestDir, url: &str, words: &[&str]) -> (Ended, Value) {
    let usual = ["line", "--json", "--out", "found", "--objective", "response p99 <= 25ms", url];
    let ended = place.run(usual.iter().chain(words));
    let found = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
    (ended, found)
}

#[test]
fn a_known_line_is_found_and_shown_again() {
    let _cores = all_cores();
    let place = TestDir::new();
    // Requests take 10 ms. Each concurrent request above 40 adds 20 ms to the response times.
    let (server, url) = place.serve(&["--delay", "10ms", "--capacity", "40:30ms"]);
    let words = ["--from", "8", "--to", "256", "--precision", "10%", "-d", "4s"];
    let (ended, found) = search(&place, &url, &words);
    ended.expect(0);
    let (passed, failed) = (found["passed"].as_u64().unwrap(), found["failed"].as_u64().unwrap());
    assert_eq!(found["outcome"], "found", "{found:#}");
    assert!(passed <= 41 && 40 < failed && passed >= 36, "{found:#}");
    assert_eq!(found["first_missed"], "response p99 <= 25ms");
    let last = found["levels"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["level"], &last["passed"]), (&found["passed"], &Value::Bool(true)), "the line was not confirmed");
    let again = place.run(["report", "found", "--json"]);
    again.expect(0);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), found);
    let over = found["levels"].as_array().unwrap().iter().find(|level| level["level"] == 64).unwrap();
    assert!(over["certain"] == true && over["passed"] == false, "{over:#}");
    let ended = place.run(["report", "--json", &format!("found/{}", over["directory"].as_str().unwrap())]);
    let ended: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(ended["end"]["reason"], "stopped_early", "a level did not stop although it was decided: {over:#}");
    let text = place.run(["report", "found", "--full"]);
    assert!(
        text.stdout.starts_with(&format!(
            "PASS · LOAD LINE {passed} in flight passed; {failed} in flight failed (response p99 <= 25ms)"
        )),
        "{}",
        text.stdout
    );
    let short = place.run(["report", "found"]);
    assert!(short.stdout.lines().count() <= 24 && short.stdout.contains('█'), "{}", short.stdout);
    let level = place.run(["report", &format!("found/{}", last["directory"].as_str().unwrap())]);
    assert!(level.stdout.starts_with("PASS"), "{}", level.stdout);
    server.stop();
}

#[test]
fn the_ends_of_the_scale_have_their_own_sentences_and_exit_codes() {
    let _cores = all_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&["--delay", "10ms"]);
    let (ended, found) = search(&place, &url, &["-d", "400ms", "--from", "2", "--to", "4"]);
    ended.expect(0);
    assert_eq!((&found["outcome"], &found["passed"]), (&"at_least".into(), &4.into()));
    std::fs::remove_dir_all(place.path("found")).unwrap();
    let (ended, found) =
        search(&place, &url, &["-d", "400ms", "--from", "2", "--to", "4", "--objective", "ttfb p50 <= 1ms"]);
    ended.expect(1);
    assert_eq!(
        (&found["outcome"], &found["failed"], &found["first_missed"]),
        (&"none_passed".into(), &1.into(), &"ttfb p50 <= 1ms".into())
    );
    server.stop();
}

/// Starts a server whose responses take 5 ms. Once it has had more than 20 concurrent connections, all its responses
/// take 200 ms.
fn breaks_for_good() -> String {
    static AT_ONCE: AtomicUsize = AtomicUsize::new(0);
    static BROKEN: AtomicBool = AtomicBool::new(false);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if AT_ONCE.fetch_add(1, Ordering::SeqCst) >= 20 {
                BROKEN.store(true, Ordering::SeqCst);
            }
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while let Some(Ok(line)) = lines.next() {
                    if line.is_empty() {
                        std::thread::sleep(Duration::from_millis(if BROKEN.load(Ordering::SeqCst) { 200 } else { 5 }));
                        let _ = (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                    }
                }
                AT_ONCE.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    url
}

#[test]
fn a_target_that_does_not_recover_is_reported() {
    let _cores = all_cores();
    let place = TestDir::new();
    let words = ["-d", "2s", "--from", "8", "--to", "64", "--objective", "p99 <= 100ms", "--recovery", "1s"];
    let (ended, found) = search(&place, &breaks_for_good(), &words);
    ended.expect(1);
    assert_eq!(
        (&found["outcome"], &found["passed"], &found["failed"]),
        (&"not_recovered".into(), &16.into(), &32.into())
    );
    let text = place.run(["report", "found"]);
    assert!(text.stdout.starts_with("FAIL · LOAD LINE at least 16 in flight; 32 in flight failed"), "{}", text.stdout);
}

/// Starts a server that handles one request at a time, 200 per second.
fn queue() -> String {
    static FREE: Mutex<Option<Instant>> = Mutex::new(None);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while let Some(Ok(line)) = lines.next() {
                    if line.is_empty() {
                        let passes = {
                            let (mut free, now) = (FREE.lock().unwrap(), Instant::now());
                            let passes = free.map_or(now, |free| free.max(now));
                            *free = Some(passes + Duration::from_millis(5));
                            passes
                        };
                        std::thread::sleep(passes.saturating_duration_since(Instant::now()));
                        let _ = (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                    }
                }
            });
        }
    });
    url
}

/// Above its load line, the server works normally, but its queue grows. For any objective, no level above the load line
/// may pass. After such a level, the search must wait until the queue is empty.
#[test]
fn a_rate_that_a_queue_cannot_sustain_does_not_pass() {
    let _cores = all_cores();
    let place = TestDir::new();
    let url = queue();
    let words = ["line", "--json", "--out", "found", "--on", "rate", "--from", "400", "--to", "800", "-d", "2s"];
    let ended = place.run(words.iter().chain(&["--precision", "10%", &url]));
    let found: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
    let levels = found["levels"].as_array().unwrap();
    assert!(
        levels.iter().all(|level| level["level"].as_f64().unwrap() <= 204.0 || level["passed"] == false),
        "{found:#}"
    );
    let over = levels.iter().find(|level| level["level"] == 400).unwrap();
    assert_eq!((&over["outcome"], &over["reason"]), (&"failed".into(), &"the backlog grows".into()), "{over:#}");
    assert!(over["seconds"].as_f64().unwrap() < 2.0, "a level did not stop although its result was certain: {over:#}");
    assert!(found["outcome"] == "found" && found["passed"].as_f64().is_some_and(|passed| passed >= 150.0), "{found:#}");
    assert!(ended.stderr.contains("searching for the load line"), "the expected time is missing: {}", ended.stderr);
    let text = place.run(["report", "found"]);
    let (_, sentence) = text.stdout.split_once(" · ").unwrap_or_else(|| panic!("{}", text.stdout));
    assert!(sentence.starts_with("LOAD LINE 1") || sentence.starts_with("LOAD LINE 20"), "{sentence}");
}

/// Starts a server that accepts objects. At every path, the server has an object of 1 KiB, but no record of a dataset.
fn takes_objects() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/objects", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut head, mut line) = (String::new(), String::new());
                while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
                    head.push_str(&line);
                    if line == "\r\n" {
                        let length = head.lines().find_map(|field| {
                            let (name, value) = field.split_once(':')?;
                            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
                        });
                        let _ = reader.read_exact(&mut vec![0; length.unwrap_or(0)]);
                        let answer = if head.starts_with("PUT ") {
                            b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n".to_vec()
                        } else if head.contains("/.plimsoll") {
                            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec()
                        } else {
                            [&b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n"[..], &[7; 1024]].concat()
                        };
                        let _ = (&stream).write_all(&answer);
                        head.clear();
                    }
                    line.clear();
                }
            });
        }
    });
    url
}

#[test]
fn the_line_of_writes_and_mixes_is_found() {
    let _cores = all_cores();
    let place = TestDir::new();
    let url = takes_objects();
    let usual = ["--count", "20", "--size", "1KiB", "-d", "300ms", "--from", "1", "--to", "2", "--json", &url];
    let put = ["line", "put", "--out", "put", "--objective", "put speed p5 >= 1B/s"];
    let ended = place.run(put.iter().chain(&usual));
    let found: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
    assert_eq!((&found["outcome"], &found["passed"]), (&"at_least".into(), &2.into()), "{found:#}");
    let text = place.run(["report", "put"]);
    assert!(text.stdout.contains("put speed p5"), "the objective has no column: {}", text.stdout);
    let mix = ["line", "mix", "--get", "1", "--put", "1", "--out", "mix"];
    let ended = place.run(mix.iter().chain(&usual));
    let found: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
    assert_eq!((&found["outcome"], &found["passed"]), (&"at_least".into(), &2.into()), "{found:#}");
}

#[test]
fn a_run_ends_when_its_abort_condition_is_met() {
    let _cores = all_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&["--delay", "30ms"]);
    let abort = ["get", "--out", "run", "-c", "20", "-d", "60s", "--abort-when", "p95 > 10ms", "--json", &url];
    let ended = place.run(abort);
    ended.expect(1);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&report["end"]["reason"], &report["end"]["detail"]),
        (&"aborted".into(), &"response p95 > 10ms".into())
    );
    let text = place.run(["report", "run"]);
    assert!(text.stdout.contains("ended early because response p95 > 10ms"), "{}", text.stdout);
    let held = ["get", "-c", "20", "-d", "1500ms", "--abort-when", "p95 > 10s", "--print", "none", &url];
    place.run(held).expect(0);
    server.stop();
}

#[test]
fn a_search_on_rate_accepts_flags_of_the_open_model() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = place.serve(&[]);
    let search = [
        "line",
        "--on",
        "rate",
        "--from",
        "20",
        "--to",
        "40",
        "-d",
        "500ms",
        "--in-flight-max",
        "7",
        "--level-max",
        "2s",
        "--poisson",
    ];
    let ended = place.run(search.iter().chain(&["--out", "search", &url]));
    assert_ne!(ended.code, Some(2), "{}", ended.stderr);
    let shown = place.run(["report", "search/levels/01-20", "--full"]);
    assert!(shown.stdout.contains("at most 7 in flight"), "{}", shown.stdout);
    server.stop();
}

#[test]
fn a_search_refuses_flags_that_it_varies() {
    let place = TestDir::new();
    for (words, why) in [
        (&["-c", "5"][..], "-c cannot be used in a search"),
        (&["-R", "5"], "--on rate"),
        (&["-n", "5"], "-d TIME"),
        (&["--objective", "p99 < soon"], "soon"),
        (&["--precision", "90%"], "0.1% and 50%"),
        (&["--confidence", "100%"], "50% and 99.99%"),
        (&["--abort-when", "p99 <= 1s"], "met by a good run"),
    ] {
        let ended = place.run(["line", "http://127.0.0.1:1/"].iter().chain(words));
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(why), "{words:?}: {}", ended.stderr);
    }
}
