//! The CPU quota of this process's control group, and the time during which the quota stopped the group.
//!
//! In version 1 of control groups, quota and period are in two files, and times are in nanoseconds. In version 2, quota
//! and period are in one file, and times are in microseconds. A process is subject to the limits of its own group and
//! of all parent groups. In a container, the parent groups are often hidden. The path of the process's group then
//! begins at a root that the process cannot see. The root that the process can see is its own group.

use crate::proc_file::ProcFile;
use std::fs;
use std::path::{Path, PathBuf};

/// Mount point of the control groups.
const ROOT: &str = "/sys/fs/cgroup";
/// Directories below [`ROOT`] where the CPU controller of version 1 can be mounted.
const VERSION_1: [&str; 2] = ["cpu", "cpu,cpuacct"];
/// Directories below [`ROOT`] where version 2 can be mounted.
const VERSION_2: [&str; 2] = ["", "unified"];

/// A group with a quota.
#[derive(Debug)]
struct Limited {
    /// The quota, in cores.
    cores: f64,
    stat: ProcFile,
    /// Name of the counter of throttled time, and the unit of this counter in nanoseconds.
    counter: (&'static str, u64),
}

/// Function that reads the quota of a group, if the group has one.
type Read = fn(&Path) -> Option<Limited>;

/// The quotas of a process.
#[derive(Debug, Default)]
pub struct CpuQuota {
    limited: Vec<Limited>,
}

impl CpuQuota {
    /// Returns the quotas of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::of("/proc/self/cgroup", Path::new(ROOT))
    }

    /// Returns the quotas of the groups that a file of `/proc` lists.
    fn of(list: impl AsRef<Path>, root: &Path) -> Self {
        let list = fs::read_to_string(list).unwrap_or_default();
        let mut limited = Vec::new();
        for line in list.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
            let (mounts, read): (&[&str], Read) = match controllers {
                "" => (&VERSION_2, version_2),
                _ if controllers.split(',').any(|controller| controller == "cpu") => (&VERSION_1, version_1),
                _ => continue,
            };
            let Some(mount) = mounts.iter().map(|mount| root.join(mount)).find(|mount| holds(mount, controllers))
            else {
                continue;
            };
            let groups = Path::new(path.trim_start_matches('/')).ancestors().map(|group| mount.join(group));
            limited.extend(groups.filter_map(|group| read(&group)));
        }
        Self { limited }
    }

    /// Returns how many cores this process may use; `None` without a quota.
    #[must_use]
    pub fn cores(&self) -> Option<f64> {
        self.limited.iter().map(|group| group.cores).min_by(f64::total_cmp)
    }

    /// Returns the time in nanoseconds, summed over all cores, during which a quota stopped its group. With several
    /// quotas, returns the longest of these times.
    pub fn throttled_nanos(&mut self) -> u64 {
        let read = |group: &mut Limited| {
            let (name, unit) = group.counter;
            let value = |line: &str| line.strip_prefix(name)?.trim().parse::<u64>().ok();
            Some(group.stat.read().lines().find_map(value)?.saturating_mul(unit))
        };
        self.limited.iter_mut().filter_map(read).max().unwrap_or(0)
    }
}

/// Returns whether control groups are mounted at `mount`. If `controllers` is empty, checks for version 2. Otherwise,
/// checks for version 1.
fn holds(mount: &Path, controllers: &str) -> bool {
    let file = if controllers.is_empty() { "cgroup.controllers" } else { "cpu.cfs_quota_us" };
    mount.join(file).exists()
}

fn number(path: PathBuf) -> Option<f64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn version_1(group: &Path) -> Option<Limited> {
    let quota = number(group.join("cpu.cfs_quota_us")).filter(|quota| *quota > 0.0)?;
    let period = number(group.join("cpu.cfs_period_us")).filter(|period| *period > 0.0)?;
    Some(Limited {
        cores: quota / period,
        stat: ProcFile::open(group.join("cpu.stat")),
        counter: ("throttled_time ", 1),
    })
}

