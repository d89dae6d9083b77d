//! Tests that injected faults occur exactly when they should.

use crate::common::{Client, balanced, config, start};
use server::{Capacity, Config, Delay, Faults, Stall, StallFrom};
use std::net::TcpStream;
use std::num::{NonZeroU64, NonZeroUsize};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn with(faults: Faults) -> Config {
    Config { faults, ..config() }
}

/// Returns the time that a GET takes.
fn time(client: &mut Client, target: &str) -> Duration {
    let begun = Instant::now();
    assert_eq!(client.get(target, "").status, 200);
    begun.elapsed()
}

#[test]
fn faults_by_query() {
    let (server, address) = start(&config());
    let mut client = Client::connect(address);
    let taken = time(&mut client, "/blackhole/1?delay=60ms");
    assert!(taken >= 60 * MS && taken < 200 * MS, "{taken:?}");
    let failed = client.get("/blackhole/1?status=503&header=Retry-After:1", "");
    assert_eq!((failed.status, failed.header("retry-after")), (503, Some("1")));
    let partial = client.get("/blackhole/9?status=200", "Range: bytes=0-1\r\n");
    assert_eq!((partial.status, partial.body.len()), (200, 9), "status=200 must ignore the range");
    let bare = client.get("/blackhole/9?status=204", "");
    assert_eq!((bare.header("content-length"), bare.body.len()), (None, 0));
    let redirect = client.get("/blackhole/1?redirect=http://h:1/%3Fx%26y&code=302", "");
    assert_eq!((redirect.status, redirect.header("location")), (302, Some("http://h:1/?x&y")));
    let wrong = client.get("/blackhole/1?delay=soon", "");
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.starts_with(b"delay= must be"));

    for size in [0, 1, 70_000, 200_000] {
        let chunked = client.get(&format!("/blackhole/{size}?chunked"), "");
        assert_eq!(chunked.header("transfer-encoding"), Some("chunked"));
        assert_eq!((chunked.header("content-length"), chunked.body.len()), (None, size));
    }
    let closed = client.get("/blackhole/1?close", "");
    assert_eq!(closed.header("connection"), Some("close"));
    assert!(client.is_closed());
    let ledger = server.ledger();
    balanced(&ledger);
    assert_eq!(
        ledger.complete.head_bytes + ledger.complete.body_bytes,
        client.received,
        "head bytes must include chunk framing"
    );

    let mut old = Client::connect(address);
    old.send("GET /blackhole/100000?chunked HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let response = old.response();
    assert_eq!((response.header("transfer-encoding"), response.body.len()), (None, 100_000));
    assert!(old.is_closed());
}

