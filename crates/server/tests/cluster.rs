//! Tests clusters on real sockets. One server serves each object. The others redirect clients or fetch the object. The
//! ledgers of all servers must agree with the responses that clients got.

use crate::common::{Client, Response, balanced, config};
use measure::units::ByteSize;
use server::{
    Cluster, ClusterConfig, Config, Delay, Faults, Handoff, Ledger, Truncate, object_name, owner, pattern_byte,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU64, NonZeroUsize};
use std::time::{Duration, Instant};

const REDIRECT: Handoff = Handoff::Redirect { marker: false, check: Duration::ZERO };

fn cluster(servers: usize, handoff: Handoff, config: &Config) -> (Cluster, Vec<SocketAddr>) {
    let any = (Ipv4Addr::LOCALHOST, 0).into();
    let cluster = ClusterConfig { listen: vec![any; servers], handoff, faults_on: None };
    let cluster = Cluster::start(config, &cluster).unwrap();
    let addresses = cluster.addresses();
    (cluster, addresses)
}

fn paths(count: u64) -> Vec<String> {
    (0..count).map(|index| format!("/blackhole/{}", object_name(ByteSize(1024), index))).collect()
}

fn owner_of(path: &str, servers: usize) -> usize {
    owner(path, NonZeroUsize::new(servers).unwrap())
}

/// Splits an absolute URL into the server's address and the rest.
fn split(url: &str) -> (SocketAddr, &str) {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    (address.parse().unwrap(), &url[url.len() - path.len() - 1..])
}

fn pattern(first: u64, length: u64) -> Vec<u8> {
    (first..first + length).map(pattern_byte).collect()
}

#[test]
fn owners_serve_objects_and_all_others_redirect_to_them() {
    let (cluster, addresses) = cluster(4, REDIRECT, &config());
    let mut clients: Vec<Client> = addresses.iter().map(|address| Client::connect(*address)).collect();
    let mut owned = vec![0; 4];
    for path in paths(40) {
        let owner = owner_of(&path, 4);
        owned[owner] += 1;
        for (index, client) in clients.iter_mut().enumerate() {
            let response = client.get(&path, "Range: bytes=0-0\r\n");
            if index == owner {
                assert_eq!((response.status, response.body.as_slice()), (206, &[0][..]), "{path}");
            } else {
                assert_eq!((response.status, response.body.len()), (307, 0), "{path}");
                assert_eq!(response.header("location").map(split), Some((addresses[owner], path.as_str())));
            }
        }
    }
    let ledgers = cluster.stop();
    for ((ledger, owned), client) in ledgers.iter().zip(&owned).zip(&clients) {
        balanced(ledger);
        assert_eq!(ledger.statuses.get(&206).map_or(0, |count| count.complete), *owned);
        assert_eq!(ledger.complete.count, 40);
        assert_eq!(ledger.complete.head_bytes + ledger.complete.body_bytes, client.received);
    }
    let joint = Ledger::joint(&ledgers);
    balanced(&joint);
    assert_eq!((joint.statuses[&206].complete, joint.statuses[&307].complete), (40, 120));
}

#[test]
fn redirects_keep_the_query_and_every_server_lists() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a file"), "hello").unwrap();
    let (cluster, addresses) =
        cluster(3, REDIRECT, &Config { directory: Some(directory.path().to_owned()), ..config() });
    let home = owner_of("/a%20file", 3);
    let mut other = Client::connect(addresses[(home + 1) % 3]);
    let sent = other.get("/a%20file?delay=5ms&x=1", "");
    let (to, path) = split(sent.header("location").unwrap());
    assert_eq!((to, path), (addresses[home], "/a%20file?delay=5ms&x=1"));
    assert_eq!(Client::connect(to).get(path, "").body, b"hello");
    other.send("PUT /a%20file HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(other.response().status, 307);
    for address in &addresses {
        assert_eq!(Client::connect(*address).get("/", "").body, b"a%20file\n", "every server must send listings");
    }
    drop(cluster);
}

#[test]
fn marker_ends_loops_and_the_check_delays_redirects() {
    let check = Duration::from_millis(60);
    let (cluster, addresses) = cluster(2, Handoff::Redirect { marker: true, check }, &config());
    let path = &paths(1)[0];
    let home = owner_of(path, 2);
    let mut other = Client::connect(addresses[1 - home]);
    let began = Instant::now();
    let sent = other.get(&format!("{path}?a=b"), "");
    assert!(began.elapsed() >= check);
    assert_eq!(split(sent.header("location").unwrap()), (addresses[home], format!("{path}?a=b&redirect").as_str()));
    let began = Instant::now();
    assert_eq!(other.get(&format!("{path}?redirect"), "").status, 200, "a redirected client must get the object here");
    assert!(began.elapsed() < check, "only redirects must be delayed");
    assert_eq!(Client::connect(addresses[home]).get(&format!("{path}?redirect"), "").body.len(), 1024);
    drop(cluster);
}

