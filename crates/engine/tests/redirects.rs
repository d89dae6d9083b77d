//! Tests of redirects. Unsafe redirects must be denied unless the user allows them. Credentials must be sent only to
//! the hosts to which they belong.

use crate::support::*;
use engine::plan::*;
use engine::sim::{Reply, SimNetwork, simulate};
use measure::result::accounting::audit;
use measure::{AttemptClass, Cause, Instant, Phase, Summary};
use std::cell::RefCell;
use std::num::NonZeroU64;
use std::rc::Rc;
use wire::{Header, Url};

/// The texts of the requests that were sent.
type Requests = Rc<RefCell<Vec<String>>>;

/// Runs two operations. The response to the first URL of each operation is a 302 to `location`. All other responses are
/// 200.
fn redirected(mut plan: Plan, from: &str, location: &str) -> (Summary, Requests) {
    plan = at(plan, from);
    plan.stop = StopAfter { ops: NonZeroU64::new(2), ..StopAfter::default() };
    let requests = Requests::default();
    let server = |now: Instant, request: &str| {
        requests.borrow_mut().push(request.to_owned());
        if request.contains("/start") {
            let text = format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
            vec![(now, Reply::Bytes(text.into_bytes()))]
        } else {
            respond_at(now, 100)
        }
    };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, [], "{from} to {location}");
    (summary, requests)
}

const PUBLIC: &str = "http://203.0.113.7/start";

#[test]
fn a_public_server_does_not_lead_into_private_networks() {
    let traps = [
        "http://127.0.0.1:8080/admin",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[fd00:ec2::254]/latest/",
        "http://[::ffff:10.0.0.1]/",
        "http://2130706433/",
        // The simulated resolver returns 127.0.0.1 for every name.
        "http://innocent.example/",
        "//innocent.example/",
    ];
    for trap in traps {
        let (summary, requests) = redirected(plan(), PUBLIC, trap);
        let tally = &summary.stats.measured;
        assert_eq!((tally.failed, tally.causes.get(Cause::PrivateAddress)), (2, 2), "{trap}");
        assert_eq!(tally.classes.get(AttemptClass::RedirectDenied), 2, "{trap}");
        let example = &summary.stats.examples[0];
        assert_eq!((example.outcome.phase, example.address.as_deref()), (Phase::Connect, None), "{trap}");
        assert!(!example.detail.is_empty(), "{trap}");
        assert_eq!(requests.borrow().len(), 2, "{trap}: nothing may be sent there");
        assert_eq!(summary.stats.connections.opened, 1, "{trap}: no connection may be opened there");

        let mut allowed = plan();
        allowed.follow = Follow::UpTo(10, RedirectRules { private: RedirectRule::Allow, ..RedirectRules::default() });
        assert_eq!(redirected(allowed, PUBLIC, trap).0.stats.measured.ok, 2, "{trap}");
    }
}

#[test]
fn other_redirects_are_followed() {
    let ways = [
        ("http://127.0.0.1:80/start", "http://127.0.0.2:81/"),
        ("http://127.0.0.1/start", "http://10.0.0.1/"),
        ("http://10.0.0.1/start", "http://127.0.0.1/"),
        ("http://10.0.0.1/start", "http://203.0.113.7/"),
        (PUBLIC, "http://203.0.113.8/"),
        (PUBLIC, "/elsewhere"),
        ("http://[2001:db8::1]/start", "http://[2001:db8::2]/"),
    ];
    for (from, to) in ways {
        let (summary, _) = redirected(plan(), from, to);
        assert_eq!((summary.stats.measured.ok, summary.stats.measured.hops), (2, 2), "{from} to {to}");
    }
}

#[test]
fn redirects_to_hosts_that_the_user_named_are_followed() {
    let mut both = at(plan(), PUBLIC);
    let mut targets = both.targets.as_ref().clone();
    assert!(targets.push(&Url::parse("http://10.0.0.1/object").unwrap()));
    both.targets = targets.into();
    both.stop = StopAfter { ops: NonZeroU64::new(4), ..StopAfter::default() };
    let server = |now: Instant, request: &str| {
        let moved = b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/x\r\nContent-Length: 0\r\n\r\n";
        if request.contains("/start") { vec![(now, Reply::Bytes(moved.to_vec()))] } else { respond_at(now, 1) }
    };
    let (intervals, _) = simulate(&both, |_| SimNetwork::new(server));
    let tally = summary(&both, &intervals).stats.measured;
    assert_eq!((tally.ok, tally.hops), (4, 2));
}

