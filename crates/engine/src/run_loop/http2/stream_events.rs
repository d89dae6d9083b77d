//! Events of a stream. An event is a part of the response, capacity for the request's body, or the end of the stream.

use super::streams::MULTIPLEXED;
use crate::http2_session::{Event, EventKind, Failure, Key};
use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::exchange::ExchangeId;
use crate::run_loop::attempt::failure_outcomes;
use crate::run_loop::invariant::Invariant;
use http::response::Parts;
use measure::{AttemptOutcome, Cause, Instant, Phase};
use wire::message::{Reading, Version};
use wire::response::Head;

impl<N: Network> RunLoop<'_, N> {
    /// Handles one event of a stream of `connection`.
    pub(super) fn handle_event(&mut self, net: &mut N, connection: Token, event: Event, now: Instant) {
        if !self.is_current(&event) {
            // These bytes were already taken from `unattributed` as content, but their exchange has ended in the
            // meantime. The bytes are added to `unattributed` again, so that they count as overhead.
            if let (EventKind::Body(bytes), Some(http2)) = (event.kind, self.pool.multiplexed(connection)) {
                http2.unattributed.add(bytes.len() as u64);
            }
            return;
        }
        let Event { owner: stream, kind, .. } = event;
        let id = ExchangeId::Stream(stream);
        match kind {
            EventKind::Head(head) => self.head_received(net, stream, &head, now),
            EventKind::Body(piece) => self.body_received(net, stream, &piece, now),
            EventKind::Interim(count) => {
                let Some(exchange) = self.pool.running(id) else { return };
                if let Some(reader) = exchange.reader.http2_mut() {
                    reader.set_interim(count);
                }
                if exchange.upload.as_ref().is_some_and(|upload| upload.awaits_continue()) {
                    self.continue_body(net, id, now);
                }
            }
            EventKind::Trailers(fields) => {
                if let Some(reader) = self.pool.running(id).and_then(|exchange| exchange.reader.http2_mut()) {
                    reader.set_trailers(*fields);
                }
            }
            EventKind::Capacity => self.send_pieces(net, stream, now),
            EventKind::End => {
                if let Some(http2) = self.pool.multiplexed(connection).assert_some(MULTIPLEXED) {
                    http2.responses += 1;
                }
                if let Some(stream) = self.pool.streams.existing_mut(stream) {
                    stream.key = None;
                    if let Some(reader) = stream.exchange.reader.http2_mut() {
                        reader.set_complete();
                    }
                }
                self.complete(net, id, 0, now);
            }
            EventKind::Failed(failure) => {
                if let Some(stream) = self.pool.streams.existing_mut(stream) {
                    stream.key = None;
                }
                self.stream_failed(net, connection, stream, failure, now);
            }
        }
    }

    fn head_received(&mut self, net: &mut N, stream: Token, head: &Parts, now: Instant) {
        let id = ExchangeId::Stream(stream);
        self.notes.clear_head();
        let Some(exchange) = self.pool.running(id) else { return };
        let Some(op) = self.slots.op_mut(exchange.slot) else { return };
        op.first_byte = Some(now);
        let Some(reader) = exchange.reader.http2_mut() else { return };
        let mut watch = self.notes.watch(self.plan, op, self.first_response.software_wanted());
        let fields = head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let status = head.status.as_u16();
        let read = Head::of_fields(Version::Http2, status, reader.kind, fields, &mut |name, value| {
            watch.add(name, value);
        });
        let matched = watch.matched;
        let stop = match read {
            Ok(head) => {
                reader.set_head(head);
                self.judge_head(id, matched)
            }
            Err(error) => Some(failure_outcomes::of_malformed(error, Phase::Head, false)),
        };
        match stop {
            Some(outcome) => self.cut(net, id, outcome, now),
            None => self.set_deadline(id, now + self.plan.timeouts.idle),
        }
    }

    fn body_received(&mut self, net: &mut N, stream: Token, piece: &[u8], now: Instant) {
        let id = ExchangeId::Stream(stream);
        let Some(exchange) = self.pool.running(id) else { return };
        if let Some(reader) = exchange.reader.http2_mut() {
            reader.add_body(piece.len() as u64);
        }
        let taken = self.slots.op_mut(exchange.slot).map_or(Ok(()), |op| op.body.take(piece));
        self.count_received(id, piece.len(), piece.len(), now);
        if let Err(fault) = taken {
            let outcome = self.notes.of_body_fault(fault);
            self.cut(net, id, outcome, now);
        } else if self.is_too_long(id) {
            self.cut_too_long(net, id, now);
        } else {
            self.set_deadline(id, now + self.plan.timeouts.idle);
        }
    }

    fn stream_failed(&mut self, net: &mut N, connection: Token, stream: Token, failure: Failure, now: Instant) {
        let id = ExchangeId::Stream(stream);
        let Some(exchange) = self.pool.running(id) else { return };
        let reading = exchange.reader.phase();
        let phase = if reading == Reading::Head { Phase::Head } else { Phase::Body };
        let truncated = exchange.reader.end_of_stream().err();
        let http2 = self.pool.multiplexed(connection).assert_some(MULTIPLEXED);
        let lost = http2.and_then(|http2| http2.lost.clone());
        if let (Failure::Closed, Some(lost)) = (failure, lost) {
            let cause = match (lost.cause, phase) {
                (Some(cause), _) => cause,
                (None, Phase::Head) => Cause::ResetInHead,
                (None, _) => Cause::ResetInBody,
            };
            self.notes.set_detail(lost.detail.as_bytes());
            let outcome = self.of_lost(id, AttemptOutcome::failed(lost.class, cause, phase));
            return self.cut_or_resend(net, id, outcome, now);
        }
        self.notes.set_detail(failure.detail().unwrap_or_default().as_bytes());
        let unknown_peer = |_: fn(&[u8]) -> bool| false;
        match failure {
            Failure::Refused | Failure::AboveGoaway => {
                let outcome = failure_outcomes::of_stream(failure, phase, unknown_peer);
                self.resend_unprocessed(net, id, outcome, now);
            }
            Failure::Closed => {
                let outcome = truncated.map_or_else(
                    || failure_outcomes::of_stream(failure, phase, unknown_peer),
                    failure_outcomes::of_truncated,
                );
                self.cut_or_resend(net, id, outcome, now);
            }
            _ => {
                let begins = |test: fn(&[u8]) -> bool| {
                    let http2 = self.pool.connections.get(connection).and_then(|it| it.http2.as_deref());
                    http2.is_some_and(|http2| http2.session.begins_with(test))
                };
                let outcome = failure_outcomes::of_stream(failure, phase, begins);
                let outcome = self.of_no_response(id, outcome);
                self.cut(net, id, outcome, now);
            }
        }
    }

    /// Returns the connection and the key of a stream; `None` if the stream has ended.
    pub(super) fn open_key(&self, stream: Token) -> Option<(Token, Key)> {
        let stream = self.pool.streams.get(stream)?;
        Some((stream.connection, stream.key?))
    }
}
