//! Buckets, objects and multipart uploads.
//!
//! The index of what there is lies in memory, whatever the store; what differs is where bytes lie, and that a store in a
//! directory also writes a record of each bucket and object, so that a later server finds them again. Uploads that are
//! not complete end with the server.

mod disk;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::content::{Content, NotTaken, Room, Writing};
use super::listing::{Ask, Page, page};
use super::{S3Config, StoreIn};
use disk::{Disk, Record};

/// The most buckets, as on S3.
const BUCKETS_MAX: usize = 1000;
/// The most multipart uploads of one bucket that may be under way.
const UPLOADS_MAX: usize = 10_000;
/// The most parts of an upload, as on S3.
const PARTS_MAX: i32 = 10_000;
/// What every part but the last must have, as on S3.
const PART_BYTES_MIN: u64 = 5 << 20;

/// What is known of an object besides its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    pub(super) etag: String,
    pub(super) modified: SystemTime,
    /// Headers that the client gave: content type, encoding and so on.
    pub(super) headers: Headers,
    /// `x-amz-meta-…`
    pub(super) metadata: BTreeMap<String, String>,
    /// By name as in headers (`crc32`), in base64; those that were verified when it came.
    pub(super) checksums: BTreeMap<String, String>,
}

/// Headers that are kept with an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Headers {
    pub(super) content_type: Option<String>,
    pub(super) content_encoding: Option<String>,
    pub(super) content_disposition: Option<String>,
    pub(super) content_language: Option<String>,
    pub(super) cache_control: Option<String>,
}

/// An object that is stored.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) facts: Facts,
    pub(super) content: Content,
    /// The number of its record.
    record: u64,
}

/// A part of a multipart upload.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) facts: Facts,
    /// What the ETag says, as it is digested again.
    pub(super) md5: [u8; 16],
    pub(super) content: Content,
}

/// A multipart upload under way.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) key: String,
    pub(super) begun: SystemTime,
    headers: Headers,
    metadata: BTreeMap<String, String>,
    pub(super) parts: BTreeMap<i32, Arc<Part>>,
}

/// What a multipart upload came to.
#[derive(Debug)]
pub(super) struct Completed {
    pub(super) parts: Vec<Arc<Part>>,
    pub(super) headers: Headers,
    pub(super) metadata: BTreeMap<String, String>,
}

impl Upload {
    /// The parts that are named, if they make an object.
    fn choose(&self, named: &[(i32, Option<String>)]) -> Result<Vec<Arc<Part>>, Refused> {
        let mut parts: Vec<Arc<Part>> = Vec::with_capacity(named.len());
        let mut before = 0;
        for (number, etag) in named {
            if *number <= before {
                return Err(Refused::PartOrder);
            }
            before = *number;
            let part = self.parts.get(number).ok_or(Refused::BadPart)?;
            if etag.as_ref().is_some_and(|etag| *etag != part.facts.etag) {
                return Err(Refused::BadPart);
            }
            parts.push(Arc::clone(part));
        }
        let small = |part: &Arc<Part>| part.content.bytes() < PART_BYTES_MIN;
        match parts.split_last() {
            None => Err(Refused::BadPart),
            Some((_, others)) if others.iter().any(small) => Err(Refused::PartTooSmall),
            Some(_) => Ok(parts),
        }
    }
}

#[derive(Debug)]
struct Bucket {
    created: SystemTime,
    record: u64,
    objects: BTreeMap<String, Arc<Object>>,
    uploads: BTreeMap<String, Upload>,
}

/// Why something cannot be done.
#[derive(Debug)]
pub(super) enum Refused {
    NoSuchBucket,
    BucketExists,
    BucketNotEmpty,
    TooManyBuckets,
    NoSuchKey,
    NoSuchUpload,
    TooManyUploads,
    BadPartNumber,
    /// A part that is named was not uploaded, or is another one.
    BadPart,
    PartOrder,
    PartTooSmall,
    Full(u64),
    Failed(std::io::Error),
}

/// A store.
#[derive(Debug)]
pub(super) struct Store {
    buckets: Mutex<BTreeMap<String, Bucket>>,
    room: Arc<Room>,
    disk: Option<Disk>,
    /// For names of files, records and uploads.
    next: AtomicU64,
}

