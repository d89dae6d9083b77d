//! The requests of an operation that was redirected.

use measure::sample::HopSample;
use wire::url::Url;

/// The target of a redirect.
#[derive(Debug)]
pub(in crate::run_loop) struct RedirectTarget {
    pub url: Url,
    pub origin: usize,
    /// `true` if it must not be followed to an address that is not public.
    pub only_public: bool,
    /// A hash of each URL that this request was sent to before, to recognize a loop.
    pub visited: Vec<u64>,
}

/// The requests of an operation that was redirected, in order.
#[derive(Debug, Default)]
pub(in crate::run_loop) struct RedirectChain {
    pub hops: Vec<HopSample>,
    /// Attempts and bytes before the first redirect that are not in `hops`: a kept connection that was stale.
    attempts_before: u64,
    bytes_before: u64,
}

impl RedirectChain {
    /// Returns a chain whose first redirect is the operation's `attempts`-th attempt.
    pub fn begin(attempts: u16, bytes_before: u64) -> Self {
        Self { hops: Vec::new(), attempts_before: u64::from(attempts).saturating_sub(1), bytes_before }
    }

    /// Adds an attempt at a position. A resend has the position of the attempt that it repeats.
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
