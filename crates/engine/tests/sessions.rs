//! Tests of the origins to which session tokens are sent, and of logins at a server that limits logins.

use crate::support::*;
use engine::dialect::{Connection, Dialect, Filestash};
use engine::plan::*;
use engine::sessions::{SessionError, open_sessions};
use engine::sim::{Reply, SimNetwork, simulate};
use measure::Instant;
use measure::result::accounting::audit;
use server::{Config, Server, StandIn};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

fn sessions(shared: Shared, lines: &[&str]) -> Auth {
    let connection = Connection::new("blackhole", Vec::new());
    let opening = Filestash::new(Some(connection)).opening("").unwrap();
    let lines: Vec<Box<str>> = lines.iter().map(|&line| line.into()).collect();
    Auth::Session(Box::new(Sessions { opening, shared, lines: lines.into() }))
}

#[test]
fn slots_keep_to_their_sessions_and_other_hosts_see_none() {
    let lines = ["Cookie: auth=a", "Cookie: auth=b", "Cookie: auth=c"];
    for (threads, shown) in [(1, &lines[..]), (2, &lines[..]), (2, &lines[..1])] {
        let mut plan = at(plan(), "http://127.0.0.1/start");
        (plan.load, plan.threads) = (closed(3), threads);
        plan.stop = StopAfter { ops_per_slot: NonZeroU64::new(10), ..StopAfter::default() };
        plan.auth = sessions(Shared::One, shown);
        let seen = RefCell::new(BTreeMap::<String, u32>::new());
        let server = |now: Instant, request: &str| {
            let cookies: Vec<&str> = request.lines().filter(|line| line.starts_with("Cookie: ")).collect();
            let host = request.lines().find(|line| line.starts_with("Host: ")).unwrap_or_default();
            *seen.borrow_mut().entry(format!("{host} {}", cookies.join(" + "))).or_default() += 1;
            if request.contains("/start") {
                let text = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2/\r\nContent-Length: 0\r\n\r\n";
                return vec![(now, Reply::Bytes(text.into()))];
            }
            respond_at(now, 100)
        };
        let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server));
        assert_eq!(audit(&summary(&plan, &intervals), true).violations, []);
        let mut expected: BTreeMap<String, u32> =
            shown.iter().map(|line| (format!("Host: 127.0.0.1 {line}"), 30 / shown.len() as u32)).collect();
        expected.insert("Host: 127.0.0.2 ".to_owned(), 30);
        assert_eq!(*seen.borrow(), expected, "{threads} threads");
    }
}

/// Returns a server that imitates Filestash, and a plan with ten slots for this server. The server accepts the first
/// `login_burst` logins immediately, and 50 logins per second after that.
fn limited(login_burst: u64) -> (Server, Plan) {
    let logins_per_second = NonZeroU64::new(50).unwrap();
    let stand_in =
        StandIn::Filestash(server::Filestash { logins_per_second, login_burst, ..server::Filestash::default() });
    let server = Server::start(&Config { stand_in, ..Config::default() }).unwrap();
    let mut plan = at(plan(), &format!("http://{}/api/files/ls?path=/", server.addresses()[0]));
    plan.load = closed(10);
    plan.auth = sessions(Shared::PerSlot(NonZeroU64::new(10).unwrap()), &[]);
    (server, plan)
}

#[test]
fn a_limit_of_logins_is_waited_for() {
    let (server, mut plan) = limited(3);
    let mut most = 0;
    open_sessions(&mut plan, &mut |seen, _, _| most = most.max(seen)).unwrap();
    let Auth::Session(sessions) = &plan.auth else { panic!("the plan has lost its sessions") };
    assert_eq!(sessions.lines.len(), 10);
    assert!(sessions.lines.iter().all(|line| line.starts_with("Cookie: auth=")) && most <= 10);
    let shown = format!("{plan:?}");
    assert!(!shown.contains("auth="), "{shown}");
    let statuses = server.stop().statuses;
    let answers = |status| statuses.get(&status).map_or(0, |count| count.complete);
    assert_eq!(answers(200), 10, "{statuses:?}");
    assert!((1..=14).contains(&answers(429)), "{statuses:?}");
}

#[test]
fn logins_end_when_no_session_is_given() {
    let (server, mut plan) = limited(0);
    let ended = open_sessions(&mut plan, &mut |_, _, _| {});
    assert!(matches!(ended, Err(SessionError::Limited { opened: 0, wanted: 10, .. })), "{ended:?}");
    assert_eq!(server.stop().statuses.get(&429).map(|count| count.complete), Some(20));
    let (server, mut plan) = limited(10);
    let Auth::Session(sessions) = &mut plan.auth else { panic!("there are sessions") };
    sessions.opening.target = "/login".to_owned();
    let ended = open_sessions(&mut plan, &mut |_, _, _| {});
    assert!(matches!(ended, Err(SessionError::Refused { status: Some(405), .. })), "{ended:?}");
    drop(server);
}
