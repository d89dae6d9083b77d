//! The emulated path between client and target: the requested properties, the properties measured before the run, and
//! the traffic during the run.

use crate::units::DataRate;
use crate::values::bounded;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Maximum number of differences and of properties in a record. A path has far fewer.
const CLAUSES_MAX: usize = 32;

/// Way in which a path is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Emulation {
    /// The emulator delays and drops packets between two network namespaces of this host. The target also runs on this
    /// host.
    Packets,
    /// A TCP relay.
    Relay,
}

/// An emulated path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmulatedPath {
    /// Way in which the path is emulated.
    pub emulation: Emulation,
    /// The direction from the target to the client, as the user asked for it.
    pub down: String,
    /// The direction from the client to the target, as the user asked for it.
    pub up: String,
    /// Congestion control of TCP at both ends; `None` if it is not known.
    pub congestion: Option<String>,
    /// `true` if the maximum sizes of TCP buffers were raised so that one connection can fill the path.
    pub larger_buffers: bool,
    /// Result of the measurement before the run; `None` if the measurement was not complete.
    pub measured: Option<MeasuredPath>,
    /// Measured properties that differ from the requested ones by more than 5 %, each as a clause of a sentence.
    #[serde(deserialize_with = "bounded::list::<_, _, CLAUSES_MAX>")]
    pub differences: Vec<String>,
}

/// Measured properties of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredPath {
    /// Median round trip of small packets without other traffic.
    pub round_trip: Duration,
    /// Rate from the target to the client. `None` if it is unlimited, or too low to be measured in a few seconds.
    pub down: Option<DataRate>,
    /// Rate from the client to the target. `None` if it is unlimited, or too low to be measured in a few seconds.
    pub up: Option<DataRate>,
    /// Share of lost packets from the target to the client, in parts per million. `None` if the loss was not measured.
    pub down_lost_ppm: Option<u32>,
    /// Share of lost packets from the client to the target, in parts per million. `None` if the loss was not measured.
    pub up_lost_ppm: Option<u32>,
}

/// Traffic on a path during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathTraffic {
    /// From the target to the client.
    pub down: DirectionTraffic,
    /// From the client to the target.
    pub up: DirectionTraffic,
}

/// Traffic in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionTraffic {
    /// Bytes of the packets that passed the bottleneck, with their headers.
    pub bytes: u64,
    /// Packets for which the queue had no space.
    pub queue_drops: u64,
    /// Packets that the emulator dropped to produce the requested loss.
    pub lost: u64,
    /// Share of one core that the emulator used.
    pub busy_share: f64,
    /// Health of the emulator.
    pub emulator: EmulatorHealth,
    /// Lateness of packets. `None` if packets were dropped because the emulator did not keep up.
    #[serde(default)]
    pub lateness: Option<Lateness>,
}

/// Lateness of packets, because the emulator did not get CPU time in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Mean lateness of the late bytes.
    pub of_late: Duration,
    /// Mean lateness of all bytes.
    pub of_all: Duration,
}

/// Health of the emulator: CPU time and memory for the traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmulatorHealth {
    /// The path was as requested.
    #[default]
    Good,
    /// Packets were late or dropped, because the emulator did not get enough CPU time.
    CpuTooSlow,
    /// Packets were dropped because the emulator's memory was full.
    MemoryTooSmall,
}

/// Lateness is accepted up to the response time or the round trip, divided by this number. In a single late period, the longest
/// lateness is about twice the mean, so a response is longer by at most about 10 %.
const LATENESS_PER_TIME: u32 = 20;

impl Lateness {
    /// Returns whether the lateness changes the measured times noticeably. A single late period makes each operation
    /// longer by at most its length. If packets are late all the time, each round trip is longer. `response` is the time of
    /// short operations.
    fn is_material(self, response: Option<Duration>, round_trip: Option<Duration>) -> bool {
        let exceeds = |late: Duration, time: Option<Duration>| time.is_none_or(|time| late > time / LATENESS_PER_TIME);
        exceeds(self.of_late, response) || exceeds(self.of_all, round_trip)
    }
}

impl DirectionTraffic {
    fn judged(self, response: Option<Duration>, round_trip: Option<Duration>) -> Self {
        let is_harmless = self.lateness.is_some_and(|late| !late.is_material(response, round_trip));
        let is_late = self.emulator == EmulatorHealth::CpuTooSlow;
        Self { emulator: if is_late && is_harmless { EmulatorHealth::Good } else { self.emulator }, ..self }
    }
}

impl PathTraffic {
    /// Returns the traffic, in which the emulator is healthy if its lateness has no noticeable effect. `response` is the
    /// response time of short operations, and `round_trip` that of the path.
    #[must_use]
    pub fn judged(self, response: Option<Duration>, round_trip: Option<Duration>) -> Self {
        Self { down: self.down.judged(response, round_trip), up: self.up.judged(response, round_trip) }
    }

    /// Returns the health of the emulator in the direction in which it is worse.
    #[must_use]
    pub fn emulator(&self) -> EmulatorHealth {
        if self.down.emulator == EmulatorHealth::Good { self.up.emulator } else { self.down.emulator }
    }
}