#[test]
fn a_kept_connection_to_a_private_address_is_as_private_as_a_new_one() {
    // 10.0.0.1 redirects to 10.0.0.2. This redirect is allowed, and the connection to 10.0.0.2 stays open. The public
    // address 203.0.113.7 also redirects to 10.0.0.2. This second redirect must be denied, although a connection is
    // already open.
    let mut plan = at(plan(), "http://10.0.0.1/start");
    let mut targets = plan.targets.as_ref().clone();
    assert!(targets.push(&Url::parse(PUBLIC).unwrap()));
    plan.targets = targets.into();
    plan.stop = StopAfter { ops: NonZeroU64::new(6), ..StopAfter::default() };
    let server = |now: Instant, request: &str| {
        let moved = b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.2/x\r\nContent-Length: 0\r\n\r\n";
        if request.contains("/start") { vec![(now, Reply::Bytes(moved.to_vec()))] } else { respond_at(now, 1) }
    };
    for load in [closed(1), open(100.0, 10)] {
        plan.load = load;
        let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server));
        let summary = summary(&plan, &intervals);
        let tally = &summary.stats.measured;
        assert_eq!((tally.ok, tally.causes.get(Cause::PrivateAddress)), (3, 3));
        assert_eq!(audit(&summary, true).violations, []);
        assert_eq!(summary.stats.connections.opened, 3, "the kept connection must remain usable");
    }
}

#[test]
fn through_a_proxy_the_url_decides_what_is_private() {
    let mut plan = plan();
    let origin = Url::parse("http://192.0.2.1:3128/").unwrap().origin().clone();
    plan.connections.route = Route::Proxy { origin, authorization: Some("Basic cHJveHk6c2VjcmV0".into()) };
    plan.mix.requests_mut()[0].headers = vec![Header::parse("Authorization: Basic bWU6c2VjcmV0").unwrap()];
    let (summary, _) = redirected(plan.clone(), "http://public.example/start", "http://10.0.0.1/");
    assert_eq!(summary.stats.measured.causes.get(Cause::PrivateAddress), 2);
    let (summary, _) = redirected(plan.clone(), "http://localhost/start", "http://10.0.0.1/");
    assert_eq!(summary.stats.measured.ok, 2);
    // The proxy must get the credentials for the proxy. The other host must not get the credentials of the first host.
    let (summary, requests) = redirected(plan, "http://public.example/start", "http://other.example/");
    assert_eq!(summary.stats.measured.ok, 2);
    for request in requests.borrow().iter() {
        assert!(request.contains("Proxy-Authorization: Basic cHJveHk6c2VjcmV0\r\n"), "{request}");
        assert_eq!(request.contains("\r\nAuthorization:"), request.contains("/start"), "{request}");
    }
}

#[test]
fn credentials_stay_with_scheme_host_and_port() {
    let secrets =
        ["Authorization: Basic bWU6c2VjcmV0", "Cookie: a=b", "X-Amz-Security-Token: secret", "X-Api-Key: secret"];
    let mut plan = plan();
    plan.mix.requests_mut()[0].headers = secrets.iter().map(|line| Header::parse(line).unwrap()).collect();
    plan.mix.requests_mut()[0].headers.push(Header::parse("Accept: text/html").unwrap());
    for (to, same) in [
        ("/other", true),
        ("http://sim/other", true),
        ("http://sim:81/other", false),
        ("http://sim.example/other", false),
        ("http://me:known@elsewhere/other", false),
    ] {
        let (summary, requests) = redirected(plan.clone(), "http://sim/start", to);
        assert_eq!(summary.stats.measured.ok, 2, "{to}");
        for request in requests.borrow().iter() {
            let first = request.contains("/start");
            for secret in secrets {
                assert_eq!(request.contains(secret), first || same, "{to}: {request}");
            }
            assert!(request.contains("Accept: text/html\r\n") && !request.contains("known"), "{to}: {request}");
        }
    }
}
