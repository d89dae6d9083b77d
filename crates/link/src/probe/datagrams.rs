//! Flows of datagrams between two sockets.

use std::io;
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};
use sys::datagram;

/// Maximum number of full datagrams that one call sends. Together, these datagrams have almost 64 KiB.
pub(super) const TOGETHER_MAX: u64 = 44;
/// Pause between two sends while a flow is ahead of its pace.
const NAP: Duration = Duration::from_micros(200);
/// Size of the receive buffer, which must store all data that arrives while the receiver does not run.
const RECEIVE_BUFFER_BYTES: i32 = 64 << 20;
/// Maximum total time that a receiver waits.
const FLOW_MAX: Duration = Duration::from_secs(40);

/// Sizes and rate with which a flow is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Payload of each datagram.
    pub datagram_bytes: u64,
    /// Number of datagrams.
    pub datagrams: u64,
    /// Payload per second.
    pub bytes_per_second: f64,
    /// Number of datagrams that are sent by one call.
    pub together: u64,
}

/// Result of a flow at the receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flow {
    pub sent: u64,
    pub received: u64,
    /// Rate of the received payload between the first and the last arrival; `None` with fewer than two arrivals.
    pub bytes_per_second: Option<f64>,
}

/// Sends small datagrams, which the other socket sends back. Returns the round-trip times of the datagrams that came
/// back.
pub(super) fn echo(
    near: &UdpSocket,
    far: &UdpSocket,
    count: usize,
    gap: Duration,
    silence: Duration,
) -> io::Result<Vec<Duration>> {
    near.set_read_timeout(Some(silence))?;
    far.set_read_timeout(Some(silence))?;
    let begun = Instant::now();
    let nanos = |since: Instant| u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut room = [0; 64];
            for _ in 0..count {
                let Ok(bytes) = far.recv(&mut room) else { return };
                let _ = far.send(&room[..bytes]);
            }
        });
        scope.spawn(|| {
            for _ in 0..count {
                let _ = near.send(&nanos(begun).to_le_bytes());
                thread::sleep(gap);
            }
        });
        let mut times = Vec::new();
        let mut room = [0; 8];
        while times.len() < count && near.recv(&mut room).is_ok_and(|bytes| bytes == room.len()) {
            times.push(Duration::from_nanos(nanos(begun).saturating_sub(u64::from_le_bytes(room))));
        }
        Ok(times)
    })
}

/// Sends a flow and receives it. The flow ends when all datagrams have arrived, or when none has arrived for `silence`.
pub(super) fn flow(sender: &UdpSocket, receiver: &UdpSocket, pace: Pace, silence: Duration) -> io::Result<Flow> {
    receiver.set_read_timeout(Some(silence))?;
    datagram::set_receive_buffer(receiver, RECEIVE_BUFFER_BYTES)?;
    datagram::receive_many(receiver)?;
    datagram::send_many(sender, pace.datagram_bytes as u16)?;
    thread::scope(|scope| {
        let sending = scope.spawn(|| send(sender, pace));
        let (received, bytes_per_second) = receive(receiver, pace);
        let sent = sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Flow { sent, received, bytes_per_second })
    })
}

fn send(sender: &UdpSocket, pace: Pace) -> io::Result<u64> {
    let bytes = vec![0x5a; (pace.datagram_bytes * pace.together) as usize];
    let (begun, mut sent) = (Instant::now(), 0);
    while sent < pace.datagrams {
        let due = begun.elapsed().as_secs_f64() * pace.bytes_per_second / pace.datagram_bytes as f64;
        if sent as f64 > due {
            thread::sleep(NAP);
            continue;
        }
        let together = pace.together.min(pace.datagrams - sent);
        sender.send(&bytes[..(together * pace.datagram_bytes) as usize])?;
        sent += together;
    }
    Ok(sent)
}

/// Returns the number of received datagrams, and the rate of their payload.
fn receive(receiver: &UdpSocket, pace: Pace) -> (u64, Option<f64>) {
    let mut room = vec![0; 1 << 16];
    let (begun, mut first, mut last) = (Instant::now(), None, None);
    let (mut bytes, mut later_bytes) = (0, 0);
    while bytes < pace.datagrams * pace.datagram_bytes && begun.elapsed() < FLOW_MAX {
        let Ok(count) = receiver.recv(&mut room) else { break };
        let now = Instant::now();
        bytes += count as u64;
        // The measured time starts with the first arrival, so the bytes of this arrival are not counted.
        if first.is_some() {
            later_bytes += count as u64;
            last = Some(now);
        }
        first.get_or_insert(now);
    }
    let interval = first.zip(last).map(|(first, last): (Instant, Instant)| last.duration_since(first).as_secs_f64());
    let rate = interval.filter(|seconds| *seconds > 0.0).map(|seconds| later_bytes as f64 / seconds);
    (bytes / pace.datagram_bytes, rate)
}
