//! The S3 errors sent to clients.

use s3s::{S3Error, S3ErrorCode, s3_error};

use super::content::quota::WriteError;
use super::store::Store;
use super::store::error::StoreError;

/// Returns the S3 error for an error of the store.
pub(super) fn s3_error_of(error: StoreError) -> S3Error {
    match error {
        StoreError::NoSuchBucket => s3_error!(NoSuchBucket),
        StoreError::BucketExists => s3_error!(BucketAlreadyOwnedByYou),
        StoreError::BucketNotEmpty => s3_error!(BucketNotEmpty),
        StoreError::TooManyBuckets => s3_error!(TooManyBuckets),
        StoreError::NoSuchKey => s3_error!(NoSuchKey),
        StoreError::NoSuchUpload => s3_error!(NoSuchUpload),
        StoreError::TooManyUploads => s3_error!(SlowDown, "this bucket has 10,000 unfinished multipart uploads"),
        StoreError::BadPartNumber => s3_error!(InvalidArgument, "part numbers go from 1 to 10,000"),
        StoreError::BadPart => s3_error!(InvalidPart),
        StoreError::PartOrder => s3_error!(InvalidPartOrder),
        StoreError::PartTooSmall => s3_error!(EntityTooSmall),
        StoreError::Full(used) => full(used),
        StoreError::Failed(error) => S3Error::with_source(S3ErrorCode::InternalError, Box::new(error)),
    }
}

/// Returns the S3 error for content that the store could not write.
pub(super) fn s3_error_of_write(store: &Store, error: WriteError) -> S3Error {
    s3_error_of(store.error_of(error))
}

/// Returns the error for a full store. S3 itself is never full and has no code for this error, so this server uses a
/// code that S3 does not have, and the status of WebDAV for this case (507).
fn full(used: u64) -> S3Error {
    let message = format!("the store is full with {used} bytes; delete objects, or raise --store-max");
    let mut error = S3Error::with_message(S3ErrorCode::Custom("StorageFull".into()), message);
    error.set_status_code(hyper::StatusCode::INSUFFICIENT_STORAGE);
    error
}
