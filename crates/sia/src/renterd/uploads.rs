//! Multipart uploads.

use serde::Deserialize;

use crate::error::ParseError;
use crate::json;

/// Maximum number of parts in one response.
const PARTS_MAX: usize = 10_000;

/// `POST /api/bus/multipart/create`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CreatedUpload {
    /// The ID of the upload.
    #[serde(rename = "uploadID")]
    pub upload_id: String,
}

impl CreatedUpload {
    /// Parses the body of `POST /api/bus/multipart/create`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("POST /api/bus/multipart/create of renterd", body)
    }
}

/// `POST /api/bus/multipart/complete`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CompletedUpload {
    /// The object's entity tag.
    #[serde(rename = "eTag")]
    pub e_tag: String,
}

impl CompletedUpload {
    /// Parses the body of `POST /api/bus/multipart/complete`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("POST /api/bus/multipart/complete of renterd", body)
    }
}

/// `POST /api/bus/multipart/listparts`: a page of the list of parts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parts {
    /// `true` if there are more parts.
    pub has_more: bool,
    /// The `partNumberMarker` parameter for the next page.
    pub next_marker: u64,
    /// The parts, sorted by number.
    #[serde(deserialize_with = "json::list::<_, _, PARTS_MAX>")]
    pub parts: Vec<Part>,
}

/// A part of an upload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// The part's number, starting at 1.
    pub part_number: u64,
    /// MD5 of the part's content.
    pub e_tag: String,
    /// The part's size in bytes.
    #[serde(rename = "size")]
    pub bytes: u64,
}

impl Parts {
    /// Parses the body of `POST /api/bus/multipart/listparts`. For an unknown upload, the list is empty.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("POST /api/bus/multipart/listparts of renterd", body)
    }
}

/// `POST /api/bus/multipart/listuploads`: a page of open uploads.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenUploads {
    /// `true` if there are more uploads.
    pub has_more: bool,
    /// The `keyMarker` parameter for the next page.
    pub next_marker: String,
    /// The `uploadIDMarker` parameter for the next page.
    #[serde(rename = "nextUploadIDMarker")]
    pub next_upload_id_marker: String,
    /// The uploads, sorted by key.
    #[serde(deserialize_with = "json::list::<_, _, { json::ENTRIES_MAX }>")]
    pub uploads: Vec<OpenUpload>,
}

/// An open upload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenUpload {
    /// The bucket of the object.
    pub bucket: String,
    /// The key of the object.
    pub key: String,
    /// The ID of the upload.
    #[serde(rename = "uploadID")]
    pub upload_id: String,
    /// Time at which the upload was created.
    pub created_at: String,
}

impl OpenUploads {
    /// Parses the body of `POST /api/bus/multipart/listuploads`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("POST /api/bus/multipart/listuploads of renterd", body)
    }
}
