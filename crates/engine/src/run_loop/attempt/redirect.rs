//! Following redirects. This module finds the target of a redirect, and decides which redirects are not followed.
//!
//! A server can redirect a client in circles, or from https to http. A server can also redirect the client into the
//! client's own network, to hosts that the server itself cannot access. Each of these cases has its own cause of
//! failure. The check for private addresses is applied after the name lookup, to the address of the connection. A
//! public name therefore cannot hide a private address.

use super::Reuse;
use super::exchange::ExchangeId;
use super::private_address::{is_private, is_private_host};
use super::redirect_chain::{RedirectChain, RedirectTarget};
use crate::network::{Address, Network};
use crate::plan::{Follow, ORIGINS_MAX, RedirectHosts, RedirectRule, RedirectRules, Route};
use crate::run_loop::RunLoop;
use crate::run_loop::connections::origin::OriginPool;
use crate::run_loop::invariant::Invariant;
use crate::run_loop::operation::op::Op;
use measure::sample::AttemptKind;
use measure::{AttemptClass, AttemptOutcome, Cause, Flag, Instant, Phase};
use std::hash::{DefaultHasher, Hash, Hasher};
use wire::response::Location;
use wire::url::{Scheme, Url, UrlError};

const NOT_FOLLOWED: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Http3xx, Cause::NotFollowed, Phase::Head);

fn failed(cause: Cause) -> AttemptOutcome {
    AttemptOutcome::failed(AttemptClass::Redirect, cause, Phase::Head)
}

fn denied(cause: Cause, phase: Phase) -> AttemptOutcome {
    AttemptOutcome::failed(AttemptClass::RedirectDenied, cause, phase)
}

const DEFECT: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Internal, Cause::Defect, Phase::Head);

