//! Collects the evidence of one thread.

use super::Evidence;
use super::edge_operations::{EdgeWatch, OperationClass};
use super::overtaking::OvertakingWatch;
use super::target_pauses::PauseWatch;
use crate::sample::OpSample;
use crate::sample::outcome::OpOutcome;
use crate::time::{Instant, Timeline};

/// The mechanism that starts the operations of a thread. The mechanism determines which evidence is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Slots that start their next operation as soon as the previous one has ended.
    Slots,
    /// Slots that pause for a think time between operations.
    PausingSlots,
    /// A schedule of arrivals.
    Arrivals,
}

/// Collector of one thread's evidence.
#[derive(Debug)]
pub(crate) struct Collector {
    source: Source,
    edges: EdgeWatch,
    pauses: PauseWatch,
    overtaking: OvertakingWatch,
}

impl Collector {
    /// Creates a collector. `scheduled` means that operations have a planned start.
    pub fn new(scheduled: bool) -> Self {
        let source = if scheduled { Source::Arrivals } else { Source::Slots };
        Self {
            source,
            edges: EdgeWatch::default(),
            pauses: PauseWatch::default(),
            overtaking: OvertakingWatch::default(),
        }
    }

    /// Declares that slots start the operations. With think time, slots also plan the starts of their operations.
    /// Without this call, these plans would look like a schedule of arrivals.
    pub fn of_slots(&mut self) {
        if self.source == Source::Arrivals {
            self.source = Source::PausingSlots;
        }
    }

    /// Records that the slots have no more operations to start, because a budget (of operations or bytes) is used up.
    pub fn exhausted(&mut self, now: Instant) {
        self.edges.exhausted(now);
    }

    /// Counts `count` operations that are due at `intended`.
    #[inline]
    pub fn scheduled(&mut self, evidence: &mut Evidence, timeline: &Timeline, intended: Instant, count: u64) {
        if self.source == Source::Arrivals && timeline.measures(intended) {
            evidence.arrival_cohorts.scheduled(timeline, intended, count);
        }
    }

    /// Records the start of an operation. `in_flight` does not include this operation.
    #[inline]
    pub fn started(&mut self, now: Instant, in_flight: u64) {
        self.edges.started(now);
        if self.source != Source::Arrivals {
            self.overtaking.started(now, in_flight);
        }
    }

    /// Records the end of an operation. `size` is the index of the operation's size class.
    #[inline]
    pub fn ended(&mut self, evidence: &mut Evidence, timeline: &Timeline, sample: &OpSample, size: u8) {
        if self.source == Source::Arrivals {
            if timeline.measures(sample.intended) {
                evidence.class_cohorts.add(timeline, sample, OperationClass { kind: sample.kind, size });
                if sample.outcome != OpOutcome::Unfinished {
                    evidence.arrival_cohorts.ended(timeline, sample);
                }
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
        self.overtaking.ended(&mut evidence.overtaking, sample, paused);
    }
}
