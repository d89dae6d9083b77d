//! Scenarios that are read, and those that are not.

use super::*;

fn parse(text: &str) -> Result<Scenario, Vec<Fault>> {
    Scenario::parse(text, &[], &|_| None)
}

#[test]
fn a_scenario_is_read_whole() {
    let text = "\
name: ranges
vars: {host: 127.0.0.1, size: 1MiB}
targets:
  mine: {url: 'http://${host}/a', as: piece}
  nginx:
    url: http://${host}:8080/a
settings:
  duration: 10s
  header: ['A: 1', 'B: 2']
parts:
  full: {matrix: {concurrency: [1, 8]}}
  ranges:
    settings: {range: '${size}'}
    matrix: {concurrency: [10]}
repeats: 3
order: random
";
    let scenario = parse(text).unwrap();
    assert_eq!((scenario.name.as_str(), scenario.repeats.get(), scenario.order), ("ranges", 3, Order::Random));
    assert_eq!(scenario.targets[0].settings[0].values[0].0, "http://127.0.0.1/a");
    assert_eq!(scenario.settings[1].values.len(), 2);
    assert_eq!(
        (scenario.parts[1].name.as_str(), scenario.parts[1].settings[0].values[0].0.as_str()),
        ("ranges", "1MiB")
    );
    let set = [("host".to_owned(), "10.0.0.1".to_owned())];
    let set = Scenario::parse(text, &set, &|_| None).unwrap();
    assert_eq!(set.targets[1].settings[0].values[0].0, "http://10.0.0.1:8080/a", "--set comes first");
}

#[test]
fn ten_mistakes_have_ten_messages() {
    let text = "\
name: my study
targts: {}
targets:
  a: {as: piece}
  b: [1]
repeats: 0
order: interleavd
seed: -1
notes: [1]
settings: fast
matrix:
  concurrency: []
  range: ['${missing}']
";
    let faults = parse(text).unwrap_err();
    let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
    for (line, word) in [
        (1, "can not name a directory"),
        (2, "did you mean `targets`"),
        (4, "target `a` has no `url`"),
        (5, "is a map"),
        (6, "not from 1 to 1000"),
        (7, "did you mean `interleaved`"),
        (8, "no whole number"),
        (9, "not a list"),
        (10, "is a map"),
        (12, "has no values"),
        (13, "no variable `missing`"),
    ] {
        assert!(
            faults.iter().any(|fault| fault.at.line == line && fault.message.contains(word)),
            "{line} {word}: {shown:#?}"
        );
    }
}
