//! Values that exist unless this program has a defect.

pub(in crate::run_loop) trait Invariant {
    /// Returns `self`. If there is no value, `invariant` is broken, and debug builds panic.
    ///
    /// Release builds continue without the value. The attempt then ends at its timeout, or the operation ends as
    /// `internal` (`attempt/orphans.rs`).
    fn assert_some(self, invariant: &str) -> Self;
}

impl<T> Invariant for Option<T> {
    #[inline]
    #[track_caller]
    fn assert_some(self, invariant: &str) -> Self {
        debug_assert!(self.is_some(), "broken invariant: {invariant}");
        self
    }
}
