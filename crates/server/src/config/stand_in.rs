//! The storage system that a server stands in for.

use std::num::NonZeroU64;

use measure::units::ByteSize;

/// Whose documented behaviour a [`crate::Server`] plays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StandIn {
    /// Nobody's: see the crate's documentation.
    #[default]
    None,
    /// booster-http, which serves pieces and blocks of a Filecoin storage provider.
    BoosterHttp(Booster),
    /// The S3 API of an Alluxio worker.
    Alluxio(Alluxio),
    /// Filestash, a web file manager, over its blackhole backend.
    Filestash(Filestash),
}

/// What an [`Alluxio`] worker serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alluxio {
    /// Objects that a listing of any bucket has; those of every other name are there as well.
    pub listed: u64,
    /// The size of each.
    pub object_size: ByteSize,
}

/// What a [`Booster`] serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booster {
    /// The size of every piece.
    pub piece_size: ByteSize,
    /// The size of the file below `/ipfs/`.
    pub car_size: ByteSize,
    /// The level of compression for clients that accept gzip; 0 is none.
    pub compression_level: u32,
    /// Whose gateway it is.
    pub gateway: Gateway,
    /// The leaf of the file that is not there, counted from 0.
    pub missing_leaf: Option<u64>,
}

/// Gateways of IPFS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gateway {
    /// That of booster-http.
    #[default]
    Frisbii,
    /// That of kubo, alone.
    Kubo,
}

impl Default for Booster {
    /// A piece of 32 GiB, which holds 127/128 of that in data; booster-http's own level of compression.
    fn default() -> Self {
        let (gateway, missing_leaf) = (Gateway::Frisbii, None);
        let piece_size = ByteSize((32 << 30) / 128 * 127);
        Self { piece_size, car_size: ByteSize(64 << 20), compression_level: 1, gateway, missing_leaf }
    }
}

/// How a [`Filestash`] is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filestash {
    /// Logins per second, of all clients together.
    pub logins_per_second: NonZeroU64,
    /// Logins that may come at once.
    pub login_burst: u64,
    /// Whether clients may log in to SFTP servers: it lets them name hosts, to which `ssh` is run.
    pub sftp: bool,
}

impl Default for Filestash {
    /// Filestash's own limits: 10 each second, 1000 at once.
    fn default() -> Self {
        Self { logins_per_second: NonZeroU64::new(10).unwrap_or(NonZeroU64::MIN), login_burst: 1000, sftp: false }
    }
}
