//! Tests that compare distributions with sorted values and direct computations.

use super::encoding::{HEADER_BYTES, Record};
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Serializer as _, V2Serializer};
use proptest::prelude::*;

fn close(found: u64, truth: u64) -> bool {
    found.abs_diff(truth) as f64 <= (truth as f64 * 1e-3).max(RESOLUTION as f64)
}

#[test]
fn wrong_minimums_are_corrected() {
    let text = serde_json::to_string(&of(&[10_000, 1_000_000])).unwrap();
    let damaged = text.replace("\"min\":10000", "\"min\":900000");
    assert_ne!(text, damaged);
    let whole: Distribution = serde_json::from_str(&damaged).unwrap();
    let left = whole.without(&of(&[1_000_000]));
    assert_eq!((left.count(), left.quantile(0.1), left.quantile(1.0)), (1, left.max(), left.max()));
}

proptest! {
    #[test]
    fn quantiles_agree_with_the_sorted_values(
        mut values in prop::collection::vec(0_u64..100_000_000_000, 1..300), q in 0.0_f64..=1.0,
    ) {
        let distribution = of(&values);
        values.sort_unstable();
        let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
        let found = distribution.quantile(q).unwrap();
        prop_assert!(close(found, values[rank - 1]), "found {found}, truth {}", values[rank - 1]);
    }

    #[test]
    fn merging_the_parts_of_any_split_gives_the_whole(values in prop::collection::vec(any::<u32>(), 0..200), cut in 0_usize..200) {
        let values: Vec<u64> = values.into_iter().map(u64::from).collect();
        let (left, right) = values.split_at(cut.min(values.len()));
        let (mut a, mut b) = (of(left), of(right));
        a.merge(&of(right));
        b.merge(&of(left));
        let whole = of(&values);
        for merged in [a, b] {
            prop_assert_eq!(merged.moments(), whole.moments());
            prop_assert!(merged.recorded().eq(whole.recorded()));
        }
    }

    #[test]
    fn subtracting_a_part_leaves_the_other_part(
        values in prop::collection::vec(0_u64..100_000_000_000, 0..200), cut in 0_usize..200, q in 0.0_f64..=1.0,
    ) {
        let (left, right) = values.split_at(cut.min(values.len()));
        let (part, expected) = (of(left), of(right));
        let found = of(&values).without(&part);
        prop_assert!(found.recorded().eq(expected.recorded()));
        prop_assert_eq!(found.moments().sum, expected.moments().sum);
        prop_assert_eq!(found.moments().sum_of_squares, expected.moments().sum_of_squares);
        prop_assert_eq!(found.count(), expected.count());
        match (found.quantile(q), expected.quantile(q)) {
            (Some(found), Some(expected)) => prop_assert!(close(found, expected), "{found}, truth {expected}"),
            (found, expected) => prop_assert_eq!(found, expected),
        }
        let text = serde_json::to_string(&found).unwrap();
        prop_assert!(serde_json::from_str::<Distribution>(&text).is_ok(), "the remaining distribution can be saved and read");
    }

    #[test]
    fn subtracting_more_than_there_is_leaves_nothing(
        values in prop::collection::vec(any::<u64>(), 0..50), part in prop::collection::vec(any::<u64>(), 0..50),
    ) {
        let mut more = of(&part);
        more.merge(&of(&values));
        more.merge(&of(&values));
        let found = of(&values).without(&more);
        prop_assert_eq!((found.count(), found.moments().sum, found.quantile(0.5)), (0, 0, None));
    }

    #[test]
    fn records_round_trip(values in prop::collection::vec(0_u64..86_400_000_000_000, 0..100)) {
        let distribution = of(&values);
        let text = serde_json::to_string(&distribution).unwrap();
        let back: Distribution = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back.moments(), distribution.moments());
        prop_assert!(back.recorded().eq(distribution.recorded()));
    }

    #[test]
    fn moments_agree_with_a_direct_computation(values in prop::collection::vec(0_u64..1_000_000_000_000, 2..100)) {
        let n = values.len() as f64;
        let mean = values.iter().map(|v| *v as f64).sum::<f64>() / n;
        let variance = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let moments = *of(&values).moments();
        prop_assert!((moments.mean().unwrap() - mean).abs() <= mean * 1e-9 + 1e-9);
        prop_assert!((moments.standard_deviation().unwrap() - variance.sqrt()).abs() <= variance.sqrt() * 1e-6 + 1e-3);
    }
}

