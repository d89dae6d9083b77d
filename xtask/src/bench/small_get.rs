//! Setup of the benchmarks of memory, start time and the live view: GET of 1 KiB from nginx.

use crate::failure::Result;
use crate::host;
use crate::nginx::{Nginx, Served};
use crate::plimsoll::ProgramArgs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The program and a running nginx.
pub struct SmallGet {
    program: PathBuf,
    /// The server.
    pub nginx: Nginx,
}

impl SmallGet {
    /// Finds or builds the program, prints the machine, and starts nginx.
    pub fn new(args: &ProgramArgs) -> Result<Self> {
        let program = args.path()?;
        host::print()?;
        Ok(Self { program, nginx: Nginx::start(&[Served::Kibibyte])? })
    }

    /// Returns the command `plimsoll get` with these arguments. The command prints nothing.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("get").args(arguments).arg(self.nginx.url(Served::Kibibyte)).current_dir(self.nginx.directory());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Returns the command `plimsoll get` with these arguments on a pseudo-terminal of 120 columns and 40 lines, which
    /// script(1) makes. The program is the only child of the command.
    pub fn on_terminal(&self, arguments: &str) -> Command {
        let url = self.nginx.url(Served::Kibibyte);
        let line = format!("stty cols 120 rows 40; exec \"$PLIMSOLL\" get {arguments} {url}");
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(self.nginx.directory());
        command.env("PLIMSOLL", &self.program).env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}
