//! The storage system that a server imitates.

use std::num::NonZeroU64;

use measure::units::ByteSize;

use super::sia::Siad;

/// The system whose documented behavior a [`crate::Server`] imitates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StandIn {
    /// No other system. The server behaves as described in the crate's documentation.
    #[default]
    None,
    /// booster-http, which serves pieces and blocks of a Filecoin storage provider.
    BoosterHttp(Booster),
    /// The S3 API of an Alluxio worker.
    Alluxio(Alluxio),
    /// Filestash, a web file manager, over its blackhole backend.
    Filestash(Filestash),
    /// siad, the client program ("renter") of the Sia network until 2025. A request contains the path of a file, and
    /// siad uploads the file in the background.
    Siad(Siad),
}

/// The content of an [`Alluxio`] stand-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alluxio {
    /// Number of objects in the listing of each bucket. Objects with other names exist too, but are not listed.
    pub listed: u64,
    /// The size of each listed object.
    pub object_size: ByteSize,
}

/// The content of a [`Booster`] stand-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booster {
    /// The size of every piece.
    pub piece_size: ByteSize,
    /// The size of the one file that `/ipfs/` serves.
    pub car_size: ByteSize,
    /// The compression level for clients that accept gzip; 0 turns compression off.
    pub compression_level: u32,
    /// The gateway to imitate.
    pub gateway: Gateway,
    /// Index, starting at 0, of a leaf block that the gateway does not have; `None` if it has all blocks.
    pub missing_leaf: Option<u64>,
}

/// An IPFS gateway to imitate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gateway {
    /// The gateway of booster-http.
    #[default]
    Frisbii,
    /// The gateway of kubo. The gateway of kubo does not serve pieces.
    Kubo,
}

impl Default for Booster {
    /// Returns a piece of 32 GiB, a file of 64 MiB, and the compression level of booster-http. The server serves only
    /// the data of the piece, which is 127/128 of its size.
    fn default() -> Self {
        let (gateway, missing_leaf) = (Gateway::Frisbii, None);
        let piece_size = ByteSize((32 << 30) / 128 * 127);
        Self { piece_size, car_size: ByteSize(64 << 20), compression_level: 1, gateway, missing_leaf }
    }
}

/// The configuration of a [`Filestash`] stand-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filestash {
    /// The limit of logins per second, for all clients together.
    pub logins_per_second: NonZeroU64,
    /// Number of logins that are accepted at once before the rate limit applies.
    pub login_burst: u64,
    /// `true` if clients may log in to SFTP servers. In that case, clients choose the hosts to which this server
    /// connects with `ssh`.
    pub sftp: bool,
}

impl Default for Filestash {
    /// Returns Filestash's own limits: 10 logins per second, 1000 at once.
    fn default() -> Self {
        Self { logins_per_second: NonZeroU64::new(10).unwrap_or(NonZeroU64::MIN), login_burst: 1000, sftp: false }
    }
}
