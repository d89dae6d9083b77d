//! The kinds of work on which clients are compared, and the goals set for each.

use crate::clients::Client;
use crate::nginx::Served;
use clap::ValueEnum;

/// One kind of work: what is asked for, and how much at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Work {
    /// 1 KiB, 64 connections.
    Small64,
    /// 1 KiB, 1000 connections.
    Small1000,
    /// 1 GiB, 8 connections.
    Large,
    /// 100 MiB, 8 connections.
    Large100m,
    /// 100 MiB, 8 connections; every byte verified by plimsoll, bodies discarded by the others.
    Verified100m,
    /// Ranges of 1 MiB of a file of 1 GiB, 1000 connections.
    Range1000,
    /// 1 KiB inside TLS 1.3, 64 connections.
    TlsSmall64,
    /// 100 MiB inside TLS 1.3, 8 connections.
    TlsLarge100m,
    /// 1 KiB by HTTP/2 inside TLS 1.3, 64 streams on one connection.
    Http2Small64,
}

/// By what the CPU time of a client is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Requests that the server has counted.
    Request,
    /// Decimal gigabytes that the loopback interface has counted.
    Gigabyte,
}

impl Work {
    /// Its name, as on the command line.
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

    /// In words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Small64 => "GET 1 KiB, keep-alive, c = 64",
            Self::Small1000 => "GET 1 KiB, keep-alive, c = 1000",
            Self::Large => "GET 1 GiB, bodies discarded, c = 8",
            Self::Large100m => "GET 100 MiB, bodies discarded, c = 8",
            Self::Verified100m => "GET 100 MiB, c = 8: every byte verified by plimsoll, bodies discarded by the others",
            Self::Range1000 => {
                "1 MiB ranges of 1 GiB, c = 1000: at random by plimsoll, always the first (hot in the cache) by the others"
            }
            Self::TlsSmall64 => "GET 1 KiB inside TLS 1.3 (AES-256-GCM), keep-alive, c = 64",
            Self::TlsLarge100m => "GET 100 MiB inside TLS 1.3 (AES-256-GCM), c = 8",
            Self::Http2Small64 => "GET 1 KiB by HTTP/2 inside TLS 1.3 (AES-256-GCM), 64 streams on one connection",
        }
    }

    /// The file that is asked for.
    pub fn file(self) -> Served {
        match self {
            Self::Small64 | Self::Small1000 | Self::TlsSmall64 | Self::Http2Small64 => Served::Kibibyte,
            Self::Large100m | Self::TlsLarge100m => Served::HundredMebibytes,
            Self::Large | Self::Range1000 => Served::Gibibyte,
            Self::Verified100m => Served::Object,
        }
    }

    /// Operations in flight.
    pub fn concurrency(self) -> u32 {
        match self {
            Self::Large | Self::Large100m | Self::Verified100m | Self::TlsLarge100m => 8,
            Self::Small64 | Self::TlsSmall64 | Self::Http2Small64 => 64,
            Self::Small1000 | Self::Range1000 => 1000,
        }
    }

    /// Whether ranges are asked for.
    pub fn is_ranged(self) -> bool {
        self == Self::Range1000
    }

    /// Whether it is done inside TLS.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::TlsSmall64 | Self::TlsLarge100m | Self::Http2Small64)
    }

    /// Whether it is done in HTTP/2.
    pub fn is_http2(self) -> bool {
        self == Self::Http2Small64
    }

    /// What the cost is counted by.
    pub fn unit(self) -> Unit {
        match self {
            Self::Small64 | Self::Small1000 | Self::TlsSmall64 | Self::Http2Small64 => Unit::Request,
            Self::Large | Self::Large100m | Self::Verified100m | Self::Range1000 | Self::TlsLarge100m => Unit::Gigabyte,
        }
    }

    /// The highest allowed ratio of Plimsoll's cost to that of a peer, where a goal is set.
    pub fn goal(self, peer: Client) -> Option<f64> {
        match (self, peer) {
            (Self::Small64, Client::Wrk) => Some(0.85),
            (Self::Small64, Client::Oha) => Some(0.75),
            (Self::Small1000, Client::Wrk) => Some(0.9),
            (Self::Small1000, Client::Oha) => Some(0.5),
            (Self::Large | Self::Large100m, Client::Wrk) => Some(0.15),
            (Self::Large | Self::Large100m, Client::Oha) => Some(0.25),
            (Self::Verified100m, Client::Wrk) => Some(1.0),
            (Self::Range1000, Client::Wrk) => Some(0.35),
            (Self::TlsSmall64, Client::Wrk) => Some(1.0),
            (Self::TlsLarge100m, Client::Wrk | Client::H2load) => Some(1.2),
            _ => None,
        }
    }
}

impl Unit {
    /// The head of a column of costs.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Request => "CPU µs/request",
            Self::Gigabyte => "CPU s/GB",
        }
    }
}
