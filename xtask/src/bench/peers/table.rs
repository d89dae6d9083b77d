//! Tables that compare clients: the cost of each client, and the ratios of costs with their goals.

use super::clients::{Client, PEERS};
use super::goals::goal;
use super::sample::Sample;
use super::workload::Workload;
use crate::console;
use crate::goal::GoalResult;
use crate::median::{Interval, PAIRS_MIN, median, median_interval};
use crate::process::{PeakMemory, ProcessEnd};

/// Ratios: Plimsoll's cost divided by the cost of a peer, for each pair of successful runs.
#[derive(Clone, Debug, PartialEq)]
struct Ratios {
    values: Vec<f64>,
}

impl Ratios {
    fn of(samples: &[Sample], peer: Client, work: Workload) -> Self {
        let cost = |client, pair| {
            let sample = samples.iter().find(|sample| sample.client == client && sample.pair == pair);
            sample.and_then(|sample| sample.cost(work.unit()))
        };
        let pairs = samples.iter().filter(|sample| sample.client == peer).map(|sample| sample.pair);
        let ratio = |pair| Some(cost(Client::Plimsoll, pair)? / cost(peer, pair)?);
        Self { values: pairs.filter_map(ratio).collect() }
    }

    fn interval(&self) -> Option<Interval> {
        median_interval(&self.values)
    }

    /// Compares the ratios with a goal. The goal is met if the whole confidence interval is at or below the goal.
    fn result(&self, goal: f64) -> GoalResult {
        self.interval().map_or(GoalResult::NotJudged, |interval| GoalResult::from(interval.high <= goal))
    }
}

/// Prints the tables of one workload.
pub fn print(work: Workload, pairs: u32, seconds: u64, samples: &[Sample]) {
    console::line("");
    console::line(format_args!(
        "{}: {}; {pairs} runs of {seconds} s of each client; medians",
        work.name(),
        work.about()
    ));
    console::line(format_args!(
        "  {:<12}{:>15}{:>14}{:>9}{:>15}",
        "client",
        work.unit().heading(),
        "requests/s",
        "GB/s",
        "peak RSS MiB"
    ));
    for client in std::iter::once(Client::Plimsoll).chain(PEERS) {
        print_cost(client, work, samples);
    }
    console::line(format_args!(
        "  {:<20}{:>8}{:>18}{:>7}{:>8}  ",
        "plimsoll / peer", "median", "95 % interval", "pairs", "goal"
    ));
    for peer in PEERS {
        print_ratio(peer, work, samples);
    }
}

fn print_cost(client: Client, work: Workload, samples: &[Sample]) {
    let mine: Vec<&Sample> = samples.iter().filter(|sample| sample.client == client).collect();
    if mine.is_empty() {
        return;
    }
    let median_of = |of: &dyn Fn(&Sample) -> Option<f64>| {
        let values: Vec<f64> = mine.iter().filter_map(|sample| of(sample)).collect();
        median(&values)
    };
    let show = |value: Option<f64>, digits: usize| value.map_or("–".into(), |value| format!("{value:.digits$}"));
    let rate = median_of(&|sample| Some(sample.requests as f64 / sample.run.wall.as_secs_f64()));
    let speed = median_of(&|sample| Some(sample.gigabytes() / sample.run.wall.as_secs_f64()));
    let cost = median_of(&|sample| sample.cost(work.unit()));
    console::line(format_args!(
        "  {:<12}{:>15}{:>14}{:>9}{:>15}{}",
        client.name(),
        show(cost, 3),
        show(rate, 0),
        show(speed, 2),
        peak(&mine),
        failures(&mine)
    ));
}

/// Returns the median of the peak memories. The prefix `≤` marks a median that is only an upper bound.
fn peak(samples: &[&Sample]) -> String {
    let mut peaks: Vec<PeakMemory> = samples.iter().map(|sample| sample.run.peak).collect();
    peaks.sort_by_key(|peak| peak.bytes());
    let middle = peaks[peaks.len() / 2];
    let mebibytes = middle.bytes() as f64 / f64::from(1 << 20);
    match middle {
        PeakMemory::Bytes(_) => format!("{mebibytes:.1}"),
        PeakMemory::AtMost(_) => format!("≤ {mebibytes:.1}"),
    }
}