impl<N: Network> RunLoop<'_, N> {
    /// Ends the slot's attempt, whose response is a redirect, and sends the request to the redirect's target.
    pub(super) fn follow_redirect(&mut self, net: &mut N, slot: u32, reuse: Reuse, now: Instant) {
        if self.is_multipart(slot) {
            // All requests of a multipart upload must go to one server.
            return self.end_last_attempt(net, slot, NOT_FOLLOWED, reuse, now);
        }
        let target = match self.redirect_target(slot) {
            Ok(target) => target,
            Err(outcome) => return self.end_last_attempt(net, slot, outcome, reuse, now),
        };
        if let Some(op) = self.slots.op_mut(slot) {
            op.attempt.flags.set(Flag::Followed);
            let (attempts, received) = (op.attempts, op.received_before);
            op.chain.get_or_insert_with(|| Box::new(RedirectChain::begin(attempts, received)));
        }
        let wasted = self.record_attempt(net, slot, AttemptOutcome::OK, reuse, now);
        self.recorder.wasted(wasted);
        if let Some(op) = self.slots.op_mut(slot) {
            op.redirects += 1;
            op.redirect = Some(Box::new(target));
        }
        self.begin_attempt(net, slot, AttemptKind::Hop, now);
    }

    /// Returns the target of the redirect that was just read.
    ///
    /// # Errors
    /// Fails with the outcome of the attempt if the redirect is not followed.
    pub(super) fn redirect_target(&mut self, slot: u32) -> Result<RedirectTarget, AttemptOutcome> {
        let op = self.slots.op(slot).ok_or(DEFECT)?;
        let exchange = op.attempt.exchange.and_then(|id| self.pool.exchange(id));
        let exchange = exchange.assert_some("a redirect has an exchange").ok_or(DEFECT)?;
        let head = exchange.reader.head().assert_some("a redirect has a head").ok_or(DEFECT)?;
        // 301, 302 and 303 may change the method to GET. Only redirects that keep the method are followed.
        let keeps_method = matches!(self.plan.mix.requests()[op.request].method.as_ref(), "GET" | "HEAD")
            || matches!(head.status, 307 | 308);
        if !keeps_method {
            return Err(AttemptOutcome::failed(AttemptClass::Http3xx, Cause::MethodChange, Phase::Head));
        }
        let followed = if let Follow::UpTo(most, rules) = self.plan.follow { Some((most, rules)) } else { None };
        let (most, rules) = followed.assert_some("redirects are followed only if the plan allows it").ok_or(DEFECT)?;
        let base = match &op.redirect {
            Some(redirect) => redirect.url.clone(),
            None => self.url_of(op).parse::<Url>().map_err(|_| DEFECT)?,
        };
        let url = redirected_to(&base, &head.location)?;
        let mut visited = op.redirect.as_ref().map_or_else(Vec::new, |redirect| redirect.visited.clone());
        visited.push(hash(&base));
        // The limit and `visited` apply to each request of an operation separately, for example to each page of a
        // listing.
        if visited.len() > usize::from(most) {
            // Visiting a URL twice is not always a loop, because the server may respond differently the second time. A
            // loop is reported only if the limit is also exceeded.
            let loops = visited.contains(&hash(&url));
            return Err(failed(if loops { Cause::RedirectLoop } else { Cause::TooManyRedirects }));
        }
        let from = exchange.address.clone();
        if rules.hosts == RedirectHosts::Named && !self.names_host_of(&url) {
            self.note_target(&url);
            return Err(denied(Cause::UnnamedHost, Phase::Head));
        }
        let origin = self.origin_index(&url).ok_or_else(|| failed(Cause::TooManyOrigins))?;
        let only_public = self.check_redirect(&base, &from, &url, origin, rules)?;
        Ok(RedirectTarget { url, origin, only_public, visited })
    }

    /// Returns whether the user named the host and the port of a URL. For an https URL, the port need not match.
    fn names_host_of(&self, url: &Url) -> bool {
        let to = url.origin();
        let origins = self.plan.targets.origins().iter();
        origins.into_iter().any(|named| named == to || (named.host == to.host && to.scheme == Scheme::Https))
    }

    /// Checks a redirect as far as its URL alone allows. Returns whether the redirect must not lead to a private
    /// address.
    fn check_redirect(
        &mut self,
        base: &Url,
        from: &Address,
        url: &Url,
        origin: usize,
        rules: RedirectRules,
    ) -> Result<bool, AttemptOutcome> {
        let proxied = matches!(self.plan.connections.route, Route::Proxy { .. });
        if url.origin().scheme == Scheme::Https && proxied {
            return Err(failed(Cause::UnsupportedScheme));
        }
        if leaves_tls(base, url) && rules.downgrade == RedirectRule::Deny {
            self.note_target(url);
            return Err(denied(Cause::Downgrade, Phase::Head));
        }
        // A redirect to a host that the user named is harmless, because the user sends load to that host anyway.
        let named = origin < self.plan.targets.origins().len();
        // With a proxy, the client does not know the addresses of servers, so only the URL can be checked.
        let from_public = match from {
            _ if proxied => !is_private_host(base.origin()),
            Address::Tcp(address) => !is_private(address.ip()),
            Address::Unix(_) => false,
        };
        let only_public = from_public && !named && rules.private == RedirectRule::Deny;
        if only_public && proxied && is_private_host(url.origin()) {
            self.note_target(url);
            return Err(denied(Cause::PrivateAddress, Phase::Head));
        }
        Ok(only_public)
    }

    /// Keeps the target of a redirect that is not followed, for the example of the failure. Path and query are removed,
    /// because they may contain a secret.
    fn note_target(&mut self, url: &Url) {
        let origin = url.origin();
        self.notes.set_detail(format!("to {}://{}", origin.scheme, origin.host_header()).as_bytes());
    }

    /// Returns the URL of an operation before any redirect.
    pub(super) fn url_of(&self, op: &Op<'_>) -> String {
        let origin = &self.pool.origins[op.origin].origin;
        let mut url = format!("{}://{}", origin.scheme, origin.host_header());
        match &self.plan.mix.requests()[op.request].path {
            Some(path) => url.push_str(path),
            None => self.plan.targets.write_path(op.subject, &mut String::new(), &mut url),
        }
        url
    }

    /// Returns the index of the URL's origin. Adds the origin if it is new. Returns `None` if there are too many
    /// origins.
    fn origin_index(&mut self, url: &Url) -> Option<usize> {
        let origins = &mut self.pool.origins;
        let known = origins.iter().position(|state| state.origin == *url.origin());
        if known.is_none() && origins.len() < self.plan.targets.origins().len() + ORIGINS_MAX {
            let label = self.recorder.host_label(&url.origin().to_string());
            origins.push(OriginPool::new(self.plan, url.origin().clone(), false, label));
            return Some(origins.len() - 1);
        }
        known
    }

    /// Returns whether a redirect forbids this kept-alive connection for the slot's attempt. A redirect forbids the
    /// connection if the attempt follows a redirect from the public network, and the connection leads to a private
    /// address.
    #[inline]
    pub(in crate::run_loop) fn redirect_is_forbidden_on(&mut self, slot: u32, id: ExchangeId) -> bool {
        let redirect = self.slots.op(slot).and_then(|op| op.redirect.as_ref());
        let Some(redirect) = redirect else { return false };
        let exchange = self.pool.exchange(id).assert_some("a connection that an attempt is about to use is open");
        let Some(exchange) = exchange else { return false };
        let forbidden = is_forbidden(redirect, &exchange.address);
        if forbidden {
            self.notes.set_detail(exchange.address.to_string().as_bytes());
        }
        forbidden
    }

    /// Ends the slot's operation instead of connecting to a private address.
    pub(in crate::run_loop) fn deny_private_address(&mut self, net: &mut N, slot: u32, now: Instant) {
        self.end_attempt(net, slot, denied(Cause::PrivateAddress, Phase::Connect), Reuse::Close, now);
    }
}

/// Returns the URL in a `Location`. The `Location` may be relative to the URL of the request.
///
/// # Errors
/// Fails with the outcome of the request if the response has no valid target.
pub(crate) fn redirected_to(base: &Url, location: &Location) -> Result<Url, AttemptOutcome> {
    let location = match location {
        Location::One(location) => location,
        Location::Absent => return Err(failed(Cause::NoLocation)),
        Location::Several => return Err(failed(Cause::TwoLocations)),
        Location::Invalid => return Err(failed(Cause::BadLocation)),
    };
    base.join(location).map_err(|error| match error {
        UrlError::OtherScheme(_) => failed(Cause::UnsupportedScheme),
        _ => failed(Cause::BadLocation),
    })
}

/// Returns whether a redirect leads from https to http.
pub(crate) fn leaves_tls(from: &Url, to: &Url) -> bool {
    (from.origin().scheme, to.origin().scheme) == (Scheme::Https, Scheme::Http)
}

/// Returns whether a redirect must not be followed to this address.
pub(in crate::run_loop) fn is_forbidden(redirect: &RedirectTarget, address: &Address) -> bool {
    redirect.only_public && matches!(address, Address::Tcp(address) if is_private(address.ip()))
}

/// Returns a hash of a URL. Hashes can be compared only within one run.
fn hash(url: &Url) -> u64 {
    let mut hasher = DefaultHasher::new();
    url.to_string().hash(&mut hasher);
    hasher.finish()
}
