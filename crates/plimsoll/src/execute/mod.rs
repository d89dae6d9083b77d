//! Runs plans, and saves the measurements of runs in progress.

mod abort_uploads;
mod companion;
mod damaged_object;
mod description;
mod host;
mod options;
mod prepare;
mod recording;
mod run_end;
mod slot_probe;
mod written_objects;

pub use abort_uploads::abort_all;
pub use companion::Companion;
pub use description::{command_line, load_text};
pub use host::name as host_name;
pub use options::{PartEvent, PartOfFleet, RunOptions};
pub use prepare::{own_descriptors, prepare};
pub use recording::stopped_early;
pub use run_end::unreachable;
pub use written_objects::{forget_written, written};

use crate::collectors::Collecting;
use crate::console;
use crate::emulated_link::LinkDuringRun;
use crate::failure::{Exit, Failure};
use crate::saved::{self, cannot_save, repeats};
use companion::Accompanied;
use engine::Control;
use engine::plan::{Plan, StopAfter};
use measure::{Instant, MonotonicClock};
use recording::Recording;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::{End, EndReason, NewRun, RollUpRules, SavedRun};
use study::objective_monitor::ObjectiveMonitor;

/// Minimum size of memory blocks that return to the system as soon as they are freed. Histograms are larger, and live
/// for about a second. If histograms were on the shared heap, memory would grow with the length of a run. TLS buffers
/// must stay below this size, because they often grow and shrink between 8 and 36 KiB.
const GIVEN_BACK_BYTES: u32 = 64 << 10;

/// Prepares this process for runs: sets up memory allocation and the handling of interrupts.
pub fn prepare_process() {
    sys::memory::give_back_from(GIVEN_BACK_BYTES);
    let _ = sys::signals::catch_interrupts();
}

/// Runs the plan `options.repeat` times, and shows the results. Returns the saved runs and the exit code.
pub fn run_and_show(mut plan: Plan, options: &RunOptions) -> Result<(Vec<SavedRun>, Exit), Failure> {
    prepare_process();
    prepare(&mut plan)?;
    let base = run_directory(&plan, options);
    let mut runs = Vec::new();
    let mut exit = Exit::Good;
    for number in 1..=options.repeat {
        let directory = if options.repeat > 1 { repeats::directory(&base, number) } else { base.clone() };
        let options = &RunOptions { number: Some((number, options.repeat)), ..options.clone() };
        let (run, _) = run_in(&plan, options, &directory, (None, None))?;
        if let Some(failure) = unreachable(&plan, &run) {
            return Err(failure);
        }
        if options.repeat == 1 || repeats::prints_each(options.format) {
            saved::print_run(&run, options.format)?;
        }
        exit = exit.or_worse(saved::conclude(&run));
        runs.push(run);
        if matches!(exit, Exit::Interrupted(_) | Exit::CouldNotRun) {
            break;
        }
    }
    if options.repeat > 1 {
        repeats::print_together(&runs, options.format)?;
    }
    console::eprintln(&saved::saved_in(&base, options.format));
    Ok((runs, exit))
}

/// Runs a prepared plan and saves the run, but does not show it. Fails if the target is unreachable.
pub fn run(plan: &Plan, options: &RunOptions) -> Result<SavedRun, Failure> {
    let (run, _) = run_level(plan, options)?;
    unreachable(plan, &run).map_or(Ok(run), Err)
}

/// Creates the files of a run before its start, so that a slow disk does not delay the start.
pub fn create_files(directory: &Path) -> Result<NewRun, Failure> {
    NewRun::create(directory).map_err(|error| cannot_save("the run", &error))
}

/// Runs a prepared plan with files from [`create_files`] and saves the run, but does not show it. An unreachable target
/// is a result.
pub fn run_with_files(plan: &Plan, options: &RunOptions, directory: &Path, files: NewRun) -> Result<SavedRun, Failure> {
    run_in(plan, options, directory, (Some(files), None)).map(|(run, _)| run)
}

/// Like [`run`], but returns a result instead of an error if the target is unreachable. Also returns the monitor from
/// the options, which then contains the observations of the run.
pub fn run_level(plan: &Plan, options: &RunOptions) -> Result<(SavedRun, Option<ObjectiveMonitor>), Failure> {
    run_in(plan, options, &run_directory(plan, options), (None, None))
}

/// Runs a prepared plan in this directory with a companion, and saves the run, but does not show it. An unreachable
/// target is a result. Does not abort uploads that the run leaves open, so that a later run can continue them.
pub fn run_with(
    plan: &Plan,
    options: &RunOptions,
    directory: &Path,
    companion: Companion<'_>,
) -> Result<SavedRun, Failure> {
    run_in(plan, options, directory, (None, Some(companion))).map(|(run, _)| run)
}

