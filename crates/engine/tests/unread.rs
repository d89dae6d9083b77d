//! Tests of the client's share of service time, over real sockets. This share must include the time during which the
//! client does not read.

mod support;

use engine::control::Control;
use engine::epoll::EpollNetwork;
use engine::network::{Address, Connecting, Network, Ready, Resolution, ThreadUse, Token, Waited};
use engine::plan::*;
use engine::resolver::Resolver;
use engine::run_loop::{RunLoop, Share};
use measure::result::accounting::audit;
use measure::{Clock, Instant, Interval, MonotonicClock, ReadSample, Summary};
use server::{Config, Delay, Faults, Server};
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use support::*;
use wire::sigv4::Timestamp;

/// The real network with a thread that stalls before each wait.
struct Sleepy {
    net: EpollNetwork,
    nap: Duration,
}

impl Network for Sleepy {
    type Socket = <EpollNetwork as Network>::Socket;

    fn now(&self) -> Instant {
        self.net.now()
    }
    fn connect(&mut self, token: Token, to: &Address) -> io::Result<(Self::Socket, Connecting)> {
        self.net.connect(token, to)
    }
    fn connected(&mut self, socket: &mut Self::Socket) -> io::Result<()> {
        self.net.connected(socket)
    }
    fn send(&mut self, socket: &mut Self::Socket, bytes: &[u8]) -> io::Result<usize> {
        self.net.send(socket, bytes)
    }
    fn recv(&mut self, socket: &mut Self::Socket, room: &mut [u8]) -> io::Result<usize> {
        self.net.recv(socket, room)
    }
    fn sample(&self) -> Option<ReadSample> {
        self.net.sample()
    }
    fn discard(&mut self, socket: &mut Self::Socket, max: usize) -> io::Result<usize> {
        self.net.discard(socket, max)
    }
    fn set_low_water(&mut self, socket: &Self::Socket, bytes: usize) {
        self.net.set_low_water(socket, bytes);
    }
    fn resolve(&mut self, host: &str, port: u16) -> Resolution {
        self.net.resolve(host, port)
    }
    fn wait(&mut self, until: Instant, ready: &mut Vec<Ready>) -> io::Result<Waited> {
        std::thread::sleep(self.nap);
        self.net.wait(until, ready)
    }
    fn thread_use(&mut self) -> ThreadUse {
        self.net.thread_use()
    }
}

fn summary_of(plan: &Plan, nap: Duration) -> Summary {
    let clock = MonotonicClock::start();
    let net =
        EpollNetwork::new(clock, Arc::from([]), Resolver::start(), plan.load.pacing(), plan.arrival_times).unwrap();
    let (control, share) = (Control::default(), Share { thread: 0, threads: 1 });
    let budget = engine::run_loop::budget(&plan.stop, &plan.load, 1);
    let mut run_loop = RunLoop::new(plan, &control, share, budget, (clock.now(), Timestamp::from_unix_seconds(0)));
    let mut intervals: Vec<Interval> = Vec::new();
    run_loop.drive(&mut Sleepy { net, nap }, |more| intervals.extend(more.intervals)).unwrap();
    let summary = summary(plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    summary
}

/// Returns the measured and the true share of a client that stalls before each wait.
fn shares(slots: u64, nap: Duration) -> (f64, f64) {
    let delay = Delay::Constant(ms(5));
    let server = Server::start(&Config { faults: Faults { delay, ..Faults::default() }, ..Config::default() }).unwrap();
    let url = format!("http://{}/blackhole/600", server.addresses()[0]);
    let stop = StopAfter { ops: NonZeroU64::new(60 * slots), ..StopAfter::default() };
    let plan = at(Plan { load: closed(slots), stop, ..plan() }, &url);
    let mean = |summary: &Summary| summary.all.service.moments().mean().unwrap();
    let alone = mean(&summary_of(&plan, Duration::ZERO));
    let found = summary_of(&plan, nap);
    let share = found.client_share().unwrap();
    assert!(!share.at_least && share.samples > 0, "{share:?}");
    (share.share, 1.0 - alone / mean(&found))
}

#[test]
fn a_client_that_stops_reading_shows_its_share() {
    for (slots, nap) in [(1, ms(20)), (8, ms(30)), (1, ms(7))] {
        let mut tried = Vec::new();
        for _ in 0..5 {
            let (found, truth) = shares(slots, nap);
            tried.push((found, truth));
            if (found - truth).abs() < 0.05 {
                break;
            }
        }
        println!("{slots} slots, {nap:?}: found and true {tried:?}");
        let last = tried.last().copied().unwrap();
        assert!((last.0 - last.1).abs() < 0.05, "{slots} slots, {nap:?}: found and true {tried:?}");
    }
}

#[test]
fn a_body_longer_than_a_segment_gives_a_lower_bound() {
    let server = Server::start(&Config::default()).unwrap();
    let url = format!("http://{}/blackhole/1MiB", server.addresses()[0]);
    // The run is long enough for samples, although the kernel needs some time to switch timestamps on.
    let stop = StopAfter { time: Some(ms(500)), ..StopAfter::default() };
    let plan = at(Plan { load: closed(1), stop, ..plan() }, &url);
    let share = summary_of(&plan, Duration::ZERO).client_share().unwrap();
    assert!(share.at_least && share.samples > 0, "{share:?}");
}
