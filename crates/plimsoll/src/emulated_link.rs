//! The emulated link through which a command makes its load (`--link`). Another process of this program owns the link.

use crate::failure::Failure;
use engine::plan::ConnectTo;
use link::state::{Ends, Record, Registry, Side};
use link::tun::{Buffers, Counts, Health};
use measure::path::{DirectionTraffic, EmulatedPath, Emulation, EmulatorHealth, MeasuredPath, PathTraffic};
use std::str::FromStr;
use std::time::{Duration, Instant};
use wire::url::Origin;

/// The link that a flag names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkName {
    /// The only link of this user.
    Only,
    /// The link whose owner is the process with this number.
    Of(u32),
}

impl LinkName {
    /// Text that names the only link.
    pub const ONLY: &str = "auto";
}

impl FromStr for LinkName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            Self::ONLY => Ok(Self::Only),
            _ => text.parse().map(Self::Of).map_err(|_| {
                format!(
                    "`{text}` is not the number of a link; `plimsoll link status` lists the links with their numbers"
                )
            }),
        }
    }
}

/// Maximum wait until the owner of a link writes its counts. The owner writes them several times per second.
const COUNTS_MAX: Duration = Duration::from_secs(2);
/// Interval at which the record is read again.
const LOOK: Duration = Duration::from_millis(20);

/// Opens the registry of this user's links.
pub fn registry() -> Result<Registry, Failure> {
    let failed = |error| Failure::could_not_run(format!("cannot open the folder with the records of links: {error}"));
    Registry::of_this_user().map_err(failed)
}

/// Returns the record of a running link.
pub fn find(name: LinkName) -> Result<Record, Failure> {
    let failed = |error| Failure::could_not_run(format!("cannot read the records of links: {error}"));
    let mut running = registry()?.running().map_err(failed)?;
    let more = "`plimsoll link status` lists the links";
    match name {
        LinkName::Of(process) => {
            let found = running.into_iter().find(|record| record.owner.process == process);
            found.ok_or_else(|| Failure::usage(format!("there is no link {process}: {more}")))
        }
        LinkName::Only => match (running.pop(), running.len()) {
            (Some(only), 0) => Ok(only),
            (None, _) => Err(Failure::usage(
                "there is no link: make one, e.g. `plimsoll link up --down 1Gbit/s,40ms`".to_owned(),
            )),
            (Some(_), others) => {
                Err(Failure::usage(format!("there are {} links, so name one (--link=NUMBER): {more}", others + 1)))
            }
        },
    }
}

/// Prepares this process to enter the ends of the link that a flag names, and returns the record of the link. Call this
/// function before this process starts its first thread.
pub fn prepare(name: Option<LinkName>) -> Result<Option<Record>, Failure> {
    let Some(record) = name.map(find).transpose()? else { return Ok(None) };
    record.prepare_to_enter().map_err(|error| lost(&error))?;
    Ok(Some(record))
}

fn lost(error: &dyn std::fmt::Display) -> Failure {
    Failure::could_not_run(format!("--link: {error}"))
}

