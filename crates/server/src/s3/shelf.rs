//! The store without S3. Stand-ins for other systems with buckets keep their objects in a shelf.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use hyper::body::Body;
use s3s::crypto::{Checksum, Md5};

use super::backend::Backend;
use super::config::{S3Config, StoreIn};
use super::content::Content;
use super::listing::{Entry, ListRequest, PAGE_MAX};
use super::receive::hex;
use super::store::Store;
use super::store::error::StoreError;
use super::store::objects::{Headers, Object, ObjectInfo, UploadedPart};
use crate::faults::FaultInjector;
use crate::hyper_front::request_body::{Broken, RequestBody};
use crate::hyper_front::service::ServiceBody;

/// Objects in buckets, in memory.
pub(crate) struct Shelf {
    backend: Backend,
}

/// The reason why a shelf refuses an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShelfError {
    NoSuchBucket,
    BucketExists,
    BucketNotEmpty,
    NoSuchObject,
    NoSuchUpload,
    NoSuchPart,
    /// A limit of the shelf: its quota, or the number of buckets, uploads or parts.
    Limit(String),
}

/// An object, apart from its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) key: String,
    pub(crate) bytes: u64,
    /// MD5 in hexadecimal, or the tag computed when an upload was completed.
    pub(crate) etag: String,
    pub(crate) modified: SystemTime,
    pub(crate) media_type: Option<String>,
    pub(crate) metadata: BTreeMap<String, String>,
}

/// An entry of a listing: an object, or the common prefix of several objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listed {
    Item(Item),
    Prefix(String),
}

/// A part of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartItem {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    pub(crate) etag: String,
    pub(crate) modified: SystemTime,
}

/// An incomplete upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UploadItem {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) begun: SystemTime,
}

/// Received content that does not belong to an object yet.
pub(crate) struct Received {
    content: Content,
    md5: [u8; 16],
}

impl Received {
    pub(crate) fn bytes(&self) -> u64 {
        self.content.bytes()
    }

    /// Returns the content's MD5 in hexadecimal.
    pub(crate) fn etag(&self) -> String {
        hex(&self.md5)
    }
}

/// The reason why a body could not be received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReceiveError {
    /// The request broke off.
    Broken,
    Refused(ShelfError),
}

impl From<Broken> for ReceiveError {
    fn from(Broken: Broken) -> Self {
        Self::Broken
    }
}

impl From<StoreError> for ShelfError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSuchBucket => Self::NoSuchBucket,
            StoreError::BucketExists => Self::BucketExists,
            StoreError::BucketNotEmpty => Self::BucketNotEmpty,
            StoreError::NoSuchKey => Self::NoSuchObject,
            StoreError::NoSuchUpload => Self::NoSuchUpload,
            StoreError::BadPart | StoreError::PartOrder | StoreError::PartTooSmall => Self::NoSuchPart,
            StoreError::BadPartNumber => Self::Limit("part_number must be between 1 and 10000".to_owned()),
            StoreError::TooManyBuckets => Self::Limit("the stand-in has at most 1000 buckets".to_owned()),
            StoreError::TooManyUploads => Self::Limit("the stand-in has at most 10,000 uploads per bucket".to_owned()),
            StoreError::Full(used) => Self::Limit(format!("the stand-in is full with {used} bytes")),
            StoreError::Failed(error) => Self::Limit(error.to_string()),
        }
    }
}

impl Shelf {
    /// Creates an empty shelf for at most `bytes_max` bytes. The fault injector decides which objects it loses.
    pub(crate) fn new(bytes_max: u64, faults: Arc<FaultInjector>) -> std::io::Result<Self> {
        let (access_key, secret_key) = (String::new(), String::new());
        let config =
            S3Config { store: StoreIn::Memory, store_max: Some(bytes_max), bucket: None, access_key, secret_key };
        Ok(Self { backend: Backend { store: Store::open(&config)?, faults } })
    }

    fn store(&self) -> &Store {
        &self.backend.store
    }

    pub(crate) fn create_bucket(&self, name: &str) -> Result<(), ShelfError> {
        Ok(self.store().create_bucket(name)?)
    }

    pub(crate) fn delete_bucket(&self, name: &str) -> Result<(), ShelfError> {
        Ok(self.store().delete_bucket(name)?)
    }

    /// Returns the buckets with their creation times, sorted by name.
    pub(crate) fn buckets(&self) -> Vec<(String, SystemTime)> {
        self.store().bucket_names()
    }

    /// Reads a body to its end. A body that exceeds the quota is also read to its end before it is refused, so that the
    /// client can read the response.
    pub(crate) async fn receive(&self, body: RequestBody) -> Result<Received, ReceiveError> {
        let mut writer = self.store().writer().map_err(|error| ReceiveError::Refused(error.into()))?;
        let (mut md5, mut failed) = (Md5::new(), None);
        body.read(|piece| {
            if failed.is_none() {
                md5.update(piece);
                failed = writer.write(piece).err();
            }
        })
        .await?;
        match failed {
            None => Ok(Received { content: writer.finish(), md5: md5.finalize() }),
            Some(error) => Err(ReceiveError::Refused(self.store().error_of(error).into())),
        }
    }

    /// Stores an object. An object that the fault injector loses is acknowledged but not stored.
    pub(crate) fn put(
        &self,
        bucket: &str,
        key: &str,
        received: Received,
        media_type: Option<String>,
        metadata: BTreeMap<String, String>,
    ) -> Result<(), ShelfError> {
        let info = info(received.etag(), media_type, metadata);
        Ok(self.backend.put(bucket, key, info, received.content)?)
    }

