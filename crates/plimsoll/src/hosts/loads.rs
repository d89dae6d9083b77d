//! The loads of one command on connected agents: a run of `get`, `put` or `mix`, the loads of a search, or the sessions
//! of a fill. Each load is one run of all agents. After the regular end of a run, an agent waits for the next one on
//! the same connection.

use super::coordinate::{Fleet, TakeRecords};
use super::plan_text::PlanText;
use super::received::Received;
use super::{Agents, LOSS_MAX, PREPARE_MAX, SILENCE_MAX, SPREAD_MAX, alone, ended, loss_of_all, result};
use crate::collectors::Collecting;
use crate::command::line::{MadeLoad, MakeLoad, MonitorOfLevel, SearchLoad};
use crate::execute::RunOptions;
use crate::failure::Failure;
use crate::load::machines;
use fleet::coordinator::{Abort, Ended, Outcome, Settings};
use report::escape::{bounded, escape};
use report::number::plural;
use std::path::Path;
use std::thread;
use std::time::Duration;
use store::SavedRun;

/// The loads of a command.
pub struct Loads<'a> {
    agents: &'a mut Agents,
    /// Number of agents that make the loads. They are the first members.
    count: usize,
    /// Largest acceptable difference of the starts.
    spread_max: Duration,
    /// Number of these agents that may be lost.
    tolerate_lost: usize,
    plan: PlanText,
}

/// A run that agents made together.
pub struct MadeRun {
    /// The merged run.
    pub run: SavedRun,
    /// The end of the run on each agent.
    pub ended: Ended,
}

impl MadeRun {
    /// Returns the reason for the loss of all agents; `None` if an agent reached its end.
    pub fn loss_of_all(&self) -> Option<String> {
        loss_of_all(&self.ended)
    }

    /// Returns a line about each lost agent.
    pub fn losses(&self) -> impl Iterator<Item = String> {
        losses(&self.ended)
    }
}

/// Returns a line about each lost agent.
pub(super) fn losses(ended: &Ended) -> impl Iterator<Item = String> {
    let lost = ended.agents.iter().filter_map(|agent| Some((&agent.name, agent.loss.as_ref()?)));
    lost.map(|(name, loss)| format!("{} was lost: {}", escape(name), bounded(&loss.to_string(), LOSS_MAX)))
}

impl Agents {
    /// Returns the loads of a command, which this command line describes.
    ///
    /// # Errors
    /// Fails if too few agents are left for the command.
    pub fn assign(&mut self, words: Vec<String>, args: &machines::Args) -> Result<Loads<'_>, Failure> {
        let count = self.count_for(args)?;
        let plan = PlanText { words, search: None, fill: None };
        let spread_max = args.start_spread.unwrap_or(SPREAD_MAX);
        let tolerate_lost = tolerated(args).saturating_sub(wanted(args).saturating_sub(count));
        Ok(Loads { agents: self, count, spread_max, tolerate_lost, plan })
    }

    /// Returns the number of agents that make the loads of a command. They are fewer than the command names if agents were
    /// lost before, and the command tolerates that.
    ///
    /// # Errors
    /// Fails if too few agents are left.
    pub fn count_for(&self, args: &machines::Args) -> Result<usize, Failure> {
        let (wanted, left) = (wanted(args), self.members.len());
        // Without one of the agents, its server would get no load.
        let tolerated = if args.pair { 0 } else { tolerated(args) };
        if left == 0 || wanted.saturating_sub(left) > tolerated {
            let lost: Vec<String> = self.lost.iter().map(|name| escape(name)).collect();
            let lost = bounded(&lost.join(", "), LOSS_MAX);
            return Err(Failure::could_not_run(format!(
                "{lost} was lost, and this load needs {}",
                plural((wanted - tolerated) as u64, "host")
            )));
        }
        Ok(wanted.min(left))
    }
}

/// Returns the number of agents that a command names.
fn wanted(args: &machines::Args) -> usize {
    args.count().map_or(1, std::num::NonZeroUsize::get)
}

fn tolerated(args: &machines::Args) -> usize {
    args.tolerate_lost.unwrap_or(0)
}

