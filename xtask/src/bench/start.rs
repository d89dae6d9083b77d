//! `cargo xtask bench start`: time and memory of one GET, from the start of the program to its report.

use super::small_get::SmallGet;
use crate::console;
use crate::failure::{Result, failure};
use crate::goal::GoalResult;
use crate::median::median;
use crate::plimsoll::{EXTRA, ProgramArgs};
use crate::process::{CLIENT_CORE, PeakMemory, ProcessEnd, start};

/// Goal for the wall time, in ms.
const WALL_MAX_MS: f64 = 10.0;
/// Goal for the peak memory, in MB.
const PEAK_MAX_MB: f64 = 12.0;

/// Number of runs, and the program.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Number of runs.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let setup = SmallGet::new(&args.program)?;
    let (mut walls, mut cpus, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..args.repeats {
        let run = start(&mut setup.command(&["-n", "1", "-c", "1"]), CLIENT_CORE)?.finish(EXTRA)?;
        if run.end != ProcessEnd::Code(0) {
            return Err(failure(format_args!("`plimsoll get -n 1` failed with {}", run.end)));
        }
        walls.push(run.wall.as_secs_f64() * 1e3);
        cpus.push(run.cpu.as_secs_f64() * 1e3);
        peaks.push(run.peak);
    }
    let megabytes: Vec<f64> = peaks.iter().map(|peak| peak.bytes() as f64 / 1e6).collect();
    let bound = if peaks.iter().any(|peak| matches!(peak, PeakMemory::AtMost(_))) { "at most " } else { "" };
    console::line("");
    console::line(format_args!(
        "start: `plimsoll get -n 1 -c 1` with a text report, run saved in memory; {} runs on core 1",
        args.repeats
    ));
    print("wall", "", &walls, "ms", Some(WALL_MAX_MS));
    print("CPU", "", &cpus, "ms", None);
    print("peak RSS", bound, &megabytes, "MB", Some(PEAK_MAX_MB));
    Ok(())
}

fn print(name: &str, bound: &str, values: &[f64], unit: &str, goal: Option<f64>) {
    let middle = median(values).unwrap_or(f64::NAN);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let judged = goal.map(|goal| format!("   goal ≤ {goal} {unit}: {}", GoalResult::from(middle <= goal)));
    let judged = judged.unwrap_or_default();
    console::line(format_args!("  {name:<10} median {bound}{middle:.2} {unit} ({low:.2} … {high:.2}){judged}"));
}
