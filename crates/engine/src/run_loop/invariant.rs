//! Values that exist unless this program has a defect.

pub(in crate::run_loop) trait Invariant {
    /// Returns `self`. If it has no value, `invariant` is broken, and debug builds panic.
    ///
    /// Release builds go on without the value. Then the attempt ends at its timeout, or the operation ends as `internal`
    /// (`attempt/orphans.rs`).
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
