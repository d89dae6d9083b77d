//! Values that exist unless this program has a defect.

pub(in crate::run_loop) trait Invariant {
    /// Returns `self`. Panics in debug builds when it has no value, so that `invariant` is broken.
    ///
    /// Release builds go on without the value: the attempt ends by its timeout, or the operation as `internal`
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