/// Returns the run directory. If the user named no directory, returns a new directory with the time and the target in
/// its name.
pub fn run_directory(plan: &Plan, options: &RunOptions) -> PathBuf {
    match &options.directory {
        Some(directory) => directory.clone(),
        None => saved::default_directory(&plan.targets.origins().first().map(ToString::to_string).unwrap_or_default()),
    }
}

fn run_in(
    plan: &Plan,
    options: &RunOptions,
    directory: &Path,
    (files, companion): (Option<NewRun>, Option<Companion<'_>>),
) -> Result<(SavedRun, Option<ObjectiveMonitor>), Failure> {
    let keeps_uploads = companion.is_some();
    let log_ops = companion.as_ref().map_or(plan.log_ops, |companion| companion.log_ops);
    let poller = Collecting::prepare(&options.collect, options.collect_every)?;
    let link = options.link.map(LinkDuringRun::begin).transpose()?;
    let until_start = options.part.as_ref().map_or(Duration::ZERO, PartOfFleet::until_start);
    let started_unix_ms = saved::unix_ms().saturating_add(u64::try_from(until_start.as_millis()).unwrap_or(u64::MAX));
    let begin = description::begin(plan, options, link.as_ref(), started_unix_ms);
    let files = files.map_or_else(|| create_files(directory), Ok)?;
    let writer = files.begin(&begin).map_err(|error| cannot_save("the run", &error))?;
    let mut writer = writer.giving_way(engine::give_way);
    if let Some(part) = options.part.clone() {
        let copy = move |line: &[u8]| part.report(PartEvent::Record(line.to_vec()));
        writer = writer
            .rolling_up(RollUpRules::PARTS)
            .copying_to(Box::new(copy))
            .map_err(|error| cannot_save("the run", &error))?;
    }
    // A level of a search usually ends long before its maximum duration, so do not show this duration as the planned
    // one.
    let stop = StopAfter { time: plan.stop.time.filter(|_| options.monitor.is_none()), ..plan.stop };
    options.progress.run_starts(&begin, stop, options.number.filter(|(_, all)| *all > 1));
    let log = match log_ops {
        true => Some(store::OpLogWriter::create(directory).map_err(|error| cannot_save("the run", &error))?),
        false => None,
    };
    let control = Control::new(plan.stop.bytes.map(NonZeroU64::get));
    if let Some(companion) = &companion {
        control.let_start_below(companion.start_below);
    }
    let cpu_before = sys::clock::process_cpu_time();
    let recording = Recording::new(plan, options, directory, (writer, log));
    let mut recording = Accompanied { companion: companion.map(|companion| companion.observer), recording };
    // The clock of the run starts shortly after the collectors. This delay is negligible compared with the time between
    // two polls.
    let collecting = match poller {
        Some(poller) => Some(Collecting::start(poller, options.collect_every, directory, options.metrics.clone())?),
        None => None,
    };
    options.metrics.begin_run(plan, &begin, directory);
    let begun = std::time::Instant::now();
    let clock = options.part.as_ref().map(|part| MonotonicClock::starting_at(part.start));
    let ran = written_objects::make_load(clock, plan, &control, &mut recording);
    let (at, first_response, mut left, failed) = match ran {
        Ok(ending) => (ending.at, ending.first_response, ending.left, None),
        // Save the results so far, in spite of the error.
        Err(mut error) => (Instant::ZERO + begun.elapsed(), None, std::mem::take(&mut error.left), Some(error)),
    };
    if let Some(collecting) = collecting {
        collecting.end();
    }
    options.metrics.end_run();
    let reason = match &failed {
        Some(error) => EndReason::Failed { detail: error.to_string() },
        None => run_end::reason(&control, &recording.recording),
    };
    let mut recording = recording.recording;
    let cpu_nanos = u64::try_from((sys::clock::process_cpu_time() - cpu_before).as_nanos()).unwrap_or(u64::MAX);
    let completed = matches!(reason, EndReason::Completed);
    let probes = options.probe.filter(|_| completed);
    let probes = probes.and_then(|time| slot_probe::run(plan, time, &options.progress, &mut left));
    let end = End {
        reason,
        at,
        server: first_response.map(run_end::server),
        peak_memory_bytes: sys::limits::peak_memory_bytes().unwrap_or(0),
        cpu_nanos,
        uploads: if keeps_uploads { None } else { abort_uploads::abort(plan, &left.uploads) },
        damaged: None,
        fresh_below: left.fresh_below,
        probes,
        path: link.as_ref().and_then(LinkDuringRun::traffic),
        fleet: None,
    };
    let monitor = recording.take_monitor();
    recording.end(end).map_err(|errors| saved::not_all_saved(&errors, directory))?;
    if let Some(error) = failed {
        let directory = directory.display();
        return Err(Failure::could_not_run(format!("{error}; the results so far are in {directory}")));
    }
    SavedRun::read(directory).map(|run| (run, monitor)).map_err(|error| saved::cannot_read_back(&error))
}
