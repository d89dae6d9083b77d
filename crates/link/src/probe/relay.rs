//! Measurement of a relay on this host, with a separate server behind it.
//!
//! The real target may be remote and may not respond to probes. The probe therefore measures another relay, which has
//! the same description and a target on loopback.

use super::{Measured, MeasuredDirection};
use crate::error::{LinkError, failed};
use crate::relay::Relay;
use crate::spec::{Direction, LinkSpec};
use crate::tun::Health;
use measure::units::DataRate;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Number of round trips from which the median is computed. The first round trip, which opens the connection, is not
/// included.
const ROUND_TRIPS: usize = 9;
/// Time during which buffers fill up before a rate is measured.
const WARM_UP: Duration = Duration::from_millis(300);
/// Time in which a rate is measured.
const RATE_TIME: Duration = Duration::from_millis(700);
/// Lowest rate that can be measured in this time.
const RATE_MIN: DataRate = DataRate::bits_per_second(2_000_000);
/// Maximum wait for a byte, in addition to the delays.
const PATIENCE: Duration = Duration::from_secs(5);
/// Wire bytes per payload byte, as the relay computes them.
const WIRE_SHARE: f64 = 1514.0 / 1448.0;
/// Number of bytes in one read or write.
const CALL_BYTES: usize = 64 << 10;

/// First byte of a connection to the server, which selects the action of the server.
const ECHO: u8 = b'e';
const SEND: u8 = b's';
const DISCARD: u8 = b'd';

/// Measures a relay with this description. The loss is not measured, because a relay loses nothing. Lateness is not
/// measured either, because a relay without enough CPU time shows a lower rate.
///
/// # Errors
/// Fails if the relay cannot be started, or with errors of the kernel.
pub fn measure_relay(spec: &LinkSpec) -> Result<Measured, LinkError> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed("listen on loopback"))?;
    let address = listener.local_addr().map_err(failed("read the address of the probe's server"))?;
    let relay = Relay::start(spec, address, 0)?;
    let discarded = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&discarded);
    let patience = spec.round_trip() * 2 + PATIENCE;
    let server = thread::spawn(move || serve(&listener, &counter));
    let measured = measure(spec, relay.address(), patience, &discarded).map_err(failed("measure the relay"));
    drop(relay);
    // The server waits for a connection. A connection that ends without selecting an action ends the server.
    drop(TcpStream::connect(address));
    let _ = server.join();
    measured
}

fn measure(spec: &LinkSpec, relay: SocketAddr, patience: Duration, discarded: &AtomicU64) -> io::Result<Measured> {
    let round_trip = round_trip(connect(relay, ECHO, patience)?)?;
    let rate_of = |direction: Direction| spec.direction(direction).rate.filter(|rate| *rate >= RATE_MIN);
    let down = match rate_of(Direction::Down) {
        Some(_) => Some(rate_down(connect(relay, SEND, patience)?)?),
        None => None,
    };
    let up = match rate_of(Direction::Up) {
        Some(_) => Some(rate_up(connect(relay, DISCARD, patience)?, discarded)?),
        None => None,
    };
    let direction = |rate| MeasuredDirection { rate, sent: 0, lost: 0, health: Health::Good };
    Ok(Measured { round_trip, down: direction(down), up: direction(up) })
}

fn connect(relay: SocketAddr, kind: u8, patience: Duration) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(relay)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(&[kind])?;
    Ok(stream)
}

/// Returns the median of the round trips.
fn round_trip(mut stream: TcpStream) -> io::Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..=ROUND_TRIPS {
        let begun = Instant::now();
        stream.write_all(&[0])?;
        stream.read_exact(&mut [0])?;
        times.push(begun.elapsed());
    }
    let later = &mut times[1..];
    later.sort_unstable();
    Ok(later[ROUND_TRIPS / 2])
}

fn rate_down(mut stream: TcpStream) -> io::Result<DataRate> {
    let mut room = vec![0; CALL_BYTES];
    // The delays of the path pass before the first byte arrives, so the warm-up begins after this byte.
    stream.read_exact(&mut room[..1])?;
    let begun = Instant::now();
    while begun.elapsed() < WARM_UP {
        stream.read_exact(&mut room[..1])?;
        let _ = stream.read(&mut room)?;
    }
    let (begun, mut bytes) = (Instant::now(), 0);
    while begun.elapsed() < RATE_TIME {
        bytes += stream.read(&mut room)? as u64;
    }
    Ok(wire_rate(bytes, begun.elapsed()))
}

/// Measures the rate at the server, because the client's buffers accept bytes before the relay reads them.
fn rate_up(mut stream: TcpStream, discarded: &AtomicU64) -> io::Result<DataRate> {
    let bytes = vec![0x5a; CALL_BYTES];
    let begun = Instant::now();
    while discarded.load(Relaxed) == 0 && begun.elapsed() < PATIENCE {
        stream.write_all(&bytes)?;
    }
    let begun = Instant::now();
    while begun.elapsed() < WARM_UP {
        stream.write_all(&bytes)?;
    }
    let (begun, start) = (Instant::now(), discarded.load(Relaxed));
    while begun.elapsed() < RATE_TIME {
        stream.write_all(&bytes)?;
    }
    Ok(wire_rate(discarded.load(Relaxed) - start, begun.elapsed()))
}

fn wire_rate(payload: u64, time: Duration) -> DataRate {
    DataRate::bits_per_second((payload as f64 * 8.0 * WIRE_SHARE / time.as_secs_f64()) as u64)
}

/// Handles one connection after the other, until a connection selects no action. An error ends only its connection; for
/// example, the client closes a connection when it has measured enough.
fn serve(listener: &TcpListener, discarded: &AtomicU64) {
    while let Ok((mut stream, _)) = listener.accept() {
        let (mut kind, mut room) = ([0], vec![0x5a; CALL_BYTES]);
        let _ = stream.set_nodelay(true);
        if stream.read_exact(&mut kind).is_err() {
            return;
        }
        match kind[0] {
            SEND => while stream.write_all(&room).is_ok() {},
            DISCARD => {
                while let Ok(count @ 1..) = stream.read(&mut room) {
                    discarded.fetch_add(count as u64, Relaxed);
                }
            }
            _ => {
                while let Ok(count @ 1..) = stream.read(&mut room) {
                    if stream.write_all(&room[..count]).is_err() {
                        break;
                    }
                }
            }
        }
    }
}
