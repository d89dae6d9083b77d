//! `cargo xtask bench start`: one GET from the start of the program to its report.

use super::Bare;
use crate::failure::{Result, failure};
use crate::process::{CLIENT, End, Peak, start};
use crate::program::{Choice, EXTRA};
use crate::say;
use crate::statistics::median;
use crate::verdict::Verdict;

const WALL_MAX_MS: f64 = 10.0;
const PEAK_MAX_MB: f64 = 12.0;

/// How often.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// How often the program is started.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    #[command(flatten)]
    program: Choice,
}

/// Carries it out.
pub fn run(args: &Args) -> Result<()> {
    let bare = Bare::start(&args.program)?;
    let (mut walls, mut cpus, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..args.repeats {
        let run = start(&mut bare.get(&["-n", "1", "-c", "1"]), CLIENT)?.finish(EXTRA)?;
        if run.end != End::Code(0) {
            return Err(failure(format_args!("plimsoll ended with {}: `plimsoll get -n 1` must succeed", run.end)));
        }
        walls.push(run.wall.as_secs_f64() * 1e3);
        cpus.push(run.cpu.as_secs_f64() * 1e3);
        peaks.push(run.peak);
    }
    let megabytes: Vec<f64> = peaks.iter().map(|peak| peak.bytes() as f64 / 1e6).collect();
    let bound = if peaks.iter().any(|peak| matches!(peak, Peak::AtMost(_))) { "at most " } else { "" };
    say::line("");
    say::line(format_args!(
        "start: `plimsoll get -n 1 -c 1`, report as text, run saved in memory; {} times, core 1",
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
    let judged = goal.map(|goal| format!("   goal ≤ {goal} {unit}: {}", Verdict::from(middle <= goal)));
    let judged = judged.unwrap_or_default();
    say::line(format_args!("  {name:<10} median {bound}{middle:.2} {unit} ({low:.2} … {high:.2}){judged}"));
}
