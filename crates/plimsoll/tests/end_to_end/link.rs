//! Emulated links. The tests make, measure, load, report and remove them. Tests that need network namespaces are
//! skipped where the system does not allow them.

use crate::support::{Ended, Nginx, Report, Running, TestDir, all_cores, shared_cores, signal, skip, wait_for};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

/// Number of times that a run is repeated on a busy host.
const TRIES: usize = 5;

/// Returns a command of the program that knows only the links of this test.
fn command(place: &TestDir, words: &[&str]) -> Command {
    let mut command = place.command(words);
    command.env("XDG_RUNTIME_DIR", place.path("runtime"));
    command
}

fn run(place: &TestDir, words: &[&str]) -> Ended {
    Running::of(command(place, words)).end()
}

/// Returns whether the failure of a command means that this system does not allow paths. The test is then skipped.
fn is_not_allowed(ended: &Ended) -> bool {
    let why =
        ended.stderr.lines().find(|line| line.contains("use `plimsoll link relay`")).filter(|_| ended.code == Some(4));
    if let Some(why) = why {
        skip(why);
    }
    why.is_some()
}

/// Makes a link. Returns its number, or `None` if this system does not allow paths.
fn up(place: &TestDir, flags: &[&str]) -> Option<String> {
    let ended = run(place, &[&["link", "up"], flags].concat());
    if is_not_allowed(&ended) {
        return None;
    }
    let number = ended.expect(0).stdout.strip_prefix("link ").and_then(|rest| rest.split(':').next());
    Some(number.unwrap_or_else(|| panic!("no number: {}", ended.stdout)).to_owned())
}

/// Returns whether this system allows paths. If not, the test is skipped.
fn allows_paths(place: &TestDir) -> bool {
    let is_allowed = up(place, &["--down", "1ms"]).is_some();
    if is_allowed {
        run(place, &["link", "down"]).expect(0);
    }
    is_allowed
}

fn links(place: &TestDir) -> Vec<Value> {
    let ended = run(place, &["link", "status", "--json"]);
    serde_json::from_str(&ended.expect(0).stdout).unwrap()
}

#[test]
fn a_run_through_a_link_reports_the_path() {
    let _cores = all_cores();
    let place = TestDir::new();
    let Some(number) = up(&place, &["--down", "200Mbit/s,20ms", "--up", "10ms"]) else { return };
    let link = links(&place);
    assert_eq!((link.len(), link[0]["owner"]["process"].to_string()), (1, number.clone()));
    let server = Running::of(command(
        &place,
        &["link", "exec", "--far", "--", env!("CARGO_BIN_EXE_plimsoll"), "serve", "--listen", "198.18.0.2:8080"],
    ));
    server.wait_for_line("serving http://198.18.0.2:8080");
    let url = "http://198.18.0.2:8080/blackhole/1MiB";
    let words = ["get", "--json", "--out", "out", "--link", url, "-c", "4", "-n", "20"];
    // On a busy host, the emulator may be late. The run is then rightly UNUSABLE, and is repeated.
    let made = (0..TRIES).map(|_| {
        let _ = std::fs::remove_dir_all(place.path("out"));
        run(&place, &words)
    });
    let Some(ended) = made.into_iter().find(|ended| ended.code != Some(3)) else {
        return skip("other processes took the cores of the emulator in every run");
    };
    let report = Report::read(ended.expect(0));
    report.expect_clean(20);
    assert_eq!(report.text("/path/down"), "200Mbit/s,20ms");
    assert_eq!((report.text("/path/up"), report.text("/path/emulation")), ("10ms", "packets"));
    let round_trip = report.number("/path/round_trip_nanos") as f64 / 1e6;
    assert!((30.0..33.0).contains(&round_trip), "{round_trip} ms");
    let rate = report.number("/path/down_bits_per_second") as f64 / 1e6;
    assert!((190.0..210.0).contains(&rate), "{rate} Mbit/s");
    // Each connection needs a round trip to open and another for the request.
    let fastest = report.quantile_ms("/times/response/quantiles", 0.5);
    assert!(fastest > 30.0, "{fastest} ms");
    // The emulator counts the bodies and the headers of all packets.
    let (bodies, carried) = (20 << 20, report.number("/path/carried_down/bytes"));
    assert!((bodies..bodies * 11 / 10).contains(&carried), "{carried}");
    assert!(report.list("/notes").iter().any(|note| note["name"] == "emulated_path"), "{:?}", report.list("/notes"));
    assert_eq!(report.at("/client/loopback"), true);
    let text = run(&place, &["report", "out", "--full"]);
    assert!(text.stdout.contains(" 200Mbit/s,20ms down, 10ms up\n"), "{}", text.stdout);
    // Any other program reaches the target in the same way.
    let words =
        ["link", "exec", "--link", &number, "--", "bash", "-c", "exec 3<>/dev/tcp/198.18.0.2/8080 && echo through"];
    assert_eq!(run(&place, &words).expect(0).stdout, "through\n");
    drop(server);
    assert_eq!(run(&place, &["link", "down"]).expect(0).stdout, format!("removed link {number}\n"));
    assert!(links(&place).is_empty());
    assert_eq!(run(&place, &["link", "status"]).expect(0).stdout, "no links\n");
}

