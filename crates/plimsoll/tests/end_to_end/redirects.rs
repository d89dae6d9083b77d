//! Clusters that redirect: the owners of objects, and the cost of redirects.

use crate::support::versitygw::{ACCESS_KEY, SECRET_KEY, run};
use crate::support::{Nginx, Report, Running, Setup, TestDir, shared_cores, wait_for};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

const SERVERS: usize = 4;

/// Starts a cluster with a list of `count` names. Returns the process and the addresses of its servers.
fn cluster(place: &TestDir, count: usize, words: &[&str]) -> (Running, Vec<String>) {
    let (number, servers) = (count.to_string(), SERVERS.to_string());
    let always = ["serve", "--listen", "127.0.0.1:0", "--names", "names", "--list", &number, "--stop-after", "120s"];
    let server = place.start(always.iter().chain(&["--cluster", &servers]).chain(words));
    let address = |index: usize| {
        let line = server.wait_for_line(&format!("server {index}: serving http://"));
        let rest = line.split("http://").nth(1).unwrap_or_default().to_owned();
        rest.split('/').next().unwrap_or_default().to_owned()
    };
    let addresses = (0..SERVERS).map(address).collect();
    wait_for("list of names", || {
        let text = std::fs::read_to_string(place.path("names")).ok()?;
        (text.lines().count() == count && text.ends_with('\n')).then_some(())
    });
    (server, addresses)
}

fn lines(place: &TestDir, name: &str) -> Vec<String> {
    std::fs::read_to_string(place.path(name)).expect("a file is there").lines().map(str::to_owned).collect()
}

#[test]
fn owners_equal_those_that_the_cluster_names() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, addresses) = cluster(&place, 300, &["--list-size", "3000B"]);
    let entry = format!("http://{}/blackhole", addresses[1]);
    let ended = place.run(["owners", &entry, "--names", "names", "--out", "owners"]);
    ended.expect(0);
    assert!(ended.stdout.starts_with("300 objects, 4 owners, 0 without an owner\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("(entry server)"), "{}", ended.stdout);
    let count = NonZeroUsize::new(SERVERS).expect("there are servers");
    let owner = |name: &str| addresses[server::owner(&format!("/blackhole/{name}"), count)].clone();
    let expected: Vec<String> = lines(&place, "names").iter().map(|name| format!("{}|{name}", owner(name))).collect();
    assert_eq!(lines(&place, "owners/owners.txt"), expected);
    assert!(!place.path("owners/failures.txt").exists());
    let mut sorted = addresses.clone();
    sorted.sort();
    let mut listed = BTreeMap::new();
    for (number, address) in sorted.iter().enumerate() {
        let file = format!("owners/{number:02}-{}.urls", address.replace(':', "_"));
        let urls = lines(&place, &file);
        assert!(urls.iter().all(|url| url.starts_with(&format!("http://{address}/blackhole/"))), "{file}");
        listed.insert(address.clone(), urls.len());
        // Objects in the list of their owner need no redirect.
        let ended =
            place.run(["get", "--json", "--url-file", &file, "--order", "once", "--out", &format!("o{number}")]);
        ended.expect(0);
        let report = Report::read(&ended);
        report.expect_clean(urls.len() as u64);
        assert_eq!(report.number("/operations/hops"), 0);
        assert!(report.at("/redirects").is_null());
    }
    assert_eq!(listed.values().sum::<usize>(), 300);
    // A second run of the command is refused, because it would overwrite the files.
    let again = place.run(["owners", &entry, "--names", "names", "--out", "owners"]);
    again.expect(4);
    assert!(again.stderr.contains("--out"), "{}", again.stderr);
    // All objects are requested from one entry server. The report must count as many redirects as the lists imply.
    let urls: Vec<String> = lines(&place, "names").iter().map(|name| format!("{entry}/{name}")).collect();
    place.write("all", urls.join("\n"));
    let (ended, report) = place.get(["--url-file", "all", "--order", "once", "-c", "8"]);
    ended.expect(0);
    let elsewhere = 300 - listed[&addresses[1]] as u64;
    assert_eq!(report.number("/operations/hops"), elsewhere);
    assert_eq!(report.number("/redirects/operations"), elsewhere);
    assert_eq!(report.number("/redirects/attempts"), 2 * elsewhere);
    for hop in report.list("/redirects/hops").iter().filter(|hop| hop["position"] == 1) {
        let host = hop["host"].as_str().unwrap_or_default();
        assert_eq!(hop["attempts"].as_u64(), listed.get(host).map(|count| *count as u64), "{host}");
    }
    let text = place.run(["report", "out", "--full"]).stdout;
    assert!(text.contains("\nHops of redirected operations\n") && text.contains("redirect cost"), "{text}");
    server.signal("INT");
    server.end().expect(0);
}

#[test]
fn owners_of_the_objects_in_a_bucket_are_found() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (_cluster, addresses) = cluster(&place, 1, &[]);
    // In the cluster, every name that starts with a size is an object. A listing of 1001 keys has two pages.
    std::fs::create_dir_all(place.path("tree")).expect("the directory can be made");
    let mut keys: Vec<String> = (0..1000).map(|number| format!("1KiB-set/{number}")).collect();
    keys.push("1KiB-set/a b&c%|+".to_owned());
    keys.sort();
    for key in &keys {
        place.write(&key.replace("1KiB-set", "tree"), "x");
    }
    let (storage, endpoint) = super::s3::serve(&place, &[]);
    let with_keys = |words: &[&str]| run(&place, &endpoint, words);
    with_keys(&["prepare", "s3://bbb/other", "--make-bucket", "--count", "3", "--size", "1KiB"]).expect(0);
    with_keys(&["put", "s3://bbb/1KiB-set", "--from", "tree", "--print", "none"]).expect(0);
    let entry = format!("http://{}/blackhole", addresses[2]);
    // These credentials are for the cluster. They must not be sent to the storage, whose requests have a signature.
    let list = ["owners", &entry, "--list", "s3://bbb/1KiB-set", "-u", "me:${PASSWORD}", "--out", "owners"];
    let mut command = place.command(list);
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command.env("AWS_ENDPOINT_URL", &endpoint).env("PASSWORD", "c4nary");
    let ended = Running::of(command).end();
    ended.expect(0);
    assert!(ended.stdout.starts_with("1001 objects, 4 owners, 0 without"), "{}", ended.stdout);
    let count = NonZeroUsize::new(SERVERS).expect("there are servers");
    let line = |key: &String| {
        let mut path = String::new();
        wire::percent::push_path(&format!("/blackhole/{key}"), &mut path);
        format!("{}|{}", addresses[server::owner(&path, count)], key.replace('%', "%25").replace('|', "%7C"))
    };
    assert_eq!(lines(&place, "owners/owners.txt"), keys.iter().map(line).collect::<Vec<_>>());
    let none = with_keys(&["owners", &entry, "--list", "s3://bbb/none", "--out", "none"]);
    none.expect(4);
    assert!(none.stderr.contains("no object has the prefix `none/`"), "{}", none.stderr);
    let not_s3 = place.run(["owners", &entry, "--list", "bbb", "--out", "none"]);
    not_s3.expect(2);
    assert!(not_s3.stderr.contains("--list requires a bucket"), "{}", not_s3.stderr);
    let both = place.run(["owners", &entry, "--list", "s3://bbb", "--names", "x", "--out", "none"]);
    both.expect(2);
    let neither = place.run(["owners", &entry, "--out", "none"]);
    neither.expect(2);
    assert!(neither.stderr.contains("--names"), "{}", neither.stderr);
    assert!(!place.path("none").exists());
    storage.stop();
}

