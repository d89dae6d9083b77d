//! The live view, on a pseudo-terminal that script(1) creates.

use crate::support::{Ended, Running, TestDir, shared_cores, signal, wait_for};
use std::fs::File;
use std::io::Write;
use std::process::Command;

/// Switches to the alternate screen.
const OPENED: &str = "\x1b[?1049h";
/// Shows the cursor, and switches back.
const CLOSED: &str = "\x1b[?25h\x1b[?1049l";

/// Starts the program on a terminal of this size. The process ID of the program is written to the file `pid`. Text that
/// is written to the pipe `keys` appears as typed input on the terminal.
fn start(place: &TestDir, (columns, lines): (u16, u16), words: &str) -> Running {
    let program = env!("CARGO_BIN_EXE_plimsoll");
    let line = format!(
        "trap : INT; stty cols {columns} rows {lines}; stty -a > before; echo $$ > pid; {program} {words}; code=$?; stty -a > after; exit $code"
    );
    let mut command = Command::new("sh");
    let script = "mkfifo keys; exec script --quiet --return --command \"$0\" /dev/null < keys";
    command.args(["-c", script, &line]).current_dir(place.path(""));
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR").env("SHELL", "/bin/sh");
    Running::of(command)
}

/// Opens the pipe for typed input. The program starts as soon as the pipe is open.
fn keyboard(place: &TestDir) -> File {
    wait_for("pipe", || place.path("keys").exists().then_some(()));
    File::options().write(true).open(place.path("keys")).expect("script(1) reads the pipe")
}

/// Runs the program on a terminal until it ends.
fn run(place: &TestDir, size: (u16, u16), words: &str) -> Ended {
    let running = start(place, size, words);
    let _keyboard = keyboard(place);
    running.end()
}

fn served(place: &TestDir) -> (Running, String) {
    let server = place.start(["serve", "--listen", "127.0.0.1:0", "--delay", "2ms", "--stop-after", "120s"]);
    let line = server.wait_for_line("serving http://");
    let base = line.split_whitespace().nth(1).and_then(|url| url.split("/blackhole").next()).expect("an address");
    let url = format!("{base}/blackhole/1KiB");
    (server, url)
}

/// Splits the output of a terminal into the parts before, during and after the view. There must be exactly one view.
fn around_view(output: &str) -> [&str; 3] {
    let (before, rest) = output.split_once(OPENED).unwrap_or_else(|| panic!("no view in {output:?}"));
    let (view, after) = rest.split_once(CLOSED).unwrap_or_else(|| panic!("the view was not closed: {output:?}"));
    assert!(!after.contains(OPENED), "there are two views: {output:?}");
    [before, view, after]
}

/// Asserts that the terminal has the settings from before the program.
fn expect_same_terminal(place: &TestDir) {
    let [before, after] = ["before", "after"].map(|name| std::fs::read_to_string(place.path(name)).expect("stty ran"));
    assert!(before.contains(" echo "), "{before}");
    assert_eq!(before, after);
}

#[test]
fn a_terminal_shows_the_view_and_then_the_report() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = served(&place);
    let ended = run(&place, (80, 24), &format!("get {url} -d 2s -c 4 --out out"));
    ended.expect(0);
    let [_, view, after] = around_view(&ended.stdout);
    for part in ["whole run", "objectives and limit", "measuring", "closed, 4 slots"] {
        assert!(view.contains(part), "no `{part}` in {view:?}");
    }
    assert!(after.contains("PASS") && after.contains("saved in out"), "{after:?}");
    expect_same_terminal(&place);
    server.stop();
}

#[test]
fn small_terminals_and_flags_get_less_than_the_view() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = served(&place);
    let line = "\r\x1b[K1s/2s";
    for (number, (size, flags, has_line)) in [
        ((79, 24), "", true),
        ((80, 19), "--view full", true),
        ((80, 24), "--view line", true),
        ((80, 24), "--quiet", false),
    ]
    .into_iter()
    .enumerate()
    {
        let own = TestDir::new();
        let ended = run(&own, size, &format!("get {url} -d 2s -c 4 --out out-{number} {flags}"));
        ended.expect(0);
        assert!(!ended.stdout.contains(OPENED), "{size:?} {flags}: {:?}", ended.stdout);
        assert_eq!(ended.stdout.contains(line), has_line, "{size:?} {flags}: {:?}", ended.stdout);
    }
    let own = TestDir::new();
    let ended = own.run(["get", &url, "-d", "2s", "-c", "4", "--view", "full"]);
    ended.expect(0);
    assert!(!ended.stderr.contains('\x1b') && !ended.stdout.contains('\x1b'), "{ended:?}");
    server.stop();
}

