//! A fill of several hosts. The objects are divided into as many shares as there are hosts, and each host uploads a share
//! with its own journal. This process decides only about sums: progress, stop rules, costs, and the report.
//!
//! Before a session, each agent reports which shares its host already has. So a share stays with its journal, even if
//! the hosts are named in another order. Nothing depends on the files of this process.

use super::coordinate::TakeRecords;
use super::loads::{Loads, losses, refuse_losses};
use super::plan_text::{FillLoad, PlanText};
use super::{Agents, LOSS_MAX, all_lost, ended, loss_of_all};
use crate::command::fill::share::{HeldShare, ShareRecord, Step, is_about_the_sum};
use crate::command::fill::{self, Args, Budget, must_stop, rules_so_far};
use crate::command::put;
use crate::console;
use crate::failure::{Exit, Failure};
use crate::load;
use crate::load::machines::Machines;
use crate::progress::state::fill::Phase;
use crate::progress::state::study::TrialResult;
use crate::progress::{self, Progress};
use crate::saved::{self, fleet_fill};
use ::fill::stop_watch::{Reached, StopWatch};
use ::fill::trailing::Trailing;
use fleet::coordinator::{Ended, Settings};
use report::escape::bounded;
use report::fill::Costs;
use report::number::plural;
use report::{AgentOfFill, FillReport, FleetFill, JsonFill};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use store::SavedFill;
use store::journal::{SessionEnd, Totals};

/// Largest difference of the starts. The agents need not start together.
const SPREAD_MAX: Duration = Duration::from_secs(3600);
/// Maximum length of a record of an agent in bytes.
const RECORD_BYTES_MAX: usize = 512 << 10;
/// Time between two updates of the live view.
const SHOW_EVERY: Duration = Duration::from_secs(1);
/// Time between two copies of the report on the disk.
const SAVE_EVERY: Duration = Duration::from_secs(5);
/// Length of the time over which the bandwidth in the live view is averaged.
const SHOWN_WINDOW: Duration = Duration::from_secs(60);

/// A fill that agents made together.
struct MadeFill {
    report: JsonFill,
    /// The end of the command.
    end: SessionEnd,
    /// The end of the last session on each agent. `None` if there was nothing to do.
    ended: Option<Ended>,
}

/// Makes the fill on these machines, and shows the result. `words` is the command line.
pub fn run(args: &Args, words: Vec<String>, machines: Machines, count: NonZeroUsize) -> Result<ExitCode, Failure> {
    if args.dry_run {
        return fill::run(args);
    }
    let output = &args.put.common.output;
    output.check_files()?;
    let budget = Budget::of(args)?;
    let options = load::run_options(&args.put.common);
    let directory = directory(args)?;
    let fleet = &args.put.common.fleet;
    let mut agents = Agents::connect(fleet, machines, count)?;
    let made = make(args, &mut agents.assign(words, fleet)?, &budget, (&directory, &options.progress))?;
    drop(agents);
    fleet_fill::print(&made.report, budget.costs(), options.format)?;
    output.ci.write(&directory)?;
    let end = match (&made.end, &made.ended) {
        // The same command finishes the work of lost agents.
        (SessionEnd::Finished, Some(ended)) if lost(ended) > 0 => &SessionEnd::Failed,
        (end, _) => end,
    };
    console::eprintln(&fill::saved_in(&directory, end));
    let report = FillReport::of_hosts(made.report, budget.costs());
    let exit = super::interrupted().unwrap_or_else(|| saved::fill::conclude(&report));
    let exit = made.ended.map_or(exit, |ended| exit.or_worse(all_lost(&ended)));
    Ok(exit.into())
}

/// Makes or continues a fill as a trial of a study, in this directory. Returns `None` if the user interrupted it.
///
/// # Errors
/// Fails if all agents were lost.
pub fn run_trial(
    args: &Args,
    loads: &mut Loads<'_>,
    directory: &Path,
    progress: &Progress,
) -> Result<Option<TrialResult>, Failure> {
    let made = match make(args, loads, &Budget::of(args)?, (directory, progress)) {
        Err(Failure::Message(Exit::Interrupted(_), _)) => return Ok(None),
        made => made?,
    };
    if let Some(ended) = &made.ended {
        losses(ended).for_each(|lost| console::eprintln(&format!("    {lost}")));
        if let Some(why) = loss_of_all(ended) {
            return Err(Failure::could_not_run(why));
        }
    }
    let report = FillReport::of_hosts(made.report, &Costs::none());
    let result = TrialResult { word: report.fill.result, text: report.first_line() };
    Ok((made.end != SessionEnd::Interrupted).then_some(result))
}

