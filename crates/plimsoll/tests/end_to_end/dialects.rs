//! Dialects against their stand-ins: the names of objects, the requests, and the checks of responses. The server's
//! ledger shows the requests.

use crate::support::{Ended, Nginx, Report, Running, Setup, Sshd, TestDir, shared_cores};

/// Starts `plimsoll serve` on a free port. Returns the process and its root URL.
pub fn serve(place: &TestDir, words: &[&str]) -> (Running, String) {
    let always = ["serve", "--listen", "127.0.0.1:0", "--stop-after", "60s"];
    let server = place.start(always.iter().chain(words));
    let line = server.wait_for_line("serving http://");
    let url = line.strip_prefix("serving ").expect("the line names a URL");
    let root = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    (server, root)
}

/// Returns the line of the ledger that starts with `name`.
fn line<'a>(stdout: &'a str, name: &str) -> &'a str {
    let found = stdout.lines().find_map(|line| line.strip_prefix(name));
    found.unwrap_or_else(|| panic!("no {name} in {stdout}")).trim()
}

fn body_bytes(stdout: &str) -> u64 {
    let words = line(stdout, "body bytes").split(' ').next();
    words.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no body bytes in {stdout}"))
}

fn put<'a>(place: &TestDir, words: impl IntoIterator<Item = &'a str>) -> (Ended, Report) {
    let ended = place.run(["put", "--json", "--out", "out"].into_iter().chain(words));
    let report = Report::read(&ended);
    (ended, report)
}

#[test]
fn pieces_are_named_by_their_cids() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let words = ["--as", "booster-http", "--piece-size", "1MiB", "--list", "5", "--names", "cids"];
    let (server, root) = serve(&place, &words);
    let (ended, report) = place.get(["--as", "piece", &root, "--url-file", "cids", "-n", "50", "-c", "4"]);
    ended.expect(0);
    report.expect_clean(50);
    std::fs::remove_dir_all(place.path("out")).unwrap();
    let (ended, report) = place.get(["--as", "piece", &root, "--url-file", "cids", "-n", "40", "--range", "64KiB"]);
    ended.expect(0);
    report.expect_clean(40);
    let stdout = server.stop();
    // Before the ranges, five requests find the sizes of the objects.
    assert_eq!(line(&stdout, "status"), "200 × 55, 206 × 40");
    assert_eq!(body_bytes(&stdout), 50 * (1 << 20) + 40 * (64 << 10));
}

#[test]
fn a_response_that_is_not_a_piece_fails() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) =
        serve(&place, &["--as", "booster-http", "--piece-size", "2KiB", "--list", "1", "--names", "cids"]);
    // For every other path, the server returns its index page with status 200.
    let wrong = format!("{root}/elsewhere");
    let (ended, report) = place.get(["--as", "piece", &wrong, "--url-file", "cids", "-n", "10"]);
    ended.expect(1);
    assert_eq!((report.number("/operations/failed"), report.cause("header_differs")), (10, 10));
    std::fs::remove_dir_all(place.path("out")).unwrap();
    let (ended, report) =
        place.get(["--as", "piece", &root, "--url-file", "cids", "-n", "10", "-H", "Accept-Encoding: gzip"]);
    ended.expect(0);
    // The pieces have 2,048 bytes each, so the server compressed the responses as requested.
    assert!(report.bytes("body_bytes") < 10 * 2048);
    drop(server);
}

#[test]
fn a_piece_with_another_etag_fails() {
    let location = "location /piece/ { default_type application/piece; return 200 'x'; add_header ETag '\"a\"'; }";
    let Some(nginx) = Nginx::start(Setup { server: location, ..Setup::default() }) else { return };
    let _cores = shared_cores();
    let place = TestDir::new();
    let root = nginx.url("");
    for (cid, code, failed) in [("a", 0, 0), ("b", 1, 10)] {
        let _ = std::fs::remove_dir_all(place.path("out"));
        let (ended, report) = place.get(["--as", "piece", &root, cid, "-n", "10"]);
        ended.expect(code);
        assert_eq!(report.cause("header_differs"), failed, "{cid}");
    }
}

#[test]
fn a_gateway_sends_cars_and_blocks_and_an_incomplete_one_fails() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve(&place, &["--as", "booster-http", "--car-size", "256KiB", "--truncate", "10:1000"]);
    let cid = file_of(&server);
    let (_, report) = place.get(["--as", "gateway", &root, &cid, "-n", "50", "-c", "1"]);
    assert_eq!(report.violations(), 0);
    let failed = report.number("/operations/failed");
    assert!((4..=6).contains(&failed), "{failed} of 50");
    assert_eq!(report.cause("chunks_cut_short"), failed);
    assert!(line(&server.stop(), "responses").ends_with(&format!("{failed} aborted")));
    let (server, root) = serve(&place, &["--as", "booster-http"]);
    std::fs::remove_dir_all(place.path("out")).unwrap();
    let cid = file_of(&server);
    let raw = ["--as", "gateway", "--format", "raw", "--verify", &root, &cid, "-n", "10", "-c", "1"];
    let (ended, report) = place.get(raw);
    ended.expect(0);
    report.expect_clean(10);
    assert_eq!(body_bytes(&server.stop()), report.bytes("body_bytes"));
}

