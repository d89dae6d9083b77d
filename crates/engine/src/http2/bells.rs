//! Wakers that only make a note: who polls by hand looks at the notes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Rung when the connection has something to do.
#[derive(Debug, Default)]
pub(super) struct Bell(AtomicBool);

impl Bell {
    /// Whether it was rung since it was asked last.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Places of the streams that have something to do, each at most once. The lock is that of the library's interface, which
/// wants wakers that could be sent to other threads: it is never contended.
#[derive(Debug, Default)]
pub(super) struct Called(Mutex<Vec<u32>>);

impl Called {
    fn push(&self, place: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(place);
    }

    /// Takes what has been called, into `into`, replacing what was there.
    pub fn take(&self, into: &mut Vec<u32>) {
        into.clear();
        std::mem::swap(into, &mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The bell of one stream's place.
#[derive(Debug)]
pub(super) struct StreamBell {
    place: u32,
    rung: AtomicBool,
    called: Arc<Called>,
}

impl StreamBell {
    pub fn new(place: u32, called: &Arc<Called>) -> Arc<Self> {
        Arc::new(Self { place, rung: AtomicBool::new(false), called: Arc::clone(called) })
    }

    pub fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    pub fn ring(&self) {
        if !self.rung.swap(true, Ordering::Relaxed) {
            self.called.push(self.place);
        }
    }

    /// Its stream is being looked at: from now on it rings anew.
    pub fn answered(&self) {
        self.rung.store(false, Ordering::Relaxed);
    }
}

impl Wake for StreamBell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}
