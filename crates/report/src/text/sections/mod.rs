//! The sections of a text report. Each section is a function that writes to a page. A section that does not apply to
//! the run writes nothing.

pub(super) mod agents;
pub(super) mod as_ab;
pub(super) mod bytes;
pub(super) mod client;
pub(super) mod collected;
pub(crate) mod failures;
pub(super) mod groups;
pub(super) mod kinds;
pub(super) mod leftovers;
pub(super) mod operations;
pub(super) mod path;
pub(super) mod redirects;
pub(super) mod setup;
pub(super) mod times;
