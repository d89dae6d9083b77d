//! Mistakes of users, and requests that the program refuses. The program exits with the right code, and prints a
//! one-line message that explains what failed, why, and what to do.

use crate::support::{Nginx, Running, Setup, TestDir, expect_none, expect_refusal, refusal_faults};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};

/// Returns a URL that no server serves. The port of the URL was free a moment ago.
fn refused() -> String {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    format!("http://127.0.0.1:{}/", port.expect("can bind a loopback port").port())
}

#[test]
fn mistakes_in_the_command_line_get_a_one_line_message() {
    let place = TestDir::new();
    let url = "http://127.0.0.1:9/";
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["no URL", "plimsoll get http://"]),
        (&[url, "-c", "0"], &["--concurrency", "0", "above 0"]),
        (&[url, "-n", "0"], &["--requests", "0", "above 0"]),
        (&[url, "-c", "many"], &["-c", "many"]),
        (&[url, "-c", "99999999"], &["-c", "99999999", "maximum"]),
        (&[url, "-n", "-5"], &["--requests", "-5", "above 0"]),
        (&[url, "-c", "-1"], &["--concurrency", "-1", "above 0"]),
        (&[url, "-c", "1\n2"], &["--concurrency", "above 0"]),
        (&[url, "--seed", "x"], &["--seed", "`x`", "whole number"]),
        (&[url, "-R", "-3"], &["--rate", "-3", "above 0"]),
        (&[url, "-R", "0"], &["--rate", "above 0"]),
        (&[url, "-d", "0"], &["-d 0", "above 0"]),
        (&[url, "-d", "-1s"], &["-d has", "`-1", "negative"]),
        (&[url, "--warmup", "-500ms"], &["--warmup has", "`-5", "negative"]),
        (&[url, "-5"], &["unknown flag `-5`"]),
        (&[url, "-d", r#"{"a":1}"#], &["--duration", r#"{"a":1}"#, "10s", "--body-file"]),
        (&["127.0.0.1:9/x"], &["`127.0.0.1:9/x`", "write http://127.0.0.1:9/x"]),
        (&[url, "-connections", "5"], &["-connections (a flag of vegeta)", "write -c N"]),
        (&[url, "-http2"], &["-http2 (a flag of vegeta)", "write --http2"]),
        (&["https://127.0.0.1:9/x", "--proxy", "http://127.0.0.1:9"], &["https://127.0.0.1:9", "--proxy", "CONNECT"]),
        (&["https://127.0.0.1:9/x", "--receive-low-water", "1MiB"], &["--receive-low-water", "http://"]),
        (&[url, "--cacert", "/nowhere.pem"], &["cannot read /nowhere.pem"]),
        (&[url, "--cacert", "/dev/null"], &["/dev/null", "contains no certificate", "BEGIN CERTIFICATE"]),
        (&[url, "--cert", "/dev/null"], &["/dev/null", "contains no certificate"]),
        (&[url, "--key", "/dev/null"], &["--cert"]),
        (&[url, "--insecure", "--cacert", "/dev/null"], &["--insecure", "--cacert"]),
        (&["http://"], &["http://", "host"]),
        (&["http://host:99999/"], &["http://host:99999/", "port"]),
        (&["ftp://host/"], &["ftp://host/", "http://"]),
        (&[url, "--range", "0"], &["--range 0", "above 0"]),
        (&[url, "--range", "1XB"], &["--range", "1XB", "1MiB"]),
        (&[url, "--range-at", "5"], &["--range"]),
        (&[url, "--range", "1KiB", "-m", "PUT"], &["--range", "GET"]),
        (&[url, "--bytes", "0"], &["--bytes 0", "above 0"]),
        (&[url, "-H", "nocolon"], &["-H", "colon", "Name: value"]),
        (&[url, "-H", "Bad Name: x"], &["-H"]),
        (&[url, "-H", "X: a\r\nY: b"], &["-H"]),
        (&[url, "-H", "Connection: close"], &["connection", "--no-keepalive"]),
        (&[url, "-H", "Range: bytes=0-1"], &["range", "--range"]),
        (&[url, "-H", "X: ${PLIMSOLL_NOT_SET}"], &["-H", "PLIMSOLL_NOT_SET"]),
        (&[url, "-C", "a=${PLIMSOLL_NOT_SET}"], &["-C", "PLIMSOLL_NOT_SET"]),
        (&[url, "-C", "foo"], &["-C", "session=abc"]),
        (&[url, "-C", "=foo"], &["-C", "session=abc"]),
        (&[url, "-C", "a=b; foo"], &["-C", "session=abc"]),
        (&[url, "-C", ""], &["-C", "session=abc"]),
        (&[url, "-u", "@/dev/zero"], &["/dev/zero", "1MiB"]),
        (&[url, "-H", "@/dev/zero"], &["/dev/zero", "1MiB"]),
        (&["--url-file", "/dev/zero"], &["/dev/zero, line 1", "65536", "one entry per line"]),
        (&[url, "-u", "nobody"], &["-u", "user:password"]),
        (&[url, "-u", "@/no/such/file"], &["/no/such/file"]),
        (&["--url-file", "/no/such/file"], &["/no/such/file"]),
        (&["--url-file", "/"], &["/"]),
        (&[url, "--body-file", "/no/such/file", "-m", "PUT"], &["/no/such/file"]),
        (&[url, "-m", "g t"], &["--method", "g t", "GET"]),
        (&[url, "--expect-status", "99"], &["--expect-status", "99"]),
        (&[url, "--expect-header", "nocolon"], &["--expect-header", "colon"]),
        (&[url, "--group-by", "no name"], &["--group-by"]),
        (&[url, "--connect-to", "foo"], &["--connect-to", "foo", "example.com:80:127.0.0.1:8080"]),
        (&[url, "--proxy", "foo"], &["--proxy", "http://"]),
        (&[url, "--local-address", "here"], &["--local-address", "here"]),
        (&[url, "--stages", "abc"], &["--stages", "abc", "10s:100"]),
        (&[url, "--stages", "0s:10"], &["--stages", "10s:100"]),
        (&[url, "--group-by", "Set-Cookie"], &["--group-by", "Set-Cookie", "secret"]),
        (&[url, "--order", "nonsense"], &["--order", "nonsense", "round-robin"]),
        (&[url, "--order", "zipf:0"], &["--order", "zipf:0", "between 0 and 10"]),
        (&[url, "--success", "101"], &["--success", "101", "99"]),
        (&[url, "--success", "0.99"], &["--success", "99%", "0.99%"]),
        (&[url, "--success", "1"], &["--success", "100%", "1%"]),
        (&[url, "--timeout-head", "0"], &["--timeout-head", "above 0"]),
        (&[url, "--think", "1s", "-R", "5"], &["--think"]),
        (&[url, "--nonsense"], &["--nonsense", "--help"]),
        (&[url, "--local-address", "x"], &["--local-address", "`x`", "192.0.2.1"]),
        (&[url, "--poisson"], &["--rate"]),
        (&[url, "--as", "minio"], &["--as", "minio", "piece"]),
        (&["--as", "piece"], &["http://host:port"]),
        (&[url, "--as", "piece"], &["no objects", "--url-file"]),
        (&[url, "--as", "piece", "a/b"], &["`a/b`", "CID"]),
        (&[url, "--as", "http", "a/../b"], &["`a/../b`", "URL"]),
        (&[url, "--as", "piece", "--count", "5"], &["--as piece", "--url-file"]),
        (&["s3://bucket/key", "--as", "alluxio"], &["s3://bucket/key", "http://host:port"]),
        (
            &[url, "--as", "gateway", "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy", "--range", "1KiB"],
            &["--range"],
        ),
        (&[url, "--format", "raw"], &["--format", "--as gateway"]),
        (&[url, "--do", "ls"], &["--do", "--as filestash"]),
        (&[url, "--connection", "blackhole"], &["--connection", "--as filestash"]),
        (&[url, "--as", "filestash", "--do", "ls", "--connection", "sftp,p"], &["--connection", "NAME=VALUE"]),
        (&[url, "--as", "filestash", "--do", "ls", "--connection", "sftp", "-C", "a=b"], &["--connection", "-C"]),
        (&[url, "--as", "filestash", "--do", "ls", "--sessions", "per-slot", "-R", "5"], &["--sessions", "-R"]),
        (&[url, "--conections", "5"], &["--conections", "did you mean --connections?"]),
        (&[url, "--timout-head", "5s"], &["--timout-head", "did you mean --timeout-head?"]),
        (&[url, "--json", "--print", "ab"], &["--json", "--print"]),
    ];
    let told = |(words, wanted): &(&[&str], &[&str])| {
        refusal_faults(&words.join(" "), &place.run(["get"].iter().chain(*words)), 2, wanted)
    };
    expect_none(&cases.iter().flat_map(told).collect::<Vec<_>>());
    assert!(!place.path("runs").exists(), "a run was saved");
}