/// Makes or continues a fill with all sessions that the flags select. Saves its report in a directory.
fn make(
    args: &Args,
    loads: &mut Loads<'_>,
    budget: &Budget,
    (directory, progress): (&Path, &Progress),
) -> Result<MadeFill, Failure> {
    let set = put::object_set(&args.put)?;
    let held = survey(loads)?;
    let shares = assign(&held, loads.names().len()).map_err(Failure::usage)?;
    let whole = FleetFill {
        objects: set.count(),
        object_bytes: u64::try_from(set.total_bytes()).unwrap_or(u64::MAX),
        agents: loads.names().iter().zip(&shares).map(|(name, share)| agent(name, *share, &held)).collect(),
        end: None,
        tolerate_lost: loads.tolerate_lost(),
    };
    let rules: Vec<_> = args.stop_when.iter().filter(|rule| is_about_the_sum(rule)).copied().collect();
    let mut watch = StopWatch::new(&rules);
    // A window of the bandwidth begins with this session.
    watch.restart(active(&whole), whole.totals().file_bytes);
    let mut sum = Sum { whole, watch, budget, progress, directory };
    let mut last = None;
    let mut stopped = if args.no_upload { None } else { sum.stopped_already() };
    if stopped.is_none() {
        let session = sum.session(loads, Step::Upload, &shares)?;
        (stopped, last) = (session.stopped, Some(session.ended));
    }
    let is_complete = |last: &Option<Ended>| last.as_ref().is_none_or(|ended| lost(ended) == 0);
    let has_more = args.verify || args.delete || args.put.multipart.is_some();
    if stopped.is_some() && has_more && is_complete(&last) && sys::signals::interrupts().count == 0 {
        last = Some(sum.session(loads, Step::AfterStop, &shares)?.ended);
    }
    let end = match (super::interrupted(), stopped) {
        (Some(_), _) => SessionEnd::Interrupted,
        (None, Some(end)) => end,
        (None, None) => SessionEnd::Finished,
    };
    sum.whole.end = Some(end.clone());
    Ok(MadeFill { report: sum.save()?, end, ended: last })
}

/// Returns the directory of the report, which must not contain anything else.
fn directory(args: &Args) -> Result<PathBuf, Failure> {
    let usual = || PathBuf::from("fills").join(fill::share::name(args));
    let directory = args.put.common.output.out.clone().unwrap_or_else(usual);
    if SavedFill::is_in(&directory) {
        return Err(Failure::usage(format!(
            "{} has a fill of one host: name another directory with --out",
            directory.display()
        )));
    }
    super::check_unused(&directory)?;
    Ok(directory)
}

/// Returns an agent before its first report. If a host has reported the agent's share, its state is known already.
fn agent(name: &str, share: u32, held: &[Vec<HeldShare>]) -> AgentOfFill {
    let known = held.iter().flatten().filter(|held| held.share.index == share);
    let fill = known.max_by_key(|held| held.fill.stored).map(|held| held.fill.clone());
    AgentOfFill { name: name.to_owned(), share: share.saturating_add(1), lost: None, fill, uploads: None }
}

/// Returns for how long the agents have run.
fn active(whole: &FleetFill) -> Duration {
    Duration::try_from_secs_f64(whole.active_seconds()).unwrap_or_default()
}

fn lost(ended: &Ended) -> usize {
    ended.agents.iter().filter(|agent| agent.loss.is_some()).count()
}

/// Asks all agents for the shares that their hosts have.
fn survey(loads: &mut Loads<'_>) -> Result<Vec<Vec<HeldShare>>, Failure> {
    let (settings, names) = (settings(loads, FillLoad::Survey)?, loads.names());
    let records = SurveyRecords { held: vec![Vec::new(); names.len()] };
    let (outcome, records) = loads.carry_out(settings, names, records)?;
    let ended = ended(outcome)?;
    refuse_losses(&ended, "a fill")?;
    if sys::signals::interrupts().count > 0 {
        return Err(progress::requests_interrupted("interrupted before the first upload"));
    }
    Ok(records.held)
}

/// Returns the settings of a load of the fill.
fn settings(loads: &mut Loads<'_>, load: FillLoad) -> Result<Settings, Failure> {
    let plan = PlanText { fill: Some(load), ..loads.plan() };
    Ok(Settings { spread_max: SPREAD_MAX, ..loads.next_settings(&plan)? })
}

/// Returns the number of the share of each agent. An agent gets a share that its host has. If several hosts have a share,
/// the one that has stored most of it gets it. The remaining shares are new for their agents.
fn assign(held: &[Vec<HeldShare>], count: usize) -> Result<Vec<u32>, String> {
    let of = u32::try_from(count).unwrap_or(u32::MAX);
    if let Some(other) = held.iter().flatten().map(|held| held.share.of).find(|other| *other != of) {
        return Err(format!(
            "the hosts have this fill in {}, so it needs {}; use as many as before, or another --out",
            plural(other.into(), "share"),
            plural(other.into(), "host")
        ));
    }
    let mut known: Vec<(u64, usize, u32)> = Vec::new();
    for (agent, held) in held.iter().enumerate() {
        known.extend(held.iter().map(|held| (held.fill.stored, agent, held.share.index)));
    }
    known.sort_by_key(|(stored, agent, share)| (std::cmp::Reverse(*stored), *agent, *share));
    let mut shares: Vec<Option<u32>> = vec![None; count];
    for (_, agent, share) in known {
        if share < of && shares[agent].is_none() && !shares.contains(&Some(share)) {
            shares[agent] = Some(share);
        }
    }
    let mut free = (0..of).filter(|share| !shares.contains(&Some(*share))).collect::<Vec<_>>().into_iter();
    Ok(shares.into_iter().map(|share| share.or_else(|| free.next()).unwrap_or(0)).collect())
}

