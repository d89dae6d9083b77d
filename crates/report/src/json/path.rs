//! The emulated path between client and target, in a [`JsonReport`](super::JsonReport).

use crate::escape::escape;
use crate::path_use;
use measure::path::{self, Emulation};
use measure::units::DataRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store::SavedRun;

/// An emulated path: its requested and measured properties, and its traffic during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Path {
    /// Way in which the path is emulated.
    pub emulation: EmulationName,
    /// The requested properties of the direction from the target to the client.
    pub down: String,
    /// The requested properties of the direction from the client to the target.
    pub up: String,
    /// Congestion control of TCP at both ends; null if it is not known.
    pub congestion: Option<String>,
    /// `true` if the maximum sizes of TCP buffers were raised so that one connection can fill the path.
    pub larger_buffers: bool,
    /// Measured round trip without other traffic; null if the path was not measured.
    pub round_trip_nanos: Option<u64>,
    /// Measured rate from the target to the client; null if it is unlimited or was not measured.
    pub down_bits_per_second: Option<u64>,
    /// Measured rate from the client to the target; null if it is unlimited or was not measured.
    pub up_bits_per_second: Option<u64>,
    /// Measured properties that differ from the requested ones.
    pub differences: Vec<String>,
    /// Share of the rate that the run used, in the direction that used the larger share; null if no rate is known.
    pub used_share: Option<f64>,
    /// Time that a mean operation would take if all slots shared the rate of the path equally, plus one round trip.
    /// Null in the open model, and if no rate is known.
    pub fair_nanos: Option<u64>,
    /// Median response time as a multiple of this time.
    pub response_per_fair: Option<f64>,
    /// Traffic from the target to the client during the run; null for a relay, and until the run has ended.
    pub carried_down: Option<Carried>,
    /// Traffic from the client to the target during the run; null for a relay, and until the run has ended.
    pub carried_up: Option<Carried>,
}

/// Way in which a path is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmulationName {
    /// Packets between two network namespaces.
    Packets,
    /// A TCP relay.
    Relay,
}

/// Traffic in one direction of an emulated path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Carried {
    /// Bytes of the packets that passed, with their headers.
    pub bytes: u64,
    /// Packets for which the queue had no space.
    pub queue_drops: u64,
    /// Packets dropped because of the path's `loss` setting.
    pub lost: u64,
    /// Share of one core that the emulator used.
    pub emulator_busy_share: f64,
    /// `true` if the emulator did not get enough CPU time or memory.
    pub emulator_overloaded: bool,
}

impl Carried {
    fn of(traffic: &path::DirectionTraffic) -> Self {
        Self {
            bytes: traffic.bytes,
            queue_drops: traffic.queue_drops,
            lost: traffic.lost,
            emulator_busy_share: traffic.busy_share,
            emulator_overloaded: traffic.emulator != path::EmulatorHealth::Good,
        }
    }
}

impl Path {
    pub(super) fn of(run: &SavedRun) -> Option<Self> {
        let path = run.begin.path.as_ref()?;
        let (measured, traffic) = (path.measured, run.end.as_ref().and_then(|end| end.path));
        let used = path_use::of(run);
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let bits = |rate: Option<DataRate>| rate.map(DataRate::as_bits);
        Some(Self {
            emulation: match path.emulation {
                Emulation::Packets => EmulationName::Packets,
                Emulation::Relay => EmulationName::Relay,
            },
            down: escape(&path.down),
            up: escape(&path.up),
            congestion: path.congestion.as_deref().map(escape),
            larger_buffers: path.larger_buffers,
            round_trip_nanos: measured.map(|measured| nanos(measured.round_trip)),
            down_bits_per_second: measured.and_then(|measured| bits(measured.down)),
            up_bits_per_second: measured.and_then(|measured| bits(measured.up)),
            differences: path.differences.iter().map(|difference| escape(difference)).collect(),
            used_share: used.map(|used| used.share),
            fair_nanos: used.and_then(|used| used.fair).map(nanos),
            response_per_fair: used.and_then(|used| used.multiple),
            carried_down: traffic.map(|traffic| Carried::of(&traffic.down)),
            carried_up: traffic.map(|traffic| Carried::of(&traffic.up)),
        })
    }
}