#[test]
fn failed_and_unfinished_operations_exceed_all_values() {
    let distribution = of(&[10_000, 20_000, 30_000, 40_000]);
    assert!(matches!(distribution.quantile_of_all(0.4, 1, 1), Quantile::Value(v) if close(v, 30_000)));
    assert_eq!(distribution.quantile_of_all(0.8, 1, 1), Quantile::Unfinished);
    assert_eq!(distribution.quantile_of_all(1.0, 1, 1), Quantile::Failed);
    assert_eq!(Distribution::default().quantile_of_all(0.5, 0, 0), Quantile::Empty);
    assert_eq!(Distribution::default().quantile_of_all(0.5, 0, 3), Quantile::Failed);
}

#[test]
fn averaging_percentiles_would_be_wrong_and_merging_is_right() {
    // One client runs undisturbed, the other one stalls.
    let mut quiet = of(&(0..10_000).map(|i| 1_000_000 + i * 100).collect::<Vec<_>>());
    let stalled = of(&(0..1_000).map(|i| if i < 50 { 500_000_000 } else { 1_000_000 + i * 100 }).collect::<Vec<_>>());
    let average = (quiet.quantile(0.99).unwrap() + stalled.quantile(0.99).unwrap()) / 2;
    quiet.merge(&stalled);
    let pooled = quiet.quantile(0.99).unwrap();
    assert!(average > 100 * pooled, "average {average}, pooled {pooled}");
}

#[test]
fn damaged_records_are_rejected() {
    let mut text = serde_json::to_string(&of(&[1, 2, 3])).unwrap();
    let sound = text.clone();
    assert!(serde_json::from_str::<Distribution>(&sound).is_ok());
    for (from, to) in [("\"count\":3", "\"count\":4"), ("\"min\":1", "\"min\":9"), ("\"max\":3", "\"max\":900")] {
        text = sound.replace(from, to);
        assert!(text != sound && serde_json::from_str::<Distribution>(&text).is_err(), "{to}");
    }
    let rejected = |count: u64, bytes: &[u8]| {
        let hdr = BASE64.encode(bytes);
        let text = format!(
            "{{\"count\":{count},\"sum\":\"6\",\"sum_of_squares\":\"14\",\"min\":0,\"max\":3,\"hdr\":\"{hdr}\"}}"
        );
        serde_json::from_str::<Distribution>(&text).expect_err(&text).to_string()
    };
    let bytes = BASE64.decode(sound.split("\"hdr\":\"").nth(1).unwrap().trim_end_matches("\"}")).unwrap();
    let with = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        bytes
    };
    assert!(rejected(3, &with(15, 5)).contains("three significant digits"));
    assert!(rejected(3, &with(23, 1)).contains("a resolution of 64"));
    // The header announces four gigabytes that are missing.
    assert!(rejected(3, &with(4, 0xFF)).contains("differs from its header"));
    assert!(rejected(3, &bytes[..20]).contains("has no header"));
    assert!(rejected(3, &[]).contains("has no header"));
}

#[test]
fn absurd_counts_are_rejected_before_they_overflow() {
    let with_payload = |payload: &[u8]| {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&new_histogram(0), &mut bytes).unwrap();
        bytes.truncate(HEADER_BYTES);
        bytes[4..8].copy_from_slice(&(payload.len() as u32).to_be_bytes());
        bytes.extend_from_slice(payload);
        bytes
    };
    // Zigzag-encoded numbers in base 128: i64::MIN, which has no positive counterpart, and i64::MAX twice.
    let least = with_payload(&[0xFF; 9]);
    let most = with_payload(&[[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]; 2].concat());
    for (bytes, count, why) in
        [(least, 1, "an impossible count"), (most, u64::MAX - 1, "more values than an interval can hold")]
    {
        let record = Record { moments: Moments { count, ..Moments::default() }, hdr: BASE64.encode(bytes) };
        let text = serde_json::to_string(&record).unwrap();
        let rejected = serde_json::from_str::<Distribution>(&text).unwrap_err().to_string();
        assert!(rejected.contains(why), "{rejected}");
    }
}

#[test]
fn sums_of_absurd_counts_saturate() {
    let mut distribution = of(&[10_000]);
    distribution.record_zeros(u64::MAX - 1);
    assert_eq!(distribution.quantile_of_all(1.0, u64::MAX, u64::MAX), Quantile::Value(10_000));
    distribution.record(7);
    distribution.merge(&distribution.clone());
    assert_eq!(distribution.count(), u64::MAX);
}
