//! `cargo xtask bench sequential`: how often the test that stops levels early is wrong if slow operations come in
//! bursts.

use crate::console;
use crate::failure::{Result, check_interrupt};
use crate::goal::GoalResult;

#[path = "../../../crates/measure/tests/support/slowness.rs"]
mod slowness;

use slowness::{LEVEL_SECONDS, Process, TOLERATED, outcomes};

/// Goal for the share of wrong decisions. A wrong decision is a level that passes although the share of slow operations
/// is twice the tolerated share.
const WRONG_MAX: f64 = 0.05;
/// Goal for the share of levels that are decided before their maximum duration, if the share of slow operations is half
/// or twice the tolerated share.
const DECIDED_MIN: f64 = 0.8;

/// Number of levels, and the seed.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Number of simulated levels for each random process and each share of slow operations.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(20..=100_000))]
    levels: u32,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

/// Runs the benchmark. Time is simulated, and no requests are sent.
pub fn run(args: &Args) -> Result<()> {
    let levels = args.levels as usize;
    console::line(format_args!(
        "sequential test at 95 %: {levels} levels of {LEVEL_SECONDS:.0} s for each process and share, 200 operations/s, {:.0} % may be slow; seed {}",
        TOLERATED * 100.0,
        args.seed
    ));
    console::line("    process              share    passed    failed   not decided   80 % decided after");
    let (mut wrong, mut decided_least) = (0.0_f64, 1.0_f64);
    for process in Process::ALL {
        for times in [0.5, 1.0, 2.0] {
            check_interrupt()?;
            let found = outcomes(process, times * TOLERATED, TOLERATED, LEVEL_SECONDS, levels, args.seed);
            let share = |count: usize| count as f64 / levels as f64;
            let after = found.seconds.get(levels * 4 / 5 - 1).map_or("–".to_owned(), |after| format!("{after:.0} s"));
            console::line(format_args!(
                "    {:<18}{:>5.1} %{:>9.1} %{:>8.1} %{:>12.1} %   {after:>18}",
                format!("{process:?}"),
                times * TOLERATED * 100.0,
                share(found.within) * 100.0,
                share(found.beyond) * 100.0,
                share(found.open) * 100.0
            ));
            // At exactly the tolerated share, a level may pass or fail; neither decision is wrong.
            if times > 1.0 {
                wrong = wrong.max(share(found.within));
            }
            if times != 1.0 {
                decided_least = decided_least.min(1.0 - share(found.open));
            }
        }
    }
    console::line(format_args!(
        "    wrong passes at twice the tolerated share: at most {:.1} %   goal ≤ {:.0} %: {}",
        wrong * 100.0,
        WRONG_MAX * 100.0,
        GoalResult::from(wrong <= WRONG_MAX)
    ));
    console::line(format_args!(
        "    decided in time at half and at twice the share: at least {:.1} %   goal ≥ {:.0} %: {}",
        decided_least * 100.0,
        DECIDED_MIN * 100.0,
        GoalResult::from(decided_least >= DECIDED_MIN)
    ));
    Ok(())
}
