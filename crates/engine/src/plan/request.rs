//! The requests of a run: what is asked of an object, with which body, and what a good answer is.

use super::{Batch, Lot};
use crate::random::{Stream, below};
use content::Content;
use measure::OpKind;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::sync::Arc;
use wire::checksum::Checksum;
use wire::gateway::Depth;
use wire::header::Header;
use wire::range::ByteRange;

/// Which slice of the object an operation asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeChoice {
    /// The same slice each time.
    Fixed(ByteRange),
    /// A slice of that length, uniformly among all that lie in the object; the whole object when it is not longer.
    Random {
        /// Length of the slice in bytes.
        length: NonZeroU64,
    },
}

/// Which object an operation is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// One of the run's targets, as [`super::Choice`] says.
    #[default]
    Target,
    /// One that this operation makes, beside those of the dataset.
    Fresh,
    /// The oldest one that an operation of the same thread has made so and that is still there. While there is none, the
    /// operation is carried out as that other request of the mix instead.
    Spent {
        /// Index of the request that makes objects.
        instead: usize,
    },
    /// Several at once, which are to be deleted: see [`RequestPlan::delete_batch`].
    Batch(Batch),
    /// No object: the bucket or folder that all of them lie in.
    Container,
}

/// Where the bytes of bodies come from. None of them is held for a request: they are made, or read, piece by piece.
#[derive(Clone, Debug)]
pub enum Source {
    /// The same bytes each time.
    Bytes(Arc<[u8]>),
    /// The content of the object that the operation is about.
    Content(Arc<Content>),
    /// Files, the n-th for the n-th of a list of targets, each with its size.
    Files(Arc<[(PathBuf, u64)]>),
    /// A message that the operation makes from earlier answers.
    Own,
}

impl Source {
    /// Whether the bytes are those of an object, and no message.
    #[must_use]
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Content(_) | Self::Files(_))
    }
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// By `Content-Length`.
    #[default]
    Length,
    /// By chunks.
    Chunked,
}

/// Bodies of requests.
#[derive(Clone, Debug)]
pub struct BodyPlan {
    /// Where their bytes come from.
    pub source: Source,
    /// How their end is told.
    pub framing: Framing,
    /// Whether the server is asked to agree before they are sent (`Expect: 100-continue`).
    pub expect_continue: bool,
}

impl BodyPlan {
    /// The same bytes each time, sent without asking.
    #[must_use]
    pub fn of_bytes(bytes: Arc<[u8]>) -> Self {
        Self::of(Source::Bytes(bytes))
    }

    /// Framed by their length, and sent without asking.
    #[must_use]
    pub fn of(source: Source) -> Self {
        Self { source, framing: Framing::Length, expect_continue: false }
    }
}

/// Status codes that a range may come with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RangeStatus {
    /// 206 only (RFC 9110 §14.2).
    #[default]
    Only206,
    /// Also 200, as gofakes3 and what is built on it send it, where `Content-Range` and length are those of the range.
    Also200,
}

/// What an answer is checked for.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Status codes that are a success; empty: any 2xx (206 for ranges).
    pub statuses: Vec<u16>,
    /// Status codes that a range may come with.
    pub ranges: RangeStatus,
    /// Size of the body in bytes.
    pub size: Option<u64>,
    /// Header fields that must be there with that value.
    pub headers: Vec<Header>,
    /// Whether an encoded body was asked for.
    pub encoding_asked: bool,
    /// Whether `ETag` has to be the last part of the path, in quotes (with `.gz` behind it, where an encoded body was asked
    /// for): systems that name objects by their content say so which one they send. For URLs of a list.
    pub etag_is_name: bool,
}

/// Header fields that can be expected of a response: no head has more of them.
pub const EXPECTED_HEADERS_MAX: usize = wire::response::MAX_HEADERS;

impl Checks {
    /// How many header fields a good answer has to have.
    pub(crate) fn fields(&self) -> usize {
        self.headers.len() + usize::from(self.etag_is_name)
    }
}

