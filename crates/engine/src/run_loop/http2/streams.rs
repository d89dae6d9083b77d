//! The streams of multiplexed connections. This module adds, opens and releases streams.
//!
//! A connection has as many streams as the plan and the peer allow. Free streams are in the same list as the free
//! connections of their origin. An attempt uses a stream in the same way as an HTTP/1 connection.

use super::multiplexed::Multiplexed;
use crate::http2_session::{FRAME_BYTES_MAX, Session};
use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::Reuse;
use crate::run_loop::attempt::exchange::{ExchangeId, State};
use crate::run_loop::attempt::failure_outcomes;
use crate::run_loop::invariant::Invariant;
use crate::tls;
use crate::unattributed::Unattributed;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};
use wire::response::RequestKind;
use wire::url::Scheme;

/// Invariant that debug builds check for connections with streams.
pub(in crate::run_loop) const MULTIPLEXED: &str = "the connection of a stream is open and multiplexed";
/// Invariant that debug builds check for origins with multiplexed connections.
const PLANNED: &str = "HTTP/2 is only used where it is planned";

const SESSION_DEFECT: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Internal, Cause::Defect, Phase::Connect);
const REQUEST_DEFECT: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Internal, Cause::Defect, Phase::Send);

impl<N: Network> RunLoop<'_, N> {
    /// Returns whether a connection that is ready for requests uses HTTP/2. With TLS, ALPN decides this. Without TLS, a
    /// setting of the plan decides this.
    pub(in crate::run_loop) fn speaks_http2(&self, token: Token) -> bool {
        let Some(connection) = self.pool.connections.existing(token) else { return false };
        let origin = &self.pool.origins[connection.exchange.origin];
        origin.forecast.is_some()
            && match connection.transport.tls() {
                Some(session) => session.connection().alpn_protocol() == Some(b"h2"),
                None => origin.origin.scheme == Scheme::Http,
            }
    }

    /// Makes a connection multiplexed. The attempt for which the connection was opened uses the first stream.
    pub(in crate::run_loop) fn multiplex(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return };
        let slot = connection.exchange.slot;
        let forecast = self.pool.origins[connection.exchange.origin].forecast.as_ref().assert_some(PLANNED);
        let session = Session::new(forecast.map_or(1, |forecast| forecast.at_once));
        let Some(session) = session.assert_some("an HTTP/2 session can be created") else {
            return self.unreached(net, slot, SESSION_DEFECT, now);
        };
        let record_bytes_max = if connection.transport.is_tls() { tls::RECORD_BYTES_MAX } else { 0 };
        let mut unattributed = Unattributed::new(FRAME_BYTES_MAX + record_bytes_max);
        unattributed.add(connection.transport.take_unattributed());
        connection.exchange.state = State::Multiplexed;
        connection.exchange.deadline = Instant::NEVER;
        connection.http2 = Some(Box::new(Multiplexed::new(session, unattributed, now)));
        if let Some(stream) = self.add_stream(token) {
            let id = ExchangeId::Stream(stream);
            if let Some(exchange) = self.pool.running(id) {
                exchange.slot = slot;
            }
            self.send_request(net, id, now);
        }
    }

    /// Adds a free stream to a connection, but not to the origin's list of free streams.
    fn add_stream(&mut self, token: Token) -> Option<Token> {
        let stream = self.pool.connections.existing(token)?.idle_stream(token);
        let place = self.pool.streams.reserve();
        self.pool.streams.insert(place, stream);
        self.pool.multiplexed(token).assert_some(MULTIPLEXED)?.streams.push(place);
        Some(place)
    }

    /// Adds as many streams as the plan and the peer allow. Until the peer has sent its settings, only one stream is
    /// allowed.
    pub(in crate::run_loop) fn add_streams(&mut self, token: Token) {
        let Some(connection) = self.pool.connections.existing(token) else { return };
        // A connection that accepts no more requests gets no streams.
        let http2 = connection.http2.as_ref().assert_some(MULTIPLEXED);
        let Some(http2) = http2.filter(|http2| !http2.retiring) else { return };
        let forecast = self.pool.origins[connection.exchange.origin].forecast.as_ref();
        let Some(forecast) = forecast.assert_some(PLANNED) else { return };
        let usable = forecast.usable(http2.session.streams_allowed());
        let is_forecast_over = connection.forecast && http2.session.has_settings();
        for _ in http2.streams.len()..usable {
            let Some(stream) = self.add_stream(token) else { return };
            self.pool.put_idle(ExchangeId::Stream(stream));
        }
        if is_forecast_over {
            self.pool.end_forecast(token, Some(usable));
        }
    }

    /// Sends the request of a stream's attempt.
    pub(in crate::run_loop) fn open_stream(&mut self, net: &mut N, token: Token, now: Instant) {
        let id = ExchangeId::Stream(token);
        let Some(stream) = self.pool.streams.existing(token) else { return };
        let (connection, slot, origin) = (stream.connection, stream.exchange.slot, stream.exchange.origin);
        let Some(op) = self.slots.op_mut(slot) else { return };
        op.attempt.exchange = Some(id);
        let template = &self.pool.origins[origin].templates[op.request];
        let mut upload = match self.requests.compose(self.plan, op, template, slot, now) {
            Ok(upload) => upload,
            Err(error) => return self.request_failed(net, id, &error, now),
        };
        if let Some(upload) = &mut upload {
            upload.remove_chunks();
        }
        let is_head = self.plan.mix.requests()[op.request].method.as_ref() == "HEAD";
        let fixed = template.http2.as_ref();
        let request = fixed.and_then(|fixed| fixed.request(self.requests.target(), self.requests.fields()));
        let Some(request) = request else {
            debug_assert!(false, "a request cannot be sent with HTTP/2: {}", self.requests.target());
            return self.cut(net, id, REQUEST_DEFECT, now);
        };
        let has_body = upload.is_some();
        let http2 = self.pool.multiplexed(connection).assert_some(MULTIPLEXED);
        let opened = http2.and_then(|http2| http2.open(token, request, has_body));
        let Some((key, requests)) = opened else {
            // The connection accepts no more requests. Nothing was sent, so the same attempt uses another connection.
            if let Some(op) = self.slots.op_mut(slot) {
                op.attempt.exchange = None;
            }
            self.retire(net, connection);
            return self.find_connection(net, slot, now);
        };
        if let Some(stream) = self.pool.streams.existing_mut(token) {
            stream.key = Some(key);
            stream.exchange.reader.start(if is_head { RequestKind::Head } else { RequestKind::Other });
            stream.exchange.state = State::Active;
            stream.exchange.requests = requests;
            stream.exchange.upload = upload;
        }
        self.set_deadline(id, now + self.plan.timeouts.head);
        if has_body {
            self.expect_progress(id, now);
        }
        self.pool.send_later(connection);
        let http2 = self.pool.multiplexed(connection).assert_some(MULTIPLEXED);
        let requests = http2.map_or(0, |http2| http2.requests);
        let forecast = self.pool.origins[origin].forecast.as_ref();
        if forecast.is_some_and(|forecast| requests >= forecast.requests_max) {
            self.retire(net, connection);
        }
    }

    /// Releases the stream of an ended attempt. A stream that has not ended is reset. The connection remains usable.
    pub(in crate::run_loop) fn release_stream(&mut self, net: &mut N, token: Token) {
        let Some(stream) = self.pool.streams.existing_mut(token) else { return };
        let connection = stream.connection;
        let key = stream.key.take();
        let was_active = stream.exchange.state == State::Active;
        stream.exchange.state = State::Idle;
        stream.exchange.deadline = Instant::NEVER;
        if key.is_some() {
            self.pool.send_later(connection);
        }
        let Some(http2) = self.pool.multiplexed(connection).assert_some(MULTIPLEXED) else { return };
        http2.active -= usize::from(was_active);
        if let Some(key) = key {
            http2.session.cancel(key);
        }
        if !http2.retiring {
            return self.pool.put_idle(ExchangeId::Stream(token));
        }
        http2.streams.retain(|stream| *stream != token);
        let last = http2.active == 0;
        self.pool.streams.remove(token);
        if last {
            self.close(net, connection);
        }
    }

    /// Retires a connection, so that no more requests are sent on the connection. The free streams of the connection
    /// are removed. The connection is closed when its other streams have ended.
    pub(in crate::run_loop) fn retire(&mut self, net: &mut N, token: Token) {
        let http2 = self.pool.multiplexed(token).assert_some(MULTIPLEXED);
        let Some(http2) = http2.filter(|http2| !http2.retiring) else { return };
        http2.retiring = true;
        let (mut streams, active) = (std::mem::take(&mut http2.streams), http2.active);
        streams.retain(|stream| match self.pool.streams.get_mut(*stream) {
            Some(stream) if stream.exchange.state == State::Active => {
                stream.exchange.closing = true;
                true
            }
            _ => {
                self.pool.streams.remove(*stream);
                false
            }
        });
        self.pool.end_forecast(token, None);
        if let Some(http2) = self.pool.multiplexed(token).assert_some(MULTIPLEXED) {
            http2.streams = streams;
        }
        if active == 0 {
            self.close(net, token);
        }
    }

    /// Retires the connection of a timed-out stream if no byte has arrived on the connection since the stream's attempt
    /// began. Such a connection is considered dead.
    pub(in crate::run_loop) fn retire_if_silent(&mut self, net: &mut N, id: ExchangeId, since: Instant) {
        // An HTTP/1 connection has only one attempt, and the end of this attempt closes the connection.
        let ExchangeId::Stream(token) = id else { return };
        if let Some(connection) = self.pool.streams.existing(token).map(|stream| stream.connection)
            && self
                .pool
                .multiplexed(connection)
                .assert_some(MULTIPLEXED)
                .is_some_and(|http2| http2.last_received < since)
        {
            self.retire(net, connection);
        }
    }

    /// Ends an attempt whose request cannot be sent, because a file is missing or too short, or because signing failed.
    pub(in crate::run_loop) fn request_failed(
        &mut self,
        net: &mut N,
        id: ExchangeId,
        error: &std::io::Error,
        now: Instant,
    ) {
        self.notes.set_detail(error.to_string().as_bytes());
        let outcome = failure_outcomes::of_local_file(error, Phase::Send);
        let Some(slot) = self.pool.running(id).map(|exchange| exchange.slot) else { return };
        self.end_attempt(net, slot, outcome, Reuse::Close, now);
    }
}
