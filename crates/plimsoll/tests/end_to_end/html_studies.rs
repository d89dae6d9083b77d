//! HTML reports of searches for the load line and of studies, in a browser.

use crate::html::{POLYGLOTS, expect_drawn, expect_no_markup, poison_run, shown};
use crate::support::{Running, TestDir, all_cores, chromium};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

fn server(place: &TestDir, faults: &[&str]) -> (Running, String) {
    place.serve(&[&["--stop-after", "60s"], faults].concat())
}

/// Escapes a text in the same way as the reports.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[test]
fn a_search_is_drawn_with_its_line_and_every_level() {
    let _cores = all_cores();
    let place = TestDir::new();
    let (server, url) = server(&place, &["--delay", "5ms", "--capacity", "20:30ms"]);
    let words = "line --out found -d 300ms --from 4 --to 64 --precision 20% --objective";
    let ended = place.run(words.split(' ').chain(["response p95 <= 15ms", &url, "--html"]));
    ended.expect(0);
    server.stop();
    assert!(ended.stderr.contains("report written to found/report.html"), "{}", ended.stderr);
    let Some(seen) = chromium::open(&place.path("found/report.html")) else { return };
    // The charts show response time, throughput of successful operations, goodput, and success.
    expect_drawn(&seen, 4);
    let page = shown(&seen.dom);
    let first = ended.stdout.lines().next().expect("the text begins with the result");
    let sentence = first.strip_prefix("PASS · ").unwrap_or_else(|| panic!("{first}"));
    assert!(sentence.starts_with("LOAD LINE"), "{sentence}");
    for wanted in [sentence, "response p95 <= 15ms", "load line between", "plimsoll line", "seed 1", "FAILED"] {
        assert!(page.contains(&escaped(wanted)), "no {wanted} in {page}");
    }
    let levels = fs::read_dir(place.path("found/levels")).expect("levels are saved").count();
    assert_eq!(page.matches("levels/").count(), levels, "each level has a row");
    place.run(["report", "found", "--html", "other.html"]).expect(0);
    let other = fs::read_to_string(place.path("other.html")).expect("the report is in the named file");
    assert_eq!(other, fs::read_to_string(place.path("found/report.html")).unwrap());
}

#[test]
fn text_of_levels_is_never_markup() {
    let _cores = all_cores();
    let place = TestDir::new();
    let (server, url) = server(&place, &["--delay", "5ms"]);
    place.run(["line", "--out", "found", "-d", "200ms", "--from", "2", "--to", "2", &url]).expect(0);
    server.stop();
    for level in fs::read_dir(place.path("found/levels")).expect("levels are saved") {
        poison_run(&level.expect("a level has a directory").path());
    }
    place.run(["report", "found", "--html"]).expect_no_panic();
    let Some(seen) = chromium::open(&place.path("found/report.html")) else { return };
    expect_drawn(&seen, 3);
    expect_no_markup(&seen);
    assert!(POLYGLOTS.iter().any(|text| shown(&seen.dom).contains(&escaped(text))));
}

/// A scenario with two targets, a matrix with two axes, and a load line. One target becomes slow at a lower load than
/// the other. The scenario has a secret in every place where a secret is possible.
const SCENARIO: &str = "\
# <b>Exactly</b> as it stands:   three blanks.
name: pair
notes: What <i>people</i> should know.
vars: {base: 'http://127.0.0.1:1', api_token: CANARY}
targets:
  near: {url: '${base}/blackhole/64KiB', header: 'Authorization: Bearer CANARY'}
  far: {url: '${base}/blackhole/64KiB?delay=5ms', user: 'me:CANARY'}
settings: {duration: 150ms, objective: [success >= 50%, response p50 <= 1s]}
parts:
  ranges: {matrix: {range: [1KiB, 8KiB, 32KiB], concurrency: [1, 4]}}
  <img src=x onerror=alert(1)>: {matrix: {concurrency: [2]}}
  line: {settings: {from: 1, to: 2}, matrix: {concurrency: [line]}}
