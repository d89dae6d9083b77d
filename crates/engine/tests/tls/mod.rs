//! Tests of TLS. Each failure must have one class and one cause, and the bytes of successes must be counted exactly.

mod endpoint;

use crate::support::*;
use endpoint::*;
use engine::plan::*;
use engine::tls::{self, TlsSettings, Trust};
use measure::result::accounting::audit;
use measure::{AttemptClass, Cause, Flag, Phase, Summary};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Returns a TLS record with a fatal alert of this number.
fn alert(number: u8) -> [u8; 7] {
    [21, 3, 3, 0, 2, 2, number]
}

fn plan_for(endpoint: &Endpoint, scheme: &str, settings: &TlsSettings) -> Plan {
    let mut plan = at(plan(), &endpoint.url(scheme));
    plan.stop = StopAfter { ops: NonZeroU64::new(1), ..StopAfter::default() };
    let port = endpoint.address.port();
    plan.connections.known = HashMap::from([((HOST.to_owned(), port), Arc::from([endpoint.address]))]);
    plan.connections.tls = Arc::new(tls::configure(settings).unwrap());
    plan.log_ops = true;
    plan
}

fn trusting(authority: &Authority) -> TlsSettings {
    TlsSettings { trust: Trust::Files(vec![authority.pem_file()]), ..TlsSettings::default() }
}

fn carry_out(plan: &Plan) -> (Summary, Keep) {
    let kept = run(plan);
    let summary = summary(plan, &kept.intervals);
    assert_eq!(audit(&summary, true).violations, [], "{:?}", summary.stats.measured);
    (summary, kept)
}

/// Returns the outcome of a plan's only operation, the detail of its failure example, and the summary.
fn end_of(plan: &Plan) -> ((AttemptClass, Cause, Phase), String, Summary) {
    let (summary, kept) = carry_out(plan);
    let outcome = kept.ops[0].outcome;
    let detail = summary.stats.examples.first().map_or_else(String::new, |example| example.detail.clone());
    ((outcome.class, outcome.cause, outcome.phase), detail, summary)
}

type Script = Box<dyn Fn(Counted) -> io::Result<()> + Send + Sync>;

/// Returns a script that reads some bytes from the client, and then sends `bytes` instead of TLS.
fn says(bytes: impl Into<Vec<u8>>) -> Script {
    let bytes = bytes.into();
    Box::new(move |mut socket| {
        let mut room = [0; 4096];
        let _ = socket.read(&mut room)?;
        socket.write_all(&bytes)?;
        let _ = socket.read(&mut room);
        Ok(())
    })
}

#[test]
fn certificates_are_checked() {
    let (authority, stranger, impostor) = (Authority::new(), Authority::named("Stranger"), Authority::new());
    let cases = [
        ("expired", authority.sign(HOST, (2001, 2002)), Cause::CertExpired),
        ("not valid yet", authority.sign(HOST, (3000, 4000)), Cause::CertNotYetValid),
        ("of another host", authority.sign("other.test", VALID), Cause::CertWrongHost),
        ("of a stranger", stranger.sign(HOST, VALID), Cause::CertUnknownIssuer),
        ("of another authority of the same name", impostor.sign(HOST, VALID), Cause::CertInvalid),
        ("good", authority.sign(HOST, VALID), Cause::None),
    ];
    for (name, identity, cause) in cases {
        let endpoint = Endpoint::start(serve(authority.server(&identity, false), 100));
        let (end, detail, summary) = end_of(&plan_for(&endpoint, "https", &trusting(&authority)));
        let good = (AttemptClass::Ok, Cause::None, Phase::Body);
        let wanted = if cause == Cause::None { good } else { (AttemptClass::TlsCert, cause, Phase::Tls) };
        assert_eq!(end, wanted, "{name}: {detail}");
        let connections = &summary.stats.connections;
        let counts = if cause == Cause::None { (1, 0, 1) } else { (0, 1, 0) };
        assert_eq!((connections.opened, connections.failed, connections.handshakes_full), counts, "{name}");
        // Without verification, every certificate must be accepted.
        let careless = TlsSettings { trust: Trust::Any, ..TlsSettings::default() };
        assert_eq!(end_of(&plan_for(&endpoint, "https", &careless)).0, good, "{name}");
    }
}

