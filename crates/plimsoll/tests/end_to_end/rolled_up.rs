//! Real runs whose old intervals are joined. The reports must match the reports of the same runs before joining.

use crate::support::{TestDir, shared_cores};
use server::{Config, Server};
use std::path::Path;
use std::time::Duration;
use store::{Record, RollUpRules, RunWriter, Step, for_each_record};

/// Copies a run and joins its intervals. The rules are the same as for long runs, but the times are shorter.
fn roll_up(from: &Path, to: &Path) {
    let step = |age, length| Step { age: Duration::from_secs(age), length: Duration::from_secs(length) };
    let rules = RollUpRules { file: Duration::from_secs(2), steps: [step(1, 2), step(3, 4)] };
    let (mut writer, mut end) = (None, None);
    let tail = for_each_record(from, |record| match (record, &mut writer) {
        (Record::Begin(begin), None) => writer = Some(RunWriter::create(to, &begin).unwrap().rolling_up(rules)),
        (Record::Interval(interval), Some(writer)) => {
            writer.interval(&interval).unwrap();
            writer.settle();
        }
        (Record::End(found), _) => end = Some(found),
        other => panic!("a record out of place: {:?}", other.0),
    });
    assert_eq!(tail.unwrap(), store::Tail::default());
    writer.unwrap().end(&end.unwrap()).unwrap();
}

#[test]
fn a_real_run_has_the_same_report_after_its_seconds_are_joined() {
    let _cores = shared_cores();
    let server = Server::start(&Config::default()).expect("the server starts");
    let place = TestDir::new();
    let good = format!("http://{}/blackhole/1KiB", server.addresses()[0]);
    let missing = format!("http://{}/nothing/there", server.addresses()[0]);
    for (name, url, words) in
        [("closed", &good, ["-c", "4"]), ("open", &good, ["--rate", "200"]), ("failing", &missing, ["-c", "2"])]
    {
        let joined = format!("{name}-joined");
        place.run(["get", url, "-d", "9s", "--warmup", "1s", "--out", name].iter().chain(&words));
        roll_up(&place.path(name), &place.path(&joined));

        let (single, single_json) = place.report(&place.path(name));
        let (ended, joined_json) = place.report(&place.path(&joined));
        assert_eq!(ended.code, single.code, "{name}");
        let (few, many) = (joined_json.list("/series").len(), single_json.list("/series").len());
        // At least three spans of two seconds were joined.
        assert!(few + 3 <= many, "{name}: {few} of {many} intervals are left");
        for part in ["/result", "/accounting", "/limited_by", "/operations", "/bytes", "/times", "/failures", "/kinds"]
        {
            assert_eq!(joined_json.at(part), single_json.at(part), "{name}: {part}");
        }
        let csv = place.run(["export", &joined, "--as", "csv"]).expect(0).stdout.clone();
        let index = csv.lines().next().unwrap().split(',').position(|title| title == "length_seconds").unwrap();
        let lengths: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').nth(index).unwrap()).collect();
        // Each file contains two seconds, so joined spans cannot be longer.
        assert!(lengths.contains(&"2") && lengths.contains(&"1"), "{name}: {lengths:?}");
        let html = place.run(["report", &joined, "--html", "page.html"]);
        assert_eq!(html.code, single.code, "{name}: {}", html.stderr);
    }
}
