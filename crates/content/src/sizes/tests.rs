//! Tests that compare sampled sizes with the exact distributions.

use super::*;
use crate::Seed;
use crate::draw::Draws;
use proptest::prelude::*;

fn sizes(text: &str) -> Sizes {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the sorted sizes of `count` objects.
fn sample(text: &str, count: u64) -> Vec<u64> {
    let (sizes, draws) = (sizes(text), Draws::new(Seed(12)));
    let mut sample: Vec<u64> = (0..count).map(|index| sizes.size(index, draws.of(index).size)).collect();
    sample.sort_unstable();
    sample
}

/// Returns the share of sizes in a sorted sample that are at most `size`.
fn share(sample: &[u64], size: u64) -> f64 {
    sample.partition_point(|value| *value <= size) as f64 / sample.len() as f64
}

/// Checks the share of sizes up to `size` in a sample of 100,000. The tolerance is 4.5 standard errors.
#[track_caller]
fn expect_share(sample: &[u64], size: u64, expected: f64) {
    let error = 4.5 * (expected * (1.0 - expected) / sample.len() as f64).sqrt();
    let share = share(sample, size);
    assert!((share - expected).abs() <= error, "share up to {size}: {share}, not {expected} ± {error}, seed 12");
}

proptest! {
    #[test]
    fn no_text_panics(text in "[a-z0-9.,:=KMGiB ]{0,60}") {
        if let Ok(sizes) = text.parse::<Sizes>() {
            prop_assert_eq!(sizes.to_string().parse::<Sizes>(), Ok(sizes));
        }
    }

    #[test]
    fn sizes_stay_within_their_bounds(min in 1_u64..1 << 53, max in 1_u64..1 << 53, sigma in 0.01_f64..10.0, bits in any::<u64>()) {
        let (min, max) = (min.min(max), min.max(max));
        let median = min.midpoint(max);
        for text in [
            format!("{min}..{max}"),
            format!("loguniform:{min}..{max}"),
            format!("lognormal:median={median},sigma={sigma},min={min},max={max}"),
            format!("{min}:3,{max}:1,{min}..{max}:2"),
            format!("{min},{min}..{max}"),
        ] {
            let sizes = sizes(&text);
            for bits in [bits, 0, u64::MAX] {
                let size = sizes.size(1, bits);
                prop_assert!((min..=max).contains(&size), "{}: {}", text, size);
            }
            prop_assert_eq!(sizes.to_string().parse::<Sizes>(), Ok(sizes));
        }
    }
}

#[test]
fn text_forms_round_trip() {
    for (text, written) in [
        ("1MiB", "1MiB"),
        (" 1024 ", "1KiB"),
        ("0", "0B"),
        ("4KiB..1MiB", "4KiB..1MiB"),
        ("1MiB, 2MiB,5MiB", "1MiB,2MiB,5MiB"),
        ("64KiB:70,1MiB:25,64MiB:5", "64KiB:70,1MiB:25,64MiB:5"),
        ("64KiB..1MiB : 70 , 1MiB : 30", "64KiB..1MiB:70,1MiB:30"),
        ("1KiB:1", "1KiB:1"),
        ("loguniform:4KiB..1GiB", "loguniform:4KiB..1GiB"),
        ("lognormal:median=1MiB,sigma=1.5,max=1GiB", "lognormal:median=1MiB,sigma=1.5,min=1B,max=1GiB"),
        ("lognormal: max=8KiB, min=0, sigma=2, median=1KiB", "lognormal:median=1KiB,sigma=2,min=0B,max=8KiB"),
    ] {
        assert_eq!(sizes(text).to_string(), written);
        assert_eq!(sizes(written), sizes(text));
    }
}

#[test]
fn errors_name_the_fix() {
    let many = vec!["1"; ENTRIES_MAX + 1].join(",");
    for (text, wanted) in [
        ("", "size is missing"),
        ("1MiB,", "size is missing"),
        ("5M", "5MB or 5MiB"),
        ("2MiB..1MiB", "smaller size first"),
        ("..1MiB", "size is missing"),
        ("1MiB:70,2MiB", "2MiB:1"),
        ("1MiB:0", "1 to 1000000000"),
        ("1MiB:0.5", "whole number"),
        ("9PiB", "8PiB"),
        ("pareto:1MiB", "`pareto` is not a distribution"),
        ("loguniform:1MiB", "two sizes"),
        ("loguniform:0..1MiB", "at least 1B"),
        ("lognormal:median=1MiB,sigma=1.5", "needs median, sigma and max"),
        ("lognormal:median=1MiB,sigma=0,max=1GiB", "above 0"),
        ("lognormal:median=1MiB,sigma=inf,max=1GiB", "up to 10"),
        ("lognormal:median=1MiB,sigma=NaN,max=1GiB", "up to 10"),
        ("lognormal:median=2GiB,sigma=1,max=1GiB", "between min"),
        ("lognormal:median=0,sigma=1,min=0,max=1GiB", "above 0"),
        ("lognormal:mean=1MiB,sigma=1,max=1GiB", "unknown parameter `mean`"),
        ("lognormal:median=1MiB,median=1MiB,sigma=1,max=1GiB", "median is given twice"),
        (&many, "at most 1024"),
    ] {
        let message = text.parse::<Sizes>().unwrap_err().to_string();
        assert!(message.contains(wanted) && message.lines().count() == 1, "{text}: {message}");
    }
}

#[test]
fn a_list_is_taken_in_turn() {
    let list = sizes("1,2,3");
    let taken: Vec<u64> = (0..7).map(|index| list.size(index, index.wrapping_mul(0x9e37))).collect();
    assert_eq!(taken, [1, 2, 3, 1, 2, 3, 1]);
}

#[test]
fn weights_are_probabilities() {
    let sample = sample("64KiB:70,1MiB:25,2MiB..4MiB:5", 100_000);
    expect_share(&sample, 64 << 10, 0.70);
    expect_share(&sample, 1 << 20, 0.95);
    expect_share(&sample, 3 << 20, 0.975);
    assert!(sample.iter().all(|size| *size == 64 << 10 || *size == 1 << 20 || (2 << 20..=4 << 20).contains(size)));
}

#[test]
fn ranges_are_uniform() {
    let sample = sample("1000..1999", 100_000);
    for (size, expected) in [(1000, 0.001), (1249, 0.25), (1499, 0.5), (1899, 0.9)] {
        expect_share(&sample, size, expected);
    }
    assert_eq!((sample.first(), sample.last()), (Some(&1000), Some(&1999)));
}

#[test]
fn each_doubling_of_a_log_uniform_size_is_equally_likely() {
    let sample = sample("loguniform:4KiB..1GiB", 100_000);
    for doublings in 1..18_u32 {
        // Sizes are rounded down to whole bytes. Before rounding, the continuous distribution ends at max + 1.
        let truth = f64::from(doublings) * std::f64::consts::LN_2 / (((1_u64 << 30) + 1) as f64 / 4096.0).ln();
        expect_share(&sample, (4096 << doublings) - 1, truth);
    }
}

#[test]
fn few_log_uniform_sizes_have_exact_probabilities() {
    let sample = sample("loguniform:1..4", 100_000);
    for size in 1..4 {
        expect_share(&sample, size, ((size + 1) as f64).ln() / 5_f64.ln());
    }
}

#[test]
fn log_normal_sizes_have_their_quantiles() {
    let sample = sample("lognormal:median=1MiB,sigma=1.5,max=1GiB", 100_000);
    let median = f64::from(1 << 20);
    // Standard normal quantiles from tables: Φ(1) = 0.841345, Φ(-2) = 0.022750, Φ(2.5) = 0.993790.
    for (deviations, expected) in [(0.0, 0.5), (1.0, 0.841_345), (-2.0, 0.022_750), (2.5, 0.993_790)] {
        expect_share(&sample, (median * f64::exp(1.5 * deviations)) as u64, expected);
    }
}

#[test]
fn sizes_above_the_maximum_become_the_maximum() {
    let sample = sample("lognormal:median=1MiB,sigma=1,min=512KiB,max=2MiB", 100_000);
    // Φ(ln 2) = 0.755891.
    expect_share(&sample, (2 << 20) - 1, 0.755_891);
    expect_share(&sample, 512 << 10, 1.0 - 0.755_891);
    expect_share(&sample, 1 << 20, 0.5);
}

#[test]
fn a_fixed_size_is_recognized() {
    assert_eq!(sizes("1MiB").as_fixed(), Some(ByteSize(1 << 20)));
    assert_eq!(sizes("7..7").as_fixed(), Some(ByteSize(7)));
    assert_eq!(sizes("1MiB,1MiB").as_fixed(), None);
    assert_eq!(Sizes::fixed(ByteSize(5)), Some(sizes("5")));
    assert_eq!(Sizes::fixed(ByteSize(u64::MAX)), None);
}
