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
use std::time::{Duration, Instant};
use sys::{Events, Poller, Socket, clock};

/// Bytes that one call sends or discards.
const CALL_BYTES: usize = 1 << 20;
/// Seconds at the start that are excluded from the rate and the fairness.
const WARM_UP: usize = 2;

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

/// Prints the payload per second, and the rate and fairness after the warm-up.
fn report(received: &[Vec<u64>], seconds: usize) {
    for second in 0..seconds {
        let bytes: u64 = received.iter().map(|stream| stream[second]).sum();
        println!("{second:>3} s {:>9.1} Mbit/s", bytes as f64 * 8.0 / 1e6);
    }
    let totals: Vec<f64> = received.iter().map(|stream| stream[WARM_UP..].iter().sum::<u64>() as f64).collect();
    let sum: f64 = totals.iter().sum();
    let squares: f64 = totals.iter().map(|total| total * total).sum();
    let rate = sum * 8.0 / 1e6 / (seconds - WARM_UP) as f64;
    println!("payload after {WARM_UP} s: {rate:.1} Mbit/s, Jain {:.4}", sum * sum / squares / totals.len() as f64);
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
