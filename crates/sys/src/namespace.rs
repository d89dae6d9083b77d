//! Network namespaces and user namespaces.
//!
//! A namespace without a name exists as long as a process is in it or a descriptor refers to it. After that, the kernel
//! removes the namespace with its devices, so nothing remains after a crash.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kernel_call::check;

/// A network namespace. The namespace exists at least as long as this value.
#[derive(Debug)]
pub struct Network {
    fd: OwnedFd,
    id: u64,
}

impl Network {
    /// Returns the network namespace of the calling thread.
    pub fn current() -> io::Result<Self> {
        Self::open(Path::new("/proc/thread-self/ns/net"))
    }

    /// Opens a namespace by its file in `/proc`. The file is, for example, `/proc/PID/ns/net`, or the path that
    /// [`Self::place`] returned in another process.
    pub fn open(place: &Path) -> io::Result<Self> {
        let file = File::open(place)?;
        let id = file.metadata()?.ino();
        Ok(Self { fd: file.into(), id })
    }

    /// Returns a path with which processes of the same user can open this namespace, as long as this value exists.
    pub fn place(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.fd.as_raw_fd()))
    }

    /// Moves the calling thread to a new, empty network namespace and returns the namespace. Other threads keep their
    /// namespaces. Threads and processes that this thread starts are in the new namespace.
    ///
    /// # Errors
    /// Fails with `PermissionDenied` without `CAP_SYS_ADMIN` in the user namespace of the calling thread.
    pub fn unshare() -> io::Result<Self> {
        // SAFETY: the call takes a number, so it accesses no memory.
        check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
        Self::current()
    }

    /// Moves the calling thread to this namespace. Sockets keep the namespace in which they were created.
    pub fn enter(&self) -> io::Result<()> {
        set_namespace(self.fd.as_raw_fd())
    }

    /// Returns the number that identifies the namespace while it exists.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Makes `command` run in this namespace. The kernel kills the process of the command when the *thread* that starts
    /// it ends, so the process does not remain after a crash. Start the command from a thread that lives long enough.
    pub fn host(&self, command: &mut Command) -> io::Result<()> {
        let fd = self.fd.try_clone()?;
        let prepare = move || {
            set_namespace(fd.as_raw_fd())?;
            kill_with_parent()
        };
        // SAFETY: between fork and exec, the closure makes two system calls. The closure allocates no memory and takes
        // no lock.
        unsafe { command.pre_exec(prepare) };
        Ok(())
    }
}

fn set_namespace(fd: RawFd) -> io::Result<()> {
    // SAFETY: the call takes only numbers, so it accesses no memory.
    check(unsafe { libc::setns(fd, libc::CLONE_NEWNET) })?;
    Ok(())
}

/// Asks the kernel to kill the calling process when the thread that started it ends.
fn kill_with_parent() -> io::Result<()> {
    // SAFETY: this prctl takes a number, so it accesses no memory.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) })?;
    Ok(())
}

/// Moves the calling process to a new user namespace. In this namespace, the process has all capabilities, and its user
/// and group are root. Outside of the namespace, its permissions do not change.
///
/// # Errors
/// Fails with `InvalidInput` if the process has more than one thread, and with `PermissionDenied` or `StorageFull`
/// (ENOSPC) if the system does not allow user namespaces.
pub fn become_root_of_user_namespace() -> io::Result<()> {
    // SAFETY: the call has no arguments and cannot fail.
    let user = unsafe { libc::geteuid() };
    // SAFETY: as above.
    let group = unsafe { libc::getegid() };
    // SAFETY: the call takes a number, so it accesses no memory.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Moves the calling process to the user namespace to which a file of `/proc` refers, such as `/proc/PID/ns/user`. Does
/// nothing if the process is already in this namespace.
///
/// # Errors
/// Fails if the process has more than one thread and is not in the namespace already, or if the namespace belongs to
/// another user.
pub fn enter_user_namespace(place: &Path) -> io::Result<()> {
    let file = File::open(place)?;
    if file.metadata()?.ino() == fs::metadata("/proc/self/ns/user")?.ino() {
        return Ok(());
    }
    // SAFETY: the call takes only numbers, so it accesses no memory.
    check(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWUSER) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `work` in a thread that may have another namespace. Returns `None` if this machine allows no namespaces.
    fn in_new_network<R: Send + 'static>(work: impl FnOnce(Network) -> R + Send + 'static) -> Option<R> {
        let thread = std::thread::spawn(|| match Network::unshare() {
            Ok(network) => Some(work(network)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                eprintln!("skipped: this user may not create network namespaces");
                None
            }
            Err(error) => panic!("{error}"),
        });
        thread.join().unwrap()
    }

    #[test]
    fn a_new_namespace_belongs_to_one_thread() {
        let here = Network::current().unwrap().id();
        let inside = in_new_network(move |network| {
            assert_ne!(network.id(), here);
            assert_eq!(Network::current().unwrap().id(), network.id());
            network
        });
        assert_eq!(Network::current().unwrap().id(), here);
        let Some(inside) = inside else { return };
        assert_eq!(Network::open(&inside.place()).unwrap().id(), inside.id());
        let again =
            std::thread::spawn(move || inside.enter().and_then(|()| Network::current()).unwrap().id() == inside.id());
        assert!(again.join().unwrap());
    }

    #[test]
    fn a_command_runs_in_the_namespace() {
        let Some(network) = in_new_network(|network| network) else { return };
        let mut command = Command::new("readlink");
        network.host(command.arg("/proc/self/ns/net")).unwrap();
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), format!("net:[{}]", network.id()));
    }

    #[test]
    fn a_command_ends_with_the_thread_that_started_it() {
        let Some(network) = in_new_network(|network| network) else { return };
        let starter = std::thread::spawn(move || {
            let mut command = Command::new("sleep");
            network.host(command.arg("60")).unwrap();
            command.spawn().unwrap()
        });
        let status = starter.join().unwrap().wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGKILL));
    }
}
