//! Disturbances of the client: CPU quotas, stops, spinning processes, and limited networks. All disturbances are
//! removed on drop.

use super::cause::Cause;
use crate::failure::{Context, Result, failure};
use crate::process::{Affinity, CLIENT_CORE, Running, SERVER_CORE, start};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Directory of control groups with CPU quotas.
const CPU: &str = "/sys/fs/cgroup/cpu";
/// Directory of control groups that can be frozen.
const FREEZER: &str = "/sys/fs/cgroup/freezer";
/// CPU time, in µs, that the client's group gets in each period of 100 ms.
const QUOTA_US: u32 = 4_000;
/// Number of file descriptors, for a client that has too few.
const DESCRIPTORS: &str = "100";
/// Range of local ports, for a client that has too few.
const PORTS: &str = "40000 40063";
/// Queue discipline of the slow link.
const LINK: &str = "tbf rate 40mbit burst 64kb latency 100ms";
/// Address of the target on the slow link.
const SERVER_SIDE: &str = "10.99.0.1";
/// Address of the client on the slow link.
const CLIENT_SIDE: &str = "10.99.0.2";

/// Disturbances of one run.
#[derive(Default)]
pub struct Disturbances {
    /// Prefix of the target's command.
    pub server_prefix: Vec<String>,
    /// Prefix of the client's command.
    pub client_prefix: Vec<String>,
    /// Address of the target, if it is not the loopback address.
    pub address: Option<&'static str>,
    group: Option<Group>,
    /// Processes that spin, stop the client, or keep a network namespace in existence.
    helpers: Vec<Running>,
}

/// A control group that this benchmark created. The group is removed on drop.
struct Group(PathBuf);

impl Group {
    fn create(controller: &str) -> Result<Self> {
        if !Path::new(controller).join("tasks").exists() {
            return Err(failure(format_args!("not run: {controller} is not a control group hierarchy of version 1")));
        }
        let path = Path::new(controller).join(format!("plimsoll-verdict-{}", std::process::id()));
        fs::create_dir(&path).cannot(format_args!("create {} (are you root?)", path.display()))?;
        Ok(Self(path))
    }

