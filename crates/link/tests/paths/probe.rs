//! Tests that the probe accepts paths that match their description, and that it detects differences.

use crate::support::{bench, had_cpu, spec};
use link::probe::{Difference, measure};

#[test]
fn a_path_is_measured_as_it_was_asked_for() {
    for (down, up) in [("1Gbit/s,20ms", "200Mbit/s,10ms"), ("50Mbit/s,5ms,loss=2%", "5Mbit/s,1ms"), ("10ms", "0ms")] {
        let Some(bench) = bench(down, up) else { return };
        let measured = measure(&bench.path, &bench.spec).unwrap();
        if had_cpu(&bench) {
            assert_eq!(measured.differences(&bench.spec), [], "seed 1, {down} {up}: {measured:?}");
        }
    }
}

#[test]
fn another_path_than_asked_for_is_found() {
    let Some(bench) = bench("100Mbit/s,10ms,loss=2%", "0ms") else { return };
    let asked = spec("120Mbit/s,20ms,loss=1%", "0ms");
    let differences = measure(&bench.path, &asked).unwrap().differences(&asked);
    let has = |is: fn(&Difference) -> bool| differences.iter().any(is);
    assert!(has(|difference| matches!(difference, Difference::RoundTrip { .. })), "{differences:?}");
    assert!(has(|difference| matches!(difference, Difference::Rate { .. })), "{differences:?}");
    assert!(has(|difference| matches!(difference, Difference::Loss { .. })), "seed 1: {differences:?}");
}
