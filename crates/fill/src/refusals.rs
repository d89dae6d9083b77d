//! Refusals in a row, after which a fill ends: the target probably refuses everything, for example because the keys have
//! expired. Otherwise a fill of millions of objects would try all of them, and none would be stored.

/// Number of objects in a row whose refusal ends a fill.
pub const IN_A_ROW_MAX: u64 = 100;

/// The number of refusals since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    in_a_row: u64,
}

impl Refusals {
    /// Adds a success.
    pub fn note_success(&mut self) {
        self.in_a_row = 0;
    }

    /// Adds an object that the target refused because of missing permission.
    pub fn note_refusal(&mut self) {
        self.in_a_row += 1;
    }

    /// Returns whether the fill must end.
    #[must_use]
    pub fn are_too_many(self) -> bool {
        self.in_a_row >= IN_A_ROW_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refusals_in_a_row_end_a_fill() {
        let mut refusals = Refusals::default();
        for _ in 0..10 {
            (0..IN_A_ROW_MAX - 1).for_each(|_| refusals.note_refusal());
            assert!(!refusals.are_too_many());
            refusals.note_success();
        }
        (0..IN_A_ROW_MAX).for_each(|_| refusals.note_refusal());
        assert!(refusals.are_too_many());
    }
}
