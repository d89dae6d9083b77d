//! `cargo xtask crash`: kills fills and their servers at random times, and checks afterwards that nothing is lost.
//!
//! Each fill has its own server, dataset and faults, which are all chosen from one seed. After the last kill, the same
//! command runs to the end. Then the task compares the store of the server with the dataset, and the report with the
//! journal.

mod check;
mod oracle;
mod server;

use crate::console;
use crate::failure::{Context, Result, check_interrupt, failure};
use crate::plimsoll::ProgramArgs;
use crate::process::{Affinity, ProcessEnd, Running, start};
use clap::ValueEnum;
use measure::values::random::mix;
use server::Server;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Number of kills in one fill.
const KILLS_PER_FILL: u32 = 10;
/// Maximum number of times that the command is started after the kills. A start can fail because a killed server lost
/// its open uploads.
const STARTS_MAX: u32 = 4;
/// Time limit of each start after the kills.
const PATIENCE: Duration = Duration::from_secs(240);

/// The flags of `crash`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Total number of kills.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    kills: u32,
    /// Seed of datasets, faults and times [default: from the clock].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Server that stores the objects.
    #[arg(long, value_enum, default_value = "embedded")]
    server: ServerKind,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Servers that can be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServerKind {
    /// `plimsoll serve --s3`, with faults.
    Embedded,
    /// VersityGW, without faults.
    Versitygw,
}

/// Kills so far.
#[derive(Clone, Copy, Debug, Default)]
struct Kills {
    client: u32,
    server: u32,
}

impl Kills {
    fn all(self) -> u32 {
        self.client + self.server
    }
}

/// Random numbers that depend on a seed only.
struct Random(u64);

impl Random {
    /// Returns a number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0) % end.max(1)
    }
}

/// Runs the task.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = args.seed.unwrap_or(now.as_secs() % 1_000_000);
    console::line(format_args!(
        "seed      {seed} (with --seed, datasets, faults and the times of the kills are the same again)"
    ));
    let (mut kills, mut fills) = (Kills::default(), 0_u64);
    while kills.all() < args.kills {
        let most = KILLS_PER_FILL.min(args.kills - kills.all());
        let fill = Fill::new(&program, args.server, mix(seed).wrapping_add(fills))?;
        let (path, shape) = (fill.directory.path().to_owned(), fill.shape.name);
        match fill.carry_out(most) {
            Ok((killed, outcome)) => {
                kills = Kills { client: kills.client + killed.client, server: kills.server + killed.server };
                console::line(format_args!(
                    "fill {fills:>4} {shape:<9} {:>2} kills of the client, {:>2} of the server: {outcome}",
                    killed.client, killed.server
                ));
            }
            Err(error) => {
                return Err(failure(format_args!("fill {fills} ({shape}), left in {}: {error}", path.display())));
            }
        }
        fills += 1;
    }
    console::line(format_args!(
        "PASS      {} kills of the client and {} of the server in {fills} fills; nothing was lost, nothing counted twice",
        kills.client, kills.server
    ));
    Ok(())
}

/// The shape of a dataset, and how it is uploaded.
#[derive(Clone, Copy, Debug)]
struct Shape {
    name: &'static str,
    words: &'static [&'static str],
}

const SHAPES: [Shape; 3] = [
    Shape { name: "small", words: &["--count", "6000", "--size", "1KiB..4KiB", "-c", "16"] },
    Shape { name: "mixed", words: &["--count", "400", "--size", "loguniform:1KiB..2MiB", "-c", "6"] },
    Shape {
        name: "multipart",
        words: &["--count", "40", "--size", "5MiB..14MiB", "--multipart", "5MiB", "--parts", "2", "-c", "3"],
    },
];

/// A fill that is killed.
struct Fill<'p> {
    program: &'p Path,
    directory: TempDir,
    server: Server,
    shape: Shape,
    random: Random,
    starts: u32,
    /// Objects that were acknowledged at the last kill of the client.
    acked: BTreeSet<u64>,
}

impl<'p> Fill<'p> {
    fn new(program: &'p Path, kind: ServerKind, seed: u64) -> Result<Self> {
        let directory = TempDir::with_prefix("plimsoll-crash-").cannot("create a directory")?;
        let mut random = Random(seed);
        let shape = SHAPES[random.below(SHAPES.len() as u64) as usize];
        let faults = faults(&mut random);
        let server = Server::start(kind, program, directory.path(), faults)?;
        Ok(Self { program, directory, server, shape, random, starts: 0, acked: BTreeSet::new() })
    }