#[test]
fn a_server_at_the_far_end_ends_with_its_link() {
    let _cores = shared_cores();
    let place = TestDir::new();
    if !allows_paths(&place) {
        return;
    }
    let program = env!("CARGO_BIN_EXE_plimsoll");
    let words = ["link", "run", "--down", "5ms", "--", program, "serve", "--listen", "198.18.0.2:8080"];
    let linked = Running::of(command(&place, &words));
    wait_for("link", || links(&place).first().filter(|link| !link["measured"].is_null()).map(|_| ()));
    linked.wait_for_line("serving http://198.18.0.2:8080");
    linked.signal("INT");
    let ended = linked.end();
    ended.expect(130);
    assert!(ended.stderr.contains("load it   plimsoll get --link="), "{}", ended.stderr);
    assert!(links(&place).is_empty());
    // If the server ends by itself, the command exits with the exit code of the server.
    run(&place, &["link", "run", "--down", "5ms", "--", "bash", "-c", "exit 7"]).expect(7);
    let ended = run(&place, &["link", "run", "--down", "5ms", "--", "no-such-server"]);
    ended.expect(4);
    assert!(ended.stderr.contains("cannot run `no-such-server` at the far end"), "{}", ended.stderr);
}

#[test]
fn a_relay_adds_delay_on_the_way_to_any_target() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (_server, url) = place.serve(&[]);
    let host = url.trim_start_matches("http://").split('/').next().unwrap();
    let relay = Running::of(command(&place, &["link", "relay", host, "--down", "100Mbit/s,15ms", "--up", "10ms"]));
    relay.wait_for_line("  not reproduced: TCP slow start");
    let ended =
        run(&place, &["get", "--json", "--out", "out", "--link", &format!("http://{host}/blackhole/10KiB"), "-n", "5"]);
    let report = Report::read(ended.expect(0));
    assert!(
        report.quantile_ms("/times/response/quantiles", 0.5) >= 25.0,
        "{:?}",
        report.list("/times/response/quantiles")
    );
    assert_eq!(report.text("/path/emulation"), "relay");
    assert!(report.at("/path/carried_down").is_null());
    assert!(report.list("/notes").iter().any(|note| note["name"] == "relay"), "{:?}", report.list("/notes"));
    let other = run(&place, &["get", "--link", "-n", "1", "http://127.0.0.1:1/"]);
    other.expect(2);
    assert!(other.stderr.contains("is not at the far end of link"), "{}", other.stderr);
    relay.signal("TERM");
    relay.end().expect(0);
    assert!(links(&place).is_empty());
}

