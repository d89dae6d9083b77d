//! Values that exist unless this program has a defect.

pub(crate) trait Invariant {
    /// Returns `self`. If `self` has no value, `invariant` is broken, and debug builds panic.
    ///
    /// Release builds continue without the value. An operation without a connection then ends with the class
    /// `internal`, at the latest at the next check (`attempt/orphans.rs`). An operation that still has its connection
    /// ends at its timeout.
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
