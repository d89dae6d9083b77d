//! `cargo xtask bench causes`: checks whether Plimsoll reports the right results and limits. The benchmark produces
//! known problems on purpose (it "plants causes"), and compares these problems with the reports.
//!
//! The targets are nginx and a small Go server (`target.go`) that logs each request. The true response times are
//! computed from the schedule and from that log.
//!
//! A run is *sound* if no printed percentile is wrong. In the open model, at least 99 % of the offered operations must
//! also have ended, either with success or with a failure at the target. Any other run is *spoiled*. The result of a
//! spoiled run must not be PASS. The result of a sound run must not be UNUSABLE, unless the client could not start the
//! load.
//!
//! Runs begin with a warm-up of one second, which is not measured. Causes that concern the opening of connections have
//! no warm-up.

mod behavior;
mod cause;
mod confusion_matrix;
mod disturbance;
mod finished_trial;
mod ground_truth;
mod limit;
mod report;
mod target;
mod test_bed;
#[cfg(test)]
mod tests;
mod trial;
mod variant;

use crate::console;
use crate::failure::{Context, Failure, Result};
use crate::goal::GoalResult;
use crate::host;
use crate::plimsoll::ProgramArgs;
use crate::shuffle::Shuffler;
use cause::Cause;
use clap::ValueEnum;
use confusion_matrix::JudgedRun;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use test_bed::TestBed;
use trial::Trial;

/// Goal for each cause: share of runs with the right limit.
const RIGHT_MIN: f64 = 0.95;
/// Goal for the share of sound runs that are reported as unusable.
const UNUSABLE_MAX: f64 = 0.01;

/// Causes, number and duration of runs, and the program.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Plant only these causes.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CAUSE")]
    only: Vec<Cause>,
    /// Number of runs of each cause. The runs use all variants of the cause in turn: open and closed model, downloads
    /// and uploads, HTTP/1.1, TLS and HTTP/2.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=500))]
    repeats: u32,
    /// Duration of each run. Some causes have a fixed duration instead.
    #[arg(long, value_name = "S", default_value = "5", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Seed of the service times [default: taken from the clock].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write all runs to this file as JSON, with separate counts for open and closed runs.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    host::print_machine();
    let bed = TestBed::new(program)?;
    let seed = args.seed.unwrap_or_else(seed_from_clock);
    console::line(format_args!("seed      {seed} (--seed repeats the service times)"));
    let causes = if args.only.is_empty() { Cause::value_variants() } else { &args.only };
    print_plan(causes, args);
    let (mut runs, mut records) = (Vec::new(), Vec::new());
    for &cause in causes {
        for repeat in 0..args.repeats {
            let trial = Trial {
                cause,
                variant: cause.variant(repeat + cause as u32),
                seconds: cause.seconds().unwrap_or(args.seconds),
                seed: seed_of(seed, cause, repeat),
            };
            match bed.run(trial) {
                Ok(finished) => {
                    console::line(finished.line());
                    records.push(finished.json());
                    runs.push(finished.judge());
                }
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                // Continue with the next cause, which may be possible on this machine.
                Err(failure) => {
                    let variant = trial.variant.text();
                    console::line(format_args!("  {:<26}{variant:<22}{failure}", cause.label()));
                }
            }
        }
    }
    print_summary(&runs);
    if let Some(path) = &args.json {
        let counts = confusion_matrix::by_model(&runs);
        let all = json!({"seed": seed, "repeats": args.repeats, "counts": counts, "runs": records});
        fs::write(path, format!("{all:#}\n")).cannot(format_args!("write {}", path.display()))?;
    }
    Ok(())
}

/// Prints the number of runs and the expected time.
fn print_plan(causes: &[Cause], args: &Args) {
    // Time for the warm-up, for starting and ending target and client, and for draining a backlog.
    const OVERHEAD_SECONDS: u64 = 3;
    let each = causes.iter().map(|cause| cause.seconds().unwrap_or(args.seconds) + OVERHEAD_SECONDS);
    let minutes = (each.sum::<u64>() * u64::from(args.repeats)).div_ceil(60);
    console::line(format_args!(
        "runs      {} causes, {} runs of each, about {minutes} min",
        causes.len(),
        args.repeats
    ));
}

/// Prints the confusion matrix and the goals.
fn print_summary(runs: &[JudgedRun]) {
    console::line("");
    for line in confusion_matrix::text(runs) {
        console::line(line);
    }
    let (rows, all) = confusion_matrix::rows(runs);
    let wrong: Vec<_> = rows.iter().filter(|(_, row)| row.right_share() < RIGHT_MIN).map(|(name, _)| *name).collect();
    console::line("");
    console::line(
        "sound: no printed percentile is wrong, and at least 99 % of the offered operations succeeded or failed",
    );
    console::line("spoiled: all other runs; UNUSABLE is right for these, and for runs whose load could not start");
    console::line(format_args!(
        "right limit in at least {:.0} % of the runs of each cause: {} {}",
        RIGHT_MIN * 100.0,
        GoalResult::from(wrong.is_empty()),
        wrong.join(", ")
    ));
    console::line(format_args!(
        "PASS on a spoiled run: {} of {}   goal 0: {}",
        all.pass_on_spoiled,
        all.spoiled,
        GoalResult::from(all.pass_on_spoiled == 0)
    ));
    console::line(format_args!(
        "UNUSABLE on a sound run: {} of {}   goal at most {:.0} %: {}",
        all.unusable_on_sound,
        all.sound,
        UNUSABLE_MAX * 100.0,
        GoalResult::from(all.unusable_share() <= UNUSABLE_MAX)
    ));
    console::line(format_args!(
        "reports that contradict themselves: {}   goal 0: {}",
        all.contradicting,
        GoalResult::from(all.contradicting == 0)
    ));
}

/// Returns the seed of one run. The seed is below 2^63, because the target's flag is a signed number.
fn seed_of(series: u64, cause: Cause, repeat: u32) -> u64 {
    Shuffler::new(series ^ (u64::from(repeat) << 32) ^ ((cause as u64) << 24)).number() >> 1
}

fn seed_from_clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) % 1_000_000
}