impl Store {
    pub(super) fn open(config: &S3Config) -> std::io::Result<Self> {
        let room = Room::new(config.store_max);
        let StoreIn::Directory(path) = &config.store else {
            return Ok(Self { buckets: Mutex::default(), room, disk: None, next: AtomicU64::new(1) });
        };
        let disk = Disk::open(path)?;
        let found = disk.load(&room)?;
        let mut buckets: BTreeMap<String, Bucket> = BTreeMap::new();
        let mut objects = Vec::new();
        for (number, record, content) in found.records {
            match record {
                Record::Bucket { name, created } => {
                    let (objects, uploads) = (BTreeMap::new(), BTreeMap::new());
                    buckets.insert(name, Bucket { created, record: number, objects, uploads });
                }
                Record::Object { bucket, key, facts, .. } => {
                    objects.push((bucket, key, Object { facts, content, record: number }));
                }
            }
        }
        for (bucket, key, object) in objects {
            if let Some(bucket) = buckets.get_mut(&bucket) {
                bucket.objects.insert(key, Arc::new(object));
            }
        }
        Ok(Self { buckets: Mutex::new(buckets), room, disk: Some(disk), next: AtomicU64::new(found.next) })
    }

    fn buckets(&self) -> MutexGuard<'_, BTreeMap<String, Bucket>> {
        // Nothing is left half done where a panic could strike.
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn refused(&self, error: NotTaken) -> Refused {
        match error {
            NotTaken::Full => Refused::Full(self.room.used()),
            NotTaken::Failed(error) => Refused::Failed(error),
        }
    }

    /// A place for new content.
    pub(super) fn writing(&self) -> Result<Writing, Refused> {
        match &self.disk {
            None => Ok(Writing::memory(&self.room)),
            Some(disk) => Writing::file(disk.data_path(self.number()), &self.room).map_err(|error| self.refused(error)),
        }
    }

    pub(super) fn create_bucket(&self, name: &str) -> Result<(), Refused> {
        let mut buckets = self.buckets();
        if buckets.contains_key(name) {
            return Err(Refused::BucketExists);
        }
        if buckets.len() >= BUCKETS_MAX {
            return Err(Refused::TooManyBuckets);
        }
        let (created, record) = (SystemTime::now(), self.number());
        self.write(record, || Record::Bucket { name: name.to_owned(), created })?;
        let (objects, uploads) = (BTreeMap::new(), BTreeMap::new());
        buckets.insert(name.to_owned(), Bucket { created, record, objects, uploads });
        Ok(())
    }

    pub(super) fn delete_bucket(&self, name: &str) -> Result<(), Refused> {
        let mut buckets = self.buckets();
        let bucket = buckets.get(name).ok_or(Refused::NoSuchBucket)?;
        if !bucket.objects.is_empty() {
            return Err(Refused::BucketNotEmpty);
        }
        self.erase(bucket.record)?;
        buckets.remove(name);
        Ok(())
    }

    pub(super) fn bucket_names(&self) -> Vec<(String, SystemTime)> {
        self.buckets().iter().map(|(name, bucket)| (name.clone(), bucket.created)).collect()
    }

    pub(super) fn has_bucket(&self, name: &str) -> Result<(), Refused> {
        if self.buckets().contains_key(name) { Ok(()) } else { Err(Refused::NoSuchBucket) }
    }

    pub(super) fn get(&self, bucket: &str, key: &str) -> Result<Arc<Object>, Refused> {
        let buckets = self.buckets();
        let bucket = buckets.get(bucket).ok_or(Refused::NoSuchBucket)?;
        bucket.objects.get(key).cloned().ok_or(Refused::NoSuchKey)
    }

    /// Stores an object, in place of any there was.
    pub(super) fn put(&self, bucket: &str, key: &str, facts: Facts, content: Content) -> Result<(), Refused> {
        let mut buckets = self.buckets();
        let there = buckets.get_mut(bucket).ok_or(Refused::NoSuchBucket)?;
        let record = self.number();
        self.write(record, || Record::object(bucket, key, &facts, &content))?;
        content.doom(false);
        let old = there.objects.insert(key.to_owned(), Arc::new(Object { facts, content, record }));
        self.give_up(old.as_deref())
    }

    /// Deletes an object; that there is none is as good.
    pub(super) fn delete(&self, bucket: &str, key: &str) -> Result<(), Refused> {
        let mut buckets = self.buckets();
        let bucket = buckets.get_mut(bucket).ok_or(Refused::NoSuchBucket)?;
        self.give_up(bucket.objects.remove(key).as_deref())
    }

