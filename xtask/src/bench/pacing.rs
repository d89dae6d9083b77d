//! `cargo xtask bench pacing`: the open model at half of the client's ceiling, where it must keep its schedule, and at
//! twice the ceiling, where it must say that it could not. Before each run at half, a control: how late would a thread have
//! been that does nothing but read the clock.

use crate::failure::{Result, failure, go_on};
use crate::host;
use crate::nginx::{Nginx, Served};
use crate::process::{CLIENT, End, Run};
use crate::program::{self, Choice, EXTRA};
use crate::say;
use crate::statistics::median;
use crate::stops::Stops;
use crate::verdict::Verdict;
use report::JsonReport;
use report::json::LimitedBy;
use std::path::PathBuf;
use std::time::Duration;

/// How far completed may be from offered, as a share.
const MISS_MAX: f64 = 0.001;
const LATENESS_P99_MAX_US: f64 = 200.0;
/// How long the control spins.
const CONTROL: Duration = Duration::from_secs(3);

/// How long, and how often.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Length of each run.
    #[arg(long, value_name = "S", default_value = "10", value_parser = clap::value_parser!(u64).range(3..=60))]
    seconds: u64,
    /// Runs at half of the ceiling.
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=50))]
    repeats: u32,
    #[command(flatten)]
    program: Choice,
}

/// Program, server and length of all runs.
struct Ground {
    program: PathBuf,
    nginx: Nginx,
    seconds: u64,
}

impl Ground {
    /// Runs `plimsoll get`; answers the share of the run for which nginx was busy, too.
    fn get(&self, words: &[&str]) -> Result<(Run, JsonReport, f64)> {
        go_on()?;
        let before = self.nginx.cpu()?;
        let (url, duration) = (self.nginx.url(Served::Kibibyte), format!("{}s", self.seconds));
        let words: Vec<&str> = words.iter().copied().chain(["-d", &duration, &url]).collect();
        let limit = Duration::from_secs(self.seconds) + EXTRA;
        let (run, report) = program::get(&self.program, &words, CLIENT, self.nginx.directory(), limit)?;
        let used = self.nginx.cpu()?.saturating_sub(before);
        Ok((run, report, used.as_secs_f64() / run.wall.as_secs_f64()))
    }
}

/// Carries it out.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    host::print()?;
    let ground = Ground { program, nginx: Nginx::start(&[Served::Kibibyte])?, seconds: args.seconds };
    say::line("");
    say::line(format_args!("pacing: GET 1 KiB, runs of {} s, client alone on core 1", args.seconds));
    let ceiling = ceiling(&ground)?;
    // Half of what was seen, so that nginx can answer; twice of the higher, so that the client certainly can not ask.
    half(&ground, ceiling.measured / 2.0, args.repeats)?;
    twice(&ground, ceiling.measured.max(ceiling.by_cpu) * 2.0)
}

/// What the client can carry, in operations per second.
struct Ceiling {
    /// What it carried when nothing but answers held it up.
    measured: f64,
    /// What it would carry with its core to itself and a server that is never the limit: one core's time divided by what
    /// an operation cost. nginx may well be busier than the client, and then the measured rate is nginx's.
    by_cpu: f64,
}

fn ceiling(ground: &Ground) -> Result<Ceiling> {
    let (run, report, nginx) = ground.get(&["-c", "64"])?;
    let measured = report.operations.completed_per_second.filter(|rate| *rate >= 2.0);
    let measured = measured.ok_or_else(|| failure("the report of the closed run has no rate"))?;
    let cost = report.client.cpu_nanos_per_operation.filter(|nanos| *nanos >= 1.0);
    let by_cpu = 1e9 / cost.ok_or_else(|| failure("the report of the closed run has no CPU time"))?;
    say::line(format_args!(
        "  ceiling   closed, c = 64: {measured:.0}/s; limited by {}, client busy at most {:.0} %, nginx {:.0} %, exit {}",
        report.limited_by,
        report.client.busy_max_share * 100.0,
        nginx * 100.0,
        run.end
    ));
    say::line(format_args!(
        "            {by_cpu:.0}/s by what an operation cost the client's core, were nginx never the limit"
    ));
    Ok(Ceiling { measured, by_cpu })
}

