//! The workloads of the comparison.

use crate::nginx::Served;
use clap::ValueEnum;

/// A workload: a file, and the number of operations in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// 1 KiB, 64 connections.
    Small64,
    /// 1 KiB, 1000 connections.
    Small1000,
    /// 1 GiB, 8 connections.
    Large,
    /// 100 MiB, 8 connections.
    Large100m,
    /// 100 MiB, 8 connections. Plimsoll verifies every byte; the other clients discard bodies.
    Verified100m,
    /// Ranges of 1 MiB in a file of 1 GiB, 1000 connections.
    Range1000,
    /// 1 KiB over TLS 1.3, 64 connections.
    TlsSmall64,
    /// 100 MiB over TLS 1.3, 8 connections.
    TlsLarge100m,
    /// 1 KiB over HTTP/2 and TLS 1.3, 64 streams on one connection.
    Http2Small64,
}

/// Unit of work for the cost of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A request. The server counts the requests.
    Request,
    /// 10⁹ bytes. The loopback interface counts the bytes.
    Gigabyte,
}

impl Workload {
    /// Returns the name of the workload on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small64 => "small64",
            Self::Small1000 => "small1000",
            Self::Large => "large",
            Self::Large100m => "large100m",
            Self::Verified100m => "verified100m",
            Self::Range1000 => "range1000",
            Self::TlsSmall64 => "tls-small64",
            Self::TlsLarge100m => "tls-large100m",
            Self::Http2Small64 => "http2-small64",
        }
    }

    /// Returns a description.
    pub fn about(self) -> &'static str {
        match self {
            Self::Small64 => "GET 1 KiB, keep-alive, c = 64",
            Self::Small1000 => "GET 1 KiB, keep-alive, c = 1000",
            Self::Large => "GET 1 GiB, bodies discarded, c = 8",
            Self::Large100m => "GET 100 MiB, bodies discarded, c = 8",
            Self::Verified100m => "GET 100 MiB, c = 8: plimsoll verifies every byte, the others discard bodies",
            Self::Range1000 => {
                "1 MiB ranges of 1 GiB, c = 1000; random for plimsoll, always the first (cached) for the others"
            }
            Self::TlsSmall64 => "GET 1 KiB over TLS 1.3 (AES-256-GCM), keep-alive, c = 64",
            Self::TlsLarge100m => "GET 100 MiB over TLS 1.3 (AES-256-GCM), c = 8",
            Self::Http2Small64 => "GET 1 KiB over HTTP/2 and TLS 1.3 (AES-256-GCM), 64 streams on one connection",
        }
    }

    /// Returns the requested file.
    pub fn file(self) -> Served {
        match self {
            Self::Small64 | Self::Small1000 | Self::TlsSmall64 | Self::Http2Small64 => Served::Kibibyte,
            Self::Large100m | Self::TlsLarge100m => Served::HundredMebibytes,
            Self::Large | Self::Range1000 => Served::Gibibyte,
            Self::Verified100m => Served::Object,
        }
    }

    /// Returns the number of operations in flight.
    pub fn concurrency(self) -> u32 {
        match self {
            Self::Large | Self::Large100m | Self::Verified100m | Self::TlsLarge100m => 8,
            Self::Small64 | Self::TlsSmall64 | Self::Http2Small64 => 64,
            Self::Small1000 | Self::Range1000 => 1000,
        }
    }

    /// Returns whether each request is for a range of the file.
    pub fn is_ranged(self) -> bool {
        self == Self::Range1000
    }

    /// Returns whether the connections use TLS.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::TlsSmall64 | Self::TlsLarge100m | Self::Http2Small64)
    }

    /// Returns whether the connections use HTTP/2.
    pub fn is_http2(self) -> bool {
        self == Self::Http2Small64
    }

    /// Returns the unit of work to which costs refer.
    pub fn unit(self) -> Unit {
        match self {
            Self::Small64 | Self::Small1000 | Self::TlsSmall64 | Self::Http2Small64 => Unit::Request,
            Self::Large | Self::Large100m | Self::Verified100m | Self::Range1000 | Self::TlsLarge100m => Unit::Gigabyte,
        }
    }
}

impl Unit {
    /// Returns the heading of a column of costs.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Request => "CPU µs/request",
            Self::Gigabyte => "CPU s/GB",
        }
    }
}
