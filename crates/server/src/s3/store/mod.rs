//! Buckets, objects and multipart uploads.
//!
//! Every store keeps its index in memory. A store in a directory keeps content in files, and also writes a record of
//! each bucket and object, so that a later server can load them. Unfinished uploads are lost when the server ends.

mod disk;
pub(super) mod error;
pub(super) mod objects;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::config::{S3Config, StoreIn};
use super::content::Content;
use super::content::quota::{Quota, WriteError};
use super::content::writer::ContentWriter;
use super::listing::{ListRequest, Page, page};
use disk::{Disk, Record};
pub(super) use error::StoreError;
use objects::{Completed, Headers, Object, ObjectInfo, Upload, UploadedPart};

/// Maximum number of buckets, as on S3.
const BUCKETS_MAX: usize = 1000;
/// Maximum number of unfinished multipart uploads in one bucket.
const UPLOADS_MAX: usize = 10_000;
/// Maximum number of parts of an upload, as on S3.
const PARTS_MAX: i32 = 10_000;
#[derive(Debug)]
struct Bucket {
    created: SystemTime,
    record: u64,
    objects: BTreeMap<String, Arc<Object>>,
    uploads: BTreeMap<String, Upload>,
}

/// A store of buckets, objects and multipart uploads.
#[derive(Debug)]
pub(super) struct Store {
    buckets: Mutex<BTreeMap<String, Bucket>>,
    quota: Arc<Quota>,
    disk: Option<Disk>,
    /// The next number for file names, records and uploads.
    next: AtomicU64,
}

impl Store {
    pub(super) fn open(config: &S3Config) -> std::io::Result<Self> {
        let quota = Quota::new(config.store_max);
        let StoreIn::Directory(path) = &config.store else {
            return Ok(Self { buckets: Mutex::default(), quota, disk: None, next: AtomicU64::new(1) });
        };
        let disk = Disk::open(path)?;
        let found = disk.load(&quota)?;
        let mut buckets: BTreeMap<String, Bucket> = BTreeMap::new();
        let mut objects = Vec::new();
        for (number, record, content) in found.records {
            match record {
                Record::Bucket { name, created } => {
                    let (objects, uploads) = (BTreeMap::new(), BTreeMap::new());
                    buckets.insert(name, Bucket { created, record: number, objects, uploads });
                }
                Record::Object { bucket, key, info, .. } => {
                    objects.push((bucket, key, Object { info, content, record: number }));
                }
            }
        }
        for (bucket, key, object) in objects {
            if let Some(bucket) = buckets.get_mut(&bucket) {
                bucket.objects.insert(key, Arc::new(object));
            }
        }
        Ok(Self { buckets: Mutex::new(buckets), quota, disk: Some(disk), next: AtomicU64::new(found.next) })
    }

    fn buckets(&self) -> MutexGuard<'_, BTreeMap<String, Bucket>> {
        // A poisoned lock is still usable, because no code panics in the middle of a change.
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Converts an error of writing to an error of the store.
    pub(super) fn error_of(&self, error: WriteError) -> StoreError {
        match error {
            WriteError::Full => StoreError::Full(self.quota.used()),
            WriteError::Failed(error) => StoreError::Failed(error),
        }
    }

    /// Returns a writer for new content.
    pub(super) fn writer(&self) -> Result<ContentWriter, StoreError> {
        match &self.disk {
            None => Ok(ContentWriter::memory(&self.quota)),
            Some(disk) => {
                ContentWriter::file(disk.data_path(self.number()), &self.quota).map_err(|error| self.error_of(error))
            }
        }
    }

    pub(super) fn create_bucket(&self, name: &str) -> Result<(), StoreError> {
        let mut buckets = self.buckets();
        if buckets.contains_key(name) {
            return Err(StoreError::BucketExists);
        }
        if buckets.len() >= BUCKETS_MAX {
            return Err(StoreError::TooManyBuckets);
        }
        let (created, record) = (SystemTime::now(), self.number());
        self.write(record, || Record::Bucket { name: name.to_owned(), created })?;
        let (objects, uploads) = (BTreeMap::new(), BTreeMap::new());
        buckets.insert(name.to_owned(), Bucket { created, record, objects, uploads });
        Ok(())
    }

    pub(super) fn delete_bucket(&self, name: &str) -> Result<(), StoreError> {
        let mut buckets = self.buckets();
        let bucket = buckets.get(name).ok_or(StoreError::NoSuchBucket)?;
        if !bucket.objects.is_empty() {
            return Err(StoreError::BucketNotEmpty);
        }
        self.erase(bucket.record)?;
        buckets.remove(name);
        Ok(())
    }

    pub(super) fn bucket_names(&self) -> Vec<(String, SystemTime)> {
        self.buckets().iter().map(|(name, bucket)| (name.clone(), bucket.created)).collect()
    }

    pub(super) fn has_bucket(&self, name: &str) -> Result<(), StoreError> {
        if self.buckets().contains_key(name) { Ok(()) } else { Err(StoreError::NoSuchBucket) }
    }

    pub(super) fn get(&self, bucket: &str, key: &str) -> Result<Arc<Object>, StoreError> {
        let buckets = self.buckets();
        let bucket = buckets.get(bucket).ok_or(StoreError::NoSuchBucket)?;
        bucket.objects.get(key).cloned().ok_or(StoreError::NoSuchKey)
    }

