//! Tests of redirected operations. The times, bytes and connections of each request must be counted for its host. The
//! sums over all requests must equal the values of the operation.

use crate::frames::*;
use crate::support::*;
use engine::plan::*;
use engine::sim::{Accept, Reply, SimNetwork, SimServer, simulate};
use measure::result::accounting::audit;
use measure::stats::redirect_chains::{HopStats, RedirectChains};
use measure::units::ByteSize;
use measure::{Instant, OpKind, Summary};
use server::{Alluxio, Cluster, ClusterConfig, Config, Handoff, Server, StandIn};
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::Duration;

fn counted(ops: u64) -> StopAfter {
    StopAfter { ops: NonZeroU64::new(ops), ..StopAfter::default() }
}

/// Returns the chains of a run. Asserts that the counters of the run agree, and that the sums over the requests of its
/// chains are right.
fn chains(summary: &Summary) -> &RedirectChains {
    assert_eq!(audit(summary, true).violations, []);
    let chains = summary.stats.redirect_chains.as_deref().expect("there was a redirect");
    let parts: u128 = chains.rows.iter().map(HopStats::nanos).sum();
    assert_eq!(parts, chains.response.moments().sum, "the times of the hops must add up to the response time");
    let service: u128 = chains.rows.iter().map(|row| row.service.moments().sum).sum();
    assert!(service <= chains.service.moments().sum, "{service} of {:?}", chains.service.moments());
    assert_eq!(chains.attempts, chains.rows.iter().map(|row| row.attempts).sum::<u64>());
    chains
}

fn row<'a>(chains: &'a RedirectChains, position: u8, host: &str) -> &'a HopStats {
    let found = chains.rows.iter().find(|row| row.position == position && row.host.value() == Some(host));
    found.unwrap_or_else(|| panic!("no {position} {host} in {:?}", chains.rows))
}

#[test]
fn three_servers_count_the_same_as_three_rows() {
    let server = |last: u8| {
        let listen = vec![SocketAddr::from(([127, 0, 0, last], 0))];
        Server::start(&Config { listen, ..Config::default() }).unwrap()
    };
    let servers = [server(1), server(2), server(3)];
    let [first, second, third] = [0, 1, 2].map(|index| servers[index].addresses()[0].to_string());
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let last = encoded(&format!("http://{third}/blackhole/100KiB"));
    let middle = encoded(&format!("http://{second}/blackhole/1KiB?redirect={last}&code=302"));
    for keep_alive in [true, false] {
        let before: Vec<_> = servers.iter().map(Server::ledger).collect();
        let mut plan = at(plan(), &format!("http://{first}/blackhole/1KiB?redirect={middle}&code=307"));
        (plan.load, plan.stop, plan.threads, plan.log_ops) = (closed(8), counted(400), 2, true);
        plan.http.keep_alive = keep_alive;
        let kept = run(&plan);
        let summary = summary(&plan, &kept.intervals);
        let chains = chains(&summary);
        assert_eq!((chains.ops, chains.ok, chains.attempts, chains.hops_max), (400, 400, 1200, 2));
        assert_eq!(chains.rows.len(), 3);
        assert_eq!(chains.response.moments(), summary.all.response.moments(), "every operation must be a chain");
        for (position, host) in [&first, &second, &third].into_iter().enumerate() {
            let (then, now) = (&before[position], servers[position].ledger());
            let row = row(chains, position as u8, host);
            assert_eq!(row.attempts, now.requests() - then.requests(), "{host}");
            assert_eq!(row.redirects, if position < 2 { 400 } else { 0 }, "{host}");
            assert_eq!(row.body_bytes, now.complete.body_bytes - then.complete.body_bytes, "{host}");
            assert_eq!(row.overhead_bytes, now.complete.head_bytes - then.complete.head_bytes, "{host}");
            let accepted = now.connections_accepted - then.connections_accepted;
            let opened = summary.stats.connections.hosts.iter().find(|known| known.host.value() == Some(host));
            assert_eq!((row.opened, opened.map(|known| known.opened)), (accepted, Some(accepted)), "{host}");
            assert_eq!(accepted, if keep_alive { 8 } else { 400 }, "{host}");
        }
        let redirects = &chains.rows.iter().filter(|row| row.redirects > 0).collect::<Vec<_>>();
        let bytes = |of: fn(&HopStats) -> u64| redirects.iter().map(|row| of(row)).sum::<u64>();
        assert_eq!(chains.redirect_body_bytes, bytes(|row| row.body_bytes));
        assert_eq!(chains.redirect_overhead_bytes, bytes(|row| row.overhead_bytes));
        assert_eq!(chains.redirect_body_bytes, summary.stats.traffic.wasted);
        for op in &kept.ops {
            let hosts: Vec<&str> = op.chain.iter().map(|hop| hop.host.value().unwrap()).collect();
            assert_eq!(hosts, [&first, &second, &third]);
            let statuses: Vec<_> = op.chain.iter().map(|hop| hop.status).collect();
            assert_eq!(statuses, [Some(307), Some(302), Some(200)]);
            assert_eq!(op.chain.iter().map(|hop| hop.bytes).sum::<u64>(), op.received_bytes);
        }
    }
}