/// By default, openssl creates self-signed certificates with CA:TRUE.
#[test]
fn a_listed_self_signed_certificate_is_trusted_only_for_its_name_and_time() {
    let authority = Authority::new();
    let failed = |cause| (AttemptClass::TlsCert, cause, Phase::Tls);
    let cases = [
        ("good", HOST, VALID, true, (AttemptClass::Ok, Cause::None, Phase::Body)),
        ("expired", HOST, (2001, 2002), true, failed(Cause::CertExpired)),
        ("not valid yet", HOST, (3000, 4000), true, failed(Cause::CertNotYetValid)),
        ("of another host", "other.test", VALID, true, failed(Cause::CertWrongHost)),
        ("not listed", HOST, VALID, false, failed(Cause::CertInvalid)),
    ];
    for (name, host, years, listed, wanted) in cases {
        let identity = Authority::self_signed(host, years);
        let endpoint = Endpoint::start(serve(authority.server(&identity, false), 100));
        let mut files = vec![authority.pem_file()];
        if listed {
            files.push(authority.file("listed.pem", &identity.certificate));
        }
        let settings = TlsSettings { trust: Trust::Files(files), ..TlsSettings::default() };
        let (end, detail, _) = end_of(&plan_for(&endpoint, "https", &settings));
        assert_eq!(end, wanted, "{name}: {detail}");
        assert_eq!(detail.contains("use --cacert FILE"), !listed, "{name}: {detail}");
    }
}

#[test]
fn failed_handshakes_have_their_own_causes() {
    let authority = Authority::new();
    let failed = |cause| (AttemptClass::TlsHandshake, cause, Phase::Tls);
    let cases: Vec<(&str, Script, _, &str)> = vec![
        ("an alert", says(alert(40)), failed(Cause::TlsAlert), "alert 40 (HandshakeFailure)"),
        ("another alert", says(alert(70)), failed(Cause::TlsAlert), "alert 70 (ProtocolVersion)"),
        ("plain HTTP", says(*b"HTTP/1.1 400 Bad Request\r\n\r\n"), failed(Cause::PlainResponse), ""),
        ("noise", says([b'%'; 40]), failed(Cause::TlsBroken), ""),
        ("an end", Box::new(|mut socket| socket.read(&mut [0; 4096]).map(|_| ())), failed(Cause::TlsClosed), ""),
        (
            "silence",
            Box::new(|mut socket| io::copy(&mut socket, &mut io::sink()).map(|_| ())),
            (AttemptClass::TimeoutHead, Cause::TlsTimedOut, Phase::Tls),
            "",
        ),
        (
            // If the socket is closed before the ClientHello is read completely, the connection is reset.
            "a reset",
            Box::new(|mut socket| socket.read(&mut [0; 10]).map(|_| ())),
            (AttemptClass::Reset, Cause::TlsReset, Phase::Tls),
            "",
        ),
    ];
    for (name, script, wanted, shown) in cases {
        let endpoint = Endpoint::start(script);
        let mut plan = plan_for(&endpoint, "https", &trusting(&authority));
        plan.timeouts.connect = ms(300);
        let (end, detail, summary) = end_of(&plan);
        assert_eq!(end, wanted, "{name}: {detail}");
        assert!(detail.contains(shown), "{name}: {detail}");
        assert_eq!((summary.stats.connections.opened, summary.stats.connections.failed), (0, 1), "{name}");
    }
}

#[test]
fn a_tls_server_that_gets_plain_http_is_recognized() {
    let authority = Authority::new();
    let endpoint = Endpoint::start(says(alert(50)));
    let (end, _, _) = end_of(&plan_for(&endpoint, "http", &trusting(&authority)));
    assert_eq!(end, (AttemptClass::Protocol, Cause::TlsResponse, Phase::Head));
}

/// Returns a script that makes the handshake, reads a request, and then runs `deed`.
fn then(authority: &Authority, deed: impl Fn(&mut Tls) -> io::Result<()> + Send + Sync + 'static) -> Script {
    let config = authority.server(&authority.sign(HOST, VALID), false);
    Box::new(move |socket| {
        let mut tls = accept(&config, socket);
        request(&mut tls)?;
        deed(&mut tls)
    })
}

