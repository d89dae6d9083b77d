//! The objects that loads wrote in addition to those of their dataset, by number. `cleanup` needs to know them.

use engine::plan::Plan;
use engine::{Control, Ending, Observer, RunError};
use std::cell::Cell;

/// Objects that loads wrote in addition to those of their dataset.
#[derive(Clone, Copy, Debug, Default)]
pub struct WrittenObjects {
    begun: u64,
    /// Number of loads that reported everything they wrote.
    known: u64,
    below: u64,
    of_warmup: u64,
}

impl WrittenObjects {
    /// Returns whether any load started.
    pub fn is_any(self) -> bool {
        self.begun > 0
    }

    /// Returns whether every load reported everything it wrote.
    pub fn is_all(self) -> bool {
        self.begun == self.known
    }

    /// Returns the bound of the numbers of the objects that are known, except those of a warm-up.
    pub fn below(self) -> u64 {
        self.below
    }

    /// Returns the bound of the numbers of a warm-up's objects, counted from [`engine::run_loop::WARMUP_NUMBERS`].
    pub fn of_warmup(self) -> u64 {
        self.of_warmup
    }
}

thread_local! {
    static WRITTEN: Cell<WrittenObjects> = const { Cell::new(WrittenObjects { begun: 0, known: 0, below: 0, of_warmup: 0 }) };
}

/// Returns what loads of this thread wrote since [`forget_written`], whatever their results.
pub fn written() -> WrittenObjects {
    WRITTEN.get()
}

/// Forgets what loads of this thread wrote before.
pub fn forget_written() {
    WRITTEN.set(WrittenObjects::default());
}

/// Makes the load of a plan and notes which objects it writes.
pub fn make_load(plan: &Plan, control: &Control, observer: &mut dyn Observer) -> Result<Ending, RunError> {
    let before = written();
    WRITTEN.set(WrittenObjects { begun: before.begun + 1, ..before });
    let ran = engine::run(plan, control, observer);
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
