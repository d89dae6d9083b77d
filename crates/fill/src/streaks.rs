//! Counts of consecutive failures. After many consecutive failures, a fill ends, because all further objects would
//! probably fail too. For example, the keys may have expired, or the disk with the local files may have failed. Without
//! this rule, a fill of millions of objects would try every object and store none.

/// A fill ends after this number of consecutive failures of one kind.
pub const IN_A_ROW_MAX: u64 = 100;

/// A kind of failure that probably concerns all objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hopeless {
    /// The target refused an object because of missing permission.
    Refused,
    /// A local file could not be read.
    Unreadable,
}

/// The number of failures of each kind since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streaks {
    refused: u64,
    unreadable: u64,
}

impl Streaks {
    /// Adds a success.
    pub fn note_success(&mut self) {
        *self = Self::default();
    }

    /// Adds an object that failed.
    pub fn note_failure(&mut self, kind: Hopeless) {
        match kind {
            Hopeless::Refused => self.refused += 1,
            Hopeless::Unreadable => self.unreadable += 1,
        }
    }

    /// Returns the kind of failure for which the fill must end.
    #[must_use]
    pub fn too_long(self) -> Option<Hopeless> {
        let streaks = [(self.refused, Hopeless::Refused), (self.unreadable, Hopeless::Unreadable)];
        streaks.into_iter().find(|(number, _)| *number >= IN_A_ROW_MAX).map(|(_, kind)| kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_of_one_kind_in_a_row_end_a_fill() {
        let mut streaks = Streaks::default();
        for _ in 0..10 {
            for kind in [Hopeless::Refused, Hopeless::Unreadable] {
                (0..IN_A_ROW_MAX - 1).for_each(|_| streaks.note_failure(kind));
            }
            assert_eq!(streaks.too_long(), None);
            streaks.note_success();
        }
        (0..IN_A_ROW_MAX).for_each(|_| streaks.note_failure(Hopeless::Unreadable));
        assert_eq!(streaks.too_long(), Some(Hopeless::Unreadable));
    }
}
