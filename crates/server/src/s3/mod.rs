//! S3, as a target for tests: buckets and objects in memory or in a directory, with `SigV4` signatures.
//!
//! The crate `s3s` implements the protocol (requests, signatures, XML). This module stores objects, and loses some of
//! them on purpose:
//!
//! * [`store`]: buckets, objects and parts. Stores in memory and in a directory differ only in the location of the
//!   bytes;
//! * [`content`]: the bytes of objects and parts, within the store's quota;
//! * [`listing`]: pages of keys with a prefix and a delimiter, as a pure function;
//! * [`operations`]: the S3 calls, which use the modules above;
//! * [`receive`]: receives content and verifies its digests;
//! * [`shelf`]: the store without S3, for stand-ins for other systems;
//! * [`service`]: S3 as a service of the hyper front, with faults and the names of operations.

mod backend;
pub(crate) mod config;
mod content;
mod errors;
mod listing;
mod operations;
mod receive;
mod service;
pub(crate) mod shelf;
mod store;
