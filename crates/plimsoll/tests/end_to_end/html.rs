//! HTML reports in a browser. Every chart is drawn, no request is made, and text from a server never becomes markup.

use crate::support::{Running, TestDir, chromium, shared_cores};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Starts two servers that redirect to each other's objects and sometimes fail, and saves a run on them.
fn a_run(place: &TestDir) -> Running {
    let words = "serve --listen 127.0.0.1:0 --cluster 2 --error-every 7 --list 20 --urls urls --list-size 3000B";
    let server = place.start(words.split(' ').chain(["--stop-after", "60s"]));
    server.wait_for_line("server 1: serving http://");
    crate::support::wait_for("list of URLs", || {
        let text = fs::read_to_string(place.path("urls")).ok()?;
        (text.lines().count() == 20 && text.ends_with('\n')).then_some(())
    });
    let words = "get --url-file urls -n 600 -c 4 --group-by Server --out out --html made.html --success 10";
    place.run(words.split(' ')).expect(0);
    server
}

/// Returns the page without the content of its script elements.
pub fn shown(dom: &str) -> String {
    let mut pieces = dom.split("<script");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |shown, piece| shown + piece.split_once("</script>").map_or("", |(_, after)| after))
}

#[track_caller]
fn expect_whole(seen: &chromium::Seen) {
    expect_drawn(seen, 7);
}

/// Asserts that the console is empty, that no request was made, and that at least `least` charts exist and all charts
/// are drawn.
#[track_caller]
pub fn expect_drawn(seen: &chromium::Seen, least: usize) {
    assert_eq!(seen.console, [""; 0], "{}", seen.dom);
    assert_eq!(seen.requests, [""; 0]);
    let (figures, drawn) = (seen.dom.matches("<figure").count(), seen.dom.matches("data-drawn=\"true\"").count());
    assert!(figures == drawn && figures >= least, "{drawn} of {figures} charts were drawn");
    // Each chart has a summary, a caption and its numbers, for readers who cannot see the chart.
    for part in ["<figcaption", "role=\"img\" aria-label=\"", "<details", "<h3"] {
        assert_eq!(seen.dom.matches(part).count(), figures, "{part}");
    }
    for part in ["<main", "<h1", "class=\"skip\" href=\"#main\""] {
        assert_eq!(seen.dom.matches(part).count(), 1, "{part}");
    }
}

#[test]
fn every_chart_is_drawn_and_no_request_is_made() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server = a_run(&place);
    server.stop();
    let Some(seen) = chromium::open(&place.path("made.html")) else { return };
    expect_whole(&seen);
    let shown = shown(&seen.dom);
    for wanted in ["limited by", "Hops of redirected operations", "Failed attempts", "http_5xx", "By Server"] {
        assert!(shown.contains(wanted), "no {wanted} in {shown}");
    }
}

/// Hostile texts. A page could wrongly parse such a text as markup, an attribute, a URL or a script. The text would
/// then run code, make a request, or break the page.
pub const POLYGLOTS: [&str; 5] = [
    "</script><script>fetch('http://canary.invalid/1')</script>",
    "\"><img src=http://canary.invalid/2 onerror=alert(2)>",
    "'-alert(3)-'<svg/onload=alert(3)><!--<script>",
    "javascript:/*--></title></style></textarea><iframe src=//canary.invalid/4>",
    "<a href=javascript:alert(5) style=color:red>${alert(5)}{{alert(5)}}</a>",
];

/// Inserts a polyglot at the start of every text that can come from outside. Texts that differ still differ afterwards.
fn poison(value: &mut Value, inside: bool, next: &mut usize) {
    match value {
        Value::String(text) if inside => {
            *text = format!("{}{text}", POLYGLOTS[*next % POLYGLOTS.len()]);
            *next += 1;
        }
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, inside, next)),
        Value::Object(fields) => {
            for (name, field) in fields {
                let foreign = [
                    "url",
                    "address",
                    "detail",
                    "software",
                    "http_version",
                    "value",
                    "command",
                    "targets",
                    "load",
                    "version",
                    "host",
                    "header",
                    "settings",
                ];
                // The `host` of a table row is a label from outside. The `host` of the run itself is the client's own
                // host.
                poison(field, inside || foreign.contains(&name.as_str()), next);
            }
        }
        _ => {}
    }
}

