//! The S3 calls, which use the store. Each kind of call has its own file. This file connects them to `s3s`.

mod lists;
mod multipart;
mod objects;

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
use s3s::{S3, S3Request, S3Response, S3Result};

use super::backend::Backend;
use super::errors::s3_error_of;

/// The result of a call.
type CallResult<T> = S3Result<S3Response<T>>;

fn respond<T>(output: T) -> CallResult<T> {
    Ok(S3Response::new(output))
}

#[async_trait::async_trait]
impl S3 for Backend {
    async fn create_bucket(&self, request: S3Request<CreateBucketInput>) -> CallResult<CreateBucketOutput> {
        let name = &request.input.bucket;
        self.store.create_bucket(name).map_err(s3_error_of)?;
        respond(CreateBucketOutput { location: Some(format!("/{name}")) })
    }

    async fn delete_bucket(&self, request: S3Request<DeleteBucketInput>) -> CallResult<DeleteBucketOutput> {
        self.store.delete_bucket(&request.input.bucket).map_err(s3_error_of)?;
        respond(DeleteBucketOutput::default())
    }

    async fn head_bucket(&self, request: S3Request<HeadBucketInput>) -> CallResult<HeadBucketOutput> {
        self.store.has_bucket(&request.input.bucket).map_err(s3_error_of)?;
        respond(HeadBucketOutput::default())
    }

    async fn get_bucket_location(
        &self,
        request: S3Request<GetBucketLocationInput>,
    ) -> CallResult<GetBucketLocationOutput> {
        self.store.has_bucket(&request.input.bucket).map_err(s3_error_of)?;
        // S3 reports its default region by omitting the region.
        respond(GetBucketLocationOutput::default())
    }

    async fn list_buckets(&self, _: S3Request<ListBucketsInput>) -> CallResult<ListBucketsOutput> {
        let listed = |(name, created): (String, std::time::SystemTime)| Bucket {
            name: Some(name),
            creation_date: Some(created.into()),
            ..Bucket::default()
        };
        let buckets = self.store.bucket_names().into_iter().map(listed).collect();
        respond(ListBucketsOutput { buckets: Some(buckets), ..ListBucketsOutput::default() })
    }

    async fn list_objects(&self, request: S3Request<ListObjectsInput>) -> CallResult<ListObjectsOutput> {
        lists::list_v1(&self.store, request.input).and_then(respond)
    }

    async fn list_objects_v2(&self, request: S3Request<ListObjectsV2Input>) -> CallResult<ListObjectsV2Output> {
        lists::list_v2(&self.store, &request.input).and_then(respond)
    }

    async fn put_object(&self, request: S3Request<PutObjectInput>) -> CallResult<PutObjectOutput> {
        objects::put(self, request).await.and_then(respond)
    }

    async fn copy_object(&self, request: S3Request<CopyObjectInput>) -> CallResult<CopyObjectOutput> {
        objects::copy(self, request.input).and_then(respond)
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> CallResult<GetObjectOutput> {
        objects::get(&self.store, &request).and_then(respond)
    }

    async fn head_object(&self, request: S3Request<HeadObjectInput>) -> CallResult<HeadObjectOutput> {
        objects::head(&self.store, &request.input).and_then(respond)
    }

    async fn delete_object(&self, request: S3Request<DeleteObjectInput>) -> CallResult<DeleteObjectOutput> {
        self.store.delete(&request.input.bucket, &request.input.key).map_err(s3_error_of)?;
        respond(DeleteObjectOutput::default())
    }

    async fn delete_objects(&self, request: S3Request<DeleteObjectsInput>) -> CallResult<DeleteObjectsOutput> {
        objects::delete_all(&self.store, request.input).and_then(respond)
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> CallResult<CreateMultipartUploadOutput> {
        multipart::create(&self.store, request.input).and_then(respond)
    }

    async fn upload_part(&self, request: S3Request<UploadPartInput>) -> CallResult<UploadPartOutput> {
        multipart::upload_part(&self.store, request).await.and_then(respond)
    }

    async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> CallResult<CompleteMultipartUploadOutput> {
        multipart::complete(self, request.input).and_then(respond)
    }

    async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> CallResult<AbortMultipartUploadOutput> {
        let AbortMultipartUploadInput { bucket, key, upload_id, .. } = request.input;
        self.store.abort(&bucket, &key, &upload_id).map_err(s3_error_of)?;
        respond(AbortMultipartUploadOutput::default())
    }

    async fn list_parts(&self, request: S3Request<ListPartsInput>) -> CallResult<ListPartsOutput> {
        multipart::list_parts(&self.store, request.input).and_then(respond)
    }

    async fn list_multipart_uploads(
        &self,
        request: S3Request<ListMultipartUploadsInput>,
    ) -> CallResult<ListMultipartUploadsOutput> {
        multipart::list_uploads(&self.store, &request.input).and_then(respond)
    }
}
