//! The storage system that a server stands in for.

use std::num::NonZeroU64;

use measure::units::ByteSize;

use super::sia::Siad;

/// The system whose documented behavior a [`crate::Server`] imitates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StandIn {
    /// No other system: see the crate's documentation.
    #[default]
    None,
    /// booster-http, which serves pieces and blocks of a Filecoin storage provider.
    BoosterHttp(Booster),
    /// The S3 API of an Alluxio worker.
    Alluxio(Alluxio),
    /// Filestash, a web file manager, over its blackhole backend.
    Filestash(Filestash),
    /// siad, the renter of Sia until 2025, which uploads files from paths in the background.
    Siad(Siad),
}

/// The content of an [`Alluxio`] stand-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alluxio {
    /// Objects in the listing of any bucket. Objects of every other name exist as well.
    pub listed: u64,
    /// The size of each listed object.
    pub object_size: ByteSize,
}

/// The content of a [`Booster`] stand-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booster {
    /// The size of every piece.
    pub piece_size: ByteSize,
    /// The size of the file below `/ipfs/`.
    pub car_size: ByteSize,
    /// The compression level for clients that accept gzip; 0 turns compression off.
    pub compression_level: u32,
    /// The gateway to imitate.
    pub gateway: Gateway,
    /// The number of a missing leaf of the file, counted from 0.
    pub missing_leaf: Option<u64>,
}

/// Gateways of IPFS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gateway {
    /// The gateway of booster-http.
    #[default]
    Frisbii,
    /// The gateway of kubo, without pieces.
    Kubo,
}

impl Default for Booster {
    /// Returns a piece of 32 GiB, of which 127/128 is data, and booster-http's own compression level.
    fn default() -> Self {
        let (gateway, missing_leaf) = (Gateway::Frisbii, None);
        let piece_size = ByteSize((32 << 30) / 128 * 127);
        Self { piece_size, car_size: ByteSize(64 << 20), compression_level: 1, gateway, missing_leaf }
    }
}

/// The settings of a [`Filestash`] stand-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filestash {
    /// Logins per second, for all clients together.
    pub logins_per_second: NonZeroU64,
    /// Logins that may come at once.
    pub login_burst: u64,
    /// Whether clients may log in to SFTP servers. Clients then name the hosts to which `ssh` connects.
    pub sftp: bool,
}

impl Default for Filestash {
    /// Returns Filestash's own limits: 10 logins per second, 1000 at once.
    fn default() -> Self {
        Self { logins_per_second: NonZeroU64::new(10).unwrap_or(NonZeroU64::MIN), login_burst: 1000, sftp: false }
    }
}