#[test]
fn delays_block_no_thread() {
    let config = Config { threads: NonZeroUsize::new(1), ..config() };
    let (server, address) = start(&config);
    let mut slow: Vec<Client> = (0..20).map(|_| Client::connect(address)).collect();
    let begun = Instant::now();
    for client in &mut slow {
        client.send("GET /blackhole/1?delay=300ms HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    let quick = time(&mut Client::connect(address), "/blackhole/1");
    assert!(quick < 150 * MS, "{quick:?}");
    assert_eq!(server.ledger().in_service(), 20);
    for client in &mut slow {
        assert_eq!(client.response().status, 200);
    }
    let taken = begun.elapsed();
    assert!(taken >= 300 * MS && taken < 600 * MS, "{taken:?}");
}

#[test]
fn client_that_leaves_during_a_delay_counts_as_aborted() {
    let (server, address) = start(&with(Faults { delay: Delay::Constant(100 * MS), ..Faults::default() }));
    let (socket, _) = sys::Socket::connect_tcp(address, None).unwrap();
    socket.set_blocking(true).unwrap();
    socket.send(b"GET /blackhole/1 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    while server.ledger().requests() == 0 {
        std::thread::yield_now();
    }
    socket.reset_on_close().unwrap();
    drop(socket);
    while server.ledger().connections_closed == 0 {
        std::thread::yield_now();
    }
    let ledger = server.stop();
    balanced(&ledger);
    assert_eq!((ledger.aborted.count, ledger.aborted.head_bytes, ledger.log[0].complete), (1, 0, false));
}

#[test]
fn every_nth_request_is_slow_or_fails() {
    let delay = Delay::Bimodal { fast: Duration::ZERO, slow: 80 * MS, every: NonZeroU64::new(3).unwrap() };
    let (_server, address) = start(&with(Faults { delay, ..Faults::default() }));
    let mut client = Client::connect(address);
    for n in 1..=6 {
        let taken = time(&mut client, "/blackhole/1");
        assert_eq!(taken >= 80 * MS, n % 3 == 0, "request {n}: {taken:?}");
    }
    let (_server, address) = start(&with(Faults { error_every: NonZeroU64::new(4), ..Faults::default() }));
    let mut client = Client::connect(address);
    let statuses: Vec<u16> = (0..8).map(|_| client.get("/blackhole/1", "").status).collect();
    assert_eq!(statuses, [200, 200, 200, 500, 200, 200, 200, 500]);
}

#[test]
fn connections_close_after_their_last_request() {
    let (server, address) = start(&with(Faults { close_after: NonZeroU64::new(3), ..Faults::default() }));
    let mut client = Client::connect(address);
    // The client sends two more requests than the server answers before it closes the connection. They must not cause a
    // reset that destroys the last response.
    client.send(&"GET /blackhole/10kB HTTP/1.1\r\nHost: x\r\n\r\n".repeat(5));
    let closes: Vec<bool> = (0..3).map(|_| client.response().header("connection") == Some("close")).collect();
    assert_eq!(closes, [false, false, true]);
    assert!(client.is_closed());
    assert_eq!(server.ledger().complete.count, 3);
}

#[test]
fn rate_limits_each_connection() {
    let (_server, address) = start(&with(Faults { rate: NonZeroU64::new(1_000_000), ..Faults::default() }));
    for target in ["/blackhole/300kB", "/blackhole/300kB?chunked"] {
        let taken = time(&mut Client::connect(address), target);
        assert!(taken >= 290 * MS && taken < 400 * MS, "{target}: {taken:?}");
    }
    let taken = time(&mut Client::connect(address), "/blackhole/0?chunked");
    assert!(taken < 100 * MS, "{taken:?}");
}

#[test]
fn requests_beyond_the_capacity_are_slow() {
    let capacity = Capacity::slowing(2, 100 * MS);
    let delay = Delay::Constant(50 * MS);
    let (server, address) = start(&with(Faults { capacity: Some(capacity), delay, ..Faults::default() }));
    let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(address)).collect();
    let begun = Instant::now();
    for (client, before) in clients.iter_mut().zip(0..) {
        client.send("GET /blackhole/1 HTTP/1.1\r\nHost: x\r\n\r\n");
        // The requests are sent one after the other, so the test knows the number of requests in service when each
        // arrives.
        while server.ledger().in_service() == before {
            std::thread::yield_now();
        }
    }
    let ends: Vec<Duration> = clients
        .iter_mut()
        .map(|client| {
            client.response();
            begun.elapsed()
        })
        .collect();
    for (end, expected) in ends.iter().zip([50, 50, 150, 250]) {
        assert!(*end >= expected * MS && *end < (expected + 60) * MS, "{ends:?}");
    }
}

#[test]
fn stall_stops_everything_for_its_length() {
    let stall = Stall { from: StallFrom::FirstRequest, at: 50 * MS, length: 300 * MS };
    let (server, address) = start(&with(Faults { stall: Some(stall), ..Faults::default() }));
    let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(address)).collect();
    clients[0].get("/blackhole/1", "");
    let origin = Instant::now();
    let mut gaps = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = clients.iter_mut().map(|client| scope.spawn(|| longest_gap(client, origin))).collect();
        gaps.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
    });
    for (begin, length) in &gaps {
        assert!(length.abs_diff(300 * MS) <= 20 * MS, "{gaps:?}");
        assert!(begin.abs_diff(50 * MS) <= 20 * MS, "{gaps:?}");
    }
    assert!(server.ledger().requests() > 100);
}

