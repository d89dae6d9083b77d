//! Tests of endpoints whose responses are right, slow, wrong, endless or missing.

use collect::source::{
    Endpoint, Format, GetProbe, HttpSource, JsonPath, Numbers, Picked, Reading, Selector, SiadSource, Source,
};
use engine::Plan;
use engine::plan::{LoadModel, Targets};
use engine::schedule::Profile;
use measure::Cause;
use measure::series::{Column, ColumnKind, ColumnUnit, FailureClass};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

const BOUND: Duration = Duration::from_millis(500);
/// Time by which a poll may exceed its limit on a busy machine.
const SLACK: Duration = Duration::from_secs(5);

/// Starts a server that passes the head of each request and its connection to `respond`. Returns its URL.
fn serve(respond: impl Fn(&str, &mut TcpStream) + Send + Sync + Clone + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let (Ok(mut connection), respond) = (connection, respond.clone()) else { return };
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut block = [0; 1024];
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    match connection.read(&mut block) {
                        Ok(count @ 1..) => head.extend_from_slice(&block[..count]),
                        _ => return,
                    }
                }
                respond(&String::from_utf8_lossy(&head), &mut connection);
            });
        }
    });
    url
}

/// Starts a server that always sends this response.
fn serve_text(status: &'static str, body: &'static str) -> String {
    serve(move |_, connection| send(connection, status, body))
}

