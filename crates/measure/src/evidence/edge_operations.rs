//! The first and the last operations of a run.
//!
//! The first operations arrive at an idle target. In a closed run, the last operations end while no new operations
//! start. Between these two edges, the number of operations in flight is constant. Only the edges therefore show how
//! service times depend on the number of operations in flight.

use crate::sample::outcome::OpOutcome;
use crate::sample::{OpKind, OpSample};
use crate::stats::size_class::size_label;
use crate::time::Instant;
use crate::time::Timeline;
use crate::values::{add, bounded};
use serde::{Deserialize, Serialize};

/// Maximum number of operations that one thread keeps for each edge.
const OF_A_THREAD: usize = 256;
/// Maximum number of operations that all threads together keep for each edge.
const OF_AN_EDGE: usize = 1024;

/// Operation at the beginning or at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeOp {
    /// Instant at which the operation was sent.
    pub sent: Instant,
    /// Instant at which the operation ended.
    pub end: Instant,
    /// Class of the operation. The operation is compared only with operations of the same class.
    #[serde(flatten)]
    pub class: OperationClass,
}

/// Class of operations with similar service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationClass {
    /// Kind of the operations.
    pub kind: OpKind,
    /// Index of the size class of the operations.
    pub size: u8,
}

impl OperationClass {
    /// Returns the label of the size class, such as `to 1 MiB`; `None` in a damaged record.
    #[must_use]
    pub fn size_label(self) -> Option<&'static str> {
        size_label(self.size)
    }
}

/// Operations at the beginning and at the end of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edges {
    /// Operations that started before any operation of their thread had ended.
    #[serde(default, deserialize_with = "bounded::list::<_, _, OF_AN_EDGE>")]
    pub opening: Vec<EdgeOp>,
    /// Operations that succeeded after the last operation had started.
    #[serde(default, deserialize_with = "bounded::list::<_, _, OF_AN_EDGE>")]
    pub closing: Vec<EdgeOp>,
    /// Instant after which no operations were started.
    #[serde(default)]
    pub closed_at: Option<Instant>,
    /// Number of operations that were in flight at `closed_at` but are not in `closing`. These operations failed, did
    /// not end, or were not kept because the maximum number was reached.
    #[serde(default)]
    pub lost: u64,
    /// `true` if the target paused before the first operations of a thread had ended.
    #[serde(default, skip_serializing_if = "is_false")]
    pub opening_paused: bool,
    /// Number of operations in `closing` that were in flight while the target paused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub closing_paused: u64,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Edges {
    /// Returns whether no operations were kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { opening, closing, closed_at, lost, opening_paused, closing_paused } = other;
        let space = |list: &Vec<EdgeOp>| OF_AN_EDGE.saturating_sub(list.len());
        let opening_space = space(&self.opening);
        self.opening.extend(opening.iter().take(opening_space));
        let closing_space = space(&self.closing);
        self.closing.extend(closing.iter().take(closing_space));
        add(&mut self.lost, *lost);
        add(&mut self.lost, closing.len().saturating_sub(closing_space) as u64);
        self.opening_paused |= opening_paused;
        add(&mut self.closing_paused, *closing_paused);
        self.closed_at = match (self.closed_at, *closed_at) {
            (Some(mine), Some(theirs)) => Some(mine.max(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

/// Collector of one thread's operations at the edges.
#[derive(Debug, Default)]
pub(super) struct EdgeWatch {
    started: usize,
    /// Start of the last operation that may be kept. Operations are selected by their start and not by their end,
    /// because the operations that end first are faster than usual.
    last_kept: Option<Instant>,
    first_end: Option<Instant>,
    opening: usize,
    closing: usize,
    exhausted_at: Option<Instant>,
}

impl EdgeWatch {
    pub fn exhausted(&mut self, now: Instant) {
        self.exhausted_at.get_or_insert(now);
    }

    #[inline]
    pub fn started(&mut self, now: Instant) {
        if self.started < OF_A_THREAD {
            self.started += 1;
            self.last_kept = Some(now);
        }
    }

    #[inline]
    pub fn ended(&mut self, edges: &mut Edges, timeline: &Timeline, sample: &OpSample, size: u8, paused: bool) {
        self.opened(edges, sample, size);
        let closed_at = self.exhausted_at.map_or(timeline.window_end(), |at| at.min(timeline.window_end()));
        if sample.end >= closed_at && sample.started <= closed_at {
            self.close(edges, sample, size, closed_at);
            edges.closing_paused += u64::from(paused);
        }
    }

    /// Keeps an operation that has ended, if it started before any operation had ended.
    #[inline]
    pub fn opened(&mut self, edges: &mut Edges, sample: &OpSample, size: u8) {
        let first_end = *self.first_end.get_or_insert(sample.end);
        if sample.started < first_end {
            self.open(edges, sample, size);
        }
    }

    #[cold]
    fn open(&mut self, edges: &mut Edges, sample: &OpSample, size: u8) {
        let chosen = self.last_kept.is_some_and(|last| sample.started <= last) && self.opening < OF_A_THREAD;
        if let Some(op) = edge_op(sample, size).filter(|_| chosen) {
            self.opening += 1;
            edges.opening.push(op);
        }
    }

    #[cold]
    fn close(&mut self, edges: &mut Edges, sample: &OpSample, size: u8, closed_at: Instant) {
        edges.closed_at = Some(closed_at);
        match edge_op(sample, size).filter(|op| self.closing < OF_A_THREAD && op.sent <= closed_at) {
            Some(op) => {
                self.closing += 1;
                edges.closing.push(op);
            }
            None => edges.lost += 1,
        }
    }
}

fn edge_op(sample: &OpSample, size: u8) -> Option<EdgeOp> {
    let sent = sample.sent.filter(|_| sample.outcome == OpOutcome::Ok)?;
    Some(EdgeOp { sent, end: sample.end, class: OperationClass { kind: sample.kind, size } })
}
