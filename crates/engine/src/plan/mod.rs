//! What a run is to do: resolved, and valid by construction.
//!
//! A plan holds no text that is still to be parsed and no setting that only counts when another one is on. Whoever
//! makes one (the command line today, scenarios as well) has dealt with every mistake a user can make.

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
use measure::Timeline;
use measure::recorder::Pacing;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use wire::message::Version;

/// Which object the n-th operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// In turn.
    RoundRobin,
    /// At random, uniformly.
    Random,
}

/// How HTTP is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpPlan {
    /// Version of the request line.
    pub version: Version,
    /// Whether connections are to be used again.
    pub keep_alive: bool,
}

/// How load is offered.
#[derive(Clone, Debug)]
pub enum LoadModel {
    /// Each of N slots starts an operation when its last one ended.
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
        /// How arrivals are spaced.
        spacing: Spacing,
        /// Operations in flight at most.
        in_flight_max: NonZeroU64,
    },
}

impl LoadModel {
    /// The most operations that can be in flight.
    #[must_use]
    pub fn in_flight_max(&self) -> u64 {
        match self {
            Self::Closed { slots, .. } => (slots.peak().ceil() as u64).max(1),
            Self::Open { in_flight_max, .. } => in_flight_max.get(),
        }
    }

    /// Whether operations have a planned start.
    #[must_use]
    pub fn pacing(&self) -> Pacing {
        match self {
            Self::Closed { think: Duration::ZERO, .. } => Pacing::Immediate,
            Self::Closed { .. } | Self::Open { .. } => Pacing::Scheduled,
        }
    }

    /// The model as the figures are judged by it.
    #[must_use]
    pub fn model(&self) -> measure::Model {
        match self {
            Self::Closed { .. } => measure::Model::Closed { concurrency: self.in_flight_max() },
            Self::Open { in_flight_max, .. } => measure::Model::Open { in_flight_max: in_flight_max.get() },
        }
    }
}

/// When enough is measured; the first that is reached ends the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopAfter {
    /// After so long.
    pub time: Option<Duration>,
    /// After so many operations.
    pub ops: Option<NonZeroU64>,
    /// After so many operations of each slot (closed model).
    pub ops_per_slot: Option<NonZeroU64>,
    /// After so many body bytes.
    pub bytes: Option<NonZeroU64>,
}

/// How long each phase of an attempt may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Opening a connection.
    pub connect: Duration,
    /// From sending the request to the end of the head: absolute, not anew for every byte.
    pub head: Duration,
    /// Between two arrivals of body bytes.
    pub idle: Duration,
    /// The whole attempt, when bounded.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    /// The values of docs/measurement.md.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            head: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            total: None,
        }
    }
}

/// Redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// A 3xx is a failure.
    Never,
    /// Up to so many hops for an operation, past the traps that are allowed.
    UpTo(u8, RedirectRules),
}

impl Follow {
    /// Up to so many hops, and into no trap.
    #[must_use]
    pub fn up_to(hops: u8) -> Self {
        Self::UpTo(hops, RedirectRules::default())
    }
}

/// Redirects by which a server leads a client to where it would not go by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedirectRules {
    /// From https to http: what was encrypted no longer is.
    pub downgrade: RedirectRule,
    /// From a public address to one that is not: the client is made to reach into its own network.
    pub private: RedirectRule,
}

/// What is done about a trap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedirectRule {
    /// The redirect is not followed: `redirect_denied`.
    #[default]
    Deny,
    /// The user has said that it may be followed.
    Allow,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is asked for.
    pub targets: Arc<Targets>,
    /// Which of them comes when.
    pub choice: Choice,
    /// The requests.
    pub mix: Mix,
    /// How HTTP is spoken.
    pub http: HttpPlan,
    /// Who asks.
    pub auth: Auth,
    /// The load.
    pub load: LoadModel,
    /// When enough is measured.
    pub stop: StopAfter,
    /// Load before the window.
    pub warmup: Duration,
    /// How long operations in flight may go on after the window.
    pub drain: Duration,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Redirects.
    pub follow: Follow,
    /// Connections.
    pub connections: ConnectionPlan,
    /// Threads.
    pub threads: u32,
    /// Seed of all random choices.
    pub seed: u64,
    /// Response header that figures are broken down by.
    pub group_by: Option<Box<str>>,
    /// Whether every operation is reported on its own.
    pub log_ops: bool,
    /// How often a controller looks at the run; it is told whole intervals alone when there is none.
    pub slices: Option<Duration>,
}

impl Plan {
    /// The stages of the run, counted from `start`.
    #[must_use]
    pub fn timeline(&self, start: measure::Instant) -> Timeline {
        let timeline = Timeline::new(start, self.warmup, self.stop.time);
        self.slices.map_or(timeline, |length| timeline.in_slices(length))
    }

    /// The most requests that can be on their way at once: parts of one object go out in parallel.
    #[must_use]
    pub fn requests_in_flight_max(&self) -> u64 {
        self.load.in_flight_max().saturating_mul(self.mix.parallel_max())
    }

    /// Operations that can be in flight with the descriptors that there are.
    #[must_use]
    pub fn operations_of_descriptors(&self) -> u64 {
        (self.connections.open_max as u64).saturating_mul(self.threads_used().into()) / self.mix.parallel_max().max(1)
    }

    /// Threads that have something to do: no more than operations can be in flight.
    #[must_use]
    pub fn threads_used(&self) -> u32 {
        u32::try_from(self.load.in_flight_max()).unwrap_or(u32::MAX).min(self.threads.max(1))
    }
}