    fn give_up(&self, object: Option<&Object>) -> Result<(), Refused> {
        let Some(object) = object else { return Ok(()) };
        object.content.doom(true);
        self.erase(object.record)
    }

    pub(super) fn list(&self, bucket: &str, ask: Ask<'_>) -> Result<Page<Arc<Object>>, Refused> {
        let buckets = self.buckets();
        Ok(page(&buckets.get(bucket).ok_or(Refused::NoSuchBucket)?.objects, ask))
    }

    /// Begins a multipart upload, and answers its name.
    pub(super) fn begin(
        &self,
        bucket: &str,
        key: &str,
        headers: Headers,
        metadata: BTreeMap<String, String>,
    ) -> Result<String, Refused> {
        let mut buckets = self.buckets();
        let bucket = buckets.get_mut(bucket).ok_or(Refused::NoSuchBucket)?;
        if bucket.uploads.len() >= UPLOADS_MAX {
            return Err(Refused::TooManyUploads);
        }
        let name = format!("{:016x}", self.number());
        let (begun, parts) = (SystemTime::now(), BTreeMap::new());
        bucket.uploads.insert(name.clone(), Upload { key: key.to_owned(), begun, headers, metadata, parts });
        Ok(name)
    }

    /// Looks at an upload.
    pub(super) fn with_upload<T>(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        look: impl FnOnce(&mut Upload) -> T,
    ) -> Result<T, Refused> {
        let mut buckets = self.buckets();
        let bucket = buckets.get_mut(bucket).ok_or(Refused::NoSuchBucket)?;
        let upload = bucket.uploads.get_mut(upload).filter(|upload| upload.key == key);
        upload.map(look).ok_or(Refused::NoSuchUpload)
    }

    /// Uploads of a bucket: names, keys and when they began.
    pub(super) fn uploads(&self, bucket: &str) -> Result<Vec<(String, String, SystemTime)>, Refused> {
        let buckets = self.buckets();
        let bucket = buckets.get(bucket).ok_or(Refused::NoSuchBucket)?;
        let mut uploads: Vec<_> =
            bucket.uploads.iter().map(|(name, upload)| (name.clone(), upload.key.clone(), upload.begun)).collect();
        uploads.sort_by(|a, b| (&a.1, &a.0).cmp(&(&b.1, &b.0)));
        Ok(uploads)
    }

    /// Keeps a part, in place of any there was under its number.
    pub(super) fn put_part(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        number: i32,
        part: Part,
    ) -> Result<(), Refused> {
        if !(1..=PARTS_MAX).contains(&number) {
            return Err(Refused::BadPartNumber);
        }
        self.with_upload(bucket, key, upload, |upload| {
            upload.parts.insert(number, Arc::new(part));
        })
    }

    /// Ends an upload with the named parts (numbers and ETags), in order; unless they are the right ones, it goes on.
    pub(super) fn complete(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        named: &[(i32, Option<String>)],
    ) -> Result<Completed, Refused> {
        let mut buckets = self.buckets();
        let bucket = buckets.get_mut(bucket).ok_or(Refused::NoSuchBucket)?;
        let there = bucket.uploads.get(upload).filter(|upload| upload.key == key).ok_or(Refused::NoSuchUpload)?;
        let parts = there.choose(named)?;
        let Upload { headers, metadata, .. } = bucket.uploads.remove(upload).ok_or(Refused::NoSuchUpload)?;
        Ok(Completed { parts, headers, metadata })
    }

    /// Ends an upload, and all its parts with it.
    pub(super) fn abort(&self, bucket: &str, key: &str, upload: &str) -> Result<(), Refused> {
        let mut buckets = self.buckets();
        let bucket = buckets.get_mut(bucket).ok_or(Refused::NoSuchBucket)?;
        if bucket.uploads.get(upload).is_none_or(|upload| upload.key != key) {
            return Err(Refused::NoSuchUpload);
        }
        bucket.uploads.remove(upload);
        Ok(())
    }

    fn write(&self, number: u64, record: impl FnOnce() -> Record) -> Result<(), Refused> {
        let Some(disk) = &self.disk else { return Ok(()) };
        disk.write(number, &record()).map_err(|error| self.refused(error.into()))
    }

    fn erase(&self, number: u64) -> Result<(), Refused> {
        let Some(disk) = &self.disk else { return Ok(()) };
        disk.erase(number).map_err(Refused::Failed)
    }
}

#[cfg(test)]
mod tests;
