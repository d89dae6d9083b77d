//! The tables of a comparison: what each client cost, and the ratios by which goals are judged.

use super::peers::Sample;
use crate::clients::{Client, PEERS};
use crate::process::{End, Peak};
use crate::say;
use crate::statistics::{Interval, PAIRS_MIN, median, median_interval};
use crate::verdict::Verdict;
use crate::work::Work;

/// The ratios of Plimsoll's cost to a peer's, one for each pair in which both did their work.
#[derive(Clone, Debug, PartialEq)]
struct Ratios {
    values: Vec<f64>,
}

impl Ratios {
    fn of(samples: &[Sample], peer: Client, work: Work) -> Self {
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

    /// A goal is met when the whole interval is.
    fn verdict(&self, goal: f64) -> Verdict {
        self.interval().map_or(Verdict::NotJudged, |interval| Verdict::from(interval.high <= goal))
    }
}

/// Prints what came of one kind of work.
pub fn print(work: Work, pairs: u32, seconds: u64, samples: &[Sample]) {
    say::line("");
    say::line(format_args!("{}: {}; {pairs} runs of {seconds} s of each client; medians", work.name(), work.about()));
    say::line(format_args!(
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
    say::line(format_args!(
        "  {:<20}{:>8}{:>18}{:>7}{:>8}  ",
        "plimsoll / peer", "median", "95 % interval", "pairs", "goal"
    ));
    for peer in PEERS {
        print_ratio(peer, work, samples);
    }
}

fn print_cost(client: Client, work: Work, samples: &[Sample]) {
    let mine: Vec<&Sample> = samples.iter().filter(|sample| sample.client == client).collect();
    if mine.is_empty() {
        return;
    }
    let figures = |of: &dyn Fn(&Sample) -> Option<f64>| {
        let values: Vec<f64> = mine.iter().filter_map(|sample| of(sample)).collect();
        median(&values)
    };
    let show = |value: Option<f64>, digits: usize| value.map_or("–".into(), |value| format!("{value:.digits$}"));
    let rate = figures(&|sample| Some(sample.requests as f64 / sample.run.wall.as_secs_f64()));
    let speed = figures(&|sample| Some(sample.gigabytes() / sample.run.wall.as_secs_f64()));
    let cost = figures(&|sample| sample.cost(work.unit()));
    say::line(format_args!(
        "  {:<12}{:>15}{:>14}{:>9}{:>15}{}",
        client.name(),
        show(cost, 3),
        show(rate, 0),
        show(speed, 2),
        peak(&mine),
        endings(&mine)
    ));
}

/// The median of the peaks; a bound when one of those in the middle is.
fn peak(samples: &[&Sample]) -> String {
    let mut peaks: Vec<Peak> = samples.iter().map(|sample| sample.run.peak).collect();
    peaks.sort_by_key(|peak| peak.bytes());
    let middle = peaks[peaks.len() / 2];
    let mebibytes = middle.bytes() as f64 / f64::from(1 << 20);
    match middle {
        Peak::Bytes(_) => format!("{mebibytes:.1}"),
        Peak::AtMost(_) => format!("≤ {mebibytes:.1}"),
    }
}

/// What did not end as it should.
fn endings(samples: &[&Sample]) -> String {
    let bad: Vec<&&Sample> = samples.iter().filter(|sample| sample.run.end != End::Code(0)).collect();
    let Some(first) = bad.first() else { return String::new() };
    format!("   {} of {} runs failed (exit {})", bad.len(), samples.len(), first.run.end)
}

fn print_ratio(peer: Client, work: Work, samples: &[Sample]) {
    let goal = work.goal(peer);
    let ratios = Ratios::of(samples, peer, work);
    let ran = samples.iter().any(|sample| sample.client == peer);
    if !ran && goal.is_none() && peer.left_out_of(work).is_none() {
        return;
    }
    let median = median(&ratios.values).map_or("–".into(), |ratio| format!("{ratio:.3}"));
    let interval = match ratios.interval() {
        Some(interval) => format!("{:.3} … {:.3}", interval.low, interval.high),
        None => "n/a".into(),
    };
    let bound = goal.map_or("–".into(), |goal| format!("≤ {goal:.2}"));
    let verdict = goal.map(|goal| ratios.verdict(goal).to_string()).unwrap_or_default();
    let why = match peer.left_out_of(work) {
        Some(reason) => format!("left out: {reason}"),
        None if !ran => "not on PATH".into(),
        None if ratios.values.len() < PAIRS_MIN => format!("an interval needs {PAIRS_MIN} pairs"),
        None => String::new(),
    };
    let line = format!(
        "  {:<20}{median:>8}{interval:>18}{:>7}{bound:>8}  {verdict:<8}{why}",
        peer.name(),
        ratios.values.len()
    );
    say::line(line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Run;
    use std::time::Duration;

    fn sample(client: Client, pair: u32, cpu_ms: u64, end: End) -> Sample {
        let run = Run { wall: Duration::from_secs(1), cpu: Duration::from_millis(cpu_ms), peak: Peak::Bytes(1), end };
        Sample { client, pair, run, requests: 1000, bytes: 1_000_000_000 }
    }

    fn pairs(count: u32, ours: impl Fn(u32) -> u64) -> Vec<Sample> {
        let pair = |pair| {
            [sample(Client::Wrk, pair, 1000, End::Code(0)), sample(Client::Plimsoll, pair, ours(pair), End::Code(0))]
        };
        (0..count).flat_map(pair).collect()
    }

    #[test]
    fn a_goal_is_met_by_the_upper_end_of_the_interval() {
        // Ratios 0.80 to 0.91: the third largest of twelve is 0.89.
        let samples = pairs(12, |pair| 800 + 10 * u64::from(pair));
        let ratios = Ratios::of(&samples, Client::Wrk, Work::Small64);
        assert!((ratios.interval().unwrap().high - 0.89).abs() < 1e-9);
        assert_eq!(ratios.verdict(0.8901), Verdict::Met);
        assert_eq!(ratios.verdict(0.8899), Verdict::NotMet);
    }

    #[test]
    fn few_or_failed_pairs_judge_nothing() {
        let few = Ratios::of(&pairs(11, |_| 1), Client::Wrk, Work::Small64);
        assert_eq!((few.values.len(), few.verdict(1.0)), (11, Verdict::NotJudged));

        let mut samples = pairs(12, |_| 1);
        samples[0].run.end = End::Code(3);
        samples[3].requests = 0;
        let failed = Ratios::of(&samples, Client::Wrk, Work::Small64);
        assert_eq!((failed.values.len(), failed.verdict(1.0)), (10, Verdict::NotJudged));
    }

    #[test]
    fn costs_have_their_unit() {
        let one = sample(Client::Wrk, 0, 500, End::Code(0));
        assert_eq!(one.cost(Work::Small64.unit()), Some(500.0));
        assert_eq!(one.cost(Work::Large.unit()), Some(0.5));
        assert_eq!(sample(Client::Wrk, 0, 500, End::TimeLimit).cost(Work::Large.unit()), None);
    }
}
