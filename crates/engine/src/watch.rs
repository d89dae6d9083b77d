//! Observation of the client's host. Other processes on the host affect the results, so the load of all processes is
//! reported.
//!
//! The gathering thread reads `/proc` and `/sys` once per interval. Each load thread reads its own waiting time for a
//! core. Values that cannot be read count as zero, because the client must not base a reported limit on a guess.

use crate::cgroup::CpuQuota;
use crate::host_counters::{Ticks, card_bytes};
use crate::proc_file::ProcFile;
use measure::units::DataRate;
use measure::{ClientLoad, Interval, Label};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::time::{Duration, Instant};

/// The values of the counters at one moment.
#[derive(Clone, Debug, Default)]
struct Readings {
    /// Ticks of all cores.
    ticks: Ticks,
    /// Bytes received and sent by each network card.
    cards: BTreeMap<String, (u64, u64)>,
    /// CPU time of the gathering thread.
    cpu_nanos: u64,
    /// Time during which the CPU quota stopped the control group.
    throttled_nanos: u64,
}

/// The files with the counters of this host.
#[derive(Debug)]
struct Sources {
    ticks: ProcFile,
    cards: ProcFile,
    quota: CpuQuota,
}

/// Name of the card whose speed has no limit.
const LOOPBACK: &str = "lo";

/// Observer of this host.
#[derive(Debug)]
pub struct HostWatch {
    sources: Sources,
    last: Readings,
    at: Instant,
    /// Speed of each card whose speed is known, in bytes per second.
    speeds: HashMap<String, f64>,
    descriptors_max: f64,
    in_flight_max: f64,
    ports_max: f64,
    ports: Ports,
}

impl HostWatch {
    /// Starts to observe this host. `in_flight_max` is the maximum number of operations in flight that the available
    /// file descriptors allow. `nic_speed` is the speed of cards that do not report their speed.
    #[must_use]
    pub fn start(in_flight_max: u64, nic_speed: Option<DataRate>) -> Self {
        let mut sources = Sources {
            ticks: ProcFile::open("/proc/stat"),
            // Use the file of this thread, because the thread may be in another network namespace than the process.
            cards: ProcFile::open("/proc/thread-self/net/dev"),
            quota: CpuQuota::of_this_process(),
        };
        let last = sources.readings();
        let given = nic_speed.map(|speed| speed.as_bits() as f64 / 8.0);
        let speed = |card: &String| speed(card).or(given.filter(|_| card != LOOPBACK));
        let speeds = last.cards.keys().filter_map(|card| Some((card.clone(), speed(card)?))).collect();
        let descriptors_max = sys::limits::descriptor_limits().map_or(f64::INFINITY, |limits| limits.soft as f64);
        let ports_max = port_range().unwrap_or(f64::INFINITY);
        let (in_flight_max, ports) = (in_flight_max as f64, Ports::default());
        Self { sources, last, at: Instant::now(), speeds, descriptors_max, in_flight_max, ports_max, ports }
    }

    /// Makes the next call of [`Self::stamp`] ignore the use of the host until now.
    pub fn forget_past(&mut self) {
        (self.last, self.at) = (self.sources.readings(), Instant::now());
    }

