//! Objects that a run has requested so far. A cache usually responds more slowly to the first access of an object than
//! to later accesses. The results are therefore reported separately for first and repeated accesses.

use measure::sample::Access;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of objects for which first and repeated accesses are distinguished. The bits for this many objects
/// take 128 MiB of memory.
const OBJECTS_MAX: u64 = 1 << 30;

/// One bit for each object of a run. All threads of the run share these bits.
#[derive(Debug)]
pub(crate) struct AccessedObjects {
    words: Box<[AtomicU64]>,
}

impl AccessedObjects {
    /// Returns the state for `objects` objects before any access.
    pub(crate) fn new(objects: u64) -> Self {
        let words = if objects > OBJECTS_MAX { 0 } else { objects.div_ceil(64) };
        Self { words: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Records an access of an object. Returns `None` if there are too many objects.
    #[inline]
    pub(crate) fn access(&self, object: u64) -> Option<Access> {
        let (word, bit) = (self.words.get(usize::try_from(object / 64).ok()?)?, 1 << (object % 64));
        // Read the bit before writing it. Most accesses are repeated and need no write, and a write would evict the
        // cache line from other cores.
        let is_repeated = word.load(Ordering::Relaxed) & bit != 0 || word.fetch_or(bit, Ordering::Relaxed) & bit != 0;
        Some(if is_repeated { Access::Repeated } else { Access::First })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_object_is_accessed_once_for_the_first_time_by_all_threads() {
        let accessed = AccessedObjects::new(1000);
        let count = || (0..5000).filter(|index| accessed.access(index % 1000) == Some(Access::First)).count();
        let first: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(count)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(first, 1000);
        assert_eq!(accessed.access(999), Some(Access::Repeated));
    }

    #[test]
    fn too_many_objects_are_not_distinguished() {
        assert_eq!(AccessedObjects::new(OBJECTS_MAX + 1).access(0), None);
    }
}