repeats: 2
order: random
";

/// Starts a server, and runs the scenario on it.
fn a_study(place: &TestDir) -> String {
    let (server, url) = server(place, &["--error-every", "13"]);
    let base = url.split("/blackhole").next().expect("the line contains a URL").to_owned();
    place.write("pair.yaml", SCENARIO);
    let ended = place.run(["run", "pair.yaml", "--set", &format!("base={base}"), "--out", "study", "--html"]);
    ended.expect_no_panic();
    server.stop();
    assert!(ended.stderr.contains("report written to study/report.html"), "{}", ended.stderr);
    // Only the full report has all columns of all tables.
    let full = place.run(["report", "study", "--full"]);
    full.expect_no_panic();
    full.stdout
}

#[test]
fn a_study_is_drawn_with_its_matrix_its_pairs_and_its_lines() {
    let _cores = all_cores();
    let place = TestDir::new();
    let text = a_study(&place);
    let log = fs::read_to_string(place.path("study/study.jsonl")).expect("there is a log");
    let made = fs::read_to_string(place.path("study/report.html")).expect("the report is in the study's directory");
    assert!(!log.contains("CANARY") && !made.contains("CANARY"), "secrets are neither saved nor shown");
    let Some(seen) = chromium::open(&place.path("study/report.html")) else { return };
    // The page has a chart of the load lines, a chart for each of two concurrencies, and a chart for the part with a
    // single cell.
    expect_drawn(&seen, 6);
    expect_no_markup(&seen);
    let page = shown(&seen.dom);
    for wanted in [
        "# <b>Exactly</b> as it stands:   three blanks.",
        "header: 'Authorization: ***'",
        "What <i>people</i> should know.",
        "Matrix: ranges",
        "Matrix: <img src=x onerror=alert(1)>",
        "concurrency 4",
        "vs. near",
        "Differences",
        "far − near",
        "TTFB p50",
        "if there are fewer than 6",
        "Failed attempts",
        "http_5xx",
        "plimsoll run pair.yaml",
        "load line of far",
        "seed 1",
    ] {
        assert!(page.contains(&escaped(wanted)), "no {wanted} in {page}");
    }
    // The page must contain the numbers that the text report shows for the cells.
    for figure in
        text.lines().skip(1).filter(|line| line.contains("ranges, ")).filter_map(|line| line.split("  ").nth(1))
    {
        assert!(page.contains(&escaped(figure.trim())), "no {figure} in {page}");
    }
    for part in ["aria-pressed=\"true\"", "aria-pressed=\"false\"", "role=\"group\" aria-label=\"Metric\""] {
        assert!(page.contains(part), "no {part} in {page}");
    }
}

/// Opens a copy of the report with an additional script. The copy has no content security policy, because the report's
/// policy would refuse the script.
fn used(place: &TestDir, script: &str) -> Option<chromium::Seen> {
    let made = fs::read_to_string(place.path("study/report.html")).expect("there is a report");
    let (before, policy) = made.split_once("<meta http-equiv=\"Content-Security-Policy\"").expect("it has a policy");
    let (_, after) = policy.split_once('>').expect("the element ends");
    let page = format!("{before}{}", after.replace("</body>", &format!("<script>{script}</script></body>")));
    chromium::open(&place.write("used.html", page))
}

#[test]
fn buttons_select_the_metric_of_a_matrix() {
    let _cores = all_cores();
    let place = TestDir::new();
    a_study(&place);
    let press = "const all = document.querySelectorAll('.choices'); all[0].querySelectorAll('button')[3].click();
                 const first = document.querySelectorAll('.group')[0];
                 document.body.dataset.drawn = [...first.querySelectorAll('figure')].map((figure) => figure.dataset.drawn).join();
                 document.body.dataset.about = first.querySelector('.about').textContent;
                 document.body.dataset.pressed = [...all[0].querySelectorAll('[aria-pressed=true]')].map((b) => b.textContent).join();";
    let press = format!("setTimeout(() => {{ {press} }}, 0)");
    let Some(seen) = used(&place, &press) else { return };
    assert_eq!(seen.console, [""; 0], "{}", seen.dom);
    assert!(seen.dom.contains("data-pressed=\"response p99\""), "{}", seen.dom);
    assert!(seen.dom.contains("data-about=\"99th percentile of the response time"), "{}", seen.dom);
}

