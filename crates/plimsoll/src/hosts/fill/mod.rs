//! A fill of several hosts. The objects are divided into as many shares as there are hosts, and each host uploads a share
//! with its own journal. This process decides only about sums: progress, stop rules, costs, and the report.
//!
//! Before a session, each agent reports which shares its host already has ([`shares`]). So a share stays with its journal,
//! even if the hosts are named in another order. In a [`session`], the agents report their shares, and this process adds
//! them up ([`sums`]). Nothing depends on the files of this process.

mod session;
mod shares;
mod sums;

use super::loads::{Loads, losses};
use super::{Agents, all_lost, loss_of_all};
use crate::command::fill::share::{HeldShare, Step, is_about_the_sum};
use crate::command::fill::{self, Args, Budget};
use crate::command::put;
use crate::console;
use crate::failure::{Exit, Failure};
use crate::load;
use crate::load::machines::Machines;
use crate::progress::Progress;
use crate::progress::state::study::TrialResult;
use crate::saved::{self, fleet_fill};
use ::fill::stop_watch::StopWatch;
use fleet::coordinator::Ended;
use report::fill::Costs;
use report::{AgentOfFill, FillReport, FleetFill, JsonFill};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::SavedFill;
use store::journal::SessionEnd;
use sums::Sum;

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
    let made = make(args, &mut agents.assign(words, fleet)?, &budget, (&directory, &options.progress));
    drop(agents);
    if made.is_err() {
        output.ci.write_after_failure(&directory);
    }
    let MadeFill { report, end, ended } = made?;
    fleet_fill::print(&report, budget.costs(), options.format)?;
    output.ci.write(&directory)?;
    let has_lost = ended.as_ref().is_some_and(has_lost_agents);
    console::eprintln(&format!("saved in {}{}", directory.display(), fill::how_to_continue(&end, has_lost)));
    let exit = match (super::interrupted(), ended.filter(|ended| loss_of_all(ended).is_some())) {
        (interrupted, Some(ended)) => interrupted.unwrap_or(Exit::Good).or_worse(all_lost(&ended)),
        (Some(interrupted), None) => interrupted,
        (None, None) => saved::fill::conclude(&FillReport::of_hosts(report, budget.costs())),
    };
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
    let held = shares::survey(loads)?;
    let shares = shares::assign(&held, loads.names().len()).map_err(Failure::usage)?;
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
    watch.restart(sums::active(&whole), whole.totals().file_bytes);
    let mut sum = Sum { whole, watch, budget, progress, directory };
    let mut last = None;
    let mut stopped = if args.no_upload { None } else { sum.stopped_already() };
    if stopped.is_none() {
        let session = sum.session(loads, Step::Upload, &shares)?;
        (stopped, last) = (session.stopped, Some(session.ended));
    }
    let has_lost = last.as_ref().is_some_and(has_lost_agents);
    let has_more = args.verify || args.delete || args.put.multipart.is_some();
    if stopped.is_some() && has_more && !has_lost && sys::signals::interrupts().count == 0 {
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

fn has_lost_agents(ended: &Ended) -> bool {
    ended.agents.iter().any(|agent| agent.loss.is_some())
}
