//! `cargo xtask bench resume`: the time and memory that a fill with a long journal needs to resume.
//!
//! `plimsoll fill` creates the fill, and stores its first objects on `plimsoll serve --s3`. The benchmark then adds
//! confirmations to the journal as a fill of small objects writes them: batches of 500 objects, with a sync per second.
//! The last objects stay in doubt. The same command resumes the fill: it replays the journal, asks the server about the
//! objects in doubt, and uploads them.

use crate::console;
use crate::embedded_server::EmbeddedServer;
use crate::failure::{Context, Result, check_interrupt, failure};
use crate::goal::GoalResult;
use crate::host;
use crate::plimsoll::ProgramArgs;
use crate::process::{Affinity, ProcessEnd, Run, start};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use store::fill_directory::FillDirectory;
use store::journal::{AckedObject, Evidence, JournalWriter, Record};

/// Goal for the time until the end of the resumed session, in seconds.
const TIME_MAX: f64 = 30.0;
/// Goal for the peak memory, in MiB.
const PEAK_MAX_MIB: f64 = 512.0;
/// Size of an object in bytes.
const OBJECT_BYTES: u64 = 1024;
/// Number of objects in a record of the journal.
const BATCH: u64 = 500;
/// Number of records per second.
const BATCHES_PER_SECOND: u64 = 20;
/// Number of objects that stay in doubt.
const IN_DOUBT: u64 = 256;
/// Time limit of a session.
const PATIENCE: Duration = Duration::from_secs(600);

/// Length of the journal, and the program.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Number of objects in the journal.
    #[arg(long, value_name = "N", default_value = "10000000", value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    objects: u64,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    let place = tempfile::tempdir().cannot("create a temporary directory")?;
    let flags = ["--s3", "--bucket", "bucket", "--lose-every", "1"];
    let server = EmbeddedServer::start(&program, &flags, Affinity::AllCores, place.path())?;
    let fill = Fill { program: &program, place: place.path(), url: &server.url, objects: args.objects };
    host::print_machine();
    fill.session(&["--stop-when", "files >= 1"])?;
    let (size, written) = fill.extend_journal()?;
    console::line("");
    console::line(format_args!("resume: a journal of {} objects, {:.1} MB", args.objects, size as f64 / 1e6));
    console::line(format_args!("  written in           {:.1} s", written.as_secs_f64()));
    let resumed = fill.session(&[])?;
    let stored = fill.stored()?;
    if stored != args.objects {
        return Err(failure(format_args!("{stored} objects are stored, and not {}", args.objects)));
    }
    judge(&resumed);
    Ok(())
}

/// Prints the time and the memory of the resumed session.
fn judge(run: &Run) {
    let (wall, peak) = (run.wall.as_secs_f64(), run.peak.bytes() as f64 / f64::from(1 << 20));
    console::line(format_args!(
        "  resumed in           {wall:.2} s (CPU {:.2} s)   goal ≤ {TIME_MAX} s: {}",
        run.cpu.as_secs_f64(),
        GoalResult::from(wall <= TIME_MAX)
    ));
    console::line(format_args!(
        "  peak RSS             {peak:.1} MiB   goal ≤ {PEAK_MAX_MIB} MiB: {}",
        GoalResult::from(peak <= PEAK_MAX_MIB)
    ));
}

/// A fill of small objects.
struct Fill<'a> {
    program: &'a Path,
    place: &'a Path,
    url: &'a str,
    objects: u64,
}

impl Fill<'_> {
    /// Runs a session of the fill.
    fn session(&self, more: &[&str]) -> Result<Run> {
        let (objects, size) = (self.objects.to_string(), OBJECT_BYTES.to_string());
        let mut command = Command::new(self.program);
        command.args(["fill", "s3://bucket/f", "--endpoint", self.url, "--out", "fill", "--quiet", "-c", "4"]);
        command.args(["--count", &objects, "--size", &size]).args(more);
        command.env("AWS_ACCESS_KEY_ID", "plimsoll").env("AWS_SECRET_ACCESS_KEY", "plimsoll-secret");
        command.current_dir(self.place).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let run = start(&mut command, Affinity::AllCores)?.finish(PATIENCE)?;
        match run.end {
            ProcessEnd::Code(0) => Ok(run),
            end => Err(failure(format_args!("plimsoll fill ended with {end}"))),
        }
    }

    /// Adds confirmations of all objects but the last ones to the journal. Returns the size of the journal, and the time
    /// that this took.
    fn extend_journal(&self) -> Result<(u64, Duration)> {
        let begun = std::time::Instant::now();
        let directory = FillDirectory::open(&self.place.join("fill")).map_err(failure)?;
        let (mut journal, replay) = JournalWriter::open(&directory, &[]).map_err(failure)?;
        let mut unix_ms = replay.state.sessions.last().map_or(0, |session| session.last_unix_ms);
        journal.append(&Record::SessionStarted { session: 2, unix_ms }).map_err(failure)?;
        journal.append(&Record::Intend { first: 0, end: self.objects }).map_err(failure)?;
        let missing: Vec<u64> = replay.state.completed.absent_below(self.objects - IN_DOUBT).collect();
        for second in missing.chunks((BATCH * BATCHES_PER_SECOND) as usize) {
            check_interrupt()?;
            for batch in second.chunks(BATCH as usize) {
                journal.append(&Record::Acked(batch.iter().map(acked).collect())).map_err(failure)?;
            }
            unix_ms += 1000;
            journal.sync(unix_ms).map_err(failure)?;
        }
        journal.close(unix_ms).map_err(failure)?;
        let files = std::fs::read_dir(directory.journal_directory()).cannot("list the journal")?;
        let mut size = 0;
        for file in files {
            size += file.and_then(|file| file.metadata()).cannot("list the journal")?.len();
        }
        Ok((size, begun.elapsed()))
    }

    /// Returns the number of stored objects according to the journal.
    fn stored(&self) -> Result<u64> {
        let saved = store::SavedFill::read(&self.place.join("fill")).map_err(failure)?;
        Ok(saved.state.totals.objects)
    }
}

fn acked(number: &u64) -> AckedObject {
    let evidence = Evidence::Response;
    AckedObject { number: *number, attempts: 1, sent_bytes: OBJECT_BYTES, file_bytes: OBJECT_BYTES, evidence }
}
