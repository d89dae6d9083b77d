//! `cargo xtask bench memory`: the memory of a client with 1000 connections, over minutes.

use super::small_get::SmallGet;
use crate::console;
use crate::failure::{Result, failure};
use crate::goal::GoalResult;
use crate::plimsoll::{EXTRA, ProgramArgs};
use crate::process::{Affinity, Run, Running, resident, start};
use std::time::Duration;

/// Goal for the peak memory, in MiB.
const PEAK_MAX_MIB: f64 = 40.0;
/// Goal for the largest difference between the first sample and any later sample, as a fraction of the first sample.
const DRIFT_MAX: f64 = 0.05;
/// Time of the first sample.
const FIRST: Duration = Duration::from_secs(10);
/// Time between samples.
const EVERY: Duration = Duration::from_secs(30);

/// Duration, and the program.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Duration of the load in minutes.
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u64).range(1..=120))]
    minutes: u64,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let setup = SmallGet::new(&args.program)?;
    let length = Duration::from_secs(args.minutes * 60);
    let duration = format!("{}s", length.as_secs());
    let mut command = setup.command(&["-c", "1000", "-d", &duration, "--print", "none"]);
    console::line("");
    console::line(format_args!(
        "memory: GET 1 KiB, c = 1000, {} min at full speed, all cores (nginx shares core 0)",
        args.minutes
    ));
    let before = setup.nginx.requests()?;
    let mut running = start(&mut command, Affinity::AllCores)?;
    let samples = watch(&mut running, length)?;
    let run = running.finish(length + EXTRA)?;
    let requests = setup.nginx.requests()?.saturating_sub(before + 1);
    let rate = requests as f64 / run.wall.as_secs_f64();
    console::line(format_args!("  {requests} requests, {rate:.0}/s, {:.2} cores used, exit {}", cores(&run), run.end));
    judge(&samples, &run)
}

/// Returns the resident memory in MiB, sampled after 10 s and then every 30 s during the load.
fn watch(running: &mut Running, length: Duration) -> Result<Vec<f64>> {
    let mut samples = Vec::new();
    let mut at = FIRST;
    // Take no sample in the last second, because the program may already be ending.
    while at + Duration::from_secs(1) <= length {
        let over = running.wait_until(at)?.is_some();
        let now = resident(running.id()).filter(|_| !over);
        let now = now.ok_or_else(|| failure(format_args!("plimsoll ended within {} s", at.as_secs())))?;
        let (all, anonymous) = (mebibytes(now.all), mebibytes(now.anonymous));
        console::line(format_args!("  at {:>5} s   VmRSS {all:.2} MiB (allocated: {anonymous:.2})", at.as_secs()));
        samples.push(all);
        at += EVERY;
    }
    Ok(samples)
}

fn judge(samples: &[f64], run: &Run) -> Result<()> {
    let first = samples.first().ok_or_else(|| failure("no sample was taken"))?;
    let drift = samples.iter().map(|sample| sample / first - 1.0).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let drift = drift.unwrap_or(0.0);
    let peak = mebibytes(run.peak.bytes());
    console::line(format_args!(
        "  peak RSS             {peak:.2} MiB   goal ≤ {PEAK_MAX_MIB} MiB: {}",
        GoalResult::from(peak <= PEAK_MAX_MIB)
    ));
    console::line(format_args!(
        "  largest change       {:+.1} %   goal ± {} %: {}",
        drift * 100.0,
        DRIFT_MAX * 100.0,
        GoalResult::from(drift.abs() <= DRIFT_MAX)
    ));
    Ok(())
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn cores(run: &Run) -> f64 {
    run.cpu.as_secs_f64() / run.wall.as_secs_f64()
}
