//! Tests that a search over the number of operations in flight finds known load lines. Time is simulated. Each of
//! twenty targets becomes slow above a different number of operations in flight.

#[path = "../../engine/tests/support/mod.rs"]
mod support;

use engine::plan::StopAfter;
use engine::sim::{Reply, SimNetwork, simulate};
use measure::objective::ObjectiveOutcome;
use measure::result::load_line::{Found, Outcome};
use measure::{Instant, Objective};
use std::cell::RefCell;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::time::Duration;
use study::load_line::search::{Bounds, Search, SearchStep};
use support::*;

/// Response time with at most `line` requests in flight.
const FAST: Duration = Duration::from_millis(5);
/// Additional response time for each request in flight above the line.
const SLOWER: Duration = Duration::from_millis(10);

/// Returns whether a target with the load line `line` passes a level that lasts 100 ms.
fn passes(line: u64, level: u64, objective: &Objective) -> bool {
    let mut plan = plan();
    plan.load = closed(level);
    plan.stop = StopAfter { time: Some(ms(100)), ..StopAfter::default() };
    let ends: Rc<RefCell<Vec<Instant>>> = Rc::default();
    let network = || {
        let ends = Rc::clone(&ends);
        SimNetwork::new(move |now: Instant, _: &str| -> Vec<(Instant, Reply)> {
            let mut ends = ends.borrow_mut();
            ends.retain(|end| *end > now);
            let above = (ends.len() as u64 + 1).saturating_sub(line);
            let end = now + FAST + SLOWER * u32::try_from(above).unwrap();
            ends.push(end);
            respond_at(end, 10)
        })
    };
    let (intervals, _) = simulate(&plan, |_| network());
    objective.judge(&summary(&plan, &intervals), &plan.load.model()).outcome != ObjectiveOutcome::Missed
}

#[test]
fn twenty_planted_lines_are_found() {
    let objective: Objective = "response p99 <= 8ms".parse().unwrap();
    for number in 0..20_u64 {
        let line = 3 + number * number;
        let to = NonZeroU64::new(4096).unwrap();
        let mut search = Search::new(Bounds { least: NonZeroU64::MIN, from: NonZeroU64::MIN, to, precision: 0.05 });
        let found = loop {
            match search.next() {
                SearchStep::Done(found) => break found,
                SearchStep::Try(level) if passes(line, level, &objective) => search.record(&Outcome::Passed),
                SearchStep::Try(_) => search.record(&Outcome::Failed { why: objective.to_string() }),
            }
        };
        let Found::Line { passed, failed } = found else { panic!("line {line}: {found:?}") };
        // The objective tolerates one slow request in a hundred, so the search may find a line that is slightly too
        // high.
        let most = line + line / 50 + 1;
        assert!(passed <= most && line < failed, "line {line}: {found:?}");
        assert!(passed as f64 >= line as f64 * 0.9 - 1.0, "line {line}: {found:?}");
    }
}
