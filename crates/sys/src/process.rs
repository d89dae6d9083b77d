//! Child processes with their resource usage, which the standard library does not report.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use crate::kernel_call::{check, own, timespec};
use crate::signals::Signal;

/// The exit status and resource usage of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// CPU time in user and kernel mode. Includes all threads, and the child processes that the process has waited for.
    pub cpu: Duration,
    /// Peak resident memory in bytes (`ru_maxrss`). A process starts with its parent's value, so the value is
    /// meaningful only if it is above the parent's [`crate::limits::peak_memory_bytes`].
    pub peak_memory_bytes: u64,
}

/// A child process. If the process has not ended, dropping this value kills the process.
#[derive(Debug)]
pub struct Process {
    id: libc::pid_t,
    /// A descriptor that becomes readable when the process ends.
    handle: OwnedFd,
    ended: Option<Ended>,
}

impl Process {
    /// Starts a process, which may use the same cores as the calling thread. Pipes that `command` creates are closed,
    /// so use files instead.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let id = child.id() as libc::pid_t;
        // SAFETY: the call has no pointers. Nothing has waited for the child yet, so its ID cannot belong to another
        // process.
        let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, id, 0) };
        match own(opened as libc::c_int) {
            Ok(handle) => Ok(Self { id, handle, ended: None }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Returns the process ID.
    pub fn id(&self) -> u32 {
        self.id.unsigned_abs()
    }

    /// Waits for the end of the process for at most `at_most`. A signal to the calling thread may end the wait early.
    pub fn wait(&mut self, at_most: Duration) -> io::Result<Option<Ended>> {
        if self.ended.is_none() && self.is_over(at_most)? {
            self.ended = Some(self.collect()?);
        }
        Ok(self.ended)
    }

    /// Sends `signal` to the process. Does nothing if the process has ended.
    pub fn ask_to_end(&self, signal: Signal) -> io::Result<()> {
        self.send(signal.number())
    }

    /// Sends `signal` to all processes of the group that the child leads (`process_group(0)`). Does nothing if the child
    /// has ended.
    pub fn ask_group_to_end(&self, signal: Signal) -> io::Result<()> {
        self.send_to_group(signal.number())
    }

    /// Kills the process and waits for its end.
    pub fn kill(&mut self) -> io::Result<Ended> {
        self.send(libc::SIGKILL)?;
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        let ended = self.collect()?;
        self.ended = Some(ended);
        Ok(ended)
    }

    /// Kills all processes of the group that the child leads (`process_group(0)`), and waits for the end of the child.
    pub fn kill_group(&mut self) -> io::Result<Ended> {
        self.send_to_group(libc::SIGKILL)?;
        self.kill()
    }

    fn is_over(&self, at_most: Duration) -> io::Result<bool> {
        let mut entry = libc::pollfd { fd: self.handle.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let timeout = timespec(at_most);
        // SAFETY: `entry` is one entry that is valid for writing, `timeout` lives during the call, and no signal mask
        // is given.
        let ready = unsafe { libc::ppoll(&raw mut entry, 1, &raw const timeout, std::ptr::null()) };
        match check(ready) {
            Ok(count) => Ok(count > 0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits for the end of the process without a time limit, and reaps it.
    fn collect(&self) -> io::Result<Ended> {
        let mut status = 0;
        // SAFETY: all-zero bytes are a valid `rusage`.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: `status` and `usage` are valid for writing.
            let result = unsafe { libc::wait4(self.id, &raw mut status, 0, &raw mut usage) };
            match check(result) {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Ended {
            status: ExitStatus::from_raw(status),
            cpu: duration(usage.ru_utime).saturating_add(duration(usage.ru_stime)),
            peak_memory_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
        })
    }

    fn send(&self, signal: libc::c_int) -> io::Result<()> {
        if self.ended.is_none() {
            // SAFETY: the call has no pointers. Nothing has waited for the child yet, so its ID cannot belong to
            // another process.
            check(unsafe { libc::kill(self.id, signal) })?;
        }
        Ok(())
    }

    fn send_to_group(&self, signal: libc::c_int) -> io::Result<()> {
        if self.ended.is_none() {
            // SAFETY: as in `send`. A negative number means the process group that the child leads.
            check(unsafe { libc::kill(-self.id, signal) })?;
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// A handle of a process that need not be a child of this process. If the process ends and its number is reused, the
/// handle does not refer to the other process.
#[derive(Debug)]
pub struct Handle {
    fd: OwnedFd,
}

impl Handle {
    /// Opens the process with the number `id`.
    ///
    /// # Errors
    /// Fails if there is no such process.
    pub fn open(id: u32) -> io::Result<Self> {
        let id = libc::pid_t::try_from(id).map_err(|_| io::ErrorKind::NotFound)?;
        // SAFETY: the call has no pointers.
        let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, id, 0) };
        Ok(Self { fd: own(opened as libc::c_int)? })
    }

    /// Kills the process.
    ///
    /// # Errors
    /// Fails if the process has ended, or belongs to another user.
    pub fn kill(&self) -> io::Result<()> {
        self.send(libc::SIGKILL)
    }

    /// Asks the process to end (SIGTERM).
    ///
    /// # Errors
    /// See [`Self::kill`].
    pub fn ask_to_end(&self) -> io::Result<()> {
        self.send(libc::SIGTERM)
    }

    fn send(&self, signal: libc::c_int) -> io::Result<()> {
        let no_details = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the kernel accepts a null pointer, which means a signal without details.
        let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.fd.as_raw_fd(), signal, no_details, 0) };
        check(sent as libc::c_int)?;
        Ok(())
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    seconds.saturating_add(Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        Process::spawn(command.args(["-c", script]).stdin(Stdio::null())).unwrap()
    }

    #[test]
    fn the_end_is_reported_with_status_and_usage() {
        let mut process = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 7");
        let ended = process.wait(PATIENCE).unwrap().unwrap();
        assert_eq!(ended.status.code(), Some(7));
        assert!(ended.cpu > Duration::from_millis(5), "{ended:?}");
        assert!(ended.peak_memory_bytes > 100_000, "{ended:?}");
        // Later calls return the same result and send no signal, because the ID may belong to another process by now.
        assert_eq!(process.wait(Duration::ZERO).unwrap(), Some(ended));
        assert_eq!(process.kill().unwrap(), ended);
    }

    #[test]
    fn a_wait_is_limited_and_signals_arrive() {
        let mut process = shell("exec sleep 60");
        assert_eq!(process.wait(Duration::from_millis(10)).unwrap(), None);
        process.ask_to_end(Signal::Terminate).unwrap();
        let ended = process.wait(PATIENCE).unwrap().unwrap();
        assert_eq!(ended.status.signal(), Some(libc::SIGTERM));
    }

    #[test]
    fn a_group_is_killed_with_its_leader() {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new("sh");
        let script = "sleep 60 & echo $! ; wait";
        let (reader, writer) = io::pipe().unwrap();
        let mut process =
            Process::spawn(command.args(["-c", script]).stdin(Stdio::null()).stdout(writer).process_group(0)).unwrap();
        drop(command);
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(reader), &mut line).unwrap();
        process.kill_group().unwrap();
        let place = format!("/proc/{}/stat", line.trim());
        // The process no longer exists, or is a zombie that was not reaped yet.
        let gone =
            || std::fs::read_to_string(&place).map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "));
        let begun = std::time::Instant::now();
        while !gone() && begun.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
        assert!(gone(), "{place}");
    }

    #[test]
    fn a_dropped_process_is_killed() {
        let process = shell("exec sleep 60");
        let place = format!("/proc/{}", process.id());
        assert!(std::path::Path::new(&place).exists());
        drop(process);
        assert!(!std::path::Path::new(&place).exists());
    }

    #[test]
    fn a_handle_kills_its_process_and_no_other() {
        let mut process = shell("exec sleep 60");
        let handle = Handle::open(process.id()).unwrap();
        handle.kill().unwrap();
        let ended = process.wait(PATIENCE).unwrap().unwrap();
        assert_eq!(ended.status.signal(), Some(libc::SIGKILL));
        assert!(handle.kill().is_err() && Handle::open(process.id()).is_err());
        assert!(Handle::open(u32::MAX).is_err());
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error() {
        let error = Process::spawn(&mut Command::new("/nonexistent/program")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
