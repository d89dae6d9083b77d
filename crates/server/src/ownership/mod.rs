//! Ownership of objects in a cluster: computes the owner of each object, and routes requests to it.

pub(crate) mod member;
pub(crate) mod owner;
