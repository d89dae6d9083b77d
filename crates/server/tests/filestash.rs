//! Tests each quirk of the stand-in for Filestash.

use crate::common::{Client, Response, balanced, config, start};
use server::{Config, Filestash, StandIn, pattern_byte};
use std::num::NonZeroU64;

const AJAX: &str = "X-Requested-With: XmlHttpRequest\r\n";

fn filestash() -> Config {
    Config { stand_in: StandIn::Filestash(Filestash::default()), ..config() }
}

fn post(client: &mut Client, target: &str, lines: &str, body: &str) -> Response {
    let length = body.len();
    client.send(&format!("POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{lines}\r\n{body}"));
    client.response()
}

/// Returns the header line that sends a session's cookies back.
fn cookies(response: &Response) -> String {
    let pairs: Vec<&str> = (response.head.lines())
        .filter_map(|line| line.strip_prefix("Set-Cookie: "))
        .map(|cookie| cookie.split(';').next().unwrap())
        .collect();
    format!("Cookie: lang=en; {}\r\n", pairs.join("; "))
}

fn log_in(client: &mut Client) -> String {
    let response = post(client, "/api/session", AJAX, r#"{"type":"blackhole"}"#);
    assert_eq!(response.status, 200);
    cookies(&response)
}

fn text(response: &Response) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}

