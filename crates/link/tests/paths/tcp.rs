//! Tests TCP over a path: slow start, and the shares of many concurrent streams. The tests compare the expected values
//! with the bytes that the receiver counts.

use crate::support::{Bench, PATIENCE, bench, bench_with, had_cpu};
use link::tun::Settings;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Starts a server at the far end that sends to each connection until the connection is closed. Returns the server's
/// port.
fn source(bench: &Bench) -> u16 {
    let listener = bench.path.far().within(|| TcpListener::bind((bench.path.far().address(), 0))).unwrap().unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || while stream.write_all(&[7; 65536]).is_ok() {});
        }
    });
    port
}

fn connect(bench: &Bench, port: u16) -> TcpStream {
    let stream = bench.path.near().within(|| TcpStream::connect((bench.path.far().address(), port))).unwrap().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads for some time. Returns the bytes in each span of `bucket`.
fn read_for(mut stream: TcpStream, time: Duration, bucket: Duration) -> Vec<u64> {
    let mut buckets = vec![0; time.as_nanos().div_ceil(bucket.as_nanos()) as usize];
    let mut room = vec![0; 256 << 10];
    let begun = Instant::now();
    loop {
        let count = stream.read(&mut room).unwrap();
        let place = (begun.elapsed().as_nanos() / bucket.as_nanos()) as usize;
        match buckets.get_mut(place) {
            Some(bytes) => *bytes += count as u64,
            None => return buckets,
        }
    }
}

#[test]
fn a_stream_starts_slowly_and_reaches_the_rate() {
    let Some(bench) = bench("200Mbit/s,50ms", "50ms") else { return };
    let port = source(&bench);
    let stream = connect(&bench, port);
    // One bucket per round trip.
    let bytes = read_for(stream, Duration::from_secs(4), Duration::from_millis(100));
    let full = 200e6 / 8.0 / 10.0 * 1448.0 / 1514.0;
    // The initial window has 10 segments, and doubles with each round trip.
    assert!((bytes[..3].iter().sum::<u64>() as f64) < 0.2 * full, "no slow start: {bytes:?}");
    if had_cpu(&bench) {
        let last = bytes[30..].iter().sum::<u64>() as f64 / (bytes.len() - 30) as f64;
        assert!((0.95..1.02).contains(&(last / full)), "{last} of {full}: {bytes:?}");
    }
}

#[test]
fn many_streams_share_the_rate() {
    const STREAMS: usize = 50;
    // Every kernel has reno. With the default congestion control of the host, it may take longer than this test until
    // the streams share the rate fairly.
    let settings = Settings { congestion: Some("reno".to_owned()), seed: 1, ..Settings::default() };
    let Some(bench) = bench_with("200Mbit/s,10ms", "10ms", &settings) else { return };
    let port = source(&bench);
    let streams: Vec<TcpStream> = (0..STREAMS).map(|_| connect(&bench, port)).collect();
    let (time, second) = (Duration::from_secs(6), Duration::from_secs(1));
    let readers: Vec<_> =
        streams.into_iter().map(|stream| thread::spawn(move || read_for(stream, time, second))).collect();
    // The first second includes data that arrived before the test began to read.
    let bytes: Vec<f64> =
        readers.into_iter().map(|reader| reader.join().unwrap()[1..].iter().sum::<u64>() as f64).collect();
    let sum: f64 = bytes.iter().sum();
    let jain = sum * sum / (STREAMS as f64 * bytes.iter().map(|count| count * count).sum::<f64>());
    let share = sum / (200e6 / 8.0 * 5.0 * 1448.0 / 1514.0);
    if had_cpu(&bench) {
        assert!(jain > 0.8, "Jain's index is {jain}: {bytes:?}");
        assert!((0.95..1.01).contains(&share), "{share} of the rate");
    }
}
