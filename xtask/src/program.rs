//! Plimsoll itself: built as its users get it, and asked for its report.

use crate::failure::{Result, While, failure};
use crate::process::{Place, Run, start};
use crate::say;
use report::JsonReport;
use report::json::QuantileNanos;
use report::json::Spread;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Beyond the time that was asked for: drain, report, and some more.
pub const EXTRA: Duration = Duration::from_secs(60);

/// Which program is measured.
#[derive(clap::Args, Debug)]
pub struct Choice {
    /// Measure this program instead of building one.
    #[arg(long, visible_alias = "program", value_name = "FILE")]
    plimsoll: Option<PathBuf>,
}

impl Choice {
    /// Where the program lies; builds it unless one was given.
    pub fn path(&self) -> Result<PathBuf> {
        match &self.plimsoll {
            Some(path) => path.canonicalize().cannot(format_args!("find {}", path.display())),
            None => build(),
        }
    }
}

/// Builds it into the directory in which this program was built.
fn build() -> Result<PathBuf> {
    let own = std::env::current_exe().cannot("tell where this program lies")?;
    let profile = own.parent().ok_or_else(|| failure("this program lies nowhere"))?;
    let target = profile.parent().ok_or_else(|| failure("this program lies outside a target directory"))?;
    say::note("building plimsoll");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--release", "--locked", "--package", "plimsoll", "--target-dir"]).arg(target);
    let status = command.current_dir(env!("CARGO_MANIFEST_DIR")).status().cannot("start cargo")?;
    if !status.success() {
        return Err(failure("plimsoll does not build"));
    }
    Ok(target.join("release").join("plimsoll"))
}

/// Runs `plimsoll get --json` in a directory, and reads its report.
pub fn get(
    program: &Path,
    words: &[&str],
    place: Place,
    directory: &Path,
    limit: Duration,
) -> Result<(Run, JsonReport)> {
    let (output, errors) = (directory.join("report.json"), directory.join("messages"));
    let file = |path| File::create(path).cannot("write what plimsoll says");
    let mut command = Command::new(program);
    command.arg("get").args(words).args(["--json", "--quiet"]).current_dir(directory);
    command.stdin(Stdio::null()).stdout(file(&output)?).stderr(file(&errors)?);
    let run = start(&mut command, place)?.finish(limit)?;
    let text = fs::read_to_string(&output).cannot("read the report")?;
    let report = serde_json::from_str(&text).map_err(|error| {
        let said = fs::read_to_string(&errors).unwrap_or_default();
        failure(format_args!("plimsoll ended with {} and without a report ({error}): {}", run.end, said.trim()))
    })?;
    Ok((run, report))
}

/// A percentile of a report in microseconds; `None` where the report has none.
pub fn quantile_micros(spread: &Spread, q: f64) -> Option<f64> {
    let is_it = |quantile: &&QuantileNanos| (quantile.q - q).abs() < 1e-9;
    let nanos = spread.quantiles.iter().find(is_it)?.nanos?;
    Some(nanos as f64 / 1e3)
}