#[test]
fn sessions_can_be_opened_and_shown_and_are_required() {
    let (server, address) = start(&filestash());
    let mut client = Client::connect(address);
    let ls = "/api/files/ls?path=%2F";
    assert_eq!(client.get(ls, "").status, 401, "a client without cookies needs no X-Requested-With");
    let usual = "Cookie: lang=en\r\nX-Requested-With: XMLHttpRequest\r\n";
    assert_eq!(client.get(ls, usual).status, 403, "with cookies, Filestash's spelling of X-Requested-With is needed");
    assert_eq!(client.get(ls, AJAX).status, 401, "a client without a session is refused");
    assert_eq!(client.get(ls, &format!("{AJAX}Cookie: auth=bm9uc2Vuc2U\r\n")).status, 401);
    for (body, status) in [(r#"{"type":"sftp"}"#, 403), ("{}", 403), ("nonsense", 405)] {
        assert_eq!(post(&mut client, "/api/session", AJAX, body).status, status, "{body}");
    }
    assert!(text(&client.get("/api/session", AJAX)).contains(r#""is_authenticated": false"#));
    let opened = post(&mut client, "/api/session", AJAX, r#"{"type":"blackhole"}"#);
    let token = text(&opened).split(r#""authorization": ""#).nth(1).unwrap().split('"').next().unwrap();
    let cookies = cookies(&opened);
    for lines in [format!("{AJAX}{cookies}"), format!("{AJAX}Authorization: Bearer {token}\r\n")] {
        assert_eq!(client.get(ls, &lines).status, 200);
        assert!(text(&client.get("/api/session", &lines)).contains(r#""is_authenticated": true"#));
    }
    assert_eq!(client.get(&format!("{ls}&authorization={token}"), AJAX).status, 200);
    balanced(&server.stop());
}

#[test]
fn long_sessions_are_split_over_cookies() {
    let (_server, address) = start(&filestash());
    let mut client = Client::connect(address);
    let body = format!(r#"{{"type":"blackhole","key":"{}"}}"#, "k".repeat(6000));
    let response = post(&mut client, "/api/session", AJAX, &body);
    let cookies = cookies(&response);
    let lengths: Vec<usize> = cookies
        .split("auth")
        .skip(1)
        .map(|pair| pair.split('=').nth(1).unwrap().trim_end_matches([';', ' ', '\r', '\n']).len())
        .collect();
    assert_eq!(lengths.len(), 3, "{lengths:?}");
    assert_eq!(lengths[..2], [3800, 3800]);
    assert_eq!(client.get("/api/files/ls?path=/", &format!("{AJAX}{cookies}")).status, 200);
    let first = cookies.split("; auth1").next().unwrap();
    assert_eq!(
        client.get("/api/files/ls?path=/", &format!("{AJAX}{first}\r\n")).status,
        401,
        "an incomplete token must be refused"
    );
}

#[test]
fn listings_keep_http_1_0_connections_and_pages_do_not() {
    let (server, address) = start(&filestash());
    let mut client = Client::connect(address);
    let cookies = log_in(&mut client);
    let lines = format!("{AJAX}{cookies}");
    let ls = client.get("/api/files/ls?path=/", &lines);
    assert_eq!(ls.header("content-length"), Some(ls.body.len().to_string().as_str()));
    for name in ["1M", "10M", "100M", "1G", "10G", "100G"] {
        assert!(text(&ls).contains(&format!("\"name\": \"{name}.bin\"")), "{name}");
    }
    let etag = ls.header("etag").unwrap();
    assert!(!etag.contains('"'));
    assert_eq!(client.get("/api/files/ls?path=/", &format!("{lines}If-None-Match: {etag}\r\n")).status, 304);
    let page = client.get("/login", "");
    assert_eq!((page.body.len(), page.header("transfer-encoding")), (9352, Some("chunked")));

    client.send(&format!("GET /api/files/ls?path=/ HTTP/1.0\r\nConnection: keep-alive\r\n{lines}\r\n"));
    assert_eq!(client.response().header("connection"), Some("keep-alive"));
    client.send("GET /login HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let page = client.response();
    assert_eq!((page.header("connection"), page.header("content-length")), (None, None));
    assert_eq!(page.body.len(), 9352);
    let ledger = server.stop();
    balanced(&ledger);
    assert_eq!(ledger.complete.head_bytes + ledger.complete.body_bytes, client.received);
}

#[test]
fn listings_of_an_imitated_sftp_server_are_as_long_as_real_ones_and_end_http_1_0_connections() {
    let (_server, address) = start(&filestash());
    let mut client = Client::connect(address);
    let login = r#"{"type":"sftp","hostname":"sftp.invalid","username":"me"}"#;
    let cookies = cookies(&post(&mut client, "/api/session", AJAX, login));
    let ls = client.get("/api/files/ls?path=/", &format!("{AJAX}{cookies}"));
    assert_eq!((ls.status, ls.body.len()), (200, 71 - 2 + 6 * 480), "six entries of 480 bytes in an empty listing");
    assert_eq!(ls.header("content-length"), None);
}

#[test]
fn cat_reads_ranges_in_its_own_way() {
    let (server, address) = start(&filestash());
    let mut client = Client::connect(address);
    let cookies = log_in(&mut client);
    let pattern = |first: u64, length: u64| (first..first + length).map(pattern_byte).collect::<Vec<u8>>();
    let whole = client.get("/api/files/cat?path=/64K.bin", &cookies);
    assert_eq!(
        (whole.status, whole.header("content-length")),
        (200, Some("65536")),
        "cat must need no X-Requested-With"
    );
    assert_eq!(whole.body, pattern(0, 65536));
    for (range, told, first, length) in [
        ("bytes=10-19", "bytes 10-19/32768", 10, 10),
        ("bytes=0-1,50-60", "bytes 0-1/32768", 0, 2),
        ("bytes=-5", "bytes 0-5/32768", 0, 6),
        ("bytes=32000-", "bytes 32000-32767/32768", 32000, 768),
    ] {
        let response = client.get("/api/files/cat?path=%2F3K.bin", &format!("{cookies}Range: {range}\r\n"));
        assert_eq!((response.status, response.header("content-range")), (206, Some(told)), "{range}");
        assert_eq!(response.body, pattern(first, length), "{range}");
    }
    client.send(&format!("HEAD /api/files/cat?path=/3K.bin HTTP/1.1\r\nHost: x\r\n{cookies}\r\n"));
    assert_eq!(client.response_to(true).header("content-length"), Some("3072"));
    assert_eq!(client.get("/api/files/cat?path=/other", &cookies).status, 501);
    // The declared length includes bytes beyond the end of the file, which are not sent.
    client.send(&format!(
        "GET /api/files/cat?path=/3K.bin HTTP/1.1\r\nHost: x\r\n{cookies}Range: bytes=32000-33000\r\n\r\n"
    ));
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut client.stream, &mut rest).unwrap();
    assert!(rest.ends_with(&[b"\r\n\r\n".as_slice(), &pattern(32000, 768)].concat()));
    assert!(String::from_utf8_lossy(&rest).contains("Content-Length: 1001\r\n"));
    let ledger = server.stop();
    balanced(&ledger);
    assert_eq!((ledger.aborted.count, ledger.aborted.body_bytes), (1, 768));
}

#[test]
fn uploads_announce_a_close_and_only_some_changes_are_implemented() {
    let (server, address) = start(&filestash());
    let mut client = Client::connect(address);
    let lines = format!("{AJAX}{}", log_in(&mut client));
    for (call, status) in [
        ("mkdir?path=/a/", 200),
        ("touch?path=/a", 200),
        ("rm?path=/a", 501),
        ("mv?from=/a&to=/b", 501),
        ("nothing?path=/", 404),
        ("ls", 400),
    ] {
        assert_eq!(post(&mut client, &format!("/api/files/{call}"), &lines, "").status, status, "{call}");
    }
    let response = post(&mut client, "/api/files/save?path=/a", &lines, &"x".repeat(300_000));
    assert_eq!(
        (response.status, text(&response), response.header("connection")),
        (200, "{\n    \"status\": \"ok\"\n}\n", Some("Close"))
    );
    assert_eq!(client.get("/healthz", "").status, 200, "the server must keep its end open");
    let ledger = server.stop();
    balanced(&ledger);
    assert!(ledger.request_body_bytes >= 300_000);
}

#[test]
fn too_many_logins_are_refused() {
    let limits = Filestash { logins_per_second: NonZeroU64::MIN, login_burst: 3, ..Filestash::default() };
    let (_server, address) = start(&Config { stand_in: StandIn::Filestash(limits), ..config() });
    let mut client = Client::connect(address);
    let statuses: Vec<u16> =
        (0..6).map(|_| post(&mut client, "/api/session", AJAX, r#"{"type":"blackhole"}"#).status).collect();
    assert_eq!(statuses[..3], [200; 3]);
    assert!(statuses[3..].contains(&429), "{statuses:?}");
}