#[test]
fn an_end_without_close_notify_does_not_end_a_body() {
    const FRAMED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    const OPEN: &[u8] = b"HTTP/1.0 200 OK\r\n\r\nhello";
    const SHORT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello";
    let good = (AttemptClass::Ok, Cause::None, Phase::Body);
    let cut = (AttemptClass::Incomplete, Cause::BodyCutShort, Phase::Body);
    let authority = Authority::new();
    for (name, said, polite, wanted, flagged) in [
        ("framed, polite", FRAMED, true, good, Some(false)),
        // The client does not wait for the end of the connection, so the flag depends on when the end arrives.
        ("framed, rude", FRAMED, false, good, None),
        ("until close, polite", OPEN, true, good, Some(false)),
        ("until close, rude", OPEN, false, cut, Some(true)),
        ("short, polite", SHORT, true, cut, Some(false)),
        ("short, rude", SHORT, false, cut, Some(true)),
    ] {
        let endpoint = Endpoint::start(then(&authority, move |tls| {
            tls.write_all(said)?;
            if polite { goodbye(tls) } else { Ok(()) }
        }));
        let (end, detail, summary) = end_of(&plan_for(&endpoint, "https", &trusting(&authority)));
        assert_eq!(end, wanted, "{name}: {detail}");
        let flags = summary.stats.measured.flags.get(Flag::UncleanTls) == 1;
        assert!(flagged.is_none_or(|flagged| flagged == flags), "{name}: flag {flags}");
        assert_eq!(summary.stats.traffic.body, 5, "{name}");
    }
}

#[test]
fn an_end_without_close_notify_after_the_body_is_flagged() {
    let authority = Authority::new();
    // The client does not read between the response and the end of the connection, so that both become one event.
    let endpoint = Endpoint::start(then(&authority, |tls| tls.write_all(&page(5))));
    let mut plan = plan_for(&endpoint, "https", &trusting(&authority));
    plan.stop.ops = NonZeroU64::new(200);
    plan.load = closed(20);
    let (summary, _) = carry_out(&plan);
    assert_eq!(summary.stats.measured.ok, 200);
    let flagged = summary.stats.measured.flags.get(Flag::UncleanTls);
    assert!(flagged > 0, "none of 200 ends arrived together with the body");
}

#[test]
fn broken_records_and_late_alerts_have_their_own_causes() {
    let authority = Authority::new();
    let raw = |bytes: Vec<u8>| {
        move |tls: &mut Tls| {
            tls.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome")?;
            tls.sock.write_all(&bytes)?;
            let _ = tls.sock.read(&mut [0; 100]);
            Ok(())
        }
    };
    let forged = [[23, 3, 3, 0, 40].as_slice(), &[7; 40]].concat();
    let oversized = vec![23, 3, 3, 0xff, 0xff, 1, 2, 3];
    for (name, bytes) in [("forged", forged), ("oversized", oversized), ("noise", b"HTTP/1.1 200 OK\r\n\r\n".to_vec())]
    {
        let endpoint = Endpoint::start(then(&authority, raw(bytes)));
        let (end, detail, summary) = end_of(&plan_for(&endpoint, "https", &trusting(&authority)));
        assert_eq!(end, (AttemptClass::Protocol, Cause::BadTlsRecord, Phase::Body), "{name}: {detail}");
        assert_eq!(summary.stats.traffic.body, 4, "the bytes before the bad record must count");
    }
}

#[test]
fn clients_send_the_requested_certificate() {
    let authority = Authority::new();
    let server = authority.server(&authority.sign(HOST, VALID), true);
    let endpoint = Endpoint::start(serve(server, 100));
    let (end, detail, _) = end_of(&plan_for(&endpoint, "https", &trusting(&authority)));
    assert_eq!((end.0, end.1), (AttemptClass::TlsHandshake, Cause::TlsAlert), "{detail}");
    assert!(detail.contains("alert 116"), "{detail}");
    let mine = authority.sign("client.test", VALID);
    let (certificate, key) = (authority.file("cert.pem", &mine.certificate), authority.file("key.pem", &mine.key));
    let identity = Some(tls::Identity { certificate: certificate.clone(), key });
    let (end, detail, _) = end_of(&plan_for(&endpoint, "https", &TlsSettings { identity, ..trusting(&authority) }));
    assert_eq!(end.0, AttemptClass::Ok, "{detail}");
    let other = authority.sign("client.test", VALID);
    let key = authority.file("other.pem", &other.key);
    let wrong = TlsSettings { identity: Some(tls::Identity { certificate, key }), ..trusting(&authority) };
    assert!(matches!(tls::configure(&wrong), Err(tls::TlsConfigError::KeyOfAnother(_))));
}

