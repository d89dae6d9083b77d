//! The plan of a run. A plan is valid by construction.
//!
//! All text in a plan is already parsed. Each setting can be changed without the others. The code that creates a plan
//! must first report all mistakes of the user.

mod auth;
mod batch;
mod connections;
mod files;
mod part;
mod poll;
mod request;
mod resume;
mod retry;
mod targets;
mod zipf;

pub use auth::{Auth, Opening, S3Payload, SESSIONS_MAX, Sessions, Shared, SignaturePlace};
pub use batch::{Batch, BatchObjects, BatchSize};
pub use connections::{ConnectTo, ConnectionPlan, Http2Plan, Route, Spread};
pub(crate) use files::SourceChanged;
pub use files::{LocalFile, LocalFiles};
pub(crate) use part::share_of;
pub use part::{Part, SplitError};
pub use poll::{LIST_BYTES_MAX, Poll, PollCheck};
pub use request::{
    BodyPlan, Checks, EXPECTED_HEADERS_MAX, ExpectedChecksum, Framing, MESSAGE_BYTES_MAX, Mix, Multipart, Pick,
    RangeChoice, RangeStatus, RequestPlan, ResponseBody, Source, Then,
};
pub use resume::{ResumedUpload, ResumedUploads};
pub(crate) use retry::Retried;
pub use retry::{RetryPolicy, is_transient};
pub use targets::{
    Area, Item, Members, ORIGINS_MAX, ObjectQuery, ObjectSet, Subject, Targets, fresh_number, fresh_prefix,
};
pub use zipf::Zipf;

use crate::schedule::{Profile, Spacing};
use measure::recorder::Pacing;
use measure::units::DataRate;
use measure::{OpKind, Timeline};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use wire::message::Version;

/// Choice of the object for the n-th operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// Each object in turn.
    RoundRobin,
    /// An object chosen uniformly at random.
    Random,
    /// An object chosen at random by its popularity.
    Zipf(Zipf),
}

/// Settings of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpPlan {
    /// Version of the request line.
    pub version: Version,
    /// `true` to keep connections for further requests.
    pub keep_alive: bool,
}

/// The load model.
#[derive(Clone, Debug)]
pub enum LoadModel {
    /// Each of N slots starts its next operation when the previous operation has ended.
    Closed {
        /// Number of slots in use over time.
        slots: Profile,
        /// Pause of a slot between two operations.
        think: Duration,
    },
    /// Operations start according to a schedule, even if earlier operations have not ended.
    Open {
        /// Number of operations that start per second, over time.
        rate: Profile,
        /// Spacing of arrivals.
        spacing: Spacing,
        /// Maximum number of operations in flight.
        in_flight_max: NonZeroU64,
    },
}

impl LoadModel {
    /// Returns the maximum number of operations that can be in flight.
    #[must_use]
    pub fn in_flight_max(&self) -> u64 {
        match self {
            Self::Closed { slots, .. } => (slots.peak().ceil() as u64).max(1),
            Self::Open { in_flight_max, .. } => in_flight_max.get(),
        }
    }

    /// Returns how the starts of operations are paced.
    #[must_use]
    pub fn pacing(&self) -> Pacing {
        match self {
            Self::Closed { think: Duration::ZERO, .. } => Pacing::Immediate,
            Self::Closed { .. } | Self::Open { .. } => Pacing::Scheduled,
        }
    }

    /// Returns the load model in the form that is used to evaluate results.
    #[must_use]
    pub fn model(&self) -> measure::Model {
        match self {
            Self::Closed { .. } => measure::Model::Closed { concurrency: self.in_flight_max() },
            Self::Open { in_flight_max, .. } => measure::Model::Open { in_flight_max: in_flight_max.get() },
        }
    }
}

/// The stop rule. The first limit that is reached ends the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopAfter {
    /// Limit for the length of the measured window.
    pub time: Option<Duration>,
    /// Limit for the number of operations.
    pub ops: Option<NonZeroU64>,
    /// Limit for the number of operations of each slot, in the closed model.
    pub ops_per_slot: Option<NonZeroU64>,
    /// Limit for the number of body bytes.
    pub bytes: Option<NonZeroU64>,
}

/// The timeouts of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Limit for opening a connection.
    pub connect: Duration,
    /// Limit for the time from sending the request to the end of the response head. Arriving bytes do not extend this
    /// limit.
    pub head: Duration,
    /// Limit for the time between two arrivals of body bytes.
    pub idle: Duration,
    /// Limit for the whole attempt, if there is one.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    /// Returns the default values. These values are listed in docs/measurement.md.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            head: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            total: None,
        }
    }
}

/// Handling of redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// No redirect is followed. A response with status 3xx is a failure.
    Never,
    /// Redirects are followed if the rules allow them, at most this many for each request.
    UpTo(u8, RedirectRules),
}

impl Follow {
    /// Follows up to `hops` redirects, with the default rules.
    #[must_use]
    pub fn up_to(hops: u8) -> Self {
        Self::UpTo(hops, RedirectRules::default())
    }
}

