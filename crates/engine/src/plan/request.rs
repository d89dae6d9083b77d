//! The requests of a run, with their method, object and body, and the checks of their responses.

use super::{Batch, BatchObjects, LocalFiles, Poll};
use crate::random::{Stream, below};
use content::Content;
use measure::OpKind;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use wire::checksum::Checksum;
use wire::gateway::Depth;
use wire::header::Header;
use wire::range::ByteRange;
use wire::s3::MAX_PARTS;

/// Range of the object that an operation requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeChoice {
    /// The same range each time.
    Fixed(ByteRange),
    /// A range of this length, chosen uniformly among all such ranges in the object. An object that is not longer than
    /// the range is requested as a whole.
    Random {
        /// Length of the range in bytes.
        length: NonZeroU64,
    },
}

/// Object that an operation reads or writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// One of the run's targets, according to [`super::Choice`].
    #[default]
    Target,
    /// A new object that this operation writes. The object does not belong to the dataset.
    Fresh,
    /// The oldest existing object that an operation of the same thread has written as [`Pick::Fresh`]. If there is no
    /// such object, the operation makes another request of the plan's mix instead.
    Written {
        /// Index of the request that is made instead. This request must write an object.
        instead: usize,
    },
    /// Several objects that one request deletes (see [`RequestPlan::delete_batch`]).
    Batch(Batch),
    /// No object. The request is for the bucket or folder that contains all objects.
    Container,
}

/// Source of the bytes of request bodies. Bodies are not kept in memory. The bytes are generated or read piece by
/// piece.
#[derive(Clone, Debug)]
pub enum Source {
    /// The same bytes each time.
    Bytes(Arc<[u8]>),
    /// The content of the operation's object.
    Content(Arc<Content>),
    /// The file of the operation's object.
    Files(Arc<LocalFiles>),
    /// A message that the operation composes from earlier responses.
    Own,
}

impl Source {
    /// Returns whether the bytes are the content of an object and not a message.
    #[must_use]
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Content(_) | Self::Files(_))
    }
}

/// Framing of a request body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// The body is framed by `Content-Length`.
    #[default]
    Length,
    /// The body is framed by chunks.
    Chunked,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub struct BodyPlan {
    /// Source of the bytes.
    pub source: Source,
    /// Framing.
    pub framing: Framing,
    /// `true` if the client waits for the server before it sends the body (`Expect: 100-continue`).
    pub expect_continue: bool,
}

impl BodyPlan {
    /// Returns a body that has the same bytes each time, is framed by `Content-Length`, and is sent without `Expect`.
    #[must_use]
    pub fn of_bytes(bytes: Arc<[u8]>) -> Self {
        Self::of(Source::Bytes(bytes))
    }

    /// Returns a body that is framed by `Content-Length` and is sent without `Expect`.
    #[must_use]
    pub fn of(source: Source) -> Self {
        Self { source, framing: Framing::Length, expect_continue: false }
    }
}

/// Status codes that the response to a range request may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RangeStatus {
    /// Only 206 (RFC 9110 §14.2).
    #[default]
    Only206,
    /// Also 200, if `Content-Range` and the length match the range. Servers built on gofakes3 respond in this way.
    Also200,
}

/// The checks of a response.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Status codes that are a success. If the list is empty, any 2xx is a success, except for range requests.
    pub statuses: Vec<u16>,
    /// Status codes that the response to a range request may have.
    pub ranges: RangeStatus,
    /// Size of the body in bytes.
    pub size: Option<u64>,
    /// Header fields that the response must have.
    pub headers: Vec<Header>,
    /// `true` if the request asks for an encoded (compressed) body.
    pub encoding_asked: bool,
    /// `true` if the `ETag` must be the last part of the path, in quotes. Systems that name objects by a hash of their
    /// content send this `ETag`. If an encoded body was requested, the name in the `ETag` may end with `.gz`. The check
    /// applies only to the URLs of a list.
    pub etag_is_name: bool,
}

/// Maximum number of header fields that can be required. A response head with more fields is not accepted.
pub const EXPECTED_HEADERS_MAX: usize = wire::response::MAX_HEADERS;

impl Checks {
    /// Returns the number of header fields that a successful response must have.
    pub(crate) fn fields(&self) -> usize {
        self.headers.len() + usize::from(self.etag_is_name)
    }
}