/// Returns a note about failed runs, if there are any.
fn failures(samples: &[&Sample]) -> String {
    let bad: Vec<&&Sample> = samples.iter().filter(|sample| sample.run.end != ProcessEnd::Code(0)).collect();
    let Some(first) = bad.first() else { return String::new() };
    format!("   {} of {} runs failed (exit {})", bad.len(), samples.len(), first.run.end)
}

fn print_ratio(peer: Client, work: Workload, samples: &[Sample]) {
    let goal = goal(work, peer);
    let ratios = Ratios::of(samples, peer, work);
    let ran = samples.iter().any(|sample| sample.client == peer);
    if !ran && goal.is_none() && peer.exclusion(work).is_none() {
        return;
    }
    let median = median(&ratios.values).map_or("–".into(), |ratio| format!("{ratio:.3}"));
    let interval = match ratios.interval() {
        Some(interval) => format!("{:.3} … {:.3}", interval.low, interval.high),
        None => "n/a".into(),
    };
    let bound = goal.map_or("–".into(), |goal| format!("≤ {goal:.2}"));
    let result = goal.map(|goal| ratios.result(goal).to_string()).unwrap_or_default();
    let why = match peer.exclusion(work) {
        Some(reason) => format!("left out: {reason}"),
        None if !ran => "not on PATH".into(),
        None if ratios.values.len() < PAIRS_MIN => format!("an interval needs {PAIRS_MIN} pairs"),
        None => String::new(),
    };
    let line =
        format!("  {:<20}{median:>8}{interval:>18}{:>7}{bound:>8}  {result:<8}{why}", peer.name(), ratios.values.len());
    console::line(line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Run;
    use std::time::Duration;

    fn sample(client: Client, pair: u32, cpu_ms: u64, end: ProcessEnd) -> Sample {
        let run =
            Run { wall: Duration::from_secs(1), cpu: Duration::from_millis(cpu_ms), peak: PeakMemory::Bytes(1), end };
        Sample { client, pair, run, requests: 1000, bytes: 1_000_000_000 }
    }

    fn pairs(count: u32, ours: impl Fn(u32) -> u64) -> Vec<Sample> {
        let pair = |pair| {
            [
                sample(Client::Wrk, pair, 1000, ProcessEnd::Code(0)),
                sample(Client::Plimsoll, pair, ours(pair), ProcessEnd::Code(0)),
            ]
        };
        (0..count).flat_map(pair).collect()
    }

    #[test]
    fn a_goal_is_met_by_the_upper_end_of_the_interval() {
        // The twelve ratios are 0.80, 0.81 and so on up to 0.91, so the third largest is 0.89.
        let samples = pairs(12, |pair| 800 + 10 * u64::from(pair));
        let ratios = Ratios::of(&samples, Client::Wrk, Workload::Small64);
        assert!((ratios.interval().unwrap().high - 0.89).abs() < 1e-9);
        assert_eq!(ratios.result(0.8901), GoalResult::Met);
        assert_eq!(ratios.result(0.8899), GoalResult::NotMet);
    }

    #[test]
    fn a_goal_is_not_judged_by_few_or_failed_pairs() {
        let few = Ratios::of(&pairs(11, |_| 1), Client::Wrk, Workload::Small64);
        assert_eq!((few.values.len(), few.result(1.0)), (11, GoalResult::NotJudged));

        let mut samples = pairs(12, |_| 1);
        samples[0].run.end = ProcessEnd::Code(3);
        samples[3].requests = 0;
        let failed = Ratios::of(&samples, Client::Wrk, Workload::Small64);
        assert_eq!((failed.values.len(), failed.result(1.0)), (10, GoalResult::NotJudged));
    }

    #[test]
    fn costs_are_per_request_or_per_gigabyte() {
        let one = sample(Client::Wrk, 0, 500, ProcessEnd::Code(0));
        assert_eq!(one.cost(Workload::Small64.unit()), Some(500.0));
        assert_eq!(one.cost(Workload::Large.unit()), Some(0.5));
        assert_eq!(sample(Client::Wrk, 0, 500, ProcessEnd::TimeLimit).cost(Workload::Large.unit()), None);
    }
}
