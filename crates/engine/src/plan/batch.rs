//! Deleting several objects with one request, as S3 can (`DeleteObjects`).

use super::{BodyPlan, Pick, RequestPlan, ResponseBody, Source};
use measure::OpKind;
use std::num::NonZeroU64;
use wire::s3::MAX_DELETED;

/// Several objects of a bucket that one request deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The objects.
    pub objects: BatchObjects,
    /// The most objects in a batch.
    pub size_max: BatchSize,
}

/// The objects of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchObjects {
    /// The oldest objects that operations of the same thread have written and that still exist, up to the maximum. If there is
    /// none, the operation makes another request of the mix instead.
    Written {
        /// Index of that request, which writes an object.
        instead: usize,
    },
    /// The run's targets in their order: operation n deletes the n-th batch of them.
    Targets,
}

/// The number of objects that one request deletes: 1 to [`MAX_DELETED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize(NonZeroU64);

impl BatchSize {
    /// The most objects that S3 accepts.
    pub const MAX: Self = Self(NonZeroU64::new(MAX_DELETED as u64).expect("a batch has room"));

    /// Returns a size; `None` when it is too large.
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

    /// Returns false if the request deletes a batch but lacks the body, or the kept response, that this needs.
    pub(super) fn can_carry_its_batch(&self) -> bool {
        let has_message = || self.body.as_ref().is_some_and(|body| matches!(body.source, Source::Own));
        !matches!(self.pick, Pick::Batch(_)) || has_message() && matches!(self.response_body, ResponseBody::Kept)
    }
}
