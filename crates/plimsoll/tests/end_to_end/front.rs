//! `plimsoll serve` with TLS and HTTP/2, used by curl.

use crate::support::{Ended, Running, TestDir, peer, shared_cores};
use std::path::Path;
use std::process::Command;

fn curl() -> Option<&'static str> {
    peer("curl", ["/usr/bin/curl", "/usr/local/bin/curl"].into_iter().find(|path| Path::new(path).exists()))
}

/// Starts a server. Returns the process and its URL.
fn serve(place: &TestDir, words: &[&str]) -> (Running, String) {
    let fixed = ["serve", "--listen", "127.0.0.1:0", "--threads", "1", "--stop-after", "300s"];
    let server = place.start(fixed.iter().chain(words));
    let line = server.wait_for_line("serving http");
    let origin = line.trim_start_matches("serving ").trim_end_matches("/blackhole/1KiB").to_owned();
    (server, origin)
}

/// Makes a request with curl. Returns protocol, status and body bytes as one text, and the result of the process.
fn ask(place: &TestDir, curl: &str, words: &[&str], url: &str) -> (String, Ended) {
    let mut command = Command::new(curl);
    command.current_dir(place.path("")).args(["--silent", "--output", "body", "--max-time", "30"]);
    command.args(["--write-out", "%{http_version} %{http_code} %{size_download}"]).args(words).arg(url);
    let ended = Running::of(command).end();
    (ended.stdout.clone(), ended)
}

fn body(place: &TestDir) -> Vec<u8> {
    std::fs::read(place.path("body")).unwrap()
}

fn pattern(first: u64, length: u64) -> Vec<u8> {
    (first..first + length).map(server::pattern_byte).collect()
}

#[test]
fn curl_gets_the_same_over_every_protocol() {
    let _cores = shared_cores();
    let Some(curl) = curl() else { return };
    for (serving, asking, version) in [
        (&["--http2"][..], &["--http2-prior-knowledge"][..], "2"),
        (&["--http2"], &[], "1.1"),
        (&["--tls", "--tls-ca-out", "ca.pem"], &["--http2", "--cacert", "ca.pem"], "2"),
        (&["--tls", "--tls-ca-out", "ca.pem"], &["--http1.1", "--cacert", "ca.pem"], "1.1"),
    ] {
        let place = TestDir::new();
        let (server, origin) = serve(&place, serving);
        let with = |more: &[&'static str]| [asking, more].concat();
        let told = |words: &[&'static str], path: &str| ask(&place, curl, &with(words), &format!("{origin}{path}")).0;
        assert_eq!(told(&[], "/blackhole/1MiB"), format!("{version} 200 1048576"));
        assert!(body(&place) == pattern(0, 1 << 20));
        assert_eq!(told(&["--range", "1000-1999"], "/blackhole/1MiB"), format!("{version} 206 1000"));
        assert!(body(&place) == pattern(1000, 1000));
        assert_eq!(told(&["--range", "5000-"], "/blackhole/1000").split(' ').nth(1), Some("416"));
        assert_eq!(told(&["--head"], "/blackhole/10GiB"), format!("{version} 200 0"));
        let head = String::from_utf8(body(&place)).unwrap().to_ascii_lowercase();
        assert!(head.contains("content-length: 10737418240"), "{head}");
        assert_eq!(told(&["--data-binary", "hello"], "/any"), format!("{version} 200 2"));
        assert_eq!(told(&[], "/blackhole/100000?chunked"), format!("{version} 200 100000"));
        assert_eq!(told(&[], "/blackhole/1KiB?flip=7"), format!("{version} 200 1024"));
        let wrong: Vec<usize> = pattern(0, 1024)
            .iter()
            .zip(body(&place))
            .enumerate()
            .filter(|(_, (a, b))| **a != *b)
            .map(|(at, _)| at)
            .collect();
        assert_eq!(wrong, [7]);
        let (cut, ended) = ask(&place, curl, &with(&[]), &format!("{origin}/blackhole/1MiB?truncate=64KiB"));
        let arrived: u64 = cut.split(' ').nth(2).and_then(|bytes| bytes.parse().ok()).unwrap();
        // A client may receive the reset of a stream before data that was sent earlier.
        let bounds = if version == "2" { 1..=65_536 } else { 65_536..=65_536 };
        assert!(ended.code != Some(0) && bounds.contains(&arrived), "{cut} {ended:?}");

        let ledger = server.stop();
        for line in
            ["requests     8 (0 malformed, 0 cut off)", "responses    7 complete, 1 aborted", " 65536 in aborted ones"]
        {
            assert!(ledger.contains(line), "{line} is not in:\n{ledger}");
        }
    }
}

#[test]
fn clients_present_certificates_where_required() {
    let _cores = shared_cores();
    let Some(curl) = curl() else { return };
    let place = TestDir::new();
    let openssl = |words: &[&str]| {
        let mut command = Command::new("openssl");
        command.current_dir(place.path("")).args(words);
        command.output().is_ok_and(|output| output.status.success())
    };
    // The server and the client present the same self-signed certificate. Both sides also trust it as a CA certificate.
    let made = openssl(&[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        "key.pem",
        "-out",
        "cert.pem",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
    ]);
    if peer("openssl", made.then_some(())).is_none() {
        return;
    }
    let files = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--tls-client-ca", "cert.pem"];
    let (server, origin) = serve(&place, &files);
    let url = format!("{origin}/blackhole/10");
    let (_, refused) = ask(&place, curl, &["--cacert", "cert.pem"], &url);
    assert_ne!(refused.code, Some(0));
    let (told, _) = ask(&place, curl, &["--cacert", "cert.pem", "--cert", "cert.pem", "--key", "key.pem"], &url);
    assert_eq!(told, "2 200 10");
    let ledger = server.stop();
    assert!(ledger.contains("2 accepted, 0 refused, 1 failed the TLS handshake"), "{ledger}");
}

#[test]
fn invalid_certificate_files_are_named() {
    let place = TestDir::new();
    place.write("cert.pem", "no certificate");
    place.write("key.pem", "no key");
    let ended = place.run(["serve", "--listen", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    ended.expect(4);
    assert!(ended.stderr.contains("cert.pem") && ended.stderr.lines().count() == 1, "{}", ended.stderr);
}
