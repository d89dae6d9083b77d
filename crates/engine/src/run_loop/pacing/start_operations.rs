//! The start of operations, within the limits of the load model.

use super::Pacer;
use crate::network::Network;
use crate::run_loop::RunLoop;
use crate::run_loop::invariant::Invariant;
use crate::schedule::Draw;
use measure::{Instant, Stage};
use std::time::Duration;

/// Maximum number of operations that start before sockets are checked again.
const BURST: usize = 32;

impl<N: Network> RunLoop<'_, N> {
    /// Finds connections for the attempts that wait for one, then starts a limited number of operations that are due.
    /// Returns the current instant.
    #[inline]
    pub(in crate::run_loop) fn start_due(&mut self, net: &mut N, now: Instant) -> Instant {
        let pool = &self.pool;
        match &self.pacer {
            Pacer::Closed(closed)
                if closed.waiting.is_empty() && pool.waits.for_connection == 0 && pool.to_send.is_empty() =>
            {
                now
            }
            Pacer::Closed(_) => {
                self.serve_waiting(net, now);
                let now = self.start_closed(net, now);
                self.send_queued(net, now);
                now
            }
            Pacer::Open(_) => {
                self.serve_waiting(net, now);
                let now = self.start_open(net, now);
                self.send_queued(net, now);
                now
            }
        }
    }

    /// Reads the clock again before the second and each later operation of a burst. With an earlier reading, the
    /// recorded start of these operations would be too early.
    #[inline]
    fn now_in_burst(&mut self, net: &mut N, started: usize, now: Instant) -> Instant {
        if started == 0 {
            return now;
        }
        let now = net.now();
        self.advance_to(net, now);
        now
    }

    fn start_closed(&mut self, net: &mut N, mut now: Instant) -> Instant {
        for started in 0..BURST {
            if matches!(&self.pacer, Pacer::Closed(closed) if closed.waiting.is_empty()) {
                return now;
            }
            now = self.now_in_burst(net, started, now);
            let closed = if let Pacer::Closed(closed) = &mut self.pacer { Some(closed) } else { None };
            let Some(closed) = closed.assert_some("the load model is the closed model") else { return now };
            closed.exhausted |= self.control.is_spent();
            if closed.exhausted || now >= self.recorder.timeline().window_end() {
                self.recorder.exhausted(now);
                closed.waiting.clear();
                return now;
            }
            if now < closed.held_until {
                return now;
            }
            let Some((slot, since)) = closed.next(now) else { return now };
            // The intended start of an operation determines its stage. A slot that became free in the warm-up starts an
            // operation of the warm-up, even if the operation starts in the window.
            let measured = self.recorder.timeline().stage(since) == Stage::Measured;
            let taken = &mut self.slots.get_mut(slot).taken;
            if measured && self.plan.stop.ops_per_slot.is_some_and(|most| *taken >= most.get()) {
                closed.retire();
                continue;
            }
            let bound = self.control.may_start_below();
            let drawn = if measured { closed.tickets.draw(bound) } else { closed.warmup_tickets.draw(u64::MAX) };
            let number = match drawn {
                Draw::Number(number) => {
                    if bound != u64::MAX {
                        self.control.note_started(number);
                    }
                    number
                }
                Draw::AtBound => {
                    closed.hold(slot, since, now);
                    return now;
                }
                Draw::UsedUp => {
                    closed.exhausted = true;
                    self.recorder.exhausted(now);
                    return now;
                }
            };
            *taken += u64::from(measured);
            self.recorder.scheduled(since, 1);
            self.note_start(since, now);
            self.start_op(net, slot, number, (since, 0), now);
        }
        now
    }

    fn start_open(&mut self, net: &mut N, mut now: Instant) -> Instant {
        for started in 0..BURST {
            now = self.now_in_burst(net, started, now);
            if self.control.is_spent() {
                return now;
            }
            let timeline = *self.recorder.timeline();
            let open = if let Pacer::Open(open) = &mut self.pacer { Some(open) } else { None };
            let Some(open) = open.assert_some("the load model is the open model") else { return now };
            let Some(at) = open.next(&timeline).filter(|at| *at <= now && now < timeline.window_end()) else {
                open.starved = open.starved.filter(|_| open.free_slots.is_empty());
                return now;
            };
            let free = open.free_slots.pop().or_else(|| {
                (open.slots_made < open.slots_max).then(|| {
                    open.slots_made += 1;
                    self.slots.add(Instant::ZERO)
                })
            });
            let Some(slot) = free else {
                open.starved.get_or_insert_with(|| self.control.stalls().total());
                return now;
            };
            // Waits for a slot are attributed to the target. All other delays are attributed to this client.
            let starved = open.starved;
            let slot_wait = starved.map_or(0, |_| self.slots.get(slot).freed.nanos_since(at));
            let number = open.take(at, &timeline);
            open.started(now);
            self.offer(now);
            self.note_start(at + Duration::from_nanos(slot_wait), now);
            self.start_op(net, slot, number, (at, slot_wait), now);
            // The operation may have ended already.
            if let (Some(stalls), Some(op)) = (starved.filter(|_| slot_wait > 0), self.slots.find_op_mut(slot)) {
                op.stalls_before = stalls;
            }
        }
        now
    }

    /// Makes the slots whose pause is over ready to start.
    pub(in crate::run_loop) fn wake_slots(&mut self, now: Instant) {
        if let Pacer::Closed(closed) = &mut self.pacer {
            closed.wake(now);
        }
    }

    /// Returns when the next operation may start.
    pub(in crate::run_loop) fn next_start(&self, now: Instant) -> Instant {
        match &self.pacer {
            Pacer::Closed(closed) => closed.next_wake(),
            Pacer::Open(open) if open.starved.is_some() && open.free_slots.is_empty() => Instant::NEVER,
            // The requested bytes have arrived, so no further operation starts, even if one is due.
            Pacer::Open(_) if self.control.is_spent() => Instant::NEVER,
            Pacer::Open(open) => {
                let timeline = self.recorder.timeline();
                let last = || open.exhausted_at(timeline).filter(|_| self.slots.in_flight == 0);
                open.next_wake(timeline, now).or_else(last).unwrap_or(Instant::NEVER)
            }
        }
    }

    /// Returns whether no further operation will start, even before the end of the measured window.
    pub(in crate::run_loop) fn is_exhausted(&self, now: Instant) -> bool {
        match &self.pacer {
            Pacer::Closed(closed) => closed.exhausted,
            Pacer::Open(open) => open.exhausted_at(self.recorder.timeline()).is_some_and(|at| now >= at),
        }
    }

    /// Counts arrivals as offered when they are due.
    #[inline]
    pub(in crate::run_loop) fn offer(&mut self, now: Instant) {
        if let Pacer::Open(open) = &mut self.pacer {
            let timeline = *self.recorder.timeline();
            let recorder = &mut self.recorder;
            open.offer(now, &timeline, |at| recorder.scheduled(at, 1));
        }
    }

    /// At the end of the measured window, drops the arrivals that were due but have not started. Further calls do
    /// nothing.
    pub(in crate::run_loop) fn drop_rest(&mut self, net: &mut N, now: Instant) {
        let Pacer::Open(open) = &mut self.pacer else { return };
        if open.rest_is_dropped() {
            return;
        }
        let timeline = *self.recorder.timeline();
        let recorder = &mut self.recorder;
        open.offer(now, &timeline, |at| recorder.scheduled(at, 1));
        let end = timeline.window_end();
        let freed = open.free_slots.iter().filter(|slot| self.slots.get(**slot).freed < end).count();
        open.drop_rest(freed, &timeline, |at, could_start| recorder.dropped(at, could_start));
        if self.ends_at_once() {
            self.abandon_reads(net, now);
        }
    }

    /// Records the time at which a schedule of a fixed number of operations ended.
    pub(in crate::run_loop) fn record_schedule_end(&mut self) {
        let Pacer::Open(open) = &self.pacer else { return };
        let timeline = self.recorder.timeline();
        if let Some(at) = open.exhausted_at(timeline).filter(|at| *at > timeline.window_start()) {
            self.recorder.schedule_ended(at);
        }
    }
}
