//! A session of all agents of a fill: their reports, and the decisions about the sums.

use super::shares::settings;
use super::sums::{Sum, active};
use crate::command::fill::rules_so_far;
use crate::command::fill::share::{ShareRecord, Step};
use crate::console;
use crate::failure::Failure;
use crate::hosts::coordinate::TakeRecords;
use crate::hosts::loads::Loads;
use crate::hosts::plan_text::FillLoad;
use crate::hosts::{LOSS_MAX, ended};
use crate::progress;
use crate::progress::state::fill::Phase;
use ::fill::trailing::Trailing;
use fleet::coordinator::Ended;
use report::escape::bounded;
use std::time::{Duration, Instant};
use store::journal::{SessionEnd, Totals};

/// Maximum length of a record of an agent in bytes.
const RECORD_BYTES_MAX: usize = 512 << 10;
/// Time between two updates of the live view.
const SHOW_EVERY: Duration = Duration::from_secs(1);
/// Time between two copies of the report on the disk.
const SAVE_EVERY: Duration = Duration::from_secs(5);
/// Length of the time over which the bandwidth in the live view is averaged.
const SHOWN_WINDOW: Duration = Duration::from_secs(60);

/// A session of all agents.
pub(super) struct SessionOfAll {
    pub ended: Ended,
    /// The end, if a stop rule or the limit on spending has ended the uploads.
    pub stopped: Option<SessionEnd>,
}

impl Sum<'_> {
    /// Carries out a session of all agents.
    pub fn session(&mut self, loads: &mut Loads<'_>, step: Step, shares: &[u32]) -> Result<SessionOfAll, Failure> {
        let settings = settings(loads, FillLoad::Session { step, shares: shares.to_vec() })?;
        let names = loads.names();
        let (active, stored) = (active(&self.whole), self.whole.totals().file_bytes);
        let mut trailing = Trailing::new(SHOWN_WINDOW);
        trailing.restart(Duration::ZERO, stored);
        let states = vec![AgentState::Silent; names.len()];
        let records = FillRecords {
            sum: self,
            applies: step == Step::Upload,
            active,
            begun: None,
            states,
            trailing,
            stopped: None,
            shown: None,
            saved: None,
        };
        let (outcome, records) = loads.carry_out(settings, names, records)?;
        let stopped = records.stopped;
        let ended = ended(outcome)?;
        for (agent, result) in self.whole.agents.iter_mut().zip(&ended.agents) {
            agent.lost = result.loss.as_ref().map(|loss| bounded(&loss.to_string(), LOSS_MAX));
        }
        Ok(SessionOfAll { ended, stopped })
    }
}

/// An agent in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AgentState {
    /// It has not reported yet.
    Silent,
    /// It has reported, and will report again.
    Reporting,
    /// It has reported the end of its session, or is lost.
    Over,
}

/// Receiver of the reports that agents send during a session.
struct FillRecords<'s, 'a> {
    sum: &'s mut Sum<'a>,
    /// `true` if stop rules apply.
    applies: bool,
    /// Time for which the fill ran before this session.
    active: Duration,
    /// Time at which all agents had reported.
    begun: Option<Instant>,
    /// The agents in this session. While one of them is silent, no rule is checked.
    states: Vec<AgentState>,
    /// Stored bytes, for the bandwidth in the live view.
    trailing: Trailing,
    stopped: Option<SessionEnd>,
    /// Time at which the live view was last updated.
    shown: Option<Instant>,
    /// Time of the last copy of the report on the disk.
    saved: Option<Instant>,
}

impl FillRecords<'_, '_> {
    /// Checks the rules, and shows and saves the sums.
    fn look(&mut self) -> Result<(), Failure> {
        if self.states.contains(&AgentState::Silent) {
            return Ok(());
        }
        let elapsed = self.begun.get_or_insert_with(Instant::now).elapsed();
        let is_over = self.stopped.is_some() || !self.applies || sys::signals::interrupts().count > 0;
        let totals = self.sum.whole.totals();
        if !is_over
            && !self.sum.is_complete(&totals)
            && let Some((about, end)) = self.sum.stopped(self.active + elapsed, &totals)
        {
            console::eprintln(&format!("{about}; waiting for uploads in flight"));
            self.stopped = Some(end);
        }
        self.trailing.note(elapsed, totals.file_bytes);
        // Each agent sends a report per second.
        if self.shown.is_none_or(|shown| shown.elapsed() >= SHOW_EVERY) {
            self.shown = Some(Instant::now());
            self.show(elapsed, &totals);
        }
        if self.saved.is_none_or(|saved| saved.elapsed() >= SAVE_EVERY) {
            self.saved = Some(Instant::now());
            self.sum.save()?;
        }
        Ok(())
    }

    fn show(&self, elapsed: Duration, totals: &Totals) {
        let (whole, budget) = (&self.sum.whole, self.sum.budget);
        let bandwidth = self.trailing.so_far().map(|(bytes, time)| bytes as f64 / time.as_secs_f64());
        let target = whole.agents.iter().find_map(|agent| agent.fill.as_ref()).map(|fill| fill.target.clone());
        let fill = progress::state::Fill {
            phase: Phase::Upload,
            location: target.unwrap_or_default(),
            elapsed,
            objects: (totals.objects, whole.objects),
            bytes: (totals.file_bytes, whole.object_bytes),
            failed: totals.failed_uploads,
            bandwidth,
            spent: budget.spent(totals).map(|spent| spent.to_string()),
            waiting: None,
            cap: budget.cap().map(ToString::to_string),
            rules: rules_so_far(&self.sum.watch, self.active + elapsed, totals, |_| true),
        };
        self.sum.progress.update(|state| state.fill = Some(fill));
        self.sum.progress.show_line();
    }
}

impl TakeRecords for FillRecords<'_, '_> {
    fn take(&mut self, from: usize, record: &str, _: u64) -> Result<Option<&'static str>, Failure> {
        if record.len() > RECORD_BYTES_MAX {
            return Ok(Some("a record is too long"));
        }
        let (Some(agent), Some(state)) = (self.sum.whole.agents.get_mut(from), self.states.get_mut(from)) else {
            return Ok(Some("it has no number"));
        };
        match serde_json::from_str(record) {
            Ok(ShareRecord::Fill(fill)) => {
                agent.fill = Some(*fill);
                *state = AgentState::Reporting;
            }
            Ok(ShareRecord::End { fill, uploads }) => {
                (agent.fill, agent.uploads) = (Some(*fill), Some(uploads));
                *state = AgentState::Over;
            }
            Ok(ShareRecord::Held(_)) => return Ok(Some("a record is out of order")),
            Err(_) => return Ok(Some("a record is malformed")),
        }
        self.look()?;
        Ok(None)
    }

    fn lost(&mut self, from: usize) {
        let (Some(agent), Some(state)) = (self.sum.whole.agents.get(from), self.states.get_mut(from)) else { return };
        if std::mem::replace(state, AgentState::Over) == AgentState::Reporting {
            // A fill may go on for weeks, so report the loss now.
            let name = report::escape::escape(&agent.name);
            console::eprintln(&format!("{name} is lost, and the other agents go on"));
        }
    }

    fn is_decided(&self) -> bool {
        self.stopped.is_some()
    }

    fn tick(&mut self, _: Option<u64>) -> Result<(), Failure> {
        self.sum.progress.refresh();
        Ok(())
    }
}
