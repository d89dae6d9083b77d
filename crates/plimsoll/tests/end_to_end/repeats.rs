//! Repeated runs: the output of the command, a later report, and the JSON document of all runs.

use crate::support::{Ended, TestDir, shared_cores};
use serde_json::Value;
use server::{Config, Server};

fn serve() -> (Server, String) {
    let server = Server::start(&Config::default()).expect("the server starts");
    let url = format!("http://{}/blackhole/1KiB", server.addresses()[0]);
    (server, url)
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

#[test]
fn a_repeated_run_has_the_same_report_later() {
    let _cores = shared_cores();
    let (server, url) = serve();
    let place = TestDir::new();
    let first = place.run(["get", &url, "-n", "200", "--repeat", "3", "--out", "out", "--full"]);
    first.expect(0);
    let headlines = first.stdout.lines().filter(|line| line.starts_with("PASS · ")).count();
    assert!(headlines == 4 && first.stdout.contains("Repeats"), "{}", first.stdout);
    assert!(first.stdout.contains("\nPASS · 3 runs of the same load\n"), "{}", first.stdout);
    for form in ["text", "full", "ab", "httpbench"] {
        let again = place.run(["report", "out", "--print", form]);
        again.expect(0);
        assert!(form != "full" || again.stdout == first.stdout, "{}", again.stdout);
        let together = again.stdout.starts_with("PASS · 3 runs of the same load\n");
        assert_eq!(together, form == "text", "the short text has only the comparison: {}", again.stdout);
    }
    let one = place.run(["report", "out/2", "--full"]);
    one.expect(0);
    assert!(first.stdout.contains(&one.stdout), "the later report of one run differs");
    assert_eq!(server.stop().requests(), 600);
}

#[test]
fn repeated_runs_are_one_json_document() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let schema: Value = json(place.run(["schema", "repeats"]).expect(0));
    let published = include_str!("../../../../docs/schema/repeats.schema.json");
    assert_eq!(schema, serde_json::from_str::<Value>(published).expect("it is JSON"));
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let ended = place.run(["get", &url, "--json", "-n", "200", "--repeat", "3", "--out", "out"]);
    ended.expect(0);
    let document = json(&ended);
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(document, json(place.run(["report", "out", "--json"]).expect(0)));
    let runs = document["runs"].as_array().expect("there are runs");
    assert_eq!(runs.len(), 3);
    let mut rates: Vec<f64> = Vec::new();
    for (run, number) in runs.iter().zip(1..) {
        let alone = json(place.run(["report", "--json", &format!("out/{number}")]).expect(0));
        assert_eq!(run, &alone, "run {number}");
        assert_eq!(run["operations"]["ok"], 200);
        rates.push(run["operations"]["ok_per_second"].as_f64().expect("there is a rate"));
    }
    rates.sort_by(f64::total_cmp);
    let figure = &document["repeats"]["ok_per_second"];
    let median = figure["median"].as_f64().expect("there is a median");
    assert!((median / rates[1] - 1.0).abs() < 1e-12, "{median} of {rates:?}");
    let spread = figure["spread_share"].as_f64().expect("there is a spread");
    assert!((spread - (rates[2] - rates[0]) / rates[1]).abs() < 1e-9, "{spread} of {rates:?}");
}

#[test]
fn the_exit_code_of_several_runs_follows_the_precedence() {
    let _cores = shared_cores();
    let (_server, url) = serve();
    let place = TestDir::new();
    let words = ["get", &url, "-n", "20", "--repeat", "2", "--expect-status", "404", "--print", "none", "--out", "out"];
    place.run(words).expect(1);
    place.run(["report", "out", "--print", "none"]).expect(1);
    std::fs::write(place.path("out/2/records.jsonl.zst"), "damaged").expect("can write a file");
    let ended = place.run(["report", "out"]);
    ended.expect(2);
    assert!(ended.stderr.contains("out/2") && ended.stdout.is_empty(), "{}", ended.stderr);
}