/// Rules for redirects to a destination that the user may not have intended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedirectRules {
    /// Redirects from https to http, which remove the encryption.
    pub downgrade: RedirectRule,
    /// Redirects from a public address to a private address. A server could use them to make the client access the
    /// client's own network.
    pub private: RedirectRule,
    /// Hosts to which redirects may lead.
    pub hosts: RedirectHosts,
}

/// Hosts to which redirects may lead. A host is a combination of scheme, name and port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedirectHosts {
    /// Any host.
    #[default]
    Any,
    /// Only the hosts of the targets, which the user named.
    Named,
}

/// Reaction to a redirect that violates one of the [`RedirectRules`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedirectRule {
    /// The redirect is not followed. The cause of the failure is `redirect_denied`.
    #[default]
    Deny,
    /// The redirect is followed, because the user allowed it.
    Allow,
}

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Objects that operations read or write.
    pub targets: Arc<Targets>,
    /// Choice of each operation's object.
    pub choice: Choice,
    /// Requests that operations make.
    pub mix: Mix,
    /// Settings of HTTP.
    pub http: HttpPlan,
    /// Authentication.
    pub auth: Auth,
    /// The load model.
    pub load: LoadModel,
    /// The stop rule.
    pub stop: StopAfter,
    /// Time during which load is applied before the measured window.
    pub warmup: Duration,
    /// Time during which operations in flight may continue after the measured window.
    pub drain: Duration,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Handling of redirects.
    pub follow: Follow,
    /// Settings of connections.
    pub connections: ConnectionPlan,
    /// Rules for retries of failed requests; `None` for no retries. Measured load has no retries.
    pub retry: Option<RetryPolicy>,
    /// Multipart uploads that an earlier run began. Operations on their objects continue these uploads.
    pub resumed_uploads: ResumedUploads,
    /// Number of threads.
    pub threads: u32,
    /// Seed of all random choices.
    pub seed: u64,
    /// Name of a response header. The results are broken down by the value of this header.
    pub group_by: Option<Box<str>>,
    /// `true` to log every operation.
    pub log_ops: bool,
    /// Length of the slices, which are short intervals that a controller receives in addition to the usual ones. `None`
    /// for no slices.
    pub slices: Option<Duration>,
    /// Speed to assume for network cards that do not report their speed; `None` if it is unknown.
    pub nic_speed: Option<DataRate>,
    /// The responses whose arrival times the kernel records.
    pub arrival_times: ArrivalTimes,
    /// The part of the load that this plan makes, if several machines make one load together.
    pub part: Part,
}

/// The responses whose arrival times the kernel records. These times show how long responses wait unread in this client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrivalTimes {
    /// A sample of the responses.
    #[default]
    Sampled,
    /// No response. Only the benchmark that measures the cost of these samples sets this field.
    NotRecorded,
}

impl Plan {
    /// Returns a plan that reads `targets` in turn with GET, under `load`. The plan uses one thread and no warm-up, and
    /// follows up to 10 redirects. The run has no end unless the caller sets `stop`.
    #[must_use]
    pub fn new(targets: Targets, load: LoadModel) -> Self {
        Self {
            targets: Arc::new(targets),
            choice: Choice::RoundRobin,
            mix: Mix::one(RequestPlan::new("GET", OpKind::Get)),
            http: HttpPlan { version: Version::Http11, keep_alive: true },
            auth: Auth::None,
            load,
            stop: StopAfter::default(),
            warmup: Duration::ZERO,
            drain: Duration::from_secs(10),
            timeouts: Timeouts::default(),
            follow: Follow::up_to(10),
            connections: ConnectionPlan::default(),
            retry: None,
            resumed_uploads: ResumedUploads::default(),
            threads: 1,
            seed: 1,
            group_by: None,
            log_ops: false,
            slices: None,
            arrival_times: ArrivalTimes::default(),
            nic_speed: None,
            part: Part::WHOLE,
        }
    }

    /// Returns the stages of the run, counted from `start`.
    #[must_use]
    pub fn timeline(&self, start: measure::Instant) -> Timeline {
        let timeline = Timeline::new(start, self.warmup, self.stop.time);
        self.slices.map_or(timeline, |length| timeline.in_slices(length))
    }

    /// Returns the maximum number of requests that can be in flight at the same time. This number can exceed the number
    /// of operations, because the parts of one object are sent in parallel.
    #[must_use]
    pub fn requests_in_flight_max(&self) -> u64 {
        self.load.in_flight_max().saturating_mul(self.mix.parallel_max())
    }

    /// Returns the number of operations in flight that the available file descriptors allow.
    #[must_use]
    pub fn operations_of_descriptors(&self) -> u64 {
        (self.connections.open_max as u64).saturating_mul(self.threads_used().into()) / self.mix.parallel_max().max(1)
    }

    /// Returns the number of threads of the run, which is at most the number of operations that can be in flight.
    #[must_use]
    pub fn threads_used(&self) -> u32 {
        u32::try_from(self.load.in_flight_max()).unwrap_or(u32::MAX).min(self.threads.max(1))
    }
}