fn half(ground: &Ground, rate: f64, repeats: u32) -> Result<()> {
    say::line(format_args!(
        "  half      open, -R {rate:.0}; before each run a thread that only spins, for {} s",
        CONTROL.as_secs()
    ));
    say::line("                                                         lateness          spinning");
    say::line(
        "    run   offered/s  completed/offered        p50        p99        max        p99        max   limited by          exit",
    );
    let (mut p99s, mut controls, mut worst) = (Vec::new(), Vec::new(), 0.0_f64);
    for number in 1..=repeats {
        go_on()?;
        let stops = Stops::watch(CONTROL)?;
        let (run, report, _) = ground.get(&["-R", &format!("{rate:.0}")])?;
        let (operations, lateness) = (&report.operations, &report.times.lateness);
        let share = operations.completed as f64 / operations.offered.max(1) as f64;
        let (p50, p99) = (program::quantile_micros(lateness, 0.5), program::quantile_micros(lateness, 0.99));
        let max = lateness.max_nanos.map(|nanos| nanos as f64 / 1e3);
        let control = stops.lateness(0.99) * 1e6;
        say::line(format_args!(
            "    {number:>3}{:>12.0}{share:>19.6}{:>11}{:>11}{:>11}{:>11}{:>11}   {:<20}{}",
            operations.offered_per_second.unwrap_or(0.0),
            micros(p50),
            micros(p99),
            micros(max),
            micros(Some(control)),
            micros(Some(stops.longest() * 1e6)),
            report.limited_by.to_string(),
            run.end
        ));
        worst = worst.max((share - 1.0).abs());
        p99s.push(p99.ok_or_else(|| failure("the report of an open run has no p99 of lateness"))?);
        controls.push(control);
    }
    let medians = median(&p99s).zip(median(&controls));
    let (p99, control) = medians.ok_or_else(|| failure("there was no run"))?;
    let within = Verdict::from(worst <= MISS_MAX);
    say::line(format_args!(
        "    completed = offered ± {:.3} %   goal ± {} %: {within}",
        worst * 100.0,
        MISS_MAX * 100.0
    ));
    say::line(format_args!(
        "    median of the p99 of lateness {p99:.0} µs, of a spinning thread {control:.0} µs   goal ≤ {LATENESS_P99_MAX_US} µs: {}",
        punctual(p99, control)
    ));
    Ok(())
}

/// Whether the p99 of lateness is low enough, given what a spinning thread's would have been; both in µs.
fn punctual(p99: f64, control: f64) -> Verdict {
    match Verdict::from(p99 <= LATENESS_P99_MAX_US) {
        Verdict::NotMet if control > LATENESS_P99_MAX_US => Verdict::NotPossible,
        verdict => verdict,
    }
}

fn twice(ground: &Ground, rate: f64) -> Result<()> {
    let (run, report, nginx) = ground.get(&["-R", &format!("{rate:.0}")])?;
    let operations = &report.operations;
    say::line(format_args!(
        "  twice     open, -R {rate:.0}: completed {:.0}/s, {} of {} dropped, client busy at most {:.0} %, nginx {:.0} %",
        operations.completed_per_second.unwrap_or(0.0),
        operations.dropped,
        operations.offered,
        report.client.busy_max_share * 100.0,
        nginx * 100.0
    ));
    let told = report.limited_by == LimitedBy::ClientCpu && run.end == End::Code(3);
    say::line(format_args!(
        "    limited by {}, exit {}   goal client CPU and exit 3: {}",
        report.limited_by,
        run.end,
        Verdict::from(told)
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
    fn a_machine_that_stops_a_spinning_thread_is_named_only_where_the_goal_is_missed() {
        assert_eq!(punctual(150.0, 10.0), Verdict::Met);
        assert_eq!(punctual(150.0, 900.0), Verdict::Met);
        assert_eq!(punctual(2000.0, 199.0), Verdict::NotMet);
        assert_eq!(punctual(2000.0, 900.0), Verdict::NotPossible);
    }
}