#[test]
fn mistakes_about_links_have_one_clear_line() {
    let place = TestDir::new();
    let url = "http://198.18.0.2:8080/";
    for (words, part) in [
        (&["get", "--link", url][..], "there is no link: make one"),
        (&["get", "--link=12", url], "there is no link 12"),
        (&["get", "--link=x", url], "is not the number of a link"),
        (&["link", "down"], "there is no link"),
        (&["link", "up"], "--down"),
        (&["link", "up", "--down", "1Gbps"], "1Gbps"),
        (&["link", "up", "--down", "40ms,loss=200%"], "0% to 100%"),
        (&["link", "up", "--down", "40ms", "--congestion", "a b"], "not the name of a congestion control"),
        (&["link", "relay", "127.0.0.1", "--down", "40ms"], "has no port"),
        (&["link", "relay", "127.0.0.1:1", "--down", "40ms,loss=1%"], "cannot reproduce loss"),
    ] {
        let ended = run(&place, words);
        ended.expect(2);
        let lines = ended.stderr.lines().filter(|line| line.starts_with("plimsoll: ")).count();
        assert!(lines == 1 && ended.stderr.contains(part), "{words:?}: {}", ended.stderr);
    }
    assert!(links(&place).is_empty());
}

const STUDY: &str = "\
name: paths
targets: {store: {url: served/blackhole/64KiB, serve: {}}}
settings: {requests: 8, concurrency: 2}
matrix:
  link: {none: none, slow: {down: {rate: 50Mbit/s, delay: 30ms}}, far: '100Mbit/s,60ms up=10ms'}
";

#[test]
fn a_study_makes_and_removes_its_links() {
    let _cores = all_cores();
    let place = TestDir::new();
    place.write("paths.yaml", STUDY);
    let ended = run(&place, &["run", "paths.yaml", "--json", "--out", "study"]);
    if is_not_allowed(&ended) {
        return;
    }
    // On a busy host, the emulator may be late. Then the study is rightly UNUSABLE.
    let study: Value = serde_json::from_str(&ended.expect_no_panic().stdout).unwrap();
    assert!(["pass", "unusable"].contains(&study["result"]["word"].as_str().unwrap()), "{study:#}");
    for (directory, down, least_ms) in [
        ("001-link-none", None, 0.0),
        ("002-link-slow", Some("50Mbit/s,30ms"), 30.0),
        ("003-link-far", Some("100Mbit/s,60ms"), 70.0),
    ] {
        let (_, report) = place.report(&place.path(&format!("study/{directory}/store-1")));
        assert_eq!(report.at("/path").get("down").and_then(Value::as_str), down, "{directory}");
        let fastest = report.quantile_ms("/times/response/quantiles", 0.5);
        assert!(fastest >= least_ms, "{directory}: {fastest} ms");
    }
    assert!(links(&place).is_empty());
}

#[test]
fn a_killed_study_leaves_no_link() {
    let _cores = shared_cores();
    let place = TestDir::new();
    if !allows_paths(&place) {
        return;
    }
    place.write("paths.yaml", STUDY.replace("requests: 8", "duration: 60s"));
    let study = Running::of(command(&place, &["run", "paths.yaml", "--only", "link=slow", "--out", "study"]));
    let owner = wait_for("link", || {
        let links = links(&place);
        let link = links.first().filter(|link| !link["measured"].is_null())?;
        link["owner"]["process"].as_u64()
    });
    study.signal("KILL");
    study.end();
    wait_for("end of the link", || links(&place).is_empty().then_some(()));
    wait_for("end of its owner", || (!std::path::Path::new(&format!("/proc/{owner}")).exists()).then_some(()));
}

/// Makes a copy of the device file of TUN that every user can open, and becomes an ordinary user without a directory
/// for its runtime files. Needs root. Other processes do not see the copy.
const AS_ANYONE: &str = r#"
{ [ -e tun ] || mknod tun c 10 200; } && chmod 666 tun && mount --bind tun /dev/net/tun || exit 77
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs -- "$@"
"#;

/// Starts the program as an ordinary user.
fn start_as_anyone(place: &TestDir, words: &[&str]) -> Running {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", AS_ANYONE, "sh", "./program"]).args(words).current_dir(place.path(""));
    command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", place.path("open"));
    Running::of(command)
}