#[test]
fn mistakes_in_the_flags_of_serve_get_a_one_line_message() {
    let place = TestDir::new();
    let cases: Vec<(&[&str], &[&str])> = vec![
        (&["--as", "minio"], &["--as", "minio", "alluxio"]),
        (&["--cluster", "0"], &["--cluster", "0"]),
        (&["--cluster", "1000"], &["--cluster", "256"]),
        (&["--cluster", "9", "--listen", "127.0.0.1:65530"], &["--cluster", "--listen", "65535"]),
        (&["--cluster", "2", "--faults-on", "2"], &["--faults-on", "1"]),
        (&["--cluster", "2", "--as", "filestash"], &["--cluster", "filestash"]),
        (&["--cluster-mode", "proxy"], &["--cluster"]),
        (&["--queue", "5"], &["--queue", "--as alluxio"]),
        (&["--sftp"], &["--sftp", "--as filestash"]),
        (&["--bandwidth", "5MB"], &["--bandwidth", "--as siad"]),
        (&["--sync-after", "5s", "--as", "kubo"], &["--sync-after", "--as siad or renterd"]),
        (&["--bucket", "bbb", "--as", "siad"], &["--bucket", "--as renterd"]),
        (&["--as", "siad", "--restart-every", "5s"], &["--restart-every", "`5s`", "longer than a restart"]),
        (&["--as", "siad", "--list", "5", "--urls", "urls"], &["--list", "siad"]),
        (&["--as", "renterd", "--shards", "3:2"], &["--shards", "`3:2`", "at least the minimum"]),
        (&["--as", "renterd", "--listen", "0.0.0.0:0"], &["--as renterd", "--api-password"]),
        (&["--lose-every", "3"], &["--lose-every", "--s3", "--as renterd"]),
        (&["--piece-size", "1GiB", "--as", "alluxio"], &["--piece-size", "--as booster-http"]),
        (&["--as", "booster-http", "--slow-above", "many"], &["--slow-above", "many"]),
        (&["--list", "5"], &["--list", "--names", "--urls"]),
        (&["--tls", "--cluster", "2"], &["--cluster", "TLS"]),
        (&["--http2", "--liar", "14-garbage"], &["--liar", "HTTP/2"]),
        (&["--s3", "--as", "alluxio"], &["--s3", "--as"]),
        (&["--store", "objects"], &["--s3"]),
        (&["--tls-cert", "cert.pem"], &["--tls-key"]),
        (&["--tls-client-ca", "ca.pem"], &["--tls-client-ca", "--tls"]),
        (&["--truncate", "10"], &["--truncate", "`10`", "colon"]),
        (&["--flip", "0:5"], &["--flip", "`0`", "above 0"]),
    ];
    let told = |(words, wanted): &(&[&str], &[&str])| {
        refusal_faults(&words.join(" "), &place.run(["serve", "--stop-after", "1s"].iter().chain(*words)), 2, wanted)
    };
    expect_none(&cases.iter().flat_map(told).collect::<Vec<_>>());
}

