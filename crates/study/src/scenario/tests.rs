//! Tests of whole scenarios, valid and invalid.

use super::{Diagnostic, Order, Scenario, TargetServer};

fn parse(text: &str) -> Result<Scenario, Vec<Diagnostic>> {
    Scenario::parse(text, &[], &|_| None).map_err(|faulty| faulty.diagnostics)
}

#[test]
fn all_keys_of_a_scenario_are_parsed() {
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
collectors: [host, 'node=http://${host}:9100']
repeats: 3
order: random
";
    let scenario = parse(text).unwrap();
    assert_eq!((scenario.name.as_str(), scenario.repeats.get(), scenario.order), ("ranges", 3, Order::Random));
    assert_eq!(scenario.targets[0].settings[0].values[0].0, "http://127.0.0.1/a");
    assert_eq!(scenario.settings[1].values.len(), 2);
    let collectors: Vec<&str> = scenario.settings[2].values.iter().map(|(value, _)| value.as_str()).collect();
    assert_eq!(
        (scenario.settings[2].name.as_str(), collectors),
        ("collect", vec!["host", "node=http://127.0.0.1:9100"])
    );
    assert_eq!(
        (scenario.parts[1].name.as_str(), scenario.parts[1].settings[0].values[0].0.as_str()),
        ("ranges", "1MiB")
    );
    let set = [("host".to_owned(), "10.0.0.1".to_owned())];
    let set = Scenario::parse(text, &set, &|_| None).unwrap();
    assert_eq!(set.targets[1].settings[0].values[0].0, "http://10.0.0.1:8080/a", "--set overrides the file");
}

#[test]
fn every_mistake_has_a_message_at_its_line() {
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
    let diagnostics = parse(text).unwrap_err();
    let shown: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    for (line, word) in [
        (1, "cannot name a directory"),
        (2, "did you mean `targets`"),
        (4, "target `a` has no `url`"),
        (5, "must be a map"),
        (6, "must be from 1 to 1000"),
        (7, "did you mean `interleaved`"),
        (8, "must be a whole number"),
        (9, "not a list"),
        (10, "must be a map"),
        (12, "has no values"),
        (13, "no variable `missing`"),
    ] {
        assert!(
            diagnostics.iter().any(|diagnostic| diagnostic.at.line == line && diagnostic.message.contains(word)),
            "{line} {word}: {shown:#?}"
        );
    }
}

#[test]
fn mistakes_do_not_hide_the_rest_of_a_scenario() {
    let text = "\
name: t
vars: {host: '${nowhere}', port: }
targets:
  a: {url: 'http://${host}:${port}/${port}${other}', start: [x]}
  b:
setings: {duration: , rate: 5, rate: 6}
matrix: {think: [1s]}
parts:
  one: {matirx: {concurrency: [], range: [1MiB, '${host}']}, hooks: {before: }}
";
    let faulty = Scenario::parse(text, &[], &|_| None).unwrap_err();
    let shown: Vec<String> = faulty.diagnostics.iter().map(ToString::to_string).collect();
    let wanted = [
        "2:14: no variable `nowhere`",
        "4:12: no variable `port`",
        "4:12: no variable `other`",
        "4:61: `start` must be a single value",
        "5:3: target `b` has no `url`",
        "6:1: unknown `setings`; did you mean `settings`?",
        "6:11: `duration` has no value",
        "6:32: `rate` appears a second time",
        "7:1: `matrix` and `parts` exclude each other",
        "9:9: unknown `matirx`; did you mean `matrix`?",
        "9:31: `concurrency` has no values",
        "9:70: `before` has no command",
    ];
    assert_eq!(shown.len(), wanted.len(), "{shown:#?}");
    for (shown, wanted) in shown.iter().zip(wanted) {
        assert!(shown.starts_with(wanted), "{wanted}: {shown}");
    }
    let rest = faulty.rest.unwrap();
    let names = |settings: &[super::Setting]| settings.iter().map(|setting| setting.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&rest.scenario.settings), ["duration", "rate"]);
    assert_eq!(rest.incomplete, ["url", "duration", "concurrency", "range"]);
    let axes = rest.scenario.parts.iter().flat_map(|part| &part.axes);
    assert_eq!(axes.map(|axis| axis.name.as_str()).collect::<Vec<_>>(), ["range", "think"]);
}

#[test]
fn the_command_of_a_server_replaces_its_flags_unless_it_is_empty() {
    let server_of = |keys: &str, set: &str| {
        let text = format!("name: t\nvars: {{command: ''}}\ntargets: {{a: {{url: served/x, {keys}}}}}\n");
        let set = [("command".to_owned(), set.to_owned())];
        Scenario::parse(&text, &set, &|_| None)
            .map(|scenario| scenario.targets[0].server.clone())
            .map_err(|faulty| faulty.diagnostics)
    };
    let both = "serve: {delay: 5ms}, start: 'exec ${command}'";
    let start = |command: &str| Ok(Some(TargetServer::Start(command.to_owned())));
    // The shell replaces references that are no variables of the scenario.
    assert_eq!(server_of("start: 'nginx ${HOME} $PLIMSOLL_LISTEN'", ""), start("nginx ${HOME} $PLIMSOLL_LISTEN"));
    assert_eq!(server_of(both, "nginx -g 'daemon off;'"), start("exec nginx -g 'daemon off;'"));
    for keys in ["serve: {delay: 5ms}, start: '${command}'", "start: '${command}', serve: {delay: 5ms}"] {
        assert!(matches!(server_of(keys, ""), Ok(Some(TargetServer::Serve(flags))) if flags[0].name == "delay"));
        assert_eq!(server_of(keys, "nginx"), start("nginx"));
    }
    let faults = server_of("start: '${command}'", "").unwrap_err();
    assert!(faults.len() == 1 && faults[0].message.contains("`start` is empty"), "{faults:?}");
}
