//! The flags of `serve` for clusters, stand-ins of other systems, and lists of their objects.

use super::sia::SiaArgs;
use crate::failure::Failure;
use crate::load::{count, span};
use clap::ValueEnum;
use measure::units::ByteSize;
use server::{
    Alluxio, Booster, Capacity, ClusterConfig, Config, CountedRequests, Faults, Filestash, Gateway, Handoff,
    RefusedRequests, StandIn, file_cids, object_name, piece_cid,
};
use std::fmt::Write;
use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Default delay for each concurrent range above the limit of `--slow-above`.
const SLOWDOWN: Duration = Duration::from_millis(10);
/// Maximum number of servers in a cluster.
const SERVERS_MAX: usize = 256;
/// Maximum number of names in a list.
const NAMES_MAX: u64 = 10_000_000;

/// Clusters and stand-ins of other systems.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Clusters and stand-ins")]
pub struct StandInArgs {
    /// Start this many servers, on consecutive ports from --listen. Each object belongs to one of them. The others
    /// redirect requests for it with status 307.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub cluster: Option<NonZeroUsize>,
    /// Response to a request for an object of another server: redirect, redirect-marked (adds ?redirect to the URL) or
    /// proxy (fetch it).
    #[arg(long, value_name = "MODE", default_value = "redirect", requires = "cluster", hide_short_help = true)]
    pub cluster_mode: Mode,
    /// Delay each redirect by this time, as if the server first checked that the owner is alive.
    #[arg(long, value_name = "TIME", value_parser = span, requires = "cluster", hide_short_help = true)]
    pub redirect_check: Option<Duration>,
    /// Inject the faults only in one server of the cluster, by number from 0.
    #[arg(long, value_name = "INDEX", requires = "cluster", hide_short_help = true)]
    pub faults_on: Option<usize>,
    /// Behave like booster-http, kubo (gateway only), alluxio, filestash, siad or renterd.
    #[arg(long = "as", value_name = "SYSTEM", hide_possible_values = true)]
    pub stand_in: Option<System>,
    /// booster-http: size of every piece [default: the payload of a 32 GiB piece].
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub piece_size: Option<ByteSize>,
    /// booster-http, kubo: size of the file below /ipfs/ [default: 64MiB].
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub car_size: Option<ByteSize>,
    /// booster-http, kubo: leave out this block of the file, counted from 0.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub missing_leaf: Option<u64>,
    /// booster-http: gzip level, 0 to 9 [default: 1].
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(0..=9), hide_short_help = true)]
    pub compression_level: Option<u32>,
    /// booster-http: handle N concurrent ranges at full speed. Each further one adds TIME [default: 10ms] to the delay,
    /// and some fail, e.g. 300:20ms.
    #[arg(long, value_name = "N[:TIME]", value_parser = slow_above, conflicts_with = "capacity", hide_short_help = true)]
    pub slow_above: Option<(NonZeroU64, Duration)>,
    /// alluxio: maximum number of concurrent requests; further requests get 503 SlowDown.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, conflicts_with_all = ["capacity", "slow_above"], hide_short_help = true)]
    pub queue: Option<NonZeroU64>,
    /// alluxio: close the connection after each response.
    #[arg(long, conflicts_with = "close_after", hide_short_help = true)]
    pub no_keep_alive: bool,
    /// filestash: allowed logins per second, after a burst of 1000 [default: 10].
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, hide_short_help = true)]
    pub logins: Option<NonZeroU64>,
    /// filestash: let clients log in to SFTP servers, using ssh.
    #[arg(long, hide_short_help = true)]
    pub sftp: bool,
    /// siad and renterd.
    #[command(flatten)]
    pub sia: SiaArgs,
    /// Write a list of this many objects to the file of --names or --urls.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub list: Option<u64>,
    /// Size of the objects in the list.
    #[arg(long, value_name = "SIZE", default_value = "1MiB", hide_short_help = true)]
    pub list_size: ByteSize,
    /// File for the names in the list, one per line.
    #[arg(long, value_name = "FILE", requires = "list", hide_short_help = true)]
    pub names: Option<PathBuf>,
    /// File for the URLs of the list, one per line, for get --url-file. All URLs are on the first server.
    #[arg(long, value_name = "FILE", requires = "list", hide_short_help = true)]
    pub urls: Option<PathBuf>,
}

/// The response of a cluster's server to a request for another server's object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    Redirect,
    RedirectMarked,
    Proxy,
}

/// Systems for which there is a stand-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum System {
    BoosterHttp,
    Kubo,
    Alluxio,
    Filestash,
    Siad,
    Renterd,
}

fn slow_above(text: &str) -> Result<(NonZeroU64, Duration), String> {
    let (count, slowdown) = match text.split_once(':') {
        Some((count, slowdown)) => (count, span(slowdown)?),
        None => (text, SLOWDOWN),
    };
    Ok((count.parse().map_err(|_| format!("`{count}` is not a whole number above 0"))?, slowdown))
}