#[test]
fn a_mistake_in_a_list_of_urls_is_reported_with_its_line() {
    let place = TestDir::new();
    place.write("urls", "http://127.0.0.1:9/a\n\nnonsense\n");
    place.write("empty", "# nothing\n");
    place.write("binary", [b'h', 0xff, 0xfe, b'\n']);
    place.write("long", [b"http://127.0.0.1:9/\n" as &[u8], &[b'x'; 100_000]].concat());
    for (file, words) in [
        ("urls", &["urls, line 3"] as &[_]),
        ("empty", &["empty", "URL"]),
        ("binary", &["binary, line 1", "UTF-8"]),
        ("long", &["long, line 2", "65536"]),
    ] {
        expect_refusal(file, &place.run(["get", "--url-file", file]), 2, words);
    }
}

#[test]
fn flags_of_other_tools_are_refused_with_ours_in_the_message() {
    let place = TestDir::new();
    let table = include_str!("../../../../docs/flags.md");
    let rows = table.lines().filter_map(|line| {
        let mut cells = line.trim_matches('|').split(" | ");
        let flag = cells.next()?.trim().trim_matches('`').to_owned();
        Some((flag, cells.next()?.trim().strip_prefix("*refused:* ")?.to_owned()))
    });
    let (mut count, mut found) = (0, Vec::new());
    for (flag, instead) in rows {
        for words in [vec!["get", &flag, "http://127.0.0.1:9/"], vec!["get", "http://127.0.0.1:9/", &flag, "2"]] {
            found.extend(refusal_faults(&words.join(" "), &place.run(&words), 2, &[&flag, &instead]));
        }
        count += 1;
    }
    expect_none(&found);
    assert!(count >= 25, "{count} letters in the table");
}

