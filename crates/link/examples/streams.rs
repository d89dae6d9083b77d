//! Sends TCP streams over an emulated path from the far end to the near end, and prints the received bytes per second.
//!
//! The example needs no load tester. One thread sends from memory, and another discards the bytes inside the kernel, so
//! the path is the bottleneck.
//!
//! ```console
//! $ cargo run --release -p link --example streams -- 10Gbit/s,40ms 10Gbit/s,40ms 4 8 bbr
//! ```

use link::spec::{Direction, LinkSpec};
use link::tun::{End, Path, Settings};
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::time::{Duration, Instant};
use sys::{Events, Poller, Socket, clock};

/// Bytes that one call sends or discards.
const CALL_BYTES: usize = 1 << 20;
/// Seconds at the start that are excluded from the last line of the report.
const WARM_UP: usize = 2;
/// Seconds in one window of the report.
const WINDOW: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [down, up, streams, seconds, congestion @ ..] = &arguments[..] else {
        return Err("usage: load DOWN UP STREAMS SECONDS [CONGESTION-CONTROL]".into());
    };
    let spec = LinkSpec { down: down.parse()?, up: up.parse()? };
    let (streams, seconds): (usize, usize) = (streams.parse()?, seconds.parse()?);
    let settings = Settings { congestion: congestion.first().cloned(), ..Settings::default() };
    sys::limits::raise_descriptor_limit()?;
    link::permissions::gain()?;
    let path = Path::open(&spec, &settings)?;
    println!("{} streams, {}", streams, path.near().congestion());
    let address = SocketAddr::new(IpAddr::V4(path.far().address()), 0);
    let listener = path.far().within(|| Socket::listen_tcp(address, 4096, false))??;
    let to = listener.local_addr()?;
    let until = Instant::now() + Duration::from_secs(seconds as u64 + 5);
    let (sending, receiving) = std::thread::scope(|scope| {
        let sending = scope.spawn(|| send(&listener, until));
        let receiving = scope.spawn(|| receive(path.near(), to, streams, seconds));
        (sending.join(), receiving.join())
    });
    let (received, receiver_cpu) = receiving.map_err(|_| "the receiver panicked")??;
    let sender_cpu = sending.map_err(|_| "the sender panicked")??;
    report(&received, seconds);
    println!("CPU: sender {:.2} s, receiver {:.2} s", sender_cpu.as_secs_f64(), receiver_cpu.as_secs_f64());
    for direction in [Direction::Down, Direction::Up] {
        let counts = path.counts(direction);
        println!("{direction}: {counts:?} {:?} busy {:.1} %", counts.health(), counts.busy_share() * 100.0);
    }
    Ok(())
}

/// Prints the payload per second, and the rate and fairness in windows of the time.
fn report(received: &[Vec<u64>], seconds: usize) {
    for second in 0..seconds {
        let bytes: u64 = received.iter().map(|stream| stream[second]).sum();
        println!("{second:>3} s {:>9.1} Mbit/s", bytes as f64 * 8.0 / 1e6);
    }
    for from in (0..seconds).step_by(WINDOW) {
        let until = (from + WINDOW).min(seconds);
        println!("{from:>3} to {until} s: {}", shares(received, from..until));
    }
    println!("all: {}", shares(received, 0..seconds));
    println!("payload after {WARM_UP} s: {}", shares(received, WARM_UP.min(seconds - 1)..seconds));
}

/// Returns the payload of some seconds, the fairness, and the smallest and largest streams.
fn shares(received: &[Vec<u64>], time: Range<usize>) -> String {
    let seconds = time.len() as f64;
    let mut rates: Vec<f64> =
        received.iter().map(|stream| stream[time.clone()].iter().sum::<u64>() as f64 * 8.0 / 1e6 / seconds).collect();
    rates.sort_by(f64::total_cmp);
    let (sum, count) = (rates.iter().sum::<f64>(), rates.len());
    let jain = sum * sum / rates.iter().map(|rate| rate * rate).sum::<f64>() / count as f64;
    let at = |share: f64| rates[((count - 1) as f64 * share) as usize];
    let [least, p5, median, p95, most] = [0.0, 0.05, 0.5, 0.95, 1.0].map(at);
    format!(
        "{sum:.1} Mbit/s, Jain {jain:.4}; streams: {least:.3} … {p5:.3} … {median:.3} … {p95:.3} … {most:.3} Mbit/s"
    )
}

/// Accepts connections and sends to all of them until all are closed.
fn send(listener: &Socket, until: Instant) -> io::Result<Duration> {
    let memory = sys::file::memory_file("content", &vec![0x5a; CALL_BYTES])?;
    let (poller, mut events) = (Poller::new()?, Events::with_capacity(1024));
    poller.add_edges(listener, u64::MAX)?;
    let mut streams: Vec<Option<Socket>> = Vec::new();
    let mut open = 0;
    while Instant::now() < until && (streams.is_empty() || open > 0) {
        poller.wait(&mut events, Some(Duration::from_millis(100)))?;
        for ready in events.iter() {
            if ready.token == u64::MAX {
                while let Ok((stream, _)) = listener.accept() {
                    poller.add_edges(&stream, streams.len() as u64)?;
                    streams.push(Some(stream));
                    open += 1;
                }
                continue;
            }
            let Some(place) = streams.get_mut(ready.token as usize) else { continue };
            let Some(stream) = place else { continue };
            let error = loop {
                match sys::file::sendfile(stream, &memory, 0, CALL_BYTES) {
                    Ok(_) => {}
                    Err(error) => break error,
                }
            };
            if error.kind() != io::ErrorKind::WouldBlock || ready.error {
                *place = None;
                open -= 1;
            }
        }
    }
    Ok(clock::thread_cpu_time())
}

/// Opens the streams and discards the received bytes. Returns the bytes of each stream in each second.
fn receive(near: &End, to: SocketAddr, streams: usize, seconds: usize) -> io::Result<(Vec<Vec<u64>>, Duration)> {
    near.enter()?;
    let (poller, mut events) = (Poller::new()?, Events::with_capacity(1024));
    let sockets: io::Result<Vec<Socket>> = (0..streams).map(|_| Ok(Socket::connect_tcp(to, None)?.0)).collect();
    let sockets = sockets?;
    for (place, socket) in sockets.iter().enumerate() {
        poller.add_edges(socket, place as u64)?;
    }
    let mut received = vec![vec![0; seconds]; streams];
    let begun = Instant::now();
    loop {
        poller.wait(&mut events, Some(Duration::from_millis(50)))?;
        let second = begun.elapsed().as_secs() as usize;
        if second >= seconds {
            return Ok((received, clock::thread_cpu_time()));
        }
        for ready in events.iter() {
            let place = ready.token as usize;
            while let Ok(count @ 1..) = sockets[place].discard(CALL_BYTES) {
                received[place][second] += count as u64;
            }
        }
    }
}
