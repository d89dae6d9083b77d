//! Stand-ins: the documented HTTP surface of storage systems, with the quirks that a client trips over, and contents of
//! any size made up on the spot. Nothing here stores anything. `docs/stand-ins.md` lists each quirk with its source.
//!
//! Those of booster-http and Alluxio are dialects of the lean server: they decide on an [`Answer`], and the rest
//! (framing, faults, ledger) is the server's as ever.

mod alluxio;
mod booster;
mod fields;
mod make;

use wire::RequestHead;

use crate::answer::{Answer, Facts};
use crate::target::Target;

pub use alluxio::Alluxio;
pub use booster::{Booster, piece_cid};
pub(crate) use fields::Fields;

/// Whose documented behaviour a [`crate::Server`] plays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StandIn {
    /// Nobody's: see the crate's documentation.
    #[default]
    Nobody,
    /// booster-http, which serves pieces and blocks of a Filecoin storage provider.
    BoosterHttp(Booster),
    /// The S3 API of an Alluxio worker.
    Alluxio(Alluxio),
}

/// A stand-in at work.
pub(crate) struct Player(StandIn);

impl Player {
    pub(crate) fn new(stand_in: &StandIn) -> Self {
        Self(stand_in.clone())
    }

    /// The answer to a request, unless it is for the server itself to give.
    pub(crate) fn answer(&self, head: &RequestHead, target: Target<'_>, facts: &Facts<'_>) -> Option<Answer> {
        match &self.0 {
            StandIn::Nobody => None,
            StandIn::BoosterHttp(booster) => Some(booster.answer(head, target, facts)),
            StandIn::Alluxio(alluxio) => Some(alluxio.answer(head, target, facts)),
        }
    }

    /// The answer to a request that is refused because there are too many.
    pub(crate) fn overloaded(&self, head: &RequestHead) -> Answer {
        match &self.0 {
            StandIn::Nobody => Answer::sentence(503, "too many requests at once"),
            StandIn::BoosterHttp(_) => booster::overloaded(head),
            StandIn::Alluxio(_) => alluxio::overloaded(),
        }
    }

    /// Whether a target names an object, which in a cluster has an owner.
    pub(crate) fn is_object(&self, target: Target<'_>) -> bool {
        match &self.0 {
            StandIn::Nobody | StandIn::BoosterHttp(_) => !target.path.ends_with('/'),
            StandIn::Alluxio(_) => alluxio::key(target).is_some(),
        }
    }

    /// Whether more of a request's headers are looked at than those that every server needs.
    pub(crate) fn wanted_fields(&self) -> bool {
        matches!(self.0, StandIn::BoosterHttp(_))
    }
}