/// A server that accepts connections after 3 ms, redirects `/object` after 2 ms, and sends `/owned` after 5 ms. The
/// server closes each connection 1 s after a response.
#[derive(Default)]
struct Distant;

impl SimServer for Distant {
    fn connect(&mut self, _: Instant) -> Accept {
        Accept::After(ms(3))
    }

    fn request(&mut self, now: Instant, request: &str) -> Vec<(Instant, Reply)> {
        if request.starts_with("GET /object ") {
            let moved =
                b"HTTP/1.1 307 There\r\nLocation: http://owner:81/owned\r\nContent-Length: 4\r\n\r\nmore".to_vec();
            vec![(now + ms(2), Reply::Bytes(moved))]
        } else {
            respond_at(now + ms(5), 100)
        }
    }
}

#[test]
fn times_are_split_where_requests_are_sent_and_responses_end() {
    let mut plan = Plan { stop: counted(10), ..plan() };
    plan.http.keep_alive = false;
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(Distant));
    let found = summary(&plan, &intervals);
    let cold = chains(&found);
    assert_eq!((cold.ops, cold.redirect_nanos, cold.reach_nanos), (10, 20_000_000, 30_000_000));
    let (entry, owner) = (row(cold, 0, "sim:80"), row(cold, 1, "owner:81"));
    assert_eq!((entry.until_sent_nanos, owner.until_sent_nanos), (30_000_000, 30_000_000));
    assert_eq!((entry.service.min(), owner.service.max()), (Some(2_000_000), Some(5_000_000)));
    assert_eq!((entry.opened, owner.opened), (10, 10));
    near(&cold.response, 1.0, ms(13), Duration::from_micros(20));
    near(&cold.service, 1.0, ms(10), Duration::from_micros(20));
    assert_eq!(cold.share(u128::from(cold.redirect_nanos)), Some(2.0 / 13.0));

    plan.http.keep_alive = true;
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(Distant));
    let found = summary(&plan, &intervals);
    let warm = chains(&found);
    assert_eq!(
        (warm.redirect_nanos, warm.reach_nanos),
        (20_000_000, 3_000_000),
        "there must be one connection to each host"
    );
    assert_eq!((row(warm, 0, "sim:80").opened, row(warm, 1, "owner:81").opened), (1, 1));
}

#[test]
fn resends_and_failures_belong_to_their_hop() {
    /// A server that closes the connection of every fourth request, and responds with a 500 to every fifth request for
    /// an object.
    #[derive(Default)]
    struct Forgetful {
        requests: u64,
        objects: u64,
    }
    impl SimServer for Forgetful {
        fn request(&mut self, now: Instant, request: &str) -> Vec<(Instant, Reply)> {
            self.requests += 1;
            if self.requests.is_multiple_of(4) {
                return vec![(now + ms(1), Reply::End)];
            }
            if request.starts_with("GET /object ") {
                return Distant.request(now, request);
            }
            self.objects += 1;
            if self.objects.is_multiple_of(5) {
                return vec![(now, Reply::Bytes(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n".to_vec()))];
            }
            respond_at(now + ms(5), 100)
        }
    }
    let plan = Plan { stop: counted(50), ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(Forgetful::default()));
    let found = summary(&plan, &intervals);
    let (chains, tally) = (chains(&found), &found.stats.measured);
    assert!(tally.resends > 0 && tally.failed > 0, "{tally:?}");
    assert_eq!((chains.ops, chains.ok), (tally.ok + tally.failed, tally.ok));
    assert_eq!(chains.attempts, tally.attempts);
    let (entry, owner) = (row(chains, 0, "sim:80"), row(chains, 1, "owner:81"));
    assert_eq!((entry.redirects, entry.redirects), (50, tally.hops));
    assert_eq!(entry.attempts + owner.attempts, 100 + tally.resends);
    assert!(entry.attempts > 50 && owner.attempts > 50, "{} and {}", entry.attempts, owner.attempts);
    assert_eq!(owner.service.count(), tally.ok, "only successful requests have times");
}

#[test]
fn a_body_that_does_not_fit_at_once_is_sent_again_to_the_owner() {
    const BYTES: usize = 3 << 20;
    let alluxio = Alluxio { listed: 0, object_size: ByteSize(1) };
    let config = Config { stand_in: StandIn::Alluxio(alluxio), ..Config::default() };
    let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0)); 2];
    let handoff = Handoff::Redirect { marker: false, check: Duration::ZERO };
    let cluster = Cluster::start(&config, &ClusterConfig { listen, handoff, faults_on: None }).unwrap();
    let servers = NonZeroUsize::new(2).unwrap();
    let path = (0..).map(|index| format!("/bucket/{index}")).find(|path| server::owner(path, servers) == 1).unwrap();
    let addresses = cluster.addresses();
    let mut plan = at(plan(), &format!("http://{}{path}", addresses[0]));
    plan.stop = counted(5);
    let body = Some(BodyPlan::of_bytes(vec![7; BYTES].into()));
    plan.mix = Mix::one(RequestPlan { body, ..RequestPlan::new("PUT", OpKind::Request) });
    let kept = run(&plan);
    let found = summary(&plan, &kept.intervals);
    assert_eq!((found.stats.measured.ok, found.stats.measured.hops), (5, 5), "{:?}", found.stats.measured);
    let chains = chains(&found);
    assert_eq!(row(chains, 0, &addresses[0].to_string()).redirects, 5);
    assert_eq!(row(chains, 1, &addresses[1].to_string()).attempts, 5);
    let ledgers = cluster.stop();
    assert_eq!(ledgers[1].request_body_bytes, 5 * BYTES as u64, "the whole body must be sent each time");
    assert_eq!(ledgers[1].requests(), 5);
}

