//! `cargo xtask bench pacing`: the open model at half and at twice the client's highest rate.
//!
//! At half of the highest rate, the client must keep its schedule. At twice the highest rate, the client must report
//! that it could not keep its schedule. Before each run at half of the rate, a control measures the lateness of a
//! thread that does nothing but read the clock.

mod spin_gaps;

use crate::console;
use crate::failure::{Result, check_interrupt, failure};
use crate::goal::GoalResult;
use crate::host;
use crate::median::median;
use crate::nginx::{Nginx, Served};
use crate::plimsoll::{self, EXTRA, ProgramArgs};
use crate::process::{CLIENT_CORE, ProcessEnd, Run};
use report::JsonReport;
use report::json::LimitedBy;
use spin_gaps::SpinGaps;
use std::path::PathBuf;
use std::time::Duration;

/// Goal for the difference between completed and offered operations, as a fraction of the offered operations.
const MISS_MAX: f64 = 0.001;
/// Goal for the p99 of lateness, in µs.
const LATENESS_P99_MAX_US: f64 = 200.0;
/// Duration of a control.
const CONTROL: Duration = Duration::from_secs(3);

/// Duration and number of runs, and the program.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Duration of each run.
    #[arg(long, value_name = "S", default_value = "10", value_parser = clap::value_parser!(u64).range(3..=60))]
    seconds: u64,
    /// Number of runs at half of the highest rate.
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=50))]
    repeats: u32,
    #[command(flatten)]
    program: ProgramArgs,
}

/// The program and the server that all runs share.
struct Setup {
    program: PathBuf,
    nginx: Nginx,
    seconds: u64,
}

impl Setup {
    /// Runs `plimsoll get`. Returns the cost of the run, the report, and the share of the time during which nginx was
    /// busy.
    fn get(&self, words: &[&str]) -> Result<(Run, JsonReport, f64)> {
        check_interrupt()?;
        let before = self.nginx.cpu()?;
        let (url, duration) = (self.nginx.url(Served::Kibibyte), format!("{}s", self.seconds));
        let words: Vec<&str> = words.iter().copied().chain(["-d", &duration, &url]).collect();
        let limit = Duration::from_secs(self.seconds) + EXTRA;
        let (run, report) = plimsoll::get(&self.program, &words, CLIENT_CORE, self.nginx.directory(), limit)?;
        let used = self.nginx.cpu()?.saturating_sub(before);
        Ok((run, report, used.as_secs_f64() / run.wall.as_secs_f64()))
    }
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    host::print()?;
    let setup = Setup { program, nginx: Nginx::start(&[Served::Kibibyte])?, seconds: args.seconds };
    console::line("");
    console::line(format_args!("pacing: GET 1 KiB, runs of {} s, with core 1 for the client alone", args.seconds));
    let ceiling = ceiling(&setup)?;
    // For the first test, use half of the measured rate, so that nginx can keep up. For the second test, use twice the
    // higher of the two rates, so that the client certainly cannot keep up.
    half(&setup, ceiling.measured / 2.0, args.repeats)?;
    twice(&setup, ceiling.measured.max(ceiling.by_cpu) * 2.0)
}

/// The client's highest rate, in operations per second.
struct Ceiling {
    /// Rate in the closed model, limited by client or server.
    measured: f64,
    /// Rate at which the client would use a whole core, computed from its CPU time per operation. If nginx is slower
    /// than the client, this rate is higher than the measured one.
    by_cpu: f64,
}

fn ceiling(setup: &Setup) -> Result<Ceiling> {
    let (run, report, nginx) = setup.get(&["-c", "64"])?;
    let measured = report.operations.completed_per_second.filter(|rate| *rate >= 2.0);
    let measured = measured.ok_or_else(|| failure("the report of the closed run has no rate"))?;
    let cost = report.client.cpu_nanos_per_operation.filter(|nanos| *nanos >= 1.0);
    let by_cpu = 1e9 / cost.ok_or_else(|| failure("the report of the closed run has no CPU time"))?;
    console::line(format_args!(
        "  ceiling   closed, c = 64: {measured:.0}/s; limited by {}, client busy at most {:.0} %, nginx {:.0} %, exit {}",
        report.limited_by,
        report.client.busy_max_share * 100.0,
        nginx * 100.0,
        run.end
    ));
    console::line(format_args!("            {by_cpu:.0}/s if the client's core were the only limit"));
    Ok(Ceiling { measured, by_cpu })
}

