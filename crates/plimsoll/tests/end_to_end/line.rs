//! The search for the load line, against servers that become slow beyond a concurrency that was planted.

use crate::support::{Ended, Place, Running, all_cores};
use serde_json::Value;

/// A server whose requests take 10 ms, and each above 40 at once 20 ms more.
fn server(place: &Place, faults: &[&str]) -> (Running, String) {
    let server = place.start(["serve", "--listen", "127.0.0.1:0"].iter().chain(faults));
    let line = server.wait_for_line("serving ");
    let url = line.trim_start_matches("serving ").trim().to_owned();
    (server, url)
}

fn search(place: &Place, url: &str, words: &[&str]) -> (Ended, Value) {
    let usual = ["line", "--json", "--out", "found", "-d", "400ms", "--objective", "response p99 <= 25ms", url];
    let ended = place.run(usual.iter().chain(words));
    let found = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
    (ended, found)
}

#[test]
fn a_planted_line_is_found_and_shown_again() {
    let _cores = all_cores();
    let place = Place::new();
    let (server, url) = server(&place, &["--delay", "10ms", "--capacity", "40:30ms"]);
    let (ended, found) = search(&place, &url, &["--from", "8", "--to", "256", "--precision", "10%"]);
    ended.expect(0);
    let (passed, failed) = (found["passed"].as_u64().unwrap(), found["failed"].as_u64().unwrap());
    assert_eq!(found["found"], "line", "{found:#}");
    assert!(passed <= 41 && 40 < failed && passed >= 36, "{found:#}");
    assert_eq!(found["broke"], "response p99 <= 25ms");
    let last = found["levels"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["level"], &last["passed"]), (&found["passed"], &Value::Bool(true)), "it is run again");
    let again = place.run(["report", "found", "--json"]);
    again.expect(0);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), found);
    let text = place.run(["report", "found"]);
    assert!(
        text.stdout.starts_with(&format!("LOAD LINE {passed} in flight hold; {failed} in flight do not")),
        "{}",
        text.stdout
    );
    let level = place.run(["report", &format!("found/{}", last["directory"].as_str().unwrap())]);
    assert!(level.stdout.starts_with("VALID"), "{}", level.stdout);
    server.stop();
}

#[test]
fn the_ends_of_the_scale_have_words_and_exit_codes_of_their_own() {
    let _cores = all_cores();
    let place = Place::new();
    let (server, url) = server(&place, &["--delay", "10ms"]);
    let (ended, found) = search(&place, &url, &["--from", "2", "--to", "4"]);
    ended.expect(0);
    assert_eq!((&found["found"], &found["passed"]), (&"at_least".into(), &4.into()));
    std::fs::remove_dir_all(place.path("found")).unwrap();
    let (ended, found) = search(&place, &url, &["--from", "2", "--to", "4", "--objective", "ttfb p50 <= 1ms"]);
    ended.expect(1);
    assert_eq!(
        (&found["found"], &found["failed"], &found["broke"]),
        (&"below".into(), &1.into(), &"ttfb p50 <= 1ms".into())
    );
    server.stop();
}

#[test]
fn what_a_search_finds_is_not_told_to_it() {
    let place = Place::new();
    for (words, why) in [
        (&["-c", "5"][..], "-c has no place in a search"),
        (&["-R", "5"], "--on rate"),
        (&["-n", "5"], "-d TIME"),
        (&["--objective", "p99 < soon"], "soon"),
        (&["--precision", "90%"], "0.1% to 50%"),
    ] {
        let ended = place.run(["line", "http://127.0.0.1:1/"].iter().chain(words));
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(why), "{words:?}: {}", ended.stderr);
    }
}