#[test]
fn without_redirects_there_are_no_chains() {
    let server = |now: Instant, _: &str| respond_at(now + ms(1), 100);
    let plan = Plan { stop: counted(10), ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server));
    let summary = summary(&plan, &intervals);
    assert!(summary.stats.redirect_chains.is_none());
    assert_eq!(summary.stats.connections.hosts.len(), 1);
}

/// A server that accepts connections as fast as `Frames` does, and redirects `/object` to another host.
struct Redirecting;

const OWNER: &str = "http://owner:81/owned";

impl SimServer for Redirecting {
    fn connect(&mut self, _: Instant) -> Accept {
        Accept::After(Duration::from_micros(50))
    }

    fn request(&mut self, now: Instant, request: &str) -> Vec<(Instant, Reply)> {
        if !request.starts_with("GET /object ") {
            return respond_at(now + ms(5), 100);
        }
        let text = format!("HTTP/1.1 307 There\r\nLocation: {OWNER}\r\nContent-Length: 4\r\n\r\nmore");
        vec![(now + ms(2), Reply::Bytes(text.into_bytes()))]
    }
}

#[test]
fn redirected_operations_have_the_same_results_as_over_http1() {
    let plain = Plan { stop: counted(20), log_ops: true, ..plan() };
    let mut plan = plain.clone();
    plan.connections.http2 = Some(Http2Plan { streams: NonZeroU32::MIN });
    let streams = |request: StreamRequest| {
        if request.before % 2 == 1 {
            return page(request, ms(5), 100);
        }
        let moved = [redirect(request.stream, 307, OWNER), data(request.stream, 4, true)].concat();
        vec![(request.now + ms(2), Reply::Bytes(moved))]
    };
    let (intervals, ops2) = simulate(&plan, |_| SimNetwork::new(Frames::new(streams)));
    let over2 = summary(&plan, &intervals);
    let (intervals, ops1) = simulate(&plain, |_| SimNetwork::new(Redirecting));
    let over1 = summary(&plain, &intervals);
    assert_eq!((over1.stats.measured.ok, over1.stats.measured.hops), (20, 20));

    let op = |op: &engine::OpEntry| {
        let instants = (op.intended, op.started, op.sent, op.first_byte, op.end);
        let chain: Vec<_> = op.chain.iter().map(|hop| (hop.host.clone(), hop.sent, hop.end, hop.status)).collect();
        (instants, chain, op.connect_nanos, (op.attempts, op.hops), op.outcome, op.status, op.body_bytes)
    };
    assert_eq!(ops2.iter().map(op).collect::<Vec<_>>(), ops1.iter().map(op).collect::<Vec<_>>());
    let times = |summary: &Summary| {
        let all = &summary.all;
        [&all.response, &all.service, &all.ttfb, &all.transfer, &all.connect].map(|times| *times.moments())
    };
    assert_eq!(times(&over2), times(&over1));
    let cut = |summary: &Summary| {
        let chains = chains(summary);
        let row = |row: &HopStats| {
            let counts = (row.position, row.host.clone(), row.attempts, row.redirects, row.opened, row.body_bytes);
            (counts, row.until_sent_nanos, *row.service.moments())
        };
        let sums = [*chains.response.moments(), *chains.service.moments()];
        let times = (chains.redirect_nanos, chains.reach_nanos, sums);
        (times, chains.redirect_body_bytes, chains.rows.iter().map(row).collect::<Vec<_>>())
    };
    assert_eq!(cut(&over2), cut(&over1));
    assert_eq!(cut(&over2).0.0, 20 * 2_000_000, "there are 20 redirects of 2 ms");
}
