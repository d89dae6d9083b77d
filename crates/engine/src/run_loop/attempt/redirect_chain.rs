//! The requests of an operation that was redirected.

use measure::sample::HopSample;
use wire::url::Url;

/// Target of a redirect.
#[derive(Debug)]
pub(in crate::run_loop) struct RedirectTarget {
    pub url: Url,
    pub origin: usize,
    /// `true` if the redirect must not be followed to a private address.
    pub only_public: bool,
    /// Hashes of the URLs that this request has already visited, to detect a loop.
    pub visited: Vec<u64>,
}

/// The requests of an operation that was redirected, in order.
#[derive(Debug, Default)]
pub(in crate::run_loop) struct RedirectChain {
    pub hops: Vec<HopSample>,
    /// Number of attempts before the first redirect. These attempts failed because their kept-alive connection was
    /// stale. These attempts are not in `hops`.
    attempts_before: u64,
    /// Number of bytes that the attempts in `attempts_before` received.
    bytes_before: u64,
}

impl RedirectChain {
    /// Returns the chain of an operation whose first redirect has just arrived. The redirect is the response to attempt
    /// number `attempts` of the operation.
    pub fn begin(attempts: u32, bytes_before: u64) -> Self {
        Self { hops: Vec::new(), attempts_before: u64::from(attempts).saturating_sub(1), bytes_before }
    }

    /// Adds an attempt at a position of the chain. A resent request has the same position as the original one.
    pub fn add(&mut self, position: u16, mut hop: HopSample) {
        match self.hops.get_mut(usize::from(position)) {
            Some(before) => {
                hop.sent = before.sent.or(hop.sent);
                hop.attempts += before.attempts;
                hop.opened += before.opened;
                hop.body_bytes += before.body_bytes;
                hop.overhead_bytes += before.overhead_bytes;
                *before = hop;
            }
            None => {
                hop.attempts += std::mem::take(&mut self.attempts_before);
                hop.overhead_bytes += std::mem::take(&mut self.bytes_before);
                self.hops.push(hop);
            }
        }
    }
}
