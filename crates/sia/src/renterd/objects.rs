//! Objects, their buckets, and their sums.

use serde::Deserialize;

use crate::error::ParseError;
use crate::json;

/// The most objects of one page.
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
    /// The sum of the objects' sizes: file bytes.
    #[serde(rename = "totalObjectsSize")]
    pub objects_bytes: u64,
    /// The sum of the parts of open multipart uploads.
    #[serde(rename = "totalUnfinishedObjectsSize")]
    pub unfinished_bytes: u64,
    /// Bytes of the slabs on hosts, with redundancy: absolute bytes. What waits for packing is not among them.
    #[serde(rename = "totalSectorsSize")]
    pub sectors_bytes: u64,
    /// The size of active contracts. It includes data of deleted objects that is not pruned, so it is no measure of
    /// what was stored for the objects.
    #[serde(rename = "totalUploadedSize")]
    pub contracts_bytes: u64,
}

impl ObjectStats {
    /// Parses the body of `GET /api/bus/stats/objects`.
    ///
    /// # Errors
    /// The body is not such a document.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/bus/stats/objects of renterd", body)
    }
}

/// `GET /api/bus/objects/PREFIX`: a page of objects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectPage {
    /// Whether there are more.
    pub has_more: bool,
    /// The `marker` of the next page.
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
    /// The object's name. Most begin with a slash.
    pub key: String,
    /// The object's size.
    #[serde(rename = "size")]
    pub bytes: u64,
    /// The share of its redundancy that is there, from 0 to 1.
    pub health: f64,
    /// MD5 of the content, or a hash over parts. Left out by renterd if it is empty.
    #[serde(default)]
    pub e_tag: String,
    /// When the object was stored.
    pub mod_time: String,
}

impl ObjectPage {
    /// Parses the body of `GET /api/bus/objects/PREFIX`.
    ///
    /// # Errors
    /// The body is not such a document.
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

/// Parses the body of `GET /api/bus/buckets`. A new renterd has none.
///
/// # Errors
/// The body is not such a list.
pub fn buckets(body: &[u8]) -> Result<Vec<Bucket>, ParseError> {
    json::parse_list("GET /api/bus/buckets of renterd", body)
}
