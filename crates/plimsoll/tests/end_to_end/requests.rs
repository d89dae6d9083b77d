//! Requests as the server receives them, and the checks of responses. The tests cover URLs, methods, header fields and
//! routes.

use crate::support::{KIB, MIB, Nginx, Report, Setup, TestDir, shared_cores};
use std::collections::{HashMap, HashSet};

const MOVED: &str = "location = /moved { return 302 /f/1k; } location = /round { return 302 /round; }";

fn start(server: &'static str) -> Option<Nginx> {
    Nginx::start(Setup { server, ..Setup::default() })
}

#[test]
fn a_list_of_urls_is_requested_in_turn() {
    let _cores = shared_cores();
    let Some(nginx) = start("location /x { return 200 $uri; }") else { return };
    let place = TestDir::new();
    let lines: Vec<String> = (0..7).map(|number| nginx.url(&format!("/x{number}"))).collect();
    let list = place.write("urls", format!("# a comment\n\n{}\n", lines.join("\n")));
    let words = ["--url-file", list.to_str().unwrap(), "-n", "700", "-c", "5"];
    let (ended, report) = place.get(words);
    ended.expect(0);
    report.expect_clean(700);
    let log = nginx.quit();
    report.expect_joins(&log);
    let mut seen: HashMap<&str, u64> = HashMap::new();
    log.iter().for_each(|request| *seen.entry(&request.uri).or_default() += 1);
    assert_eq!(seen.len(), 7);
    assert!(seen.values().all(|count| *count == 100), "{seen:?}");
}

#[test]
fn a_list_of_urls_is_requested_at_random() {
    let _cores = shared_cores();
    let Some(nginx) = start("location /x { return 200 $uri; }") else { return };
    let place = TestDir::new();
    let lines: Vec<String> = (0..10).map(|number| nginx.url(&format!("/x{number}"))).collect();
    let list = place.write("urls", lines.join("\n"));
    let words = ["--url-file", list.to_str().unwrap(), "--order", "random", "-n", "5000", "-c", "1", "--threads", "1"];
    let (ended, report) = place.get(words);
    ended.expect(0);
    report.expect_clean(5000);
    let log = nginx.quit();
    let mut seen: HashMap<&str, u64> = HashMap::new();
    log.iter().for_each(|request| *seen.entry(&request.uri).or_default() += 1);
    // Each URL has 500 requests on average, with a standard deviation of 21.
    assert!(seen.len() == 10 && seen.values().all(|count| (380..=620).contains(count)), "{seen:?}");
    // In random order, one request in ten has the same URL as the previous request. In sequential order, no request
    // has.
    let pairs = log.windows(2).filter(|pair| pair[0].uri == pair[1].uri).count();
    assert!((380..=620).contains(&pairs), "{pairs} of 4999 follow themselves");
}

/// The server's log shows the number of requests for each URL, and the first request for each URL.
#[test]
fn popular_urls_are_requested_more_often_and_first_accesses_are_distinguished() {
    let _cores = shared_cores();
    let Some(nginx) = start("location /x { return 200 $uri; }") else { return };
    let place = TestDir::new();
    let lines: Vec<String> = (0..200).map(|number| nginx.url(&format!("/x{number}"))).collect();
    let list = place.write("urls", lines.join("\n"));
    let words = ["--url-file", list.to_str().unwrap(), "--order", "zipf:1", "-n", "10000", "-c", "8", "--threads", "2"];
    let (ended, report) = place.get(words);
    ended.expect(0);
    report.expect_clean(10_000);
    let log = nginx.quit();
    let mut seen: HashMap<&str, u64> = HashMap::new();
    log.iter().for_each(|request| *seen.entry(&request.uri).or_default() += 1);
    // With exponent 1 and 200 URLs, the sum of the weights is 5.878. The bounds are 5 standard deviations wide.
    for rank in [1, 2, 4, 10, 50] {
        let expected = 10_000.0 / 5.878 / f64::from(rank);
        let found = seen.get(format!("/x{}", rank - 1).as_str()).copied().unwrap_or(0) as f64;
        assert!((found - expected).abs() <= 5.0 * expected.sqrt(), "rank {rank}: {found} instead of {expected}");
    }
    let accesses = |label: &str| {
        let groups = report.list("/groups").iter();
        let group = groups.filter(|group| group["dimension"] == "access").find(|group| group["label"] == label);
        group.and_then(|group| group["ok"].as_u64()).unwrap_or_else(|| panic!("{}", report.at("/groups")))
    };
    assert_eq!((accesses("first"), accesses("repeated")), (seen.len() as u64, 10_000 - seen.len() as u64));
    let text = place.run(["report", "out", "--full"]);
    assert!(text.expect(0).stdout.contains("By access of the object"), "{}", text.stdout);
}

