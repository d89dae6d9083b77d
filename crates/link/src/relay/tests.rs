use super::*;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// No read should take this long. With the timeout, a defect makes a test fail instead of hang.
const PATIENCE: Duration = Duration::from_secs(20);

fn spec(down: &str, up: &str) -> LinkSpec {
    LinkSpec { down: down.parse().unwrap(), up: up.parse().unwrap() }
}

/// Starts a server that handles each connection in a thread.
fn server(handle: impl Fn(TcpStream) + Send + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (handle, stream) = (handle.clone(), stream.unwrap());
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            thread::spawn(move || handle(stream));
        }
    });
    address
}

fn echo(mut stream: TcpStream) {
    let mut room = [0; 65536];
    while let Ok(count @ 1..) = stream.read(&mut room) {
        if stream.write_all(&room[..count]).is_err() {
            return;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
}

fn connect(relay: &Relay) -> TcpStream {
    let stream = TcpStream::connect(relay.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn round_trip(stream: &mut TcpStream) -> Duration {
    let begun = Instant::now();
    stream.write_all(b"ping").unwrap();
    stream.read_exact(&mut [0; 4]).unwrap();
    begun.elapsed()
}

#[test]
fn bytes_take_the_delay_of_both_directions() {
    let relay = Relay::start(&spec("30ms", "20ms"), server(echo), 1).unwrap();
    let mut stream = connect(&relay);
    // The first round trip includes the round trip that opening the connection takes on a real path.
    assert!(round_trip(&mut stream) >= Duration::from_millis(100));
    let fastest = (0..5).map(|_| round_trip(&mut stream)).min().unwrap();
    assert!((50..70).contains(&fastest.as_millis()), "{fastest:?}");
    // The relay updates its counts after it has passed the bytes on.
    let expected = RelayCounts { connections: 1, failed: 0, down_bytes: 24, up_bytes: 24 };
    let begun = Instant::now();
    while relay.counts() != expected && begun.elapsed() < PATIENCE {
        thread::yield_now();
    }
    assert_eq!(relay.counts(), expected);
}

#[test]
fn content_and_ends_of_streams_are_passed_on() {
    let relay = Relay::start(&spec("1Gbit/s,5ms", "1Gbit/s,5ms"), server(echo), 1).unwrap();
    let sent: Vec<u8> = (0..3_000_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut reader = connect(&relay);
    let mut writer = reader.try_clone().unwrap();
    let copy = sent.clone();
    let writing = thread::spawn(move || writer.write_all(&copy).and_then(|()| writer.shutdown(Shutdown::Write)));
    let mut received = Vec::new();
    reader.read_to_end(&mut received).unwrap();
    writing.join().unwrap().unwrap();
    assert!(received == sent, "{} bytes received", received.len());
}

#[test]
fn all_connections_together_have_the_rate() {
    let source = server(|mut stream| while stream.write_all(&[7; 65536]).is_ok() {});
    let relay = Relay::start(&spec("80Mbit/s,10ms", "10ms"), source, 1).unwrap();
    let readers: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = connect(&relay);
            thread::spawn(move || {
                let mut room = vec![0; 65536];
                let (begun, mut bytes) = (Instant::now(), 0);
                while begun.elapsed() < Duration::from_millis(1500) {
                    let count = stream.read(&mut room).unwrap();
                    // The first half second is left out, because the buffers of the sockets fill up then.
                    bytes += if begun.elapsed() > Duration::from_millis(500) { count } else { 0 };
                }
                bytes as f64
            })
        })
        .collect();
    let bytes: Vec<f64> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
    // The payload of full segments is 1448 of 1514 bytes.
    let expected = 80e6 / 8.0 * 1448.0 / 1514.0;
    let total: f64 = bytes.iter().sum();
    assert!((0.93..1.07).contains(&(total / expected)), "{total} of {expected}");
    let jain = total.powi(2) / (8.0 * bytes.iter().map(|count| count * count).sum::<f64>());
    assert!(jain > 0.95, "Jain's index of {bytes:?} is {jain}");
}

#[test]
fn a_target_that_refuses_resets_the_client() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let relay = Relay::start(&LinkSpec::default(), unused, 1).unwrap();
    let mut stream = connect(&relay);
    assert!(stream.read(&mut [0; 1]).is_err());
    assert_eq!((relay.counts().connections, relay.counts().failed), (1, 1));
}

/// If one receiver reads nothing, the other connections must continue, and the relay must not store an unlimited number
/// of bytes.
#[test]
fn a_stalled_receiver_holds_only_its_own_sender_back() {
    let source = server(|mut stream| {
        let mut kind = [0];
        if stream.read_exact(&mut kind).is_ok() {
            while kind == *b"s" && stream.write_all(&[7; 65536]).is_ok() {}
            let _ = stream.write_all(b"x");
            echo(stream);
        }
    });
    let relay = Relay::start(&spec("1ms", "1ms"), source, 1).unwrap();
    let mut stalled = connect(&relay);
    stalled.write_all(b"s").unwrap();
    let mut other = connect(&relay);
    other.write_all(b"x").unwrap();
    other.read_exact(&mut [0; 1]).unwrap();
    for _ in 0..20 {
        assert!(round_trip(&mut other) < Duration::from_secs(2));
    }
    // The loopback sockets buffer a few megabytes.
    assert!(relay.counts().down_bytes < 64 << 20, "{:?}", relay.counts());
}

#[test]
fn packets_are_needed_for_loss_and_reordering() {
    for (down, what) in [("1ms,loss=1%", "loss"), ("1ms,reorder=1%", "reordering")] {
        let link = LinkSpec { down: down.parse().unwrap(), ..LinkSpec::default() };
        let error = Relay::start(&link, "127.0.0.1:1".parse().unwrap(), 1).unwrap_err();
        assert!(error.to_string().contains(what) && error.to_string().contains("`plimsoll link run`"), "{error}");
    }
}
