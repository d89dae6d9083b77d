//! The benchmarks: each measures one of the numbers that Plimsoll must reach, and says whether it does.

mod content;
mod line;
mod memory;
mod pacing;
mod peers;
mod peers_table;
mod sequential;
mod sign;
mod start;
mod verdict;

use crate::failure::Result;
use crate::host;
use crate::nginx::{Nginx, Served};
use crate::program::Choice;
use clap::Subcommand;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What is measured.
#[derive(Subcommand, Debug)]
pub enum Bench {
    /// Client CPU per request or per GB, beside other load testers on the same work, as ratios of interleaved pairs.
    Peers(peers::Args),
    /// The open model at half and at twice the client's ceiling: does it keep its schedule, does it say when it can not.
    Pacing(pacing::Args),
    /// Resident memory at 1000 connections, over minutes at full speed.
    Memory(memory::Args),
    /// One GET from start to report: time and memory.
    Start(start::Args),
    /// The bytes of objects: how fast a core makes and checks them.
    Content(content::Args),
    /// Signing a request for S3: the client's CPU time.
    Sign(sign::Args),
    /// The search for the load line on a rate: does it find lines that were planted in a server of another code base.
    Line(line::Args),
    /// The test that ends levels of a search early, under bursts: how often it is wrong. On simulated time.
    Sequential(sequential::Args),
    /// Causes planted against limits named: whether results and limits are right.
    Verdict(verdict::Args),
}

/// Carries it out.
pub fn run(bench: &Bench) -> Result<()> {
    match bench {
        Bench::Peers(args) => peers::run(args),
        Bench::Pacing(args) => pacing::run(args),
        Bench::Memory(args) => memory::run(args),
        Bench::Start(args) => start::run(args),
        Bench::Content(args) => content::run(args),
        Bench::Sign(args) => sign::run(args),
        Bench::Line(args) => line::run(args),
        Bench::Sequential(args) => sequential::run(args),
        Bench::Verdict(args) => verdict::run(args),
    }
}

/// The program that loads an nginx with objects of 1 KiB, as those benchmarks need it that look at nothing else.
struct Bare {
    program: PathBuf,
    nginx: Nginx,
}

impl Bare {
    /// Finds the program, says what the host is, and starts nginx.
    fn start(choice: &Choice) -> Result<Self> {
        let program = choice.path()?;
        host::print()?;
        Ok(Self { program, nginx: Nginx::start(&[Served::Kibibyte])? })
    }

    /// `get` with these words, in a directory of its own and with nobody to read its output.
    fn get(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("get").args(words).arg(self.nginx.url(Served::Kibibyte)).current_dir(self.nginx.directory());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}
