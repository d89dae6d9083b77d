//! The back end *tun*: an emulator in user space between two network namespaces.
//!
//! Each end of the path is a network namespace with a TUN device. One thread per direction reads frames from one
//! device, and writes them to the other when they are due. The kernels at both ends run TCP as on a real path, with
//! handshake, slow start, loss recovery and congestion control.
//!
//! Namespaces and devices have no names outside this process. They exist only while this process runs, or a process
//! that it has started at an end. The kernel therefore removes them even after `kill -9`. The network interfaces of the
//! host never change. The addresses of both ends are from the ranges for benchmarks (RFC 2544 and RFC 5180). The
//! namespaces have no other network, so the addresses cannot collide with addresses of the host.

mod counters;
mod emulator;
mod end;

pub use counters::{Counts, Health};
pub use end::End;

use crate::error::{LinkError, failed};
use crate::spec::{Direction, DirectionSpec, LinkSpec, bytes_in};
use crate::state::Owner;
use counters::{Counters, late_after};
use emulator::Emulator;
use end::NewEnd;
use measure::time::MonotonicClock;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::thread::JoinHandle;
use sys::Waker;

/// Addresses of the near end.
const NEAR: (Ipv4Addr, Ipv6Addr) = (Ipv4Addr::new(198, 18, 0, 1), Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1));
/// Addresses of the far end.
const FAR: (Ipv4Addr, Ipv6Addr) = (Ipv4Addr::new(198, 18, 0, 2), Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2));

/// Settings of a path that do not belong to one of its directions.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Congestion control of TCP at both ends. `None` means the default of the host.
    pub congestion: Option<String>,
    /// Maximum sizes of the TCP buffers at both ends.
    pub buffers: Buffers,
    /// Seed of the jitter, and of the choice of segments that are lost or reordered.
    pub seed: u64,
}

/// Maximum sizes of the TCP buffers at both ends (`tcp_rmem`, `tcp_wmem`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Buffers {
    /// The sizes are raised if one connection could otherwise not use the whole rate.
    #[default]
    FitPath,
    /// The sizes are the same as on the host.
    AsHost,
}

/// An emulated path. Dropping this value removes the path.
#[derive(Debug)]
pub struct Path {
    near: End,
    far: End,
    buffers: Buffers,
    down: Running,
    up: Running,
    stop: Arc<Waker>,
}

/// The thread of one direction.
#[derive(Debug)]
struct Running {
    counters: Arc<Counters>,
    thread: Option<JoinHandle<()>>,
}

impl Path {
    /// Makes a path.
    ///
    /// # Errors
    /// Fails if the description has a mistake, a permission is missing, or a system call fails. After a failure,
    /// nothing of the path remains.
    pub fn open(spec: &LinkSpec, settings: &Settings) -> Result<Self, LinkError> {
        spec.check()?;
        let buffer_bytes = match settings.buffers {
            Buffers::FitPath => Some(buffer_bytes(spec)),
            Buffers::AsHost => None,
        };
        let owner = Owner::current().map_err(failed("read the start time of this process"))?;
        let new = NewEnd { owner, congestion: settings.congestion.as_deref(), buffer_bytes };
        let (near, far) = (End::open(NEAR, FAR, new)?, End::open(FAR, NEAR, new)?);
        let stop = Arc::new(Waker::new().map_err(failed("create an event"))?);
        let clock = MonotonicClock::start();
        let start = |direction, source: &End, sink: &End| {
            let ring_bytes = ring_bytes(spec, direction);
            let wire = crate::emulate::Wire::new(spec, direction, settings.seed);
            let counters = Arc::new(Counters::default());
            let (devices, late_after) = ((source.device(), sink.device()), late_after(spec.direction(direction).delay));
            let emulator = Emulator::new(devices, wire, ring_bytes, late_after, clock, Arc::clone(&counters));
            let thread = emulator.start(direction, Arc::clone(&stop)).map_err(failed("start the emulator"))?;
            Ok::<_, LinkError>(Running { counters, thread: Some(thread) })
        };
        let down = start(Direction::Down, &far, &near)?;
        let up = start(Direction::Up, &near, &far).inspect_err(|_| {
            let _ = stop.wake();
        })?;
        Ok(Self { near, far, buffers: settings.buffers, down, up, stop })
    }

    /// Returns the end at which the client runs.
    #[must_use]
    pub fn near(&self) -> &End {
        &self.near
    }

    /// Returns the end at which the target runs.
    #[must_use]
    pub fn far(&self) -> &End {
        &self.far
    }

    /// Returns the way in which the maximum sizes of the TCP buffers were set.
    #[must_use]
    pub fn buffers(&self) -> Buffers {
        self.buffers
    }

    /// Returns the counts of one direction since the start.
    #[must_use]
    pub fn counts(&self, direction: Direction) -> Counts {
        let (running, source) = match direction {
            Direction::Down => (&self.down, &self.far),
            Direction::Up => (&self.up, &self.near),
        };
        running.counters.read(source.device_drops())
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = self.stop.wake();
        for running in [&mut self.down, &mut self.up] {
            if let Some(thread) = running.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

/// Size of the buffer for the frames of one direction if its rate is unlimited.
const RING_UNLIMITED_BYTES: u64 = 512 << 20;
/// Additional buffer space, for frames that take more space than their segments on the wire, and for the unused end of
/// the ring.
const RING_SPARE_BYTES: u64 = 8 << 20;

/// Returns the size of the buffer for the frames of one direction. The size is twice the bytes in flight and in the
/// queue, because a small packet takes more space in the buffer than on the wire.
fn ring_bytes(spec: &LinkSpec, direction: Direction) -> usize {
    let DirectionSpec { rate, delay, jitter, .. } = *spec.direction(direction);
    let needed = rate.map(|rate| bytes_in(rate, delay + jitter) + spec.queue_bytes(direction).unwrap_or(0));
    let bytes = needed.map_or(RING_UNLIMITED_BYTES, |needed| 2 * needed + RING_SPARE_BYTES);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Returns the size of the largest TCP buffer that the path needs. The size is four times the bytes in flight and in
/// the queue. The kernel includes its own overhead in the size, and a sender keeps data until it is acknowledged.
fn buffer_bytes(spec: &LinkSpec) -> u64 {
    let needed = |direction| {
        let rate = spec.direction(direction).rate?;
        Some(bytes_in(rate, spec.round_trip()) + spec.queue_bytes(direction).unwrap_or(0))
    };
    let most = [Direction::Down, Direction::Up].into_iter().filter_map(needed).max();
    (4 * most.unwrap_or(64 << 20)).min(BUFFER_MAX_BYTES)
}

/// Largest TCP buffer. The kernel accepts at most 2 GiB.
const BUFFER_MAX_BYTES: u64 = 1 << 30;
