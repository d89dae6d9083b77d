//! A companion of a run. A companion receives results before they are saved, and may delay the start of operations.

use super::recording::Recording;
use engine::{Control, CreatedUpload, Observer, OpEntry, Sent};
use measure::{Instant, Interval};

/// A companion of a run.
pub struct Companion<'a> {
    /// At first, only operations with numbers below this number may start. The observer raises the limit.
    pub start_below: u64,
    /// `true` to save the log of operations. The observer gets all operations in any case.
    pub log_ops: bool,
    /// The observer.
    pub observer: &'a mut dyn Observer,
}

/// A recording with its companion. The companion gets each result first, because it must save the result before the
/// recording counts it.
pub struct Accompanied<'a> {
    /// The companion's observer, if there is a companion.
    pub companion: Option<&'a mut dyn Observer>,
    /// The recording.
    pub recording: Recording,
}

impl Observer for Accompanied<'_> {
    fn started(&mut self, at: Instant) {
        if let Some(companion) = &mut self.companion {
            companion.started(at);
        }
        self.recording.started(at);
    }

    fn slice(&mut self, slice: &Interval, control: &Control, now: Instant) {
        if let Some(companion) = &mut self.companion {
            companion.slice(slice, control, now);
        }
        self.recording.slice(slice, control, now);
    }

    fn interval(&mut self, interval: &Interval, control: &Control, now: Instant) {
        if let Some(companion) = &mut self.companion {
            companion.interval(interval, control, now);
        }
        self.recording.interval(interval, control, now);
    }

    fn ops(&mut self, ops: &[OpEntry]) {
        if let Some(companion) = &mut self.companion {
            companion.ops(ops);
        }
        self.recording.ops(ops);
    }

    fn uploads_created(&mut self, uploads: &[CreatedUpload]) {
        if let Some(companion) = &mut self.companion {
            companion.uploads_created(uploads);
        }
        self.recording.uploads_created(uploads);
    }

    fn in_flight(&mut self, sent: Sent) {
        if let Some(companion) = &mut self.companion {
            companion.in_flight(sent);
        }
        self.recording.in_flight(sent);
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        if let Some(companion) = &mut self.companion {
            companion.tick(control, now);
        }
        self.recording.tick(control, now);
    }
}
