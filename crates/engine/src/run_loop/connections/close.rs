//! The release of a connection at the end of an attempt. The connection is kept for the next attempt, or closed.

use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::Reuse;
use crate::run_loop::attempt::exchange::{ExchangeId, State};
use crate::run_loop::connections::transport::Received;
use measure::Instant;

impl<N: Network> RunLoop<'_, N> {
    /// Releases the connection or stream of an ended attempt.
    pub(in crate::run_loop) fn release(&mut self, net: &mut N, id: ExchangeId, reuse: Reuse) {
        match (id, reuse) {
            (ExchangeId::Stream(token), _) => self.release_stream(net, token),
            (ExchangeId::Connection(token), Reuse::Close) => self.close(net, token),
            (ExchangeId::Connection(_), Reuse::Keep) => {
                if let Some(exchange) = self.pool.running(id) {
                    exchange.state = State::Idle;
                    exchange.deadline = Instant::NEVER;
                    self.pool.put_idle(id);
                }
            }
        }
    }

    /// Closes a connection, unless it is closed already.
    pub(in crate::run_loop) fn close(&mut self, net: &mut N, token: Token) {
        self.pool.end_forecast(token, None);
        let Some(mut connection) = self.pool.connections.remove(token) else { return };
        let exchange = &connection.exchange;
        // A part of the next response proves that the connection stayed open after the previous response.
        let used = exchange.state == State::Active && !exchange.reader.is_untouched();
        if let Some(before) = exchange.kept_for.filter(|_| used) {
            self.recorder.kept_alive(before);
        }
        if !exchange.closing {
            let transport = &mut connection.transport;
            let goaway = connection.http2.as_deref_mut().map_or(0, |http2| {
                http2.session.close();
                http2.session.with_output(|output| transport.send(net, output)).map_or(0, |wire| wire.sent)
            });
            let sent = goaway + transport.send_close(net);
            self.recorder.sent(sent as u64);
        }
        net.closed(connection.transport.into_socket());
    }

    /// Records that a response is complete. A complete response shows that its connection stayed open after the
    /// previous response. `kept` means that the connection is left open again.
    #[inline]
    pub(in crate::run_loop) fn note_kept(&mut self, id: ExchangeId, kept: bool) {
        let Some(exchange) = self.pool.running(id) else { return };
        let Some(op) = self.slots.op(exchange.slot) else { return };
        let before = std::mem::replace(&mut exchange.kept_for, kept.then_some(op.intended));
        if let Some(before) = before {
            self.recorder.kept_alive(before);
        }
    }

    /// Counts, at the end of the run, the connections that stayed open after their last response.
    pub(in crate::run_loop) fn count_kept(&mut self, net: &mut N) {
        let exchanges = self.pool.exchanges();
        let idle = exchanges.filter(|(_, it)| it.state == State::Idle && it.kept_for.is_some());
        let idle: Vec<ExchangeId> = idle.map(|(id, _)| id).collect();
        for id in idle {
            if let ExchangeId::Connection(token) = id {
                // The server may have closed the connection.
                self.check_idle(net, token);
            }
            if let Some(before) = self.pool.exchange_mut(id).and_then(|exchange| exchange.kept_for.take()) {
                self.recorder.kept_alive(before);
            }
        }
    }

    /// Closes an idle connection if its peer closed it or sent bytes without a request. Often, there is nothing to
    /// read, because the bytes that made the socket readable were already read with the last response.
    pub(in crate::run_loop) fn check_idle(&mut self, net: &mut N, token: Token) {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return };
        let unusable = if connection.transport.is_tls() {
            self.is_unusable_tls(net, token)
        } else {
            !matches!(connection.transport.recv(net, &mut self.buffers.receive[..1]), Received::Nothing)
        };
        if unusable {
            self.close(net, token);
        }
    }
}
