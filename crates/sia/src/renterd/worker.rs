//! What the worker, which uploads and downloads, reports of itself.

use serde::Deserialize;

use crate::error::ParseError;
use crate::json;

/// `GET /api/worker/stats/uploads`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UploadStats {
    /// The mean speed of recent slabs in Mbit/s, rounded up to hundredths.
    pub avg_slab_upload_speed_mbps: f64,
    /// Sectors that were uploaded a second time because a host was slow, in percent.
    pub avg_overdrive_pct: f64,
    /// Hosts that accept uploads.
    pub healthy_uploaders: u64,
    /// All hosts with contracts.
    pub num_uploaders: u64,
}

impl UploadStats {
    /// Parses the body of `GET /api/worker/stats/uploads`.
    ///
    /// # Errors
    /// The body is not such a document.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/worker/stats/uploads of renterd", body)
    }
}

/// `GET /api/worker/memory`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Memory {
    /// Memory for downloads.
    pub download: MemoryOf,
    /// Memory for uploads. If none is available, uploads wait.
    pub upload: MemoryOf,
}

/// Memory for one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct MemoryOf {
    /// Bytes that are free.
    #[serde(rename = "available")]
    pub available_bytes: u64,
    /// All bytes.
    #[serde(rename = "total")]
    pub total_bytes: u64,
}

impl Memory {
    /// Parses the body of `GET /api/worker/memory`.
    ///
    /// # Errors
    /// The body is not such a document.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/worker/memory of renterd", body)
    }
}
