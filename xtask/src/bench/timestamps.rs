//! `cargo xtask bench timestamps`: the client CPU time that the kernel's arrival timestamps cost. From these
//! timestamps, the client computes how long received bytes wait until it reads them.
//!
//! The runs are made in this process, alternately with and without timestamps, because the cost is far below the noise
//! between two processes.

use crate::console;
use crate::failure::{Context, Result, check_interrupt, failure};
use crate::goal::GoalResult;
use crate::host;
use crate::median::{median, median_interval};
use crate::nginx::{Nginx, Served};
use engine::plan::{ArrivalTimes, LoadModel, Plan, StopAfter, Targets};
use engine::schedule::Profile;
use std::num::NonZeroU64;
use std::time::Duration;

/// Operations in flight.
const SLOTS: NonZeroU64 = NonZeroU64::new(64).expect("64 is not 0");
/// Goal for the client CPU per request with timestamps, divided by the client CPU per request without timestamps.
const RATIO_MAX: f64 = 1.01;

/// Number and length of the runs.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Number of pairs of runs.
    #[arg(long, value_name = "N", default_value = "40", value_parser = clap::value_parser!(u32).range(12..=1000))]
    pairs: u32,
    /// Length of a run.
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    host::print()?;
    let nginx = Nginx::start(&[Served::Kibibyte])?;
    sys::limits::pin_current_thread(1).cannot("use core 1")?;
    let mut targets = Targets::default();
    let url = nginx.url(Served::Kibibyte).parse().map_err(|error| failure(format_args!("nginx's URL: {error}")))?;
    if !targets.push(&url) {
        return Err(failure("too many origins"));
    }
    let mut plan = Plan::new(targets, LoadModel::Closed { slots: Profile::slots(SLOTS), think: Duration::ZERO });
    plan.stop = StopAfter { time: Some(Duration::from_secs(args.seconds)), ..StopAfter::default() };
    let mut ratios = Vec::new();
    for pair in 0..args.pairs {
        // Alternate which run of a pair comes first.
        let order = [ArrivalTimes::Sampled, ArrivalTimes::NotRecorded];
        let first = (pair % 2) as usize;
        let mut nanos = [0.0; 2];
        for which in [first, 1 - first] {
            nanos[which] = cpu_per_request(&Plan { arrival_times: order[which], ..plan.clone() })?;
        }
        let [with, without] = nanos;
        ratios.push(with / without);
        console::line(format_args!("  pair {:>3}: {with:.0} ns with, {without:.0} ns without", pair + 1));
    }
    let middle = median(&ratios).unwrap_or(f64::NAN);
    let interval = median_interval(&ratios).map(|it| format!(" ({:.3} … {:.3})", it.low, it.high)).unwrap_or_default();
    console::line(format_args!(
        "timestamps: GET of 1 KiB at c {SLOTS}: median ratio of client CPU {middle:.3}{interval}, {} pairs   goal ≤ \
         {RATIO_MAX}: {}",
        args.pairs,
        GoalResult::from(middle <= RATIO_MAX)
    ));
    Ok(())
}

/// Makes a run, and returns the CPU time per request in nanoseconds.
fn cpu_per_request(plan: &Plan) -> Result<f64> {
    let summary = engine::run_to_summary(plan).map_err(|error| failure(format_args!("the run: {error}")))?;
    check_interrupt()?;
    match summary.stats.measured.completed() {
        ended if summary.all.ok > 0 => Ok(summary.measured.cpu_nanos as f64 / ended as f64),
        _ => Err(failure("no request succeeded")),
    }
}
