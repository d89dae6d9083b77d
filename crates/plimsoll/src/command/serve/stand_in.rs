//! Flags for clusters, for stand-ins of other systems, and for lists of their objects.

use crate::command::load::count;
use crate::failure::Failure;
use clap::ValueEnum;
use measure::units::ByteSize;
use server::{
    Alluxio, Booster, Capacity, ClusterConfig, Config, Counted, Elsewhere, Faults, Filestash, Gateway, Refused,
    StandIn, file_cids, object_name, piece_cid,
};
use std::fmt::Write;
use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::span;

/// What each range above the limit of `--slow-above` waits, unless it says so.
const SLOWDOWN: Duration = Duration::from_millis(10);
/// Servers of one cluster.
const SERVERS_MAX: usize = 256;
/// Names of one list.
const NAMES_MAX: u64 = 10_000_000;

/// Systems whose behaviour is played, and clusters.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Clusters and stand-ins")]
pub struct StandInArgs {
    /// So many servers from --listen's port on; 307 leads to the owner of an object.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub cluster: Option<NonZeroUsize>,
    /// What a server does with another's object: redirect, redirect-marked (?redirect is added) or proxy.
    #[arg(long, value_name = "MODE", default_value = "redirect", requires = "cluster", hide_short_help = true)]
    pub cluster_mode: Mode,
    /// Hold each redirect back, as a check of the owner's health does.
    #[arg(long, value_name = "TIME", value_parser = span, requires = "cluster", hide_short_help = true)]
    pub redirect_check: Option<Duration>,
    /// Plant the faults in this server of the cluster alone, counted from 0.
    #[arg(long, value_name = "INDEX", requires = "cluster", hide_short_help = true)]
    pub faults_on: Option<usize>,
    /// Behave as booster-http, kubo (the gateway alone), alluxio or filestash.
    #[arg(long = "as", value_name = "SYSTEM", hide_possible_values = true)]
    pub stand_in: Option<System>,
    /// booster-http: the size of every piece [default: what a piece of 32 GiB holds].
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub piece_size: Option<ByteSize>,
    /// booster-http, kubo: the size of the file below /ipfs/ [default: 64MiB].
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub car_size: Option<ByteSize>,
    /// booster-http, kubo: this block of the file, counted from 0, is not there.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub missing_leaf: Option<u64>,
    /// booster-http: the level of gzip, 0 to 9 [default: 1].
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(0..=9), hide_short_help = true)]
    pub compression_level: Option<u32>,
    /// booster-http: above so many ranges at once they come late (10ms for each more, or as in 300:20ms), and some fail.
    #[arg(long, value_name = "N[:TIME]", value_parser = slow_above, conflicts_with = "capacity", hide_short_help = true)]
    pub slow_above: Option<(NonZeroU64, Duration)>,
    /// alluxio: more requests at once than this get 503 SlowDown.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, conflicts_with_all = ["capacity", "slow_above"], hide_short_help = true)]
    pub queue: Option<NonZeroU64>,
    /// alluxio: close the connection after each answer.
    #[arg(long, conflicts_with = "close_after", hide_short_help = true)]
    pub no_keep_alive: bool,
    /// filestash: logins per second, after 1000 at once [default: 10].
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, hide_short_help = true)]
    pub logins: Option<NonZeroU64>,
    /// filestash: let clients log in to SFTP servers, by ssh.
    #[arg(long, hide_short_help = true)]
    pub sftp: bool,
    /// Write a list of so many objects, to --names or --urls.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub list: Option<u64>,
    /// The size of the objects in the list.
    #[arg(long, value_name = "SIZE", default_value = "1MiB", hide_short_help = true)]
    pub list_size: ByteSize,
    /// Write the names of the list there, one on each line.
    #[arg(long, value_name = "FILE", requires = "list", hide_short_help = true)]
    pub names: Option<PathBuf>,
    /// Write the URLs of the list at the first server there, for get --url-file.
    #[arg(long, value_name = "FILE", requires = "list", hide_short_help = true)]
    pub urls: Option<PathBuf>,
}

/// How a cluster deals with requests for another server's object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    Redirect,
    RedirectMarked,
    Proxy,
}

/// Systems that can be stood in for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum System {
    BoosterHttp,
    Kubo,
    Alluxio,
    Filestash,
}

fn slow_above(text: &str) -> Result<(NonZeroU64, Duration), String> {
    let (count, slowdown) = match text.split_once(':') {
        Some((count, slowdown)) => (count, span(slowdown)?),
        None => (text, SLOWDOWN),
    };
    Ok((count.parse().map_err(|_| format!("`{count}` is not a number above 0"))?, slowdown))
}

