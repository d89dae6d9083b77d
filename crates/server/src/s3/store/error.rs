//! Errors of a store.

/// The reason why a store refuses an operation.
#[derive(Debug)]
pub(in crate::s3) enum StoreError {
    NoSuchBucket,
    BucketExists,
    BucketNotEmpty,
    TooManyBuckets,
    NoSuchKey,
    NoSuchUpload,
    TooManyUploads,
    BadPartNumber,
    /// A part in the list was not uploaded, or its ETag differs.
    BadPart,
    PartOrder,
    PartTooSmall,
    /// The store is full, with this number of bytes.
    Full(u64),
    Failed(std::io::Error),
}
