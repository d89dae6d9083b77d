//! Whether bodies are as long as that of the first complete answer, as ab compares them.

use crate::control::Control;
use crate::plan::{Pick, Plan, Then};

/// The length that bodies are held against.
#[derive(Debug)]
pub(in crate::run_loop) enum FirstLength<'p> {
    /// Operations ask for different things, or for no body: their lengths say nothing of each other.
    NotCompared,
    /// This thread has had no answer yet; another one may have.
    Awaited(&'p Control),
    /// The one of the run's first complete answer, whatever its status.
    Known(u64),
}

impl<'p> FirstLength<'p> {
    pub fn new(plan: &Plan, control: &'p Control) -> Self {
        if is_comparable(plan) { Self::Awaited(control) } else { Self::NotCompared }
    }

    /// Whether a complete body of so many bytes is not as long as the first one, which it may be itself.
    #[inline]
    pub fn differs(&mut self, body_bytes: u64) -> bool {
        match self {
            Self::Known(first) => *first != body_bytes,
            Self::NotCompared => false,
            Self::Awaited(control) => {
                let first = control.first_length(body_bytes);
                *self = Self::Known(first);
                first != body_bytes
            }
        }
    }
}

/// Whether all operations ask the same of the same object, by a method whose answers have bodies.
fn is_comparable(plan: &Plan) -> bool {
    let [request] = plan.mix.requests() else { return false };
    let same_object = match request.pick {
        Pick::Target => plan.targets.count() == 1,
        Pick::Container => true,
        Pick::Fresh | Pick::Spent { .. } | Pick::Batch(_) => false,
    };
    same_object && request.then == Then::End && request.method.as_ref() != "HEAD"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_compare_with_the_first_answer_of_all() {
        let control = Control::default();
        let mut threads = [FirstLength::Awaited(&control), FirstLength::Awaited(&control)];
        assert!(!threads[0].differs(14));
        assert!(threads[1].differs(1024) && !threads[1].differs(14) && threads[0].differs(1024));
        assert!(!FirstLength::NotCompared.differs(1) && !FirstLength::NotCompared.differs(2));
    }
}