    /// Stores an object, replacing an object with the same key.
    pub(super) fn put(&self, bucket: &str, key: &str, info: ObjectInfo, content: Content) -> Result<(), StoreError> {
        let mut buckets = self.buckets();
        let stored_in = buckets.get_mut(bucket).ok_or(StoreError::NoSuchBucket)?;
        let record = self.number();
        self.write(record, || Record::object(bucket, key, &info, &content))?;
        content.set_removed_after_use(false);
        let old = stored_in.objects.insert(key.to_owned(), Arc::new(Object { info, content, record }));
        self.discard(old.as_deref())
    }

    /// Deletes an object, if it exists.
    pub(super) fn delete(&self, bucket: &str, key: &str) -> Result<(), StoreError> {
        let mut buckets = self.buckets();
        let bucket = buckets.get_mut(bucket).ok_or(StoreError::NoSuchBucket)?;
        self.discard(bucket.objects.remove(key).as_deref())
    }

    /// Removes an object's record, and its content after the last reader has finished.
    fn discard(&self, object: Option<&Object>) -> Result<(), StoreError> {
        let Some(object) = object else { return Ok(()) };
        object.content.set_removed_after_use(true);
        self.erase(object.record)
    }

    pub(super) fn list(&self, bucket: &str, request: ListRequest<'_>) -> Result<Page<Arc<Object>>, StoreError> {
        let buckets = self.buckets();
        Ok(page(&buckets.get(bucket).ok_or(StoreError::NoSuchBucket)?.objects, request))
    }

    /// Begins a multipart upload and returns its ID.
    pub(super) fn begin(
        &self,
        bucket: &str,
        key: &str,
        headers: Headers,
        metadata: BTreeMap<String, String>,
    ) -> Result<String, StoreError> {
        let mut buckets = self.buckets();
        let bucket = buckets.get_mut(bucket).ok_or(StoreError::NoSuchBucket)?;
        if bucket.uploads.len() >= UPLOADS_MAX {
            return Err(StoreError::TooManyUploads);
        }
        let name = format!("{:016x}", self.number());
        let (begun, parts) = (SystemTime::now(), BTreeMap::new());
        bucket.uploads.insert(name.clone(), Upload { key: key.to_owned(), begun, headers, metadata, parts });
        Ok(name)
    }

    /// Calls `look` with an upload and returns the result of `look`.
    pub(super) fn with_upload<T>(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        look: impl FnOnce(&mut Upload) -> T,
    ) -> Result<T, StoreError> {
        let mut buckets = self.buckets();
        let bucket = buckets.get_mut(bucket).ok_or(StoreError::NoSuchBucket)?;
        let upload = bucket.uploads.get_mut(upload).filter(|upload| upload.key == key);
        upload.map(look).ok_or(StoreError::NoSuchUpload)
    }

    /// Returns the ID, key and start time of each upload of a bucket, sorted by key.
    pub(super) fn uploads(&self, bucket: &str) -> Result<Vec<(String, String, SystemTime)>, StoreError> {
        let buckets = self.buckets();
        let bucket = buckets.get(bucket).ok_or(StoreError::NoSuchBucket)?;
        let mut uploads: Vec<_> =
            bucket.uploads.iter().map(|(name, upload)| (name.clone(), upload.key.clone(), upload.begun)).collect();
        uploads.sort_by(|a, b| (&a.1, &a.0).cmp(&(&b.1, &b.0)));
        Ok(uploads)
    }

    /// Stores a part, replacing a part with the same number.
    pub(super) fn put_part(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        number: i32,
        part: UploadedPart,
    ) -> Result<(), StoreError> {
        if !(1..=PARTS_MAX).contains(&number) {
            return Err(StoreError::BadPartNumber);
        }
        self.with_upload(bucket, key, upload, |upload| {
            upload.parts.insert(number, Arc::new(part));
        })
    }

    /// Completes an upload with the listed parts (numbers and ETags). If the list is not valid, the upload stays open.
    pub(super) fn complete(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        named: &[(i32, Option<String>)],
    ) -> Result<Completed, StoreError> {
        let mut buckets = self.buckets();
        let bucket = buckets.get_mut(bucket).ok_or(StoreError::NoSuchBucket)?;
        let found = bucket.uploads.get(upload).filter(|upload| upload.key == key).ok_or(StoreError::NoSuchUpload)?;
        let parts = found.choose(named)?;
        let Upload { headers, metadata, .. } = bucket.uploads.remove(upload).ok_or(StoreError::NoSuchUpload)?;
        Ok(Completed { parts, headers, metadata })
    }

    /// Aborts an upload and discards its parts.
    pub(super) fn abort(&self, bucket: &str, key: &str, upload: &str) -> Result<(), StoreError> {
        let mut buckets = self.buckets();
        let bucket = buckets.get_mut(bucket).ok_or(StoreError::NoSuchBucket)?;
        if bucket.uploads.get(upload).is_none_or(|upload| upload.key != key) {
            return Err(StoreError::NoSuchUpload);
        }
        bucket.uploads.remove(upload);
        Ok(())
    }

    fn write(&self, number: u64, record: impl FnOnce() -> Record) -> Result<(), StoreError> {
        let Some(disk) = &self.disk else { return Ok(()) };
        disk.write(number, &record()).map_err(|error| self.error_of(error.into()))
    }

    fn erase(&self, number: u64) -> Result<(), StoreError> {
        let Some(disk) = &self.disk else { return Ok(()) };
        disk.erase(number).map_err(StoreError::Failed)
    }
}

#[cfg(test)]
mod tests;