#[test]
fn objects_without_an_owner_are_listed() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (_server, addresses) = cluster(&place, 3, &[]);
    let entry = format!("http://{}/blackhole", addresses[0]);
    // In the cluster, only names that start with a size are objects. For another name, the entry server reports a
    // failure only if it owns the name.
    let count = NonZeroUsize::new(SERVERS).expect("there are servers");
    let mine = |index: &usize| server::owner(&format!("/blackhole/nothing|{index}"), count) == 0;
    let missing = format!("nothing|{}", (0..).find(mine).expect("the entry server owns some objects"));
    place.write("some", format!("1KiB-a|b\n{missing}\n1KiB-with a blank\n1KiB-100%\n"));
    let ended = place.run(["owners", &entry, "--names", "some", "--out", "owners"]);
    ended.expect(1);
    let owners = lines(&place, "owners/owners.txt");
    let failures = lines(&place, "owners/failures.txt");
    assert_eq!((owners.len(), failures.len()), (3, 1), "{owners:?} {failures:?}");
    assert!(failures[0].starts_with(&format!("{}|", missing.replace('|', "%7C"))), "{failures:?}");
    assert!(failures[0].contains("status 400") && ended.stderr.contains("status 400"), "{failures:?} {}", ended.stderr);
    assert!(owners.iter().any(|line| line.ends_with("|1KiB-with a blank")), "{owners:?}");
    assert!(owners.iter().any(|line| line.ends_with("|1KiB-a%7Cb")), "{owners:?}");
    assert!(owners.iter().any(|line| line.ends_with("|1KiB-100%25")), "{owners:?}");
    for (names, words) in [
        ("a\n../b\n", ["line 2", "no URL can contain"]),
        ("a\n b\n", ["line 2", "blank"]),
        ("\n\n", ["contains no name", "one per line"]),
    ] {
        place.write("bad", names);
        let ended = place.run(["owners", &entry, "--names", "bad", "--out", "bad-owners"]);
        ended.expect(2);
        assert!(words.iter().all(|word| ended.stderr.contains(word)), "{}", ended.stderr);
        assert!(!place.path("bad-owners").exists());
    }
    let nowhere = place.run(["owners", "http://127.0.0.1:9/x", "--names", "some", "--out", "nowhere"]);
    nowhere.expect(4);
    assert!(!place.path("nowhere").exists(), "{}", nowhere.stderr);
}

