//! The first response of a run: the properties of the server that it shows, and the length that later bodies are compared with,
//! as ab does.

use crate::control::Control;
use crate::plan::{Pick, Plan, Then};
use crate::tls::Negotiated;
use wire::message::Version;

/// Properties of the server, from the first good response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstResponse {
    /// The `Server` header.
    pub software: Option<String>,
    /// The address that the connection went to.
    pub address: String,
    /// Status code.
    pub status: u16,
    /// Body bytes.
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

/// Waits for the first good response.
#[derive(Debug)]
pub(in crate::run_loop) struct FirstResponseWatch<'p> {
    /// The `Server` header of the response that is being read.
    pub software: Option<String>,
    pub found: Option<FirstResponse>,
    length: FirstLength<'p>,
}

impl<'p> FirstResponseWatch<'p> {
    /// Returns the watch before the first response.
    pub fn new(plan: &Plan, control: &'p Control) -> Self {
        Self { software: None, found: None, length: FirstLength::new(plan, control) }
    }

    /// Returns where the `Server` header goes, while no good response has come.
    #[inline]
    pub fn software_wanted(&mut self) -> Option<&mut Option<String>> {
        if self.found.is_none() { Some(&mut self.software) } else { None }
    }

    /// Returns whether the length of a complete body differs from that of the first one.
    #[inline]
    pub fn length_differs(&mut self, body_bytes: u64) -> bool {
        self.length.differs(body_bytes)
    }
}

/// The length that bodies are compared with.
#[derive(Debug)]
enum FirstLength<'p> {
    /// Requests differ, or responses have no body: lengths are not compared.
    NotCompared,
    /// This thread has had no response yet. Another one may have.
    Awaited(&'p Control),
    /// The length of the run's first complete response, whatever its status.
    Known(u64),
}

impl<'p> FirstLength<'p> {
    fn new(plan: &Plan, control: &'p Control) -> Self {
        if is_comparable(plan) { Self::Awaited(control) } else { Self::NotCompared }
    }

    /// Returns whether the length of a complete body differs from that of the first one, which it may be itself.
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

/// Returns whether all operations make the same request for the same object, by a method whose responses have bodies.
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
