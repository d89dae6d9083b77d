//! S3, as a target for tests: buckets and objects in memory or in a directory, behind SigV4.
//!
//! The protocol (requests, signatures, XML) is the business of the crate `s3s`; what is stored, and how it is lost on
//! purpose, is here:
//!
//! * `store`: buckets, objects, parts; bounded; the same for memory and directory but for where bytes lie;
//! * `listing`: pages of keys with prefix and delimiter, as a pure function;
//! * `operations`: the calls of S3 in terms of these;
//! * `receive`: content on its way in, with its digests;
//! * `serving`: the service of the second front, with faults and the names of operations.

mod content;
mod listing;
mod operations;
mod receive;
mod serving;
mod store;

use std::path::PathBuf;

/// What an S3 server keeps, and for whom.
#[derive(Clone)]
pub struct S3Config {
    /// Where objects are kept.
    pub store: StoreIn,
    /// The most bytes of objects and parts that are kept; without a number, as many as there is room for.
    pub store_max: Option<u64>,
    /// The one access key that is let in.
    pub access_key: String,
    /// Its secret.
    pub secret_key: String,
}

/// The secret stays out of logs.
impl std::fmt::Debug for S3Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("S3Config");
        shown.field("store", &self.store).field("store_max", &self.store_max);
        shown.field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

/// Where objects are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreIn {
    /// In memory, until the server ends.
    Memory,
    /// In a directory that is empty, or that an earlier server has used. Names of files are the store's own: no text of
    /// a client becomes part of a path.
    Directory(PathBuf),
}
