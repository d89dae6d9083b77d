//! HTML reports of searches for the load line and of studies, as a browser shows them.

use crate::html::{POLYGLOTS, expect_drawn, expect_no_markup, poison_run, shown};
use crate::support::{Place, Running, all_cores, chromium};
use std::fs;

fn server(place: &Place, faults: &[&str]) -> (Running, String) {
    let server = place.start(["serve", "--listen", "127.0.0.1:0", "--stop-after", "60s"].iter().chain(faults));
    let line = server.wait_for_line("serving ");
    let url = line.trim_start_matches("serving ").trim().to_owned();
    (server, url)
}

/// A text as it stands in a page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[test]
fn a_search_is_drawn_with_its_line_and_every_level() {
    let _cores = all_cores();
    let place = Place::new();
    let (server, url) = server(&place, &["--delay", "5ms", "--capacity", "20:30ms"]);
    let words = "line --out found -d 300ms --from 4 --to 64 --precision 20% --objective";
    let ended = place.run(words.split(' ').chain(["response p95 <= 15ms", &url, "--html"]));
    ended.expect(0);
    server.stop();
    assert!(ended.stderr.contains("report written to found/report.html"), "{}", ended.stderr);
    let Some(seen) = chromium::open(&place.path("found/report.html")) else { return };
    // Response time, what ended well, goodput and success.
    expect_drawn(&seen, 4);
    let page = shown(&seen.dom);
    let sentence = ended.stdout.lines().next().expect("the text begins with the answer");
    assert!(sentence.starts_with("LOAD LINE"), "{sentence}");
    for wanted in [sentence, "response p95 <= 15ms", "load line between", "plimsoll line", "seed 1", "FAILED"] {
        assert!(page.contains(&escaped(wanted)), "no {wanted} in {page}");
    }
    let levels = fs::read_dir(place.path("found/levels")).expect("levels are saved").count();
    assert_eq!(page.matches("levels/").count(), levels, "each level has a row");
    place.run(["report", "found", "--html", "other.html"]).expect(0);
    let other = fs::read_to_string(place.path("other.html")).expect("it is where it was named");
    assert_eq!(other, fs::read_to_string(place.path("found/report.html")).unwrap());
}

#[test]
fn what_levels_hold_is_only_ever_text() {
    let _cores = all_cores();
    let place = Place::new();
    let (server, url) = server(&place, &["--delay", "5ms"]);
    place.run(["line", "--out", "found", "-d", "200ms", "--from", "2", "--to", "2", &url]).expect(0);
    server.stop();
    poison_run(&place.path("found/levels/01-2"));
    place.run(["report", "found", "--html"]).expect_no_panic();
    let Some(seen) = chromium::open(&place.path("found/report.html")) else { return };
    expect_drawn(&seen, 3);
    expect_no_markup(&seen);
    assert!(POLYGLOTS.iter().any(|text| shown(&seen.dom).contains(&escaped(text))));
}
