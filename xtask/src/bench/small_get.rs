//! Setup of the benchmarks of memory and start time: GET of 1 KiB from nginx.

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
}