#[test]
fn a_url_instead_of_a_command_is_reported() {
    let ended = TestDir::new().run(["http://me:secret@host/x"]);
    expect_refusal("a URL", &ended, 2, &["plimsoll get http://host/x"]);
    expect_refusal("a command", &TestDir::new().run(["nonsense"]), 2, &["`nonsense`", "plimsoll --help"]);
    expect_refusal("no DIR", &TestDir::new().run(["report"]), 2, &["<DIR>", "plimsoll report --help"]);
    let ended = TestDir::new().run(["serve", "--threads", "0"]);
    expect_refusal("--threads", &ended, 2, &["--threads", "`0`", "above 0"]);
    let ended = TestDir::new().run(["demo", "http://host/x"]);
    expect_refusal("an unexpected argument", &ended, 2, &["http://host/x", "plimsoll demo --help"]);
    let ended = TestDir::new().run(["serve", "--listne", "127.0.0.1:0"]);
    expect_refusal("a flag of serve", &ended, 2, &["--listne", "did you mean --listen?", "plimsoll serve --help"]);
}

#[test]
fn invalid_numbers_and_locations_are_reported() {
    let place = TestDir::new();
    place.write("file", "x");
    let cases: [(&[&str], &[&str]); 7] = [
        (&["line", "http://127.0.0.1/", "--from", "10", "--to", "5"], &["--from 10 is above --to 5"]),
        (&["line", "http://127.0.0.1/", "--from", "5000"], &["--from 5000 is above --to 4096 (the default)"]),
        (&["serve", "--cluster", "0"], &["--cluster", "whole number above 0"]),
        (&["serve", "--s3", "--store", "file", "--listen", "127.0.0.1:0"], &["--store file", "not a directory"]),
        (&["get", "http://127.0.0.1/", "--repeat", "1001"], &["--repeat 1001", "the maximum is 1000"]),
        (&["get", "http://127.0.0.1/", "-c", "99999999999999999999"], &["--concurrency", "too large"]),
        (&["get", "http://127.0.0.1/", "--seed", "99999999999999999999"], &["--seed", "18446744073709551615"]),
    ];
    for (words, wanted) in cases {
        expect_refusal(&words.join(" "), &place.run(words), 2, wanted);
    }
}

#[test]
fn a_directory_that_cannot_be_served_is_reported() {
    let place = TestDir::new();
    place.write("file", "x");
    for directory in ["/no/such/directory", "file"] {
        let ended = place.run(["serve", directory, "--listen", "127.0.0.1:0", "--stop-after", "1s"]);
        expect_refusal(directory, &ended, 2, &[directory, "directory of files"]);
    }
}

#[test]
fn an_unknown_host_is_reported() {
    let place = TestDir::new();
    let ended = place.run(["get", "http://no-such-host.invalid/x", "-n", "10"]);
    expect_refusal("unknown host", &ended, 4, &["no-such-host.invalid"]);
}

#[test]
fn a_refused_port_is_reported() {
    let place = TestDir::new();
    let url = refused();
    for words in
        [vec!["-n", "10"], vec!["-d", "5s", "-c", "100"], vec!["-R", "100", "-d", "5s"], vec!["-n", "10", "--json"]]
    {
        let ended = place.run(["get", &url].into_iter().chain(words.iter().copied()));
        expect_refusal(&words.join(" "), &ended, 4, &[&url, "refused", "check that it is running"]);
    }
}

#[test]
fn a_refused_port_ends_the_run_soon() {
    let started = Instant::now();
    let ended = TestDir::new().run(["get", &refused(), "-c", "1", "-n", "100"]);
    expect_refusal("-c 1 -n 100", &ended, 4, &["refused", "check that it is running"]);
    // After each refused connection, the slot waits longer. Ten attempts take about a second, and a hundred attempts
    // would take fifteen seconds.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn a_missing_unix_socket_is_reported() {
    let place = TestDir::new();
    let ended = place.run(["get", "http://host/", "--unix-socket", "/no/such/socket", "-n", "10"]);
    expect_refusal("--unix-socket", &ended, 4, &["/no/such/socket"]);
    assert!(!ended.stderr.contains("refused"), "the message must not claim a refusal: {}", ended.stderr);
}

