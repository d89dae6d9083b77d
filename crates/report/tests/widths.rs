//! Checks that reports about several runs fit on narrow terminals, whatever the names and values are.

use crate::common;
use crate::common::cases;
use measure::Objective;
use measure::result::load_line::{Found, LoadUnit, Outcome};
use report::load_line::{self, Level, LoadLine};
use report::{Style, repeats};
use store::SavedRun;

const WIDTHS: [usize; 2] = [60, 80];

/// Checks that all lines fit on narrow terminals.
fn fits(what: &str, text: impl Fn(&Style) -> String) {
    for width in WIDTHS {
        let text = text(&Style { width, color: false });
        // URLs are never broken.
        let is_wide = |line: &&str| line.chars().count() > width && !line.contains("://");
        let wide: Vec<&str> = text.lines().filter(is_wide).collect();
        assert!(wide.is_empty(), "{what} at {width}: {wide:#?}");
    }
}

/// Returns the run with these objectives, to which the columns of tables refer.
fn with_objectives(mut run: SavedRun, objectives: &[&str]) -> SavedRun {
    run.begin.objectives = objectives.iter().map(|text| text.parse::<Objective>().unwrap()).collect();
    run
}

/// Returns a search with these loads.
fn search(run: &SavedRun, unit: (LoadUnit, u64), loads: &[f64]) -> LoadLine {
    let outcome = |index| match index % 2 {
        0 => Outcome::Passed,
        _ => Outcome::ClientLimited { why: "w".repeat(200) },
    };
    let level = |(index, load): (usize, &f64)| Level::of(*load, "levels/01", run, Some(outcome(index)), index % 3 == 0);
    let levels = loads.iter().enumerate().map(level).collect();
    LoadLine::of(unit, Some(&run.begin), Some(Found::AtLeast { passed: 64 }), levels)
}

#[test]
fn repeats_fit() {
    for (name, run) in cases() {
        fits(name, |style| repeats(&[run.clone(), run.clone()], style));
    }
}

#[test]
fn columns_are_left_out_of_repeats_in_a_fixed_order() {
    let run = common::counters_disagree();
    let shown = repeats(&[run.clone(), run], &Style { width: 60, color: false });
    let titles = shown.lines().find(|line| line.starts_with("  run ")).unwrap();
    assert!(titles.contains("requests") && titles.contains("p99") && !titles.contains("goodput"), "{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("left out to keep lines short: goodput"), "{shown}");
    assert!(words.contains("(a wider terminal shows more)"), "{shown}");
}

#[test]
fn load_lines_fit() {
    let objectives =
        ["success >= 99%", "p99 <= 20ms", "p99.9 <= 40ms", "ttfb p95 <= 2ms", "get p90 <= 3ms", "max <= 1s"];
    let loads = [1.0, 64.0, 1_000_000.0, 1e19, 0.123_456_789_012_345_6];
    for (name, run) in cases() {
        for (count, unit) in
            [(0, (LoadUnit::Concurrency, 1)), (2, (LoadUnit::Concurrency, 1)), (6, (LoadUnit::Rate, 1))]
        {
            let line = search(&with_objectives(run.clone(), &objectives[..count]), unit, &loads);
            fits(name, |style| load_line::short_text(&line, style));
        }
    }
}
