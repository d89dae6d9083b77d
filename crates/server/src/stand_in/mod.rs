//! Stand-ins: the documented HTTP surface of storage systems, with the quirks that a client trips over, and contents of
//! any size made up on the spot. Nothing here stores anything. `docs/stand-ins.md` lists each quirk with its source.
//!
//! They are dialects of the lean server: they decide on an [`Answer`], and the rest
//! (framing, faults, ledger) is the server's as ever.

mod alluxio;
mod booster;
mod fields;
mod filestash;
mod make;

use wire::RequestHead;

use crate::answer::{Answer, Facts};
use crate::head::Replies;
use crate::target::Target;
use booster::BoosterPlayer;
use filestash::FilestashPlayer;

pub use alluxio::Alluxio;
pub use booster::{Booster, Gateway, file_cids, piece_cid};
pub(crate) use fields::Fields;
pub use filestash::Filestash;

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
    /// Filestash, a web file manager, over its blackhole backend.
    Filestash(Filestash),
}

/// The most bytes of a request's body that a stand-in looks at.
const BODY_MAX: usize = 8 * 1024;

/// A stand-in at work.
pub(crate) enum Player {
    Nobody,
    Booster(BoosterPlayer),
    Alluxio(Alluxio),
    Filestash(FilestashPlayer),
}

impl Player {
    pub(crate) fn new(stand_in: &StandIn) -> Self {
        match stand_in.clone() {
            StandIn::Nobody => Self::Nobody,
            StandIn::BoosterHttp(booster) => Self::Booster(BoosterPlayer::new(booster)),
            StandIn::Alluxio(alluxio) => Self::Alluxio(alluxio),
            StandIn::Filestash(config) => Self::Filestash(FilestashPlayer::new(config)),
        }
    }

    /// The answer to a request, unless it is for the server itself to give.
    pub(crate) fn answer(&self, head: &RequestHead, target: Target<'_>, facts: &Facts<'_>) -> Option<Answer> {
        match self {
            Self::Nobody => None,
            Self::Booster(booster) => Some(booster.answer(head, target, facts)),
            Self::Alluxio(alluxio) => Some(alluxio.answer(head, target, facts)),
            Self::Filestash(filestash) => Some(filestash.answer(head, target, facts)),
        }
    }

    /// The answer to a request that is refused because there are too many.
    pub(crate) fn overloaded(&self, head: &RequestHead) -> Answer {
        match self {
            Self::Nobody | Self::Filestash(_) => Answer::sentence(503, "too many requests at once"),
            Self::Booster(_) => booster::overloaded(head),
            Self::Alluxio(_) => alluxio::overloaded(),
        }
    }

    /// How HTTP/1.0 requests are answered.
    pub(crate) fn replies(&self) -> Replies {
        match self {
            Self::Booster(_) | Self::Filestash(_) => Replies::LikeGo,
            Self::Nobody | Self::Alluxio(_) => Replies::Http11,
        }
    }

    /// Whether a target names an object, which in a cluster has an owner.
    pub(crate) fn is_object(&self, target: Target<'_>) -> bool {
        match self {
            Self::Nobody => !target.path.ends_with('/'),
            Self::Alluxio(_) => alluxio::key(target).is_some(),
            // These do not come as clusters.
            Self::Booster(_) | Self::Filestash(_) => false,
        }
    }

    /// Whether more of a request's headers are looked at than those that every server needs.
    #[inline]
    pub(crate) fn wanted_fields(&self) -> bool {
        matches!(self, Self::Booster(_) | Self::Filestash(_))
    }

    /// How many bytes of a request's body are looked at.
    #[inline]
    pub(crate) fn wanted_body(&self) -> usize {
        if matches!(self, Self::Filestash(_)) { BODY_MAX } else { 0 }
    }
}