#[test]
fn a_local_address_of_another_host_is_reported() {
    let place = TestDir::new();
    // No host has this address: 192.0.2.0/24 is reserved for documentation (RFC 5737).
    let ended = place.run(["get", &refused(), "--local-address", "192.0.2.1", "-n", "10"]);
    assert!(matches!(ended.code, Some(2 | 4)), "{:?}", ended.code);
    expect_refusal("--local-address", &ended, ended.code.unwrap_or(0), &["192.0.2.1"]);
}

#[test]
fn a_directory_that_is_not_writable_is_reported() {
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    let place = TestDir::new();
    place.write("file", "not a directory");
    let ended = place.run(["get", &nginx.url("/f/1k"), "-n", "10", "--out", "file/run"]);
    expect_refusal("--out", &ended, 4, &["file/run", "--out"]);
    assert!(nginx.quit().is_empty(), "requests were sent");
}

#[test]
fn too_few_descriptors_are_reported_with_the_fix() {
    let place = TestDir::new();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 100; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_plimsoll")]);
    command.args(["get", &refused(), "-c", "1000", "-n", "1000"]).current_dir(place.path(""));
    let ended = Running::of(command).end();
    expect_refusal("descriptors", &ended, 4, &["1,000", "100", "ulimit -n", "-c"]);

    // Two concurrent uploads need eight connections each.
    let url = refused();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 78; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_plimsoll")]);
    command.args([
        "put",
        "s3://bucket/p",
        "--endpoint",
        &url,
        "--access-key",
        "k",
        "--secret-key",
        "s",
        "--count",
        "4",
    ]);
    command.args(["--size", "10MiB", "--multipart", "5MiB", "--parts", "8", "-c", "2", "--threads", "1"]);
    command.current_dir(place.path(""));
    let ended = Running::of(command).end();
    expect_refusal("descriptors", &ended, 4, &["84", "78", "8 parts", "lower -c or --parts"]);
}

#[test]
fn too_many_expected_headers_are_refused() {
    let (place, url) = (TestDir::new(), refused());
    let expected: Vec<String> = (0..=100).flat_map(|n| ["--expect-header".to_owned(), format!("X-{n}: a")]).collect();
    let words = ["get", &url].into_iter().chain(expected.iter().map(String::as_str));
    let ended = place.run(words);
    expect_refusal("--expect-header", &ended, 2, &["101 times", "the maximum is 100"]);
}

#[test]
fn an_empty_object_has_no_random_range() {
    let Some(nginx) = Nginx::start(Setup::default()) else { return };
    std::fs::write(nginx.path("files/empty"), "").expect("can write a file");
    let place = TestDir::new();
    let ended = place.run(["get", &nginx.url("/f/empty"), "--range", "1KiB", "-n", "10"]);
    expect_refusal("empty object", &ended, 4, &["/f/empty", "empty"]);
    let longer =
        place.run(["get", &nginx.url("/f/1k"), &nginx.url("/f/1m"), "--range", "2KiB", "-n", "10", "--out", "long"]);
    let warning = "warning: 1 of 2 objects is shorter than the range of 2KiB and is read whole; the smallest has 1KiB";
    assert!(longer.expect(0).stderr.contains(warning), "{}", longer.stderr);
    let ended = place.run(["get", &nginx.url("/f/none"), "--range", "1KiB", "-n", "10"]);
    expect_refusal("no object", &ended, 4, &["/f/none", "404", "--object-size"]);
}

#[test]
fn a_limit_on_file_sizes_is_reported() {
    let place = TestDir::new();
    let limited = |words: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 4; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_plimsoll")]);
        Running::of({
            command.args(words).current_dir(place.path(""));
            command
        })
        .end()
    };
    expect_refusal("get", &limited(&["get", &refused(), "--out", "out"]), 4, &["out", "too large"]);
    assert!(!place.path("out").exists(), "a refused run left a directory");
    expect_refusal(
        "generate",
        &limited(&["generate", "set", "--count", "1", "--size", "64KiB"]),
        4,
        &["set", "too large"],
    );
    assert_eq!(
        std::fs::read_dir(place.path("set")).expect("the directory exists").count(),
        0,
        "no incomplete file is left"
    );
}

#[test]
fn an_argument_that_is_not_utf_8_is_reported() {
    use std::os::unix::ffi::OsStrExt;
    let place = TestDir::new();
    let words = [b"get".as_slice(), b"http://127.0.0.1/\xff", b"-n", b"1"].map(std::ffi::OsStr::from_bytes);
    expect_refusal("a URL", &place.run(words), 2, &["argument 2", "UTF-8", "%XX"]);
}
