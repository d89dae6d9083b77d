//! Tests the rate by comparison with iperf3.

use crate::support::{Bench, PATIENCE, bench_with, had_cpu, has, skip, start};
use link::tun::Settings;
use serde_json::Value;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Payload share of the wire bytes of a full segment: 1,448 of 1,514 bytes.
const PAYLOAD_SHARE: f64 = 1448.0 / 1514.0;

/// Waits until a server at the far end accepts connections on `port`. The accepted connection is then closed.
fn is_up(bench: &Bench, port: u16) -> bool {
    let begun = Instant::now();
    let connect =
        || TcpStream::connect_timeout(&(bench.path.far().address(), port).into(), Duration::from_secs(1)).is_ok();
    let try_until_up = || loop {
        if connect() {
            return true;
        }
        if begun.elapsed() > PATIENCE {
            return false;
        }
        std::thread::yield_now();
    };
    bench.path.far().within(try_until_up).unwrap()
}

/// Runs iperf3 between the ends. Returns the received payload in bits per second, without the first second.
fn iperf3(bench: &Bench, arguments: &[&str]) -> f64 {
    // The namespace is new, so no other process uses the default port.
    let _server = start(bench.path.far(), "iperf3", &["-s"]);
    assert!(is_up(bench, 5201), "iperf3 did not start");
    let all = [&["-c", "198.18.0.2", "-J", "-O", "1"][..], arguments].concat();
    let output = crate::support::run(bench.path.near(), "iperf3", &all);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let intervals = report["intervals"].as_array().cloned().unwrap_or_default();
    let kept = intervals.iter().filter(|interval| interval["sum"]["omitted"] == Value::Bool(false));
    let rates: Vec<f64> = kept.filter_map(|interval| interval["sum"]["bits_per_second"].as_f64()).collect();
    assert!(!rates.is_empty(), "{report}");
    rates.iter().sum::<f64>() / rates.len() as f64
}

fn assert_rate(measured: f64, asked: f64) {
    let ratio = measured / (asked * PAYLOAD_SHARE);
    assert!((0.98..1.02).contains(&ratio), "{:.1} Mbit/s, {ratio:.3} of the possible payload", measured / 1e6);
}

#[test]
fn one_stream_has_the_rate_of_the_direction() {
    if !has("iperf3", "-v") {
        return;
    }
    for congestion in ["cubic", "bbr"] {
        let settings = Settings { congestion: Some(congestion.to_owned()), seed: 1, ..Settings::default() };
        let bench = match link::tun::Path::open(&crate::support::spec("1ms", "1ms"), &settings) {
            Err(link::LinkError::Congestion { .. }) => {
                skip(&format!("the kernel has no {congestion}"));
                continue;
            }
            _ => bench_with("200Mbit/s,10ms", "50Mbit/s,5ms", &settings),
        };
        let Some(bench) = bench else { return };
        let (down, up) = (iperf3(&bench, &["-R", "-t", "2"]), iperf3(&bench, &["-t", "2"]));
        if had_cpu(&bench) {
            assert_rate(down, 200e6);
            // The sender counts bytes when it passes them to the kernel, so the rate varies from interval to interval.
            assert!((0.9..1.1).contains(&(up / (50e6 * PAYLOAD_SHARE))), "{up}");
        }
    }
}
