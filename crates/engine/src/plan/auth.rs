//! Authentication: signatures and sessions, besides the header fields that a user gave.

use super::RequestPlan;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;
use wire::sigv4::{Signer, Streaming};

/// The authentication of requests.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// Only by the header fields of the plan.
    #[default]
    None,
    /// By an S3 signature (AWS Signature Version 4), for the origins that the user named.
    S3 {
        /// Keys and region.
        signer: Box<Signer>,
        /// The place of the signature.
        carried: Carried,
        /// How it covers bodies.
        payload: S3Payload,
    },
    /// Anonymous requests to S3, whose error messages are read like those of signed requests.
    S3Anonymous,
    /// By one session, or one for each slot, opened before the run.
    Session(Box<Sessions>),
}

/// The sessions of a run, which are sent only to origins that the user named.
#[derive(Clone)]
pub struct Sessions {
    /// How a session is opened.
    pub opening: Opening,
    /// How many sessions there are.
    pub shared: Shared,
    /// The header line of each session, without its end; none until they are opened.
    pub lines: Arc<[Box<str>]>,
}

/// How the slots of a run share sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shared {
    /// All slots use one session.
    #[default]
    One,
    /// A number of sessions, each for its own slot.
    PerSlot(NonZeroU64),
}

/// The most sessions of a run: each is a header line of up to about 50 KiB, and a login that the server may limit.
pub const SESSIONS_MAX: u64 = 10_000;

/// The request that opens a session, and how its response is read.
#[derive(Clone)]
pub struct Opening {
    /// A description for the report.
    pub about: String,
    /// Path and query.
    pub target: String,
    /// The request, which may contain secrets.
    pub request: RequestPlan,
    /// Returns the header line of the session, from the body of a good response.
    pub read: fn(&[u8]) -> Option<String>,
    /// Returns the reason in the body of a refusal.
    pub reason: fn(&[u8]) -> Option<String>,
    /// Values that no message may show, even when the server does.
    pub hidden: Vec<Box<str>>,
}

/// Does not show the tokens.
impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = self.lines.len();
        f.debug_struct("Sessions")
            .field("opening", &self.opening)
            .field("shared", &self.shared)
            .field("open", &open)
            .finish()
    }
}

/// Does not show the login.
impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("about", &self.about).field("target", &self.target).finish_non_exhaustive()
    }
}

impl Sessions {
    /// Returns the header lines for the slots of one of several threads: slot n uses the n-th, from the first again after the
    /// last.
    pub(crate) fn lines_of(&self, thread: u32, threads: u32) -> impl Iterator<Item = &str> {
        let own = self.lines.iter().skip(thread as usize).step_by(threads.max(1) as usize);
        let all = self.lines.iter().take(if own.len() > 0 { 0 } else { self.lines.len() });
        own.chain(all).map(AsRef::as_ref)
    }
}

/// The place of a signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// In header fields.
    #[default]
    Header,
    /// In the query, as in a presigned URL, valid for this many seconds.
    Query(u32),
}

/// How a signature covers the body of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum S3Payload {
    /// Not at all.
    #[default]
    Unsigned,
    /// By the SHA-256 of the whole body, which is generated twice: once to be hashed.
    Signed,
    /// In chunks that have signatures or a checksum.
    Chunks(Streaming),
}