#[test]
fn a_list_of_urls_is_requested_once() {
    let _cores = shared_cores();
    let Some(nginx) = start("location /x { return 200 $uri; }") else { return };
    let place = TestDir::new();
    let lines: Vec<String> = (0..1234).map(|number| nginx.url(&format!("/x{number}"))).collect();
    let list = place.write("urls", lines.join("\n"));
    let (ended, report) = place.get(["--url-file", list.to_str().unwrap(), "--order", "once", "-c", "50"]);
    ended.expect(0);
    report.expect_clean(1234);
    let log = nginx.quit();
    assert_eq!(log.len(), 1234);
    assert_eq!(log.iter().map(|request| &request.uri).collect::<HashSet<_>>().len(), 1234, "not each URL once");
}

#[test]
fn a_fixed_range_is_requested_each_time_and_needs_no_size() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let words = ["--range", "4KiB", "--range-at", "1000", "-n", "100"];
    let (ended, report) = place.get([nginx.url("/f/1m").as_str()].into_iter().chain(words));
    ended.expect(0);
    report.expect_clean(100);
    let log = nginx.quit();
    report.expect_joins(&log);
    assert!(log.iter().all(|request| request.range == Some((1000, 5095)) && request.status == 206));
}

/// Examples of servers that respond in this way: renterd, rclone, and others that are based on gofakes3.
#[test]
fn ranges_with_status_200_succeed_if_the_flag_accepts_them() {
    let _cores = shared_cores();
    let location = "location /r { add_header Content-Range 'bytes 0-9/1000'; return 200 0123456789; }";
    let Some(nginx) = start(location) else { return };
    let place = TestDir::new();
    let url = nginx.url("/r");
    let words = [url.as_str(), "--range", "10B", "--range-at", "0", "-n", "20"];
    let (ended, report) = place.get(words);
    ended.expect(1);
    assert_eq!(report.at("/failures/causes/0/cause"), "range_by_200");
    let (ended, report) = TestDir::new().get(words.iter().chain(&["--accept-200-ranges"]));
    ended.expect(0);
    report.expect_clean(20);
}

#[test]
fn without_keep_alive_every_request_has_its_own_connection() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url("/f/1k"), "--no-keepalive", "-n", "300", "-c", "7"]);
    ended.expect(0);
    report.expect_clean(300);
    assert_eq!(report.number("/connections/opened"), 300);
    assert_eq!(report.number("/times/connect/count"), 300);
    let log = nginx.quit();
    report.expect_joins(&log);
    assert_eq!(log.iter().map(|request| request.connection).collect::<HashSet<_>>().len(), 300);
}

#[test]
fn a_connection_serves_no_more_requests_than_the_flag_allows() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let words = ["--requests-per-connection", "10", "-n", "1000", "-c", "4"];
    let (ended, report) = place.get([nginx.url("/f/1k").as_str()].into_iter().chain(words));
    ended.expect(0);
    report.expect_clean(1000);
    let log = nginx.quit();
    report.expect_joins(&log);
    let mut served: HashMap<u64, u64> = HashMap::new();
    log.iter().for_each(|request| *served.entry(request.connection).or_default() += 1);
    assert!(served.values().all(|count| *count <= 10) && (100..=104).contains(&served.len()), "{served:?}");
}

#[test]
fn http_1_0_equals_that_of_ab() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url("/f/1k"), "--http1.0", "-n", "200", "-c", "4"]);
    ended.expect(0);
    report.expect_clean(200);
    let log = nginx.quit();
    report.expect_joins(&log);
    assert!(log.iter().all(|request| request.protocol == "HTTP/1.0"));
    assert_eq!(
        log.iter().map(|request| request.connection).collect::<HashSet<_>>().len(),
        4,
        "connections were not reused"
    );
}

