//! The path to a remote host on which `plimsoll serve` runs. The check measures the round trip, and the highest rate in
//! each direction with one stream and with many.

use super::Finding;
use super::ceiling::load;
use crate::failure::Failure;
use report::number::{bit_rate, time};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Connections that are opened to measure the round trip.
const ROUND_TRIPS: usize = 10;
/// Longest wait for a connection.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Number of streams at which a path usually reaches its full rate.
const STREAMS: u32 = 32;

/// Measures the path to `target`, which is HOST:PORT or an http:// URL.
pub fn measure(target: &str) -> Result<Vec<Finding>, Failure> {
    let authority = target.strip_prefix("http://").unwrap_or(target).split('/').next().unwrap_or_default();
    let address = resolved(authority)?;
    let round_trip = round_trip(address).map_err(|error| {
        Failure::could_not_run(format!("--to {authority}: cannot connect ({error}); {}", needs(authority)))
    })?;
    let [one_down, many_down] = [1, STREAMS].map(|streams| {
        load(&format!("get --threads 1 -c {streams} -d 3s --warmup 1s --drain 0s http://{authority}/blackhole/4GiB"))
    });
    let [one_up, many_up] = [1, STREAMS].map(|streams| {
        load(&format!(
            "put --threads 1 -c {streams} -d 3s --warmup 1s --drain 0s --size 256MiB --count 1000 http://{authority}/blackhole/doctor"
        ))
    });
    let received = |measured: &super::ceiling::Measured| measured.summary.throughput().unwrap_or(0.0);
    let sent = |measured: &super::ceiling::Measured| measured.summary.sending().unwrap_or(0.0);
    let (one_down, many_down) = (received(&one_down?), received(&many_down?));
    if one_down <= 0.0 {
        return Err(Failure::could_not_run(format!(
            "--to {authority}: nothing could be downloaded; {}",
            needs(authority)
        )));
    }
    let (one_up, many_up) = (sent(&one_up?), sent(&many_up?));
    let rates = |one: f64, many: f64| format!("{} with 1 stream, {} with {STREAMS}", bit_rate(one), bit_rate(many));
    Ok(vec![
        Finding::fact("path", format!("to {authority}: round trip {} to connect", time(round_trip.as_nanos() as f64))),
        Finding::fact("download ceiling", rates(one_down, many_down)),
        Finding::fact("upload ceiling", rates(one_up, many_up)),
        Finding::fact(
            "",
            "payload of TCP; a study that tests the path should reach 95 % of it. With --nic-speed, a run reports the percentage that it used",
        ),
    ])
}

/// Returns the advice on how to prepare the remote host.
fn needs(authority: &str) -> String {
    let port = authority.rsplit_once(':').map_or("8080", |(_, port)| port);
    format!("run `plimsoll serve --listen 0.0.0.0:{port}` there")
}

fn resolved(authority: &str) -> Result<SocketAddr, Failure> {
    if authority.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).is_none() {
        return Err(Failure::usage(format!("--to `{authority}` has no port: write HOST:PORT, e.g. 10.0.0.5:8080")));
    }
    let unknown = |why: String| Failure::could_not_run(format!("--to {authority}: {why}"));
    let mut addresses = authority.to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    addresses.next().ok_or_else(|| unknown("no address".to_owned()))
}

/// Returns the median time to open a connection, which is one round trip.
fn round_trip(address: SocketAddr) -> std::io::Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..ROUND_TRIPS {
        let begun = Instant::now();
        TcpStream::connect_timeout(&address, CONNECT_MAX)?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times[ROUND_TRIPS / 2])
}
