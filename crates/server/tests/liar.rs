//! Tests that the liar plays its cases byte by byte, and that there is a case for every misbehavior.

use crate::common::Client;
use server::{Case, CaseError, Liar};
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
/// Numbers of the misbehaviors that are possible on plain connections.
const ROWS: [u16; 50] = [
    14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 59, 60, 61, 62, 64, 65, 66,
];

fn play(name: &str) -> Liar {
    Liar::start(Case::named(name).unwrap()).unwrap()
}

/// Sends a request and reads to the end. Returns the received bytes, and the result of the last read.
fn exchange(liar: &Liar) -> (Vec<u8>, std::io::Result<usize>) {
    let mut client = Client::connect(liar.address());
    client.send(GET);
    let mut received = Vec::new();
    let end = client.stream.read_to_end(&mut received);
    (received, end)
}

#[test]
fn every_file_is_a_case_and_every_row_has_a_case() {
    let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/cases"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".toml", ""))
        .collect();
    files.sort_unstable();
    assert_eq!(files, Case::names().collect::<Vec<_>>());
    let cases = Case::all();
    assert_eq!(cases.len(), files.len(), "every case must parse");
    let rows: BTreeSet<u16> = cases.iter().map(|case| case.row).collect();
    assert_eq!(rows, BTreeSet::from(ROWS));
    for case in &cases {
        assert!(case.name.starts_with(&format!("{}-", case.row)), "{}", case.name);
        assert_eq!(Case::named(&case.name).as_ref(), Some(case));
        assert!(!case.about.is_empty() && !case.about.ends_with('.'), "{}", case.name);
        assert!(!case.expected.reused || !case.expected.flags.iter().any(|flag| &**flag == "excess_bytes"));
    }
}

#[test]
fn documentation_lists_every_case() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/liar.md")).unwrap();
    for case in Case::all() {
        let row = format!("| `{}` | {} |", case.name, case.about);
        assert_eq!(text.matches(&row).count(), 1, "{row}");
    }
    let rows = text.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, Case::names().count(), "every row must be a case");
}

#[test]
fn bytes_are_sent_as_written_and_the_close_is_orderly() {
    let (received, end) = exchange(&play("33-short-body"));
    assert_eq!(received, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789");
    assert!(end.is_ok());
    let (received, end) = exchange(&play("33-one-byte-missing"));
    assert_eq!(received.len(), "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n".len() + 1_048_575);
    assert!(end.is_ok() && received.ends_with(b"abcabc"));
    let (received, end) = exchange(&play("17-closes-without-a-byte"));
    assert!(received.is_empty() && end.is_ok());
}

#[test]
fn bytes_that_are_not_text_are_sent_unchanged() {
    let liar = play("22-garbage");
    let mut client = Client::connect(liar.address());
    client.send(GET);
    let mut received = [0; 10];
    client.stream.read_exact(&mut received).unwrap();
    assert_eq!(received, [0xff, 0xfe, 1, 0, 0xff, 0, 0xde, 0xad, 0xbe, 0xef]);
    let liar = play("22-nul-in-header");
    let mut client = Client::connect(liar.address());
    client.send(GET);
    let mut received = [0; 23];
    client.stream.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"HTTP/1.1 200 OK\r\nX: a\0b");
}