#[test]
fn ctrl_c_ends_a_run_in_the_view() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = served(&place);
    let running = start(&place, (120, 40), &format!("get {url} -d 50s -c 4 --out out"));
    let mut keyboard = keyboard(&place);
    running.wait_for_output("whole run");
    keyboard.write_all(b"some\nkeys\n\x03").expect("the terminal reads keys");
    let ended = running.end();
    ended.expect(130);
    let [_, view, after] = around_view(&ended.stdout);
    assert!(!view.contains("keys"), "typed characters are in the view: {view:?}");
    let message = "interrupted: waiting for operations in flight";
    assert!(after.contains(message) && after.contains("PARTIAL"), "{after:?}");
    expect_same_terminal(&place);
    server.stop();
}

#[test]
fn a_second_signal_cuts_off_what_is_in_flight() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let server = place.start(["serve", "--listen", "127.0.0.1:0", "--delay", "60s", "--stop-after", "120s"]);
    let address = server.wait_for_line("serving http://");
    let base = address.split_whitespace().nth(1).and_then(|url| url.split("/blackhole").next()).expect("an address");
    let running = start(&place, (80, 24), &format!("get {base}/blackhole/1KiB -d 50s -c 2 --out out"));
    let mut keyboard = keyboard(&place);
    running.wait_for_output("none yet");
    keyboard.write_all(b"\x03").expect("the terminal reads keys");
    running.wait_for_output("interrupted: waiting");
    keyboard.write_all(b"\x03").expect("the terminal reads keys");
    let ended = running.end();
    ended.expect(130);
    let [_, _, after] = around_view(&ended.stdout);
    assert!(after.contains("interrupted: waiting for operations in flight"), "{after:?}");
    expect_same_terminal(&place);
    server.signal("INT");
}

#[test]
fn a_search_and_a_study_keep_one_view_for_all_runs() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = served(&place);
    let search = format!("line {url} -d 1s --from 1 --to 4 --objective 'p99 <= 10s' --out line");
    let ended = run(&place, (80, 24), &search);
    let [before, view, after] = around_view(&ended.stdout);
    assert!(view.contains("load line") && view.contains("running") && view.contains("passed"), "{view:?}");
    // The first message comes before the view. The messages during the view follow it.
    assert!(before.contains("searching for the load line in concurrency"), "{before:?}");
    assert!(after.contains("passed (") && after.contains("LOAD LINE"), "{after:?}");
    let own = TestDir::new();
    let scenario = format!(
        "name: small\ntargets:\n  one: {{url: '{url}'}}\nsettings: {{command: get, duration: 1s}}\nmatrix:\n  concurrency: [1, 2]\n"
    );
    own.write("small.yaml", scenario);
    let ended = run(&own, (120, 40), "run small.yaml --out study");
    let [_, view, after] = around_view(&ended.stdout);
    assert!(view.contains("cells") && view.contains("PASS"), "{view:?}");
    // The view shows the progress, so the messages about it are not repeated.
    assert!(!after.contains("[2 of 2] ") && after.contains("saved in study"), "{after:?}");
    server.stop();
}

#[test]
fn a_target_that_cannot_be_reached_leaves_a_usual_terminal() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let ended = run(&place, (80, 24), "get http://127.0.0.1:9/ -d 2s -c 2 --out out");
    assert!(ended.code.is_some_and(|code| code != 0), "{ended:?}");
    assert_eq!(ended.stdout.matches(OPENED).count(), ended.stdout.matches(CLOSED).count(), "{ended:?}");
    expect_same_terminal(&place);
}

#[test]
fn a_terminating_signal_also_restores_the_terminal() {
    let _cores = shared_cores();
    let place = TestDir::new();
    let (server, url) = served(&place);
    let running = start(&place, (80, 24), &format!("get {url} -d 50s -c 4 --out out"));
    let _keyboard = keyboard(&place);
    running.wait_for_output("whole run");
    let shell: u32 =
        std::fs::read_to_string(place.path("pid")).unwrap_or_default().trim().parse().expect("a process ID");
    let child = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).expect("the shell has a child");
    signal(child.trim().parse().expect("a process ID"), "TERM");
    let ended = running.end();
    ended.expect(143);
    around_view(&ended.stdout);
    expect_same_terminal(&place);
    server.stop();
}