#[test]
fn proxy_passes_on_the_owners_response() {
    let (cluster, addresses) = cluster(3, Handoff::Proxy, &config());
    let mut client = Client::connect(addresses[0]);
    let mut foreign = 0;
    for index in 0..60 {
        let size = [0, 1, 1000, 200_000, 3_000_000][index % 5];
        let path = format!("/blackhole/{size}-{index}");
        foreign += u64::from(owner_of(&path, 3) != 0);
        let whole = client.get(&path, "");
        assert_eq!(whole.status, 200);
        assert!(whole.body == pattern(0, size), "{path}");
        if size > 1 {
            let response = client.get(&path, &format!("Range: bytes={}-\r\n", size - 2));
            assert_eq!((response.status, response.body.as_slice()), (206, pattern(size - 2, 2).as_slice()));
            let expected = format!("bytes {}-{}/{size}", size - 2, size - 1);
            assert_eq!(response.header("content-range"), Some(expected.as_str()));
        }
        assert_eq!(client.get(&format!("{path}?chunked"), "").body.len() as u64, size);
        client.send(&format!("HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_eq!(client.response_to(true).header("content-length"), Some(size.to_string().as_str()));
    }
    assert!(foreign > 20, "{foreign} of 60 belong to other servers");
    // A server that stops closes its connections to other servers. The test therefore reads these ledgers before it
    // stops the servers.
    let before: Vec<Ledger> = cluster.ledgers();
    let ledgers = cluster.stop();
    for ledger in &ledgers {
        balanced(ledger);
        assert_eq!(ledger.aborted.count, 0);
    }
    let entry = &ledgers[0];
    assert_eq!(entry.complete.head_bytes + entry.complete.body_bytes, client.received);
    let fetched = ledgers[1].complete.body_bytes + ledgers[2].complete.body_bytes;
    assert!(fetched > 0 && fetched < entry.complete.body_bytes);
    // There are one or two connections to each owner, not one per request.
    assert!(before[1].connections_accepted + before[2].connections_accepted <= 4, "{before:?}");
}

#[test]
fn client_that_leaves_a_proxied_download_aborts_both_responses() {
    let (cluster, addresses) = cluster(2, Handoff::Proxy, &config());
    let path = (0..).map(|index| format!("/blackhole/10GiB-{index}")).find(|path| owner_of(path, 2) == 1).unwrap();
    let mut client = Client::connect(addresses[0]);
    client.send(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
    std::io::Read::read_exact(&mut client.stream, &mut vec![0; 1_000_000]).unwrap();
    drop(client);
    let deadline = Instant::now() + Duration::from_secs(10);
    while cluster.ledgers().iter().any(|ledger| ledger.aborted.count == 0) {
        assert!(Instant::now() < deadline, "{:?}", cluster.ledgers());
    }
    let ledgers = cluster.stop();
    ledgers.iter().for_each(balanced);
    assert!(ledgers[1].aborted.body_bytes >= ledgers[0].aborted.body_bytes);
}

#[test]
fn faults_can_be_limited_to_one_server() {
    let delay = Duration::from_millis(250);
    let faults = Faults { delay: Delay::Constant(delay), error_every: NonZeroU64::new(2), ..Faults::default() };
    let listen = vec![(Ipv4Addr::LOCALHOST, 0).into(); 2];
    let set = ClusterConfig { listen, handoff: REDIRECT, faults_on: Some(1) };
    let cluster = Cluster::start(&Config { faults, ..config() }, &set).unwrap();
    let addresses = cluster.addresses();
    let ask = |index: usize| -> (Vec<u16>, Duration) {
        let path = paths(100).into_iter().find(|path| owner_of(path, 2) == index).unwrap();
        let mut client = Client::connect(addresses[index]);
        let began = Instant::now();
        ((0..4).map(|_| client.get(&path, "").status).collect(), began.elapsed())
    };
    let (statuses, took) = ask(0);
    assert_eq!(statuses, [200; 4]);
    assert!(took < delay, "no response may be delayed: {took:?}");
    let (statuses, took) = ask(1);
    assert_eq!(statuses, [200, 500, 200, 500]);
    assert!(took >= delay * 4, "{took:?}");
}

#[test]
fn truncated_bodies_break_off_at_the_configured_byte() {
    let truncate = NonZeroU64::new(2).map(|every| Truncate { every, after: 50_000 });
    let faults = Faults { truncate, ..Faults::default() };
    for handoff in [REDIRECT, Handoff::Proxy] {
        let (cluster, addresses) = cluster(1, handoff, &Config { faults: faults.clone(), ..config() });
        let mut client = Client::connect(addresses[0]);
        let whole: Response = client.get("/blackhole/100kB", "");
        assert_eq!(whole.body.len(), 100_000);
        client.send("GET /blackhole/100kB HTTP/1.1\r\nHost: x\r\n\r\n");
        let mut rest = Vec::new();
        std::io::Read::read_to_end(&mut client.stream, &mut rest).unwrap();
        let head = rest.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        assert!(rest[head..] == pattern(0, 50_000), "{} bytes", rest.len() - head);
        let ledger = &cluster.stop()[0];
        balanced(ledger);
        assert_eq!((ledger.complete.count, ledger.aborted.count, ledger.aborted.body_bytes), (1, 1, 50_000));
        assert_eq!(ledger.aborted.head_bytes, head as u64);
    }
}