#[test]
fn a_run_can_use_a_unix_socket() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let socket = nginx.socket();
    let words = ["http://any.example/f/1m", "--unix-socket", socket.to_str().unwrap(), "-n", "300"];
    let (ended, report) = place.get(words);
    ended.expect(0);
    report.expect_clean(300);
    let log = nginx.quit();
    report.expect_joins(&log);
    assert!(log.iter().all(|request| request.host == "any.example"));
}

#[test]
fn connect_to_redirects_connections_and_hosts_are_grouped() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let address = nginx.address();
    let rule = |host: &str| format!("{host}:80:127.0.0.1:{}", address.port());
    let (one, two) = (rule("one.invalid"), rule("two.invalid"));
    let words =
        ["http://one.invalid/f/1k", "http://two.invalid/f/1k", "--connect-to", &one, "--connect-to", &two, "-n", "200"];
    let (ended, report) = place.get(words);
    ended.expect(0);
    report.expect_clean(200);
    let log = nginx.quit();
    report.expect_joins(&log);
    for host in ["one.invalid", "two.invalid"] {
        assert_eq!(log.iter().filter(|request| request.host == host).count(), 100);
        assert_eq!(group(&report, "host", |label| label.contains(host)), Some(100), "{}", report.at("/groups"));
    }
}

#[test]
fn a_proxy_receives_whole_urls() {
    let _cores = shared_cores();
    let Some(nginx) = start("location = /object { return 200 'through a proxy'; }") else { return };
    // nginx can be a forward proxy here, because the addresses need no resolver.
    let forward = "location / { proxy_pass http://$http_host$request_uri; proxy_buffering off; }";
    let Some(proxy) = start(forward) else { return };
    let place = TestDir::new();
    let through = format!("http://user:pass@{}", proxy.address());
    let (ended, report) = place.get([&nginx.url("/x/../object"), "--proxy", &through, "-n", "100"]);
    ended.expect(0);
    report.expect_clean(100);
    let (asked, reached) = (proxy.quit(), nginx.quit());
    report.expect_joins(&asked);
    assert_eq!((asked.len(), reached.len()), (100, 100));
    for request in &asked {
        assert!(request.line.starts_with("GET http://127.0.0.1:"), "{}", request.line);
        assert_eq!(request.proxy_authorization, "Basic dXNlcjpwYXNz");
    }
    assert!(reached.iter().all(|request| request.line == "GET /object HTTP/1.0"), "{}", reached[0].line);
}

#[test]
fn redirects_are_followed_and_every_hop_is_an_attempt() {
    let _cores = shared_cores();
    let Some(nginx) = start(MOVED) else { return };
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url("/moved"), "-n", "100", "-c", "4"]);
    ended.expect(0);
    report.expect_clean(100);
    assert_eq!(report.number("/operations/attempts"), 200);
    assert_eq!(report.number("/operations/hops"), 100);
    let log = nginx.quit();
    report.expect_joins(&log);
    assert_eq!(log.iter().filter(|request| request.status == 302).count(), 100);
    assert_eq!(log.iter().filter(|request| request.status == 200 && request.uri == "/f/1k").count(), 100);
}

#[test]
fn redirects_that_are_not_followed_are_failures_of_their_own_class() {
    let _cores = shared_cores();
    let Some(nginx) = start(MOVED) else { return };
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url("/moved"), "-n", "100", "--no-follow"]);
    ended.expect(1);
    assert_eq!((report.number("/operations/failed"), report.class("http_3xx")), (100, 100));
    let log = nginx.quit();
    report.expect_joins(&log);
    assert!(log.iter().all(|request| request.status == 302));
}

#[test]
fn a_redirect_loop_ends() {
    let _cores = shared_cores();
    let Some(nginx) = start(MOVED) else { return };
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url("/round"), "-n", "10"]);
    ended.expect(1);
    assert_eq!((report.number("/operations/failed"), report.cause("redirect_loop")), (10, 10));
    assert_eq!(nginx.quit().len(), 110, "not ten hops each");
}

