//! Hosts for runs on several hosts. Each host is a separate sshd on this machine, with separate directories and a
//! separate wall clock.

use super::versitygw::{ACCESS_KEY, SECRET_KEY};
use super::{Node, Sshd, TestDir, peer};
use std::fs;
use std::path::{Path, PathBuf};

/// Library that shifts the clocks of the processes that load it.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/// One host.
pub struct Host {
    pub name: String,
    sshd: Sshd,
    directory: PathBuf,
}

/// The hosts of a run, and the configuration for ssh.
pub struct Hosts {
    pub hosts: Vec<Host>,
    /// The names of all hosts, as `--hosts` takes them.
    names: String,
    ssh: String,
}

/// Environment variables that change the wall clock of a process.
pub type Clock = Vec<(&'static str, String)>;

/// Returns a wall clock that is shifted by a number of seconds. Returns `None` to skip the test if the library is missing.
pub fn clock_shifted_by(shift: i64) -> Option<Clock> {
    if shift == 0 {
        return Some(Vec::new());
    }
    shifted_clock(("FAKETIME", format!("{shift:+}s")))
}

/// Returns a wall clock that is shifted by the content of a file, such as `+5s`, from one second after each change of the
/// file. Returns `None` to skip the test if the library is missing.
pub fn clock_set_by(file: &Path) -> Option<Clock> {
    let mut clock = shifted_clock(("FAKETIME_TIMESTAMP_FILE", file.display().to_string()))?;
    clock.push(("FAKETIME_CACHE_DURATION", "1".to_owned()));
    Some(clock)
}

fn shifted_clock(shift: (&'static str, String)) -> Option<Clock> {
    peer("libfaketime", Path::new(FAKETIME).exists().then_some(()))?;
    Some(vec![("LD_PRELOAD", FAKETIME.to_owned()), ("DONT_FAKE_MONOTONIC", "1".to_owned()), shift])
}

impl Hosts {
    /// Starts hosts with the names a, b, c and so on, whose wall clocks are shifted by these numbers of seconds. Returns
    /// `None` to skip the test if a program is missing.
    pub fn start(place: &TestDir, shifts: &[i64]) -> Option<Self> {
        let clocks = shifts.iter().map(|shift| clock_shifted_by(*shift)).collect::<Option<Vec<Clock>>>()?;
        Self::start_with(place, clocks)
    }

    /// Starts hosts with the names a, b, c and so on, which have these wall clocks. Returns `None` to skip the test if a
    /// program is missing.
    pub fn start_with(place: &TestDir, clocks: Vec<Clock>) -> Option<Self> {
        let names: Vec<String> = ('a'..).take(clocks.len()).map(String::from).collect();
        let hosts = names.iter().zip(clocks).map(|(name, clock)| Host::start(place, name, &clock, None));
        let hosts = hosts.collect::<Option<Vec<Host>>>()?;
        Some(Self::of(place, hosts, names.join(",")))
    }

    /// Starts a host in each of these namespaces, with the names client-1, client-2 and so on.
    pub fn start_in(place: &TestDir, nodes: &[Node], shifts: &[i64]) -> Option<Self> {
        let start = |(number, (node, shift)): (usize, (&Node, &i64))| {
            Host::start(place, &format!("client-{number}"), &clock_shifted_by(*shift)?, Some(node))
        };
        let hosts = (1..).zip(nodes.iter().zip(shifts)).map(start).collect::<Option<Vec<Host>>>()?;
        Some(Self::of(place, hosts, format!("client-{{1...{}}}", nodes.len())))
    }

    fn of(place: &TestDir, hosts: Vec<Host>, names: String) -> Self {
        let configuration: String = hosts.iter().map(|host| host.sshd.client_configuration_as(&host.name)).collect();
        let file = place.write("ssh_config", configuration);
        Self { hosts, names, ssh: format!("ssh -F {}", file.display()) }
    }

    /// Returns flags that make a load on all of these hosts. The program is copied to them.
    pub fn flags(&self) -> Vec<String> {
        ["--hosts", &self.names, "--ssh", &self.ssh].map(str::to_owned).into()
    }

    /// Like [`Self::flags`], but names the program on the hosts, so that it is not copied.
    pub fn flags_with_program(&self) -> Vec<String> {
        let mut flags = self.flags();
        flags.extend(["--agent-program".to_owned(), env!("CARGO_BIN_EXE_plimsoll").to_owned()]);
        flags
    }
}

impl Host {
    fn start(place: &TestDir, name: &str, clock: &Clock, node: Option<&Node>) -> Option<Self> {
        let directory = place.path(&format!("host-{name}"));
        fs::create_dir_all(&directory).expect("can create a directory");
        let at = |name: &str| directory.join(name).display().to_string();
        let mut environment = format!("SetEnv XDG_CACHE_HOME={} XDG_STATE_HOME={}", at("cache"), at("state"));
        environment += &format!(" AWS_ACCESS_KEY_ID={ACCESS_KEY} AWS_SECRET_ACCESS_KEY={SECRET_KEY}");
        clock.iter().for_each(|(name, value)| environment += &format!(" {name}={value}"));
        let sshd = Sshd::start_with(&(environment + "\n"), node)?;
        Some(Self { name: name.to_owned(), sshd, directory })
    }

    /// Makes the host run this command for every login, whatever the client asks for.
    pub fn force_command(&self, command: &str) {
        self.sshd.force_command(command);
    }

    /// Returns the run directory that the agent of this host made, if it has made one.
    pub fn run(&self) -> Option<PathBuf> {
        self.runs().into_iter().next()
    }

    /// Returns the run directories that agents of this host made.
    pub fn runs(&self) -> Vec<PathBuf> {
        let runs = fs::read_dir(self.directory.join("state/plimsoll/runs")).into_iter().flatten().flatten();
        runs.map(|entry| entry.path()).filter(|path| path.join("records.jsonl.zst").exists()).collect()
    }

    /// Returns the directory of a fill, with the shares that this host has.
    pub fn fill(&self, name: &str) -> PathBuf {
        self.directory.join("state/plimsoll/fills").join(name)
    }

    /// Returns the number of logins so far.
    pub fn logins(&self) -> usize {
        self.sshd.connections()
    }

    /// Returns the path of the copied program, if there is one.
    pub fn copied_program(&self) -> Option<PathBuf> {
        let versions = fs::read_dir(self.directory.join("cache/plimsoll")).ok()?;
        versions.flatten().map(|entry| entry.path().join("plimsoll")).find(|path| path.exists())
    }

    /// Returns the process ID of the agent that runs on this host.
    pub fn agent(&self) -> Option<u32> {
        let mark = format!("XDG_STATE_HOME={}", self.directory.join("state").display());
        let process = |entry: fs::DirEntry| {
            let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
            let is_agent = read("cmdline").ends_with(b"\0agent\0") && !read("cmdline").starts_with(b"sh");
            let is_here = read("environ").split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
            entry.file_name().to_str()?.parse().ok().filter(|_| is_agent && is_here)
        };
        fs::read_dir("/proc").ok()?.flatten().find_map(process)
    }
}