/// Returns the CID of the file, which the stand-in of a gateway prints.
fn file_of(server: &Running) -> String {
    let line = server.wait_for_line("as a CAR: /ipfs/");
    line.trim_start_matches("as a CAR: /ipfs/").split(',').next().unwrap_or_default().to_owned()
}

/// Like kubo, the gateway ends its chunked body correctly even if blocks are missing.
#[test]
fn a_gateway_that_leaves_blocks_out_fails() {
    const ABSENT: &str = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
    let _cores = shared_cores();
    let place = TestDir::new();
    for (flags, name, always, verified) in [
        (&["--car-size", "1MiB"][..], None, "none", "none"),
        (&["--car-size", "1MiB"], Some(ABSENT), "root_missing", "root_missing"),
        (&["--car-size", "1MiB", "--missing-leaf", "3"], None, "none", "block_missing"),
    ] {
        let (server, root) = serve(&place, &[&["--as", "kubo"][..], flags].concat());
        let cid = name.map_or_else(|| file_of(&server), str::to_owned);
        for (verify, cause) in [(&[][..], always), (&["--verify"], verified)] {
            let _ = std::fs::remove_dir_all(place.path("out"));
            let get = ["--as", "gateway", &root, &cid, "-n", "10", "-c", "2"];
            let (ended, report) = place.get([&get[..], verify].concat());
            ended.expect(i32::from(cause != "none"));
            let failed = if cause == "none" { 0 } else { report.cause(cause) };
            assert_eq!(failed, report.number("/operations/failed"), "{cause} {verify:?}");
            assert_eq!(failed, if cause == "none" { 0 } else { 10 }, "{cause} {verify:?}");
        }
        server.stop();
    }
}

#[test]
fn queries_of_a_location_follow_its_keys() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve(&place, &[]);
    // The server responds with 202 only if the whole query is `status=202`. Keys must therefore be inserted before the
    // query.
    let url = format!("{root}/worker/object/?status=202");
    let (ended, report) = put(&place, [&url, "--count", "20", "--size", "1000B", "-c", "2", "--expect-status", "202"]);
    ended.expect(0);
    report.expect_clean(20);
    assert_eq!(line(&server.stop(), "status"), "202 × 20");
}

#[test]
fn alluxio_redirects_to_the_owner_of_an_object() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let always = ["serve", "--listen", "127.0.0.1:0", "--stop-after", "60s", "--as", "alluxio", "--cluster", "4"];
    let list = ["--list", "40", "--list-size", "3000B", "--names", "names"];
    let server = place.start(always.iter().chain(&list));
    let first = server.wait_for_line("server 0: serving ");
    let root = first.trim_start_matches("server 0: serving ").split("/bucket").next().unwrap().to_owned();
    server.wait_for_line("server 3: serving ");
    let bucket = format!("{root}/bucket");
    let (ended, report) = place.get(["--as", "alluxio", &bucket, "--url-file", "names", "-n", "200", "-c", "4"]);
    ended.expect(0);
    assert_eq!((report.violations(), report.number("/operations/ok")), (0, 200));
    let hops = report.number("/operations/hops");
    assert!((100..200).contains(&hops), "three of four must be redirected: {hops}");
    let stdout = server.stop();
    let joint = stdout.split("all servers\n").last().unwrap();
    assert_eq!(line(joint, "status"), format!("200 × 200, 307 × {hops}"));
}

#[test]
fn filestash_lists_and_reads_in_one_session() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve(&place, &["--as", "filestash"]);
    let (ended, report) = place.get(["--as", "filestash", "--do", "ls", &root, "-n", "200", "-c", "8"]);
    ended.expect(0);
    report.expect_clean(200);
    std::fs::remove_dir_all(place.path("out")).unwrap();
    let (ended, report) = place.get([
        "--as",
        "filestash",
        "--do",
        "cat",
        &root,
        "/1M.bin",
        "/320K.bin",
        "-n",
        "60",
        "-c",
        "4",
        "--range",
        "10KiB",
    ]);
    ended.expect(0);
    report.expect_clean(60);
    let stdout = server.stop();
    // Each run logs in once, and finds the size of each file with a HEAD request.
    assert_eq!(line(&stdout, "status"), "200 × 204, 206 × 60");
}

