//! The start of an operation: the choice of its request, object, origin and range.

use super::delete_batch::DeleteBatch;
use super::op::{Op, Pages};
use crate::network::Network;
use crate::plan::{BatchObjects, Choice, Pick, RangeChoice, Spread, Subject};
use crate::random::{Stream, below};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::Attempt;
use crate::run_loop::attempt::failures::Failures;
use crate::run_loop::pacing::number_in_load;
use crate::run_loop::response::body::BodySink;
use measure::Instant;
use measure::sample::{Access, AttemptKind};
use wire::range::ByteRange;

/// Choices for one operation.
struct Chosen {
    /// Index of the request in the plan's mix of requests.
    request: usize,
    subject: Subject,
    /// Message of a request that deletes several objects.
    batch: Option<Box<DeleteBatch>>,
}

impl<N: Network> RunLoop<'_, N> {
    /// Starts an operation in a free slot. `own` is its number in this part of the load. The operation was due at
    /// `intended`, and waited `slot_wait_nanos` for a slot.
    pub(in crate::run_loop) fn start_op(
        &mut self,
        net: &mut N,
        slot: u32,
        own: u64,
        (intended, slot_wait_nanos): (Instant, u64),
        now: Instant,
    ) {
        let number = number_in_load(self.plan.part, own);
        // In this step, the end of another operation may already have been recorded with a later time.
        let now = now.max(self.recorder.latest());
        self.recorder.started(now, intended);
        self.slots.in_flight += 1;
        let Chosen { request, subject, batch } = self.choose(number);
        self.written.begin(subject);
        let access = self.access(subject);
        let origin = self.choose_origin(subject, number);
        let plan = &self.plan.mix.requests()[request];
        let reads = plan.is_safe() && plan.body.is_none();
        let size = if reads { self.plan.targets.size(subject) } else { None };
        let range = self.choose_range(plan.range, number, size);
        self.pool.origins[origin].in_flight += 1;
        self.slots.get_mut(slot).op = Some(Op {
            number,
            request,
            subject,
            kind: plan.kind,
            range,
            size,
            intended,
            started: now,
            sent: None,
            sent_all: None,
            continue_nanos: None,
            first_byte: None,
            slot_wait_nanos,
            client_send_nanos: 0,
            stalls_before: self.control.stalls().total(),
            connect_nanos: None,
            handshake_nanos: None,
            origin,
            redirect: None,
            redirects: 0,
            chain: None,
            attempts: 0,
            received_before: 0,
            uploaded_bytes: 0,
            label: self.pool.origins[origin].label,
            group: None,
            access,
            expectation_failed: false,
            body: BodySink::Discard,
            pages: Pages::default(),
            multipart: None,
            batch,
            part: None,
            polling: None,
            failures: Failures::default(),
            pause: None,
            attempt: Attempt::new(AttemptKind::First, now),
        });
        self.begin_requests(net, slot, now);
    }

    /// Chooses request and object of operation `number`.
    #[inline]
    fn choose(&mut self, number: u64) -> Chosen {
        let plan = self.plan;
        let request = plan.mix.choose(plan.seed, number);
        let of = |request, subject| Chosen { request, subject, batch: None };
        match plan.mix.requests()[request].pick {
            Pick::Target => {
                let count = plan.targets.count().max(1);
                let index = match plan.choice {
                    Choice::RoundRobin => number % count,
                    Choice::Random => below(plan.seed, Stream::Object, number, count),
                    Choice::Zipf(zipf) => zipf.choose(plan.seed, number).min(count - 1),
                };
                of(request, Subject::Target(index))
            }
            Pick::Fresh => of(request, Subject::Fresh(number)),
            Pick::Container => of(request, Subject::Container),
            Pick::Written { instead } => match self.written.deletable.pop_front() {
                Some(written) => of(request, Subject::Fresh(written)),
                None => of(instead, Subject::Fresh(number)),
            },
            Pick::Batch(batch) => match (self.delete_batch(batch, number), batch.objects) {
                (None, BatchObjects::Written { instead }) => of(instead, Subject::Fresh(number)),
                (batch, _) => Chosen { request, subject: Subject::Container, batch },
            },
        }
    }

    /// Records the access of an object, if the plan chooses objects at random. If objects are requested in turn, the
    /// number of the operation already shows which accesses are repeated.
    #[inline]
    fn access(&self, subject: Subject) -> Option<Access> {
        match (self.plan.choice, subject) {
            (Choice::Random | Choice::Zipf(_), Subject::Target(index)) => {
                self.control.access(index, self.plan.targets.count())
            }
            _ => None,
        }
    }

    #[inline]
    fn choose_origin(&self, subject: Subject, number: u64) -> usize {
        let own = self.plan.targets.origin(subject).unwrap_or(0);
        let all = self.plan.targets.origins().len();
        match self.plan.connections.spread {
            Spread::Own => own,
            Spread::RoundRobin => (number % all.max(1) as u64) as usize,
            Spread::Random => below(self.plan.seed, Stream::Origin, number, all.max(1) as u64) as usize,
            Spread::LeastLoaded => {
                // Origins with equal load take turns.
                let turn = (0..all).map(|step| (number as usize).wrapping_add(step) % all);
                turn.min_by_key(|origin| self.pool.origins[*origin].in_flight).unwrap_or(own)
            }
        }
    }

    fn choose_range(&self, choice: Option<RangeChoice>, number: u64, size: Option<u64>) -> Option<ByteRange> {
        match choice? {
            RangeChoice::Fixed(range) => Some(range),
            RangeChoice::Random { length } => {
                let size = size.unwrap_or(length.get());
                let places = size.saturating_sub(length.get()) + 1;
                let first = below(self.plan.seed, Stream::Offset, number, places);
                ByteRange::of_length(first, length.get().min(size))
            }
        }
    }
}
