//! The cost of redirects, computed from pairs of runs. Both runs of a pair read the same objects. One run reads through
//! a single server, which redirects. The other run reads directly from the servers that own the objects.

use crate::compared_metrics::median;
use crate::number::{byte_rate, count, plural, rate, share};
use crate::text::table;
use measure::limits;
use measure::statistics::difference::{Difference, Scale, range_of_pairs};
use store::SavedRun;

/// Two consecutive runs, in either order: one reads through a single server, the other directly from the owners of the
/// objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunPair {
    /// Goodput through one server, in bytes per second. For empty objects, this is the number of operations per second.
    entry: f64,
    /// Goodput from the owners, in the same unit.
    owners: f64,
    /// Successful operations per second, through one server and from the owners.
    rates: [f64; 2],
    /// Time until the last request of a redirected operation is sent, as a share of the response time.
    redirects: Option<f64>,
    /// Number of runs in the pair that were limited by the client or its host: 0, 1 or 2.
    client_limited: u64,
}

/// A list of objects, with all pairs of runs that read it.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedList {
    /// Name of the list. Escaped.
    pub name: String,
    /// Share of the list's objects that are redirected, from 0 to 1.
    pub share: f64,
    /// The pairs.
    pub pairs: Vec<RunPair>,
}

impl RunPair {
    /// Returns the pair of two saved runs.
    #[must_use]
    pub fn of(entry: &SavedRun, owners: &SavedRun) -> Self {
        let goodput = |run: &SavedRun| run.summary().goodput().unwrap_or(0.0);
        let rate = |run: &SavedRun| run.summary().ok_rate().unwrap_or(0.0);
        let rates = [rate(entry), rate(owners)];
        let bodies = goodput(entry) > 0.0 && goodput(owners) > 0.0;
        let limited = |run: &&&SavedRun| limits::limited_by(run.summary(), &run.begin.model).is_client();
        let chains = entry.summary().stats.redirect_chains.as_deref();
        Self {
            entry: if bodies { goodput(entry) } else { rates[0] },
            owners: if bodies { goodput(owners) } else { rates[1] },
            rates,
            client_limited: [entry, owners].iter().filter(limited).count() as u64,
            redirects: chains
                .and_then(|chains| chains.share(u128::from(chains.redirect_nanos) + u128::from(chains.reach_nanos))),
        }
    }
}

/// The share of goodput that is lost when reading through one server instead of directly from the owners. The share is
/// negative if reading through one server is faster. Pairs in which nothing succeeded also count, as in all comparisons
/// of pairs ([`measure::statistics::difference`]).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    /// Median over the pairs (Hodges-Lehmann).
    value: f64,
    /// Lower end of the 95 % interval, or of the range of the pairs if there are fewer than 6.
    from: f64,
    /// Upper end of the same interval or range.
    to: f64,
    /// `true` if `from` and `to` are the ends of a 95 % interval, and `false` if they are the range of the pairs.
    is_interval: bool,
}

impl Cost {
    fn of(pairs: &[RunPair]) -> Option<Self> {
        let owners: Vec<f64> = pairs.iter().map(|pair| pair.owners).collect();
        let entry: Vec<f64> = pairs.iter().map(|pair| pair.entry).collect();
        let difference = Difference::of_pairs(&owners, &entry, Scale::Relative)?;
        let (low, high) = difference.interval.or_else(|| range_of_pairs(&owners, &entry, Scale::Relative))?;
        Some(Self { value: -difference.change, from: -high, to: -low, is_interval: difference.interval.is_some() })
    }
}

/// Returns a table that compares both ways of reading, with an explanation.
#[must_use]
pub fn text(lists: &[PairedList]) -> String {
    let head = ["", "redirected", "through one", "at the owners", "cost", "interval", "in redirects"];
    let rows = lists.iter().flat_map(|list| {
        let of = |metric: fn(&RunPair) -> f64| median(list.pairs.iter().map(metric).collect());
        let shown = |value: Option<f64>, show: fn(f64) -> String| value.map_or_else(|| "–".to_owned(), show);
        let cost = Cost::of(&list.pairs);
        let range = cost.map_or_else(
            || "–".to_owned(),
            |cost| {
                let ends = format!("{} to {}", share_of(cost.from), share_of(cost.to));
                if cost.is_interval { ends } else { format!("({ends})") }
            },
        );
        let redirects = median(list.pairs.iter().filter_map(|pair| pair.redirects).collect());
        [
            [
                list.name.clone(),
                share(list.share),
                shown(of(|pair| pair.entry), byte_rate),
                shown(of(|pair| pair.owners), byte_rate),
                shown(cost.map(|cost| cost.value), share_of),
                range,
                shown(redirects, share),
            ],
            [
                format!("  {} pairs", count(list.pairs.len() as u64)),
                String::new(),
                shown(of(|pair| pair.rates[0]), rate),
                shown(of(|pair| pair.rates[1]), rate),
                String::new(),
                String::new(),
                String::new(),
            ],
        ]
    });
    let rows: Vec<[String; 7]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let about = "cost is the share of goodput lost through one server, with its 95 % interval (range if < 6 pairs)\n\
                 in redirects is the share of the response time of redirected operations before their last request\n";
    let limited: u64 = lists.iter().flat_map(|list| &list.pairs).map(|pair| pair.client_limited).sum();
    let runs = 2 * lists.iter().map(|list| list.pairs.len()).sum::<usize>() as u64;
    let noise = format!(
        "the client or its host limited {} of {runs}, so part of the cost may have other reasons than redirects\n",
        plural(limited, "run")
    );
    table(&rows) + about + if limited > 0 { &noise } else { "" }
}

/// Formats a share that may be negative.
fn share_of(value: f64) -> String {
    if value.is_infinite() { "-∞".to_owned() } else { format!("{:.1} %", value * 100.0 + 0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_the_missing_goodput() {
        let pair = |entry, owners| {
            let rates = [entry / 1e5, owners / 1e5];
            RunPair { entry, owners, rates, redirects: Some(0.5), client_limited: 1 }
        };
        let cost = |pairs: &[RunPair]| Cost::of(pairs).map(|cost| (cost.value * 1e6).round() / 1e6);
        assert_eq!(cost(&[pair(5e8, 1e9)]), Some(0.5));
        assert_eq!(cost(&[pair(1e9, 1e9)]), Some(0.0));
        assert_eq!(cost(&[pair(0.0, 1e9); 3]), Some(1.0));
        assert_eq!((cost(&[pair(1.0, 0.0)]), cost(&[])), (Some(f64::NEG_INFINITY), None));
        let six = Cost::of(&[pair(5e8, 1e9); 6]);
        assert!(six.is_some_and(|cost| cost.is_interval && (cost.to - 0.5).abs() < 1e-9), "{six:?}");
        let pairs = vec![pair(5e8, 1e9), pair(6e8, 1e9), pair(5.5e8, 1e9)];
        let shown = text(&[
            PairedList { name: "small.txt".into(), share: 0.75, pairs },
            PairedList { name: "none.txt".into(), share: 0.0, pairs: Vec::new() },
        ]);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(shown.contains("the client or its host limited 3 runs of 6"), "{shown}");
        assert!(lines[1].contains("75.00 %") && lines[1].contains("550.00 MB/s"), "{shown}");
        assert!(lines[1].contains("45.1 %") && lines[1].contains("(40.0 % to 50.0 %)"), "{shown}");
        assert!(lines[3].contains('–') && lines.iter().all(|line| line.chars().count() <= 110), "{shown}");
    }
}
