//! Output: responds to requests, from the decision about the response to its entry in the ledger.

use std::mem;
use std::net::SocketAddr;
use std::time::Duration;

use sys::Interest;
use wire::{BadRequest, Version};

use super::{AfterDelay, Connection, ConnectionState, Next};
use crate::content::Content;
use crate::decision::{Decision, decide};
use crate::lean_front::context::ThreadContext;
use crate::lean_front::owner_fetch::{FetchProgress, OwnerFetch};
use crate::lean_front::sender::{ResponseSender, SendProgress};
use crate::ledger::RequestRecord;
use crate::ledger::counters::{Completion, SentBytes, bounded_method, bounded_target};
use crate::request::RequestFacts;
use crate::response::{Response, bad_gateway, set_framing};

/// Time during which the server still reads input after it has closed its side. If the connection were closed with
/// unread input, the kernel would send a reset, which could destroy the response.
const LINGER: Duration = Duration::from_secs(1);

impl Connection {
    /// Responds to a complete request. Returns `None` if the response is sent and the next request may follow.
    pub(super) fn respond(&mut self, context: &mut ThreadContext) -> Option<Next> {
        let Some(head) = self.reader.head() else {
            debug_assert!(false, "a complete request has no head");
            return Some(Next::Close);
        };
        context.counters.request_body_bytes.add(self.reader.body_bytes());
        let facts = RequestFacts { received: self.reader.body_bytes(), fields: &self.fields };
        let mut decision = decide(&context.shared, head, &facts);
        let faults = context.shared.faults.next_request(head.range.is_some());
        if faults.error || faults.refused {
            decision = decision.refuse(&context.shared, head, faults.refused);
        }
        self.in_service = Some(faults.in_service);
        let (after_delay, requested_delay) = match decision {
            Decision::Respond(response, requested_delay) => (AfterDelay::Respond(response), requested_delay),
            Decision::Fetch(owner) => (AfterDelay::Fetch(owner), Duration::ZERO),
        };
        let delay = faults.delay.saturating_add(requested_delay);
        if !delay.is_zero() {
            self.state = ConnectionState::Delayed(after_delay);
            return Some(Next::Later(context.now.saturating_add(delay)));
        }
        match after_delay {
            AfterDelay::Respond(response) => self.start_response(response, context),
            AfterDelay::Fetch(owner) => self.fetch(owner, context),
        }
    }

    /// Responds to input that could not be parsed.
    pub(super) fn reject(&mut self, bad: BadRequest, context: &mut ThreadContext) -> Option<Next> {
        if self.reader.head().is_some() {
            // The request is already counted, because its head was valid. The rejection therefore counts as its
            // response.
            context.counters.request_body_bytes.add(self.reader.body_bytes());
        } else {
            context.counters.requests_malformed.add(1);
        }
        self.head_began = None;
        self.start_response(Response::to_malformed(bad), context)
    }

    /// Fetches the response from the object's owner.
    pub(super) fn fetch(&mut self, owner: SocketAddr, context: &mut ThreadContext) -> Option<Next> {
        let Some(head) = self.reader.head() else {
            debug_assert!(false, "a complete request has no head");
            return Some(Next::Close);
        };
        match OwnerFetch::begin(owner, head, self.fields.if_range.is_none(), &mut context.owner_connections) {
            Ok(fetch) => self.continue_fetch(Box::new(fetch), context),
            Err(_) => self.start_fetched(bad_gateway(), context),
        }
    }

    pub(super) fn continue_fetch(&mut self, mut fetch: Box<OwnerFetch>, context: &mut ThreadContext) -> Option<Next> {
        match fetch.drive() {
            FetchProgress::Waits(interest) => {
                self.state = ConnectionState::Fetching(fetch);
                Some(Next::Upstream(interest))
            }
            FetchProgress::Head(response) => {
                self.start_fetched(Response { content: Content::Source(fetch.into_body()), ..*response }, context)
            }
            FetchProgress::Failed => self.start_fetched(bad_gateway(), context),
        }
    }

    fn start_fetched(&mut self, response: Response, context: &mut ThreadContext) -> Option<Next> {
        let response = match self.reader.head() {
            Some(head) => set_framing(response, head, false),
            None => response,
        };
        self.start_response(response, context)
    }