/// Runs `work` in a thread at the near end of a link. Every thread and socket that `work` creates belongs to this end. Without
/// a link, and with a relay, `work` runs as usual.
pub fn within<R: Send>(
    record: Option<&Record>,
    work: impl FnOnce() -> Result<R, Failure> + Send,
) -> Result<R, Failure> {
    let network = record.map(|record| record.network(Side::Near)).transpose().map_err(|error| lost(&error))?;
    let Some(network) = network.flatten() else { return work() };
    let done = std::thread::scope(|scope| {
        let at_near_end = || network.enter().map_err(|error| lost(&error)).and_then(|()| work());
        scope.spawn(at_near_end).join()
    });
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns the rule that sends connections through a relay. `None` for a link of packets, which needs no rule.
pub fn connection_rule(record: &Record) -> Option<ConnectTo> {
    let Ends::Relay { address, target } = &record.ends else { return None };
    let (host, port) = target.rsplit_once(':')?;
    Some(ConnectTo {
        host: Some(host.trim_matches(['[', ']']).to_owned()),
        port: port.parse().ok(),
        to_host: address.ip().to_string(),
        to_port: Some(address.port()),
    })
}

/// Refuses targets that the link does not reach, because their traffic would not be on the link.
pub fn check_targets(record: &Record, origins: &[Origin]) -> Result<(), Failure> {
    let reached = |origin: &&Origin| match &record.ends {
        Ends::Tun { address, .. } => *origin.host == *address.to_string(),
        Ends::Relay { target, .. } => origin.to_string() == *target,
    };
    let Some(other) = origins.iter().find(|origin| !reached(origin)) else { return Ok(()) };
    let place = match &record.ends {
        Ends::Tun { address, .. } => format!("http://{address}:{}", other.port),
        Ends::Relay { target, .. } => format!("http://{target}"),
    };
    let (name, other) = (record.owner.process, other.host_header());
    Err(Failure::usage(format!("{other} is not at the far end of link {name}: write {place} instead")))
}

/// A link during a run.
#[derive(Debug)]
pub struct LinkDuringRun {
    name: LinkName,
    record: Record,
}

impl LinkDuringRun {
    /// Returns the link as it is before the run.
    pub fn begin(name: LinkName) -> Result<Self, Failure> {
        let record = find(name)?;
        Ok(Self { name: LinkName::Of(record.owner.process), record })
    }

    /// Returns the path for the record of the run.
    pub fn path(&self) -> EmulatedPath {
        let (emulation, congestion, buffers) = match &self.record.ends {
            Ends::Tun { congestion, buffers, .. } => (Emulation::Packets, Some(congestion.clone()), *buffers),
            Ends::Relay { .. } => (Emulation::Relay, None, Buffers::AsHost),
        };
        EmulatedPath {
            emulation,
            down: self.record.down.clone(),
            up: self.record.up.clone(),
            congestion,
            larger_buffers: buffers == Buffers::FitPath,
            measured: self.record.measured.as_ref().map(measured),
            differences: self.record.differences.clone(),
        }
    }

    /// Returns the traffic since the start of the run. Waits until the owner of the link has written its counts. Returns
    /// `None` for a relay, and if the link has ended.
    pub fn traffic(&self) -> Option<PathTraffic> {
        let Ends::Tun { counts: before, .. } = &self.record.ends else { return None };
        let begun = Instant::now();
        let first = find(self.name).ok()?;
        let mut now = first.clone();
        while now.updates == first.updates && begun.elapsed() < COUNTS_MAX {
            std::thread::sleep(LOOK);
            now = find(self.name).ok()?;
        }
        let Ends::Tun { counts: after, .. } = &now.ends else { return None };
        let [down, up] = [0, 1].map(|place| traffic(&after[place].since(&before[place])));
        Some(PathTraffic { down, up })
    }
}

fn measured(measured: &link::probe::Measured) -> MeasuredPath {
    let lost = |direction: &link::probe::MeasuredDirection| {
        let ppm = (u128::from(direction.lost) * 1_000_000).checked_div(u128::from(direction.sent))?;
        u32::try_from(ppm).ok()
    };
    MeasuredPath {
        round_trip: measured.round_trip,
        down: measured.down.rate,
        up: measured.up.rate,
        down_lost_ppm: lost(&measured.down),
        up_lost_ppm: lost(&measured.up),
    }
}

fn traffic(counts: &Counts) -> DirectionTraffic {
    DirectionTraffic {
        bytes: counts.wire.passed_bytes,
        queue_drops: counts.wire.queue_drops,
        lost: counts.wire.lost,
        busy_share: counts.busy_share(),
        emulator: match counts.health() {
            Health::Good => EmulatorHealth::Good,
            Health::CpuTooSlow => EmulatorHealth::CpuTooSlow,
            Health::MemoryTooSmall => EmulatorHealth::MemoryTooSmall,
        },
        lateness: counts.lateness(),
    }
}
