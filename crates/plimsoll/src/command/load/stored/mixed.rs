//! What runs of `mix` wrote next to a dataset, remembered where it lies: `cleanup` needs this where objects cannot be listed.

use super::Stored;
use crate::execute;
use crate::failure::Failure;
use crate::say;
use engine::plan::RequestPlan;
use engine::run_loop::WARMUP_NUMBERS;
use measure::OpKind;
use serde_json::{Value, json};
use std::ops::Range;

/// The object that says what `mix` wrote next to the others, where they cannot be listed.
const KEY: &str = ".plimsoll-mixed.json";

/// Numbers from here on are not believed: a damaged file must not make `cleanup` delete for years.
const NUMBERS_MAX: u64 = 1 << 40;

/// What `mix` wrote next to a dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mixed {
    /// The numbers of all objects that are known are below this, or of a warm-up.
    below: u64,
    /// Those of a warm-up are below this, counted from [`WARMUP_NUMBERS`].
    of_warmup: u64,
    /// A run goes on or did not end: it may have written others.
    pub open: bool,
}

impl Mixed {
    /// `below` is null where a run is open, as in files of earlier versions, which had no `known`.
    fn to_json(self) -> Value {
        json!({ "below": (!self.open).then_some(self.below), "known": self.below, "of_warmup": self.of_warmup })
    }

    fn of_json(json: &Value) -> Self {
        // Earlier versions took numbers of a warm-up for those of all objects.
        let number = |name: &str| json[name].as_u64().filter(|number| *number <= NUMBERS_MAX);
        let (below, of_warmup) = (number("below"), number("of_warmup"));
        Self {
            below: below.or(number("known")).unwrap_or(0),
            of_warmup: of_warmup.unwrap_or(0),
            open: below.is_none() || (of_warmup.is_none() && !json["of_warmup"].is_null()),
        }
    }

    /// What either of them knows. Runs on the same dataset may overlap.
    fn with(self, other: Self) -> Self {
        Self {
            below: self.below.max(other.below),
            of_warmup: self.of_warmup.max(other.of_warmup),
            open: self.open || other.open,
        }
    }

    /// The numbers of the objects that are known.
    pub fn numbers(self) -> [Range<u64>; 2] {
        [0..self.below, WARMUP_NUMBERS..WARMUP_NUMBERS + self.of_warmup]
    }
}

impl Stored<'_> {
    /// What `mix` wrote next to the dataset, where that is remembered.
    pub fn mixed(&self) -> Result<Option<Mixed>, Failure> {
        let Some(json) = self.read(KEY)? else { return Ok(None) };
        // What cannot be read says that something was written, and not what.
        Ok(Some(Mixed::of_json(&serde_json::from_slice(&json).unwrap_or_default())))
    }

    /// Forgets it.
    pub fn forget_mixed(&self) -> Result<(), Failure> {
        self.change(&RequestPlan::new("DELETE", OpKind::Delete), KEY)
    }

    fn keep_mixed(&self, mixed: Mixed) -> Result<(), Failure> {
        self.write(KEY, serde_json::to_vec(&mixed.to_json()))
    }

    /// Makes loads of `mix`, and remembers what they write next to the dataset.
    ///
    /// # Errors
    /// Those of the loads, and when nothing can be remembered before them.
    pub fn remember_mixed<T>(&self, loads: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let before = self.mixed()?;
        let known = before.unwrap_or_default();
        self.keep_mixed(Mixed { open: true, ..known })?;
        execute::forget_fresh();
        let made = loads();
        let fresh = execute::fresh();
        let own = Mixed { below: fresh.below(), of_warmup: fresh.of_warmup(), open: known.open || !fresh.is_all() };
        // Another run may have written and remembered something meanwhile. Whether one of them is still open is not known.
        let meanwhile = self.mixed().map(|mixed| Mixed { open: false, ..mixed.unwrap_or_default() });
        let kept = meanwhile.and_then(|meanwhile| match (before, fresh.is_any()) {
            // Refused before any load: all is as it was.
            (None, false) if meanwhile == Mixed::default() => self.forget_mixed(),
            (_, false) => self.keep_mixed(known.with(meanwhile)),
            (_, true) => self.keep_mixed(known.with(meanwhile).with(own)),
        });
        if let Err(failure) = kept {
            say::note(&format!("plimsoll: `cleanup` will not know what this run wrote: {}", failure.into_message()));
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_earlier_versions_are_read() {
        let of = |text: &str| Mixed::of_json(&serde_json::from_str(text).unwrap());
        let mixed = |below, of_warmup, open| Mixed { below, of_warmup, open };
        assert_eq!(of(r#"{"below":7}"#), mixed(7, 0, false));
        assert_eq!(of(r#"{"below":null}"#), mixed(0, 0, true));
        assert_eq!(of(r#"{"below":4611686018427387905}"#), mixed(0, 0, true));
        assert_eq!(of(r#"{"below":7,"known":7,"of_warmup":4611686018427387900}"#), mixed(7, 0, true));
        for mixed in [mixed(7, 3, false), mixed(7, 3, true)] {
            assert_eq!(Mixed::of_json(&mixed.to_json()), mixed);
        }
    }
}
