//! The numbers of the objects that loads wrote in addition to their dataset. `cleanup` deletes these objects.

use engine::plan::Plan;
use engine::{Control, Ending, Observer, RunError};
use measure::MonotonicClock;
use std::cell::Cell;

/// The objects that loads wrote in addition to their dataset.
#[derive(Clone, Copy, Debug, Default)]
pub struct WrittenObjects {
    begun: u64,
    /// Number of loads that reported all written objects.
    known: u64,
    below: u64,
    of_warmup: u64,
}

impl WrittenObjects {
    /// Returns whether any load was started.
    pub fn is_any(self) -> bool {
        self.begun > 0
    }

    /// Returns whether all loads reported all written objects.
    pub fn is_all(self) -> bool {
        self.begun == self.known
    }

    /// Returns the highest number of an object that is known to be written, plus 1. Objects of warm-ups do not count.
    pub fn below(self) -> u64 {
        self.below
    }

    /// Like [`Self::below`], for objects of warm-ups, whose numbers start at [`engine::run_loop::WARMUP_NUMBERS`].
    pub fn of_warmup(self) -> u64 {
        self.of_warmup
    }
}

thread_local! {
    static WRITTEN: Cell<WrittenObjects> = const { Cell::new(WrittenObjects { begun: 0, known: 0, below: 0, of_warmup: 0 }) };
}

/// Returns the objects that loads of this thread wrote since the last [`forget_written`]. Includes failed loads.
pub fn written() -> WrittenObjects {
    WRITTEN.get()
}

/// Forgets the objects that loads of this thread have written so far.
pub fn forget_written() {
    WRITTEN.set(WrittenObjects::default());
}

/// Makes the load of a plan, and records the objects that the load writes. The load starts at the zero of `clock`, or
/// now if there is no clock.
pub fn make_load(
    clock: Option<MonotonicClock>,
    plan: &Plan,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Ending, RunError> {
    let before = written();
    WRITTEN.set(WrittenObjects { begun: before.begun + 1, ..before });
    let ran = engine::run_from(clock.unwrap_or_else(MonotonicClock::start), plan, control, observer);
    let (left, is_all) = match &ran {
        Ok(ending) => (&ending.left, true),
        Err(error) => (&error.left, error.left_is_all),
    };
    WRITTEN.set(WrittenObjects {
        begun: before.begun + 1,
        known: before.known + u64::from(is_all),
        below: before.below.max(left.fresh_below),
        of_warmup: before.of_warmup.max(left.fresh_of_warmup),
    });
    ran
}