/// What becomes of the bodies of good answers.
#[derive(Clone, Debug, Default)]
pub enum Answers {
    /// Nobody looks at them: large ones are dropped inside the kernel.
    #[default]
    Dropped,
    /// They are compared with the content of the object, byte by byte.
    Compared(Arc<Content>),
    /// They go through a hash, whose result must be the wanted one. For whole objects.
    Digested(Wanted),
    /// They are CARs or blocks of an IPFS gateway, checked to this depth while they arrive. For the targets of a list, whose
    /// paths name what is asked for.
    Gateway(Depth),
    /// They are messages that are read when they are complete, up to [`MESSAGE_BYTES_MAX`].
    Kept,
}

/// What the checksum of a body must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// That one.
    Given(Checksum),
    /// The answer's ETag, as of an object of S3 that was sent in one piece: its MD5.
    Etag,
    /// The one that the answer tells in a header field, or in a trailer that it announces.
    Told,
}

/// What follows a good answer within the same operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    #[default]
    End,
    /// The next page of a listing of S3, as long as there is one; its answers are [`Answers::Kept`].
    Pages {
        /// Pages of an operation, at most.
        most: u32,
    },
    /// The parts of a multipart upload of S3, then its completion. The answers of both are [`Answers::Kept`].
    Parts(Multipart),
}

/// How an object is written in parts. The requests are named by their places in the mix, where they have no weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multipart {
    /// Writes a part; its body is the object's content or file.
    pub part: usize,
    /// Puts the parts together; its body is [`Source::Own`].
    pub complete: usize,
    /// Gives up the parts of an object that failed, which would stay with the server otherwise.
    pub abort: usize,
    /// Bytes of a part, except the last. Larger where an object would have more than 10,000 parts.
    pub bytes: NonZeroU64,
    /// Parts of one object that are on their way at once.
    pub parallel: NonZeroU32,
}

/// Bytes of an answer that is kept.
pub const MESSAGE_BYTES_MAX: usize = wire::s3::MAX_XML_BYTES;

/// One kind of request.
#[derive(Clone, Debug)]
pub struct RequestPlan {
    /// The method, as sent.
    pub method: Box<str>,
    /// What the operations are called in the figures.
    pub kind: OpKind,
    /// Header fields besides Host and Connection.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Option<BodyPlan>,
    /// The slice asked for.
    pub range: Option<RangeChoice>,
    /// Which object it is about.
    pub pick: Pick,
    /// What stands behind the path, without the question mark.
    pub query: Option<Box<str>>,
    /// Whether more requests belong to the same operation.
    pub then: Then,
    /// Checks of the answers.
    pub checks: Checks,
    /// What becomes of the bodies of good answers.
    pub answers: Answers,
}

impl RequestPlan {
    /// A request without a body for the run's targets.
    #[must_use]
    pub fn new(method: &str, kind: OpKind) -> Self {
        Self {
            method: method.into(),
            kind,
            headers: Vec::new(),
            body: None,
            range: None,
            pick: Pick::Target,
            query: None,
            then: Then::End,
            checks: Checks::default(),
            answers: Answers::Dropped,
        }
    }

    /// Whether sending it twice is the same as sending it once (RFC 9110 §9.2.2). Deleting a batch is, though its method is
    /// POST.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        let deletes = matches!(self.pick, Pick::Batch(_));
        self.is_safe() || deletes || matches!(self.method.as_ref(), "PUT" | "DELETE")
    }

    /// Whether it changes nothing on the server (RFC 9110 §9.2.1).
    #[must_use]
    pub fn is_safe(&self) -> bool {
        matches!(self.method.as_ref(), "GET" | "HEAD" | "OPTIONS" | "TRACE")
    }

    /// Whether it is an object that it writes: what it moves is then the body of the request.
    #[must_use]
    pub fn is_upload(&self) -> bool {
        matches!(self.kind, OpKind::Put | OpKind::PutMultipart)
    }
}

/// The requests of a run, each with its share of the operations. There is at least one.
#[derive(Clone, Debug)]
pub struct Mix {
    requests: Vec<RequestPlan>,
    /// Sums of the weights up to each request.
    bounds: Vec<u64>,
}

impl Mix {
    /// The same request always.
    #[must_use]
    pub fn one(request: RequestPlan) -> Self {
        Self { requests: vec![request], bounds: vec![1] }
    }