/// Wire bytes of a full packet, with its headers, per byte of TCP payload: 1,448 of 1,514 bytes are payload.
const WIRE_PER_PAYLOAD: f64 = 1514.0 / 1448.0;

/// The limits of an emulated path, which decide whether the path limited a run. Without a path, there are no limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathLimits {
    /// Measured rate from the target to the client; `None` if there is no limit, or it was not measured.
    pub down: Option<DataRate>,
    /// Measured rate from the client to the target; `None` if there is no limit, or it was not measured.
    pub up: Option<DataRate>,
    /// Health of the emulator during the run.
    pub emulator: EmulatorHealth,
    /// `true` if there is an emulated path, even one without a limit.
    pub is_emulated: bool,
}

impl PathLimits {
    /// Returns the limits of a path before a run.
    #[must_use]
    pub fn of(path: Option<&EmulatedPath>) -> Self {
        let measured = path.and_then(|path| path.measured);
        Self {
            down: measured.and_then(|measured| measured.down),
            up: measured.and_then(|measured| measured.up),
            emulator: EmulatorHealth::Good,
            is_emulated: path.is_some(),
        }
    }

    /// Returns the share of the rate that TCP connections used, in the direction with the larger share. `received` and `sent`
    /// are payload bytes in `seconds`. `None` if no rate is known.
    #[must_use]
    pub fn used_share(&self, received: u64, sent: u64, seconds: f64) -> Option<f64> {
        let share = |rate: Option<DataRate>, bytes: u64| {
            let bits = bytes as f64 * 8.0 * WIRE_PER_PAYLOAD;
            rate.map(|rate| bits / (rate.as_bits() as f64 * seconds)).filter(|share| share.is_finite())
        };
        [share(self.down, received), share(self.up, sent)].into_iter().flatten().reduce(f64::max)
    }

    /// Returns the time that an operation takes if `concurrency` operations of `bytes` payload bytes share the rate of
    /// a direction equally.
    #[must_use]
    pub fn fair_time(rate: DataRate, bytes: f64, concurrency: f64) -> Duration {
        let seconds = bytes * concurrency * 8.0 * WIRE_PER_PAYLOAD / (rate.as_bits() as f64).max(1.0);
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_used_share_is_that_of_the_fuller_direction() {
        let rate = |megabits: u64| Some(DataRate::bits_per_second(megabits * 1_000_000));
        let limits = PathLimits { down: rate(100), up: rate(10), ..PathLimits::default() };
        // At 100 Mbit/s, a path transfers 956.4 / 1000 × 12.5 MB of payload per second.
        let full_down = (12_500_000.0 * 1448.0 / 1514.0) as u64;
        assert!((limits.used_share(full_down, 0, 1.0).unwrap() - 1.0).abs() < 1e-6);
        assert!((limits.used_share(full_down, 0, 2.0).unwrap() - 0.5).abs() < 1e-6);
        assert!((limits.used_share(full_down / 2, full_down / 10, 1.0).unwrap() - 1.0).abs() < 1e-6);
        assert_eq!(PathLimits::default().used_share(full_down, full_down, 1.0), None);
        assert_eq!(limits.used_share(1, 1, 0.0), None);
        // 8 operations of 1 MB share 100 Mbit/s.
        let fair = PathLimits::fair_time(DataRate::bits_per_second(100_000_000), 1e6, 8.0).as_secs_f64();
        assert!((fair - 0.64 * 1514.0 / 1448.0).abs() < 1e-9, "{fair}");
    }

    #[test]
    fn lateness_counts_only_if_it_changes_the_times() {
        let ms = Duration::from_millis;
        let health = |of_late, of_all, response: Option<u64>, emulator| {
            let lateness = Some(Lateness { of_late, of_all });
            let down = DirectionTraffic { emulator, lateness, ..DirectionTraffic::default() };
            PathTraffic { down, ..PathTraffic::default() }.judged(response.map(ms), Some(ms(40))).emulator()
        };
        let too_slow = EmulatorHealth::CpuTooSlow;
        let once = |response| health(ms(6), Duration::from_micros(800), response, too_slow);
        assert_eq!(once(Some(360)), EmulatorHealth::Good, "late by 12 ms once, in a transfer of 360 ms");
        assert_eq!(once(Some(80)), too_slow, "the same in short operations");
        assert_eq!(once(None), too_slow, "no operation succeeded");
        assert_eq!(health(ms(6), ms(3), Some(360), too_slow), too_slow, "half of all bytes are late");
        let full = EmulatorHealth::MemoryTooSmall;
        assert_eq!(health(ms(0), ms(0), Some(360), full), full, "packets were dropped");
        let unknown = DirectionTraffic { emulator: too_slow, ..DirectionTraffic::default() };
        let traffic = PathTraffic { down: unknown, up: unknown };
        assert_eq!(traffic.judged(Some(ms(360)), Some(ms(40))), traffic, "an earlier version saved no lateness");
    }
}
