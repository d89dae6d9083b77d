//! Plimsoll itself: builds the program, runs it, and reads its report.

use crate::console;
use crate::failure::{Context, Result, failure};
use crate::process::{Affinity, Run, start};
use report::JsonReport;
use report::json::QuantileNanos;
use report::json::Spread;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Time that a run may take in addition to its duration, to wait for the last responses and to write the report.
pub const EXTRA: Duration = Duration::from_secs(60);

/// The program to measure.
#[derive(clap::Args, Debug)]
pub struct ProgramArgs {
    /// Measure this program instead of building Plimsoll.
    #[arg(long, visible_alias = "program", value_name = "FILE")]
    plimsoll: Option<PathBuf>,
}

impl ProgramArgs {
    /// Returns the path of the program. Builds the program, unless the user specified a path.
    pub fn path(&self) -> Result<PathBuf> {
        match &self.plimsoll {
            Some(path) => path.canonicalize().cannot(format_args!("find {}", path.display())),
            None => build(),
        }
    }
}

/// Builds Plimsoll in the target directory that contains this program, and returns the path of the new program.
fn build() -> Result<PathBuf> {
    let own = std::env::current_exe().cannot("find the path of this program")?;
    let profile = own.parent().ok_or_else(|| failure("cannot find the directory of this program"))?;
    let target = profile.parent().ok_or_else(|| failure("this program is not in a target directory of cargo"))?;
    console::note("building plimsoll");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--profile=dist", "--locked", "--package", "plimsoll", "--target-dir"])
        .arg(target);
    let status = command.current_dir(env!("CARGO_MANIFEST_DIR")).status().cannot("start cargo")?;
    if !status.success() {
        return Err(failure("cannot build plimsoll; the messages of cargo are above"));
    }
    Ok(target.join("dist").join("plimsoll"))
}

/// Runs `plimsoll get --json` in a directory. Returns the cost of the run and its report.
pub fn get(
    program: &Path,
    words: &[&str],
    place: Affinity,
    directory: &Path,
    limit: Duration,
) -> Result<(Run, JsonReport)> {
    let (output, errors) = (directory.join("report.json"), directory.join("messages"));
    let file = |path| File::create(path).cannot("create a file for the output of plimsoll");
    let mut command = Command::new(program);
    command.arg("get").args(words).args(["--json", "--quiet"]).current_dir(directory);
    command.stdin(Stdio::null()).stdout(file(&output)?).stderr(file(&errors)?);
    let run = start(&mut command, place)?.finish(limit)?;
    let text = fs::read_to_string(&output).cannot("read the report")?;
    let report = serde_json::from_str(&text).map_err(|error| {
        let messages = fs::read_to_string(&errors).unwrap_or_default();
        failure(format_args!("plimsoll ended with {} and printed no report ({error}): {}", run.end, messages.trim()))
    })?;
    Ok((run, report))
}

/// Returns the quantile `q` in microseconds, or `None` if the report does not have it.
pub fn quantile_micros(spread: &Spread, q: f64) -> Option<f64> {
    let is_wanted = |quantile: &&QuantileNanos| (quantile.q - q).abs() < 1e-9;
    let nanos = spread.quantiles.iter().find(is_wanted)?.nanos?;
    Some(nanos as f64 / 1e3)
}
