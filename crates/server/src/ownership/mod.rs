//! Ownership of objects in a cluster: which server owns an object, and what the other servers do with a request for it.

pub(crate) mod member;
pub(crate) mod owner;