fn version_2(group: &Path) -> Option<Limited> {
    let text = fs::read_to_string(group.join("cpu.max")).ok()?;
    let mut fields = text.split_whitespace().map(str::parse::<f64>);
    let (quota, period) = (fields.next()?.ok()?, fields.next()?.ok().filter(|period| *period > 0.0)?);
    let stat = ProcFile::open(group.join("cpu.stat"));
    Some(Limited { cores: quota / period, stat, counter: ("throttled_usec ", 1000) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::RunDelay;
    use std::time::{Duration, Instant};

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn quotas_of_version_2_are_those_of_all_groups_above() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        write(&at("list"), "0::/system.slice/load.service\n");
        write(&at("cgroup.controllers"), "cpu memory\n");
        write(&at("system.slice/cpu.max"), "150000 100000\n");
        write(&at("system.slice/cpu.stat"), "usage_usec 7\nnr_throttled 1\nthrottled_usec 90\n");
        write(&at("system.slice/load.service/cpu.max"), "max 100000\n");
        let mut quota = CpuQuota::of(at("list"), root.path());
        assert_eq!((quota.cores(), quota.throttled_nanos()), (Some(1.5), 90_000));
        write(&at("system.slice/load.service/cpu.max"), "50000 100000\n");
        write(&at("system.slice/load.service/cpu.stat"), "throttled_usec 1200\n");
        let mut quota = CpuQuota::of(at("list"), root.path());
        assert_eq!((quota.cores(), quota.throttled_nanos()), (Some(0.5), 1_200_000));
        write(&at("list"), "0::/user.slice\n");
        let mut quota = CpuQuota::of(at("list"), root.path());
        assert_eq!((quota.cores(), quota.throttled_nanos()), (None, 0));
    }

    #[test]
    fn a_hybrid_system_has_its_quotas_in_version_1() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        write(&at("list"), "5:memory:/x\n3:cpu,cpuacct:/kubepods/pod\n0::/kubepods/pod\n");
        write(&at("unified/cgroup.controllers"), "\n");
        for (file, text) in [("quota", "-1\n"), ("period", "100000\n")] {
            write(&at("cpu,cpuacct").join(format!("cpu.cfs_{file}_us")), text);
        }
        for (file, text) in [("quota", "25000\n"), ("period", "100000\n")] {
            write(&at("cpu,cpuacct/kubepods/pod").join(format!("cpu.cfs_{file}_us")), text);
        }
        write(&at("cpu,cpuacct/kubepods/pod/cpu.stat"), "nr_periods 9\nthrottled_time 77\n");
        let mut quota = CpuQuota::of(at("list"), root.path());
        assert_eq!((quota.cores(), quota.throttled_nanos()), (Some(0.25), 77));
    }

    /// Control group that contains only the calling thread. On drop, the thread returns to its old group and this group
    /// is removed.
    struct OwnGroup {
        group: PathBuf,
        back: PathBuf,
    }

    impl OwnGroup {
        fn enter(quota_us: u32) -> std::io::Result<Self> {
            let mount = Path::new(ROOT).join("cpu");
            let (group, back) = (mount.join(format!("quota-test-{}", std::process::id())), mount.join("tasks"));
            fs::create_dir(&group)?;
            let own = Self { group, back };
            fs::write(own.group.join("cpu.cfs_quota_us"), quota_us.to_string())?;
            fs::write(own.group.join("tasks"), "0")?;
            Ok(own)
        }
    }

    impl Drop for OwnGroup {
        fn drop(&mut self) {
            let _ = fs::write(&self.back, "0");
            let _ = fs::remove_dir(&self.group);
        }
    }

    #[test]
    fn a_thread_that_a_quota_stops_is_seen_to_be_stopped() {
        let spun = std::thread::spawn(|| {
            let _own = match OwnGroup::enter(20_000) {
                Ok(own) => own,
                Err(error) => return eprintln!("skipped: no control group of version 1 can be made here: {error}"),
            };
            let mut quota = CpuQuota::of("/proc/thread-self/cgroup", Path::new(ROOT));
            assert_eq!(quota.cores(), Some(0.2));
            let (mut delay, before) = (RunDelay::of_this_thread(), quota.throttled_nanos());
            let (waited, until) = (delay.nanos(), Instant::now() + Duration::from_millis(700));
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            let (throttled, waited) = (quota.throttled_nanos() - before, delay.nanos() - waited);
            // The quota allows the thread to run for a fifth of the time, so the thread is stopped for the rest. The
            // last period may still be in progress.
            assert!(throttled > 200_000_000, "{throttled} ns of 700 ms");
            assert!(
                waited > throttled / 2,
                "the time waited for a core must include the throttled time: {waited} of {throttled}"
            );
        });
        spun.join().unwrap();
    }
}