#[test]
fn missing_objects_are_failures_and_miss_the_objective() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url("/f/none"), "-n", "100"]);
    ended.expect(1);
    assert_eq!(report.violations(), 0, "failures of the target broke the accounting");
    assert_eq!((report.number("/operations/failed"), report.class("http_4xx")), (100, 100));
    assert_eq!(report.text("/objectives/0/outcome"), "missed");
    assert_eq!(report.number("/failures/statuses/0/status"), 404);
    let log = nginx.quit();
    report.expect_joins(&log);
}

#[test]
fn basic_authentication_is_sent() {
    let _cores = shared_cores();
    let Some(nginx) = start("location /closed/ { auth_basic here; auth_basic_user_file users; alias files/; }") else {
        return;
    };
    std::fs::write(nginx.path("users"), "me:{PLAIN}open sesame\n").expect("can write a file");
    let place = TestDir::new();
    let in_url = nginx.url("/closed/1k").replacen("http://", "http://me:open%20sesame@", 1);
    let url = nginx.url("/closed/1k");
    for words in [vec!["-u", "me:open sesame", &url], vec![&in_url]] {
        let ended = place.run(["get", "--json", "-n", "10"].iter().chain(&words));
        ended.expect(0);
        Report::read(&ended).expect_clean(10);
    }
    let ended = place.run(["get", "--json", "-n", "10", "-u", "me:wrong", &url]);
    ended.expect(1);
    let report = Report::read(&ended);
    assert_eq!(report.number("/operations/failed"), 10);
    assert_eq!(report.class("auth") + report.class("http_4xx"), 10, "{}", report.at("/failures"));
    assert_eq!(nginx.quit().iter().filter(|request| request.status == 200 && request.user == "me").count(), 20);
}

#[test]
fn head_requests_receive_no_body() {
    let _cores = shared_cores();
    let Some(nginx) = start("") else { return };
    let place = TestDir::new();
    let (ended, report) = place.get([&nginx.url("/f/64m"), "-I", "-n", "100"]);
    ended.expect(0);
    report.expect_clean(100);
    assert_eq!(report.bytes("body_bytes"), 0);
    let log = nginx.quit();
    report.expect_joins(&log);
    assert!(log.iter().all(|request| request.method == "HEAD"));
}

#[test]
fn a_request_body_arrives_unchanged() {
    let _cores = shared_cores();
    let Some(nginx) =
        start("location /up/ { root .; dav_methods PUT; create_full_put_path on; } location /post { return 204; }")
    else {
        return;
    };
    let place = TestDir::new();
    // The body is larger than what one write to a socket accepts.
    let body: Vec<u8> = (0..8 * MIB).map(|byte| (byte % 251) as u8).collect();
    let file = place.write("body", &body);
    let file = file.to_str().unwrap();
    let ended =
        place.run(["get", "--json", &nginx.url("/up/object"), "-m", "PUT", "--body-file", file, "-n", "20", "-c", "3"]);
    ended.expect(0);
    let report = Report::read(&ended);
    report.expect_clean(20);
    let arrived = std::fs::read(nginx.path("up/object")).expect("nginx has stored the object");
    assert!(arrived == body, "{} bytes arrived of {}", arrived.len(), body.len());
    let small = place.write("small", vec![b'x'; KIB as usize]);
    // A body without a method is sent by POST, as in curl and ab.
    let posted = place.run(["get", "--json", &nginx.url("/post"), "--body-file", small.to_str().unwrap(), "-n", "50"]);
    posted.expect(0);
    let posted = Report::read(&posted);
    posted.expect_clean(50);
    let log = nginx.quit();
    let (puts, posts): (Vec<_>, Vec<_>) = log.into_iter().partition(|request| request.method == "PUT");
    report.expect_joins(&puts);
    // nginx discards the body of a POST and does not count it, so compare only the announced length.
    assert!(posts.iter().all(|request| request.method == "POST" && request.status == 204 && request.length == "1024"));
    assert_eq!((posts.len(), posted.number("/operations/attempts")), (50, 50));
    assert!(posted.bytes("sent_bytes") > 50 * KIB);
}

