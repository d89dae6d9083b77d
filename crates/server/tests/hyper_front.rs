//! Tests that the hyper front without TLS has the same responses, faults and ledger as the lean front. The program's
//! own tests check TLS and HTTP/2 with curl.

use crate::common::{Client, balanced, config};
use measure::units::ByteSize;
use server::{
    Alluxio, Booster, Config, Delay, Faults, Filestash, Flip, HyperServer, Server, Stall, StallFrom, StandIn,
    StatusCount, Truncate, pattern_byte, piece_cid,
};
use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::time::{Duration, Instant};
use wire::Method;

const MS: Duration = Duration::from_millis(1);

fn start(config: &Config) -> (HyperServer, SocketAddr) {
    let front = HyperServer::start(config, None).unwrap();
    let address = front.addresses()[0];
    (front, address)
}

fn with(faults: Faults) -> Config {
    Config { faults, ..config() }
}

fn every(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).unwrap()
}

fn pattern(first: u64, length: u64) -> Vec<u8> {
    (first..first + length).map(pattern_byte).collect()
}

#[test]
fn both_fronts_respond_alike() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a b"), "hello").unwrap();
    let config = Config { directory: Some(directory.path().to_owned()), ..config() };
    let requests = [
        ("GET /blackhole/200000", ""),
        ("GET /blackhole/0", ""),
        ("GET /blackhole/1000", "Range: bytes=10-19\r\n"),
        ("GET /blackhole/1000", "Range: bytes=0-1,4-5\r\n"),
        ("GET /blackhole/1000", "Range: bytes=-5\r\nRange: bytes=-6\r\n"),
        ("GET /blackhole/1000", "Range: bytes=0-1\r\nIf-Range: \"e\"\r\n"),
        ("GET /blackhole/1000", "Range: bytes=1000-\r\n"),
        ("HEAD /blackhole/10GiB", ""),
        ("GET /a%20b", ""),
        ("GET /", ""),
        ("GET /../a", ""),
        ("GET /absent", ""),
        ("PUT /x", "Content-Length: 0\r\n"),
        ("DELETE /x", ""),
        ("GET /blackhole/1?delay=soon", ""),
        ("GET /blackhole/100?status=503&header=X-Y:z", ""),
        ("GET /blackhole/100?status=204", ""),
        ("GET /blackhole/100?redirect=/x&code=302", ""),
        ("GET /blackhole/100000?chunked", ""),
        ("GET /blackhole/100?flip=50", ""),
    ];
    compare_fronts(&config, &requests);
}

