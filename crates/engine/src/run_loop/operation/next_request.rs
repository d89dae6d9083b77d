//! Operations of several requests: what follows a good answer. Pages of a listing come one after the other; the parts of an
//! object are on their way at once, each in a slot of its own that belongs to no load model.

use crate::network::Network;
use crate::plan::{Multipart, Then};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::end::After;
use crate::run_loop::operation::delete_batch;
use crate::run_loop::operation::op::{Body, Op, Part, Parts, Slot};
use measure::sample::{AttemptKind, Moved};
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};
use wire::s3::{Completed, CompletedPart, InitiatedUpload, ListResult, MAX_PARTS, write_complete};

/// What follows an attempt within its operation.
pub(in crate::run_loop) enum Next {
    End,
    /// Another request.
    Request,
    /// Several at once.
    Parts,
}

pub(in crate::run_loop) const BAD_MESSAGE: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::Protocol, Cause::BadMessage, Phase::Body);
pub(in crate::run_loop) const ERROR_WITHIN_200: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::S3Error, Cause::ErrorWithin200, Phase::Body);

impl<N: Network> RunLoop<'_, N> {
    /// What follows the slot's attempt, which has just ended so.
    ///
    /// # Errors
    /// How the operation ends when the answer does not say what must follow.
    pub(in crate::run_loop) fn next_step(
        &mut self,
        slot: u32,
        outcome: AttemptOutcome,
    ) -> Result<Next, AttemptOutcome> {
        let Some(op) = &mut self.slots[slot as usize].op else { return Ok(Next::End) };
        let Body::Kept(message) = &op.body else { return Ok(Next::End) };
        if outcome != AttemptOutcome::OK {
            return Ok(Next::End);
        }
        match self.plan.mix.requests()[op.request].then {
            Then::End if op.parts.is_some() => match Completed::parse(message) {
                Ok(Completed::Done(_)) => Ok(Next::End),
                Ok(Completed::Failed(_)) => Err(ERROR_WITHIN_200),
                Err(_) => Err(BAD_MESSAGE),
            },
            Then::End if op.message.is_some() => delete_batch::judge(message, &mut self.said).map(|()| Next::End),
            Then::End => Ok(Next::End),
            Then::Pages { most } => {
                let page = ListResult::parse(message).map_err(|_| BAD_MESSAGE)?;
                op.pages.read += 1;
                let Some(next) = page.next.filter(|_| op.pages.read < most) else { return Ok(Next::End) };
                op.pages.body_bytes += message.len() as u64;
                op.pages.next = Some(format!("continuation-token={}", wire::percent::parameter(&next)).into());
                Ok(Next::Request)
            }
            Then::Parts(plan) => {
                let upload = InitiatedUpload::parse(message).map_err(|_| BAD_MESSAGE)?.upload_id;
                let body = self.plan.mix.requests().get(plan.part).and_then(|part| part.body.as_ref());
                let size = body.map_or(0, |body| op.maker(self.plan, body, &mut self.key).whole_size());
                op.parts = Some(Box::new(Parts::new(plan, upload, size)));
                Ok(Next::Parts)
            }
        }
    }

    /// Whether the slot's operation is, or belongs to, an object that is written in parts.
    pub(in crate::run_loop) fn is_in_parts(&self, slot: u32) -> bool {
        self.slots[slot as usize].op.as_ref().is_some_and(|op| {
            let begins = matches!(self.plan.mix.requests()[op.request].then, Then::Parts(_));
            op.part.is_some() || op.parts.is_some() || begins
        })
    }

    /// Sends the first parts of the slot's object.
    pub(in crate::run_loop) fn begin_parts(&mut self, net: &mut N, slot: u32, now: Instant) {
        let parts = self.slots[slot as usize].op.as_ref().and_then(|op| op.parts.as_ref());
        let parallel = parts.map_or(0, |parts| parts.plan.parallel.get());
        for _ in 0..parallel {
            self.begin_part(net, slot, now);
        }
    }

    fn begin_part(&mut self, net: &mut N, slot: u32, now: Instant) {
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        let number = op.number;
        let Some(parts) = &mut op.parts else { return };
        let Some((part, query)) = parts.next_part((slot, number)) else { return };
        let child = op.of_part(part, op.parts.as_ref().map_or(0, |parts| parts.plan.part), query, now);
        let place = self.part_slots.pop().unwrap_or_else(|| {
            self.slots.push(Slot { op: None, freed: now, taken: 0 });
            self.slots.len() as u32 - 1
        });
        self.slots[place as usize].op = Some(child);
        self.begin_attempt(net, place, AttemptKind::Step, now);
    }

    /// A part has ended: another one goes out; or the object is put together, or its parts are given up.
    pub(in crate::run_loop) fn end_part(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        after: After,
        now: Instant,
    ) {
        let window = self.record_attempt(net, slot, outcome, after, now);
        let Some(child) = self.slots[slot as usize].op.take() else { return };
        self.part_slots.push(slot);
        if outcome != AttemptOutcome::OK {
            self.recorder.wasted(window);
        }
        let Some(part) = child.part else { return };
        let (parent, number) = part.of;
        let Some(op) = self.slots[parent as usize].op.as_mut().filter(|op| op.number == number) else { return };
        op.received_before += child.received_before + child.attempt.received_bytes;
        op.sent_all = op.sent_all.max(child.sent_all);
        let Some(parts) = &mut op.parts else { return };
        parts.take(part.index, &child, outcome, window);
        if parts.failed.is_none() && parts.next < parts.count() {
            self.begin_part(net, parent, now);
        } else if parts.running == 0 {
            self.finish_parts(net, parent, now);
        }
    }

    /// Whether the server has just refused to put the parts of the slot's object together. Where it did not say so it may have
    /// done it, and there is nothing to give up.
    pub(in crate::run_loop) fn parts_are_refused(&mut self, slot: u32, outcome: AttemptOutcome) -> bool {
        use AttemptClass::{Http4xx, Http5xx, S3Error, Throttled};
        let refused = matches!(outcome.class, Http4xx | Http5xx | S3Error | Throttled);
        let parts = self.slots[slot as usize].op.as_mut().and_then(|op| op.parts.as_mut());
        let Some(parts) = parts.filter(|_| refused) else { return false };
        parts.failed = Some(outcome);
        true
    }

    /// Puts the parts together, or gives them up.
    pub(in crate::run_loop) fn finish_parts(&mut self, net: &mut N, slot: u32, now: Instant) {
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        let Some(parts) = &mut op.parts else { return };
        op.pages.next = Some(parts.query());
        op.request = match parts.failed {
            Some(_) => parts.plan.abort,
            None => {
                parts.completion = parts.message();
                parts.plan.complete
            }
        };
        self.begin_attempt(net, slot, AttemptKind::Step, now);
    }

    /// Ends an object whose parts were given up with the attempt that has just ended; `false` for all others. However that
    /// went, the object had failed before.
    pub(in crate::run_loop) fn end_given_up(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        after: After,
        now: Instant,
    ) -> bool {
        let parts = self.slots[slot as usize].op.as_mut().and_then(|op| op.parts.as_mut());
        let Some((parts, failed)) = parts.and_then(|parts| parts.failed.map(|failed| (parts, failed))) else {
            return false;
        };
        parts.aborted = outcome == AttemptOutcome::OK;
        self.record_attempt(net, slot, outcome, after, now);
        self.end_op(net, slot, failed, After::Close, now);
        true
    }
}

