//! The first response of a run. This response shows properties of the server. The length of its body is compared with
//! the lengths of later bodies, as in ab.

use crate::control::Control;
use crate::plan::{Pick, Plan, Then};
use crate::tls::Negotiated;
use wire::message::Version;

/// Properties of the server, from the first successful response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstResponse {
    /// The `Server` header.
    pub software: Option<String>,
    /// The address to which the connection was opened.
    pub address: String,
    /// Status code.
    pub status: u16,
    /// Number of body bytes.
    pub body_bytes: u64,
    /// HTTP version of the response.
    pub version: Version,
    /// Parameters that TLS negotiated.
    pub tls: Option<Negotiated>,
}

impl FirstResponse {
    /// Returns the version in the form of a status line.
    #[must_use]
    pub fn version_text(&self) -> &'static str {
        match self.version {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
            Version::Http2 => "HTTP/2",
        }
    }
}

/// The first successful response, or the state of waiting for it.
#[derive(Debug)]
pub(in crate::run_loop) struct FirstResponseWatch<'p> {
    /// The `Server` header of the response that is being read.
    pub software: Option<String>,
    pub found: Option<FirstResponse>,
    length: FirstLength<'p>,
}

impl<'p> FirstResponseWatch<'p> {
    /// Returns the state before the first response.
    pub fn new(plan: &Plan, control: &'p Control) -> Self {
        Self { software: None, found: None, length: FirstLength::new(plan, control) }
    }

    /// Returns the variable in which the value of `Server` must be stored; `None` after the first successful response.
    #[inline]
    pub fn software_wanted(&mut self) -> Option<&mut Option<String>> {
        if self.found.is_none() { Some(&mut self.software) } else { None }
    }

    /// Returns whether a complete body has another length than the run's first complete response.
    #[inline]
    pub fn length_differs(&mut self, body_bytes: u64) -> bool {
        self.length.differs(body_bytes)
    }
}

/// Length of the first complete body, with which the lengths of later bodies are compared.
#[derive(Debug)]
enum FirstLength<'p> {
    /// Lengths are not compared, because requests differ or responses have no body.
    NotCompared,
    /// This thread has had no response yet, but another thread may have had one.
    Awaited(&'p Control),
    /// The length of the run's first complete response, with any status.
    Known(u64),
}

impl<'p> FirstLength<'p> {
    fn new(plan: &Plan, control: &'p Control) -> Self {
        if is_comparable(plan) { Self::Awaited(control) } else { Self::NotCompared }
    }

    /// Returns whether a complete body has another length than the run's first complete response. Returns `false` if
    /// the body belongs to the first response.
    #[inline]
    fn differs(&mut self, body_bytes: u64) -> bool {
        match self {
            Self::Known(first) => *first != body_bytes,
            Self::NotCompared => false,
            Self::Awaited(control) => {
                let first = control.first_length(body_bytes);
                *self = Self::Known(first);
                first != body_bytes
            }
        }
    }
}

/// Returns whether all operations make the same request for the same object, with a method whose responses have bodies.
fn is_comparable(plan: &Plan) -> bool {
    let [request] = plan.mix.requests() else { return false };
    let same_object = match request.pick {
        Pick::Target => plan.targets.count() == 1,
        Pick::Container => true,
        Pick::Fresh | Pick::Written { .. } | Pick::Batch(_) => false,
    };
    same_object && request.then == Then::End && request.method.as_ref() != "HEAD"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_compare_with_the_first_response_of_all() {
        let control = Control::default();
        let mut threads = [FirstLength::Awaited(&control), FirstLength::Awaited(&control)];
        assert!(!threads[0].differs(14));
        assert!(threads[1].differs(1024) && !threads[1].differs(14) && threads[0].differs(1024));
        assert!(!FirstLength::NotCompared.differs(1) && !FirstLength::NotCompared.differs(2));
    }
}
