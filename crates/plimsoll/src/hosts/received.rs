//! The records that agents send. They are saved in a directory per agent, and their sums are shown in the live view.

use super::agent_directory;
use super::coordinate::TakeRecords;
use super::watch::{SentSlices, Watch};
use crate::collectors::Collecting;
use crate::command::line::MonitorOfLevel;
use crate::console;
use crate::execute::stopped_early;
use crate::failure::Failure;
use crate::live_metrics::LiveMetrics;
use crate::progress::Progress;
use crate::saved::cannot_save;
use crate::saved::merged::{Position, order, sum_of_models};
use collect::poll::Poller;
use engine::plan::StopAfter;
use measure::{Instant, Interval, Model};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::{Begin, EndReason, FORMAT, Record, RollUpRules, RunWriter};
use study::objective_monitor::LevelEvidence;

/// Directory of the agents' directories, in the directory of the run.
pub const AGENTS: &str = "agents";

/// Maximum number of sums of intervals that wait until all agents have sent their intervals. If there are more, the live
/// view leaves out the oldest ones, but the saved run has all of them.
const WAITING_MAX: usize = 10;

/// The records of all agents.
pub struct Received<'m> {
    agents: Vec<Agent>,
    /// Sums of the intervals of all agents, by their positions, until they are shown. Memory thus does not grow with the
    /// number of agents.
    waiting: BTreeMap<Position, Interval>,
    /// Position of the last interval that was shown or left out.
    shown_to: Option<Position>,
    progress: Progress,
    /// The objectives of a level of a search.
    watch: Option<Watch<'m>>,
    shown: bool,
    /// A message for the time at which the start is ordered.
    announcement: Option<String>,
    /// The directory of the run.
    directory: PathBuf,
    collectors: Collectors,
}

/// The collectors of a run, which this host polls.
enum Collectors {
    None,
    /// They are polled from T0 on.
    Waiting(Box<Poller>, Duration),
    /// They are polled until the run is over.
    Polled(Collecting),
}

/// The records of one agent.
struct Agent {
    directory: PathBuf,
    begin: Option<Begin>,
    writer: Option<RunWriter>,
    /// Position of the last interval.
    reached: Option<Position>,
    /// `true` if no interval follows.
    is_over: bool,
}

impl<'m> Received<'m> {
    /// Creates the records of agents with these names, before anything is received. A level of a search has a monitor,
    /// which can end the level early.
    pub fn new(base: &Path, names: &[String], progress: Progress, monitor: Option<MonitorOfLevel<'m>>) -> Self {
        let agent = |(index, name): (usize, &String)| Agent {
            directory: agent_directory(base, index, name),
            begin: None,
            writer: None,
            reached: None,
            is_over: false,
        };
        let watch = monitor.map(|monitor| Watch::new(monitor, names.len()));
        let agents = names.iter().enumerate().map(agent).collect();
        let (waiting, directory, collectors) = (BTreeMap::new(), base.to_owned(), Collectors::None);
        Self {
            agents,
            waiting,
            shown_to: None,
            progress,
            watch,
            shown: false,
            announcement: None,
            directory,
            collectors,
        }
    }

    /// Prints this message once the start is ordered.
    pub fn announce(&mut self, message: Option<String>) {
        self.announcement = message;
    }

    /// Polls collectors during the run.
    pub fn collect_with(&mut self, poller: Option<Poller>, every: Duration) {
        self.collectors = poller.map_or(Collectors::None, |poller| Collectors::Waiting(Box::new(poller), every));
    }

    /// Starts to poll the collectors, unless they are polled already. Call this function at T0, which is the zero of their
    /// times.
    fn start_collectors(&mut self) -> Result<(), Failure> {
        self.collectors = match std::mem::replace(&mut self.collectors, Collectors::None) {
            Collectors::Waiting(poller, every) => {
                std::fs::create_dir_all(&self.directory).map_err(|error| {
                    Failure::could_not_run(format!("cannot create {}: {error}", self.directory.display()))
                })?;
                Collectors::Polled(Collecting::start(*poller, every, &self.directory, LiveMetrics::default())?)
            }
            other => other,
        };
        Ok(())
    }

    /// Polls the collectors once more, and saves the values. Call this function after the run.
    pub fn end_collectors(&mut self) {
        if let Collectors::Polled(collecting) = std::mem::replace(&mut self.collectors, Collectors::None) {
            collecting.end();
        }
    }

    /// Returns the directory of an agent's records; `None` if the agent has not sent its first record.
    pub fn directory(&self, index: usize) -> Option<&Path> {
        self.agents.get(index).filter(|agent| agent.begin.is_some()).map(|agent| agent.directory.as_path())
    }

    /// Returns the reason for the end of a level, once its outcome is decided.
    pub fn decided(&self) -> Option<EndReason> {
        self.watch.as_ref().and_then(Watch::decision).map(stopped_early)
    }

    /// Returns the observations of the objectives of a level.
    pub fn evidence(&self) -> Option<LevelEvidence> {
        self.watch.as_ref().and_then(Watch::evidence)
    }

