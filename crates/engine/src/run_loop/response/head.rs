//! Judging a complete head, and choosing how to treat the body that follows.

use super::body::BodySink;
use super::checks::{self, AfterHead};
use super::digest::BodyDigest;
use super::file_verifier::FileVerifier;
use super::header_values::{HeaderValues, speaks_s3};
use super::refusal::Refusal;
use crate::network::Network;
use crate::plan::{Plan, RequestPlan, ResponseBody};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::exchange::ExchangeId;
use crate::run_loop::attempt::failure_outcomes;
use crate::run_loop::invariant::Invariant;
use crate::run_loop::operation::op::Op;
use measure::{AttemptClass, AttemptOutcome, Cause, Flag, Flags, Instant, Phase};
use wire::gateway::{Check, Depth, GatewayRequest};
use wire::message::Version;
use wire::range::ByteRange;
use wire::response::{Encoding, Head};

/// Invariant that debug builds check for responses whose bodies are compared.
const HAS_OBJECT: &str = "a body that is compared belongs to an object";

/// Minimum size of a large body.
const LARGE_BODY: u64 = 64 * 1024;
/// Maximum size of the body of an error or redirect that is read so that the connection can be kept.
const UNWANTED_BODY_MAX: u64 = 1 << 20;

const RESPONSE_BEFORE_BODY: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::Protocol, Cause::EarlyResponse, Phase::Send);
const DEFECT: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Internal, Cause::Defect, Phase::Head);
const ACKED_LOST: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Integrity, Cause::AckedLost, Phase::Head);
const OBJECT_CHANGED: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::Integrity, Cause::ObjectChanged, Phase::Head);

impl<N: Network> RunLoop<'_, N> {
    /// Judges the complete head of an exchange's response. If the body must not be read, returns the outcome of the
    /// attempt.
    pub(in crate::run_loop) fn judge_head(&mut self, id: ExchangeId, headers_matched: u128) -> Option<AttemptOutcome> {
        let exchange = self.pool.running(id)?;
        let op = self.slots.op_mut(exchange.slot)?;
        let head = exchange.reader.head().assert_some("a head that is judged is complete")?;
        let request = &self.plan.mix.requests()[op.request];
        op.attempt.headers_matched = headers_matched;
        flag_peculiarities(head, exchange.reader.interim(), request, &mut op.attempt.flags);
        if self.plan.group_by.is_some() {
            let value = String::from_utf8_lossy(&self.notes.group_value);
            op.group = Some(self.recorder.header_label(Some(value.as_ref()).filter(|value| !value.is_empty())));
            self.notes.group_value.clear();
        }
        let (states, values) = (&mut self.object_states, &self.notes.values);
        let judged = checks::judge_head(head, &op.expected(self.plan.follow), &request.checks);
        let changed = || states.differs(op.subject, exchange.origin, head, values);
        let mut after = refine(judged, request, head, changed);
        if let Some(upload) = &mut exchange.upload
            && !upload.is_sent()
        {
            // Further bytes cannot change the response, so sending stops. The outcome must not depend on whether
            // sending failed before the response was read, because the order of these events is random.
            upload.stop();
            exchange.unsent.clear();
            if after == AfterHead::Read {
                after = AfterHead::Close(RESPONSE_BEFORE_BODY);
            }
        }
        if after == AfterHead::Read && matches!(head.status, 200 | 206) {
            op.range = op.range.map(|wanted| checks::expected_range(wanted, head));
        }
        match after {
            AfterHead::Read => {
                let encoded = head.encoding == Encoding::Other && request.checks.encoding_asked;
                match body_sink(self.plan, op, values, encoded, &mut self.requests.key) {
                    Ok(body) => op.body = body,
                    Err(outcome) => after = AfterHead::ReadAndFail(outcome),
                }
            }
            AfterHead::ReadAndFail(AttemptOutcome { cause: Cause::Status, .. }) => {
                let sent = op.attempt.sent.or(op.sent).unwrap_or(Instant::ZERO);
                op.attempt.refusal = Refusal::of(values, self.requests.unix_seconds(sent));
                let is_parsed = speaks_s3(self.plan)
                    || matches!(request.response_body, ResponseBody::Kept | ResponseBody::KeptList);
                op.body = if is_parsed { BodySink::Error(Vec::new()) } else { BodySink::Excerpt(Vec::new()) };
            }
            // The report describes the server that sends the final response.
            AfterHead::Redirect => self.first_response.software = None,
            AfterHead::ReadAndFail(_) | AfterHead::Close(_) => {}
        }
        exchange.body_is_read = op.body.reads();
        exchange.large_bodies = exchange.reader.opaque_bytes() >= LARGE_BODY;
        op.attempt.after_head = after;
        match after {
            AfterHead::Close(outcome) => Some(outcome),
            AfterHead::Read | AfterHead::ReadAndFail(_) | AfterHead::Redirect => None,
        }
    }

    /// Returns whether a body is longer than expected.
    #[inline]
    pub(in crate::run_loop) fn is_too_long(&mut self, id: ExchangeId) -> bool {
        let Some(exchange) = self.pool.running(id) else { return false };
        let Some(op) = self.slots.op(exchange.slot) else { return false };
        if op.attempt.after_head != AfterHead::Read {
            return exchange.reader.body_bytes() > UNWANTED_BODY_MAX;
        }
        let checks = &self.plan.mix.requests()[op.request].checks;
        let most = checks::size_max(&op.expected(self.plan.follow), checks);
        most.is_some_and(|most| exchange.reader.body_bytes() > most)
    }

    /// Ends an attempt whose body is longer than expected.
    pub(in crate::run_loop) fn cut_too_long(&mut self, net: &mut N, id: ExchangeId, now: Instant) {
        let Some(exchange) = self.pool.running(id) else { return };
        let Some(op) = self.slots.op(exchange.slot) else { return };
        let (class, cause) = if op.range.is_some() {
            (AttemptClass::Range, Cause::WrongRangeLength)
        } else {
            (AttemptClass::Integrity, Cause::SizeDiffers)
        };
        let outcome = match op.attempt.after_head {
            AfterHead::Read => AttemptOutcome::failed(class, cause, Phase::Body),
            AfterHead::ReadAndFail(outcome) | AfterHead::Close(outcome) => outcome,
            AfterHead::Redirect => AttemptOutcome::OK,
        };
        self.cut(net, id, outcome, now);
    }
}

