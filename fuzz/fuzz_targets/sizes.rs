//! Arbitrary text as a size distribution: a parsed distribution survives formatting and parsing, and its sizes are
//! within its bounds.
#![no_main]

use content::{Dataset, Description, Names, SIZE_MAX, Seed, Sizes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(sizes) = text.parse::<Sizes>() else { return };
    assert_eq!(sizes.to_string().parse::<Sizes>(), Ok(sizes.clone()));
    let names = Names::new("o", 8, "", None).expect("a plain name");
    let dataset = Dataset::new(Description { seed: Seed(1), count: u64::MAX, sizes, names, last_bytes: None });
    for index in [0, 1, 1023, u64::MAX - 1] {
        assert!(dataset.size(index).is_some_and(|size| size <= SIZE_MAX));
    }
});
