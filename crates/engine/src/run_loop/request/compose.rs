//! The parts of each request that its template does not contain: target, range, session, body and signature.

use super::body_fields::{BodyFacts, push_body_fields, push_framing};
use super::fields::Fields;
use super::sign::{Signing, sign};
use super::template::RequestTemplate;
use super::upload::{CONTINUE_WAIT, Frame, Upload, digest};
use crate::plan::{Auth, Plan};
use crate::run_loop::invariant::Invariant;
use crate::run_loop::operation::op::Op;
use measure::Instant;
use std::io;
use wire::sigv4::{Signer, Timestamp};

/// Composer of one thread's requests. The composer keeps the last composed request until that request is encoded.
#[derive(Debug)]
pub(in crate::run_loop) struct RequestWriter {
    signer: Option<Signer>,
    /// Header fields of the sessions of this thread's slots. Slot n uses the n-th entry. After the last entry, the
    /// first entry is used again.
    sessions: Box<[Fields]>,
    /// Wall time at the start of the run, computed from the last reading of the wall clock. The times of signatures are
    /// computed from this value.
    wall: Timestamp,
    /// Path and query of the request.
    target: String,
    /// Fields of the request that its template does not contain.
    fields: Fields,
    /// A buffer for the key of an object.
    pub key: String,
}

impl RequestWriter {
    /// Returns the composer for thread `thread` of `threads`, in a run that starts at wall time `wall`.
    pub fn new(plan: &Plan, thread: u32, threads: u32, wall: Timestamp) -> Self {
        let (signer, sessions) = match &plan.auth {
            Auth::None | Auth::S3Anonymous => (None, Box::default()),
            Auth::S3 { signer, .. } => (Some(Signer::clone(signer)), Box::default()),
            Auth::Session(sessions) => (None, sessions.lines_of(thread, threads).map(session_fields).collect()),
        };
        let (target, key) = (String::new(), String::new());
        Self { signer, sessions, wall, target, fields: Fields::default(), key }
    }

    /// Sets the wall time at `now`, in seconds since 1970. During a long run, the wall clock may be set, or the host
    /// may be suspended. Servers refuse signatures with a wrong time.
    pub fn set_wall_clock(&mut self, now: Instant, seconds: u64) {
        let passed = now.nanos_since(Instant::ZERO) / 1_000_000_000;
        self.wall = Timestamp::from_unix_seconds(seconds.saturating_sub(passed));
    }

    /// Returns the wall time at `now`, in seconds since 1970.
    pub fn unix_seconds(&self, now: Instant) -> u64 {
        self.wall.unix_seconds() + now.nanos_since(Instant::ZERO) / 1_000_000_000
    }

    /// Returns the path and query of the last composed request.
    #[inline]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns the fields of the last composed request that are not in its template.
    #[inline]
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Composes the next request of `op` and returns its body, if it has one.
    ///
    /// # Errors
    /// Fails if the body cannot be read to compute its hash, or if the request cannot be signed.
    #[inline]
    pub fn compose(
        &mut self,
        plan: &Plan,
        op: &Op<'_>,
        template: &RequestTemplate,
        slot: u32,
        now: Instant,
    ) -> io::Result<Option<Box<Upload>>> {
        self.write_target(plan, op);
        self.fields.clear();
        if let Some(range) = op.range {
            self.fields.push_with("Range", |out| range.write_to(out));
        }
        if template.sends_session && !self.sessions.is_empty() {
            self.fields.extend(&self.sessions[slot as usize % self.sessions.len()]);
        }
        let body = plan.mix.requests()[op.request].body.as_ref();
        if body.is_none() && template.signed.is_none() {
            return Ok(None);
        }
        self.compose_body(plan, op, template, now)
    }

    #[inline]
    fn write_target(&mut self, plan: &Plan, op: &Op<'_>) {
        self.target.clear();
        if let Some(redirect) = &op.redirect {
            return self.target.push_str(redirect.url.target());
        }
        let request = &plan.mix.requests()[op.request];
        match &request.path {
            Some(path) => self.target.push_str(path),
            None => plan.targets.write_path(op.subject, &mut self.key, &mut self.target),
        }
        let query = request.query.as_deref();
        let mut mark = if self.target.contains('?') { '&' } else { '?' };
        for part in query.into_iter().chain(op.pages.next.as_deref()) {
            self.target.push(mark);
            self.target.push_str(part);
            mark = '&';
        }
    }

    fn compose_body(
        &mut self,
        plan: &Plan,
        op: &Op<'_>,
        template: &RequestTemplate,
        now: Instant,
    ) -> io::Result<Option<Box<Upload>>> {
        let time = Timestamp::from_unix_seconds(self.unix_seconds(now));
        let Self { signer, target, fields, key, .. } = self;
        let mut source = plan.mix.requests()[op.request].body.as_ref().map(|body| op.body_source(plan, body, key));
        let body = source.as_ref().map(|source| {
            let bytes = source.size();
            // A request without content must not have `Expect: 100-continue` (RFC 9110 §10.1.1). An empty body does not
            // count as content.
            let expect_continue = source.body.expect_continue && !op.expectation_failed && bytes > 0;
            let md5 = op.batch.as_ref().map(|batch| batch.md5.as_ref());
            BodyFacts { plan: source.body, bytes, expect_continue, md5 }
        });
        let bytes = body.as_ref().map_or(0, |body| body.bytes);
        let mut digest_body = || match &mut source {
            Some(source) => {
                let mut whole = Upload::new(bytes, Frame::Length, None);
                digest(|piece| whole.next_piece(source, piece, 0))
            }
            None => digest(|_| Ok(false)),
        };
        let frame = match (&plan.auth, &template.signed, signer) {
            (Auth::S3 { place, payload, .. }, Some(covered), Some(signer)) => {
                let signing = Signing { signer, place: *place, payload: *payload, now: time };
                sign(signing, covered, target, body.as_ref(), &mut digest_body, fields)?
            }
            _ => body.as_ref().map_or(Frame::Length, |body| {
                let frame = push_framing(body, fields);
                push_body_fields(body, fields);
                frame
            }),
        };
        let Some(body) = body else { return Ok(None) };
        let until = body.expect_continue.then(|| now + CONTINUE_WAIT);
        Ok(Some(Box::new(Upload::new(bytes, frame, until))))
    }
}

/// Returns the field in a header line. `line` has no line end.
fn session_fields(line: &str) -> Fields {
    let mut fields = Fields::default();
    if let Some((name, value)) = line.split_once(": ").assert_some("the line of a session is a header field") {
        fields.push(name, value.as_bytes());
    }
    fields
}