    /// Kills the fill and its server, lets the fill end, and checks the stored objects. Removes the directory if all
    /// checks pass.
    fn carry_out(mut self, kills_max: u32) -> Result<(Kills, String)> {
        let outcome = self.make_bucket().and_then(|()| self.kill(kills_max)).and_then(|kills| {
            self.finish()?;
            self.compare_acked()?;
            let outcome = check::check(self.program, &mut self.server, &self.directory.path().join("fill"))?;
            Ok((kills, outcome))
        });
        self.server.stop();
        if outcome.is_err() {
            let _ = self.directory.keep();
        }
        outcome
    }

    fn make_bucket(&mut self) -> Result<()> {
        let words = ["prepare", "s3://bucket/other", "--make-bucket", "--count", "1", "--size", "1", "--print", "none"];
        let mut command = self.server.client(self.program, &words);
        self.expect_good(start(&mut command, Affinity::AllCores)?)
    }

    fn expect_good(&self, running: Running) -> Result<()> {
        match running.finish(PATIENCE)?.end {
            ProcessEnd::Code(0) => Ok(()),
            end => Err(failure(format_args!("the bucket cannot be created: {end}"))),
        }
    }

    /// Starts the fill, and kills it or its server until it has ended or there were enough kills.
    fn kill(&mut self, kills_max: u32) -> Result<Kills> {
        let mut kills = Kills::default();
        let mut client = self.start_client(&[])?;
        while kills.all() < kills_max {
            check_interrupt()?;
            let wait = Duration::from_millis(30 + self.random.below(700));
            if client.wait_until(client.age() + wait)?.is_some() {
                break;
            }
            if self.random.below(3) == 0 {
                self.server.kill();
                kills.server += 1;
                std::thread::sleep(Duration::from_millis(self.random.below(300)));
                self.server.start_again()?;
            } else {
                // Dropping the value kills the process.
                drop(client);
                kills.client += 1;
                self.compare_acked()?;
                client = self.start_client(&[])?;
            }
        }
        client.finish(PATIENCE)?;
        Ok(kills)
    }

    /// Checks that all objects that were acknowledged at the last kill are still acknowledged.
    fn compare_acked(&mut self) -> Result<()> {
        let acked = check::acked(&self.directory.path().join("fill"))?;
        let lost = self.acked.difference(&acked).count();
        if lost > 0 {
            return Err(failure(format_args!("{lost} acknowledged objects are no longer in the journal")));
        }
        self.acked = acked;
        Ok(())
    }

    /// Runs the same command until it succeeds, and reads everything back.
    fn finish(&mut self) -> Result<()> {
        for _ in 0..STARTS_MAX {
            if self.start_client(&["--verify"])?.finish(PATIENCE)?.end == ProcessEnd::Code(0) {
                return Ok(());
            }
        }
        let messages = self.directory.path().join(format!("messages-{:03}", self.starts));
        let messages = std::fs::read_to_string(messages).unwrap_or_default();
        Err(failure(format_args!("the fill does not succeed in {STARTS_MAX} starts: {}", messages.trim())))
    }

    fn start_client(&mut self, words: &[&str]) -> Result<Running> {
        self.starts += 1;
        let file = |name: String| File::create(self.directory.path().join(name)).cannot("create a file for output");
        let (output, messages) =
            (file(format!("report-{:03}", self.starts))?, file(format!("messages-{:03}", self.starts))?);
        let mut command = self.server.client(self.program, &["fill", "s3://bucket/f", "--out", "fill", "--json"]);
        command.args(self.shape.words).args(words).current_dir(self.directory.path());
        command.stdin(Stdio::null()).stdout(output).stderr(messages);
        start(&mut command, Affinity::AllCores)
    }
}

/// Returns the flags of faults of the embedded server.
fn faults(random: &mut Random) -> Vec<String> {
    let mut words = vec!["--delay".to_owned(), format!("{}ms", 1 + random.below(8))];
    if random.below(2) == 0 {
        words.extend(["--error-every".to_owned(), (4 + random.below(40)).to_string()]);
    }
    // Cuts off responses, so that acknowledgements are lost.
    if random.below(2) == 0 {
        words.extend(["--close-after".to_owned(), (5 + random.below(60)).to_string()]);
    }
    if random.below(2) == 0 {
        words.extend(["--truncate".to_owned(), format!("{}:20", 5 + random.below(40))]);
    }
    words
}

/// Returns the path of VersityGW.
fn find_versitygw() -> Result<PathBuf> {
    let go = std::env::var_os("HOME").map(|home| PathBuf::from(home).join("go/bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).chain(go).map(|place| place.join("versitygw"));
    places.find(|path| path.exists()).ok_or_else(|| {
        failure("versitygw is not installed: `go install github.com/versity/versitygw/cmd/versitygw@latest`")
    })
}

/// Returns a command with the keys that the servers accept.
fn with_keys(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("AWS_ACCESS_KEY_ID", server::ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", server::SECRET_KEY);
    command
}