/// Use of the bodies of successful responses.
#[derive(Clone, Debug, Default)]
pub enum ResponseBody {
    /// Bodies are discarded. Large bodies are discarded inside the kernel.
    #[default]
    Discarded,
    /// Bodies are compared with the content of the object, byte by byte.
    Compared(Arc<Content>),
    /// Bodies are compared with the file of the object, byte by byte.
    ComparedWithFiles(Arc<LocalFiles>),
    /// Bodies are hashed, and the checksum must match. Only whole objects can be hashed.
    Hashed(ExpectedChecksum),
    /// Bodies are CARs or blocks from an IPFS gateway. [`Depth`] determines how the blocks are checked while they
    /// arrive. Only the targets of a list can be checked, because their paths name the content.
    Gateway(Depth),
    /// Bodies of up to [`MESSAGE_BYTES_MAX`] bytes are kept, and are parsed when they are complete.
    Kept,
    /// Bodies of up to [`super::LIST_BYTES_MAX`] bytes are kept, and are parsed when they are complete.
    KeptList,
}

impl ResponseBody {
    /// Returns whether bodies are compared with the known content of an object that an earlier request wrote.
    #[must_use]
    pub fn is_compared(&self) -> bool {
        matches!(self, Self::Compared(_) | Self::ComparedWithFiles(_))
    }
}

/// Expected checksum of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedChecksum {
    /// A given checksum.
    Given(Checksum),
    /// The MD5 in the ETag of the response, for S3 objects that were uploaded in one piece.
    Etag,
    /// The checksum in a header field of the response, or in a trailer that the response announces.
    FromResponse,
}

/// Requests that follow a successful response within the same operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// No further request.
    #[default]
    End,
    /// The next pages of an S3 listing, until the last page. The responses must be [`ResponseBody::Kept`].
    Pages {
        /// Maximum number of pages of an operation.
        most: u32,
    },
    /// The parts of an S3 multipart upload, then its completion. The responses to the initiation and to the completion
    /// must be [`ResponseBody::Kept`].
    Parts(Multipart),
    /// Another request, repeated until the server has done its work. The responses to the first request and to the
    /// repeated request must be kept.
    Poll(Poll),
}

/// A multipart upload. The requests of the upload are given by their indexes in the plan's mix of requests. These
/// requests must have weight 0, so that no operation begins with such a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multipart {
    /// Index of the request that uploads a part. The body of this request is the object's content or file.
    pub part: usize,
    /// Index of the request that completes the upload. The body of this request is [`Source::Own`].
    pub complete: usize,
    /// Index of the request that aborts a failed upload. Without an abort, the server would keep the parts.
    pub abort: usize,
    /// Size in bytes of each part except the last. If an object would have more than 10,000 parts, its parts are
    /// larger.
    pub bytes: NonZeroU64,
    /// Maximum number of parts of one object that are in flight at the same time.
    pub parallel: NonZeroU32,
}

impl Multipart {
    /// Returns the size of each part except the last, for an object of this size.
    #[must_use]
    pub fn part_bytes(&self, size: u64) -> NonZeroU64 {
        self.bytes.max(NonZeroU64::new(size.div_ceil(u64::from(MAX_PARTS))).unwrap_or(NonZeroU64::MIN))
    }
}

/// Maximum number of bytes of a response body that are kept.
pub const MESSAGE_BYTES_MAX: usize = wire::s3::MAX_XML_BYTES;

/// A kind of request.
#[derive(Clone, Debug)]
pub struct RequestPlan {
    /// The method, as sent.
    pub method: Box<str>,
    /// Kind of the operations, for the results.
    pub kind: OpKind,
    /// Header fields, except `Host` and `Connection`.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Option<BodyPlan>,
    /// The requested range.
    pub range: Option<RangeChoice>,
    /// Object that the request reads or writes.
    pub pick: Pick,
    /// Path and query of these requests, if they are fixed. `None` if the path and query of an object are used.
    pub path: Option<Box<str>>,
    /// Query, without the question mark. If the path already has a query, this field is appended to it.
    pub query: Option<Box<str>>,
    /// Requests that follow within the same operation.
    pub then: Then,
    /// The checks of responses.
    pub checks: Checks,
    /// Use of the bodies of successful responses.
    pub response_body: ResponseBody,
}

impl RequestPlan {
    /// Returns a request without a body, whose objects are the run's targets.
    #[must_use]
    pub fn new(method: &str, kind: OpKind) -> Self {
        Self {
            method: method.into(),
            kind,
            headers: Vec::new(),
            body: None,
            range: None,
            pick: Pick::Target,
            path: None,
            query: None,
            then: Then::End,
            checks: Checks::default(),
            response_body: ResponseBody::Discarded,
        }
    }