impl StandInArgs {
    /// Applies these flags to the configuration.
    pub fn apply(&self, config: &mut Config) -> Result<(), Failure> {
        self.check()?;
        config.stand_in = match self.stand_in {
            None => StandIn::None,
            Some(System::BoosterHttp | System::Kubo) => StandIn::BoosterHttp(self.booster()),
            Some(System::Alluxio) => {
                StandIn::Alluxio(Alluxio { listed: self.list.unwrap_or(0), object_size: self.list_size })
            }
            Some(System::Filestash) => {
                let usual = Filestash::default();
                let logins_per_second = self.logins.unwrap_or(usual.logins_per_second);
                StandIn::Filestash(Filestash { logins_per_second, sftp: self.sftp, ..usual })
            }
            Some(System::Siad) => StandIn::Siad(self.sia.siad(config.directory.as_deref())?),
            // The module `tls_and_s3` serves renterd.
            Some(System::Renterd) => StandIn::None,
        };
        self.apply_faults(&mut config.faults);
        Ok(())
    }

    fn booster(&self) -> Booster {
        let usual = Booster::default();
        Booster {
            piece_size: self.piece_size.unwrap_or(usual.piece_size),
            car_size: self.car_size.unwrap_or(usual.car_size),
            compression_level: self.compression_level.unwrap_or(usual.compression_level),
            gateway: if self.stand_in == Some(System::Kubo) { Gateway::Kubo } else { Gateway::Frisbii },
            missing_leaf: self.missing_leaf,
        }
    }

    /// Returns a message with other paths of the stand-in, if it is a gateway.
    pub fn remark(&self) -> Option<String> {
        let gateway = matches!(self.stand_in, Some(System::BoosterHttp | System::Kubo));
        gateway.then(|| {
            let (file, directory) = file_cids(&self.booster());
            format!("as a CAR: /ipfs/{file}, or /ipfs/{directory}/file")
        })
    }

    fn apply_faults(&self, faults: &mut Faults) {
        if let Some((most, slowdown)) = self.slow_above {
            let (counted, refused) = (CountedRequests::Ranges, RefusedRequests::Share);
            faults.capacity = Some(Capacity { concurrency: most.get(), slowdown, counted, refused });
        }
        if let Some(most) = self.queue {
            let (counted, refused) = (CountedRequests::All, RefusedRequests::All);
            faults.capacity = Some(Capacity { concurrency: most.get(), slowdown: Duration::ZERO, counted, refused });
        }
        if self.no_keep_alive {
            faults.close_after = Some(NonZeroU64::MIN);
        }
    }

    /// Refuses flags of systems that are not selected, and flags that contradict each other.
    fn check(&self) -> Result<(), Failure> {
        let given = [
            ("--piece-size", self.piece_size.is_some(), System::BoosterHttp),
            ("--compression-level", self.compression_level.is_some(), System::BoosterHttp),
            ("--slow-above", self.slow_above.is_some(), System::BoosterHttp),
            ("--queue", self.queue.is_some(), System::Alluxio),
            ("--no-keep-alive", self.no_keep_alive, System::Alluxio),
            ("--logins", self.logins.is_some(), System::Filestash),
            ("--sftp", self.sftp, System::Filestash),
        ];
        for (flag, is_given, system) in given {
            if is_given && self.stand_in != Some(system) {
                let name = system.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
                return Err(Failure::usage(format!("{flag} requires --as {name}")));
            }
        }
        self.check_sia()?;
        let gateway = matches!(self.stand_in, Some(System::BoosterHttp | System::Kubo));
        for (flag, is_given) in
            [("--car-size", self.car_size.is_some()), ("--missing-leaf", self.missing_leaf.is_some())]
        {
            if is_given && !gateway {
                return Err(Failure::usage(format!("{flag} requires --as booster-http or kubo")));
            }
        }
        let alone = gateway || matches!(self.stand_in, Some(System::Filestash | System::Siad | System::Renterd));
        if self.cluster.is_some() && alone {
            return Err(Failure::usage(
                "--cluster does not support --as booster-http, kubo, filestash, siad or renterd: leave one of them out",
            ));
        }
        if self.list.is_some_and(|count| count > NAMES_MAX) {
            return Err(Failure::usage(format!("--list: the maximum is {NAMES_MAX} names")));
        }
        let listed = self.names.is_some() || self.urls.is_some() || self.stand_in == Some(System::Alluxio);
        if self.list.is_some() && !listed {
            return Err(Failure::usage("--list needs a file: add --names FILE or --urls FILE"));
        }
        if self.list.is_some() && self.stand_in == Some(System::Kubo) {
            return Err(Failure::usage(
                "--list does not support --as kubo, which has a single file: use the CID that it prints",
            ));
        }
        if self.list.is_some() && self.stand_in == Some(System::Filestash) {
            return Err(Failure::usage(
                "--list cannot be used with --as filestash, which always serves the same six files: leave out --list",
            ));
        }
        Ok(())
    }

