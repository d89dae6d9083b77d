//! Tests the loss and the queue by comparison with ping and with a count of datagrams.

use crate::support::{PATIENCE, bench, had_cpu, has, run};
use link::spec::Direction;
use measure::statistics::binomial::at_least;
use std::net::UdpSocket;
use std::time::Duration;

#[test]
fn as_many_packets_are_lost_as_the_probability_says() {
    if !has("ping", "-V") {
        return;
    }
    let Some(bench) = bench("2ms,loss=5%", "0ms") else { return };
    let output = run(bench.path.near(), "ping", &["-q", "-c", "2000", "-i", "0.002", "-W", "1", "198.18.0.2"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let received: Option<u64> =
        text.lines().find_map(|line| line.split_once(" transmitted, ")?.1.split_once(" received")?.0.parse().ok());
    let lost = 2000 - received.unwrap_or_else(|| panic!("{text}"));
    // Each tail has a probability of 1 in 10,000.
    assert!(at_least(lost, 2000, 0.05) > 1e-4 && 1.0 - at_least(lost + 1, 2000, 0.05) > 1e-4, "seed 1: {lost} lost");
    assert_eq!(bench.path.counts(Direction::Down).wire.lost, lost, "{text}");
}

#[test]
fn the_queue_has_the_size_that_was_asked_for() {
    // 50 full segments.
    let Some(bench) = bench("10Mbit/s,10ms,queue=75700B", "0ms") else { return };
    let far = bench.path.far().within(|| UdpSocket::bind((bench.path.far().address(), 0))).unwrap().unwrap();
    let near = bench.path.near().within(|| UdpSocket::bind((bench.path.near().address(), 0))).unwrap().unwrap();
    near.set_read_timeout(Some(PATIENCE)).unwrap();
    let to = near.local_addr().unwrap();
    for _ in 0..200 {
        far.send_to(&[7; 1472], to).unwrap();
    }
    let mut received = 0;
    while near.recv(&mut [0; 2000]).is_ok() {
        received += 1;
        near.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    }
    let counts = bench.path.counts(Direction::Down);
    assert_eq!(counts.wire.queue_drops + received, 200, "{counts:?}");
    assert!(received >= 50, "{received} of 200 arrived: {counts:?}");
    // A segment leaves every 1.2 ms while the burst is sent.
    if had_cpu(&bench) {
        assert!(received <= 60, "{received} of 200 arrived: {counts:?}");
    }
}
