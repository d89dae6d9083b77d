//! Deletion of several objects with one request, as in S3's `DeleteObjects`.

use super::{BodyPlan, Pick, RequestPlan, ResponseBody, Source};
use measure::OpKind;
use std::num::NonZeroU64;
use wire::s3::MAX_DELETED;

/// Several objects of a bucket that one request deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The objects.
    pub objects: BatchObjects,
    /// Maximum number of objects in a batch.
    pub size_max: BatchSize,
}

/// The objects of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchObjects {
    /// The oldest existing objects that operations of this thread have written. A batch has as many of these objects as
    /// fit. If there are none, the operation makes another request of the plan's mix.
    Written {
        /// Index of the request that is made instead. This request must write an object.
        instead: usize,
    },
    /// The run's targets in their order. Operation n deletes the n-th batch of targets.
    Targets,
}

/// The number of objects that one request deletes: 1 to [`MAX_DELETED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize(NonZeroU64);

impl BatchSize {
    /// Maximum number of objects that S3 accepts.
    pub const MAX: Self = Self(NonZeroU64::new(MAX_DELETED as u64).expect("a batch has room"));

    /// Returns the size of a batch of `objects` objects; `None` if the number exceeds [`Self::MAX`].
    #[must_use]
    pub fn new(objects: NonZeroU64) -> Option<Self> {
        (objects <= Self::MAX.0).then_some(Self(objects))
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

impl RequestPlan {
    /// Returns the request that deletes a batch of objects.
    #[must_use]
    pub fn delete_batch(batch: Batch) -> Self {
        Self {
            pick: Pick::Batch(batch),
            query: Some("delete=".into()),
            body: Some(BodyPlan::of(Source::Own)),
            response_body: ResponseBody::Kept,
            ..Self::new("POST", OpKind::Delete)
        }
    }

    /// Returns whether a request with a batch can be sent and judged: it has the body that a batch needs, and its
    /// response is kept so that it can be parsed. Always `true` for a request without a batch.
    pub(super) fn can_carry_its_batch(&self) -> bool {
        let has_message = || self.body.as_ref().is_some_and(|body| matches!(body.source, Source::Own));
        !matches!(self.pick, Pick::Batch(_)) || has_message() && matches!(self.response_body, ResponseBody::Kept)
    }
}
