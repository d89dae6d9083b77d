//! The counts of one direction, which its thread writes and other threads read.

use crate::emulate::Tally;
use measure::path::Lateness;
use measure::time::Instant;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Returns the maximum lateness of a delivery that still counts as punctual: 1 ms or 5 % of the delay, whichever is
/// longer. A thread needs up to 0.1 ms to wake up, and a time slice of another thread lasts up to 3 ms.
pub(super) fn late_after(delay: Duration) -> Duration {
    Duration::from_millis(1).max(delay / 20)
}

/// Maximum share of late bytes. Above this share, the emulator counts as too slow for the path.
const LATE_SHARE_MAX: f64 = 0.01;

/// Number of late bytes that is always accepted: ten full segments. With only a few packets, the share of late bytes is
/// not meaningful.
const LATE_BYTES_MAX: u64 = 15_140;

/// Counts of one direction since the start of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Counts of the segments by their fate.
    pub wire: Tally,
    /// Frames that were dropped because the emulator's memory was full.
    pub memory_drops: u64,
    /// Frames that the kernel dropped because the emulator did not read them in time.
    pub device_drops: u64,
    /// Frames that the other end did not accept.
    pub refused: u64,
    /// Wire bytes that were delivered late, by more than 1 ms and by more than 5 % of the delay.
    pub late_bytes: u64,
    /// Sum of the lateness of all late bytes, in microseconds.
    pub late_byte_micros: u64,
    /// Longest lateness of a delivery.
    pub latest: Duration,
    /// CPU time of the thread.
    pub cpu: Duration,
    /// Time since the start.
    pub elapsed: Duration,
}

/// State of the emulator: whether it had enough CPU time and memory for the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// The path was as described.
    Good,
    /// More than 1 % of the bytes were late, or frames were dropped, because the emulator did not get enough CPU time.
    CpuTooSlow,
    /// Frames were dropped because the emulator's memory was full.
    MemoryTooSmall,
}

impl Counts {
    /// Returns whether the emulator changed the path.
    #[must_use]
    pub fn health(&self) -> Health {
        let is_share = self.late_bytes as f64 > LATE_SHARE_MAX * self.wire.passed_bytes as f64;
        let is_late = is_share && self.late_bytes > LATE_BYTES_MAX;
        if self.device_drops > 0 || is_late {
            Health::CpuTooSlow
        } else if self.memory_drops > 0 {
            Health::MemoryTooSmall
        } else {
            Health::Good
        }
    }

    /// Returns the lateness of packets. Returns `None` if lateness is not the only change of the path, because frames were
    /// dropped.
    #[must_use]
    pub fn lateness(&self) -> Option<Lateness> {
        let mean = |bytes: u64| Duration::from_micros(self.late_byte_micros / bytes.max(1));
        let has_dropped = self.device_drops > 0 || self.memory_drops > 0;
        (!has_dropped).then(|| Lateness { of_late: mean(self.late_bytes), of_all: mean(self.wire.passed_bytes) })
    }

    /// Returns the CPU time of the thread since its start, as a share of one core.
    #[must_use]
    pub fn busy_share(&self) -> f64 {
        self.cpu.as_secs_f64() / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Returns the counts since `earlier`, which are earlier counts of the same path. The maximum lateness still covers
    /// the time since the start.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let Tally { offered, offered_bytes, passed, passed_bytes, queue_drops, lost, reordered } = earlier.wire;
        Self {
            wire: Tally {
                offered: self.wire.offered.saturating_sub(offered),
                offered_bytes: self.wire.offered_bytes.saturating_sub(offered_bytes),
                passed: self.wire.passed.saturating_sub(passed),
                passed_bytes: self.wire.passed_bytes.saturating_sub(passed_bytes),
                queue_drops: self.wire.queue_drops.saturating_sub(queue_drops),
                lost: self.wire.lost.saturating_sub(lost),
                reordered: self.wire.reordered.saturating_sub(reordered),
            },
            memory_drops: self.memory_drops.saturating_sub(earlier.memory_drops),
            device_drops: self.device_drops.saturating_sub(earlier.device_drops),
            refused: self.refused.saturating_sub(earlier.refused),
            late_bytes: self.late_bytes.saturating_sub(earlier.late_bytes),
            late_byte_micros: self.late_byte_micros.saturating_sub(earlier.late_byte_micros),
            latest: self.latest,
            cpu: self.cpu.saturating_sub(earlier.cpu),
            elapsed: self.elapsed.saturating_sub(earlier.elapsed),
        }
    }
}

/// The counts that the thread of a direction keeps in addition to the counts of the [`Wire`](crate::emulate::Wire).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Own {
    pub memory_drops: u64,
    pub refused: u64,
    pub late_bytes: u64,
    pub late_byte_micros: u64,
    pub latest_nanos: u64,
}

/// Counts shared by the threads. The fields are in the order of [`Counters::write`]. The fields are written one by one,
/// so counts that are read during traffic may disagree by one batch of frames.
#[derive(Debug, Default)]
pub(super) struct Counters([AtomicU64; 14]);

impl Counters {
    /// Publishes the counts of the thread.
    pub fn write(&self, tally: &Tally, own: &Own, cpu: Duration, now: Instant) {
        let Tally { offered, offered_bytes, passed, passed_bytes, queue_drops, lost, reordered } = *tally;
        let Own { memory_drops, refused, late_bytes, late_byte_micros, latest_nanos } = *own;
        let cpu = u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX);
        let values = [
            offered,
            offered_bytes,
            passed,
            passed_bytes,
            queue_drops,
            lost,
            reordered,
            memory_drops,
            refused,
            late_bytes,
            late_byte_micros,
            latest_nanos,
            cpu,
            now.as_nanos(),
        ];
        for (place, value) in self.0.iter().zip(values) {
            place.store(value, Relaxed);
        }
    }

    /// Returns the counts that were published last.
    pub fn read(&self, device_drops: u64) -> Counts {
        let [
            offered,
            offered_bytes,
            passed,
            passed_bytes,
            queue_drops,
            lost,
            reordered,
            memory_drops,
            refused,
            late_bytes,
            late_byte_micros,
            latest,
            cpu,
            now,
        ] = self.0.each_ref().map(|value| value.load(Relaxed));
        Counts {
            wire: Tally { offered, offered_bytes, passed, passed_bytes, queue_drops, lost, reordered },
            memory_drops,
            device_drops,
            refused,
            late_bytes,
            late_byte_micros,
            latest: Duration::from_nanos(latest),
            cpu: Duration::from_nanos(cpu),
            elapsed: Duration::from_nanos(now),
        }
    }
}
