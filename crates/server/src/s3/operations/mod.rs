//! The calls of S3 in terms of the store. Each kind of call has a file; here they are told to `s3s`, and errors to
//! clients.

mod lists;
mod multipart;
mod objects;

use std::sync::Arc;

use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, Bucket, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CopyObjectInput, CopyObjectOutput, CreateBucketInput, CreateBucketOutput,
    CreateMultipartUploadInput, CreateMultipartUploadOutput, DeleteBucketInput, DeleteBucketOutput, DeleteObjectInput,
    DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput, GetBucketLocationInput, GetBucketLocationOutput,
    GetObjectInput, GetObjectOutput, HeadBucketInput, HeadBucketOutput, HeadObjectInput, HeadObjectOutput,
    ListBucketsInput, ListBucketsOutput, ListMultipartUploadsInput, ListMultipartUploadsOutput, ListObjectsInput,
    ListObjectsOutput, ListObjectsV2Input, ListObjectsV2Output, ListPartsInput, ListPartsOutput, PutObjectInput,
    PutObjectOutput, UploadPartInput, UploadPartOutput,
};
use s3s::{S3, S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};

use super::store::{Refused, Store};
use crate::faults::Planted;

/// S3 on a store.
pub(super) struct Operations {
    pub(super) store: Store,
    pub(super) planted: Arc<Planted>,
}

/// What a call is answered with.
type Answer<T> = S3Result<S3Response<T>>;

fn good<T>(output: T) -> Answer<T> {
    Ok(S3Response::new(output))
}

#[async_trait::async_trait]
impl S3 for Operations {
    async fn create_bucket(&self, request: S3Request<CreateBucketInput>) -> Answer<CreateBucketOutput> {
        let name = &request.input.bucket;
        self.store.create_bucket(name).map_err(s3_error_of)?;
        good(CreateBucketOutput { location: Some(format!("/{name}")) })
    }

    async fn delete_bucket(&self, request: S3Request<DeleteBucketInput>) -> Answer<DeleteBucketOutput> {
        self.store.delete_bucket(&request.input.bucket).map_err(s3_error_of)?;
        good(DeleteBucketOutput::default())
    }

    async fn head_bucket(&self, request: S3Request<HeadBucketInput>) -> Answer<HeadBucketOutput> {
        self.store.has_bucket(&request.input.bucket).map_err(s3_error_of)?;
        good(HeadBucketOutput::default())
    }

    async fn get_bucket_location(&self, request: S3Request<GetBucketLocationInput>) -> Answer<GetBucketLocationOutput> {
        self.store.has_bucket(&request.input.bucket).map_err(s3_error_of)?;
        // None is S3's name for the region that every client knows.
        good(GetBucketLocationOutput::default())
    }

    async fn list_buckets(&self, _: S3Request<ListBucketsInput>) -> Answer<ListBucketsOutput> {
        let told = |(name, created): (String, std::time::SystemTime)| Bucket {
            name: Some(name),
            creation_date: Some(created.into()),
            ..Bucket::default()
        };
        let buckets = self.store.bucket_names().into_iter().map(told).collect();
        good(ListBucketsOutput { buckets: Some(buckets), ..ListBucketsOutput::default() })
    }

    async fn list_objects(&self, request: S3Request<ListObjectsInput>) -> Answer<ListObjectsOutput> {
        lists::list_v1(&self.store, request.input).and_then(good)
    }

    async fn list_objects_v2(&self, request: S3Request<ListObjectsV2Input>) -> Answer<ListObjectsV2Output> {
        lists::list_v2(&self.store, &request.input).and_then(good)
    }

    async fn put_object(&self, request: S3Request<PutObjectInput>) -> Answer<PutObjectOutput> {
        objects::put(self, request).await.and_then(good)
    }

    async fn copy_object(&self, request: S3Request<CopyObjectInput>) -> Answer<CopyObjectOutput> {
        objects::copy(self, request.input).and_then(good)
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> Answer<GetObjectOutput> {
        objects::get(&self.store, &request).and_then(good)
    }

    async fn head_object(&self, request: S3Request<HeadObjectInput>) -> Answer<HeadObjectOutput> {
        objects::head(&self.store, &request.input).and_then(good)
    }

    async fn delete_object(&self, request: S3Request<DeleteObjectInput>) -> Answer<DeleteObjectOutput> {
        self.store.delete(&request.input.bucket, &request.input.key).map_err(s3_error_of)?;
        good(DeleteObjectOutput::default())
    }

    async fn delete_objects(&self, request: S3Request<DeleteObjectsInput>) -> Answer<DeleteObjectsOutput> {
        objects::delete_all(&self.store, request.input).and_then(good)
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> Answer<CreateMultipartUploadOutput> {
        multipart::create(&self.store, request.input).and_then(good)
    }

    async fn upload_part(&self, request: S3Request<UploadPartInput>) -> Answer<UploadPartOutput> {
        multipart::upload_part(&self.store, request).await.and_then(good)
    }

    async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> Answer<CompleteMultipartUploadOutput> {
        multipart::complete(self, request.input).and_then(good)
    }

    async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> Answer<AbortMultipartUploadOutput> {
        let AbortMultipartUploadInput { bucket, key, upload_id, .. } = request.input;
        self.store.abort(&bucket, &key, &upload_id).map_err(s3_error_of)?;
        good(AbortMultipartUploadOutput::default())
    }

    async fn list_parts(&self, request: S3Request<ListPartsInput>) -> Answer<ListPartsOutput> {
        multipart::list_parts(&self.store, request.input).and_then(good)
    }

    async fn list_multipart_uploads(
        &self,
        request: S3Request<ListMultipartUploadsInput>,
    ) -> Answer<ListMultipartUploadsOutput> {
        multipart::list_uploads(&self.store, &request.input).and_then(good)
    }
}

/// What a client is told when something cannot be done.
pub(super) fn s3_error_of(refused: Refused) -> S3Error {
    match refused {
        Refused::NoSuchBucket => s3_error!(NoSuchBucket),
        Refused::BucketExists => s3_error!(BucketAlreadyOwnedByYou),
        Refused::BucketNotEmpty => s3_error!(BucketNotEmpty),
        Refused::TooManyBuckets => s3_error!(TooManyBuckets),
        Refused::NoSuchKey => s3_error!(NoSuchKey),
        Refused::NoSuchUpload => s3_error!(NoSuchUpload),
        Refused::TooManyUploads => s3_error!(SlowDown, "10,000 multipart uploads of this bucket are under way"),
        Refused::BadPartNumber => s3_error!(InvalidArgument, "part numbers go from 1 to 10,000"),
        Refused::BadPart => s3_error!(InvalidPart),
        Refused::PartOrder => s3_error!(InvalidPartOrder),
        Refused::PartTooSmall => s3_error!(EntityTooSmall),
        Refused::Full(used) => full(used),
        Refused::Failed(error) => S3Error::with_source(S3ErrorCode::InternalError, Box::new(error)),
    }
}

/// S3 itself is never full: the name is ours, the status that of WebDAV, which says just this.
fn full(used: u64) -> S3Error {
    let message = format!("the store is full: {used} bytes are kept; delete objects, or raise --store-max");
    let mut error = S3Error::with_message(S3ErrorCode::Custom("StorageFull".into()), message);
    error.set_status_code(hyper::StatusCode::INSUFFICIENT_STORAGE);
    error
}