/// Runs the program as an ordinary user.
fn as_anyone(place: &TestDir, words: &[&str]) -> Ended {
    start_as_anyone(place, words).end()
}

#[test]
fn an_ordinary_user_makes_and_uses_links_or_learns_what_is_missing() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), place.path("program")).unwrap();
    std::fs::create_dir(place.path("open")).unwrap();
    std::fs::set_permissions(place.path(""), open.clone()).unwrap();
    std::fs::set_permissions(place.path("open"), open).unwrap();
    let made = as_anyone(&place, &["link", "up", "--down", "1ms"]);
    if made.code != Some(4) && made.code != Some(0) {
        return skip("this test needs root, mknod, unshare and setpriv");
    }
    if made.code == Some(4) {
        // The message must be one line that names the permission and an alternative that works without it.
        assert!(made.stderr.starts_with("plimsoll: "), "{}", made.stderr);
        assert_eq!(made.stderr.lines().count(), 1, "{}", made.stderr);
        assert!(made.stderr.contains("use `plimsoll link relay`, which needs no permission"), "{}", made.stderr);
        return skip(made.stderr.trim());
    }
    // Processes inside and outside of the user namespace of the link find its record.
    let near = as_anyone(&place, &["link", "exec", "--", "./program", "link", "status"]);
    assert!(near.expect(0).stdout.starts_with("link "), "{}", near.stdout);
    let far =
        ["link", "exec", "--far", "--", "./program", "serve", "--stop-after", "60s", "--listen", "198.18.0.2:8080"];
    let server = start_as_anyone(&place, &far);
    server.wait_for_line("serving http://198.18.0.2:8080");
    let url = "http://198.18.0.2:8080/blackhole/1KiB";
    let got = as_anyone(&place, &["get", "--link", url, "-n", "5", "--json", "--out", "open/run"]);
    assert_eq!(Report::read(got.expect(0)).text("/path/emulation"), "packets");
    let removed = as_anyone(&place, &["link", "down"]);
    assert!(removed.expect(0).stdout.starts_with("removed link "), "{}", removed.stdout);
    drop(server);
}

/// Runs a command whose user may open TUN but may not make namespaces. Needs root.
const WITHOUT_NAMESPACES: &str = r#"
echo 0 >/proc/sys/user/max_user_namespaces || exit 77
exec setpriv --bounding-set=-all --inh-caps=-all --securebits=+noroot,+noroot_locked -- "$@"
"#;

/// Runs a command whose user may make namespaces but may not open TUN. Needs root.
const WITHOUT_TUN: &str = r#"
mknod closed c 10 200 && chmod 600 closed && mount --bind closed /dev/net/tun || exit 77
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs -- "$@"
"#;

#[test]
fn a_missing_permission_is_named_with_its_fix() {
    let _cores = shared_cores();
    let place = TestDir::new();
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), place.path("program")).unwrap();
    std::fs::set_permissions(place.path(""), std::fs::Permissions::from_mode(0o777)).unwrap();
    for (within, script, missing) in [
        (&["--user", "--map-root-user"][..], WITHOUT_NAMESPACES, "this system does not allow user namespaces (see "),
        (&["--mount"], WITHOUT_TUN, "opening /dev/net/tun is not allowed: run as root or "),
    ] {
        let mut command = Command::new("unshare");
        command.args(within).args([
            "sh",
            "-c",
            script,
            "sh",
            "./program",
            "link",
            "run",
            "--down",
            "1ms",
            "--",
            "true",
        ]);
        command.current_dir(place.path("")).env_remove("XDG_RUNTIME_DIR").env("TMPDIR", place.path(""));
        let refused = Running::of(command).end();
        if refused.code != Some(4) {
            return skip("this test needs root, mknod, unshare and setpriv");
        }
        assert!(refused.stderr.starts_with(&format!("plimsoll: {missing}")), "{}", refused.stderr);
        assert!(
            refused.stderr.ends_with("or use `plimsoll link relay`, which needs no permission\n"),
            "{}",
            refused.stderr
        );
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    }
}

