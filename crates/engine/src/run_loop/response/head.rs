//! What an answer amounts to while it comes: its head is judged, and what becomes of its body is decided.

use crate::network::{Network, Token};
use crate::plan::{Answers, Plan};
use crate::run_loop::RunLoop;
use crate::run_loop::http1::receive::ReadStep;
use crate::run_loop::operation::op::{Body, Op, Unwanted};
use crate::run_loop::response::checks::{self, AtHead};
use crate::run_loop::response::header_values::{self, Digesting, Heard};
use content::Mismatch;
use measure::{AttemptClass, AttemptOutcome, Cause, Flag, Instant, Phase};
use wire::gateway::{Asked, Check, Depth};
use wire::message::Version;
use wire::range::ByteRange;
use wire::response::Encoding;

/// A body from this size on is large.
const LARGE_BODY: u64 = 64 * 1024;
/// Of a body that nobody wants, that of an error or a redirect, so much is read to keep its connection useful.
const UNWANTED_BODY_MAX: u64 = 1 << 20;

const CONTENT_DIFFERS: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::Integrity, Cause::ContentDiffers, Phase::Body);
const MESSAGE_TOO_LARGE: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::Protocol, Cause::MessageTooLarge, Phase::Body);
const ANSWERED_EARLY: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::Protocol, Cause::AnsweredEarly, Phase::Send);

impl<N: Network> RunLoop<'_, N> {
    /// Ends an attempt whose outcome was known with its head, without the rest of its body; `false` for others.
    pub(in crate::run_loop) fn leave_unwanted(&mut self, net: &mut N, token: Token, now: Instant) -> bool {
        let Some(connection) = self.connections.get(token) else { return false };
        let Some(op) = &self.slots[connection.slot as usize].op else { return false };
        let outcome = match op.attempt.at_head {
            AtHead::Read => return false,
            AtHead::Doomed(outcome) | AtHead::Cut(outcome) => outcome,
            AtHead::Redirect => AttemptOutcome::OK,
        };
        self.cut(net, token, outcome, now);
        true
    }

    /// Judges the head that was just read; an outcome means that the body is not wanted.
    pub(in crate::run_loop) fn head_known(&mut self, token: Token, headers_matched: u128) -> Option<AttemptOutcome> {
        let connection = self.connections.get_mut(token)?;
        let head = connection.reader.head()?;
        let op = self.slots[connection.slot as usize].op.as_mut()?;
        let request = &self.plan.mix.requests()[op.request];
        let checks = &request.checks;
        op.attempt.headers_matched = headers_matched;
        let remarks = [
            (Flag::SmugglingRisk, head.flags.smuggling_risk),
            (Flag::DuplicateLength, head.flags.duplicate_length),
            (Flag::Http10, head.version == Version::Http10),
            (Flag::UnaskedEncoding, head.encoding == Encoding::Other && !checks.encoding_asked),
            (Flag::Interim, connection.reader.interim() > 0),
        ];
        for (flag, _) in remarks.into_iter().filter(|(_, seen)| *seen) {
            op.attempt.flags.set(flag);
        }
        if self.plan.group_by.is_some() {
            let value = String::from_utf8_lossy(&self.group_value);
            op.group = Some(self.recorder.header_label(Some(value.as_ref()).filter(|value| !value.is_empty())));
            self.group_value.clear();
        }
        let asked = op.asked(self.plan.follow);
        let (subject, origin) = (op.subject, connection.origin);
        let (seen, heard) = (&mut self.seen, &self.heard);
        let judged = checks::at_head(head, &asked, checks);
        let mut at_head = header_values::at_head(judged, request, head, || seen.differs(subject, origin, head, heard));
        if let Some(upload) = &mut connection.upload
            && !upload.is_sent()
        {
            // Nothing that is sent from now on can change the response. Whether sending had failed before it was read is
            // a matter of timing, and must not decide.
            upload.stop();
            connection.unsent.clear();
            if at_head == AtHead::Read {
                at_head = AtHead::Cut(ANSWERED_EARLY);
            }
        }
        let encoded = head.encoding == Encoding::Other && checks.encoding_asked;
        if at_head == AtHead::Read && matches!(head.status, 200 | 206) {
            op.range = op.range.map(|wanted| checks::expected_range(wanted, head));
        }
        if at_head == AtHead::Redirect {
            // What is said about the server is said about the one that answers in the end.
            self.software = None;
        }
        match at_head {
            AtHead::Read => match body_of(self.plan, op, &self.heard, encoded, &mut self.key) {
                Ok(body) => op.body = body,
                Err(outcome) => at_head = AtHead::Doomed(outcome),
            },
            AtHead::Doomed(AttemptOutcome { cause: Cause::Status, .. }) => {
                let sent = op.attempt.sent.or(op.sent).map_or(0, |sent| sent.nanos_since(Instant::ZERO));
                let wall = self.wall.unix_seconds() + sent / 1_000_000_000;
                op.attempt.refusal = header_values::Refusal::of(&self.heard, wall);
                if header_values::speaks_s3(self.plan) || matches!(request.answers, Answers::Kept) {
                    op.body = Body::Said(Vec::new());
                }
            }
            AtHead::Doomed(_) | AtHead::Cut(_) | AtHead::Redirect => {}
        }
        connection.looked_at = op.body.is_looked_at();
        connection.large_bodies = connection.reader.opaque_bytes() >= LARGE_BODY;
        op.attempt.at_head = at_head;
        match at_head {
            AtHead::Cut(outcome) => Some(outcome),
            AtHead::Read | AtHead::Doomed(_) | AtHead::Redirect => None,
        }
    }

    /// Whether a body has passed the size that it should have.
    #[inline]
    pub(in crate::run_loop) fn is_too_long(&self, token: Token) -> bool {
        let Some(connection) = self.connections.get(token) else { return false };
        let Some(op) = &self.slots[connection.slot as usize].op else { return false };
        if op.attempt.at_head != AtHead::Read {
            return connection.reader.body_bytes() > UNWANTED_BODY_MAX;
        }
        let asked = op.asked(self.plan.follow);
        let checks = &self.plan.mix.requests()[op.request].checks;
        checks::size_cap(&asked, checks).is_some_and(|cap| connection.reader.body_bytes() > cap)
    }

    pub(in crate::run_loop) fn cut_too_long(&mut self, net: &mut N, token: Token, now: Instant) -> ReadStep {
        if self.leave_unwanted(net, token, now) {
            return ReadStep::Over;
        }
        let slot = self.connections.get(token).map(|connection| connection.slot as usize);
        let ranged = slot.and_then(|slot| self.slots[slot].op.as_ref()).is_some_and(|op| op.range.is_some());
        let (class, cause) = if ranged {
            (AttemptClass::Range, Cause::WrongRangeLength)
        } else {
            (AttemptClass::Integrity, Cause::SizeDiffers)
        };
        self.cut(net, token, AttemptOutcome::failed(class, cause, Phase::Body), now);
        ReadStep::Over
    }
}

