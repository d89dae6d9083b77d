//! The thread of an agent that prepares and makes its part of a run.

use super::fill;
use super::kept;
use super::policy::Policy;
use crate::command::load_command::LoadCommand;
use crate::command::mix;
use crate::console;
use crate::execute::{self, PartEvent, PartOfFleet, RunOptions};
use crate::failure::Failure;
use crate::hosts::SentSlices;
use crate::hosts::plan_text::{Job, PlanText};
use crate::live_metrics::LiveMetrics;
use crate::progress::Progress;
use crate::saved::OutputFormat;
use engine::plan::Plan;
use fleet::message::{KeptPart, Part, RunId, Terms};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use store::{EndReason, FleetPart};

/// Maximum number of events that wait for the thread that sends them.
const EVENTS_MAX: usize = 64;

/// An event of the worker.
pub enum WorkerEvent {
    /// The run can start.
    Prepared,
    /// The load started at this instant.
    Started(Instant),
    /// A record was saved, or slices ended.
    Record {
        /// The record.
        record: String,
        /// `false` if the load has not started yet.
        has_started: bool,
    },
    /// The run has ended.
    Ended,
    /// The run cannot go on.
    Failed(String),
}

/// The thread.
pub struct Worker {
    start: Sender<(Instant, Terms)>,
    events: Receiver<WorkerEvent>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Starts to prepare the run.
    pub fn start(plan: String, run: RunId, part: Part, policy: Arc<Policy>) -> Self {
        let (start, ordered) = channel();
        let (sender, events) = sync_channel(EVENTS_MAX);
        let thread = thread::spawn(move || {
            let worked = work(&plan, (run, part), &policy, &ordered, &sender);
            let _ = sender.send(match worked {
                Ok(()) => WorkerEvent::Ended,
                Err(failure) => WorkerEvent::Failed(failure.into_message()),
            });
        });
        Self { start, events, thread }
    }

    /// Orders the start of the prepared run.
    pub fn start_at(&self, at: Instant, terms: Terms) {
        // Sending fails only if the worker has failed. The last event of the worker reports this.
        let _ = self.start.send((at, terms));
    }

    /// Returns the next event, if there is one.
    pub fn next_event(&self) -> Option<WorkerEvent> {
        match self.events.try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Empty) => None,
            // The thread has panicked. Otherwise its last event would have ended the agent, and this function would not
            // be called again.
            Err(TryRecvError::Disconnected) => Some(WorkerEvent::Failed("it failed because of a defect".to_owned())),
        }
    }

    /// Waits for the end of the run. A run that was not started yet does not start.
    pub fn end(self) {
        let Self { start, events, thread } = self;
        drop((start, events));
        let _ = thread.join();
    }
}

/// Prepares and makes the run.
fn work(
    text: &str,
    (run, part): (RunId, Part),
    policy: &Policy,
    start: &Receiver<(Instant, Terms)>,
    events: &SyncSender<WorkerEvent>,
) -> Result<(), Failure> {
    let text = PlanText::read(text)?;
    if let Some(load) = &text.fill {
        return fill::work(&text, load, part, policy, start, events);
    }
    let job = Job::of(&text, part.index, part.of)?;
    policy.check_command(&job.command)?;
    let (plan, options) = job.plan()?;
    refuse_unlisted(&job.command, &plan)?;
    let load = execute::load_text(&plan);
    let mut plan = plan.split(job.part).map_err(Failure::usage)?;
    policy.check_plan(&mut plan)?;
    execute::prepare(&mut plan)?;
    let run = String::from(run);
    let directory = kept::directory(&run, part.index)?;
    // Create the files before the agent reports that it is ready, so that a slow disk does not delay the start.
    let files = execute::create_files(&directory)?;
    let _ = events.send(WorkerEvent::Prepared);
    let Ok((at, terms)) = start.recv() else { return Ok(()) };
    let (sender, receiver) = sync_channel(EVENTS_MAX);
    let of_fleet = PartOfFleet {
        part: FleetPart { run, index: part.index, of: part.of, load },
        command: crate::redact::command_line(text.words),
        start: at,
        objectives: options.objectives.clone(),
        events: sender,
    };
    let options = RunOptions {
        directory: Some(directory.clone()),
        format: OutputFormat::None,
        progress: Progress::default(),
        repeat: 1,
        // The coordinator polls the collectors.
        collect: Vec::new(),
        metrics: LiveMetrics::default(),
        part: Some(of_fleet),
        ..options
    };
    let passed_on = events.clone();
    let place = directory.clone();
    let on_start = move |late: Duration| {
        let late_nanos = i64::try_from(late.as_nanos()).unwrap_or(i64::MAX);
        if let Err(error) = kept::describe(&place, &KeptPart { part, late_nanos, terms }) {
            console::eprintln(&format!("this part of the run cannot be collected later: {error}"));
        }
    };
    let passing = thread::spawn(move || pass_on(&receiver, at, on_start, &passed_on));
    let ran = execute::run_with_files(&plan, &options, &directory, files);
    // Drop the last sender, so that the thread `passing` ends. It must pass on all events before the run counts as
    // ended.
    drop(options);
    let has_started = passing.join().unwrap_or(true);
    if !has_started || !job.is_kept() {
        // Remove a run that was canceled before its start, and a run that only measured the speed of a target for a
        // search.
        let _ = std::fs::remove_dir_all(&directory);
    }
    let run = ran?;
    if let Some(failure) = execute::unreachable(&plan, &run).filter(|_| !job.may_be_unreachable()) {
        return Err(failure);
    }
    match run.end.map(|end| end.reason) {
        Some(EndReason::DiskFull) => Err(Failure::could_not_run("its disk is full")),
        Some(EndReason::Failed { detail }) => Err(Failure::could_not_run(detail)),
        _ => Ok(()),
    }
}

/// Passes the events of the run on. Calls `on_start` when the load has started. Returns whether that was the case.
fn pass_on(
    run: &Receiver<PartEvent>,
    at: Instant,
    on_start: impl FnOnce(Duration),
    events: &SyncSender<WorkerEvent>,
) -> bool {
    let (mut has_started, mut on_start) = (false, Some(on_start));
    for event in run {
        let event = match event {
            PartEvent::Started(late) => {
                has_started = true;
                on_start.take().into_iter().for_each(|on_start| on_start(late));
                WorkerEvent::Started(at + late)
            }
            PartEvent::Record(line) => match String::from_utf8(line) {
                Ok(record) => WorkerEvent::Record { record, has_started },
                Err(_) => WorkerEvent::Failed("a record is not text".to_owned()),
            },
            PartEvent::Slices(slices) => match serde_json::to_string(&SentSlices { slices }) {
                Ok(record) => WorkerEvent::Record { record, has_started },
                Err(error) => WorkerEvent::Failed(error.to_string()),
            },
        };
        let _ = events.send(event);
    }
    has_started
}

/// Refuses a mix whose objects `cleanup` could not find. If the target cannot list objects, `cleanup` needs a record of
/// the written objects, and several agents cannot write this record together.
fn refuse_unlisted(command: &LoadCommand, plan: &Plan) -> Result<(), Failure> {
    let LoadCommand::Mix(args) = command else { return Ok(()) };
    match mix::unlisted(args, plan)? {
        None => Ok(()),
        Some(_) => Err(Failure::usage(
            "a mix on several hosts can write objects only to s3:// locations; leave out --put and --delete, for example with --get 60 --head 40",
        )),
    }
}