#[test]
fn cookies_and_headers_reach_the_server() {
    let _cores = shared_cores();
    let Some(nginx) = start("location /echo { if ($http_x_one != 'first') { return 400; } return 200 ok; }") else {
        return;
    };
    let place = TestDir::new();
    let words = ["-H", "X-One: first", "-C", "a=1; c=3;", "-C", "b=2", "-H", "Host: other.example", "-n", "10"];
    let (ended, report) = place.get([nginx.url("/echo").as_str()].into_iter().chain(words));
    ended.expect(0);
    report.expect_clean(10);
    let log = nginx.quit();
    assert!(
        log.iter().all(|request| request.cookie == "a=1; c=3; b=2" && request.host == "other.example"),
        "{}",
        log[0].host
    );
}

#[test]
fn unexpected_responses_are_failures() {
    let _cores = shared_cores();
    let Some(nginx) = start("location = /login { add_header X-Kind login; return 200 'please log in'; }") else {
        return;
    };
    let place = TestDir::new();
    let login = nginx.url("/login");
    for (words, cause) in [
        (["--expect-status", "206,301"], Some("status_differs")),
        (["--expect-status", "200"], None),
        (["--expect-size", "1KiB"], Some("size_differs")),
        (["--expect-size", "13"], None),
        (["--expect-header", "X-Kind: object"], Some("header_differs")),
        (["--expect-header", "X-Missing: 1"], Some("header_differs")),
        (["--expect-header", "x-kind: login"], None),
    ] {
        let ended = place.run(["get", "--json", "-n", "20", &login].iter().chain(&words));
        let report = Report::read(&ended);
        match cause {
            Some(cause) => {
                ended.expect(1);
                assert_eq!(report.cause(cause), 20, "{words:?}: {}", report.at("/failures"));
                assert_eq!(report.number("/operations/ok"), 0, "{words:?}");
            }
            None => {
                ended.expect(0);
                report.expect_clean(20);
            }
        }
    }
    // A status that the user expects counts as a success, even if it is normally a failure.
    let ended = place.run(["get", "--json", "-n", "20", "--expect-status", "404", &nginx.url("/f/none")]);
    ended.expect(0);
    Report::read(&ended).expect_clean(20);
}

#[test]
fn results_are_grouped_by_a_header() {
    let _cores = shared_cores();
    let Some(nginx) = start(
        "location = /hit { add_header X-Cache HIT; return 200 hit; } location = /miss { add_header X-Cache MISS; return 200 no; }
         location = /odd { add_header X-Cache (absent); return 200 odd; } location = /none { return 200 none; }",
    ) else {
        return;
    };
    let place = TestDir::new();
    let (hit, miss) = (nginx.url("/hit"), nginx.url("/miss"));
    let (ended, report) = place.get([&hit, &hit, &miss, "--group-by", "X-Cache", "-n", "300", "-c", "3"]);
    ended.expect(0);
    report.expect_clean(300);
    assert_eq!(group(&report, "header", |label| label == "HIT"), Some(200), "{}", report.at("/groups"));
    assert_eq!(group(&report, "header", |label| label == "MISS"), Some(100));

    let (odd, none) = (nginx.url("/odd"), nginx.url("/none"));
    let ended = place.run(["get", "--json", &odd, &odd, &none, "--group-by", "X-Cache", "-n", "300", "--out", "odd"]);
    ended.expect(0);
    let report = Report::read(&ended);
    let rows = report.list("/groups").iter().filter(|row| row["label"] == "(absent)");
    let mut rows: Vec<_> = rows.map(|row| (row["kind"].as_str(), row["ok"].as_u64())).collect();
    rows.sort_unstable();
    assert_eq!(rows, [(Some("absent"), Some(100)), (Some("value"), Some(200))], "missing values need their own group");
}

/// Returns the number of successful operations with a matching label.
fn group(report: &Report, dimension: &str, label: impl Fn(&str) -> bool) -> Option<u64> {
    let rows = report.list("/groups").iter().filter(|row| row["dimension"] == dimension);
    rows.filter(|row| row["label"].as_str().is_some_and(&label)).find_map(|row| row["ok"].as_u64())
}