    /// Begins to send a response.
    pub(super) fn start_response(&mut self, mut response: Response, context: &mut ThreadContext) -> Option<Next> {
        let last = context.shared.limits.close_after.is_some_and(|most| self.requests >= most.get());
        if !response.close && (last || context.shared.is_stopping()) {
            response.close = true;
            response.linger = true;
        }
        response.inject_body_faults(&context.shared.faults);
        let mut staged = mem::take(&mut context.scratch);
        staged.clear();
        let version = self.reader.head().map_or(Version::Http11, |head| head.version);
        context.heads.write(&response, version, context.now, &mut staged);
        let interim = mem::take(&mut self.interim);
        self.send(ResponseSender::new(response, staged, interim, context.shared.limits.rate, context.now), context)
    }

    /// Sends as much as the kernel accepts. Returns `None` if the response is sent and the next request may follow.
    pub(super) fn send(&mut self, mut sender: ResponseSender, context: &mut ThreadContext) -> Option<Next> {
        let before = sender.sent;
        let progress = sender.drive(&self.socket, &context.shared.pattern, context.now);
        if sender.sent != before {
            self.active = context.now;
        }
        let next = match progress {
            SendProgress::Done => return self.finish(sender, Completion::Complete, context),
            SendProgress::Cut => return self.finish(sender, Completion::Aborted, context),
            SendProgress::More => Next::Write,
            SendProgress::Later(instant) => Next::Later(instant),
            SendProgress::Pending => Next::Upstream(Interest::Read),
            SendProgress::Broken => Next::Close,
        };
        self.state = ConnectionState::Sending(sender);
        Some(next)
    }

    /// Finishes a response after its last byte was passed to the kernel, or after it broke off on purpose.
    fn finish(&mut self, sender: ResponseSender, completion: Completion, context: &mut ThreadContext) -> Option<Next> {
        self.count(&sender.response, sender.sent, completion, context);
        self.in_service = None;
        let cut = completion == Completion::Aborted;
        let (close, linger) = (sender.response.close || cut, sender.response.linger || cut);
        let (buffer, content) = sender.into_parts();
        context.scratch = buffer;
        if let Content::Source(source) = content
            && let Some((owner, socket)) = source.into_connection()
        {
            context.owner_connections.keep(owner, socket);
        }
        if !close {
            self.reader.start();
            self.fields.clear();
            return None;
        }
        self.state = ConnectionState::Lingering;
        if linger && !self.ended && self.socket.shutdown_write().is_ok() {
            self.pending.clear();
            return Some(Next::Later(context.now.saturating_add(LINGER)));
        }
        Some(Next::Close)
    }

    /// Counts the unfinished request and response of an abandoned connection.
    pub(in crate::lean_front) fn abandon(&mut self, context: &ThreadContext) {
        match mem::replace(&mut self.state, ConnectionState::Lingering) {
            ConnectionState::Delayed(AfterDelay::Respond(response)) => self.count_unsent(&response, context),
            ConnectionState::Delayed(AfterDelay::Fetch(_)) | ConnectionState::Fetching(_) => {
                self.count_unsent(&bad_gateway(), context);
            }
            ConnectionState::Sending(sender) => {
                self.count(&sender.response, sender.sent, Completion::Aborted, context);
            }
            ConnectionState::Reading if self.reader.head().is_some() && !self.reader.is_complete() => {
                context.counters.requests_cut.add(1);
                context.counters.stray_head_bytes(self.interim);
                context.counters.request_body_bytes.add(self.reader.body_bytes());
            }
            ConnectionState::Reading | ConnectionState::Lingering => {}
        }
        self.in_service = None;
        context.counters.connections_closed.add(1);
    }

    fn count_unsent(&self, response: &Response, context: &ThreadContext) {
        self.count(response, SentBytes { head: self.interim, body: 0 }, Completion::Aborted, context);
    }

    fn count(&self, response: &Response, sent: SentBytes, completion: Completion, context: &ThreadContext) {
        context.counters.count_response(response.status, completion, sent);
        context.shared.faults.note_sent(response.body_faults, response.body_length(), sent.body);
        let Some(left) = &context.shared.log_left else { return };
        let Some(head) = self.reader.head() else { return };
        context.counters.record(left, || RequestRecord {
            method: bounded_method(&head.method),
            target: bounded_target(&head.target),
            status: response.status,
            body_bytes_sent: sent.body,
            range: response.range(),
            complete: completion == Completion::Complete,
        });
    }
}
