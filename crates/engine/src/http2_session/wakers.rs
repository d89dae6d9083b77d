//! Wakers that only set a flag, for futures that are polled by hand.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Flag that is set when the connection must be polled.
#[derive(Debug, Default)]
pub(super) struct WakeFlag(AtomicBool);

impl WakeFlag {
    /// Returns whether the flag was set since the last call.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Places (indexes in the session's table) of the streams that must be polled, each at most once. Wakers must be usable
/// from other threads, so a lock is needed, although it is never contended.
#[derive(Debug, Default)]
pub(super) struct WakeQueue(Mutex<Vec<u32>>);

impl WakeQueue {
    fn push(&self, place: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(place);
    }

    /// Moves the places into `into`, replacing its content.
    pub fn take(&self, into: &mut Vec<u32>) {
        into.clear();
        std::mem::swap(into, &mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Waker of one stream's place.
#[derive(Debug)]
pub(super) struct StreamWaker {
    place: u32,
    woken: AtomicBool,
    queue: Arc<WakeQueue>,
}

impl StreamWaker {
    /// Returns the waker for the stream at `place`. The place is not in the queue yet.
    pub fn new(place: u32, queue: &Arc<WakeQueue>) -> Arc<Self> {
        Arc::new(Self { place, woken: AtomicBool::new(false), queue: Arc::clone(queue) })
    }

    /// Returns the waker as the type that futures need.
    pub fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    /// Makes the session poll the stream.
    pub fn wake_stream(&self) {
        if !self.woken.swap(true, Ordering::Relaxed) {
            self.queue.push(self.place);
        }
    }

    /// Records that the stream is being polled. After this call, the stream can be woken again.
    pub fn reset(&self) {
        self.woken.store(false, Ordering::Relaxed);
    }
}

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.wake_stream();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_stream();
    }
}