fn half(setup: &Setup, rate: f64, repeats: u32) -> Result<()> {
    console::line(format_args!(
        "  half      open, -R {rate:.0}; before each run a spinning thread for {} s",
        CONTROL.as_secs()
    ));
    console::line("                                                         lateness          spinning");
    console::line(
        "    run   offered/s  completed/offered        p50        p99        max        p99        max   limited by          exit",
    );
    let (mut p99s, mut controls, mut worst) = (Vec::new(), Vec::new(), 0.0_f64);
    for number in 1..=repeats {
        check_interrupt()?;
        let gaps = SpinGaps::measure(CONTROL)?;
        let (run, report, _) = setup.get(&["-R", &format!("{rate:.0}")])?;
        let (operations, lateness) = (&report.operations, &report.times.lateness);
        let share = operations.completed as f64 / operations.offered.max(1) as f64;
        let (p50, p99) = (plimsoll::quantile_micros(lateness, 0.5), plimsoll::quantile_micros(lateness, 0.99));
        let max = lateness.max_nanos.map(|nanos| nanos as f64 / 1e3);
        let control = gaps.lateness(0.99) * 1e6;
        console::line(format_args!(
            "    {number:>3}{:>12.0}{share:>19.6}{:>11}{:>11}{:>11}{:>11}{:>11}   {:<20}{}",
            operations.offered_per_second.unwrap_or(0.0),
            micros(p50),
            micros(p99),
            micros(max),
            micros(Some(control)),
            micros(Some(gaps.longest() * 1e6)),
            report.limited_by.to_string(),
            run.end
        ));
        worst = worst.max((share - 1.0).abs());
        p99s.push(p99.ok_or_else(|| failure("the report of an open run has no p99 of lateness"))?);
        controls.push(control);
    }
    let medians = median(&p99s).zip(median(&controls));
    let (p99, control) = medians.ok_or_else(|| failure("no run was made"))?;
    let within = GoalResult::from(worst <= MISS_MAX);
    console::line(format_args!(
        "    completed = offered ± {:.3} %   goal ± {} %: {within}",
        worst * 100.0,
        MISS_MAX * 100.0
    ));
    console::line(format_args!(
        "    median p99 of lateness {p99:.0} µs, of a spinning thread {control:.0} µs   goal ≤ {LATENESS_P99_MAX_US} µs: {}",
        punctual(p99, control)
    ));
    Ok(())
}

/// Compares the p99 of lateness with the goal. `control` is the p99 of lateness of a spinning thread. Both are in µs.
fn punctual(p99: f64, control: f64) -> GoalResult {
    match GoalResult::from(p99 <= LATENESS_P99_MAX_US) {
        GoalResult::NotMet if control > LATENESS_P99_MAX_US => GoalResult::NotPossible,
        result => result,
    }
}

fn twice(setup: &Setup, rate: f64) -> Result<()> {
    let (run, report, nginx) = setup.get(&["-R", &format!("{rate:.0}")])?;
    let operations = &report.operations;
    console::line(format_args!(
        "  twice     open, -R {rate:.0}: completed {:.0}/s, {} of {} dropped, client busy at most {:.0} %, nginx {:.0} %",
        operations.completed_per_second.unwrap_or(0.0),
        operations.dropped,
        operations.offered,
        report.client.busy_max_share * 100.0,
        nginx * 100.0
    ));
    let reported = report.limited_by == LimitedBy::ClientCpu && run.end == ProcessEnd::Code(3);
    console::line(format_args!(
        "    limited by {}, exit {}   goal client CPU and exit 3: {}",
        report.limited_by,
        run.end,
        GoalResult::from(reported)
    ));
    Ok(())
}

fn micros(value: Option<f64>) -> String {
    value.map_or("–".into(), |value| format!("{value:.1} µs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_with_pauses_is_blamed_only_if_the_goal_is_missed() {
        assert_eq!(punctual(150.0, 10.0), GoalResult::Met);
        assert_eq!(punctual(150.0, 900.0), GoalResult::Met);
        assert_eq!(punctual(2000.0, 199.0), GoalResult::NotMet);
        assert_eq!(punctual(2000.0, 900.0), GoalResult::NotPossible);
    }
}
