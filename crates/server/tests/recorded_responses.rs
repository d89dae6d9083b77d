//! Tests that stand-ins respond like the real systems. Each entry of `tests/recorded/*.toml` is a recorded response of
//! a real system.

use crate::common;
use crate::common::config;
use measure::units::ByteSize;
use serde::Deserialize;
use server::{Booster, Config, Filestash, Gateway, Server, StandIn, file_cids};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Observed {
    system: String,
    version: String,
    date: String,
    row: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    /// Method and target.
    request: String,
    #[serde(default = "http11")]
    version: String,
    /// `true` if the client opens a session first and sends its cookies.
    #[serde(default)]
    session: bool,
    #[serde(default)]
    lines: Vec<String>,
    #[serde(default)]
    body: String,
    missing_leaf: Option<u64>,
    status: u16,
    /// The protocol in the status line.
    reply: Option<String>,
    #[serde(default)]
    has: BTreeMap<String, String>,
    #[serde(default)]
    begins_field: BTreeMap<String, String>,
    #[serde(default)]
    lacks: Vec<String>,
    body_bytes: Option<usize>,
    begins: Option<String>,
    begins_hex: Option<String>,
    contains: Option<String>,
    #[serde(default)]
    then: Then,
    /// The last bytes before the server closes the connection.
    tail: Option<String>,
}

fn http11() -> String {
    "1.1".to_owned()
}

/// The required behavior of the server after a response.
#[derive(Deserialize, Default, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Then {
    /// Anything may follow.
    #[default]
    Any,
    /// The connection stays open.
    Open,
    /// The server closes the connection, which ends the body.
    Closed,
    /// The server closes the connection before the end of the body.
    Cut,
}

/// The received bytes of a response.
struct Seen {
    head: String,
    body: Vec<u8>,
    /// All bytes after the head.
    rest: Vec<u8>,
}

impl Seen {
    fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// Reads bytes until `enough` accepts them. Returns false if the server closes the connection before that.
fn read_until(stream: &mut TcpStream, bytes: &mut Vec<u8>, enough: impl Fn(&[u8]) -> bool) -> bool {
    let mut buffer = [0; 64 * 1024];
    while !enough(bytes) {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return false,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
    }
    true
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        let data = &rest[end + 2..];
        if size == 0 || data.len() < size {
            break;
        }
        body.extend_from_slice(&data[..size]);
        rest = data.get(size + 2..).unwrap_or_default();
    }
    body
}