impl Parts {
    fn new(plan: Multipart, upload: Box<str>, size: u64) -> Self {
        let part_bytes = plan.bytes.get().max(size.div_ceil(u64::from(MAX_PARTS)));
        let count = size.div_ceil(part_bytes).max(1) as usize;
        Self {
            plan,
            upload,
            size,
            part_bytes,
            etags: vec![None; count],
            next: 0,
            running: 0,
            failed: None,
            aborted: false,
            sent_body: 0,
            window: Moved::default(),
            completion: Vec::new(),
        }
    }

    fn count(&self) -> u32 {
        self.etags.len() as u32
    }

    fn query(&self) -> Box<str> {
        format!("uploadId={}", wire::percent::parameter(&self.upload)).into()
    }

    /// The next part, and its query.
    fn next_part(&mut self, of: (u32, u64)) -> Option<(Part, Box<str>)> {
        if self.next >= self.count() {
            return None;
        }
        let index = self.next;
        (self.next, self.running) = (index + 1, self.running + 1);
        let offset = u64::from(index) * self.part_bytes;
        let length = self.part_bytes.min(self.size - offset);
        let query = format!("partNumber={}&{}", index + 1, self.query());
        Some((Part { of, index, offset, length }, query.into()))
    }

    fn take(&mut self, index: u32, part: &Op<'_>, outcome: AttemptOutcome, window: Moved) {
        self.running -= 1;
        match (&part.attempt.etag, self.etags.get_mut(index as usize)) {
            (Some(etag), Some(place)) if outcome == AttemptOutcome::OK => {
                *place = Some(etag.clone());
                self.sent_body += part.attempt.sent_body;
                self.window.sent += window.sent;
            }
            (None, _) if outcome == AttemptOutcome::OK => {
                self.failed.get_or_insert(BAD_MESSAGE);
            }
            _ => {
                self.failed.get_or_insert(outcome);
            }
        }
    }

    /// The message that puts the parts together.
    fn message(&self) -> Vec<u8> {
        let parts = self
            .etags
            .iter()
            .zip(1_u16..)
            .filter_map(|(etag, number)| Some(CompletedPart { number, etag: etag.clone()? }));
        let (parts, mut message) = (parts.collect::<Vec<_>>(), String::new());
        write_complete(&parts, &mut message);
        message.into_bytes()
    }
}
