//! Requests, as far as responses depend on them.

pub(crate) mod fields;
pub(crate) mod query;
pub(crate) mod target;

use fields::RequestFields;

/// Facts about a request apart from its head.
#[derive(Debug)]
pub(crate) struct RequestFacts<'a> {
    /// Bytes of its body.
    pub(crate) received: u64,
    pub(crate) fields: &'a RequestFields,
}
