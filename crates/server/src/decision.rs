//! The decision on a request: a response of this server, or one fetched from the object's owner.

use std::net::SocketAddr;
use std::time::Duration;

use wire::{Method, RequestHead};

use crate::content::Content;
use crate::content::files::{FileError, Opened};
use crate::ownership::member::Route;
use crate::request::RequestFacts;
use crate::request::query::QueryFaults;
use crate::request::target::{Target, TargetKind};
use crate::response::range::narrow_to_range;
use crate::response::{Response, set_framing};
use crate::shared::Shared;

/// The way in which the server gets the response to a request.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the large variant is the usual one, and its value is used immediately")]
pub(crate) enum Decision {
    /// The server sends this response, after the delay that the query requests.
    Respond(Response, Duration),
    /// The server fetches the response from the object's owner at this address, and passes the response on to the
    /// client.
    Fetch(SocketAddr),
}

impl Decision {
    fn respond_now(response: Response, head: &RequestHead) -> Self {
        let delay = response.own_delay();
        Self::Respond(set_framing(response, head, false), delay)
    }

    /// Replaces the decision with a refusal: the response of an overloaded server if `overload`, otherwise an injected
    /// error.
    pub(crate) fn refuse(self, shared: &Shared, head: &RequestHead, overload: bool) -> Self {
        let refusal = if overload { shared.stand_in.overloaded(head) } else { Response::injected_error() };
        match self {
            Self::Respond(response, delay) => Self::Respond(response.replaced_by(refusal), delay),
            Self::Fetch(_) => Self::respond_now(refusal, head),
        }
    }
}

/// A function that takes a response with the whole object, and returns one with only the requested range.
type Narrow = fn(Response, &RequestHead, &RequestFacts<'_>) -> Response;

/// Decides on a request.
pub(crate) fn decide(shared: &Shared, head: &RequestHead, facts: &RequestFacts<'_>) -> Decision {
    let target = Target::parse(&head.target);
    let faults = match target.and_then(|target| target.query).map(QueryFaults::parse).transpose() {
        Ok(faults) => faults,
        Err(message) => return Decision::respond_now(Response::line(400, message), head),
    };
    let Some(target) = target else {
        return Decision::respond_now(Response::line(400, "the target is neither a path nor an http URL"), head);
    };
    let redirected_here = faults.as_ref().is_some_and(|faults| faults.redirected_here);
    if let Some(decision) = hand_off(shared, head, target, redirected_here) {
        return decision;
    }
    let (response, narrow): (Response, Narrow) = match shared.stand_in.respond(head, target, facts) {
        Some(response) => (response, |response, _, _| response),
        None => (default_response(shared, head, target, facts), narrow_to_range),
    };
    let Some(faults) = faults else { return Decision::respond_now(narrow(response, head, facts), head) };
    let QueryFaults { delay, chunked, close, .. } = faults;
    let response = apply_query_faults(response, faults, |response| narrow(response, head, facts));
    let mut response = set_framing(response, head, chunked);
    response.linger |= close && !response.close;
    response.close |= close;
    let delay = delay.saturating_add(response.own_delay());
    Decision::Respond(response, delay)
}

/// Decides on a request for an object of another server in the cluster. The other server applies the faults in the
/// query.
fn hand_off(shared: &Shared, head: &RequestHead, target: Target<'_>, redirected_here: bool) -> Option<Decision> {
    let member = shared.member.as_ref().filter(|_| shared.stand_in.is_object(target))?;
    match member.route(target, head.host.as_deref(), redirected_here) {
        Route::Fetch(owner) if matches!(head.method, Method::Get | Method::Head) => Some(Decision::Fetch(owner)),
        Route::Here | Route::Fetch(_) => None,
        Route::Redirect { location, after } => {
            let response = Response { location: Some(location), ..Response::text(307, &b""[..]) };
            Some(Decision::Respond(set_framing(response, head, false), after))
        }
    }
}

/// Creates the response of a server that does not imitate another system.
fn default_response(shared: &Shared, head: &RequestHead, target: Target<'_>, facts: &RequestFacts<'_>) -> Response {
    match &head.method {
        Method::Get | Method::Head => object_response(shared, target),
        Method::Put => Response::line(201, &facts.received.to_string()),
        Method::Post => Response::line(200, &facts.received.to_string()),
        _ => Response {
            allow: Some("GET, HEAD, PUT, POST"),
            ..Response::line(405, "only GET, HEAD, PUT and POST are served")
        },
    }
}

/// Applies the faults of a query. If the query requests a redirect or a status, the `Range` of the request is ignored.
fn apply_query_faults(response: Response, faults: QueryFaults, narrow: impl Fn(Response) -> Response) -> Response {
    let mut response = if let Some(redirect) = faults.redirect {
        Response { location: Some(redirect.location), ..Response::line(redirect.code, "see Location") }
    } else {
        match faults.status {
            None => narrow(response),
            Some(status @ 200..300) => Response { status, ..response },
            Some(status) => Response::line(status, "requested by status="),
        }
    };
    response.headers.extend(faults.headers);
    response.body_faults = faults.body.or(response.body_faults);
    response
}

fn object_response(shared: &Shared, target: Target<'_>) -> Response {
    match (target.kind(), &shared.directory) {
        (Ok(TargetKind::Blackhole(bytes)), _) => Response::new(200, Content::Pattern, Some(bytes)),
        (Err(error), _) => Response::line(400, &error.to_string()),
        (Ok(TargetKind::File(_)), None) => {
            Response::line(404, "not found; try /blackhole/SIZE, for example /blackhole/1MiB")
        }
        (Ok(TargetKind::File(path)), Some(directory)) => match directory.open(path) {
            Ok(Opened::File { file, bytes }) => Response::new(200, Content::File(file), Some(bytes)),
            Ok(Opened::Listing(names)) => Response::text(200, names),
            Err(FileError::BadPath) => Response::line(400, "the path cannot name a file"),
            Err(FileError::Forbidden) => Response::line(403, "outside the served directory, or not a regular file"),
            Err(FileError::Absent) => Response::line(404, "not found"),
            Err(FileError::Failed) => Response::line(500, "the file could not be opened"),
        },
    }
}