#[test]
fn each_slot_has_its_own_session() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve(&place, &["--as", "filestash"]);
    let per_slot = ["--as", "filestash", "--do", "ls", "--sessions", "per-slot", "-c", "30", "-n", "300"];
    let (ended, report) = place.get(per_slot.into_iter().chain([root.as_str()]));
    ended.expect(0);
    report.expect_clean(300);
    assert_eq!(line(&server.stop(), "status"), "200 × 330");
    let settings = report.list("/setup/settings");
    let sessions = settings.iter().any(|pair| pair.to_string().contains("filestash, blackhole, one for each slot"));
    assert!(sessions, "{settings:?}");
}

#[test]
fn uploads_to_filestash_need_a_connection_each() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve(&place, &["--as", "filestash"]);
    let (ended, report) = put(&place, ["--as", "filestash", &root, "--count", "20", "--size", "5000B", "-c", "2"]);
    ended.expect(0);
    report.expect_clean(20);
    let stdout = server.stop();
    assert_eq!(line(&stdout, "status"), "200 × 21", "{stdout}");
    assert_eq!(report.number("/connections/opened"), 20, "{}", report.at("/connections"));
}

#[test]
fn a_refused_login_ends_before_the_run() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve(&place, &["--as", "filestash"]);
    place.write("password", "c4nary\n");
    let login = "ftp,username=me,password=@password";
    let ended = place.run(["get", "--as", "filestash", "--do", "ls", "--connection", login, &root]);
    ended.expect(4);
    assert!(ended.stderr.contains("/api/session: status 403, `Not Allowed`"), "{}", ended.stderr);
    assert!(!place.path("runs").exists(), "a run was saved");
    // The program sends the session that the user gives unchanged. The server refuses this session as invalid.
    let (ended, report) = place.get(["--as", "filestash", "--do", "ls", "-C", "auth=bm9uc2Vuc2U", &root, "-n", "10"]);
    ended.expect(1);
    assert_eq!(report.class("auth"), 10);
    let stdout = server.stop();
    assert_eq!(line(&stdout, "status"), "401 × 10, 403 × 1");
}

/// Runs `get` with the Filestash dialect. The environment of the process contains `key`, the user's key for sshd.
fn get_by_sftp<'a>(place: &TestDir, key: &str, words: impl IntoIterator<Item = &'a str>) -> Ended {
    let _ = std::fs::remove_dir_all(place.path("out"));
    let always = ["get", "--json", "--out", "out", "--as", "filestash"];
    let mut command = place.command(always.into_iter().chain(words));
    command.env("KEY", key);
    Running::of(command).end()
}

#[test]
fn filestash_serves_the_files_of_an_sftp_server() {
    let Some(sshd) = Sshd::start() else { return };
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, root) = serve(&place, &["--as", "filestash", "--sftp"]);
    let (files, login, key) = (sshd.files(), sshd.login(), sshd.key());
    for (name, bytes) in [("one", 100_000), ("t\"wo", 7)] {
        std::fs::write(files.join(name), vec![b'x'; bytes]).expect("can write a file");
    }
    std::fs::create_dir(files.join("deeper")).expect("can create a directory");
    let (directory, one) = (files.to_str().unwrap(), files.join("one"));
    // The listing has three entries of 480 bytes each, and the text around them. The last entry has no comma.
    let around = "{\n    \"status\": \"ok\",\n    \"results\": [\n\n    ],\n    \"permissions\": {}\n}\n";
    let size = format!("{}B", around.len() + 3 * 480 - ",\n".len());
    let connection = ["--connection", login.as_str(), root.as_str()];
    let ls = ["--do", "ls", directory, "-n", "60", "-c", "4", "--expect-size", &size];
    let ended = get_by_sftp(&place, &key, ls.into_iter().chain(connection));
    ended.expect(0);
    Report::read(&ended).expect_clean(60);
    let cat = [one.to_str().unwrap(), "-n", "10", "-c", "2", "--expect-size", "100000B"];
    let ended = get_by_sftp(&place, &key, cat.into_iter().chain(connection));
    ended.expect(0);
    Report::read(&ended).expect_clean(10);
    let ranges = [one.to_str().unwrap(), "-n", "20", "-c", "2", "--range", "10000B"];
    let ended = get_by_sftp(&place, &key, ranges.into_iter().chain(connection));
    ended.expect(0);
    Report::read(&ended).expect_clean(20);
    let missing = ["--do", "ls", "/no/such/directory", "-n", "5"];
    let ended = get_by_sftp(&place, &key, missing.into_iter().chain(connection));
    ended.expect(1);
    assert_eq!(Report::read(&ended).class("http_4xx"), 5);
    assert_eq!(sshd.connections(), 1, "requests of one login used several connections");
    let refused = get_by_sftp(&place, "secret", ["--do", "ls"].into_iter().chain(connection));
    refused.expect(4);
    assert!(refused.stderr.contains("status 400, `the stand-in logs in to sftp with"), "{}", refused.stderr);
    // The server counts four logins, one HEAD request for a size, and the requests of the runs.
    let stdout = server.stop();
    assert_eq!(line(&stdout, "status"), "200 × 75, 206 × 20, 400 × 1, 404 × 5", "{stdout}");
}