    /// Records in `interval` how the host was used since the last call.
    pub fn stamp(&mut self, interval: &mut Interval) {
        let (now, readings) = (Instant::now(), self.sources.readings());
        let elapsed = now.duration_since(self.at).as_secs_f64().max(1e-3);
        let load = &mut interval.client;
        let ticks = readings.ticks.all.saturating_sub(self.last.ticks.all);
        let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / ticks.max(1) as f64;
        load.steal = share(readings.ticks.stolen, self.last.ticks.stolen);
        load.host_busy = if ticks > 0 { 1.0 - share(idle(readings.ticks), idle(self.last.ticks)) } else { 0.0 };
        let card_share = |(card, speed): (&String, &f64)| {
            let (received, sent) = readings.cards.get(card)?;
            let (received_before, sent_before) = self.last.cards.get(card)?;
            let busier = received.saturating_sub(*received_before).max(sent.saturating_sub(*sent_before));
            Some(busier as f64 / elapsed / speed)
        };
        load.nic = self.speeds.iter().filter_map(card_share).fold(0.0, f64::max);
        let open = open_descriptors().unwrap_or(0) as u64;
        // Some open runs have as many slots as the available descriptors allow. If all slots of such a run are in use,
        // it is at its limit, even if some connections are closed at this moment.
        let by_slots = interval.in_flight_peak as f64 / self.in_flight_max;
        load.descriptors = (open as f64 / self.descriptors_max).max(by_slots);
        let opened = interval.stats.connections.hosts.iter().map(|host| (&host.host, host.opened));
        load.ports = self.ports.in_use(now, opened, open) as f64 / self.ports_max;
        let throttled = readings.throttled_nanos.saturating_sub(self.last.throttled_nanos) as f64 / 1e9 / elapsed;
        load.throttled = throttled_of_a_thread(throttled, load);
        // The load threads have recorded their own CPU time. The CPU time of this thread, the gathering thread, is
        // added to the client's CPU time.
        load.cpu_nanos += readings.cpu_nanos.saturating_sub(self.last.cpu_nanos);
        (self.last, self.at) = (readings, now);
    }
}

/// Returns the share of the interval during which the CPU quota stopped one thread: the thread that waited longest for
/// a core.
///
/// The kernel counts the throttled time as a sum over all cores and processes of the group. The sum is divided by the
/// waits of all threads. The quotient is the share of each wait that the quota caused. If the kernel does not count
/// waits, the result is limited to the time that a thread was idle.
fn throttled_of_a_thread(throttled: f64, load: &ClientLoad) -> f64 {
    match load.run_delay_sum > 0.0 {
        true => (throttled / load.run_delay_sum).min(1.0) * load.run_delay,
        false => throttled.min((1.0 - load.busy).clamp(0.0, 1.0)),
    }
}

impl Sources {
    fn readings(&mut self) -> Readings {
        let ticks = Ticks::parse(self.ticks.read()).unwrap_or_default();
        let throttled_nanos = self.quota.throttled_nanos();
        Readings { ticks, cards: card_bytes(self.cards.read()), cpu_nanos: cpu_nanos(), throttled_nanos }
    }
}

/// Returns the CPU time of the calling thread, in nanoseconds.
pub(crate) fn cpu_nanos() -> u64 {
    u64::try_from(sys::clock::thread_cpu_time().as_nanos()).unwrap_or(u64::MAX)
}

/// The total time that a thread has waited for a core, from the second field of its `schedstat`.
#[derive(Debug)]
pub(crate) struct RunDelay {
    schedstat: ProcFile,
    nanos: u64,
}

impl RunDelay {
    /// Starts to observe the calling thread.
    pub fn of_this_thread() -> Self {
        Self { schedstat: ProcFile::open("/proc/thread-self/schedstat"), nanos: 0 }
    }

    /// Returns the time, in nanoseconds, that the thread has waited since its start. If the time cannot be read,
    /// returns the last value.
    pub fn nanos(&mut self) -> u64 {
        let nanos = self.schedstat.read().split_whitespace().nth(1).and_then(|field| field.parse().ok());
        self.nanos = nanos.unwrap_or(self.nanos);
        self.nanos
    }
}

/// Returns the ticks without work. Time spent waiting for a disk counts as idle.
fn idle(ticks: Ticks) -> u64 {
    ticks.idle.saturating_add(ticks.waiting)
}

/// Returns the speed of a card in bytes per second; `None` for loopback and virtual cards.
fn speed(card: &str) -> Option<f64> {
    let megabits: f64 = fs::read_to_string(format!("/sys/class/net/{card}/speed")).ok()?.trim().parse().ok()?;
    (megabits > 0.0).then_some(megabits * 1e6 / 8.0)
}

/// Returns how many file descriptors are open. Since Linux 6.2, the size of `/proc/self/fd` is this number. On older
/// kernels, the size is 0, and the entries must be counted. Counting takes a millisecond per thousand entries.
fn open_descriptors() -> Option<usize> {
    const DIRECTORY: &str = "/proc/self/fd";
    match fs::metadata(DIRECTORY).ok()?.len() {
        0 => Some(fs::read_dir(DIRECTORY).ok()?.count()),
        open => usize::try_from(open).ok(),
    }
}