#[test]
fn the_cost_of_redirects_is_printed_as_a_table() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, addresses) = cluster(&place, 100, &["--list-size", "10KiB"]);
    let entry = format!("http://{}/blackhole", addresses[0]);
    place.write("large", (0..20).map(|index| format!("1GiB-{index:06}\n")).collect::<String>());
    let words = ["redirects", &entry, "--names", "names", "--names", "large", "-d", "500ms", "--warmup", "100ms"];
    let ended = place.run(words.iter().chain(&["--pairs", "1", "-c", "4", "--out", "cost"]));
    ended.expect(0);
    let rows: Vec<&str> = ended.stdout.lines().filter(|line| line.contains("MB/s") || line.contains("GB/s")).collect();
    assert_eq!(rows.len(), 2, "{}\n{}", ended.stdout, ended.stderr);
    assert!(rows[0].trim_start().starts_with("names") && rows[1].trim_start().starts_with("large"), "{rows:?}");
    let (_, entry) = place.report(&place.path("cost/00/1-entry"));
    let (_, owners) = place.report(&place.path("cost/00/1-owners"));
    assert!(entry.number("/operations/hops") > 0);
    assert_eq!(owners.number("/operations/hops"), 0);
    server.signal("INT");
    server.end().expect(0);
}

#[test]
fn failed_operations_determine_the_exit_code() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (_server, addresses) = cluster(&place, 3, &[]);
    let entry = format!("http://{}/blackhole", addresses[0]);
    // The entry server redirects requests for any name that it does not own. Only the owner of a name checks whether
    // the object exists.
    let count = NonZeroUsize::new(SERVERS).expect("there are servers");
    let other = |index: &usize| server::owner(&format!("/blackhole/nothing-{index}"), count) != 0;
    let missing = (0..).find(other).expect("other servers own some objects");
    place.write("some", format!("1KiB-a\nnothing-{missing}\n"));
    let words = ["redirects", &entry, "--names", "some", "-d", "200ms", "--warmup", "0s", "--pairs", "1", "-c", "1"];
    let ended = place.run(words.iter().chain(&["--out", "cost"]));
    ended.expect(1);
    let last = ended.stderr.lines().last().unwrap_or_default();
    let why = "plimsoll: some, pair 1 of 1, entry: success >= 99% missed, measured ";
    assert!(last.starts_with(why) && last.ends_with(" % (exit code 1)"), "{last}");
    for words in [&["report", "cost"][..], &["compare", "--base", "cost", "--new", "cost/00"]] {
        let refused = place.run(words);
        refused.expect(2);
        let told = "plimsoll: cost is not a run but contains runs: name one of them, for example cost/00/1-entry\n";
        assert_eq!(refused.stderr, told, "{words:?}");
    }
    place.write("a.yaml", "name: a\ntargets: {a: {url: http://127.0.0.1:1/}}\n");
    let refused = place.run(["run", "a.yaml", "--resume", "cost/00/1-entry"]);
    refused.expect(2);
    assert!(refused.stderr.starts_with("plimsoll: --resume cost/00/1-entry is not a study: "), "{}", refused.stderr);
}

#[test]
fn redirects_cost_no_more_over_http2_and_the_hop_times_show_it() {
    let _cores = shared_cores();
    let place = TestDir::new();
    place.write("names", "1m\n");
    for http2 in [false, true] {
        let Some(owner) = Nginx::start(Setup { http2, ..Setup::default() }) else { return };
        let moved = format!("location ~ ^/way/(.*)$ {{ return 307 {}$1; }}", owner.url("/f/"));
        let Some(entry) = Nginx::start(Setup { http2, server: moved.leak(), ..Setup::default() }) else { return };
        let (url, out) = (entry.url("/way"), if http2 { "http2" } else { "http1" });
        let words =
            ["redirects", &url, "--names", "names", "-d", "500ms", "--warmup", "100ms", "--pairs", "1", "-c", "2"];
        let flag = if http2 { &["--http2"][..] } else { &[] };
        place.run(words.iter().chain(&["--out", out]).chain(flag)).expect(0);
        let (_, report) = place.report(&place.path(&format!("{out}/00/1-entry")));
        let share = |name: &str| report.at(&format!("/redirects/{name}")).as_f64().expect("a share");
        let cost = share("redirect_share") + share("follow_share");
        // Reading the object takes far longer than the redirect. If the redirect seems to take most of the time, the
        // timestamps are wrong.
        assert!(cost > 0.0 && cost < 0.6, "{out}: {cost}");
        for log in [owner.quit(), entry.quit()] {
            let spoken = if http2 { "HTTP/2.0" } else { "HTTP/1.1" };
            assert!(!log.is_empty() && log.iter().all(|request| request.protocol == spoken), "{out}");
        }
    }
}
