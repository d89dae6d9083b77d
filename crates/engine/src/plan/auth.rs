//! Authentication by signatures and sessions. Credentials that a user adds as header fields are part of the requests
//! and not of this module.

use super::RequestPlan;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;
use wire::sigv4::{Signer, Streaming};

/// The authentication of requests.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// No authentication, except by header fields of the requests.
    #[default]
    None,
    /// S3 signatures (AWS Signature Version 4), only for the origins that the user named.
    S3 {
        /// Keys and region.
        signer: Box<Signer>,
        /// Part of the request that contains the signature.
        place: SignaturePlace,
        /// Part of a body that the signature covers. It determines the framing of the body.
        payload: S3Payload,
    },
    /// Anonymous requests to S3. Error messages in the responses are parsed in the same way as for signed requests.
    S3Anonymous,
    /// One session for all slots, or one for each slot. Sessions are opened before the run.
    Session(Box<Sessions>),
}

/// Sessions of a run. Session tokens are sent only to origins that the user named.
#[derive(Clone)]
pub struct Sessions {
    /// Request that opens a session.
    pub opening: Opening,
    /// Number of sessions.
    pub shared: Shared,
    /// The header line of each session, without the line end. The list is empty until the sessions are opened.
    pub lines: Arc<[Box<str>]>,
}

/// Sharing of sessions between the slots of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shared {
    /// All slots use one session.
    #[default]
    One,
    /// This number of sessions, but at most one per slot.
    PerSlot(NonZeroU64),
}

/// Maximum number of sessions of a run. The header line of a session takes up to about 50 KiB, and servers limit
/// logins.
pub const SESSIONS_MAX: u64 = 10_000;

/// The request that opens a session, and the functions that read its response.
#[derive(Clone)]
pub struct Opening {
    /// A description for the report.
    pub about: String,
    /// Path and query of the login.
    pub target: String,
    /// The request, which may contain secrets.
    pub request: RequestPlan,
    /// Function that extracts the header line of the session from the body of a successful response.
    pub read: fn(&[u8]) -> Option<String>,
    /// Function that extracts the reason for a refusal from the body of the response.
    pub reason: fn(&[u8]) -> Option<String>,
    /// Secret values that messages must not show, even if the server's message contains them.
    pub hidden: Vec<Box<str>>,
}

/// Omits the session tokens, which are secret.
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

/// Omits the login request, which may contain secrets.
impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("about", &self.about).field("target", &self.target).finish_non_exhaustive()
    }
}

impl Sessions {
    /// Returns the session header lines for the slots of one thread. Slot n uses the n-th line. After the last line,
    /// the first line is used again.
    pub(crate) fn lines_of(&self, thread: u32, threads: u32) -> impl Iterator<Item = &str> {
        let own = self.lines.iter().skip(thread as usize).step_by(threads.max(1) as usize);
        let all = self.lines.iter().take(if own.len() > 0 { 0 } else { self.lines.len() });
        own.chain(all).map(AsRef::as_ref)
    }
}

/// Place of a signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignaturePlace {
    /// In header fields.
    #[default]
    Header,
    /// In the query, as in a presigned URL. The URL is valid for this many seconds.
    Query(u32),
}

/// Part of a request body that the signature covers. It determines the framing of the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum S3Payload {
    /// The signature does not cover the body.
    #[default]
    Unsigned,
    /// The signature covers the SHA-256 of the whole body. The body is therefore generated twice: once to hash it, and
    /// once to send it.
    Signed,
    /// The body is sent in chunks. The chunks are signed, or are followed by a checksum.
    Chunks(Streaming),
}
