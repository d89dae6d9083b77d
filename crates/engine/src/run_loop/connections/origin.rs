//! The state of an origin in one thread: request templates, addresses and free connections.

use super::addresses::Addresses;
use super::stream_forecast::StreamForecast;
use crate::plan::Plan;
use crate::run_loop::attempt::exchange::ExchangeId;
use crate::run_loop::request::template::RequestTemplate;
use measure::sample::LabelId;
use std::collections::VecDeque;
use wire::url::Origin;

/// The connections of one thread to one origin.
#[derive(Debug)]
pub(in crate::run_loop) struct OriginPool {
    pub origin: Origin,
    /// One template for each request of the plan's mix.
    pub templates: Vec<RequestTemplate>,
    pub addresses: Addresses,
    /// Expected streams of connections that are being opened, for plans with HTTP/2.
    pub forecast: Option<StreamForecast>,
    /// Number of operations in flight whose object is at this origin.
    pub in_flight: u32,
    pub label: LabelId,
    /// Free connections and streams. The most recently used connection or stream is at the end. Some may already be
    /// closed.
    pub(super) idle: Vec<ExchangeId>,
    /// Slots that wait for a connection, oldest first.
    pub waiting: VecDeque<u32>,
}

impl OriginPool {
    /// Returns an origin without connections. `trusted` means that the user named this origin. Credentials are sent
    /// only to trusted origins.
    pub fn new(plan: &Plan, origin: Origin, trusted: bool, label: LabelId) -> Self {
        let requests = plan.mix.requests().iter();
        Self {
            templates: requests.map(|request| RequestTemplate::new(plan, request, &origin, trusted)).collect(),
            addresses: Addresses::new(plan, &origin),
            forecast: StreamForecast::new(plan),
            in_flight: 0,
            origin,
            label,
            idle: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Returns whether the connections that are being opened will probably have a stream for one more attempt, in
    /// addition to the waiting attempts.
    pub fn stream_is_coming(&self) -> bool {
        self.streams_coming() > self.waiting.len()
    }

    /// Returns the number of streams that waiting attempts can probably use on the connections that are being opened.
    pub fn streams_coming(&self) -> usize {
        self.forecast.as_ref().map_or(0, StreamForecast::coming)
    }

    /// Returns whether connections to this origin are multiplexed, as far as this is known.
    pub fn multiplexes(&self) -> bool {
        self.forecast.as_ref().is_some_and(StreamForecast::multiplexes)
    }
}
