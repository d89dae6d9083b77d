//! The plan of a run: resolved, and valid by construction.
//!
//! A plan contains no text that is still to be parsed, and no setting that only matters when another one is on. Whoever makes one has
//! dealt with every mistake a user can make.

mod auth;
mod batch;
mod connections;
mod request;
mod targets;

pub use auth::{Auth, Carried, Opening, S3Payload, SESSIONS_MAX, Sessions, Shared};
pub use batch::{Batch, BatchSize, Lot};
pub use connections::{ConnectTo, ConnectionPlan, Http2Plan, Route, Spread};
pub use request::{
    Answers, BodyPlan, Checks, EXPECTED_HEADERS_MAX, Framing, MESSAGE_BYTES_MAX, Mix, Multipart, Pick, RangeChoice,
    RangeStatus, RequestPlan, Source, Then, Wanted,
};
pub use targets::{Area, Item, Members, ORIGINS_MAX, Subject, Targets, fresh_number, fresh_prefix};

use crate::schedule::{Profile, Spacing};
use measure::recorder::Pacing;
use measure::{OpKind, Timeline};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use wire::message::Version;

/// The choice of the n-th operation's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// In turn.
    RoundRobin,
    /// At random, uniformly.
    Random,
}

/// Settings of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpPlan {
    /// Version of the request line.
    pub version: Version,
    /// Whether connections are kept for further requests.
    pub keep_alive: bool,
}

/// The load model.
#[derive(Clone, Debug)]
pub enum LoadModel {
    /// Each of N slots starts an operation when its last one has ended.
    Closed {
        /// Slots in use over time.
        slots: Profile,
        /// Pause of a slot between two operations.
        think: Duration,
    },
    /// Arrivals follow a schedule.
    Open {
        /// Operations per second over time.
        rate: Profile,
        /// Spacing of arrivals.
        spacing: Spacing,
        /// The most operations in flight.
        in_flight_max: NonZeroU64,
    },
}

impl LoadModel {
    /// Returns the most operations that can be in flight.
    #[must_use]
    pub fn in_flight_max(&self) -> u64 {
        match self {
            Self::Closed { slots, .. } => (slots.peak().ceil() as u64).max(1),
            Self::Open { in_flight_max, .. } => in_flight_max.get(),
        }
    }

    /// Returns whether operations have a planned start.
    #[must_use]
    pub fn pacing(&self) -> Pacing {
        match self {
            Self::Closed { think: Duration::ZERO, .. } => Pacing::Immediate,
            Self::Closed { .. } | Self::Open { .. } => Pacing::Scheduled,
        }
    }

    /// Returns the model by which results are judged.
    #[must_use]
    pub fn model(&self) -> measure::Model {
        match self {
            Self::Closed { .. } => measure::Model::Closed { concurrency: self.in_flight_max() },
            Self::Open { in_flight_max, .. } => measure::Model::Open { in_flight_max: in_flight_max.get() },
        }
    }
}

/// The stop rule. The first limit that is reached ends the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopAfter {
    /// Time in the window.
    pub time: Option<Duration>,
    /// Number of operations.
    pub ops: Option<NonZeroU64>,
    /// Number of operations of each slot (closed model).
    pub ops_per_slot: Option<NonZeroU64>,
    /// Number of body bytes.
    pub bytes: Option<NonZeroU64>,
}

/// The timeouts of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Opening a connection.
    pub connect: Duration,
    /// From sending the request to the end of the head. Received bytes do not extend it.
    pub head: Duration,
    /// Between two arrivals of body bytes.
    pub idle: Duration,
    /// The whole attempt, when it is limited.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    /// Returns the values of docs/measurement.md.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            head: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            total: None,
        }
    }
}

/// The handling of redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// A 3xx is a failure.
    Never,
    /// Redirects are followed, up to a number for each request, as far as the rules allow.
    UpTo(u8, RedirectRules),
}

impl Follow {
    /// Follows up to `hops` redirects, with the default rules.
    #[must_use]
    pub fn up_to(hops: u8) -> Self {
        Self::UpTo(hops, RedirectRules::default())
    }
}

/// Rules for redirects that lead a client to where it would not go by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedirectRules {
    /// From https to http, which removes the encryption.
    pub downgrade: RedirectRule,
    /// From a public address to a private one: the server makes the client access its own network.
    pub private: RedirectRule,
}

/// What is done about such a redirect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedirectRule {
    /// The redirect is not followed: `redirect_denied`.
    #[default]
    Deny,
    /// The redirect is followed, because the user allowed it.
    Allow,
}

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The objects.
    pub targets: Arc<Targets>,
    /// The choice of each operation's object.
    pub choice: Choice,
    /// The requests.
    pub mix: Mix,
    /// Settings of HTTP.
    pub http: HttpPlan,
    /// Authentication.
    pub auth: Auth,
    /// The load model.
    pub load: LoadModel,
    /// The stop rule.
    pub stop: StopAfter,
    /// Length of the load before the window.
    pub warmup: Duration,
    /// How long operations in flight may continue after the window.
    pub drain: Duration,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// The handling of redirects.
    pub follow: Follow,
    /// Connections.
    pub connections: ConnectionPlan,
    /// Number of threads.
    pub threads: u32,
    /// Seed of all random choices.
    pub seed: u64,
    /// Response header that results are broken down by.
    pub group_by: Option<Box<str>>,
    /// Whether every operation is logged.
    pub log_ops: bool,
    /// Length of the slices that a controller gets, in addition to intervals; `None` without slices.
    pub slices: Option<Duration>,
}

impl Plan {
    /// Returns a plan that reads `targets` in turn with GET, under `load`, in one thread and without warm-up, following up to
    /// 10 redirects. It runs until it is stopped, unless `stop` is set.
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
            threads: 1,
            seed: 1,
            group_by: None,
            log_ops: false,
            slices: None,
        }
    }

    /// Returns the stages of the run, counted from `start`.
    #[must_use]
    pub fn timeline(&self, start: measure::Instant) -> Timeline {
        let timeline = Timeline::new(start, self.warmup, self.stop.time);
        self.slices.map_or(timeline, |length| timeline.in_slices(length))
    }

    /// Returns the most requests that can be in flight at once: the parts of one object are sent in parallel.
    #[must_use]
    pub fn requests_in_flight_max(&self) -> u64 {
        self.load.in_flight_max().saturating_mul(self.mix.parallel_max())
    }

    /// Returns how many operations the available file descriptors allow in flight.
    #[must_use]
    pub fn operations_of_descriptors(&self) -> u64 {
        (self.connections.open_max as u64).saturating_mul(self.threads_used().into()) / self.mix.parallel_max().max(1)
    }

    /// Returns the number of threads that are used: no more than operations can be in flight.
    #[must_use]
    pub fn threads_used(&self) -> u32 {
        u32::try_from(self.load.in_flight_max()).unwrap_or(u32::MAX).min(self.threads.max(1))
    }
}
