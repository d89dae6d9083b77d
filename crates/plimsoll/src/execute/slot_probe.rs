//! Probes: short runs with half and twice the slots, made after a run of the closed model. Probes show whether the
//! number of slots limited the run.

use super::prepare::own_descriptors;
use super::written_objects::make_load;
use crate::console;
use crate::progress::{Interrupts, Progress};
use engine::plan::{LoadModel, Plan, StopAfter};
use engine::run_loop::OpEntry;
use engine::schedule::Profile;
use engine::{Control, Left, Observer};
use measure::evidence::{Probe, Probes};
use measure::limits;
use measure::{Instant, Interval, Summary};
use std::num::NonZeroU64;
use std::time::Duration;

/// Time limit after each probe for operations that are still in flight.
const DRAIN: Duration = Duration::from_secs(2);

/// An observer that adds up the results of a probe, and handles interrupts.
struct ProbeRun<'p> {
    plan: &'p Plan,
    progress: &'p Progress,
    interrupts: Interrupts,
    summary: Summary,
}

impl Observer for ProbeRun<'_> {
    fn interval(&mut self, interval: &Interval, _: &Control, _: Instant) {
        self.summary.add(&self.plan.load.model(), interval);
    }

    fn ops(&mut self, _: &[OpEntry]) {}

    fn tick(&mut self, control: &Control, now: Instant) {
        self.interrupts.handle("operations", control, now);
        self.progress.tick(now);
    }
}

/// Runs the probes, each for `time`. Adds objects and uploads that remain on the server to `left`. Returns `None`
/// unless the load has a fixed number of slots.
pub fn run(plan: &Plan, time: Duration, progress: &Progress, left: &mut Left) -> Option<Probes> {
    let progress = &progress.aside();
    let LoadModel::Closed { slots, .. } = &plan.load else { return None };
    let slots = NonZeroU64::new(slots.peak() as u64).filter(|_| slots.is_constant())?.get();
    let most = sys::limits::descriptor_limits().map_or(u64::MAX, |limits| limits.soft);
    let fits = |slots: &u64| *slots <= most.saturating_sub(own_descriptors(plan.threads_used()));
    let lower = Some(slots / 2).filter(|slots| *slots > 0);
    let higher = slots.checked_mul(2).filter(fits);
    if higher.is_none() {
        console::eprintln(&format!(
            "--probe: too few file descriptors for {} slots; skipping that probe",
            slots.saturating_mul(2)
        ));
    }
    let mut measure = |slots: Option<u64>| slots.and_then(|slots| run_one((plan, slots, time), progress, left));
    Some(Probes { lower: measure(lower), higher: measure(higher) })
}

/// Runs one probe. Returns `None` if the probe failed or was interrupted.
fn run_one((plan, slots, time): (&Plan, u64, Duration), progress: &Progress, left: &mut Left) -> Option<Probe> {
    let LoadModel::Closed { think, .. } = plan.load else { return None };
    let load = LoadModel::Closed { slots: Profile::slots(NonZeroU64::new(slots)?), think };
    let stop = StopAfter { time: Some(time), ..StopAfter::default() };
    // Exclude the start of the probe from its results, because connections are opened and queues fill up then.
    let warmup = time / 4;
    let plan = Plan { load, stop, warmup, drain: DRAIN, log_ops: false, slices: None, ..plan.clone() };
    console::eprintln(&format!("probe: {slots} slots for {} s", (time + warmup).as_secs_f64()));
    let model = plan.load.model();
    let mut observer =
        ProbeRun { plan: &plan, progress, interrupts: Interrupts::default(), summary: Summary::default() };
    let ran = make_load(None, &plan, &Control::new(None), &mut observer);
    let failed = ran.is_err();
    left.merge(ran.map_or_else(|error| error.left, |ending| ending.left));
    if failed || observer.interrupts.signal() != 0 {
        return None;
    }
    let mut summary = observer.summary;
    summary.all = summary.stats.all_kinds();
    Some(Probe {
        slots,
        operations: summary.window_ok,
        per_second: summary.ok_rate()?,
        client_limited: limits::limited_by(&summary, &model).is_client(),
    })
}