#[test]
fn every_byte_is_counted_by_both_sides() {
    let authority = Authority::new();
    for (bytes, ops, slots, keep_alive) in [(1000, 500, 8, true), (3 << 20, 20, 4, true), (100_000, 40, 4, false)] {
        let endpoint = Endpoint::start(serve(authority.server(&authority.sign(HOST, VALID), false), bytes));
        let mut plan = plan_for(&endpoint, "https", &trusting(&authority));
        (plan.load, plan.threads, plan.stop.ops) = (closed(slots), 2, NonZeroU64::new(ops));
        plan.http.keep_alive = keep_alive;
        let (summary, _) = carry_out(&plan);
        let stats = &summary.stats;
        assert_eq!(stats.measured.ok, ops);
        assert_eq!(stats.traffic.body, ops * bytes as u64);
        let written = endpoint.written();
        assert_eq!(
            stats.traffic.body + stats.traffic.overhead,
            written,
            "{bytes} bytes: all bytes that the server sent must be counted"
        );
        let connections = endpoint.seen.connections.load(Ordering::Relaxed);
        assert_eq!((stats.connections.opened, stats.connections.handshakes()), (connections, connections));
        // A thread that starts late may find that all operations have already started, so not every slot opens a
        // connection.
        let expected = if keep_alive { 1..=slots } else { ops..=ops };
        assert!(expected.contains(&connections), "{connections} connections for {slots} slots and {ops} operations");
        let overhead = stats.traffic.overhead as f64 / ops as f64;
        assert!(overhead > 40.0 && overhead < 8000.0 + bytes as f64 * 0.01, "{overhead} bytes of overhead per request");
    }
}

/// Several turns may be needed to read a body. One turn may read the end of the body before the last readiness event is
/// handled. When that event is handled, nothing is left to read, and the idle connection must remain usable.
#[test]
fn a_free_connection_with_nothing_to_read_is_kept() {
    const BYTES: usize = 24 << 20;
    let authority = Authority::new();
    let endpoint = Endpoint::start(serve(authority.server(&authority.sign(HOST, VALID), false), BYTES));
    let mut plan = plan_for(&endpoint, "https", &trusting(&authority));
    (plan.load, plan.threads, plan.stop.ops) = (closed(1), 1, NonZeroU64::new(24));
    let (summary, _) = carry_out(&plan);
    assert_eq!((summary.stats.measured.ok, summary.stats.connections.opened), (24, 1));
    assert_eq!(summary.stats.measured.flags.get(Flag::KeptAlive), 24);
}

#[test]
fn reads_inside_tls_are_timestamped() {
    let authority = Authority::new();
    let endpoint = Endpoint::start(serve(authority.server(&authority.sign(HOST, VALID), false), 1000));
    let mut plan = plan_for(&endpoint, "https", &trusting(&authority));
    (plan.load, plan.stop.time, plan.stop.ops) = (closed(4), Some(ms(400)), None);
    // Several runs may be needed, because the kernel needs some time to switch timestamps on.
    let share = (0..10).find_map(|_| carry_out(&plan).0.client_share()).expect("the kernel takes timestamps");
    assert!(!share.at_least && share.samples > 0, "a response fits one segment: {share:?}");
}

#[test]
fn sessions_are_resumed_unless_that_is_disabled() {
    let authority = Authority::new();
    let endpoint = Endpoint::start(serve(authority.server(&authority.sign(HOST, VALID), false), 10));
    for resumption in [true, false] {
        let mut plan = plan_for(&endpoint, "https", &TlsSettings { resumption, ..trusting(&authority) });
        (plan.http.keep_alive, plan.stop.ops) = (false, NonZeroU64::new(20));
        let (summary, _) = carry_out(&plan);
        let connections = &summary.stats.connections;
        let wanted = if resumption { (1, 19) } else { (20, 0) };
        assert_eq!((connections.handshakes_full, connections.handshakes_resumed), wanted);
        assert_eq!(connections.handshake.count(), 20);
        assert_eq!((summary.all.handshake.count(), summary.all.connect_and_handshake.count()), (20, 20));
        assert!(summary.all.connect_and_handshake.min() > summary.all.handshake.min());
    }
}