/// Configuration of an nginx that becomes a daemon and has a worker. nginx uses the directory of the test.
const DAEMON: &str = "\
pid nginx.pid;
error_log error.log;
events {}
http { access_log off; server { listen 198.18.0.2:8080; location / { return 204; } } }
";

/// Returns the processes at the ends of a link.
fn at_its_ends(link: &Value) -> Vec<String> {
    let namespaces: Vec<u64> = link["ends"]["namespaces"].as_array().unwrap().iter().flat_map(Value::as_u64).collect();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_inside = |process: &String| {
        let namespace = std::fs::metadata(format!("/proc/{process}/ns/net"));
        namespace.is_ok_and(|namespace| namespaces.contains(&namespace.ino()))
    };
    processes.filter(is_inside).collect()
}

#[test]
fn a_daemon_ends_with_its_link_even_if_the_owner_is_killed() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(nginx) = Nginx::program() else { return };
    place.write("nginx.conf", DAEMON);
    let directory = place.path("").display().to_string();
    let server = [nginx.to_str().unwrap(), "-p", &directory, "-c", "nginx.conf", "-e", "error.log"];
    for signal_name in ["KILL", "TERM"] {
        let Some(number) = up(&place, &["--down", "1ms"]) else { return };
        // The command ends at once, but its daemon and the worker do not. In addition, nginx erases its environment.
        run(&place, &[&["link", "exec", "--far", "--"], &server[..]].concat()).expect(0);
        let link = links(&place).remove(0);
        wait_for("nginx", || (at_its_ends(&link).len() >= 2).then_some(()));
        let record = place.path("runtime/plimsoll/links").join(format!("{number}.json"));
        assert!(record.exists(), "{}", record.display());
        signal(number.parse().unwrap(), signal_name);
        wait_for("end of nginx", || at_its_ends(&link).is_empty().then_some(()));
        // Look only at this file, because every `link` command would clean up by itself.
        wait_for("end of the record", || (!record.exists()).then_some(()));
    }
}

/// Returns the child processes of a process, with their command lines.
fn children(process: u32) -> Vec<(u32, String)> {
    let lists = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let children = lists.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let numbers: Vec<u32> = children
        .flat_map(|list| list.split_whitespace().map(|number| number.parse().unwrap()).collect::<Vec<_>>())
        .collect();
    let words = |process: u32| std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    numbers.into_iter().map(|number| (number, String::from_utf8_lossy(&words(number)).replace('\0', " "))).collect()
}

