//! Who asks: signatures, beside the header fields that a user gave.

use super::RequestPlan;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;
use wire::sigv4::{Signer, Streaming};

/// How a request says who asks.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// By the header fields of its plan alone.
    #[default]
    None,
    /// By a signature of S3 (AWS Signature Version 4), for the origins that the user named.
    S3 {
        /// Whose, for which region.
        signer: Box<Signer>,
        /// Where the signature stands.
        carried: Carried,
        /// How bodies are covered by it.
        payload: S3Payload,
    },
    /// By nothing, of S3: its error messages are read as those of signed requests are.
    S3Anonymous,
    /// By a session, or one for each slot, opened before the run.
    Session(Box<Sessions>),
}

/// Sessions that a run stands in; only origins that the user named are shown them.
#[derive(Clone)]
pub struct Sessions {
    /// How one is opened.
    pub opening: Opening,
    /// How many there are.
    pub shared: Shared,
    /// The header line of each, without its end; none until they are opened.
    pub lines: Arc<[Box<str>]>,
}

/// How the slots of a run share sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shared {
    /// All are in one.
    #[default]
    One,
    /// So many, each slot in its own.
    PerSlot(NonZeroU64),
}

/// Sessions of a run, at most: each is a header line of up to some 50 KiB, and a login that the server may limit.
pub const SESSIONS_MAX: u64 = 10_000;

/// The request that opens a session, and how its answer is read.
#[derive(Clone)]
pub struct Opening {
    /// Of whom, at what: for the report.
    pub about: String,
    /// Path and query.
    pub target: String,
    /// The request; it may hold secrets.
    pub request: RequestPlan,
    /// The header line that stands for the session, from the body of a good answer.
    pub read: fn(&[u8]) -> Option<String>,
    /// The reason that the body of a refusal gives.
    pub reason: fn(&[u8]) -> Option<String>,
    /// Values that no message may repeat, even when the server does.
    pub hidden: Vec<Box<str>>,
}

/// Without the tokens.
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

/// Without what logs in.
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

/// Where a signature stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// In header fields.
    #[default]
    Header,
    /// In the query, as of a presigned URL; good for that many seconds.
    Query(u32),
}

/// How a signature covers the body of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum S3Payload {
    /// Not at all.
    #[default]
    Unsigned,
    /// By the SHA-256 of the whole: the body is made twice, once to be hashed.
    Signed,
    /// In chunks with signatures or a checksum of their own.
    Chunks(Streaming),
}