    /// Refuses the flags of siad and renterd if another system is selected.
    fn check_sia(&self) -> Result<(), Failure> {
        let [both, siad, renterd] = self.sia.given();
        let is_sia = matches!(self.stand_in, Some(System::Siad | System::Renterd));
        let wrong = [
            (both.first().filter(|_| !is_sia), "siad or renterd"),
            (siad.first().filter(|_| self.stand_in != Some(System::Siad)), "siad"),
            (renterd.first().filter(|_| self.stand_in != Some(System::Renterd)), "renterd"),
        ];
        match wrong.into_iter().find_map(|(flag, systems)| Some((flag?, systems))) {
            Some((flag, systems)) => Err(Failure::usage(format!("{flag} requires --as {systems}"))),
            None if self.list.is_some() && is_sia => Err(Failure::usage(
                "--list does not support --as siad and renterd, which have no objects at first: leave it out",
            )),
            None => Ok(()),
        }
    }

    /// Returns the cluster that the flags describe. The first port of the cluster is the port of `base`.
    pub fn cluster(&self, base: Option<&SocketAddr>) -> Result<Option<ClusterConfig>, Failure> {
        let Some(servers) = self.cluster.map(NonZeroUsize::get) else { return Ok(None) };
        if servers > SERVERS_MAX {
            return Err(Failure::usage(format!("--cluster: the maximum is {SERVERS_MAX} servers")));
        }
        if self.faults_on.is_some_and(|index| index >= servers) {
            return Err(Failure::usage(format!("--faults-on: the servers are numbered from 0 to {}", servers - 1)));
        }
        let base = base.copied().unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let address = |index: usize| {
            let port = if base.port() == 0 { Some(0) } else { u16::try_from(usize::from(base.port()) + index).ok() };
            port.map(|port| SocketAddr::new(base.ip(), port))
        };
        let listen: Option<Vec<SocketAddr>> = (0..servers).map(address).collect();
        let listen =
            listen.ok_or_else(|| Failure::usage("--cluster: the ports exceed 65535; use a lower port in --listen"))?;
        let check = self.redirect_check.unwrap_or_default();
        let handoff = match self.cluster_mode {
            Mode::Redirect => Handoff::Redirect { marker: false, check },
            Mode::RedirectMarked => Handoff::Redirect { marker: true, check },
            Mode::Proxy => Handoff::Proxy,
        };
        Ok(Some(ClusterConfig { listen, handoff, faults_on: self.faults_on }))
    }

    /// Returns the path of an example object.
    pub fn example(&self) -> String {
        match self.stand_in {
            None => "/blackhole/1KiB".to_owned(),
            Some(System::BoosterHttp) => format!("/piece/{}", piece_cid(0)),
            Some(System::Kubo) => format!("/ipfs/{}?format=car", file_cids(&self.booster()).0),
            Some(System::Alluxio) => format!("/bucket/{}", object_name(self.list_size, 0)),
            Some(System::Filestash) => "/login".to_owned(),
            Some(System::Siad) => "/renter".to_owned(),
            Some(System::Renterd) => "/api/bus/stats/objects".to_owned(),
        }
    }

    /// Writes the requested lists. `server` is the address of the first server.
    pub fn write_lists(&self, scheme: &str, server: Option<&SocketAddr>) -> Result<(), Failure> {
        let Some(count) = self.list else { return Ok(()) };
        if let Some(path) = &self.names {
            write_list(path, "--names", count, |index| self.name(index))?;
        }
        if let (Some(path), Some(server)) = (&self.urls, server) {
            write_list(path, "--urls", count, |index| format!("{scheme}://{server}{}", self.path(index)))?;
        }
        Ok(())
    }

    /// Returns the name of an object in the list.
    fn name(&self, index: u64) -> String {
        match self.stand_in {
            Some(System::BoosterHttp) => piece_cid(index),
            _ => object_name(self.list_size, index),
        }
    }

    /// Returns the path of an object in the list.
    fn path(&self, index: u64) -> String {
        let folder = match self.stand_in {
            Some(System::BoosterHttp) => "piece",
            Some(System::Alluxio) => "bucket",
            None | Some(System::Filestash | System::Kubo | System::Siad | System::Renterd) => "blackhole",
        };
        format!("/{folder}/{}", self.name(index))
    }

    /// Returns the paths of the first `most` objects in the list.
    pub fn listed_paths(&self, most: u64) -> impl Iterator<Item = String> {
        (0..self.list.unwrap_or(0).min(most)).map(|index| self.path(index))
    }

    /// Returns the number of servers.
    pub fn servers(&self) -> NonZeroUsize {
        self.cluster.unwrap_or(NonZeroUsize::MIN)
    }

    /// Returns the index of the server that owns the object with this path.
    pub fn owner(&self, path: &str) -> usize {
        server::owner(path, self.servers())
    }
}

fn write_list(path: &Path, flag: &str, count: u64, line: impl Fn(u64) -> String) -> Result<(), Failure> {
    let mut text = String::new();
    for index in 0..count {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line(index));
    }
    std::fs::write(path, text)
        .map_err(|error| Failure::could_not_run(format!("cannot write {} for {flag}: {error}", path.display())))
}