/// The check of what a gateway sends for the operation's target.
fn gateway_body<'p>(plan: &Plan, op: &Op<'_>, depth: Depth) -> Result<Body<'p>, AttemptOutcome> {
    const UNVERIFIABLE: AttemptOutcome =
        AttemptOutcome::failed(AttemptClass::Unexpected, Cause::Unverifiable, Phase::Head);
    let asked = plan.targets.target(op.subject).and_then(Asked::of_target).ok_or(UNVERIFIABLE)?;
    let check = Check::new(asked, depth).map_err(|fault| checks::of_gateway(&fault))?;
    Ok(check.map_or(Body::Dropped, |check| Body::Gateway(Box::new(check))))
}

/// The outcome of a body that is not what it should be; keeps where it differs.
/// `said` gets what an example shows.
pub(in crate::run_loop) fn of_unwanted(
    unwanted: Unwanted,
    differs: &mut Option<Mismatch>,
    said: &mut String,
) -> AttemptOutcome {
    match unwanted {
        Unwanted::Fault(fault) => {
            *said = fault.to_string();
            checks::of_gateway(&fault)
        }
        Unwanted::Differs(mismatch) => {
            *differs = Some(mismatch);
            CONTENT_DIFFERS
        }
        Unwanted::TooLarge => MESSAGE_TOO_LARGE,
    }
}

/// What becomes of the body of a good answer.
///
/// `encoded` says that the bytes are not those of the object, because the user asked for an encoding.
///
/// # Errors
/// There is nothing that it could be compared with.
#[inline]
fn body_of<'p>(
    plan: &'p Plan,
    op: &Op<'_>,
    heard: &Heard,
    encoded: bool,
    key: &mut String,
) -> Result<Body<'p>, AttemptOutcome> {
    let request = &plan.mix.requests()[op.request];
    Ok(match &request.answers {
        // After all, S3 may say in the body of a 200 that something has failed.
        Answers::Dropped if !request.is_safe() && header_values::speaks_s3(plan) => Body::Said(Vec::new()),
        Answers::Dropped => Body::Dropped,
        Answers::Digested(wanted) => Body::Digested(Box::new(Digesting::begin(wanted, heard)?)),
        Answers::Gateway(_) if encoded || op.range.is_some() => Body::Dropped,
        Answers::Gateway(depth) => gateway_body(plan, op, *depth)?,
        Answers::Kept => Body::Kept(Vec::new()),
        Answers::Compared(content) => {
            let known = plan.targets.area().and_then(|area| area.read_key(op.subject, key));
            let first = op.range.map_or(0, ByteRange::first);
            known.map_or(Body::Dropped, |_| Body::Compared(content.object(key).verifier(first)))
        }
    })
}
