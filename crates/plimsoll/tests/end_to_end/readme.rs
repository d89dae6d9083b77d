//! Runs the commands of README in order, as if a reader pasted them.
//!
//! A block that cannot run has a comment above it with the reason: `<!-- not run by tests: … -->`. The tests replace
//! ports with free ones, and change nothing else.

use crate::support::{Ended, Running, TestDir, all_cores, peer, signal_group};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const README: &str = include_str!("../../../../README.md");
const NOT_RUN: &str = "<!-- not run by tests: ";
/// Time limit for all blocks together.
const LIMIT: Duration = Duration::from_secs(420);
/// Number of consecutive ports that a cluster uses, starting at the port in its command.
const PORTS_IN_A_ROW: u16 = 4;
/// First port to try, below the range of ephemeral ports.
const LOWEST_PORT: u16 = 20_000;
/// Text that the script prints after each command, followed by the number and the exit code of the command.
const MARK: &str = "::ended";

/// Commands whose result depends on other programs on this machine, with their valid exit codes. All other commands
/// must exit with 0.
const DEPENDING: [(&str, &[i32]); 6] = [
    // `doctor` may find that this host is not fit to make load.
    ("plimsoll doctor", &[0, 1]),
    // If the cores are busy, the run is unusable.
    ("plimsoll get -R", &[0, 3]),
    ("plimsoll report tour", &[0, 3]),
    ("plimsoll line", &[0, 3]),
    ("plimsoll run", &[0, 3]),
    // Nothing changed between the two sets of runs, but noise may make one set seem worse.
    ("plimsoll compare", &[0, 1, 3]),
];

/// A block of README.
struct Block {
    /// The lines of the block.
    commands: Vec<&'static str>,
    /// Reason in the comment above the block, if the block cannot run.
    not_run: Option<&'static str>,
}

fn blocks() -> Vec<Block> {
    let (mut blocks, mut above, mut open) = (Vec::new(), "", None::<Block>);
    for line in README.lines() {
        match (&mut open, line) {
            (Some(_), "```") => blocks.extend(open.take()),
            (Some(block), line) => block.commands.push(line),
            (None, "```console") => {
                let not_run = above.strip_prefix(NOT_RUN).and_then(|rest| rest.strip_suffix(" -->"));
                open = Some(Block { commands: Vec::new(), not_run });
            }
            (None, line) => above = line,
        }
    }
    assert!(open.is_none(), "the last block of README is not closed");
    blocks
}

/// Returns the commands of all blocks that can run, without their prompts.
fn commands() -> Vec<&'static str> {
    let run = blocks().into_iter().filter(|block| block.not_run.is_none()).flat_map(|block| block.commands);
    run.map(|line| line.strip_prefix("$ ").unwrap_or_else(|| panic!("not a command of README: {line}"))).collect()
}

#[test]
fn each_block_of_the_readme_is_run_or_gives_a_reason() {
    let blocks = blocks();
    let not_run: Vec<_> = blocks.iter().filter_map(|block| block.not_run.map(|reason| (block, reason))).collect();
    for (block, reason) in &not_run {
        assert!(reason.len() > 10, "no reason for {:?}", block.commands);
        // Only blocks that run Cargo may be left out. Every command of the program itself must run.
        assert!(block.commands.iter().all(|line| line.starts_with("$ cargo ")), "{:?}", block.commands);
    }
    assert!(blocks.len() >= not_run.len() + 4, "{} of {} are not run", not_run.len(), blocks.len());
    assert!(commands().len() >= 25);
}

#[test]
fn the_commands_of_the_readme_work_in_order() {
    // The result of `compare` would vary if other tests kept the cores busy.
    let _cores = all_cores();
    if peer("bash", Command::new("bash").arg("--version").output().ok()).is_none() {
        return;
    }
    let (place, commands) = (TestDir::new(), commands());
    let ended = run(&place, &script(&commands));
    let codes = codes(&ended.stdout);
    for (number, command) in commands.iter().enumerate() {
        let right = DEPENDING.iter().find(|(start, _)| command.starts_with(start)).map_or(&[0][..], |(_, codes)| codes);
        let code = codes.get(number);
        let is_right = code.is_some_and(|code| right.contains(code));
        assert!(is_right, "{command}: exit code {code:?}\n{}\n{}", ended.stdout, ended.stderr);
    }
    for made in ["tour/report.html", "results.xml", "ca.pem", "owners", "set", "before", "after", "fills"] {
        assert!(place.path(made).exists(), "{made} was not written");
    }
    // The text explains this run: the server paused for a tenth of the time.
    let late = place.report(&place.path("tour")).1.quantile_ms("/times/response/quantiles", 0.95);
    assert!(late > 100.0, "p95 of the response time is {late} ms, so the run does not show the pause");
    // A reader who pastes the commands must see no failure, except for commands whose result depends on the machine.
    for alarm in ["Address already in use", "No such file", "not those of their objects"] {
        assert!(!ended.stderr.contains(alarm) && !ended.stdout.contains(alarm), "{alarm}: {ended:#?}");
    }
}

/// Returns a script that runs the commands with free ports, and prints a marker after each command.
fn script(commands: &[&str]) -> String {
    let mut from = LOWEST_PORT + (std::process::id() % 500) as u16 * PORTS_IN_A_ROW;
    let ports = [8080, 8443, 9000].map(|port| {
        let free = free_ports(from);
        from = free + PORTS_IN_A_ROW;
        (format!("127.0.0.1:{port}"), format!("127.0.0.1:{free}"))
    });
    let mut script = String::new();
    for (number, command) in commands.iter().enumerate() {
        let command = ports.iter().fold((*command).to_owned(), |text, (ours, free)| text.replace(ours, free));
        assert!(
            !command.contains("plimsoll serve") || command.contains("--listen"),
            "its port cannot be replaced: {command}"
        );
        script.push_str(&format!("{command}\nprintf '\\n{MARK} %d %d\\n' {number} $?\n"));
    }
    // Kill servers that are still running, because they would keep the output open.
    script.push_str("kill -KILL $(jobs -p) 2>/dev/null\ntrue\n");
    script
}

/// Returns the first of several consecutive ports that were free a moment ago.
fn free_ports(from: u16) -> u16 {
    let are_free = |first: &u16| {
        let row = *first..first + PORTS_IN_A_ROW;
        let held: Vec<_> = row.map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port))).collect();
        held.iter().all(Result::is_ok)
    };
    (from..30_000).step_by(usize::from(PORTS_IN_A_ROW)).find(are_free).expect("there are free ports")
}

fn codes(output: &str) -> Vec<i32> {
    let marks = output.lines().filter_map(|line| line.strip_prefix(MARK));
    marks.map(|mark| mark.split_whitespace().nth(1).and_then(|code| code.parse().ok()).expect("a code")).collect()
}

/// Runs a script in a process group, and kills the group afterwards.
fn run(place: &TestDir, script: &str) -> Ended {
    let mut command = Command::new("bash");
    command.arg(place.write("readme.sh", script)).current_dir(place.path("")).process_group(0);
    let programs = Path::new(env!("CARGO_BIN_EXE_plimsoll")).parent().expect("the program lies in a directory");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(path).expect("can extend PATH"));
    for name in ["AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"] {
        command.env_remove(name);
    }
    let shell = Running::of(command);
    let _leftovers = Leftovers(shell.id());
    shell.end_within(LIMIT)
}

/// Kills a process group on drop.
struct Leftovers(u32);

impl Drop for Leftovers {
    fn drop(&mut self) {
        signal_group(self.0, "KILL");
    }
}