#[test]
fn responses_that_come_byte_by_byte_are_read_like_those_that_come_at_once() {
    let authority = Authority::new();
    let endpoint = Endpoint::start(then(&authority, |tls| {
        let mut records = Vec::new();
        tls.conn.writer().write_all(&page(300))?;
        tls.conn.send_close_notify();
        while tls.conn.wants_write() {
            tls.conn.write_tls(&mut records)?;
        }
        records.chunks(1).try_for_each(|byte| tls.sock.write_all(byte))
    }));
    let (end, detail, summary) = end_of(&plan_for(&endpoint, "https", &trusting(&authority)));
    assert_eq!(end.0, AttemptClass::Ok, "{detail}");
    assert_eq!(summary.stats.traffic.body, 300);
}

#[test]
fn redirects_lead_into_tls() {
    let authority = Authority::new();
    let secure = Endpoint::start(serve(authority.server(&authority.sign(HOST, VALID), false), 100));
    let location = secure.url("https");
    let plain = Endpoint::start(move |mut socket| {
        while request(&mut socket)? {
            let said = format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
            socket.write_all(said.as_bytes())?;
        }
        Ok(())
    });
    let mut plan = plan_for(&plain, "http", &trusting(&authority));
    let known = plan_for(&secure, "https", &trusting(&authority)).connections.known;
    plan.connections.known.extend(known);
    plan.stop.ops = NonZeroU64::new(5);
    let (summary, kept) = carry_out(&plan);
    assert_eq!((summary.stats.measured.ok, summary.stats.measured.hops), (5, 5), "{:?}", kept.ops[0].outcome);
    assert_eq!(summary.stats.connections.handshakes_full, 1);
}

#[test]
fn redirects_do_not_lead_out_of_tls_unless_that_is_allowed() {
    let authority = Authority::new();
    let plain = Endpoint::start(|mut socket| {
        while request(&mut socket)? {
            socket.write_all(&page(100))?;
        }
        Ok(())
    });
    let location = plain.url("http");
    let config = authority.server(&authority.sign(HOST, VALID), false);
    let secure = Endpoint::start(move |socket| {
        let mut tls = accept(&config, socket);
        while request(&mut tls)? {
            let said = format!("HTTP/1.1 301 Moved\r\nLocation: {location}\r\nContent-Length: 5\r\n\r\nmoved");
            tls.write_all(said.as_bytes())?;
        }
        Ok(())
    });
    let mut plan = plan_for(&secure, "https", &trusting(&authority));
    plan.connections.known.extend(plan_for(&plain, "http", &trusting(&authority)).connections.known);
    let (end, detail, summary) = end_of(&plan);
    assert_eq!(end, (AttemptClass::RedirectDenied, Cause::Downgrade, Phase::Head));
    assert_eq!(detail, format!("to http://{HOST}:{}", plain.address.port()));
    assert_eq!((summary.stats.measured.attempts, plain.seen.connections.load(Ordering::Relaxed)), (1, 0));
    assert_eq!(summary.stats.measured.body_bytes, 5, "the body of the redirect must be counted");
    plan.follow = Follow::UpTo(10, RedirectRules { downgrade: RedirectRule::Allow, ..RedirectRules::default() });
    let (end, detail, summary) = end_of(&plan);
    assert_eq!((end.0, summary.stats.measured.hops), (AttemptClass::Ok, 1), "{detail}");
}

#[test]
fn the_negotiated_parameters_are_known() {
    let authority = Authority::new();
    let endpoint = Endpoint::start(serve(authority.server(&authority.sign(HOST, VALID), false), 100));
    let plan = plan_for(&endpoint, "https", &trusting(&authority));
    let control = engine::Control::new(None);
    let first = engine::run(&plan, &control, &mut Keep::default()).unwrap().first_response.unwrap();
    let agreed = first.tls.unwrap();
    assert_eq!((agreed.version.as_str(), agreed.protocol.as_deref()), ("TLSv1.3", Some("http/1.1")));
    assert!(agreed.cipher.starts_with("TLS13_"), "{}", agreed.cipher);
    assert_eq!(agreed.server_name, HOST);
    assert!(agreed.subject.unwrap().contains("CN=plimsoll.test"));
    assert!(agreed.issuer.unwrap().contains("CN=Authority of a test"));
}
