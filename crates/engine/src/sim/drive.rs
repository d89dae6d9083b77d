//! Execution of a plan on simulated time.

use super::SimNetwork;
use crate::control::{Control, StopReason};
use crate::plan::Plan;
use crate::run_loop::{Handover, OpEntry, RunLoop, Share, budget};
use measure::{Instant, Interval};
use std::collections::BTreeMap;
use wire::sigv4::Timestamp;

/// Carries out a plan, with a separate network for each thread. Returns the intervals of all threads, merged by their
/// start, and the operations. Simulated threads run one after the other. All threads share one budget of operations,
/// but a stall affects only its own thread.
pub fn simulate<'s>(plan: &Plan, network: impl Fn(u32) -> SimNetwork<'s>) -> (Vec<Interval>, Vec<OpEntry>) {
    let mut merged: BTreeMap<(Instant, usize), Interval> = BTreeMap::new();
    let ops = simulate_until(plan, network, |interval| {
        let key = (interval.start, measure::Enumerated::index(interval.stage));
        match merged.get_mut(&key) {
            Some(whole) => whole.merge(&interval),
            None => {
                merged.insert(key, interval);
            }
        }
        false
    });
    (merged.into_values().collect(), ops)
}

/// Carries out a plan like [`simulate`], but passes the intervals to `decided`, thread by thread, and keeps none. The
/// measured window ends when `decided` returns `true`, as if a controller had ended it.
pub fn simulate_until<'s>(
    plan: &Plan,
    network: impl Fn(u32) -> SimNetwork<'s>,
    mut decided: impl FnMut(Interval) -> bool,
) -> Vec<OpEntry> {
    let control = Control::new(plan.stop.bytes.map(std::num::NonZeroU64::get));
    let mut all_ops = Vec::new();
    simulate_under(plan, &control, network, |results| {
        for interval in results.intervals {
            let end = interval.end;
            if decided(interval) {
                control.stop(end, StopReason::Decided);
            }
        }
        all_ops.extend(results.ops);
    });
    all_ops
}

/// Carries out a plan like [`simulate`], but with the given control, which `receive` may also use. Passes all results
/// to `receive`, thread by thread, and keeps none.
pub fn simulate_under<'s>(
    plan: &Plan,
    control: &Control,
    network: impl Fn(u32) -> SimNetwork<'s>,
    mut receive: impl FnMut(Handover),
) {
    let threads = plan.threads_used();
    let budget = budget(&plan.stop, &plan.load, threads);
    for thread in 0..threads {
        let mut net = network(thread);
        control.stalls().forget();
        let share = Share { thread, threads };
        let mut run_loop =
            RunLoop::new(plan, control, share, budget.clone(), (Instant::ZERO, Timestamp::from_unix_seconds(0)));
        let driven = run_loop.drive(&mut net, &mut receive);
        driven.expect("a simulated network has no poller that could fail");
    }
}
