//! A queue with a limit, many writers and one reader.

use super::SendError;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

struct Queue<T> {
    items: VecDeque<T>,
    abandoned: bool,
}

/// The queue. Both ends hold a copy.
pub struct Mailbox<T> {
    shared: Arc<(Mutex<Queue<T>>, Condvar)>,
    limit: usize,
}

impl<T> Clone for Mailbox<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), limit: self.limit }
    }
}

impl<T> Mailbox<T> {
    pub fn new(limit: usize) -> Self {
        let queue = Queue { items: VecDeque::new(), abandoned: false };
        Self { shared: Arc::new((Mutex::new(queue), Condvar::new())), limit }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item, and waits for space if necessary.
    pub fn post(&self, item: T, wait: Duration) -> Result<(), SendError> {
        let full = |queue: &mut Queue<T>| queue.items.len() >= self.limit && !queue.abandoned;
        let waited = self.shared.1.wait_timeout_while(self.lock(), wait, full);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if queue.abandoned {
            return Err(SendError::Closed);
        }
        if full(&mut queue) {
            return Err(SendError::Full);
        }
        queue.items.push_back(item);
        self.shared.1.notify_all();
        Ok(())
    }

    /// Adds the last item of a writer, even to a full queue. The queue can therefore exceed its limit by one item per
    /// writer.
    pub fn post_last(&self, item: T) {
        self.lock().items.push_back(item);
        self.shared.1.notify_all();
    }

    /// Takes the oldest item. Returns `None` if no item arrives within `wait`.
    pub fn take(&self, wait: Duration) -> Option<T> {
        let empty = |queue: &mut Queue<T>| queue.items.is_empty();
        let waited = self.shared.1.wait_timeout_while(self.lock(), wait, empty);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let item = queue.items.pop_front();
        self.shared.1.notify_all();
        item
    }

    /// Marks the reader as gone. Writers get an error from now on.
    pub fn abandon(&self) {
        self.lock().abandoned = true;
        self.shared.1.notify_all();
    }
}