/// The shares that hosts have, as their agents report them.
struct SurveyRecords {
    held: Vec<Vec<HeldShare>>,
}

impl TakeRecords for SurveyRecords {
    fn take(&mut self, from: usize, record: &str, _: u64) -> Result<Option<&'static str>, Failure> {
        Ok(match (serde_json::from_str(record), self.held.get_mut(from)) {
            (Ok(ShareRecord::Held(shares)), Some(held)) => {
                *held = shares;
                None
            }
            _ => Some("a record is malformed"),
        })
    }

    fn lost(&mut self, _: usize) {}

    fn is_decided(&self) -> bool {
        false
    }

    fn tick(&mut self, _: Option<u64>) -> Result<(), Failure> {
        Ok(())
    }
}

/// The sums of a fill, and what depends on them.
struct Sum<'a> {
    whole: FleetFill,
    watch: StopWatch,
    budget: &'a Budget,
    progress: &'a Progress,
    directory: &'a Path,
}

/// A session of all agents.
struct SessionOfAll {
    ended: Ended,
    /// The end, if a stop rule or the limit on spending has ended the uploads.
    stopped: Option<SessionEnd>,
}

impl Sum<'_> {
    /// Saves the report so far, and returns it.
    fn save(&self) -> Result<JsonFill, Failure> {
        let report = report::json_fleet_fill(&self.whole, self.budget.costs());
        fleet_fill::save(self.directory, &report).map(|()| report)
    }

    /// Returns a message and the end of the uploads, if a rule or the limit on spending holds.
    fn stopped(&mut self, active: Duration, totals: &Totals) -> Option<(String, SessionEnd)> {
        // The agents apply rules about contact with the target.
        let reached = Reached { active, files: totals.objects, file_bytes: totals.file_bytes, in_touch: true };
        must_stop(&mut self.watch, self.budget, reached, totals)
    }

    /// Returns the end of a fill that must not upload anything, because a rule holds already.
    fn stopped_already(&mut self) -> Option<SessionEnd> {
        let totals = self.whole.totals();
        if self.is_complete(&totals) {
            return None;
        }
        let (about, end) = self.stopped(active(&self.whole), &totals)?;
        console::eprintln(&format!("nothing is uploaded: {about}; change the rule or the limit"));
        Some(end)
    }

    fn is_complete(&self, totals: &Totals) -> bool {
        totals.objects >= self.whole.objects
    }

    /// Carries out a session of all agents.
    fn session(&mut self, loads: &mut Loads<'_>, step: Step, shares: &[u32]) -> Result<SessionOfAll, Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use store::fill_directory::Share;

    fn held(shares: &[(u32, u32, u64)]) -> Vec<HeldShare> {
        let empty = FleetFill { objects: 9, object_bytes: 9, agents: Vec::new(), end: None, tolerate_lost: 0 };
        let costs = Costs::none();
        let share = |(index, of, stored): &(u32, u32, u64)| HeldShare {
            share: Share { index: *index, of: *of },
            fill: JsonFill { stored: *stored, ..report::json_fleet_fill(&empty, &costs) },
        };
        shares.iter().map(share).collect()
    }

    #[test]
    fn each_share_stays_with_its_journal() {
        assert_eq!(assign(&[held(&[]), held(&[]), held(&[])], 3), Ok(vec![0, 1, 2]), "a new fill");
        let moved = [held(&[(2, 3, 5)]), held(&[]), held(&[(0, 3, 5)])];
        assert_eq!(assign(&moved, 3), Ok(vec![2, 1, 0]), "the hosts are named in another order");
        let twice = [held(&[(0, 2, 5)]), held(&[(0, 2, 9)])];
        assert_eq!(assign(&twice, 2), Ok(vec![1, 0]), "the host that has stored more keeps the share");
        let shared = [held(&[(0, 2, 5), (1, 2, 5)]), held(&[(0, 2, 5), (1, 2, 5)])];
        assert_eq!(assign(&shared, 2), Ok(vec![0, 1]), "two agents of one host");
        assert_eq!(assign(&[held(&[(7, 1, 5)])], 1), Ok(vec![0]), "a share that does not exist");
    }

    #[test]
    fn another_number_of_hosts_is_refused() {
        let refused = assign(&[held(&[(0, 3, 5)]), held(&[])], 2).unwrap_err();
        assert_eq!(
            refused,
            "the hosts have this fill in 3 shares, so it needs 3 hosts; use as many as before, or another --out"
        );
    }
}
