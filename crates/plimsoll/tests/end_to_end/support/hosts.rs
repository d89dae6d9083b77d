//! Hosts for runs on several hosts. Each host is a separate sshd on this machine, with separate directories and a
//! separate wall clock.

use super::{Sshd, TestDir, peer};
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
    ssh: String,
}

impl Hosts {
    /// Starts hosts with the names a, b, c and so on, whose wall clocks are shifted by these numbers of seconds. Returns
    /// `None` to skip the test if a program is missing.
    pub fn start(place: &TestDir, shifts: &[i64]) -> Option<Self> {
        if shifts.iter().any(|shift| *shift != 0) {
            peer("libfaketime", Path::new(FAKETIME).exists().then_some(()))?;
        }
        let mut hosts = Vec::new();
        for (name, shift) in ('a'..).zip(shifts) {
            let directory = place.path(&format!("host-{name}"));
            fs::create_dir_all(&directory).expect("can create a directory");
            let at = |name: &str| directory.join(name).display().to_string();
            let mut environment = format!("SetEnv XDG_CACHE_HOME={} XDG_STATE_HOME={}", at("cache"), at("state"));
            if *shift != 0 {
                environment += &format!(" LD_PRELOAD={FAKETIME} FAKETIME={shift:+}s DONT_FAKE_MONOTONIC=1");
            }
            let sshd = Sshd::start_with(&(environment + "\n"))?;
            hosts.push(Host { name: name.to_string(), sshd, directory });
        }
        let configuration: String = hosts.iter().map(|host| host.sshd.client_configuration_as(&host.name)).collect();
        let file = place.write("ssh_config", configuration);
        Some(Self { hosts, ssh: format!("ssh -F {}", file.display()) })
    }

    /// Returns flags that make a load on all of these hosts. The program is copied to them.
    pub fn flags(&self) -> Vec<String> {
        let names: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        ["--hosts", &names.join(","), "--ssh", &self.ssh].map(str::to_owned).into()
    }

    /// Like [`Self::flags`], but names the program on the hosts, so that it is not copied.
    pub fn flags_with_program(&self) -> Vec<String> {
        let mut flags = self.flags();
        flags.extend(["--agent-program".to_owned(), env!("CARGO_BIN_EXE_plimsoll").to_owned()]);
        flags
    }
}

impl Host {
    /// Returns the run directory that the agent of this host made, if it has made one.
    pub fn run(&self) -> Option<PathBuf> {
        self.runs().into_iter().next()
    }

    /// Returns the run directories that agents of this host made.
    pub fn runs(&self) -> Vec<PathBuf> {
        let runs = fs::read_dir(self.directory.join("state/plimsoll/runs")).into_iter().flatten().flatten();
        runs.map(|entry| entry.path()).filter(|path| path.join("records.jsonl.zst").exists()).collect()
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
