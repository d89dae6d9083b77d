//! S3, as a target for tests: buckets and objects in memory or in a directory, behind `SigV4`.
//!
//! The crate `s3s` handles the protocol (requests, signatures, XML). This module stores objects, and loses them on
//! purpose:
//!
//! * [`store`]: buckets, objects, parts; the same for memory and directory, except where bytes are kept;
//! * [`content`]: the bytes of objects and parts, within the store's quota;
//! * [`listing`]: pages of keys with prefix and delimiter, as a pure function;
//! * [`operations`]: the calls of S3 in terms of these;
//! * [`receive`]: content while it is received, with its digests;
//! * [`shelf`]: the store without S3, for stand-ins of other systems;
//! * [`service`]: the service of the hyper front, with faults and the names of operations.

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
