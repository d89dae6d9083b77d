//! The thread of one direction, which reads frames from one device and writes them to the other device when they are
//! due.
//!
//! The thread has a real-time priority if the system permits it, because the path would differ from its description if
//! the thread had to wait for a core. The kernel's own emulator takes precedence over all threads too. The programs at
//! the ends compete for the cores as usual. If these programs get no core, they send nothing, so the thread sleeps and
//! leaves the cores to them.

use super::counters::{Counters, Own};
use crate::emulate::{DelayLine, Piece, Wire};
use crate::packet::{self, HeaderRoom, Packet};
use crate::spec::Direction;
use measure::time::{Clock, Instant, MonotonicClock};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};
use sys::tun::Tun;
use sys::{Events, Interest, Poller, Waker, clock, scheduling};

/// Maximum number of frames that are read before due frames are written. At 64 KiB each, these frames take half a
/// megabyte, which fits into the cache of the core.
const READ_BATCH: usize = 8;
/// Maximum number of frames that are written before frames are read again.
const WRITE_BATCH: usize = 16;
/// Pause of a busy thread between two batches. Without pauses, the thread would wake up for each frame, which takes
/// more CPU time than handling the frame. Reading and writing a frame may each be late by one pause, so the delay may
/// be 0.1 ms longer.
const PAUSE: Duration = Duration::from_micros(50);
/// Time after the last read or write of a frame during which the thread counts as busy.
const BUSY_GAP: Duration = Duration::from_micros(200);
/// Interval at which the counts are published.
const PUBLISH_EVERY: Duration = Duration::from_millis(20);
/// Maximum wait of an idle thread. After each wait, the thread publishes its counts.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// Requested time slice of the thread. With a short slice, a thread gets a core soon after it wakes up.
const SLICE: Duration = Duration::from_micros(100);

/// Nice value of the thread if a real-time priority is not permitted.
const NICE: i32 = -15;

const SOURCE: u64 = 0;
const STOP: u64 = 1;

/// The state of one direction.
pub(super) struct Emulator {
    source: Arc<Tun>,
    sink: Arc<Tun>,
    wire: Wire,
    line: DelayLine,
    clock: MonotonicClock,
    counters: Arc<Counters>,
    own: Own,
    pieces: Vec<Piece>,
    headers: HeaderRoom,
    publish_at: Instant,
    last_work: Instant,
    /// Maximum lateness of a delivery that does not count as late.
    late_nanos: u64,
}

impl Emulator {
    /// Creates the state of a direction that passes frames from the first device to the second device.
    pub fn new(
        (source, sink): (Arc<Tun>, Arc<Tun>),
        wire: Wire,
        ring_bytes: usize,
        late_after: Duration,
        clock: MonotonicClock,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            source,
            sink,
            wire,
            line: DelayLine::new(ring_bytes),
            clock,
            counters,
            own: Own::default(),
            pieces: Vec::new(),
            headers: HeaderRoom::default(),
            publish_at: Instant::ZERO,
            last_work: Instant::ZERO,
            late_nanos: u64::try_from(late_after.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    /// Starts the thread. The thread ends when `stop` is woken.
    pub fn start(self, direction: Direction, stop: Arc<Waker>) -> io::Result<JoinHandle<()>> {
        let name = match direction {
            Direction::Down => "link down",
            Direction::Up => "link up",
        };
        let poller = Poller::new()?;
        poller.add(&*self.source, SOURCE, Interest::Read)?;
        poller.add(&*stop, STOP, Interest::Read)?;
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            self.run(&poller);
            // The waker must exist until here, so that it can wake the poller.
            drop(stop);
        })
    }

    fn run(mut self, poller: &Poller) {
        // Ignore failures: without these settings, the delay is only less exact.
        let _ = clock::set_timer_slack(Duration::from_nanos(1));
        if scheduling::run_before_others().is_err() {
            let _ = scheduling::set_slice(SLICE);
            let _ = scheduling::set_nice(NICE);
        }
        let mut events = Events::with_capacity(2);
        let mut stopped = false;
        while !stopped {
            let (read, written) = (self.read_frames(), self.write_due());
            let has_more = read == READ_BATCH || written == WRITE_BATCH;
            // A thread that never waits checks for a stop only when it publishes its counts.
            stopped = match (self.publish_if_due(), has_more) {
                (false, true) => false,
                (true, true) => is_stopped(poller, &mut events, Duration::ZERO),
                (_, false) => self.pause(poller, &mut events, read + written > 0),
            };
        }
        self.publish();
    }

