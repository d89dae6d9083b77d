//! `plimsoll serve` as a cluster and as other systems, with load from `plimsoll get`. The counts of client and server
//! must agree.

use crate::support::{Running, TestDir, shared_cores, wait_for};

/// Starts `plimsoll serve` on a free port with a list of `names` URLs, and waits until the list is written.
fn serve(place: &TestDir, names: usize, words: &[&str]) -> Running {
    let count = names.to_string();
    let always = ["serve", "--listen", "127.0.0.1:0", "--urls", "urls", "--list", &count, "--stop-after", "60s"];
    let server = place.start(always.iter().chain(words));
    wait_for("list of URLs", || {
        let text = std::fs::read_to_string(place.path("urls")).ok()?;
        (text.lines().count() == names && text.ends_with('\n')).then_some(())
    });
    server
}

/// Returns the rest of the line that starts with `name`, from the ledger of all servers together.
fn line<'a>(stdout: &'a str, name: &str) -> &'a str {
    let joint = stdout.split("all servers\n").last().unwrap_or(stdout);
    let found = joint.lines().find_map(|line| line.strip_prefix(name));
    found.unwrap_or_else(|| panic!("no {name} in {stdout}")).trim()
}

#[test]
fn a_cluster_and_its_client_count_the_same_hops() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server = serve(&place, 50, &["--cluster", "4", "--list-size", "3000B"]);
    let (ended, report) = place.get(["--url-file", "urls", "-n", "500", "-c", "8"]);
    ended.expect(0);
    assert_eq!((report.violations(), report.number("/operations/ok")), (0, 500));
    let hops = report.number("/operations/hops");
    assert!((250..500).contains(&hops), "three of four must be redirected: {hops}");
    let stdout = server.stop();
    assert_eq!(line(&stdout, "status"), format!("200 × 500, 307 × {hops}"));
    assert_eq!(line(&stdout, "body bytes"), "1500000 in complete responses, 0 in aborted ones");
    for index in 0..4 {
        assert!(stdout.contains(&format!("\nserver {index}\n")), "{stdout}");
    }
}

#[test]
fn a_proxying_cluster_sends_more_than_its_client_receives() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server =
        serve(&place, 50, &["--as", "alluxio", "--cluster", "4", "--cluster-mode", "proxy", "--list-size", "3000B"]);
    let (ended, report) = place.get(["--url-file", "urls", "-n", "500", "-c", "8"]);
    ended.expect(0);
    assert_eq!((report.number("/operations/ok"), report.number("/operations/hops")), (500, 0));
    let stdout = server.stop();
    let sent: u64 = line(&stdout, "body bytes").split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
    assert!((2 * 1_125_000..3_000_000).contains(&sent), "three of four bytes must be sent twice: {sent}");
}

#[test]
fn a_piece_of_booster_http_is_cut_off_at_the_requested_byte() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server = serve(&place, 3, &["--as", "booster-http", "--piece-size", "1MiB", "--truncate", "10:1000"]);
    let (_, report) = place.get(["--url-file", "urls", "-n", "100", "-c", "1", "--range", "64KiB"]);
    assert_eq!(report.violations(), 0);
    let failed = report.number("/operations/failed");
    assert!((9..=11).contains(&failed), "{failed} of 100");
    assert_eq!(report.class("incomplete"), failed);
    let stdout = server.stop();
    assert!(line(&stdout, "responses").ends_with(&format!("{failed} aborted")), "{stdout}");
}

#[test]
fn a_renterd_responds_to_those_who_have_its_password() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server = place.start([
        "serve",
        "--as",
        "renterd",
        "--listen",
        "127.0.0.1:0",
        "--bucket",
        "photos",
        "--stop-after",
        "60s",
    ]);
    let serving = server.wait_for_line("serving http://");
    let url = serving.strip_prefix("serving ").expect("the line names a URL").to_owned();
    server.wait_for_line("password of the API: plimsoll");
    let (_, report) = place.get([url.as_str(), "-n", "20", "-c", "2", "-u", "anybody:plimsoll"]);
    assert_eq!(report.number("/operations/ok"), 20);
    let (_, report) = TestDir::new().get([url.as_str(), "-n", "20", "-c", "2", "-u", "anybody:wrong"]);
    assert_eq!(report.number("/operations/ok"), 0);
    let stdout = server.stop();
    assert_eq!(line(&stdout, "status"), "200 × 20, 401 × 20");
}

#[test]
fn a_siad_responds_to_programs_that_name_themselves() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server = place.start(["serve", "--as", "siad", "--listen", "127.0.0.1:0", "--stop-after", "60s"]);
    let serving = server.wait_for_line("serving http://");
    let url = serving.strip_prefix("serving ").expect("the line names a URL").to_owned();
    let (_, report) = place.get([url.as_str(), "-n", "20", "-c", "2", "-H", "User-Agent: Sia-Agent"]);
    assert_eq!(report.number("/operations/ok"), 20);
    let (_, report) = TestDir::new().get([url.as_str(), "-n", "20", "-c", "2"]);
    assert_eq!(report.number("/operations/ok"), 0);
    let stdout = server.stop();
    assert_eq!(line(&stdout, "status"), "200 × 20, 400 × 20");
}