    fn write(&self, file: &str, value: &str) -> Result<()> {
        fs::write(self.0.join(file), value).cannot(format_args!("write {file} of a control group"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("freezer.state"), "THAWED");
        // Try repeatedly, because the kernel lets a group be removed only some time after its processes have ended.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Disturbances {
    /// Sets up the disturbances that must exist before the target and the client start.
    pub fn set_up(cause: Cause) -> Result<Self> {
        let mut all = Self::default();
        match cause {
            Cause::ClientQuota => {
                let group = Group::create(CPU)?;
                group.write("cpu.cfs_quota_us", &QUOTA_US.to_string())?;
                let join = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.0.display());
                all.client_prefix = owned(&["sh", "-c", &join, "sh"]);
                all.group = Some(group);
            }
            Cause::ClientThreadStopped => all.group = Some(Group::create(FREEZER)?),
            Cause::ClientNeighbor => all.helpers.push(spin(CLIENT_CORE)?),
            Cause::SharedHost | Cause::SharedHostLowRate => {
                all.helpers.extend([spin(SERVER_CORE)?, spin(CLIENT_CORE)?]);
            }
            Cause::Descriptors => {
                all.client_prefix = owned(&["prlimit", &format!("--nofile={DESCRIPTORS}:{DESCRIPTORS}")]);
            }
            Cause::Ports => all.few_ports()?,
            Cause::LinkFull => all.slow_link()?,
            _ => {}
        }
        Ok(all)
    }

    /// Puts client and target into a network namespace with few local ports, which are not reused early.
    fn few_ports(&mut self) -> Result<()> {
        let network = network()?;
        let inside = enter(network.id());
        let script = format!(
            "ip link set lo up && echo {PORTS} > /proc/sys/net/ipv4/ip_local_port_range && echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse"
        );
        shell(&inside, &script)?;
        (self.server_prefix, self.client_prefix) = (inside.clone(), inside);
        self.helpers.push(network);
        Ok(())
    }

    /// Puts client and target into two network namespaces, with a slow link between them.
    fn slow_link(&mut self) -> Result<()> {
        let (server, client) = (network()?, network()?);
        let (at_server, at_client) = (enter(server.id()), enter(client.id()));
        shell(&at_server, &format!("ip link add name va type veth peer name vb netns {}", client.id()))?;
        for (inside, device, address) in [(&at_server, "va", SERVER_SIDE), (&at_client, "vb", CLIENT_SIDE)] {
            let script = format!(
                "ip address add {address}/24 dev {device} && ip link set {device} up && tc qdisc add dev {device} root {LINK}"
            );
            shell(inside, &script)?;
        }
        (self.server_prefix, self.client_prefix, self.address) = (at_server, at_client, Some(SERVER_SIDE));
        self.helpers.extend([server, client]);
        Ok(())
    }

    /// Disturbs the running client until it ends. If the cause stops the client only once, the stop is within the
    /// measured time, which begins after the warm-up and lasts for `length`.
    pub fn disturb(&mut self, cause: Cause, client: u32, length: Duration) -> Result<()> {
        let measured = |seconds: f64| format!("{:.3}", cause.warmup().as_secs_f64() + seconds);
        match cause {
            Cause::ClientDutyCycle => self.helpers.push(stops(client, "0", "0.080", "0.020")?),
            Cause::ClientStopped => self.helpers.push(stops(client, &measured(1.0), "1", "20")?),
            Cause::ClientBursts => self.helpers.push(stops(client, &measured(0.5), "0.050", "0.950")?),
            Cause::ClientThreadStopped => {
                self.freeze_thread(client, cause.warmup() + Duration::from_secs(1).min(length / 3))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Freezes the busiest thread of the client for a second.
    fn freeze_thread(&self, client: u32, after: Duration) -> Result<()> {
        let group = self.group.as_ref().ok_or_else(|| failure("no control group"))?;
        std::thread::sleep(after);
        let thread = busiest_thread(client).ok_or_else(|| failure("the client has ended"))?;
        group.write("tasks", &thread.to_string())?;
        group.write("freezer.state", "FROZEN")?;
        std::thread::sleep(Duration::from_secs(1));
        group.write("freezer.state", "THAWED")
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Returns a command whose input and output are `/dev/null`.
fn quiet(program: &str) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Starts a process that uses all CPU time it can get.
fn spin(place: Affinity) -> Result<Running> {
    start(quiet("sh").args(["-c", "while :; do :; done"]), place)
}

/// Starts a process that repeatedly stops the process `process` and lets it continue. All times are in seconds.
fn stops(process: u32, first: &str, stopped: &str, running: &str) -> Result<Running> {
    let script = format!(
        "sleep {first}; while kill -STOP {process}; do sleep {stopped}; kill -CONT {process} || exit; sleep {running}; done"
    );
    start(quiet("sh").args(["-c", &script]), Affinity::AllCores)
}

/// Starts a process in a new network namespace. The namespace exists as long as the process.
fn network() -> Result<Running> {
    let running = start(quiet("unshare").args(["--net", "sleep", "3600"]), Affinity::AllCores)?;
    let own = fs::read_link("/proc/self/ns/net").cannot("read the name of this network namespace")?;
    let begun = Instant::now();
    while fs::read_link(format!("/proc/{}/ns/net", running.id())).is_ok_and(|network| network == own) {
        if begun.elapsed() > Duration::from_secs(5) {
            return Err(failure("not run: cannot create a network namespace (are you root?)"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(running)
}

/// Returns the prefix that makes a command run in the network namespace of a process.
fn enter(process: u32) -> Vec<String> {
    owned(&["nsenter", "--net", "--target", &process.to_string(), "--"])
}

/// Runs a shell script in a network namespace.
fn shell(prefix: &[String], script: &str) -> Result<()> {
    let (program, rest) = prefix.split_first().ok_or_else(|| failure("no command"))?;
    let output = Command::new(program).args(rest).args(["sh", "-c", script]).stdin(Stdio::null()).output();
    let output = output.cannot("prepare a network")?;
    if output.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    Err(failure(format_args!("not run: cannot set up the network: {}", reason.trim())))
}

/// Returns the ID of the thread that has used the most CPU time in a process.
fn busiest_thread(process: u32) -> Option<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let used = threads.filter_map(|thread| {
        let path = thread.ok()?.path();
        let nanos: u64 = fs::read_to_string(path.join("schedstat")).ok()?.split(' ').next()?.parse().ok()?;
        Some((nanos, path.file_name()?.to_str()?.parse().ok()?))
    });
    used.max().map(|(_, thread)| thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_stopped_and_continued() {
        let victim = start(quiet("sh").args(["-c", "while :; do :; done"]), Affinity::AllCores).unwrap();
        assert_eq!(busiest_thread(victim.id()), Some(victim.id()));
        let _stops = stops(victim.id(), "0", "0.01", "0.01").unwrap();
        let begun = Instant::now();
        let state = || fs::read_to_string(format!("/proc/{}/stat", victim.id())).unwrap().contains(") T ");
        for wanted in [true, false, true] {
            while state() != wanted {
                assert!(
                    begun.elapsed() < Duration::from_secs(20),
                    "the process did not stop or continue in time; expected stopped = {wanted}"
                );
                std::thread::yield_now();
            }
        }
    }
}
