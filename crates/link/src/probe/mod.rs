//! Measurement of a path before it is used: the round trip, and the rate and loss of each direction.
//!
//! For a path of the back end tun, the probe sends datagrams, so congestion control does not affect the results. The
//! measurement takes a few seconds. Results that differ from the description by more than 5 % make a run UNUSABLE
//! ([`Measured::differences`]).

mod compare;
mod datagrams;
mod relay;

#[cfg(test)]
mod tests;

pub use compare::Difference;
pub use relay::measure_relay;

use crate::error::{LinkError, failed};
use crate::spec::{Direction, LinkSpec};
use crate::tun::{Counts, End, Health, Path};
use datagrams::{Flow, Pace};
use measure::units::DataRate;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

/// Number of datagrams with which the round trip is measured.
const ECHOES: usize = 20;
/// Time between two datagrams of the round-trip measurement.
const ECHO_GAP: Duration = Duration::from_millis(5);
/// Number of datagrams with which the loss of a direction is measured, if its rate is high enough.
const LOSS_DATAGRAMS: u64 = 20_000;
/// Minimum number of datagrams with which the loss is measured.
const LOSS_DATAGRAMS_MIN: u64 = 50;
/// Time in which the datagrams of the loss measurement are sent.
const LOSS_TIME: Duration = Duration::from_secs(1);
/// Payload of a datagram of the loss measurement, in bytes.
const SMALL_BYTES: u64 = 64;
/// Payload of a datagram that fills a segment.
const FULL_BYTES: u64 = 1472;
/// IP header, UDP header, and the Ethernet header that each segment takes on the wire.
const HEADER_BYTES: u64 = 20 + 8 + crate::emulate::FRAMING_BYTES;
/// Time during which a direction is kept full to measure its rate.
const RATE_TIME: Duration = Duration::from_millis(400);
/// Maximum number of attempts to measure a rate. If other processes keep the probe from filling the direction, the measured
/// rate is too low, but never too high. The highest rate of all attempts is therefore the most exact one.
const RATE_ATTEMPTS: usize = 4;
/// Minimum number of segments with which a rate is measured.
const RATE_SEGMENTS_MIN: u64 = 30;
/// Maximum time during which a direction is kept full. If a direction is too slow for this limit, its rate is not
/// measured.
const RATE_TIME_MAX: Duration = Duration::from_secs(4);
/// Time after which a flow counts as ended if no datagram arrives. The delays of the path are added to this time.
const SILENCE: Duration = Duration::from_millis(300);

/// Measured properties of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredDirection {
    /// Rate in wire bytes. `None` if the rate is unlimited, or too low to be measured in a few seconds.
    pub rate: Option<DataRate>,
    /// Number of datagrams that were sent to measure the loss.
    pub sent: u64,
    /// Number of these datagrams that did not arrive.
    pub lost: u64,
    /// State of the emulator during the probe: whether it had enough CPU time and memory.
    pub health: Health,
}

/// Measured properties of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Median round-trip time of small datagrams.
    pub round_trip: Duration,
    /// From the target to the client.
    pub down: MeasuredDirection,
    /// From the client to the target.
    pub up: MeasuredDirection,
}

/// Measures a path of the back end tun. Other traffic on the path would falsify the result.
///
/// # Errors
/// Fails with errors of the kernel, or if no datagram returns.
pub fn measure(path: &Path, spec: &LinkSpec) -> Result<Measured, LinkError> {
    let start = [Direction::Down, Direction::Up].map(|direction| path.counts(direction));
    let silence = silence(spec);
    let round_trip = round_trip(path, silence).map_err(failed("measure the round trip"))?;
    let (down_loss, up_loss) = thread::scope(|scope| {
        let down = scope.spawn(|| loss(path, spec, Direction::Down));
        let up = loss(path, spec, Direction::Up);
        (down.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), up)
    });
    let finish = |direction, loss: std::io::Result<Flow>, start: &Counts| {
        let loss = loss.map_err(failed("measure the loss"))?;
        let rate = rate(path, spec, direction, &loss).map_err(failed("measure the rate"))?;
        let health = path.counts(direction).since(start).health();
        let lost = loss.sent.saturating_sub(loss.received);
        Ok::<_, LinkError>(MeasuredDirection { rate, sent: loss.sent, lost, health })
    };
    let down = finish(Direction::Down, down_loss, &start[0])?;
    let up = finish(Direction::Up, up_loss, &start[1])?;
    Ok(Measured { round_trip, down, up })
}