fn exchange(address: SocketAddr, row: &Row, lines: &str, names: &dyn Fn(&str) -> String) -> Seen {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let (request, length) = (names(&row.request), row.body.len());
    let body = if row.body.is_empty() { String::new() } else { format!("Content-Length: {length}\r\n") };
    let own: String = row.lines.iter().map(|line| format!("{line}\r\n")).collect();
    let head = format!("{request} HTTP/{}\r\nHost: x\r\n{own}{lines}{body}\r\n{}", row.version, row.body);
    stream.write_all(head.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let head_end = |bytes: &[u8]| bytes.windows(4).position(|end| end == b"\r\n\r\n");
    assert!(read_until(&mut stream, &mut bytes, |bytes| head_end(bytes).is_some()), "{}: no head", row.name);
    let mut rest = bytes.split_off(head_end(&bytes).unwrap() + 4);
    let head = String::from_utf8(bytes).unwrap();
    let mut seen = Seen { head, body: Vec::new(), rest: Vec::new() };
    let length = seen.field("content-length").and_then(|length| length.parse::<usize>().ok());
    let chunked = seen.field("transfer-encoding").is_some();
    let whole = match length {
        _ if row.request.starts_with("HEAD ") => true,
        Some(length) => read_until(&mut stream, &mut rest, |rest| rest.len() >= length),
        None if chunked => read_until(&mut stream, &mut rest, |rest| rest.ends_with(b"\r\n0\r\n\r\n")),
        None => !read_until(&mut stream, &mut rest, |_| false),
    };
    assert_eq!(whole, row.then != Then::Cut, "{}: the body must be complete unless the row says `cut`", row.name);
    seen.body = if chunked { unchunk(&rest) } else { rest.clone() };
    seen.rest = rest;
    if row.then == Then::Open {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert!(
            read_until(&mut stream, &mut Vec::new(), |bytes| head_end(bytes).is_some()),
            "{}: the connection must stay open",
            row.name
        );
    }
    seen
}

/// Returns the differences between a row and its response.
fn judge(row: &Row, seen: &Seen, names: &dyn Fn(&str) -> String) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut must = |what: &str, found: String, wanted: String| {
        if found != wanted {
            wrong.push(format!("{}: {what}: {found:?} instead of {wanted:?}", row.name));
        }
    };
    must("status", seen.head.split(' ').nth(1).unwrap().to_owned(), row.status.to_string());
    if let Some(reply) = &row.reply {
        must("protocol", seen.head.split(' ').next().unwrap().to_owned(), reply.clone());
    }
    for (name, value) in &row.has {
        must(name, seen.field(name).unwrap_or_default().to_owned(), names(value));
    }
    for (name, value) in &row.begins_field {
        let (found, value) = (seen.field(name).unwrap_or_default(), names(value));
        must(name, found.chars().take(value.len()).collect(), value);
    }
    for name in &row.lacks {
        must(name, seen.field(name).unwrap_or_default().to_owned(), String::new());
    }
    if let Some(bytes) = row.body_bytes {
        must("bytes of the body", seen.body.len().to_string(), bytes.to_string());
    }
    let text = String::from_utf8_lossy(&seen.body).into_owned();
    if let Some(begins) = &row.begins {
        must("beginning", text.chars().take(begins.len()).collect(), begins.clone());
    }
    if let Some(begins) = &row.begins_hex {
        let found: String = seen.body.iter().take(begins.len() / 2).map(|byte| format!("{byte:02x}")).collect();
        must("beginning", found, begins.clone());
    }
    if let Some(part) = row.contains.as_deref().map(names) {
        must(&format!("text `{part}`"), text.contains(&part).to_string(), true.to_string());
    }
    if let Some(tail) = &row.tail {
        let from = seen.rest.len().saturating_sub(tail.len());
        must("last bytes", String::from_utf8_lossy(&seen.rest[from..]).into_owned(), tail.clone());
    }
    wrong
}

fn check(text: &str, stand_in: impl Fn(&Row) -> StandIn, names: &dyn Fn(&str) -> String) {
    let observed: Observed = toml::from_str(text).unwrap();
    let mut wrong = Vec::new();
    for row in &observed.row {
        let server = Server::start(&Config { stand_in: stand_in(row), ..config() }).unwrap();
        let address = server.addresses()[0];
        let lines = if row.session { session(address) } else { String::new() };
        let seen = exchange(address, row, &lines, names);
        wrong.extend(judge(row, &seen, names));
    }
    let Observed { system, version, date, row } = observed;
    assert!(wrong.is_empty(), "{system} {version} of {date}, {} rows:\n{}", row.len(), wrong.join("\n"));
}

/// Returns the header lines of a Filestash session.
fn session(address: SocketAddr) -> String {
    let mut client = common::Client::connect(address);
    let body = r#"{"type":"blackhole"}"#;
    client.send(&format!("POST /api/session HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    let response = client.response();
    let cookie = response.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    format!("Cookie: {cookie}\r\nX-Requested-With: XmlHttpRequest\r\n")
}

#[test]
fn filestash_stand_in_matches_the_recording() {
    let stand_in = |_: &Row| StandIn::Filestash(Filestash::default());
    check(include_str!("recorded/filestash.toml"), stand_in, &str::to_owned);
}

fn gateway(text: &str, gateway: Gateway) {
    let booster = Booster { car_size: ByteSize(700_000), gateway, ..Booster::default() };
    let (file, directory) = file_cids(&booster);
    let names = |text: &str| {
        let absent = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
        text.replace("{FILE}", &file).replace("{DIRECTORY}", &directory).replace("{ABSENT}", absent)
    };
    let stand_in = |row: &Row| StandIn::BoosterHttp(Booster { missing_leaf: row.missing_leaf, ..booster.clone() });
    check(text, stand_in, &names);
}

#[test]
fn frisbii_stand_in_matches_the_recording() {
    gateway(include_str!("recorded/frisbii.toml"), Gateway::Frisbii);
}

#[test]
fn kubo_stand_in_matches_the_recording() {
    gateway(include_str!("recorded/kubo.toml"), Gateway::Kubo);
}
