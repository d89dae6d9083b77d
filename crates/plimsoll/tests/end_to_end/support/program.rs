//! The program as users run it: as a process, in its own directory, with a time limit.

use super::{PATIENCE, Report, signal, wait_for};
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A directory in which the program runs and saves its runs.
pub struct TestDir(TempDir);

/// A running process of the program.
pub struct Running {
    child: Child,
    stdout: Collected,
    stderr: Collected,
}

/// The output of a process, and its exit code.
#[derive(Debug)]
pub struct Ended {
    /// Exit code of the process, or `None` if a signal killed the process.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Output of a process, collected by a thread.
struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl TestDir {
    pub fn new() -> Self {
        Self(TempDir::with_prefix("plimsoll-").expect("can create a directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("can write a file");
        path
    }

    /// Returns the command that runs the program in this directory.
    pub fn command<I: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(words).current_dir(self.0.path()).env("RUST_BACKTRACE", "1");
        command
    }

    /// Starts the program.
    pub fn start<I: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = I>) -> Running {
        Running::of(self.command(words))
    }

    /// Runs the program until it ends.
    pub fn run<I: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = I>) -> Ended {
        self.start(words).end()
    }

    /// Starts the embedded server on a free port. Returns the process and the URL that it prints.
    pub fn serve(&self, words: &[&str]) -> (Running, String) {
        let server = self.start(["serve", "--listen", "127.0.0.1:0"].iter().chain(words));
        let url = server.wait_for_line("serving ").trim_start_matches("serving ").trim().to_owned();
        (server, url)
    }

    /// Runs `get` with `--json`, and saves the run in `out`.
    pub fn get<I: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = I>) -> (Ended, Report) {
        let words = words.into_iter().map(|word| word.as_ref().to_owned());
        let asked = ["get", "--json", "--out", "out"].map(Into::into).into_iter().chain(words);
        let ended = self.run(asked);
        let report = Report::read(&ended);
        (ended, report)
    }

    /// Returns the JSON report of a saved run.
    pub fn report(&self, directory: &Path) -> (Ended, Report) {
        let ended = self.run([OsStr::new("report"), OsStr::new("--json"), directory.as_os_str()]);
        let report = Report::read(&ended);
        (ended, report)
    }
}

impl Running {
    /// Starts a command and collects its output.
    pub fn of(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("can start the program");
        let stdout = Collected::of(child.stdout.take());
        let stderr = Collected::of(child.stderr.take());
        Self { child, stdout, stderr }
    }

    /// Returns the process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Waits until standard error contains `text`.
    pub fn wait_for_message(&mut self, text: &str) {
        wait_for(&format!("message with `{text}`"), || self.stderr.text().contains(text).then_some(()));
    }

    /// Waits until standard output contains `text`.
    pub fn wait_for_output(&self, text: &str) {
        wait_for(&format!("output with `{text}`"), || self.stdout.so_far().contains(text).then_some(()));
    }

    /// Waits until standard output has a complete line that starts with `text`, and returns it.
    pub fn wait_for_line(&self, text: &str) -> String {
        wait_for(&format!("line with `{text}`"), || {
            let written = self.stdout.text();
            let whole = &written[..written.rfind('\n').unwrap_or(0)];
            whole.lines().find(|line| line.starts_with(text)).map(str::to_owned)
        })
    }

    /// Waits until standard error has a complete line that starts with `text`, and returns it.
    pub fn wait_for_error_line(&self, text: &str) -> String {
        wait_for(&format!("line with `{text}`"), || {
            let written = self.stderr.text();
            let whole = &written[..written.rfind('\n').unwrap_or(0)];
            whole.lines().find(|line| line.starts_with(text)).map(str::to_owned)
        })
    }

    /// Stops a server and returns its output.
    pub fn stop(self) -> String {
        self.signal("INT");
        let ended = self.end();
        ended.expect(0);
        ended.stdout
    }

    /// Sends a signal repeatedly until the program ends.
    pub fn signal_until_over(mut self, name: &str) -> Ended {
        wait_for("end", || {
            self.signal(name);
            self.child.try_wait().expect("can wait for the program")
        });
        self.end()
    }

    /// Waits for the process to end, within the usual time limit.
    pub fn end(self) -> Ended {
        self.end_within(PATIENCE)
    }

    /// Waits for the process to end, within this time limit.
    pub fn end_within(mut self, limit: Duration) -> Ended {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("can wait for the program") {
                break status;
            }
            if started.elapsed() > limit {
                let _ = self.child.kill();
                panic!("not over after {limit:?}; stderr: {}", self.stderr.text());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        self.left(status)
    }

    fn left(mut self, status: ExitStatus) -> Ended {
        Ended { code: status.code(), stdout: self.stdout.finish(), stderr: self.stderr.finish() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Collected {
    fn of(source: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        let reader = source.map(|mut source| {
            std::thread::spawn(move || {
                let mut block = [0; 8192];
                while let Ok(count @ 1..) = source.read(&mut block) {
                    kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&block[..count]);
                }
            })
        });
        Self { bytes, reader }
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8(bytes.clone()).expect("the program writes UTF-8")
    }

    /// Returns the output so far, which may end inside a character.
    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    fn finish(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("a reader of output does not panic");
        }
        self.text()
    }
}

impl Ended {
    /// Asserts that the process ended with this exit code, and without a panic.
    #[track_caller]
    pub fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "stderr: {}\nstdout: {:.2000}", self.stderr, self.stdout);
        self.expect_no_panic()
    }

    #[track_caller]
    pub fn expect_no_panic(&self) -> &Self {
        for word in ["panicked", "a defect in this program", "backtrace"] {
            assert!(!self.stderr.contains(word), "{}", self.stderr);
        }
        self
    }
}