    /// Shows the intervals that all agents have sent, added up.
    fn show(&mut self) {
        if !self.shown {
            let begins: Option<Vec<&Begin>> = self.agents.iter().map(|agent| agent.begin.as_ref()).collect();
            let Some(begins) = begins else { return };
            let Some(first) = begins.first() else { return };
            // A level usually ends long before its maximum duration.
            let time = first.duration_ms.filter(|_| self.watch.is_none()).map(Duration::from_millis);
            let stop = StopAfter { time, ..StopAfter::default() };
            let model = begins.iter().skip(1).fold(first.model, |sum, begin| sum_of_models(sum, begin.model));
            let load = first.part.as_ref().map_or_else(|| first.load.clone(), |part| part.load.clone());
            self.progress.run_starts(&Begin { model, load, ..(*first).clone() }, stop, None);
            let (Model::Closed { concurrency: in_flight_max } | Model::Open { in_flight_max }) = model;
            self.watch.iter_mut().for_each(|watch| watch.begin(in_flight_max));
            self.shown = true;
        }
        while let Some(interval) = self.next() {
            self.progress.interval(&interval);
        }
    }

    /// Adds an interval to the sum of all agents at its position.
    fn add_to_sum(&mut self, interval: Interval) {
        let place = order(&interval);
        if self.shown_to.is_some_and(|shown| place <= shown) {
            return;
        }
        match self.waiting.entry(place) {
            Entry::Occupied(mut sum) => sum.get_mut().merge(&interval),
            Entry::Vacant(free) => {
                free.insert(interval);
            }
        }
        if self.waiting.len() > WAITING_MAX {
            self.shown_to = self.waiting.pop_first().map(|(place, _)| place);
        }
    }

    /// Returns the sum of the next interval of all agents. Returns `None` if an agent has not sent this interval yet.
    fn next(&mut self) -> Option<Interval> {
        let first = self.waiting.first_entry()?;
        let place = *first.key();
        if self.agents.iter().any(|agent| !agent.is_over && agent.reached < Some(place)) {
            return None;
        }
        self.shown_to = Some(place);
        Some(first.remove())
    }
}

impl TakeRecords for Received<'_> {
    fn take(&mut self, from: usize, record: &str, started_unix_ms: u64) -> Result<Option<&'static str>, Failure> {
        let Some(agent) = self.agents.get_mut(from) else { return Ok(Some("it has no number")) };
        let line = record;
        if line.contains('\n') {
            return Ok(Some("a record is malformed"));
        }
        let record = match (Record::parse(line.as_bytes()), &mut self.watch) {
            (Some(record), _) => record,
            (None, Some(watch)) => {
                let slices = serde_json::from_str::<SentSlices>(line);
                return Ok(
                    slices.map_or(Some("a record is malformed"), |SentSlices { slices }| watch.add(from, slices))
                );
            }
            (None, None) => return Ok(Some("a record is malformed")),
        };
        let saved = match (record, agent.writer.take()) {
            (Record::Begin(begin), None) if agent.begin.is_none() && begin.format == FORMAT => {
                // The agents' wall clocks may be wrong. Here, all runs start at the same time: T0 of the coordinator.
                let begin = Begin { started_unix_ms, ..*begin };
                let writer = RunWriter::create(&agent.directory, &begin);
                agent.begin = Some(begin);
                writer.map(|writer| agent.writer = Some(writer.rolling_up(RollUpRules::NEVER)))
            }
            // An interval that is already joined is an error: agents send each interval when it ends, and joined intervals
            // of several agents cannot be merged.
            (Record::Interval(interval), Some(mut writer)) if interval.joined.is_none() => {
                let saved = writer.interval_of_line(&interval, line);
                agent.writer = Some(writer);
                agent.reached = agent.reached.max(Some(order(&interval)));
                self.add_to_sum(*interval);
                saved
            }
            (Record::End(end), Some(writer)) => {
                agent.is_over = true;
                self.watch.iter_mut().for_each(|watch| watch.over(from));
                writer.end(&end)
            }
            (Record::Interval(_), Some(_)) => {
                return Ok(Some("its older seconds were joined, because the run lasted for more than a day"));
            }
            _ => return Ok(Some("a record is out of order")),
        };
        saved.map_err(|error| cannot_save("what an agent sent", &error))?;
        self.show();
        Ok(None)
    }

    fn lost(&mut self, from: usize) {
        if let Some(agent) = self.agents.get_mut(from) {
            agent.is_over = true;
        }
        self.watch.iter_mut().for_each(|watch| watch.over(from));
    }

    fn is_decided(&self) -> bool {
        self.decided().is_some()
    }

    fn tick(&mut self, nanos: Option<u64>) -> Result<(), Failure> {
        if let Some(message) = self.announcement.take_if(|_| nanos.is_some()) {
            console::eprintln_progress(&message);
        }
        if nanos.is_some_and(|nanos| nanos > 0) {
            self.start_collectors()?;
        }
        match nanos.filter(|_| self.shown) {
            Some(nanos) => self.progress.tick(Instant::from_nanos(nanos)),
            None => self.progress.refresh(),
        }
        Ok(())
    }
}
