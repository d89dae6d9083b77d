//! Deleting several objects with one request, as S3 can (`DeleteObjects`).

use super::{Answers, BodyPlan, Pick, RequestPlan, Source};
use measure::OpKind;
use std::num::NonZeroU64;
use wire::s3::MAX_DELETED;

/// Several objects that the bucket is told of in one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Which ones.
    pub of: Lot,
    /// How many, at most.
    pub most: BatchSize,
}

/// Where the objects of a batch come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lot {
    /// The oldest that operations of the same thread have made and that are still there, as many as there are. While there is
    /// none, the operation is carried out as that other request of the mix instead.
    Spent {
        /// Index of the request that makes objects.
        instead: usize,
    },
    /// The run's targets in their order: operation n is about the n-th batch of them.
    Targets,
}

/// How many objects one request deletes: 1 to [`MAX_DELETED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize(NonZeroU64);

impl BatchSize {
    /// As many as S3 takes.
    pub const MAX: Self = Self(NonZeroU64::new(MAX_DELETED as u64).expect("a batch has room"));

    /// So many; `None` when it is too many.
    #[must_use]
    pub fn new(objects: NonZeroU64) -> Option<Self> {
        (objects <= Self::MAX.0).then_some(Self(objects))
    }

    /// The number of objects.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

impl RequestPlan {
    /// The request that deletes a batch of objects.
    #[must_use]
    pub fn delete_batch(batch: Batch) -> Self {
        Self {
            pick: Pick::Batch(batch),
            query: Some("delete=".into()),
            body: Some(BodyPlan::of(Source::Own)),
            answers: Answers::Kept,
            ..Self::new("POST", OpKind::Delete)
        }
    }

    /// Whether it says what deleting a batch needs, where it is about one.
    pub(super) fn can_carry_its_batch(&self) -> bool {
        let has_message = || self.body.as_ref().is_some_and(|body| matches!(body.source, Source::Own));
        !matches!(self.pick, Pick::Batch(_)) || has_message() && matches!(self.answers, Answers::Kept)
    }
}
