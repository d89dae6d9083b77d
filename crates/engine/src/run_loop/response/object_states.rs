//! States of objects, derived from responses. These states are kept to detect an object that changes between two range
//! requests.

use super::header_values::HeaderValues;
use crate::plan::Subject;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use wire::response::{Head, RangeField};

/// Maximum number of objects whose state a thread remembers.
const OBJECTS_MAX: usize = 100_000;

/// First known state of each object at each origin.
#[derive(Debug, Default)]
pub(in crate::run_loop) struct ObjectStates(HashMap<(Subject, usize), ObjectState>);

#[derive(Clone, Copy, Debug)]
struct ObjectState {
    /// A hash of the ETag.
    etag: Option<u64>,
    /// Length of the whole object.
    length: Option<u64>,
}

impl ObjectStates {
    /// Keeps the first state of an object. Returns whether the state in this range response differs from the first
    /// state.
    pub fn differs(&mut self, subject: Subject, origin: usize, head: &Head, values: &HeaderValues) -> bool {
        let RangeField::Valid(range) = head.content_range else { return false };
        let etag = (!values.etag.is_empty()).then(|| {
            let mut hasher = DefaultHasher::new();
            values.etag.hash(&mut hasher);
            hasher.finish()
        });
        let now = ObjectState { etag, length: range.complete };
        let room = self.0.len() < OBJECTS_MAX;
        let Some(first) = self.0.get_mut(&(subject, origin)) else {
            if room {
                self.0.insert((subject, origin), now);
            }
            return false;
        };
        let differ = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a != b);
        let differs = differ(first.etag, now.etag) || differ(first.length, now.length);
        *first = ObjectState { etag: first.etag.or(now.etag), length: first.length.or(now.length) };
        differs
    }
}
