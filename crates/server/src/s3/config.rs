//! Configuration of an S3 server.

use std::fmt;
use std::path::PathBuf;

/// The store of an S3 server and the credentials that it accepts.
#[derive(Clone)]
pub struct S3Config {
    /// The location of the objects.
    pub store: StoreIn,
    /// Maximum number of bytes of objects and parts in the store; `None` for no limit.
    pub store_max: Option<u64>,
    /// A bucket that exists from the start.
    pub bucket: Option<String>,
    /// The only access key that is accepted.
    pub access_key: String,
    /// The secret of the access key.
    pub secret_key: String,
}

/// Omits the secret, so that no log contains it.
impl fmt::Debug for S3Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("S3Config");
        shown.field("store", &self.store).field("store_max", &self.store_max).field("bucket", &self.bucket);
        shown.field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

/// The location of the objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreIn {
    /// In memory, until the server stops.
    Memory,
    /// In a directory that is empty or was used by an earlier server. The store chooses the file names, so that no text
    /// from a client becomes part of a path.
    Directory(PathBuf),
}
