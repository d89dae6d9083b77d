//! The header fields of a request that depend on its body.

use super::fields::Fields;
use super::upload::Frame;
use crate::plan::{BodyPlan, Framing};

/// Properties of a request body that determine fields of the head.
pub(super) struct BodyFacts<'a> {
    pub plan: &'a BodyPlan,
    pub bytes: u64,
    /// `true` if the body is sent only after `100 Continue`.
    pub expect_continue: bool,
    /// The value of `Content-MD5`, if it is sent.
    pub md5: Option<&'a str>,
}

/// Adds the field that delimits the body.
pub(super) fn push_framing(body: &BodyFacts<'_>, fields: &mut Fields) -> Frame {
    match body.plan.framing {
        Framing::Length => {
            fields.push_number("Content-Length", body.bytes);
            Frame::Length
        }
        Framing::Chunked => {
            fields.push("Transfer-Encoding", b"chunked");
            Frame::Chunked
        }
    }
}

/// Adds the other fields that a body needs.
pub(super) fn push_body_fields(body: &BodyFacts<'_>, fields: &mut Fields) {
    if body.expect_continue {
        fields.push("Expect", b"100-continue");
    }
    if let Some(md5) = body.md5 {
        fields.push("Content-MD5", md5.as_bytes());
    }
}
