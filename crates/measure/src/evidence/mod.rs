//! Evidence of queues: what a run records so that a report can say what limited it.
//!
//! An open run keeps the response times by when operations were due ([`Cohort`]). Behind a target that falls behind they
//! grow for as long as the run lasts. A closed run has the same number of operations in flight throughout, so one moment
//! of it looks like any other. What tells is where that number changes: the first operations of all slots find the target
//! empty, and the last ones see it drain ([`EdgeOp`]). Between the two, operations that wait in one queue do not overtake
//! each other ([`Order`]). On a full link, data waits on the way ([`Paths`]).

pub mod cohort;
pub mod edge;
pub mod growth;
pub mod order;
pub mod path;
mod pause;
pub mod probe;
pub mod queueing;

pub use cohort::{Cohort, Cohorts};
pub use edge::{EdgeOp, Edges};
pub use growth::Growth;
pub use order::Order;
pub use path::{PathSample, Paths};
pub use probe::{Probe, Probes};

use crate::sample::outcome::OpOutcome;
use crate::sample::{OpKind, OpSample};
use crate::time::Instant;
use crate::time::Timeline;
use crate::values::Distribution;
use edge::EdgeWatch;
use order::Tag;
use pause::PauseWatch;
use serde::{Deserialize, Serialize};

/// Evidence of one interval, of one thread or of all, and of a whole run: it adds up at every level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Measured operations by when they were due; of loads with a schedule.
    #[serde(default, skip_serializing_if = "Cohorts::is_empty")]
    pub cohorts: Cohorts,
    /// First operations, and in the closed model the last ones.
    #[serde(default, skip_serializing_if = "Edges::is_empty")]
    pub edges: Edges,
    /// How often operations overtook each other; closed model.
    #[serde(default, skip_serializing_if = "Order::is_empty")]
    pub order: Order,
    /// Service times of measured operations that were in flight while the target paused; closed model. Their order is not in `order`.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub paused: Distribution,
    /// What the kernel knows of the connections' path through the network.
    #[serde(default, skip_serializing_if = "Paths::is_empty")]
    pub paths: Paths,
    /// When the schedule of a fixed number of operations had no more to ask for; open model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_end: Option<Instant>,
}

impl Evidence {
    /// Adds the evidence of another thread or interval.
    pub fn merge(&mut self, other: &Self) {
        self.cohorts.merge(&other.cohorts);
        self.edges.merge(&other.edges);
        self.order.merge(&other.order);
        self.paused.merge(&other.paused);
        self.paths.merge(&other.paths);
        self.schedule_end = match (self.schedule_end, other.schedule_end) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

/// What a recorder looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    /// Slots that start an operation when their last one ended, without a pause.
    Slots,
    /// Slots that pause.
    PausingSlots,
    /// Arrivals.
    Arrivals,
}

/// The evidence of one thread while it is collected.
#[derive(Debug)]
pub(crate) struct Collector {
    looks: Looks,
    edges: EdgeWatch,
    pauses: PauseWatch,
    tag: Tag,
}

impl Collector {
    /// For a load whose operations have a planned start, or not.
    pub fn new(scheduled: bool) -> Self {
        let looks = if scheduled { Looks::Arrivals } else { Looks::Slots };
        Self { looks, edges: EdgeWatch::default(), pauses: PauseWatch::default(), tag: Tag::default() }
    }

    /// Operations belong to slots, not to a schedule.
    pub fn of_slots(&mut self) {
        if self.looks == Looks::Arrivals {
            self.looks = Looks::PausingSlots;
        }
    }

    /// The slots find no more to start: a budget is used up.
    pub fn exhausted(&mut self, now: Instant) {
        self.edges.exhausted(now);
    }

    /// `count` operations of the window were due.
    #[inline]
    pub fn scheduled(&mut self, evidence: &mut Evidence, timeline: &Timeline, intended: Instant, count: u64) {
        if self.looks == Looks::Arrivals && timeline.measures(intended) {
            evidence.cohorts.at(intended.nanos_since(timeline.window_start())).scheduled += count;
        }
    }

    /// An operation was taken, with so many in flight already.
    #[inline]
    pub fn started(&mut self, now: Instant, in_flight: u64) {
        self.edges.started(now);
        if self.looks != Looks::Arrivals {
            self.tag.started(now, in_flight);
        }
    }

    /// An operation ended.
    #[inline]
    pub fn ended(&mut self, evidence: &mut Evidence, timeline: &Timeline, sample: &OpSample, size: u8) {
        if self.looks == Looks::Arrivals {
            if timeline.measures(sample.intended) && sample.outcome != OpOutcome::Unfinished {
                evidence.cohorts.ended(timeline, sample);
            }
            self.edges.opened(&mut evidence.edges, sample, size);
            return;
        }
        let paused = self.pauses.ended(sample.started, sample.end);
        evidence.edges.opening_paused |= self.pauses.began_paused();
        self.edges.ended(&mut evidence.edges, timeline, sample, size, paused);
        if paused && timeline.measures(sample.intended) && sample.outcome == OpOutcome::Ok {
            sample.service_nanos().into_iter().for_each(|nanos| evidence.paused.record(nanos));
        }
        self.tag.ended(&mut evidence.order, sample, paused);
    }
}

/// What an operation's service time is compared with: those of its kind, and of its class of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sort {
    /// Its kind.
    pub kind: OpKind,
    /// Index of its class of sizes.
    pub size: u8,
}
