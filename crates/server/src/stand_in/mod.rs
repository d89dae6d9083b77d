//! Stand-ins for storage systems. A stand-in imitates the documented HTTP behavior of a system, including quirks that
//! cause problems for clients. Content of any size is generated on the fly, and nothing is stored. `docs/stand-ins.md`
//! lists each quirk with its source.
//!
//! A stand-in only creates a [`Response`]. The server adds framing, faults and the ledger.

mod alluxio;
pub(crate) mod booster;
mod filestash;
mod form;
mod go;
mod gzip;
mod renterd;
mod segments;
mod siad;

use wire::RequestHead;

use crate::config::stand_in::{Alluxio, StandIn};
use crate::request::RequestFacts;
use crate::request::target::Target;
use crate::response::{Http10Style, Response};
use booster::BoosterStandIn;
use filestash::FilestashStandIn;
use siad::SiadStandIn;

/// Maximum number of bytes of a request body that a stand-in reads.
const BODY_MAX: usize = 8 * 1024;

/// The stand-in of a server.
pub(crate) enum ActiveStandIn {
    None,
    Booster(BoosterStandIn),
    Alluxio(Alluxio),
    Filestash(FilestashStandIn),
    Siad(Box<SiadStandIn>),
}

impl ActiveStandIn {
    pub(crate) fn new(stand_in: &StandIn) -> Self {
        match stand_in.clone() {
            StandIn::None => Self::None,
            StandIn::BoosterHttp(booster) => Self::Booster(BoosterStandIn::new(booster)),
            StandIn::Alluxio(alluxio) => Self::Alluxio(alluxio),
            StandIn::Filestash(config) => Self::Filestash(FilestashStandIn::new(config)),
            StandIn::Siad(config) => Self::Siad(Box::new(SiadStandIn::new(config))),
        }
    }

    /// Returns the response to a request; `None` if the server itself must respond.
    pub(crate) fn respond(&self, head: &RequestHead, target: Target<'_>, facts: &RequestFacts<'_>) -> Option<Response> {
        match self {
            Self::None => None,
            Self::Booster(booster) => Some(booster.respond(head, target, facts)),
            Self::Alluxio(alluxio) => Some(alluxio.respond(head, target, facts)),
            Self::Filestash(filestash) => Some(filestash.respond(head, target, facts)),
            Self::Siad(siad) => Some(siad.respond(head, target, facts)),
        }
    }

    /// Returns the response to a request that is refused because too many requests are in service.
    pub(crate) fn overloaded(&self, head: &RequestHead) -> Response {
        match self {
            Self::None | Self::Filestash(_) => Response::line(503, "too many requests at once"),
            Self::Booster(_) => booster::overloaded(head),
            Self::Siad(_) => siad::overloaded(),
            Self::Alluxio(_) => alluxio::overloaded(),
        }
    }

    /// Returns the style of responses to HTTP/1.0 requests.
    pub(crate) fn http10_style(&self) -> Http10Style {
        match self {
            Self::Booster(_) | Self::Filestash(_) | Self::Siad(_) => Http10Style::LikeGo,
            Self::None | Self::Alluxio(_) => Http10Style::Http11,
        }
    }

    /// Returns whether a target names an object. In a cluster, each object has an owner.
    pub(crate) fn is_object(&self, target: Target<'_>) -> bool {
        match self {
            Self::None => !target.path.ends_with('/'),
            Self::Alluxio(_) => alluxio::key(target).is_some(),
            // These stand-ins cannot run as clusters.
            Self::Booster(_) | Self::Filestash(_) | Self::Siad(_) => false,
        }
    }

    /// Returns whether responses depend on header fields that other servers ignore.
    #[inline]
    pub(crate) fn needs_all_fields(&self) -> bool {
        matches!(self, Self::Booster(_) | Self::Filestash(_) | Self::Siad(_))
    }

    /// Returns the number of bytes of a request body that can influence the response.
    #[inline]
    pub(crate) fn request_body_max(&self) -> usize {
        if matches!(self, Self::Filestash(_) | Self::Siad(_)) { BODY_MAX } else { 0 }
    }
}