    /// Returns whether the request is idempotent, which means that sending it twice has the same effect as sending it
    /// once (RFC 9110 §9.2.2). Deleting a batch is idempotent, although the method is POST.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        let deletes = matches!(self.pick, Pick::Batch(_));
        self.is_safe() || deletes || matches!(self.method.as_ref(), "PUT" | "DELETE")
    }

    /// Returns whether the request is safe, which means that it changes nothing on the server (RFC 9110 §9.2.1).
    #[must_use]
    pub fn is_safe(&self) -> bool {
        matches!(self.method.as_ref(), "GET" | "HEAD" | "OPTIONS" | "TRACE")
    }

    /// Returns whether the request writes an object. If so, the request body counts toward the throughput.
    #[must_use]
    pub fn is_upload(&self) -> bool {
        matches!(self.kind, OpKind::Put | OpKind::PutMultipart)
    }

    /// Returns whether the body is the content of an object, and not a message.
    #[must_use]
    pub fn sends_object(&self) -> bool {
        self.body.as_ref().is_some_and(|body| body.source.is_object())
    }
}

/// The kinds of requests of a run, each with its share of the operations. A mix always contains at least one kind.
#[derive(Clone, Debug)]
pub struct Mix {
    requests: Vec<RequestPlan>,
    /// Sum of the weights up to and including each request.
    bounds: Vec<u64>,
}

impl Mix {
    /// Returns a mix of one request.
    #[must_use]
    pub fn one(request: RequestPlan) -> Self {
        Self { requests: vec![request], bounds: vec![1] }
    }

    /// Returns a mix of requests with weights. Returns `None` in these cases:
    ///
    /// * No request has a weight above 0.
    /// * A request refers to another request that should write objects but does not.
    /// * A request deletes a batch but was not made by [`RequestPlan::delete_batch`].
    /// * A request polls, but the response bodies that polling needs are not kept.
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
            Pick::Written { instead } | Pick::Batch(Batch { objects: BatchObjects::Written { instead }, .. }) => {
                requests.get(instead).is_some_and(|other| other.pick == Pick::Fresh)
            }
            Pick::Target | Pick::Fresh | Pick::Container | Pick::Batch(_) => true,
        };
        let polls = |request: &RequestPlan| match request.then {
            Then::Poll(poll) => poll.is_sound(request, &requests),
            Then::End | Then::Pages { .. } | Then::Parts(_) => true,
        };
        let is_sound = |request: &RequestPlan| stands_in(request) && request.can_carry_its_batch() && polls(request);
        (sum > 0 && requests.iter().all(is_sound)).then_some(Self { requests, bounds })
    }

    /// Returns the requests.
    #[must_use]
    pub fn requests(&self) -> &[RequestPlan] {
        &self.requests
    }

    /// Returns the requests, so that they can be changed.
    pub fn requests_mut(&mut self) -> &mut [RequestPlan] {
        &mut self.requests
    }

    /// Returns the maximum number of requests of one operation that can be in flight at the same time.
    #[must_use]
    pub fn parallel_max(&self) -> u64 {
        let parallel = self.requests.iter().filter_map(|request| match request.then {
            Then::Parts(plan) => Some(u64::from(plan.parallel.get())),
            Then::End | Then::Pages { .. } | Then::Poll(_) => None,
        });
        parallel.max().unwrap_or(1)
    }

    /// Returns the requests with their shares of all operations.
    pub fn shares(&self) -> impl Iterator<Item = (f64, &RequestPlan)> {
        let sum = self.bounds.last().copied().unwrap_or(1) as f64;
        let before = std::iter::once(0).chain(self.bounds.iter().copied());
        let weights = self.bounds.iter().zip(before).map(move |(bound, before)| (bound - before) as f64 / sum);
        weights.zip(&self.requests)
    }

    /// Returns the index of the request that operation `number` makes.
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
        let deletes = RequestPlan { pick: Pick::Written { instead: 1 }, ..RequestPlan::new("DELETE", OpKind::Delete) };
        let fresh = RequestPlan { pick: Pick::Fresh, ..RequestPlan::new("PUT", OpKind::Put) };
        assert!(Mix::of(Vec::new()).is_none());
        assert!(Mix::of(vec![(0, fresh.clone())]).is_none());
        assert!(Mix::of(vec![(1, deletes.clone())]).is_none());
        assert!(Mix::of(vec![(1, deletes), (0, fresh.clone())]).is_some());
        let batch = |instead| {
            RequestPlan::delete_batch(Batch { objects: BatchObjects::Written { instead }, size_max: BatchSize::MAX })
        };
        assert!(Mix::of(vec![(1, batch(0)), (0, fresh.clone())]).is_none());
        assert!(Mix::of(vec![(1, batch(1)), (0, fresh.clone())]).is_some());
        let silent = RequestPlan { body: None, ..batch(1) };
        assert!(Mix::of(vec![(1, silent), (0, fresh)]).is_none());
    }
}
