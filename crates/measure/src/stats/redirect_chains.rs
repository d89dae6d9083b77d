//! Redirected operations, request by request.
//!
//! The response time of a redirected operation is the sum of the times of its requests. The time of each request has
//! two parts, the time before sending and the time from sending to the end of the response. There are no gaps between
//! the parts, so the parts add up to exactly the response time. The accounting checks this sum
//! ([`crate::result::accounting`]). Operations without a redirect are not counted here.

use super::label::Label;
use crate::values::{Distribution, add, bounded};
use serde::{Deserialize, Serialize};

/// Number of positions with a separate row. Later positions are counted in the row of the last position.
pub(crate) const POSITIONS: u8 = 16;
/// Maximum number of rows with named hosts. Further hosts are counted as [`Label::Other`].
const ROWS_MAX: usize = 256;
/// Maximum number of rows in a record. There are [`ROWS_MAX`] rows, and one row of other hosts for each position.
const ROWS_IN_RECORD: usize = ROWS_MAX + POSITIONS as usize;

/// Requests of all redirected operations that had the same position and went to the same host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HopStats {
    /// Number of redirects before the request. The number is 0 for the first request of an operation, and 15 for 15 or
    /// more redirects.
    pub position: u8,
    /// Host to which the requests were sent.
    pub host: Label,
    /// Number of attempts.
    pub attempts: u64,
    /// Number of attempts whose response was a redirect that the client followed.
    pub redirects: u64,
    /// Number of connections opened for these requests.
    pub opened: u64,
    /// Body bytes received.
    pub body_bytes: u64,
    /// Bytes of heads and framing received.
    pub overhead_bytes: u64,
    /// Time before the requests were sent, for operations that succeeded, in nanoseconds. This time starts at the end
    /// of the previous response or, for the first request, at the operation's intended start.
    pub until_sent_nanos: u64,
    /// Time from sending to the end of the response, for operations that succeeded, in nanoseconds.
    pub service: Distribution,
}

impl HopStats {
    /// Returns empty results.
    #[must_use]
    pub fn new(position: u8, host: Label) -> Self {
        Self {
            position,
            host,
            attempts: 0,
            redirects: 0,
            opened: 0,
            body_bytes: 0,
            overhead_bytes: 0,
            until_sent_nanos: 0,
            service: Distribution::default(),
        }
    }

    /// Adds the results of `other`. This row must be the row that counts requests with the position and the host of
    /// `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self {
            position: _,
            host: _,
            attempts,
            redirects,
            opened,
            body_bytes,
            overhead_bytes,
            until_sent_nanos,
            service,
        } = other;
        add(&mut self.attempts, *attempts);
        add(&mut self.redirects, *redirects);
        add(&mut self.opened, *opened);
        add(&mut self.body_bytes, *body_bytes);
        add(&mut self.overhead_bytes, *overhead_bytes);
        add(&mut self.until_sent_nanos, *until_sent_nanos);
        self.service.merge(service);
    }

    /// Returns the time that these requests add to response times, before and after sending, in nanoseconds.
    #[must_use]
    pub fn nanos(&self) -> u128 {
        self.service.moments().sum.saturating_add(u128::from(self.until_sent_nanos))
    }
}

/// Operations with at least one redirect that the client followed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RedirectChains {
    /// Number of operations.
    pub ops: u64,
    /// Number of operations that succeeded. All times include successful operations only.
    pub ok: u64,
    /// Attempts of all operations.
    pub attempts: u64,
    /// Largest number of redirects that one operation followed.
    pub hops_max: u64,
    /// Response times of the operations that succeeded, in nanoseconds.
    pub response: Distribution,
    /// Service times of the operations that succeeded, in nanoseconds.
    pub service: Distribution,
    /// Time for which these operations waited for responses that were redirects, in nanoseconds.
    pub redirect_nanos: u64,
    /// Time from the end of each redirect until the next request was sent (name lookup, connection, TLS), in
    /// nanoseconds.
    pub reach_nanos: u64,
    /// Body bytes of the redirects of all operations.
    pub redirect_body_bytes: u64,
    /// Bytes of heads and framing of the redirects of all operations.
    pub redirect_overhead_bytes: u64,
    /// Requests of the same operations, by position and host.
    #[serde(deserialize_with = "bounded::list::<_, _, ROWS_IN_RECORD>")]
    pub rows: Vec<HopStats>,
}

impl RedirectChains {
    /// Adds the results of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            ops,
            ok,
            attempts,
            hops_max,
            response,
            service,
            redirect_nanos,
            reach_nanos,
            redirect_body_bytes,
            redirect_overhead_bytes,
            rows,
        } = other;
        add(&mut self.ops, *ops);
        add(&mut self.ok, *ok);
        add(&mut self.attempts, *attempts);
        self.hops_max = self.hops_max.max(*hops_max);
        self.response.merge(response);
        self.service.merge(service);
        add(&mut self.redirect_nanos, *redirect_nanos);
        add(&mut self.reach_nanos, *reach_nanos);
        add(&mut self.redirect_body_bytes, *redirect_body_bytes);
        add(&mut self.redirect_overhead_bytes, *redirect_overhead_bytes);
        for row in rows {
            self.row_mut(row.position, &row.host).merge(row);
        }
    }

    /// Returns `nanos` as a share of the response times of the operations that succeeded, in 0..=1; `None` if no
    /// operation succeeded.
    #[must_use]
    pub fn share(&self, nanos: u128) -> Option<f64> {
        let whole = self.response.moments().sum;
        (whole > 0).then(|| nanos as f64 / whole as f64)
    }

    /// Returns the row of a position and host. Creates the row if it does not exist yet. If there are too many rows,
    /// returns the row of other hosts.
    pub(crate) fn row_mut(&mut self, position: u8, host: &Label) -> &mut HopStats {
        let position = position.min(POSITIONS - 1);
        let find =
            |rows: &[HopStats], host: &Label| rows.iter().position(|row| row.position == position && row.host == *host);
        let full = self.rows.len() >= ROWS_MAX;
        let found = find(&self.rows, host);
        let found = found.or_else(|| if full { find(&self.rows, &Label::Other) } else { None });
        let index = found.unwrap_or_else(|| {
            self.rows.push(HopStats::new(position, if full { Label::Other } else { host.clone() }));
            self.rows.len() - 1
        });
        &mut self.rows[index]
    }
}
