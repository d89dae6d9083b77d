//! Expected number of streams on the connections that are being opened to an origin.

use crate::http2_session::REQUESTS_MAX;
use crate::plan::Plan;

/// Forecast of HTTP/2 streams at an origin. If a connection that is being opened will probably have free streams,
/// attempts wait for this connection and open no other one. The slots therefore open only as many connections as they
/// need.
///
/// Invariant: `opening` is the number of connections of the origin whose `forecast` is set.
#[derive(Debug)]
pub(in crate::run_loop) struct StreamForecast {
    /// Number of streams that the plan requests on a connection.
    wanted: usize,
    /// Number of streams of a connection that one thread can have open at the same time.
    pub at_once: u32,
    /// Maximum number of requests on a connection.
    pub requests_max: u64,
    /// Number of streams that a new connection is expected to have.
    expected: usize,
    /// `true` if the most recently opened connection is multiplexed, as far as this is known.
    multiplexes: bool,
    /// Number of connections that are being opened.
    opening: usize,
}

impl StreamForecast {
    /// Returns the forecast before the first connection; `None` for plans without HTTP/2.
    pub fn new(plan: &Plan) -> Option<Self> {
        let http2 = plan.connections.http2.as_ref()?;
        let allowed = plan.connections.requests_max.map_or(REQUESTS_MAX, |most| most.get().min(REQUESTS_MAX));
        let requests_max = if plan.http.keep_alive { allowed } else { 1 };
        let wanted = requests_max.min(u64::from(http2.streams.get())) as usize;
        let slots = plan.load.in_flight_max().div_ceil(u64::from(plan.threads_used()));
        let at_once = slots.min(wanted as u64) as u32;
        Some(Self { wanted, at_once, requests_max, expected: wanted, multiplexes: true, opening: 0 })
    }

    /// Returns whether connections to the origin are multiplexed, as far as this is known.
    pub fn multiplexes(&self) -> bool {
        self.multiplexes
    }

    /// Returns how many more attempts will probably find a stream on the connections that are being opened. Each of
    /// these connections is opened for an attempt, and these attempts are not included.
    pub fn coming(&self) -> usize {
        self.opening * (self.expected - 1)
    }

    /// Returns how many streams to use on a connection whose peer allows `allowed` streams.
    pub fn usable(&self, allowed: usize) -> usize {
        allowed.min(self.wanted)
    }

    /// Counts a connection that is being opened.
    pub fn begin(&mut self) {
        self.opening += 1;
    }

    /// Records that a connection is no longer being opened. `counted` means that [`Self::begin`] counted the
    /// connection. `streams` is the number of streams of the connection, if known.
    pub fn end(&mut self, counted: bool, streams: Option<usize>) {
        self.opening -= usize::from(counted);
        self.expected = streams.unwrap_or(self.expected).clamp(1, self.wanted);
        self.multiplexes |= streams.is_some_and(|streams| streams > 1);
    }

    /// Records that the server chose HTTP/1.1.
    pub fn set_single(&mut self) {
        self.multiplexes = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_wait_for_as_many_streams_as_are_expected() {
        let mut forecast =
            StreamForecast { wanted: 10, at_once: 10, requests_max: 100, expected: 10, multiplexes: true, opening: 0 };
        assert_eq!(forecast.coming(), 0);
        forecast.begin();
        forecast.begin();
        assert_eq!(forecast.coming(), 18);
        forecast.end(true, Some(4));
        assert_eq!(forecast.coming(), 3);
        forecast.end(true, None);
        forecast.end(false, Some(1));
        assert_eq!((forecast.coming(), forecast.usable(100), forecast.usable(3)), (0, 10, 3));
        forecast.set_single();
        assert!(!forecast.multiplexes());
        forecast.end(false, Some(2));
        assert!(forecast.multiplexes());
    }
}
