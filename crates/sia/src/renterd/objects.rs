//! Objects, their buckets, and their totals.

use serde::Deserialize;

use crate::error::ParseError;
use crate::json;

/// Maximum number of objects on one page.
const OBJECTS_MAX: usize = 1_000_000;

/// `GET /api/bus/stats/objects`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectStats {
    /// The number of objects.
    pub num_objects: u64,
    /// The number of open multipart uploads.
    pub num_unfinished_objects: u64,
    /// The health of the least healthy object, from 0 to 1.
    pub min_health: f64,
    /// The sum of the sizes of all objects (file bytes).
    #[serde(rename = "totalObjectsSize")]
    pub objects_bytes: u64,
    /// The sum of the sizes of all parts of open multipart uploads.
    #[serde(rename = "totalUnfinishedObjectsSize")]
    pub unfinished_bytes: u64,
    /// Bytes of the slabs on hosts, with redundancy (absolute bytes). Data that is waiting to be packed is not
    /// included.
    #[serde(rename = "totalSectorsSize")]
    pub sectors_bytes: u64,
    /// Total data in active contracts. Data of deleted objects is included until it is pruned, so this number can be
    /// larger than the bytes of the slabs.
    #[serde(rename = "totalUploadedSize")]
    pub contracts_bytes: u64,
}

impl ObjectStats {
    /// Parses the body of `GET /api/bus/stats/objects`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/bus/stats/objects of renterd", body)
    }
}

/// A buffer with content that waits until it fills a slab.
#[derive(Deserialize)]
struct SlabBuffer {
    #[serde(rename = "size")]
    bytes: u64,
}

/// Returns the bytes that wait to be packed into slabs, from the body of `GET /api/bus/slabbuffers`. These bytes are
/// not on hosts yet.
///
/// # Errors
/// Returns an error if the body is not a valid list.
pub fn waiting_bytes(body: &[u8]) -> Result<u64, ParseError> {
    let buffers: Vec<SlabBuffer> = json::parse_list("GET /api/bus/slabbuffers of renterd", body)?;
    Ok(buffers.iter().fold(0, |sum, buffer| sum.saturating_add(buffer.bytes)))
}

/// `GET /api/bus/objects/PREFIX`: a page of objects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectPage {
    /// `true` if there are more objects.
    pub has_more: bool,
    /// The `marker` parameter for the next page.
    pub next_marker: String,
    /// The objects.
    #[serde(deserialize_with = "json::list::<_, _, OBJECTS_MAX>")]
    pub objects: Vec<ObjectInfo>,
}

/// An object.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectInfo {
    /// The object's bucket.
    pub bucket: String,
    /// The object's key. Most keys begin with a slash.
    pub key: String,
    /// The object's size in bytes.
    #[serde(rename = "size")]
    pub bytes: u64,
    /// The share of the redundancy that is available, from 0 to 1.
    pub health: f64,
    /// MD5 of the content, or a hash over the MD5s of the parts. Empty if renterd omits the field.
    #[serde(default)]
    pub e_tag: String,
    /// Time at which the object was stored.
    pub mod_time: String,
}

impl ObjectPage {
    /// Parses the body of `GET /api/bus/objects/PREFIX`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/bus/objects of renterd", body)
    }
}

/// A bucket.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Bucket {
    /// The bucket's name.
    pub name: String,
}

/// Parses the body of `GET /api/bus/buckets`. A new renterd has no buckets.
///
/// # Errors
/// Returns an error if the body is not a valid list.
pub fn buckets(body: &[u8]) -> Result<Vec<Bucket>, ParseError> {
    json::parse_list("GET /api/bus/buckets of renterd", body)
}