fn port_range() -> Option<f64> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = text.split_whitespace().map(str::parse::<f64>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some(last - first + 1.0)
}

/// Time that the kernel reserves the port of a connection that this client closed (TIME_WAIT).
const TIME_WAIT: Duration = Duration::from_secs(60);

/// The local ports that this client uses, for each destination.
///
/// Only connections that the client itself opened are counted. The kernel's totals would include the connections of
/// every other process. If the target is on the same host, they would also include both ends of each connection. A port
/// can be used for several destinations at the same time, so the whole port range is available for each destination.
/// Connections opened within the last minute count even if they are closed, because their ports may be in TIME_WAIT.
/// The number of older connections that are still open cannot exceed the number of open descriptors.
#[derive(Debug, Default)]
struct Ports {
    /// Numbers of connections opened to each destination, in total and within the last minute.
    opened: BTreeMap<Label, (u64, u64)>,
    recent: VecDeque<(Instant, Label, u64)>,
}

impl Ports {
    /// Adds connections that were opened. Returns the highest number of ports that may be in use for a single
    /// destination, given that `descriptors` descriptors are open.
    fn in_use<'a>(&mut self, now: Instant, opened: impl Iterator<Item = (&'a Label, u64)>, descriptors: u64) -> u64 {
        for (host, count) in opened {
            let (all, recent) = self.opened.entry(host.clone()).or_default();
            *all += count;
            *recent += count;
            self.recent.push_back((now, host.clone(), count));
        }
        while let Some((at, host, count)) = self.recent.front()
            && now.duration_since(*at) > TIME_WAIT
        {
            if let Some((_, recent)) = self.opened.get_mut(host) {
                *recent -= count;
            }
            self.recent.pop_front();
        }
        let used = |(all, recent): &(u64, u64)| (*all).min(recent + descriptors);
        self.opened.values().map(used).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Stage;

    #[test]
    fn this_process_is_seen() {
        let mut watch = HostWatch::start(u64::MAX, None);
        let mut sum = 0_u64;
        let until = Instant::now() + Duration::from_millis(30);
        while Instant::now() < until {
            sum = sum.wrapping_add(1);
        }
        assert!(sum > 0);
        let mut interval = Interval::new(Stage::Measured, measure::Instant::ZERO, measure::Instant::from_nanos(1));
        watch.stamp(&mut interval);
        assert!(interval.client.cpu_nanos > 1_000_000, "{:?}", interval.client);
        assert!(interval.client.descriptors > 0.0);
        assert!(watch.last.cards.contains_key("lo"));
        assert!(watch.last.ticks.all > 0);
        assert!(port_range().is_some_and(|ports| ports > 1000.0));
    }

    #[test]
    fn ports_are_those_of_the_own_connections_to_one_destination() {
        let (a, b) = (Label::Value("a:80".into()), Label::Value("b:80".into()));
        let (mut ports, start) = (Ports::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(
            ports.in_use(at(0), [].into_iter(), 30),
            0,
            "this client has opened nothing, and other processes do not count"
        );
        assert_eq!(ports.in_use(at(1), [(&a, 10), (&b, 4)].into_iter(), 40), 10, "each destination has its own ports");
        assert_eq!(
            ports.in_use(at(40), [(&a, 10_000)].into_iter(), 40),
            10_010,
            "ports of closed connections are in TIME_WAIT"
        );
        assert_eq!(ports.in_use(at(62), [(&b, 1)].into_iter(), 4), 10_004);
        assert_eq!(
            ports.in_use(at(101), [].into_iter(), 40),
            40,
            "after a minute only ports of open connections count"
        );
        assert_eq!(ports.opened[&b], (5, 1));
    }

    #[test]
    fn a_thread_knows_how_long_it_waited() {
        let mut delay = RunDelay::of_this_thread();
        assert_eq!(
            delay.schedstat.read().split_whitespace().count(),
            3,
            "schedstat has three fields: time on a core, time waited, time slices"
        );
        let first = delay.nanos();
        assert!(delay.nanos() >= first);
        delay.schedstat = ProcFile::open("/proc/no such file");
        assert!(delay.nanos() >= first, "the last value must be kept");
    }
}