#[test]
fn text_of_a_study_is_never_markup() {
    let _cores = all_cores();
    let place = TestDir::new();
    a_study(&place);
    let log = place.path("study/study.jsonl");
    let records = fs::read_to_string(&log).expect("there is a log");
    let mut next = 0;
    let poisoned = records.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).expect("each line is a record");
        for field in ["cell", "target"] {
            if let Some(name) = record.pointer_mut(&format!("/trial/{field}")) {
                *name = format!("{}{}", POLYGLOTS[next % POLYGLOTS.len()], name.as_str().expect("a name")).into();
                next += 1;
            }
        }
        if let Some(text) = record.pointer_mut("/scenario/text") {
            *text = POLYGLOTS.join("\n").into();
        }
        if let Some(version) = record.pointer_mut("/scenario/version") {
            *version = POLYGLOTS[1].into();
        }
        record.to_string() + "\n"
    });
    fs::write(&log, poisoned.collect::<String>()).expect("can write the log");
    place.run(["report", "study", "--html"]).expect_no_panic();
    let Some(seen) = chromium::open(&place.path("study/report.html")) else { return };
    // The scenario can no longer be read, so the report lists the cells by name.
    expect_drawn(&seen, 1);
    expect_no_markup(&seen);
    let page = shown(&seen.dom);
    for text in POLYGLOTS {
        assert!(page.contains(&escaped(text)), "{text} is not shown as text: {page}");
    }
}

#[test]
fn two_hundred_trials_open_within_two_seconds() {
    let _cores = all_cores();
    let place = TestDir::new();
    let (server, url) = server(&place, &[]);
    place.run(["get", &url, "-n", "50", "--out", "study/run"]).expect(0);
    server.stop();
    let values = |count: usize| (1..=count).map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "name: many\ntargets: {{a: {{url: http://h/}}, b: {{url: http://h/}}}}\nrepeats: 4\n\
         matrix: {{slots: [{}], range: [{}]}}\n",
        values(5),
        values(5)
    );
    let mut records =
        serde_json::json!({"scenario": {"format": 2, "version": "0", "text": text, "set": [], "trials": 200}})
            .to_string()
            + "\n";
    for number in 0..200 {
        let (cell, target, repeat) = (number / 8, ["a", "b"][number % 2], number / 2 % 4);
        let cell = format!("slots {}, range {}", cell / 5 + 1, cell % 5 + 1);
        let trial = serde_json::json!({"cell": cell, "target": target, "repeat": repeat, "directory": "run"});
        records.push_str(&(serde_json::json!({ "trial": trial }).to_string() + "\n"));
    }
    fs::write(place.path("study/study.jsonl"), records).expect("can write a log");
    place.run(["report", "study", "--html"]).expect(0);
    let empty = place.write("empty.html", "<p>nothing</p>");
    let time = |file: &Path| {
        let begun = Instant::now();
        chromium::open(file).map(|seen| (begun.elapsed(), seen))
    };
    let Some((alone, _)) = time(&empty) else { return };
    let Some((whole, seen)) = time(&place.path("study/report.html")) else { return };
    expect_drawn(&seen, 5);
    assert!(seen.dom.contains("200 trials on 2 targets, 4 repeats"), "{}", seen.dom);
    let page = whole.saturating_sub(alone);
    assert!(page < Duration::from_secs(2), "the page took {page:?}, in addition to {alone:?} of the browser alone");
}