fn exists(process: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat"));
    state.is_ok_and(|state| !state.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

/// `link run` with an nginx that has a worker.
struct LinkedNginx {
    linked: Running,
    link: Value,
    record: PathBuf,
    guard: u32,
    master: u32,
    worker: u32,
}

impl LinkedNginx {
    fn start(place: &TestDir, nginx: &str) -> Self {
        let directory = place.path("").display().to_string();
        let server = [nginx, "-p", &directory, "-c", "nginx.conf", "-e", "error.log", "-g", "daemon off;"];
        let linked = Running::of(command(place, &[&["link", "run", "--down", "1ms", "--"], &server[..]].concat()));
        let owner = linked.id();
        let child = |parent: u32, text: &str| {
            wait_for(text, || children(parent).into_iter().find(|(_, words)| words.contains(text)))
        };
        let (guard, master) = (child(owner, "link guard").0, child(owner, "nginx: master").0);
        let worker = child(master, "nginx: worker").0;
        let link = wait_for("link", || links(place).into_iter().find(|link| !link["measured"].is_null()));
        let record = place.path("runtime/plimsoll/links").join(format!("{owner}.json"));
        assert!(record.exists(), "{}", record.display());
        Self { linked, link, record, guard, master, worker }
    }

    /// Returns the processes of the link that still exist.
    fn remains(&self) -> Vec<u32> {
        let known = [self.linked.id(), self.guard, self.master, self.worker].into_iter().filter(|one| exists(*one));
        known.chain(at_its_ends(&self.link).iter().map(|process| process.parse().unwrap())).collect()
    }

    /// Waits until no process and no record of the link is left.
    fn wait_until_gone(self, why: &str) {
        wait_for(why, || (self.remains().is_empty() && !self.record.exists()).then_some(()));
        drop(self.linked);
    }
}

/// Returns the network interfaces of this host.
fn interfaces() -> BTreeSet<OsString> {
    std::fs::read_dir("/sys/class/net").unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

#[test]
fn any_process_of_a_link_can_be_killed_and_nothing_remains() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let Some(nginx) = Nginx::program().map(|program| program.to_str().unwrap()) else { return };
    if !allows_paths(&place) {
        return;
    }
    place.write("nginx.conf", DAEMON.replace("events", "worker_processes 1;\nevents"));
    let before = interfaces();
    let kill = |process: u32| signal(process, "KILL");

    let run = LinkedNginx::start(&place, nginx);
    kill(run.linked.id());
    run.wait_until_gone("end of a link whose owner was killed");

    // The server ends, so the link ends too.
    let run = LinkedNginx::start(&place, nginx);
    kill(run.master);
    run.wait_until_gone("end of a link whose server was killed");

    // nginx starts another worker.
    let run = LinkedNginx::start(&place, nginx);
    kill(run.worker);
    wait_for("another worker", || children(run.master).first().filter(|(next, _)| *next != run.worker).map(|_| ()));
    signal(run.linked.id(), "TERM");
    run.wait_until_gone("end of a link whose worker was killed");

    // The owner starts another guard, which cleans up after the owner.
    let run = LinkedNginx::start(&place, nginx);
    kill(run.guard);
    let guards = || children(run.linked.id()).into_iter().filter(|(_, words)| words.contains("link guard"));
    let next = wait_for("another guard", || guards().map(|(guard, _)| guard).find(|guard| *guard != run.guard));
    wait_for("end of the first guard", || (!exists(run.guard)).then_some(()));
    kill(run.linked.id());
    wait_for("end of the second guard", || (!exists(next)).then_some(()));
    run.wait_until_gone("end of a link whose guard and owner were killed one after the other");

    // If both are killed at once, the worker of nginx remains until the next command. The owner stops first, so that it
    // cannot start another guard.
    let run = LinkedNginx::start(&place, nginx);
    signal(run.linked.id(), "STOP");
    kill(run.guard);
    wait_for("end of the guard", || (!exists(run.guard)).then_some(()));
    kill(run.linked.id());
    wait_for("end of the master", || (!exists(run.master)).then_some(()));
    assert_eq!(run.remains(), [run.worker, run.worker]);
    let ended = self::run(&place, &["link", "status"]);
    assert_eq!(ended.expect(0).stdout, "no links\n");
    let removed = format!("removed link {}, with 1 process at its ends, whose owner was killed", run.linked.id());
    assert!(ended.stderr.contains(&removed), "{}", ended.stderr);
    run.wait_until_gone("end of a link whose guard and owner were killed at once");
    assert_eq!(interfaces(), before);
}

#[test]
fn mistakes_in_the_links_of_a_study_are_reported_with_their_place() {
    let place = TestDir::new();
    for (text, part) in [
        (STUDY.replace("delay: 30ms", "delay: 30"), "paths.yaml:5:"),
        (STUDY.replace("delay: 30ms", "lag: 30ms"), "no `lag`"),
        (
            "name: t\ntargets: {a: {url: http://127.0.0.1:9/}}\nmatrix: {link: {x: {down: 1ms, congestion: bbr}}}\n"
                .to_owned(),
            "which cannot set `congestion`",
        ),
        ("name: t\ntargets: {a: {url: [http://a:1/, http://b:2/], link: 5ms}}\n".to_owned(), "several servers"),
    ] {
        place.write("paths.yaml", &text);
        let ended = run(&place, &["run", "paths.yaml", "--dry-run"]);
        ended.expect(2);
        assert!(ended.stderr.contains(part), "{text}\n{}", ended.stderr);
    }
}