impl StandInArgs {
    /// Adds what these flags ask for.
    pub fn apply(&self, config: &mut Config) -> Result<(), Failure> {
        self.check()?;
        config.stand_in = match self.stand_in {
            None => StandIn::Nobody,
            Some(System::BoosterHttp | System::Kubo) => StandIn::BoosterHttp(self.booster()),
            Some(System::Alluxio) => {
                StandIn::Alluxio(Alluxio { listed: self.list.unwrap_or(0), object_size: self.list_size })
            }
            Some(System::Filestash) => {
                let usual = Filestash::default();
                let logins_per_second = self.logins.unwrap_or(usual.logins_per_second);
                StandIn::Filestash(Filestash { logins_per_second, sftp: self.sftp, ..usual })
            }
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

    /// What is served besides, in words.
    pub fn remark(&self) -> Option<String> {
        let gateway = matches!(self.stand_in, Some(System::BoosterHttp | System::Kubo));
        gateway.then(|| {
            let (file, directory) = file_cids(&self.booster());
            format!("as a CAR: /ipfs/{file}, or /ipfs/{directory}/file")
        })
    }

    fn apply_faults(&self, faults: &mut Faults) {
        if let Some((most, slowdown)) = self.slow_above {
            let (counted, refused) = (Counted::Ranges, Refused::Share);
            faults.capacity = Some(Capacity { concurrency: most.get(), slowdown, counted, refused });
        }
        if let Some(most) = self.queue {
            let (counted, refused) = (Counted::All, Refused::All);
            faults.capacity = Some(Capacity { concurrency: most.get(), slowdown: Duration::ZERO, counted, refused });
        }
        if self.no_keep_alive {
            faults.close_after = Some(NonZeroU64::MIN);
        }
    }

    /// A flag of one system means nothing to another.
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
                return Err(Failure::usage(format!("{flag} needs --as {name}")));
            }
        }
        let gateway = matches!(self.stand_in, Some(System::BoosterHttp | System::Kubo));
        for (flag, is_given) in
            [("--car-size", self.car_size.is_some()), ("--missing-leaf", self.missing_leaf.is_some())]
        {
            if is_given && !gateway {
                return Err(Failure::usage(format!("{flag} needs --as booster-http or kubo")));
            }
        }
        if self.cluster.is_some() && (gateway || self.stand_in == Some(System::Filestash)) {
            return Err(Failure::usage(
                "--cluster does not go with --as booster-http, kubo or filestash: they run alone",
            ));
        }
        if self.list.is_some_and(|count| count > NAMES_MAX) {
            return Err(Failure::usage(format!("--list: at most {NAMES_MAX} names")));
        }
        let listed = self.names.is_some() || self.urls.is_some() || self.stand_in == Some(System::Alluxio);
        if self.list.is_some() && !listed {
            return Err(Failure::usage("--list: say where to, with --names FILE or --urls FILE"));
        }
        if self.list.is_some() && self.stand_in == Some(System::Kubo) {
            return Err(Failure::usage("--list does not go with --as kubo: it has one file, whose CID is printed"));
        }
        if self.list.is_some() && self.stand_in == Some(System::Filestash) {
            return Err(Failure::usage("--list does not go with --as filestash: its backend has six files"));
        }
        Ok(())
    }

    /// The cluster that is asked for, on ports from `base` on.
    pub fn cluster(&self, base: Option<&SocketAddr>) -> Result<Option<ClusterConfig>, Failure> {
        let Some(servers) = self.cluster.map(NonZeroUsize::get) else { return Ok(None) };
        if servers > SERVERS_MAX {
            return Err(Failure::usage(format!("--cluster: at most {SERVERS_MAX} servers")));
        }
        if self.faults_on.is_some_and(|index| index >= servers) {
            return Err(Failure::usage(format!("--faults-on: the servers are counted from 0 to {}", servers - 1)));
        }
        let base = base.copied().unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let address = |index: usize| {
            let port = if base.port() == 0 { Some(0) } else { u16::try_from(usize::from(base.port()) + index).ok() };
            port.map(|port| SocketAddr::new(base.ip(), port))
        };
        let listen: Option<Vec<SocketAddr>> = (0..servers).map(address).collect();
        let listen =
            listen.ok_or_else(|| Failure::usage("--cluster: the ports from that of --listen on end at 65535"))?;
        let check = self.redirect_check.unwrap_or_default();
        let elsewhere = match self.cluster_mode {
            Mode::Redirect => Elsewhere::Redirect { marker: false, check },
            Mode::RedirectMarked => Elsewhere::Redirect { marker: true, check },
            Mode::Proxy => Elsewhere::Proxy,
        };
        Ok(Some(ClusterConfig { listen, elsewhere, faults_on: self.faults_on }))
    }

    /// The path of something that is served.
    pub fn example(&self) -> String {
        match self.stand_in {
            None => "/blackhole/1KiB".to_owned(),
            Some(System::BoosterHttp) => format!("/piece/{}", piece_cid(0)),
            Some(System::Kubo) => format!("/ipfs/{}?format=car", file_cids(&self.booster()).0),
            Some(System::Alluxio) => format!("/bucket/{}", object_name(self.list_size, 0)),
            Some(System::Filestash) => "/login".to_owned(),
        }
    }

    /// Writes the lists that are asked for; `server` is the first one's address.
    pub fn write_lists(&self, scheme: &str, server: Option<&SocketAddr>) -> Result<(), Failure> {
        let Some(count) = self.list else { return Ok(()) };
        let folder = match self.stand_in {
            Some(System::BoosterHttp) => "piece",
            Some(System::Alluxio) => "bucket",
            None | Some(System::Filestash | System::Kubo) => "blackhole",
        };
        let name = |index| match self.stand_in {
            Some(System::BoosterHttp) => piece_cid(index),
            _ => object_name(self.list_size, index),
        };
        if let Some(path) = &self.names {
            write_list(path, "--names", count, name)?;
        }
        if let (Some(path), Some(server)) = (&self.urls, server) {
            write_list(path, "--urls", count, |index| format!("{scheme}://{server}/{folder}/{}", name(index)))?;
        }
        Ok(())
    }
}

fn write_list(path: &Path, flag: &str, count: u64, line: impl Fn(u64) -> String) -> Result<(), Failure> {
    let mut text = String::new();
    for index in 0..count {
        // Writing to memory does not fail.
        let _ = writeln!(text, "{}", line(index));
    }
    std::fs::write(path, text)
        .map_err(|error| Failure::could_not_run(format!("{flag}: can not write {}: {error}", path.display())))
}