    /// Requests by their weights; `None` when there is none, a request stands in for one that is not there, or one is about a
    /// batch and no [`RequestPlan::delete_batch`].
    #[must_use]
    pub fn of(weighted: Vec<(u32, RequestPlan)>) -> Option<Self> {
        let mut bounds = Vec::new();
        let mut sum = 0;
        for (weight, _) in &weighted {
            sum += u64::from(*weight);
            bounds.push(sum);
        }
        let requests: Vec<_> = weighted.into_iter().map(|(_, request)| request).collect();
        let stands_in = |request: &RequestPlan| match request.pick {
            Pick::Spent { instead } | Pick::Batch(Batch { of: Lot::Spent { instead }, .. }) => {
                requests.get(instead).is_some_and(|other| other.pick == Pick::Fresh)
            }
            Pick::Target | Pick::Fresh | Pick::Container | Pick::Batch(_) => true,
        };
        let is_sound = |request: &RequestPlan| stands_in(request) && request.can_carry_its_batch();
        (sum > 0 && requests.iter().all(is_sound)).then_some(Self { requests, bounds })
    }

    /// All of them.
    #[must_use]
    pub fn requests(&self) -> &[RequestPlan] {
        &self.requests
    }

    /// All of them, to be changed.
    pub fn requests_mut(&mut self) -> &mut [RequestPlan] {
        &mut self.requests
    }

    /// The most requests of one operation that can be on their way at once.
    #[must_use]
    pub fn parallel_max(&self) -> u64 {
        let parallel = self.requests.iter().filter_map(|request| match request.then {
            Then::Parts(plan) => Some(u64::from(plan.parallel.get())),
            Then::End | Then::Pages { .. } => None,
        });
        parallel.max().unwrap_or(1)
    }

    /// The share of each in all operations.
    pub fn shares(&self) -> impl Iterator<Item = (f64, &RequestPlan)> {
        let sum = self.bounds.last().copied().unwrap_or(1) as f64;
        let before = std::iter::once(0).chain(self.bounds.iter().copied());
        let weights = self.bounds.iter().zip(before).map(move |(bound, before)| (bound - before) as f64 / sum);
        weights.zip(&self.requests)
    }

    /// Which request operation `number` is.
    #[inline]
    pub(crate) fn choose(&self, seed: u64, number: u64) -> usize {
        if self.requests.len() == 1 {
            return 0;
        }
        let sum = self.bounds.last().copied().unwrap_or(1);
        let drawn = below(seed, Stream::Request, number, sum);
        self.bounds.partition_point(|bound| *bound <= drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::BatchSize;

    #[test]
    fn requests_come_by_their_weights() {
        let request = |method| RequestPlan::new(method, OpKind::Request);
        let mix = Mix::of(vec![(45, request("GET")), (0, request("POST")), (55, request("PUT"))]).unwrap();
        let mut counts = [0_u32; 3];
        for number in 0..100_000 {
            counts[mix.choose(3, number)] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!(counts[0].abs_diff(45_000) < 1_000, "{counts:?}");
        assert_eq!(mix.shares().map(|(share, _)| share).collect::<Vec<_>>(), [0.45, 0.0, 0.55]);
    }

    #[test]
    fn a_mix_has_something_to_do() {
        let spent = RequestPlan { pick: Pick::Spent { instead: 1 }, ..RequestPlan::new("DELETE", OpKind::Delete) };
        let fresh = RequestPlan { pick: Pick::Fresh, ..RequestPlan::new("PUT", OpKind::Put) };
        assert!(Mix::of(Vec::new()).is_none());
        assert!(Mix::of(vec![(0, fresh.clone())]).is_none());
        assert!(Mix::of(vec![(1, spent.clone())]).is_none());
        assert!(Mix::of(vec![(1, spent), (0, fresh.clone())]).is_some());
        let batch = |instead| RequestPlan::delete_batch(Batch { of: Lot::Spent { instead }, most: BatchSize::MAX });
        assert!(Mix::of(vec![(1, batch(0)), (0, fresh.clone())]).is_none());
        assert!(Mix::of(vec![(1, batch(1)), (0, fresh.clone())]).is_some());
        let silent = RequestPlan { body: None, ..batch(1) };
        assert!(Mix::of(vec![(1, silent), (0, fresh)]).is_none());
    }
}
