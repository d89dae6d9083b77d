//! Examples of failures. Reports show these examples next to the counts of failures.

use crate::network::Network;
use crate::run_loop::RunLoop;
use measure::{AttemptOutcome, Example, Instant};

impl<N: Network> RunLoop<'_, N> {
    /// Keeps the failed attempt of a slot as an example.
    pub(super) fn keep_example(&mut self, slot: u32, outcome: AttemptOutcome, now: Instant) {
        let Some(op) = self.slots.op(slot) else { return };
        let exchange = op.attempt.exchange.and_then(|id| self.pool.exchange(id));
        let url = match &op.redirect {
            Some(redirect) => redirect.url.to_string(),
            None => self.url_of(op),
        };
        self.recorder.example(Example {
            outcome,
            at: now,
            url,
            address: exchange.map(|exchange| exchange.address.to_string()),
            status: exchange.and_then(|exchange| exchange.reader.head()).map(|head| head.status),
            detail: self.notes.explain(outcome),
        });
    }
}