#[test]
fn reset_follows_the_sent_bytes() {
    let (received, end) = exchange(&play("42-reset-in-body"));
    assert_eq!(received, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
    assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn each_connection_plays_its_own_script() {
    let liar = play("18-stale-closed");
    let mut first = Client::connect(liar.address());
    assert_eq!(first.get("/", "").body, b"hello");
    first.send(GET);
    assert!(first.is_closed());
    for _ in 0..2 {
        assert_eq!(Client::connect(liar.address()).get("/", "").body, b"hello");
    }
    assert_eq!((liar.connections(), liar.requests()), (3, 4));
}

#[test]
fn repetition_keeps_its_pace_and_ends_with_the_client() {
    let liar = play("16-head-byte-by-byte");
    let mut client = Client::connect(liar.address());
    let begun = Instant::now();
    client.send(GET);
    let mut received = vec![0; "HTTP/1.1 200 OK\r\nX-Slow: aaaa".len()];
    client.stream.read_exact(&mut received).unwrap();
    assert!(received.ends_with(b": aaaa"));
    let taken = begun.elapsed();
    assert!(taken >= 150 * MS, "{taken:?}");
    drop(client);
    let liar = play("48-endless-body-of-known-size");
    let mut client = Client::connect(liar.address());
    client.send(GET);
    let mut received = vec![0; 5_000_000];
    client.stream.read_exact(&mut received).unwrap();
    assert!(received.ends_with(b"0123456789abcdef") || received.len() == 5_000_000);
    drop(client);
    let begun = Instant::now();
    drop(liar);
    assert!(begun.elapsed() < 5000 * MS, "the threads of the liar must end with their clients");
}

#[test]
fn http2_streams_are_read_to_their_end() {
    let liar = play("65-refused-stream");
    let mut client = Client::connect(liar.address());
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    // The request is complete only after its second frame, which ends the stream. The boundaries of the writes and of
    // the frames differ.
    let head = [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x82];
    let end = [0, 0, 0, 0, 1, 0, 0, 0, 1];
    client.stream.write_all(&preface[..10]).unwrap();
    client.stream.write_all(&[&preface[10..], &head[..4]].concat()).unwrap();
    client.stream.write_all(&head[4..]).unwrap();
    client.stream.set_read_timeout(Some(100 * MS)).unwrap();
    let mut received = [0; 31];
    let early = client.stream.read(&mut received).map_err(|error| error.kind());
    assert_eq!(early, Err(ErrorKind::WouldBlock), "the response must wait for the end of the stream");
    client.stream.set_read_timeout(None).unwrap();
    client.stream.write_all(&end).unwrap();
    client.stream.read_exact(&mut received).unwrap();
    assert_eq!(received[18..], [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 7]);
    assert_eq!(liar.requests(), 1);
    let mut other = Client::connect(liar.address());
    other.send(GET);
    assert_eq!(other.stream.read(&mut received).unwrap_or(0), 0, "HTTP/1 must get no response");
}

#[test]
fn silent_case_sends_nothing_until_the_client_leaves() {
    let liar = play("16-silence");
    let mut client = Client::connect(liar.address());
    client.send(GET);
    client.stream.set_read_timeout(Some(100 * MS)).unwrap();
    let error = client.stream.read(&mut [0; 1]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
    assert_eq!(liar.requests(), 1);
}

#[test]
fn liar_stops_after_its_lifetime() {
    let case = Case::named("16-silence").unwrap();
    let begun = Instant::now();
    let liar = Liar::start_on(case, ([127, 0, 0, 1], 0).into(), 100 * MS).unwrap();
    let address = liar.address();
    let _waiting = TcpStream::connect(address).unwrap();
    liar.wait();
    let taken = begun.elapsed();
    assert!(taken >= 100 * MS && taken < 400 * MS, "{taken:?}");
    assert!(TcpStream::connect(address).is_err());
}

const BASE: &str =
    "about = \"x\"\nrow = 5\n[expect]\nclass = \"ok\"\ncause = \"none\"\nok = true\nattempts = 1\nreused = true\n";

#[test]
fn script_can_close_the_listener() {
    let text = format!("{BASE}[[connection]]\nscript = [\"close_listener\", \"half_close\"]\n");
    let liar = Liar::start(Case::parse("x", &text).unwrap()).unwrap();
    let mut client = Client::connect(liar.address());
    assert!(client.is_closed(), "the server must end its stream after it closed the listener");
    assert_eq!(TcpStream::connect(liar.address()).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn errors_in_cases_name_their_place() {
    let parse = |steps: &str, more: &str| {
        let text = format!("{BASE}{more}\n[[connection]]\nscript = [\"expect_request\", {steps}]\n");
        Case::parse("x", &text).unwrap_err()
    };
    for (steps, wrong) in [
        ("{ send = \"\" }", "nothing to send"),
        ("{ send_hex = \"0\" }", "pairs of hexadecimal digits"),
        ("{ send_hex = \"0g\" }", "pairs of hexadecimal digits"),
        ("{ sleep = \"1x\" }", "write it like"),
        ("{ quiet = \"soon\" }", "write it like"),
        ("{ expect_head = { body = \"x\" } }", "a head has no body"),
        ("{ sleep = \"1m\" }", "at most 10s"),
        ("{ repeat = { what = \"x\" } }", "either `times = n` or `until_closed = true`"),
        ("{ repeat = { what = \"x\", times = 1, until_closed = true } }", "either"),
    ] {
        let error = parse(steps, "");
        assert!(matches!(error, CaseError::Step { connection: 1, step: 2, .. }), "{error:?}");
        assert!(error.to_string().contains(wrong), "{error}");
    }
    for steps in ["\"explode\"", "{ sned = \"x\" }", "{ repeat = { what = \"x\", tims = 1 } }", "5"] {
        let error = parse(steps, "");
        assert!(matches!(&error, CaseError::Toml(text) if text.contains("line ")), "{error:?}");
    }
    for (more, wrong) in [
        ("[client]\nrange = \"5-1\"", "client.range"),
        ("[client]\nhead_timeout = \"0s\"", "client.head_timeout"),
        ("[client]\nidle_timeout = \"soon\"", "client.idle_timeout"),
        ("[client]\nmethod = \"get\"", "client.method"),
        ("[client]\nrequests = 0", "client.requests"),
        ("[client]\nretries = 0", "unknown field"),
        ("[client]\nchunked = true", "they need a `body`"),
        ("[client]\nbody = \"x\"\nbody_size = \"1\"", "give either `body` or"),
        ("[client]\nbody_size = \"65MiB\"", "at most 64 MiB"),
        ("flags = [\"Not a name\"]", "not a valid name"),
        ("earlier = [{ class = \"a\", cause = \"b\" }]", "expect.attempts"),
    ] {
        let error = parse("\"close\"", more);
        assert!(error.to_string().contains(wrong), "{more}: {error}");
    }
    let no_success = format!("{BASE}[[connection]]\nscript = []\n").replace("\"ok\"", "\"reset\"");
    assert!(Case::parse("x", &no_success).unwrap_err().to_string().contains("expect.ok"));
    assert!(Case::parse("x", BASE).unwrap_err().to_string().contains("connection"));
    let many = format!("{BASE}{}", "[[connection]]\nscript = []\n".repeat(9));
    assert!(Case::parse("x", &many).unwrap_err().to_string().contains("1 to 8"));
}
