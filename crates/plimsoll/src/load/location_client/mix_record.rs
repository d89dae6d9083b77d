//! The record of the objects that `mix` wrote next to a dataset. `cleanup` needs this record if the location cannot
//! list objects.

use super::LocationClient;
use crate::console;
use crate::execute;
use crate::failure::Failure;
use engine::plan::RequestPlan;
use engine::run_loop::WARMUP_NUMBERS;
use measure::OpKind;
use serde_json::{Value, json};
use std::ops::Range;

/// Key of the object that contains the record.
const KEY: &str = ".plimsoll-mixed.json";

/// Maximum valid number of an object. Without this limit, a damaged record could make `cleanup` send requests for
/// years.
const NUMBERS_MAX: u64 = 1 << 40;

/// The objects that `mix` wrote next to a dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MixRecord {
    /// The objects with numbers below this number were written. Excludes objects of a warm-up.
    below: u64,
    /// Like `below`, for objects that a warm-up wrote. The numbers of warm-up objects start at [`WARMUP_NUMBERS`].
    of_warmup: u64,
    /// `true` while a run is in progress, and after a run that did not complete. Such a run may have written more
    /// objects.
    pub open: bool,
}

impl MixRecord {
    /// Returns the record as JSON. While a run is open, `below` is null, because earlier versions of this program
    /// understand null but not `known`.
    fn to_json(self) -> Value {
        json!({ "below": (!self.open).then_some(self.below), "known": self.below, "of_warmup": self.of_warmup })
    }

    fn of_json(json: &Value) -> Self {
        // Earlier versions could store the number of a warm-up object in `below`. Ignore such numbers.
        let number = |name: &str| json[name].as_u64().filter(|number| *number <= NUMBERS_MAX);
        let (below, of_warmup) = (number("below"), number("of_warmup"));
        Self {
            below: below.or(number("known")).unwrap_or(0),
            of_warmup: of_warmup.unwrap_or(0),
            open: below.is_none() || (of_warmup.is_none() && !json["of_warmup"].is_null()),
        }
    }

    /// Returns the union of both records. Runs on the same dataset may overlap.
    fn union(self, other: Self) -> Self {
        let Self { below, of_warmup, open } = other;
        Self { below: self.below.max(below), of_warmup: self.of_warmup.max(of_warmup), open: self.open || open }
    }

    /// Returns the numbers of the objects known to be written.
    pub fn numbers(self) -> [Range<u64>; 2] {
        [0..self.below, WARMUP_NUMBERS..WARMUP_NUMBERS + self.of_warmup]
    }
}

impl LocationClient<'_> {
    /// Returns the record, or `None` if there is none.
    pub fn mix_record(&self) -> Result<Option<MixRecord>, Failure> {
        let Some(json) = self.read(KEY)? else { return Ok(None) };
        // A record that cannot be parsed still shows that objects were written.
        Ok(Some(MixRecord::of_json(&serde_json::from_slice(&json).unwrap_or_default())))
    }

    /// Deletes the record.
    pub fn delete_mix_record(&self) -> Result<(), Failure> {
        self.modify(&RequestPlan::new("DELETE", OpKind::Delete), KEY)
    }

    fn write_mix_record(&self, record: MixRecord) -> Result<(), Failure> {
        self.write(KEY, serde_json::to_vec(&record.to_json()))
    }

    /// Runs `loads` of `mix`, and records the objects that they write next to the dataset.
    ///
    /// # Errors
    /// Fails if `loads` fail, or if the record cannot be written before the loads start.
    pub fn record_mix<T>(&self, loads: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let before = self.mix_record()?;
        let known = before.unwrap_or_default();
        self.write_mix_record(MixRecord { open: true, ..known })?;
        execute::forget_written();
        let made = loads();
        let written = execute::written();
        let own =
            MixRecord { below: written.below(), of_warmup: written.of_warmup(), open: known.open || !written.is_all() };
        // Read the record again, because another run may have changed it since this run started. Such a run may have
        // ended in the meantime.
        let meanwhile = self.mix_record().map(|mixed| MixRecord { open: false, ..mixed.unwrap_or_default() });
        let kept = meanwhile.and_then(|meanwhile| match (before, written.is_any()) {
            // The loads were refused before they started, so nothing was written.
            (None, false) if meanwhile == MixRecord::default() => self.delete_mix_record(),
            (_, false) => self.write_mix_record(known.union(meanwhile)),
            (_, true) => self.write_mix_record(known.union(meanwhile).union(own)),
        });
        if let Err(failure) = kept {
            console::eprintln(&format!(
                "plimsoll: `cleanup` will not find the objects of this run: {}",
                failure.into_message()
            ));
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_earlier_versions_are_read() {
        let of = |text: &str| MixRecord::of_json(&serde_json::from_str(text).unwrap());
        let mixed = |below, of_warmup, open| MixRecord { below, of_warmup, open };
        assert_eq!(of(r#"{"below":7}"#), mixed(7, 0, false));
        assert_eq!(of(r#"{"below":null}"#), mixed(0, 0, true));
        assert_eq!(of(r#"{"below":4611686018427387905}"#), mixed(0, 0, true));
        assert_eq!(of(r#"{"below":7,"known":7,"of_warmup":4611686018427387900}"#), mixed(7, 0, true));
        for mixed in [mixed(7, 3, false), mixed(7, 3, true)] {
            assert_eq!(MixRecord::of_json(&mixed.to_json()), mixed);
        }
    }
}