/// Sets flags for properties of a head that are unusual but not errors.
#[inline]
fn flag_peculiarities(head: &Head, interim: u32, request: &RequestPlan, flags: &mut Flags) {
    let peculiarities = [
        (Flag::SmugglingRisk, head.flags.smuggling_risk),
        (Flag::DuplicateLength, head.flags.duplicate_length),
        (Flag::Http10, head.version == Version::Http10),
        (Flag::UnrequestedEncoding, head.encoding == Encoding::Other && !request.checks.encoding_asked),
        (Flag::Interim, interim > 0),
    ];
    for (flag, _) in peculiarities.into_iter().filter(|(_, present)| *present) {
        flags.set(flag);
    }
}

/// Changes the result of [`checks::judge_head`] in two cases: an object that an earlier operation wrote is missing, or
/// an object that is read in ranges has changed.
fn refine(judged: AfterHead, request: &RequestPlan, head: &Head, changed: impl FnOnce() -> bool) -> AfterHead {
    match judged {
        AfterHead::ReadAndFail(AttemptOutcome { cause: Cause::Status, .. })
            if matches!(head.status, 404 | 410) && request.response_body.is_compared() =>
        {
            AfterHead::ReadAndFail(ACKED_LOST)
        }
        AfterHead::Read if request.range.is_some() && matches!(head.status, 200 | 206) && changed() => {
            AfterHead::ReadAndFail(OBJECT_CHANGED)
        }
        _ => judged,
    }
}

/// Returns the consumer of a successful response's body. `encoded` means that the user requested an encoding, so the
/// bytes differ from the object's bytes.
///
/// # Errors
/// Fails if the expected content or checksum of the body is not available.
#[inline]
fn body_sink<'p>(
    plan: &'p Plan,
    op: &Op<'_>,
    values: &HeaderValues,
    encoded: bool,
    key: &mut String,
) -> Result<BodySink<'p>, AttemptOutcome> {
    let request = &plan.mix.requests()[op.request];
    Ok(match &request.response_body {
        // S3 may report a failure in the body of a 200.
        ResponseBody::Discarded if !request.is_safe() && speaks_s3(plan) => BodySink::Error(Vec::new()),
        ResponseBody::Discarded => BodySink::Discard,
        ResponseBody::Hashed(wanted) => BodySink::Digest(Box::new(BodyDigest::begin(wanted, values)?)),
        ResponseBody::Gateway(_) if encoded || op.range.is_some() => BodySink::Discard,
        ResponseBody::Gateway(depth) => gateway_sink(plan, op, *depth)?,
        ResponseBody::Kept => BodySink::Keep(Vec::new()),
        ResponseBody::KeptList => BodySink::KeepList(Vec::new()),
        ResponseBody::Compared(content) => {
            let known = plan.targets.area().and_then(|area| area.read_key(op.subject, key));
            known.assert_some(HAS_OBJECT).ok_or(DEFECT)?;
            BodySink::Compare(content.object(key).verifier(op.range.map_or(0, ByteRange::first)))
        }
        ResponseBody::ComparedWithFiles(files) => {
            let first = op.range.map_or(0, ByteRange::first);
            let local = plan.targets.object_number(op.subject).and_then(|number| files.file(number));
            let local = local.assert_some(HAS_OBJECT).ok_or(DEFECT)?;
            BodySink::CompareFile(Box::new(FileVerifier::open(local, first)?))
        }
    })
}

/// Returns the check of a gateway's response for the operation's target.
fn gateway_sink<'p>(plan: &Plan, op: &Op<'_>, depth: Depth) -> Result<BodySink<'p>, AttemptOutcome> {
    const UNVERIFIABLE: AttemptOutcome =
        AttemptOutcome::failed(AttemptClass::Unexpected, Cause::Unverifiable, Phase::Head);
    let request = plan.targets.target(op.subject).and_then(GatewayRequest::from_target).ok_or(UNVERIFIABLE)?;
    let check = Check::new(request, depth).map_err(|fault| failure_outcomes::of_gateway(&fault))?;
    Ok(check.map_or(BodySink::Discard, |check| BodySink::Gateway(Box::new(check))))
}
