//! TLS against nginx. The counts of both sides agree, both sides check certificates, and sessions are resumed.

use crate::support::{KIB, MIB, Nginx, Report, Request, Setup, TestDir, shared_cores};

const TLS: Setup = Setup { gibibyte: false, server: "", http: "", tls: true, http2: false, exact_times: false };
const TLS_1_2: Setup = Setup { server: "ssl_protocols TLSv1.2;", ..TLS };

/// Runs `get` on `path` with these arguments. The run must be clean, and its counts must equal the server's log.
fn load(setup: Setup, path: &str, n: u64, words: &[&str]) -> Option<(Report, Vec<Request>)> {
    let nginx = Nginx::start(setup)?;
    let place = TestDir::new();
    let (url, authority, n_text) = (nginx.url(path), nginx.authority(), n.to_string());
    let asked = [url.as_str(), "--cacert", &authority, "-n", &n_text].into_iter().chain(words.iter().copied());
    let (ended, report) = place.get(asked);
    ended.expect(0);
    report.expect_clean(n);
    let log = nginx.quit();
    assert_eq!(report.number("/operations/attempts"), log.len() as u64);
    assert_eq!(report.bytes("body_bytes"), log.iter().map(|request| request.body_bytes).sum::<u64>());
    // nginx counts bytes before encryption. The client must count more, because of the overhead of TLS.
    let (plain, sent) = (log.iter().map(|request| request.bytes), log.iter().map(|request| request.received_bytes));
    assert!(report.bytes("body_bytes") + report.bytes("overhead_bytes") > plain.sum());
    assert!(report.bytes("sent_bytes") > sent.sum());
    Some((report, log))
}

#[test]
fn counts_of_objects_within_tls_equal_the_servers() {
    let _cores = shared_cores();
    for (setup, version, path, size, n, slots) in [
        (TLS, "TLSv1.3", "/f/1k", KIB, 5000, "64"),
        (TLS, "TLSv1.3", "/f/1m", MIB, 100, "8"),
        (TLS, "TLSv1.3", "/f/64m", 64 * MIB, 8, "4"),
        (TLS_1_2, "TLSv1.2", "/f/1m", MIB, 100, "8"),
    ] {
        let Some((report, log)) = load(setup, path, n, &["-c", slots]) else { return };
        assert_eq!(report.bytes("body_bytes"), n * size);
        assert!(log.iter().all(|request| request.tls == version && request.status == 200));
        let opened = report.number("/connections/opened");
        assert_eq!(opened.to_string(), slots, "slots did not reuse their connections");
        let handshakes = ["full", "resumed"].map(|kind| report.number(&format!("/connections/handshakes_{kind}")));
        assert_eq!(handshakes.iter().sum::<u64>(), opened);
        assert_eq!(report.number("/connections/handshake/count"), opened);
        assert_eq!(report.text("/server/tls/version"), version);
        assert!(report.text("/server/tls/issuer").contains("authority of a test"));
    }
}

#[test]
fn ranges_within_tls_are_the_requested_ones() {
    let _cores = shared_cores();
    let words = ["-c", "10", "--range", "100KiB", "--object-size", "64MiB"];
    let Some((report, log)) = load(TLS, "/f/64m", 300, &words) else { return };
    assert_eq!(report.bytes("body_bytes"), 300 * 100 * KIB);
    assert!(log.iter().all(|request| request.status == 206 && request.body_bytes == 100 * KIB));
}

#[test]
fn resumed_sessions_equal_those_in_the_servers_log() {
    let _cores = shared_cores();
    for (setup, words, all_full) in [
        (TLS, ["--no-keepalive", "-c2"], false),
        (TLS_1_2, ["--no-keepalive", "-c2"], false),
        (TLS, ["--no-keepalive", "--no-tls-resumption"], true),
    ] {
        let Some((report, log)) = load(setup, "/f/1k", 100, &words) else { return };
        let resumed = log.iter().filter(|request| request.tls_session == "r").count() as u64;
        assert_eq!(report.number("/connections/handshakes_resumed"), resumed);
        assert_eq!(report.number("/connections/handshakes_full"), 100 - resumed);
        assert!(if all_full { resumed == 0 } else { resumed >= 90 }, "{resumed} of 100");
    }
}

#[test]
fn an_untrusted_certificate_ends_the_run_with_a_one_line_message_unless_insecure() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(TLS) else { return };
    let place = TestDir::new();
    let url = nginx.url("/f/1k");
    let stranger = std::fs::read_to_string(nginx.path("client.pem")).expect("there is a certificate");
    let stranger = place.write("stranger.pem", stranger).display().to_string();
    let ended = place.run(["get", &url, "--cacert", &stranger, "-n", "200"]);
    ended.expect(4);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("--cacert"), "{}", ended.stderr);
    let ended = place.run(["get", &url, "--insecure", "-n", "20", "--out", "careless", "--full"]);
    ended.expect(0);
    assert!(ended.stdout.contains("certificate was not checked"), "{}", ended.stdout);
    assert!(ended.stdout.contains("TLSv1.3 ·") && ended.stdout.contains("TLS handshakes"), "{}", ended.stdout);
    let ended = place.run(["get", &url, "--insecure", "-n", "20", "--print", "ab", "--out", "as-ab"]);
    assert!(ended.expect(0).stdout.contains("\nSSL/TLS Protocol:       TLSv1.3,TLS13_"), "{}", ended.stdout);
}

#[test]
fn the_server_receives_the_client_certificate() {
    let _cores = shared_cores();
    let Some(nginx) = Nginx::start(TLS) else { return };
    let place = TestDir::new();
    let (url, authority) = (nginx.url("/f/1k"), nginx.authority());
    let [certificate, key] = ["client.pem", "client.key"].map(|name| nginx.path(name).display().to_string());
    let (ended, _) = place.get([&url, "--cacert", &authority, "--cert", &certificate, "--key", &key, "-n", "10"]);
    ended.expect(0);
    let log = nginx.quit();
    assert!(log.iter().all(|request| request.tls_client.contains("client.test")), "{}", log[0].tls_client);
}

#[test]
fn the_wrong_scheme_is_reported_for_both_schemes() {
    let _cores = shared_cores();
    let (Some(plain), place) = (Nginx::start(Setup::default()), TestDir::new()) else { return };
    let ended = place.run(["get", &plain.url("/f/1k").replace("http://", "https://"), "--insecure", "-n", "5"]);
    ended.expect(4);
    assert!(ended.stderr.contains("use http://"), "{}", ended.stderr);
}
