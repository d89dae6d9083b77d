//! Statistics of the worker, which is the component of renterd that uploads and downloads.

use serde::Deserialize;

use crate::error::ParseError;
use crate::json;

/// `GET /api/worker/stats/uploads`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UploadStats {
    /// The mean speed of recent slabs in Mbit/s, rounded up to hundredths.
    pub avg_slab_upload_speed_mbps: f64,
    /// Percentage of sectors that were uploaded a second time because a host was slow.
    pub avg_overdrive_pct: f64,
    /// Hosts that accept uploads.
    pub healthy_uploaders: u64,
    /// All hosts with a contract.
    pub num_uploaders: u64,
}

impl UploadStats {
    /// Parses the body of `GET /api/worker/stats/uploads`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/worker/stats/uploads of renterd", body)
    }
}

/// `GET /api/worker/memory`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Memory {
    /// Memory for downloads.
    pub download: MemoryOf,
    /// Memory for uploads. Uploads wait while no memory is available.
    pub upload: MemoryOf,
}

/// Memory for downloads or for uploads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct MemoryOf {
    /// Free bytes.
    #[serde(rename = "available")]
    pub available_bytes: u64,
    /// Total bytes.
    #[serde(rename = "total")]
    pub total_bytes: u64,
}

impl Memory {
    /// Parses the body of `GET /api/worker/memory`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/worker/memory of renterd", body)
    }
}
