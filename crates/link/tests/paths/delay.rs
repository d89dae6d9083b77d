//! Tests the delay by comparison with ping.

use crate::support::{bench, had_cpu, has, run};

/// Runs ping from the near end. Returns the round trips in milliseconds.
fn round_trips(bench: &crate::support::Bench, arguments: &[&str]) -> Vec<f64> {
    let output = run(bench.path.near(), "ping", arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let times = text.lines().filter_map(|line| line.split_once("time=")?.1.split_once(" ms")?.0.parse().ok());
    times.collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn the_round_trip_is_the_sum_of_both_delays() {
    if !has("ping", "-V") {
        return;
    }
    let Some(bench) = bench("20ms", "5ms") else { return };
    for target in ["198.18.0.2", "2001:2::2"] {
        let times = round_trips(&bench, &["-c", "20", "-i", "0.02", target]);
        assert_eq!(times.len(), 20, "{target}");
        assert!(times.iter().all(|time| *time >= 25.0), "{target}: {times:?}");
        // Each direction may be half a millisecond late. Other processes may delay single packets.
        if had_cpu(&bench) {
            assert!(median(times.clone()) < 26.0, "{target}: {times:?}");
        }
    }
}

/// A packet of 1,500 bytes takes 1,514 bytes on the wire, which is 12.112 ms at 1 Mbit/s.
#[test]
fn the_serialization_is_added() {
    if !has("ping", "-V") {
        return;
    }
    let Some(bench) = bench("1Mbit/s,10ms", "10ms") else { return };
    let times = round_trips(&bench, &["-c", "10", "-i", "0.05", "-s", "1472", "198.18.0.2"]);
    assert!(times.iter().all(|time| *time >= 32.1), "{times:?}");
    if had_cpu(&bench) {
        assert!(median(times.clone()) < 33.2, "{times:?}");
    }
}

#[test]
fn jitter_stays_in_its_bounds() {
    if !has("ping", "-V") {
        return;
    }
    let Some(bench) = bench("40ms,jitter=10ms", "0ms") else { return };
    let times = round_trips(&bench, &["-c", "100", "-i", "0.02", "198.18.0.2"]);
    assert!(times.iter().all(|time| *time >= 30.0), "{times:?}");
    let spread = times.iter().copied().fold(f64::MIN, f64::max) - times.iter().copied().fold(f64::MAX, f64::min);
    assert!(spread > 12.0, "{times:?}");
    if had_cpu(&bench) {
        assert!(median(times.clone()) < 50.0 && spread < 21.0, "{times:?}");
    }
}