/// Returns the longest response time, and the start time of that response.
fn longest_gap(client: &mut Client, origin: Instant) -> (Duration, Duration) {
    let mut longest = (Duration::ZERO, Duration::ZERO);
    while origin.elapsed() < 450 * MS {
        let begin = origin.elapsed();
        client.get("/blackhole/1", "");
        let length = origin.elapsed() - begin;
        if length > longest.1 {
            longest = (begin, length);
        }
    }
    longest
}

#[test]
fn a_thousand_idle_connections_do_not_slow_down_others() {
    let (server, address) = start(&config());
    let idle: Vec<TcpStream> = (0..1000).map(|_| TcpStream::connect(address).unwrap()).collect();
    while server.ledger().connections_accepted < 1000 {
        std::thread::yield_now();
    }
    let mut client = Client::connect(address);
    for _ in 0..100 {
        assert_eq!(client.get("/blackhole/1KiB", "").body.len(), 1024);
    }
    drop(idle);
    while server.ledger().connections_closed < 1000 {
        std::thread::yield_now();
    }
    assert_eq!(client.get("/blackhole/1", "").status, 200);
}

#[test]
fn connections_beyond_the_limit_are_refused_and_counted() {
    let config = Config { connections_max: NonZeroUsize::new(2).unwrap(), ..config() };
    let (server, address) = start(&config);
    let mut admitted: Vec<Client> = (0..2).map(|_| Client::connect(address)).collect();
    for client in &mut admitted {
        client.get("/blackhole/1", "");
    }
    assert!(Client::connect(address).is_closed());
    let ledger = server.ledger();
    assert_eq!((ledger.connections_accepted, ledger.connections_refused), (2, 1));
    admitted.clear();
    while server.ledger().connections_closed < 2 {
        std::thread::yield_now();
    }
    assert_eq!(Client::connect(address).get("/blackhole/1", "").status, 200);
}

#[test]
fn idle_and_slow_connections_are_closed() {
    let config = Config { head_timeout: 200 * MS, idle_timeout: 400 * MS, ..config() };
    let (_server, address) = start(&config);
    let begun = Instant::now();
    let mut idle = Client::connect(address);
    let mut dawdling = Client::connect(address);
    let mut sender = dawdling.stream.try_clone().unwrap();
    let trickle = std::thread::spawn(move || {
        use std::io::Write;
        while begun.elapsed() < 1000 * MS && sender.write_all(b"G").is_ok() {
            std::thread::sleep(20 * MS);
        }
    });
    // The rest of the head arrives after the server has closed the connection, so the client may get a reset.
    let mut buffer = [0; 16];
    let end = std::io::Read::read(&mut dawdling.stream, &mut buffer);
    let taken = begun.elapsed();
    assert!(matches!(end, Ok(0) | Err(_)) && taken >= 200 * MS && taken < 400 * MS, "{end:?} {taken:?}");
    assert!(idle.is_closed());
    let taken = begun.elapsed();
    assert!(taken >= 400 * MS && taken < 700 * MS, "{taken:?}");
    trickle.join().unwrap();
}

#[test]
fn stopping_lets_responses_finish_within_the_drain() {
    let (server, address) = start(&Config { drain: 500 * MS, ..config() });
    let mut idle = Client::connect(address);
    idle.get("/blackhole/1", "");
    let mut quick = Client::connect(address);
    quick.send("GET /blackhole/1?delay=100ms HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut slow = Client::connect(address);
    slow.send("GET /blackhole/1?delay=5s HTTP/1.1\r\nHost: x\r\n\r\n");
    while server.ledger().in_service() < 2 {
        std::thread::yield_now();
    }
    let begun = Instant::now();
    let ledger = server.stop();
    let taken = begun.elapsed();
    assert!(taken >= 490 * MS && taken < 700 * MS, "{taken:?}");
    balanced(&ledger);
    assert_eq!((ledger.complete.count, ledger.aborted.count, ledger.in_service()), (2, 1, 0));
    assert_eq!(quick.response().status, 200);
    assert!(idle.is_closed() && slow.is_closed());
    assert!(TcpStream::connect(address).is_err());
}
