//! The parts of a request that influence its response.

pub(crate) mod fields;
pub(crate) mod query;
pub(crate) mod target;

use fields::RequestFields;

/// The parts of a request that influence its response and are not in [`wire::RequestHead`].
#[derive(Debug)]
pub(crate) struct RequestFacts<'a> {
    /// Length of the request body, in bytes.
    pub(crate) received: u64,
    pub(crate) fields: &'a RequestFields,
}
