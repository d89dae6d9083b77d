//! Tests each quirk of the stand-in for Alluxio's S3 API.

use crate::common::{Client, balanced, config};
use measure::units::ByteSize;
use server::{
    Alluxio, Capacity, Cluster, ClusterConfig, Config, CountedRequests, Faults, Handoff, Ledger, RefusedRequests,
    StandIn, owner,
};
use std::net::Ipv4Addr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::process::Command;
use std::time::Duration;

fn alluxio(faults: Faults) -> Config {
    let stand_in = StandIn::Alluxio(Alluxio { listed: 2500, object_size: ByteSize(1024) });
    Config { stand_in, faults, ..config() }
}

fn cluster(servers: usize, config: &Config) -> Cluster {
    let listen = vec![(Ipv4Addr::LOCALHOST, 0).into(); servers];
    let handoff = Handoff::Redirect { marker: true, check: Duration::ZERO };
    Cluster::start(config, &ClusterConfig { listen, handoff, faults_on: None }).unwrap()
}

#[test]
fn curl_follows_redirects_to_the_owner_of_each_object() {
    let cluster = cluster(3, &alluxio(Faults::default()));
    let entry = cluster.addresses()[0];
    let urls: Vec<String> = (0..12).map(|index| format!("http://{entry}/mybucket/1KiB-{index:06}")).collect();
    let Ok(output) = Command::new("curl")
        .args([
            "-sSL",
            "--range",
            "0-0",
            "-w",
            "%{http_code} %{num_redirects}\n",
            "-o",
            "/dev/null",
            "--remote-name-all",
        ])
        .args(urls.iter().flat_map(|url| ["-o", "/dev/null", url]))
        .output()
    else {
        eprintln!("skipped: there is no curl");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let three = NonZeroUsize::new(3).unwrap();
    let expected: Vec<String> = (0..12)
        .map(|index| format!("206 {}", u8::from(owner(&format!("/mybucket/1KiB-{index:06}"), three) != 0)))
        .collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{}", String::from_utf8_lossy(&output.stderr));
    let joint = Ledger::joint(&cluster.stop());
    balanced(&joint);
    assert_eq!(joint.statuses[&206].complete, 12);
}

#[test]
fn every_server_lists_buckets_in_pages() {
    let cluster = cluster(2, &alluxio(Faults::default()));
    for address in cluster.addresses() {
        let mut client = Client::connect(address);
        let mut keys = Vec::new();
        let mut token = String::new();
        loop {
            let response = client.get(&format!("/mybucket?list-type=2{token}"), "");
            assert_eq!((response.status, response.header("content-type")), (200, Some("application/xml")));
            let text = String::from_utf8(response.body).unwrap();
            keys.extend(text.split("<Key>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()));
            let Some((_, next)) = text.split_once("<NextContinuationToken>") else { break };
            token = format!("&continuation-token={}", next.split('<').next().unwrap());
        }
        assert_eq!(keys.len(), 2500);
        assert!(keys.is_sorted() && keys[17] == "1KiB-000017");
        let some = client.get("/mybucket/?list-type=2&prefix=1KiB-0024&max-keys=7", "");
        assert!(
            String::from_utf8(some.body)
                .unwrap()
                .contains("<KeyCount>7</KeyCount><MaxKeys>7</MaxKeys><IsTruncated>true")
        );
    }
}

#[test]
fn names_state_sizes_and_errors_are_xml() {
    let cluster = cluster(1, &alluxio(Faults::default()));
    let mut client = Client::connect(cluster.addresses()[0]);
    assert_eq!(client.get("/b/dir/64KiB-x", "Authorization: AWS4-HMAC-SHA256 nonsense\r\n").body.len(), 65_536);
    let absent = client.get("/b/nothing", "");
    assert_eq!(absent.status, 404);
    assert!(String::from_utf8(absent.body).unwrap().contains("<Code>NoSuchKey</Code>"));
    for (method, status) in [("PUT", 200), ("DELETE", 204), ("POST", 405)] {
        client.send(&format!("{method} /b/1KiB-a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
        assert_eq!(client.response().status, status, "{method}");
    }
}

#[test]
fn keep_alive_can_be_off_and_a_full_queue_gets_slow_down() {
    let capacity = Capacity {
        concurrency: 1,
        slowdown: Duration::ZERO,
        counted: CountedRequests::All,
        refused: RefusedRequests::All,
    };
    let faults = Faults { close_after: NonZeroU64::new(1), capacity: Some(capacity), ..Faults::default() };
    let cluster = cluster(1, &alluxio(faults));
    let address = cluster.addresses()[0];
    let mut client = Client::connect(address);
    let response = client.get("/b/1KiB-a", "");
    assert_eq!((response.status, response.header("connection")), (200, Some("close")));
    assert!(client.is_closed());

    let mut holder = Client::connect(address);
    holder.send("GET /b/1KiB-a?delay=5s HTTP/1.1\r\nHost: x\r\n\r\n");
    while cluster.ledgers()[0].in_service() == 0 {
        std::thread::yield_now();
    }
    let refused = Client::connect(address).get("/b/1KiB-b", "");
    assert_eq!(refused.status, 503);
    assert!(String::from_utf8(refused.body).unwrap().contains("<Code>SlowDown</Code>"));
    balanced(&cluster.ledgers()[0]);
}
