//! Tests of connections that close after the client has sent a request. Either the connection was stale, or the server
//! broke off the request.

use crate::support::*;
use engine::plan::*;
use engine::sim::{Reply, SimNetwork, simulate};
use measure::result::accounting::audit;
use measure::stats::Tally;
use measure::{AttemptClass, Cause, Instant, OpKind, Summary};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroU64;

const OPS: u64 = 20;

fn counted() -> StopAfter {
    StopAfter { ops: NonZeroU64::new(OPS), ..StopAfter::default() }
}

fn tally(summary: &Summary) -> &Tally {
    assert_eq!(audit(summary, true).violations, []);
    &summary.stats.measured
}

#[test]
fn a_server_that_worked_on_a_request_broke_it_off() {
    for end in [Reply::End, Reply::Reset] {
        for (after, failed) in [(0, 0), (4, 0), (6, OPS / 2), (40, OPS / 2)] {
            let plan = Plan { stop: counted(), ..plan() };
            let server = || {
                let (mut requests, end) = (0, end.clone());
                move |now: Instant, _: &str| {
                    requests += 1;
                    // The server responds to the first request on each connection.
                    if requests % 2 == 0 { vec![(now + ms(after), end.clone())] } else { respond_at(now + ms(1), 10) }
                }
            };
            let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server()));
            let summary = summary(&plan, &intervals);
            let tally = tally(&summary);
            assert_eq!((tally.failed, tally.ok), (failed, OPS - failed), "closed after {after} ms with {end:?}");
            assert_eq!(tally.causes.get(Cause::StaleConnection) > 0, failed == 0);
            let broken = tally.classes.get(AttemptClass::ClosedEarly) + tally.classes.get(AttemptClass::Reset);
            assert_eq!(broken, failed, "closed after {after} ms with {end:?}");
        }
    }
}

/// Reads the head of a request and `body` bytes of its body. Returns `None` at the end of the connection.
fn read_request(connection: &mut TcpStream, body: usize) -> Option<()> {
    let (mut read, mut block) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let head = read.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        if head.is_some_and(|head| read.len() - head >= body) {
            return Some(());
        }
        match connection.read(&mut block) {
            Ok(count @ 1..) => read.extend_from_slice(&block[..count]),
            _ => return None,
        }
    }
}

/// Starts a server that responds to the first request on each connection. The body of this request has `body` bytes.
/// The server then calls `end` and closes the connection, without announcing this. Returns its URL.
fn serve(body: usize, end: fn(&mut TcpStream) -> Option<()>) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/object", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { return };
            std::thread::spawn(move || {
                read_request(&mut connection, body)?;
                connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok()?;
                end(&mut connection)
            });
        }
    });
    url
}

#[test]
fn a_server_that_read_much_of_a_body_broke_the_request_off() {
    const BODY: usize = 16 << 20;
    // The server reads 1 MiB of the body of the second request.
    let url = serve(BODY, |connection| read_request(connection, 1 << 20));
    let mut plan = at(Plan { stop: counted(), ..plan() }, &url);
    let body = Some(BodyPlan::of_bytes(vec![b'x'; BODY].into()));
    plan.mix = Mix::one(RequestPlan { body, ..RequestPlan::new("PUT", OpKind::Put) });
    let made = run(&plan);
    let summary = summary(&plan, &made.intervals);
    let tally = tally(&summary);
    assert_eq!((tally.ok, tally.failed, tally.resends), (OPS / 2, OPS / 2, 0), "{:?}", tally.causes);
}

#[test]
fn a_server_that_closes_idle_connections_has_stale_ones() {
    let url = serve(0, |_| Some(()));
    let plan = Plan { log_ops: true, ..at(Plan { stop: counted(), load: closed(4), ..plan() }, &url) };
    let mut tries = (0..TRIES).map(|_| run(&plan));
    let made = tries.find(|made| !made.ops.iter().any(closed_late)).expect("a server that closes connections in time");
    let summary = summary(&plan, &made.intervals);
    assert_eq!((tally(&summary).ok, tally(&summary).failed), (OPS, 0), "{:?}", tally(&summary).causes);
}
