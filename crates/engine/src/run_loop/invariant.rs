//! Values that exist unless this program has a defect.

pub(crate) trait Invariant {
    /// Returns `self`. If there is no value, `invariant` is broken, and debug builds panic.
    ///
    /// Release builds continue without the value. The operation then ends as `internal`, either at once or at the next
    /// check (`attempt/orphans.rs`), or the attempt ends at its timeout.
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