    pub(crate) fn get(&self, bucket: &str, key: &str) -> Result<Item, ShelfError> {
        let object = self.store().get(bucket, key)?;
        Ok(item(key, &object))
    }

    /// Returns a range of an object's content.
    pub(crate) fn read(&self, bucket: &str, key: &str, first: u64, length: u64) -> Result<ServiceBody, ShelfError> {
        let object = self.store().get(bucket, key)?;
        let body: Pin<Box<dyn Body<Data = _, Error = _> + Send>> = Box::pin(object.content.read(first, length));
        Ok(body)
    }

    pub(crate) fn delete(&self, bucket: &str, key: &str) -> Result<Item, ShelfError> {
        let found = self.get(bucket, key)?;
        self.store().delete(bucket, key)?;
        Ok(found)
    }

    /// Returns up to `most` names that sort after `after`, and whether more names follow. For an unknown bucket, the
    /// list is empty.
    pub(crate) fn list(
        &self,
        bucket: &str,
        prefix: &str,
        delimiter: &str,
        after: &str,
        most: usize,
    ) -> (Vec<Listed>, bool) {
        let (mut listed, mut after) = (Vec::new(), after.to_owned());
        loop {
            let wanted = (most - listed.len()).min(PAGE_MAX);
            let Ok(page) = self.store().list(bucket, ListRequest { prefix, delimiter, after: &after, most: wanted })
            else {
                return (listed, false);
            };
            let next = page.next().map(str::to_owned);
            listed.extend(page.entries.into_iter().map(|entry| match entry {
                Entry::Key(key, object) => Listed::Item(item(&key, &object)),
                Entry::Prefix(prefix) => Listed::Prefix(prefix),
            }));
            match next {
                Some(next) if listed.len() < most => after = next,
                next => return (listed, next.is_some()),
            }
        }
    }

    /// Begins an upload and returns its ID.
    pub(crate) fn begin(
        &self,
        bucket: &str,
        key: &str,
        media_type: Option<String>,
        metadata: BTreeMap<String, String>,
    ) -> Result<String, ShelfError> {
        let headers = Headers { content_type: media_type, ..Headers::default() };
        Ok(self.store().begin(bucket, key, headers, metadata)?)
    }

    /// Returns the incomplete uploads of a bucket, sorted by key. For an unknown bucket, the list is empty.
    pub(crate) fn uploads(&self, bucket: &str) -> Vec<UploadItem> {
        let uploads = self.store().uploads(bucket).unwrap_or_default();
        uploads.into_iter().map(|(name, key, begun)| UploadItem { name, key, begun }).collect()
    }

    /// Returns the parts of an upload, sorted by number.
    pub(crate) fn parts(&self, bucket: &str, key: &str, upload: &str) -> Result<Vec<PartItem>, ShelfError> {
        let parts = self.store().with_upload(bucket, key, upload, |upload| upload.parts.clone())?;
        let part = |(number, part): (i32, Arc<UploadedPart>)| PartItem {
            number: u64::try_from(number).unwrap_or(0),
            bytes: part.content.bytes(),
            etag: part.info.etag.clone(),
            modified: part.info.modified,
        };
        Ok(parts.into_iter().map(part).collect())
    }

    pub(crate) fn put_part(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        number: u64,
        received: Received,
    ) -> Result<(), ShelfError> {
        let number = i32::try_from(number).unwrap_or(i32::MAX);
        let info = info(received.etag(), None, BTreeMap::new());
        let part = UploadedPart { info, md5: received.md5, content: received.content };
        Ok(self.store().put_part(bucket, key, upload, number, part)?)
    }

    /// Completes an upload with all its parts, regardless of their sizes. `etag_of` computes the ETag from the parts'
    /// ETags.
    pub(crate) fn complete(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        etag_of: impl FnOnce(&[String]) -> String,
    ) -> Result<Item, ShelfError> {
        let found = self.store().with_upload(bucket, key, upload, |upload| {
            (upload.parts.clone(), upload.headers.clone(), upload.metadata.clone())
        });
        let (parts, headers, metadata) = found?;
        // If two requests complete the same upload, one of them fails here.
        self.store().abort(bucket, key, upload)?;
        let (mut content, mut etags) = (Content::default(), Vec::with_capacity(parts.len()));
        for part in parts.into_values() {
            content.append(&part.content);
            etags.push(part.info.etag.clone());
        }
        let info = ObjectInfo { headers, ..info(etag_of(&etags), None, metadata) };
        let stored = item_of(key, content.bytes(), &info);
        self.backend.put(bucket, key, info, content)?;
        Ok(stored)
    }

    pub(crate) fn abort(&self, bucket: &str, key: &str, upload: &str) -> Result<(), ShelfError> {
        Ok(self.store().abort(bucket, key, upload)?)
    }
}

fn info(etag: String, media_type: Option<String>, metadata: BTreeMap<String, String>) -> ObjectInfo {
    let headers = Headers { content_type: media_type, ..Headers::default() };
    ObjectInfo { etag, modified: SystemTime::now(), headers, metadata, checksums: BTreeMap::new() }
}

fn item(key: &str, object: &Object) -> Item {
    item_of(key, object.content.bytes(), &object.info)
}

fn item_of(key: &str, bytes: u64, info: &ObjectInfo) -> Item {
    let ObjectInfo { etag, modified, headers, metadata, .. } = info.clone();
    Item { key: key.to_owned(), bytes, etag, modified, media_type: headers.content_type, metadata }
}