    /// Reads a batch of frames. Returns their number.
    fn read_frames(&mut self) -> usize {
        for count in 0..READ_BATCH {
            let Some(space) = self.line.space() else {
                return count + self.drop_frames(READ_BATCH - count);
            };
            // As long as the device exists, reads fail only if there is no frame.
            let Ok(bytes) = self.source.read(space) else { return count };
            let Some(packet) = Packet::parse(&space[..bytes]).filter(|packet| !packet.is_multicast()) else { continue };
            let frame = packet.frame();
            self.wire.offer(self.clock.now(), &frame, &mut self.pieces);
            let kept = self.pieces.iter().map(|piece| piece.segments.end).max();
            // Segments that the queue dropped must not take memory.
            let is_short = kept.filter(|kept| *kept < frame.segments());
            let bytes = is_short.map_or(bytes, |kept| packet::shorten(&mut space[..bytes], kept));
            self.line.store(bytes, &mut self.pieces);
        }
        READ_BATCH
    }

    /// Drops frames for which there is no memory. Returns their number.
    fn drop_frames(&mut self, at_most: usize) -> usize {
        let mut room = [0; 64];
        let dropped = (0..at_most).take_while(|_| self.source.read(&mut room).is_ok()).count();
        self.own.memory_drops += dropped as u64;
        dropped
    }

    /// Writes a batch of due pieces. Returns their number.
    fn write_due(&mut self) -> usize {
        let Self { line, sink, headers, own, clock, late_nanos, .. } = self;
        for count in 0..WRITE_BATCH {
            let now = clock.now();
            let delivered = line.deliver_due(now, |bytes, piece| {
                let Some(packet) = Packet::parse(bytes) else { return };
                let late = now.nanos_since(piece.due);
                own.latest_nanos = own.latest_nanos.max(late);
                if late > *late_nanos {
                    let bytes = packet.frame().wire_bytes(piece.segments.clone());
                    own.late_bytes += bytes;
                    own.late_byte_micros = own.late_byte_micros.saturating_add(bytes.saturating_mul(late / 1000));
                }
                let (first, second) = packet.part(piece.segments, headers);
                own.refused += u64::from(sink.write(first, second).is_err());
            });
            if !delivered {
                return count;
            }
        }
        WRITE_BATCH
    }

    /// Waits until there is something to do. `worked` is `true` if a frame was read or written since the last wait. Returns
    /// whether the path is stopped.
    fn pause(&mut self, poller: &Poller, events: &mut Events, worked: bool) -> bool {
        let now = self.clock.now();
        let is_busy = worked && now.since(self.last_work) < BUSY_GAP;
        if worked {
            self.last_work = now;
        }
        if is_busy {
            clock::sleep_until(clock::monotonic() + PAUSE);
            return false;
        }
        let until_due = self.line.next_due().map_or(WAIT_MAX, |due| due.since(now).min(WAIT_MAX));
        is_stopped(poller, events, until_due)
    }

    fn publish_if_due(&mut self) -> bool {
        let now = self.clock.now();
        let due = now >= self.publish_at;
        if due {
            self.publish_at = now + PUBLISH_EVERY;
            self.publish();
        }
        due
    }

    fn publish(&self) {
        self.counters.write(self.wire.tally(), &self.own, clock::thread_cpu_time(), self.clock.now());
    }
}

/// Waits for a frame or a stop. Returns whether the path is stopped.
fn is_stopped(poller: &Poller, events: &mut Events, at_most: Duration) -> bool {
    // The poller fails only if its descriptor is invalid. In this case, the loop can only stop.
    poller.wait(events, Some(at_most)).is_err() || events.iter().any(|event| event.token == STOP)
}
