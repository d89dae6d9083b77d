//! S3, as a target for tests: buckets and objects in memory or in a directory, behind `SigV4`.
//!
//! The crate `s3s` handles the protocol (requests, signatures, XML). This module stores objects, and loses them on
//! purpose:
//!
//! * [`store`]: buckets, objects and parts. Stores in memory and in a directory differ only in the place of the bytes;
//! * [`content`]: the bytes of objects and parts, within the store's quota;
//! * [`listing`]: pages of keys with prefix and delimiter, as a pure function;
//! * [`operations`]: the S3 calls, built on the modules above;
//! * [`receive`]: receives content and checks its digests;
//! * [`shelf`]: the store without S3, for stand-ins of other systems;
//! * [`service`]: makes S3 a service of the hyper front, with faults and the names of operations.

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