impl Loads<'_> {
    /// Makes the load of the command once, and saves it in `directory`. With `scaling`, the first agent makes its part alone
    /// before.
    ///
    /// # Errors
    /// Fails if the load does not start on all agents, if it is interrupted before, or if it cannot be saved.
    pub fn make_run(&mut self, directory: &Path, options: &RunOptions, scaling: bool) -> Result<MadeRun, Failure> {
        let settings = self.next_settings(&self.plan())?;
        let alone = if scaling { Some(alone::measure(self, directory, options)?) } else { None };
        let (outcome, received) = self.make_load(&settings, self.count, (directory, options), None)?;
        let ended = ended(outcome)?;
        let run = result::merge(&settings, &ended, &received, alone, directory)?;
        Ok(MadeRun { run, ended })
    }

    /// Returns the settings of the next run, with this plan.
    pub(super) fn next_settings(&mut self, plan: &PlanText) -> Result<Settings, Failure> {
        Ok(Settings {
            build: self.agents.build,
            run: self.agents.next_run()?,
            plan: plan.write()?,
            spread_max: self.spread_max,
            silence_max: SILENCE_MAX,
            prepare_max: PREPARE_MAX,
            tolerate_lost: self.tolerate_lost,
            // At most `AGENTS_MAX`.
            parts: u32::try_from(self.count).unwrap_or(u32::MAX),
        })
    }

    /// Returns the plan of the command.
    pub(super) fn plan(&self) -> PlanText {
        self.plan.clone()
    }

    /// Returns the number of agents that may be lost.
    pub(super) fn tolerate_lost(&self) -> usize {
        self.tolerate_lost
    }

    /// Returns the names of the agents that make the loads.
    pub(super) fn names(&self) -> Vec<String> {
        self.first_names(self.count)
    }

    fn first_names(&self, count: usize) -> Vec<String> {
        self.agents.members.iter().take(count).map(|member| member.name.clone()).collect()
    }

    /// Makes one load on the first `count` agents, which send their records to `directory`. Returns the outcome, and what
    /// the agents sent. The other agents wait.
    pub(super) fn make_load<'m>(
        &mut self,
        settings: &Settings,
        count: usize,
        (directory, options): (&Path, &RunOptions),
        monitor: Option<MonitorOfLevel<'m>>,
    ) -> Result<(Outcome, Received<'m>), Failure> {
        let names = self.first_names(count);
        let poller = Collecting::prepare(&options.collect, options.collect_every)?;
        // `fleet collect` needs the name of a run if this process is killed.
        let announcement = format!("run {} on {}", settings.run.as_str(), plural(count as u64, "agent"));
        let announcement = Some(announcement).filter(|_| monitor.is_none());
        let mut received = Received::new(directory, &names, options.progress.clone(), monitor);
        received.announce(announcement);
        received.collect_with(poller, options.collect_every);
        let (outcome, mut received) = self.carry_out(settings.clone(), names, received)?;
        received.end_collectors();
        Ok((outcome, received))
    }

    /// Makes one load on the first agents, those with these names. `received` gets their records. The other agents wait.
    pub(super) fn carry_out<R: TakeRecords>(
        &mut self,
        settings: Settings,
        names: Vec<String>,
        received: R,
    ) -> Result<(Outcome, R), Failure> {
        let (outcome, received) = Fleet::new(settings, names, self.agents, received).run()?;
        if let Outcome::Ended(ended) = &outcome {
            self.agents.forget_lost(ended);
        }
        Ok((outcome, received))
    }
}

impl MakeLoad for Loads<'_> {
    fn make(
        &mut self,
        load: SearchLoad,
        options: &RunOptions,
        monitor: Option<MonitorOfLevel<'_>>,
    ) -> Result<Option<MadeLoad>, Failure> {
        let Some(directory) = &options.directory else {
            return Err(Failure::could_not_run("a load of a search has no directory"));
        };
        let settings = self.next_settings(&PlanText { search: Some(load), ..self.plan() })?;
        let (outcome, received) = self.make_load(&settings, self.count, (directory, options), monitor)?;
        if outcome == Outcome::Aborted(Abort::Interrupted) {
            return Ok(None);
        }
        let ended = ended(outcome)?;
        refuse_losses(&ended, "a search")?;
        let evidence = received.evidence();
        let run = result::merge(&settings, &ended, &received, None, directory)?;
        Ok(Some(MadeLoad { run, evidence }))
    }

    fn pause(&mut self, time: Duration) {
        self.agents.renew_leases();
        thread::sleep(time);
    }
}

/// Fails if an agent was lost. `what` needs all agents, for example because the levels of a search must all have the same
/// agents.
pub(super) fn refuse_losses(ended: &Ended, what: &str) -> Result<(), Failure> {
    let lost = ended.agents.iter().find_map(|agent| Some((&agent.name, agent.loss.as_ref()?)));
    lost.map_or(Ok(()), |(name, loss)| {
        let loss = bounded(&loss.to_string(), LOSS_MAX);
        Err(Failure::could_not_run(format!("{name} was lost, and {what} needs all of its hosts: {loss}")))
    })
}