#[test]
fn stand_ins_respond_alike_on_both_fronts() {
    let booster = Booster { piece_size: ByteSize(100_000), car_size: ByteSize(50_000), ..Booster::default() };
    let piece = format!("GET /piece/{}", piece_cid(0));
    let car = "/ipfs/bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi?format=car";
    let requests = [
        (piece.as_str(), ""),
        (&piece, "Range: bytes=0-9999\r\n"),
        (&piece, "Range: bytes=0-9999\r\nAccept-Encoding: gzip\r\n"),
        (&piece, "If-None-Match: *\r\n"),
        (&format!("HEAD {}", &piece[4..]), "Accept-Encoding: gzip\r\n"),
        (&format!("GET {car}"), ""),
        (&format!("GET {car}"), "Accept-Encoding: gzip\r\n"),
        (&format!("HEAD {car}"), ""),
        (&format!("DELETE {car}"), ""),
    ];
    compare_fronts(&Config { stand_in: StandIn::BoosterHttp(booster), ..config() }, &requests);
    let alluxio = Alluxio { listed: 3, object_size: ByteSize(3000) };
    let requests =
        [("GET /bucket/3000B-000000", ""), ("GET /bucket/3000B-000000", "Range: bytes=5-9\r\n"), ("GET /", "")];
    compare_fronts(&Config { stand_in: StandIn::Alluxio(alluxio), ..config() }, &requests);
    let ajax = "X-Requested-With: XmlHttpRequest\r\n";
    let requests =
        [("GET /api/session", ajax), ("GET /api/files/ls?path=%2F", ajax), ("GET /api/files/ls?path=%2F", "")];
    compare_fronts(&Config { stand_in: StandIn::Filestash(Filestash::default()), ..config() }, &requests);
    // The stand-in reads the bodies of login requests to choose the status. The test therefore also checks that the
    // hyper front passes request bodies on.
    let (_front, address) = start(&Config { stand_in: StandIn::Filestash(Filestash::default()), ..config() });
    let mut client = Client::connect(address);
    for (body, status) in [(r#"{"type":"blackhole"}"#, 200), (r#"{"type":"sftp"}"#, 403), ("nonsense", 405)] {
        let length = body.len();
        client.send(&format!("POST /api/session HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{ajax}\r\n{body}"));
        assert_eq!(client.response().status, status, "{body}");
    }
}

/// Sends requests to both fronts, and compares their responses and their ledgers.
fn compare_fronts(config: &Config, requests: &[(&str, &str)]) {
    let (front, address) = start(config);
    let lean = Server::start(config).unwrap();
    let mut clients = [Client::connect(address), Client::connect(lean.addresses()[0])];
    for (request, lines) in requests {
        let [front, lean] = clients.each_mut().map(|client| {
            client.send(&format!("{request} HTTP/1.1\r\nHost: x\r\n{lines}\r\n"));
            client.response_to(request.starts_with("HEAD"))
        });
        assert_eq!((front.status, &front.body), (lean.status, &lean.body), "{request} {lines}");
        for name in [
            "content-type",
            "content-length",
            "content-range",
            "content-encoding",
            "accept-ranges",
            "transfer-encoding",
            "allow",
            "etag",
            "location",
            "server",
            "x-y",
        ] {
            assert_eq!(front.header(name), lean.header(name), "{name} of {request} {lines}");
        }
    }
    let [front, lean] = [front.stop(), lean.stop()];
    balanced(&front);
    assert_eq!((front.methods, &front.statuses), (lean.methods, &lean.statuses));
    assert_eq!((front.complete.body_bytes, &front.log), (lean.complete.body_bytes, &lean.log));
}

#[test]
fn uploads_are_counted_and_broken_ones_are_cut() {
    let (front, address) = start(&config());
    let mut client = Client::connect(address);
    let body = "x".repeat(3_000_000);
    client.send(&format!("PUT /any HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    assert_eq!(client.response().body, b"3000000\n");
    let mut leaving = Client::connect(address);
    leaving.send("PUT /any HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    while front.ledger().request_body_bytes < 3_000_003 {
        std::thread::yield_now();
    }
    drop(leaving);
    while front.ledger().requests_cut == 0 {
        std::thread::yield_now();
    }
    let ledger = front.stop();
    balanced(&ledger);
    assert_eq!((ledger.methods.of(&Method::Put), ledger.requests_cut, ledger.complete.count), (2, 1, 1));
}

/// Returns the body of a response that breaks off.
fn broken_body(address: SocketAddr, target: &str) -> Vec<u8> {
    let mut client = Client::connect(address);
    client.send(&format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
    let mut all = Vec::new();
    // The stream may end with a reset. Only the bytes before it matter.
    let _ = std::io::Read::read_to_end(&mut client.stream, &mut all);
    let head = all.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    all.split_off(head)
}

#[test]
fn body_faults_are_alike_on_both_fronts() {
    let faults = Faults {
        truncate: Some(Truncate { every: every(3), after: 100_000 }),
        flip: Some(Flip { every: every(2), at: 70_000 }),
        ..Faults::default()
    };
    let config = with(faults);
    let (front, address) = start(&config);
    let lean = Server::start(&config).unwrap();
    for address in [address, lean.addresses()[0]] {
        let mut client = Client::connect(address);
        assert_eq!(client.get("/absent", "").status, 404, "error responses must not count as bodies with content");
        assert_eq!(client.get("/blackhole/150000", "").body, pattern(0, 150_000));
        let mut flipped = pattern(0, 150_000);
        flipped[70_000] = !flipped[70_000];
        assert!(client.get("/blackhole/150000", "").body == flipped);
        assert!(broken_body(address, "/blackhole/150000") == pattern(0, 100_000));
        let mut ranged = pattern(1000, 10);
        ranged[9] = !ranged[9];
        assert_eq!(client.get("/blackhole/150000", "Range: bytes=1000-1009\r\n").body, ranged);
        assert_eq!(client.get("/blackhole/150000", "").body, pattern(0, 150_000));
        assert_eq!(
            client.get("/blackhole/100000", "").body.len(),
            100_000,
            "a body that is no longer than the cut must stay whole"
        );
        assert!(broken_body(address, "/blackhole/100KiB?chunked&truncate=10").ends_with(b"\r\n"));
    }
    for ledger in [front.stop(), lean.stop()] {
        balanced(&ledger);
        assert_eq!(ledger.statuses[&200], StatusCount { complete: 4, aborted: 2 });
        assert_eq!(ledger.aborted.body_bytes, 100_010);
    }
}

#[test]
fn delays_errors_and_rates_apply() {
    let delay = Delay::Bimodal { fast: Duration::ZERO, slow: 80 * MS, every: every(3) };
    let (_front, address) = start(&with(Faults { delay, error_every: Some(every(4)), ..Faults::default() }));
    let mut client = Client::connect(address);
    for n in 1..=8 {
        let begun = Instant::now();
        let response = client.get("/blackhole/1", "");
        assert_eq!(begun.elapsed() >= 80 * MS, n % 3 == 0, "request {n}: {:?}", begun.elapsed());
        assert_eq!(response.status, if n % 4 == 0 { 500 } else { 200 });
    }
    let (_front, address) = start(&with(Faults { rate: Some(every(1_000_000)), ..Faults::default() }));
    let mut client = Client::connect(address);
    let begun = Instant::now();
    assert_eq!(client.get("/blackhole/300kB", "").body.len(), 300_000);
    let taken = begun.elapsed();
    assert!(taken >= 290 * MS && taken < 500 * MS, "{taken:?}");
}

#[test]
fn stall_stops_every_thread_for_its_length() {
    let stall = Stall { from: StallFrom::FirstRequest, at: 50 * MS, length: 300 * MS };
    let (front, address) = start(&with(Faults { stall: Some(stall), ..Faults::default() }));
    let mut client = Client::connect(address);
    let origin = Instant::now();
    let mut longest = (Duration::ZERO, Duration::ZERO);
    while origin.elapsed() < 450 * MS {
        let begun = origin.elapsed();
        client.get("/blackhole/1", "");
        longest = longest.max((origin.elapsed() - begun, begun));
    }
    assert!(longest.0.abs_diff(300 * MS) <= 30 * MS && longest.1.abs_diff(50 * MS) <= 30 * MS, "{longest:?}");
    assert!(front.ledger().requests() > 20);
}

#[test]
fn connections_have_their_limits() {
    let limits = Config { connections_max: NonZeroUsize::new(2).unwrap(), idle_timeout: 400 * MS, ..config() };
    let (front, address) =
        start(&Config { faults: Faults { close_after: Some(every(3)), ..Faults::default() }, ..limits });
    let begun = Instant::now();
    let mut idle = Client::connect(address);
    idle.get("/blackhole/1", "");
    let mut busy = Client::connect(address);
    let closes: Vec<bool> =
        (0..3).map(|_| busy.get("/blackhole/1", "").header("connection") == Some("close")).collect();
    assert_eq!(closes, [false, false, true]);
    assert!(busy.is_closed());
    while front.ledger().connections_closed < 1 {
        std::thread::yield_now();
    }
    let mut second = Client::connect(address);
    second.get("/blackhole/1", "");
    assert!(Client::connect(address).is_closed());
    assert_eq!(front.ledger().connections_refused, 1);
    assert!(idle.is_closed());
    let taken = begun.elapsed();
    assert!(taken >= 400 * MS && taken < 1500 * MS, "{taken:?}");
}

#[test]
fn head_that_cannot_be_parsed_counts_as_malformed() {
    let (front, address) = start(&config());
    let mut client = Client::connect(address);
    client.send("GET / HTTP/1.1\r\nno colon\r\n\r\n");
    assert_eq!(client.response().status, 400);
    assert!(client.is_closed());
    let ledger = front.stop();
    balanced(&ledger);
    assert_eq!((ledger.requests_malformed, ledger.statuses[&400].complete), (1, 1));
}

#[test]
fn stopping_lets_responses_finish_within_the_drain() {
    let (front, address) = start(&Config { drain: 500 * MS, ..config() });
    let mut quick = Client::connect(address);
    quick.send("GET /blackhole/1?delay=100ms HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut slow = Client::connect(address);
    slow.send("GET /blackhole/1?delay=5s HTTP/1.1\r\nHost: x\r\n\r\n");
    while front.ledger().in_service() < 2 {
        std::thread::yield_now();
    }
    let begun = Instant::now();
    let ledger = front.stop();
    let taken = begun.elapsed();
    assert!(taken >= 490 * MS && taken < 900 * MS, "{taken:?}");
    balanced(&ledger);
    assert_eq!((ledger.complete.count, ledger.aborted.count, ledger.in_service()), (1, 1, 0));
    assert_eq!(quick.response().status, 200);
    assert!(slow.is_closed());
}