/// Asserts that no polyglot was parsed as an element.
#[track_caller]
pub fn expect_no_markup(seen: &chromium::Seen) {
    let shown = shown(&seen.dom);
    for tag in ["<img", "<svg", "<iframe", "<a href=\"javascript", "style=\"color:red"] {
        assert!(!shown.contains(tag), "{tag} in {shown}");
    }
    assert_eq!(seen.dom.matches("<script").count() - seen.dom.matches("<script&gt;").count(), 2, "{}", seen.dom);
}

/// In a saved run, replaces the texts that came from servers with hostile texts.
pub fn poison_run(directory: &Path) -> usize {
    let file = directory.join("records.jsonl.zst");
    let bytes = zstd::decode_all(fs::File::open(&file).expect("there is a run")).expect("the file is complete");
    let text = String::from_utf8(bytes).expect("it is UTF-8");
    let mut next = 0;
    let lines = text.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).expect("each line is a record");
        // Restart the polyglots for each record, so that equal texts stay equal. The page matches rows by their texts.
        next = 0;
        poison(&mut record, false, &mut next);
        record.to_string() + "\n"
    });
    let written = lines.collect::<String>();
    fs::write(&file, zstd::encode_all(written.as_bytes(), 1).expect("can compress the file"))
        .expect("can write the file");
    next
}

#[test]
fn text_from_a_server_is_never_markup() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server = a_run(&place);
    server.stop();
    assert!(poison_run(&place.path("out")) >= 3, "too few texts were replaced");
    let ended = place.run(["report", "out", "--html"]);
    ended.expect_no_panic();
    assert!(!ended.stderr.contains("damaged"), "{}", ended.stderr);
    let Some(seen) = chromium::open(&place.path("out/report.html")) else { return };
    expect_whole(&seen);
    let shown = shown(&seen.dom);
    expect_no_markup(&seen);
    for (number, text) in (1..).zip(POLYGLOTS) {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        assert!(shown.contains(&escaped), "polyglot {number} is not shown as text: {shown}");
    }
}

#[test]
fn the_report_is_written_to_the_named_file() {
    let _cores = shared_cores();
    let place = TestDir::new();
    a_run(&place).stop();
    let made = fs::read_to_string(place.path("made.html")).expect("`get --html` writes it");
    place.run(["report", "out", "--html"]).expect(0);
    assert_eq!(fs::read_to_string(place.path("out/report.html")).expect("the report is in the run's directory"), made);
    let ended = place.run(["report", "out", "--html", "other.html"]);
    ended.expect(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.trim()), ("", "report written to other.html"));
    assert_eq!(fs::read_to_string(place.path("other.html")).expect("the report is in the named file"), made);
    assert!(made.len() < 200_000, "{} bytes", made.len());
    let ended = place.run(["report", "out", "--html", "no/such/place.html"]);
    ended.expect(4);
    assert!(ended.stderr.contains("no/such/place.html") && ended.stderr.contains("--html"), "{}", ended.stderr);
    place.run(["report", "out", "--html", "a.html", "--json"]).expect(2);
}

#[test]
fn each_repeated_run_has_its_own_file() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server = place.start(["serve", "--listen", "127.0.0.1:0", "--stop-after", "60s"]);
    let line = server.wait_for_line("serving http://");
    let address =
        line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("the line contains a URL");
    let url = format!("http://{address}/blackhole/1KiB");
    place.run(["get", &url, "-n", "50", "--repeat", "2", "--out", "out"]).expect(0);
    place.run(["report", "out", "--html"]).expect(0);
    assert!(place.path("out/1/report.html").exists() && place.path("out/2/report.html").exists());
    let ended = place.run(["report", "out", "--html", "one.html"]);
    ended.expect(2);
    assert!(ended.stderr.contains("out/1"), "{}", ended.stderr);
    place.run(["get", &url, "-n", "50", "--repeat", "2", "--out", "two", "--html", "one.html"]).expect(2);
    place.run(["get", &url, "-n", "50", "--out", "beside", "--html"]).expect(0);
    assert!(place.path("beside/report.html").exists(), "no report in the run's directory");
    server.stop();
}

/// Checks that the tests above would detect console messages and requests.
#[test]
fn a_page_that_makes_a_request_is_detected() {
    let place = TestDir::new();
    let page = "<script>console.error('told')</script><img src='http://canary.invalid/x'>";
    let Some(seen) = chromium::open(&place.write("page.html", page)) else { return };
    assert!(seen.console.iter().any(|line| line.contains("told")), "{:?}", seen.console);
    assert!(seen.requests.iter().any(|line| line.contains("canary.invalid")), "{:?}", seen.requests);
}