/// Returns the time without arrivals after which no further datagram of a flow can arrive.
fn silence(spec: &LinkSpec) -> Duration {
    let jitter = spec.down.jitter + spec.up.jitter;
    let queued = [Direction::Down, Direction::Up].map(|direction| {
        let rate = spec.direction(direction).rate.map_or(f64::INFINITY, |rate| rate.as_bits() as f64);
        spec.queue_bytes(direction).unwrap_or(0) as f64 * 8.0 / rate
    });
    let queued = Duration::try_from_secs_f64(queued[0].max(queued[1])).unwrap_or(Duration::ZERO).min(RATE_TIME_MAX);
    spec.round_trip() + jitter + queued + SILENCE
}

/// Returns two connected sockets: one at the source, and one at the sink.
fn pair(source: &End, sink: &End) -> std::io::Result<(UdpSocket, UdpSocket)> {
    let bind = |end: &End| end.within(|| UdpSocket::bind((end.address(), 0)))?;
    let (sender, receiver) = (bind(source)?, bind(sink)?);
    let to = |socket: &UdpSocket| socket.local_addr();
    let (from, to): (SocketAddr, SocketAddr) = (to(&sender)?, to(&receiver)?);
    sender.connect(to)?;
    receiver.connect(from)?;
    Ok((sender, receiver))
}

fn ends(path: &Path, direction: Direction) -> (&End, &End) {
    match direction {
        Direction::Down => (path.far(), path.near()),
        Direction::Up => (path.near(), path.far()),
    }
}

/// Returns the median round trip of small datagrams.
fn round_trip(path: &Path, silence: Duration) -> std::io::Result<Duration> {
    let (near, far) = pair(path.near(), path.far())?;
    let mut times = datagrams::echo(&near, &far, ECHOES, ECHO_GAP, silence)?;
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied();
    median.ok_or_else(|| std::io::Error::new(std::io::ErrorKind::TimedOut, "no datagram came back"))
}

/// Sends small datagrams at no more than half the rate, so that the queue drops none.
fn loss(path: &Path, spec: &LinkSpec, direction: Direction) -> std::io::Result<Flow> {
    let wire_bytes = (SMALL_BYTES + HEADER_BYTES) as f64;
    let rate = spec.direction(direction).rate.map_or(f64::INFINITY, |rate| rate.as_bits() as f64 / 8.0);
    let at_half_rate = (rate / 2.0 / wire_bytes * LOSS_TIME.as_secs_f64()) as u64;
    let count = at_half_rate.clamp(LOSS_DATAGRAMS_MIN, LOSS_DATAGRAMS);
    let per_second =
        (rate / 2.0).min(count as f64 * wire_bytes / LOSS_TIME.as_secs_f64()) / wire_bytes * SMALL_BYTES as f64;
    let (source, sink) = ends(path, direction);
    let (sender, receiver) = pair(source, sink)?;
    let pace = Pace { datagram_bytes: SMALL_BYTES, datagrams: count, bytes_per_second: per_second, together: 1 };
    datagrams::flow(&sender, &receiver, pace, silence(spec))
}

/// Fills a direction, and returns the rate of the arriving data, corrected for losses. If the rate is too low, tries again.
fn rate(path: &Path, spec: &LinkSpec, direction: Direction, loss: &Flow) -> std::io::Result<Option<DataRate>> {
    let Some(asked) = spec.direction(direction).rate.map(|rate| rate.as_bits() as f64 / 8.0) else { return Ok(None) };
    let segment = (FULL_BYTES + HEADER_BYTES) as f64;
    let time = RATE_TIME.as_secs_f64().max(RATE_SEGMENTS_MIN as f64 * segment / asked);
    if time > RATE_TIME_MAX.as_secs_f64() || loss.received == 0 {
        return Ok(None);
    }
    // The offered rate is 25 % above the rate of the path, so the bottleneck never becomes idle.
    let offered = asked * 1.25;
    let pace = Pace {
        datagram_bytes: FULL_BYTES,
        datagrams: (offered * time / segment) as u64,
        bytes_per_second: offered * FULL_BYTES as f64 / segment,
        together: ((offered * 0.001 / segment) as u64).clamp(1, datagrams::TOGETHER_MAX),
    };
    let (source, sink) = ends(path, direction);
    let kept = loss.received as f64 / loss.sent as f64;
    let mut highest = None;
    for _ in 0..RATE_ATTEMPTS {
        let (sender, receiver) = pair(source, sink)?;
        let flow = datagrams::flow(&sender, &receiver, pace, silence(spec))?;
        let rate = flow.bytes_per_second.map(|payload| payload * segment / FULL_BYTES as f64 / kept);
        highest = rate.into_iter().chain(highest).max_by(f64::total_cmp);
        if highest.is_some_and(|rate| rate >= asked * (1.0 - compare::TOLERANCE)) {
            break;
        }
    }
    Ok(highest.map(|bytes| DataRate::bits_per_second((bytes * 8.0) as u64)))
}
