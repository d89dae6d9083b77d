//! `cargo xtask bench view`: the CPU time that the live view takes from the client.
//!
//! Each pair of runs on a pseudo-terminal consists of one with the view and one without. The thread that gathers the
//! results also draws the view. The cost of the view is therefore the difference between the CPU times of this thread
//! in the two runs.

use super::small_get::SmallGet;
use crate::console;
use crate::failure::{Result, failure};
use crate::goal::GoalResult;
use crate::median::median;
use crate::plimsoll::{EXTRA, ProgramArgs};
use crate::process::{CLIENT_CORE, ProcessEnd, ThreadTimes, start, thread_times_of_child};
use std::time::Duration;

/// Goal for the cost of the view, as a fraction of the client's CPU time.
const COST_MAX: f64 = 0.01;
/// Length of a run.
const LENGTH: Duration = Duration::from_secs(6);
/// Time at which the CPU times are read, shortly before the end.
const READ_AT: Duration = Duration::from_millis(5500);

/// Number of pairs, and the program.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Number of pairs of runs.
    #[arg(long, value_name = "N", default_value = "6", value_parser = clap::value_parser!(u32).range(1..=100))]
    pairs: u32,
    #[command(flatten)]
    program: ProgramArgs,
}

/// A load, as flags of `get`.
const LOADS: [(&str, &str); 2] = [("at full speed", "-c 32"), ("at 2000 per second", "-R 2000 -c 32")];

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let setup = SmallGet::new(&args.program)?;
    console::line("");
    console::line(format_args!(
        "view: GET 1 KiB, one load thread, terminal of 120 × 40, {} pairs of runs of {} s on core 1",
        args.pairs,
        LENGTH.as_secs()
    ));
    for (name, flags) in LOADS {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for pair in 0..args.pairs {
            // The order alternates, so that a slow change of the machine's speed affects both.
            for view in if pair % 2 == 0 { ["full", "none"] } else { ["none", "full"] } {
                let times = measure(&setup, flags, view)?;
                if view == "full" { with.push(times) } else { without.push(times) }
            }
        }
        judge(name, &with, &without);
    }
    Ok(())
}

/// Returns the CPU times of a run with this view.
fn measure(setup: &SmallGet, flags: &str, view: &str) -> Result<ThreadTimes> {
    let line = format!("{flags} --threads 1 -d {}s --view {view} --print none", LENGTH.as_secs());
    let mut running = start(&mut setup.on_terminal(&line), CLIENT_CORE)?;
    let over = running.wait_until(READ_AT)?;
    let times = thread_times_of_child(running.id()).filter(|_| over.is_none());
    let run = running.finish(LENGTH + EXTRA)?;
    match (times, run.end) {
        (Some(times), ProcessEnd::Code(0)) => Ok(times),
        _ => Err(failure(format_args!("the run with --view {view} ended with {}", run.end))),
    }
}

fn judge(name: &str, with: &[ThreadTimes], without: &[ThreadTimes]) {
    let costs: Vec<f64> = with
        .iter()
        .zip(without)
        .map(|(with, without)| (with.first.as_secs_f64() - without.first.as_secs_f64()) / without.all.as_secs_f64())
        .collect();
    let milliseconds = |times: &[ThreadTimes]| {
        let each: Vec<f64> =
            times.iter().map(|times| times.first.as_secs_f64() * 1e3 / READ_AT.as_secs_f64()).collect();
        median(&each).unwrap_or(f64::NAN)
    };
    let middle = median(&costs).unwrap_or(f64::NAN);
    let low = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = costs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    console::line(format_args!(
        "  {name:<20} gathering thread {:.2} ms/s with the view, {:.2} ms/s without",
        milliseconds(with),
        milliseconds(without)
    ));
    console::line(format_args!(
        "  {:<20} {:.2} % of the client's CPU time ({:.2} … {:.2})   goal ≤ {} %: {}",
        "cost of the view",
        middle * 100.0,
        low * 100.0,
        high * 100.0,
        COST_MAX * 100.0,
        GoalResult::from(middle <= COST_MAX)
    ));
}