fn send(connection: &mut TcpStream, status: &str, body: &str) {
    let length = body.len();
    let _ = write!(connection, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
}

fn endpoint(url: &str) -> Endpoint {
    let mut targets = Targets::default();
    assert!(targets.push(&url.parse().unwrap()));
    let load = LoadModel::Closed { slots: Profile::slots(NonZeroU64::MIN), think: Duration::ZERO };
    Endpoint::new(Plan::new(targets, load), url.to_owned())
}

fn picked<P>(name: &str, pick: P) -> Picked<P> {
    Picked { column: Column::new(name, ColumnKind::Gauge, ColumnUnit::Count).unwrap(), pick, required: true }
}

fn json(url: &str) -> Source {
    let path: JsonPath = "$.count".parse().unwrap();
    Source::Http(HttpSource::new(endpoint(url), Format::Json(vec![picked("count", path)])))
}

/// Polls a source and checks that it kept to its limit.
#[track_caller]
fn poll(source: &mut Source) -> Reading {
    let begun = Instant::now();
    let reading = source.read(BOUND);
    assert!(begun.elapsed() < BOUND + SLACK, "{:?}", begun.elapsed());
    assert_eq!(reading.values.len(), source.columns().len());
    reading
}

#[track_caller]
fn texts(reading: &Reading) -> Vec<&str> {
    reading.values.iter().map(|value| value.as_ref().map_or("", |value| value.as_str())).collect()
}

#[test]
fn the_formats_are_read() {
    let reading = poll(&mut json(&serve_text("200 OK", "{\"count\":\"17\"}")));
    assert_eq!((texts(&reading), reading.failure.as_ref()), (vec!["17"], None));
    assert!(reading.requests > Duration::ZERO && reading.requests < SLACK);

    let selector: Selector = "up{job=\"a\"}".parse().unwrap();
    let format = Format::Metrics(vec![picked("up", vec![selector])]);
    let url = serve_text("200 OK", "# TYPE up gauge\nup{job=\"a\"} 1\nup{job=\"b\"} 0\n");
    assert_eq!(texts(&poll(&mut Source::Http(HttpSource::new(endpoint(&url), format)))), ["1"]);

    let status = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630949 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";
    let numbers = |begins: &str| {
        let picked = vec![picked("active", 0), picked("requests", 3), picked("waiting", 6)];
        Format::Numbers(Numbers { begins: begins.to_owned(), count: 7, picked })
    };
    let url = serve_text("200 OK", status);
    let mut source = Source::Http(HttpSource::new(endpoint(&url), numbers("Active connections:")));
    assert_eq!(texts(&poll(&mut source)), ["291", "31070465", "106"]);
    let mut other = Source::Http(HttpSource::new(endpoint(&url), numbers("Other:")));
    assert_eq!(poll(&mut other).failure.map(|failure| failure.class), Some(FailureClass::NotUnderstood));

    let mut probe = Source::Get(GetProbe::new(endpoint(&url), "get"));
    assert!(poll(&mut probe).values[0].as_ref().is_some_and(|time| time.as_f64() > 0.0));
}

#[test]
fn failures_have_a_class_a_cause_and_blank_values() {
    let refused = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let cases = [
        ("refused", refused, FailureClass::Request, Some(Cause::Refused)),
        ("status", serve_text("500 Oops", "{\"message\":\"locked\"}"), FailureClass::Request, None),
        ("redirect", serve_text("302 Found", ""), FailureClass::Request, None),
        ("not JSON", serve_text("200 OK", "<html>"), FailureClass::NotUnderstood, None),
        ("nothing", serve_text("200 OK", "{}"), FailureClass::Missing, None),
        (
            "not HTTP",
            serve(|_, connection| _ = connection.write_all(b"\x00\xff\x13SSH-2.0\r\n")),
            FailureClass::Request,
            None,
        ),
        ("closed", serve(|_, _| ()), FailureClass::Request, None),
    ];
    for (what, url, class, cause) in cases {
        let reading = poll(&mut json(&url));
        let failure = reading.failure.clone().unwrap_or_else(|| panic!("{what}: {reading:?}"));
        assert_eq!((failure.class, texts(&reading)), (class, vec![""]), "{what}: {failure:?}");
        assert!(cause.is_none_or(|cause| failure.cause == Some(cause)), "{what}: {failure:?}");
        assert!(!failure.about().is_empty());
    }
    let locked = poll(&mut json(&serve_text("500 Oops", "{\"message\":\"locked\"}")));
    assert_eq!(locked.failure.unwrap().about(), "status 500: {\"message\":\"locked\"}");
}

#[test]
fn slow_endpoints_do_not_exceed_the_limit() {
    let silent = serve(|_, connection| {
        std::thread::sleep(Duration::from_secs(60));
        send(connection, "200 OK", "{\"count\":1}");
    });
    // Each byte arrives before the idle timeout, but the response never ends.
    let dripping = serve(|_, connection| {
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        while connection.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    for url in [silent, dripping] {
        let reading = poll(&mut json(&url));
        let failure = reading.failure.clone().unwrap();
        assert_eq!((failure.class, texts(&reading)), (FailureClass::Request, vec![""]), "{failure:?}");
        assert!(reading.requests >= BOUND / 2, "{reading:?}");
    }
}

#[test]
fn an_endless_response_is_cut_off() {
    let url = serve(|_, connection| {
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        let block = [&b"10000\r\n"[..], &[b' '; 0x10000], b"\r\n"].concat();
        while connection.write_all(&block).is_ok() {}
    });
    let reading = Source::read(&mut json(&url), Duration::from_secs(20));
    let failure = reading.failure.unwrap();
    assert_eq!(failure.class, FailureClass::TooLarge, "{failure:?}");
}

const CONTRACTS: &str = r#"{"contracts":[]}"#;
const WALLET: &str = r#"{"encrypted":true,"unlocked":true,"rescanning":false,"confirmedsiacoinbalance":"123456789012345678901234567890",
    "unconfirmedoutgoingsiacoins":"1","unconfirmedincomingsiacoins":"2","siafundbalance":"0","siacoinclaimbalance":"0"}"#;

#[test]
fn a_failed_request_of_siad_leaves_its_columns_blank() {
    let url = serve(|head, connection| match head.split(' ').nth(1) {
        Some("/renter/contracts") => send(connection, "200 OK", CONTRACTS),
        Some("/wallet") => send(connection, "200 OK", WALLET),
        _ => send(connection, "490 Module not loaded", "{\"message\":\"renter is not loaded\"}"),
    });
    let below = |path: &str| endpoint(&format!("{}{path}", url.trim_end_matches('/')));
    let mut source = Source::Siad(Box::new(SiadSource::new(SiadSource::PATHS.map(below))));
    let names: Vec<String> = source.columns().into_iter().map(|column| column.name).collect();
    assert_eq!(names, &sia::siad::COLUMNS[1..16]);
    let reading = source.read(Duration::from_secs(10));
    let expected = ["0", "", "", "0", "", "", "0", "0", "0", "0", "0", "0", "123456789012345678901234567890", "1", "2"];
    assert_eq!(texts(&reading), expected, "{:?}", reading.failure);
    assert_eq!(reading.failure.unwrap().about(), "status 490: {\"message\":\"renter is not loaded\"}");
}
