//! The plan of a run on several hosts, as the text that the coordinator sends to all agents.
//!
//! The text contains the words of the command line and, for a search or a fill, the load to make. Each agent makes its own plan
//! from the text, and takes its part. Secrets are sent only as references (`@FILE`, `${ENV}`), which the agent resolves
//! on its own host.

use crate::command::fill::share::Step;
use crate::command::line::{self, SearchLoad};
use crate::command::load_command::LoadCommand;
use crate::execute::RunOptions;
use crate::failure::Failure;
use crate::redact;
use engine::plan::{Part, Plan};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::path::Path;

/// Maximum number of words.
const WORDS_MAX: usize = 10_000;

/// The content of the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanText {
    /// The words of the command line. The first word is the program.
    pub words: Vec<String>,
    /// The load to make, for a search.
    #[serde(default)]
    pub search: Option<SearchLoad>,
    /// The work to do, for a fill.
    #[serde(default)]
    pub fill: Option<FillLoad>,
}

/// The work of a fill that all agents do together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FillLoad {
    /// Each agent reports which shares of the fill its host has.
    Survey,
    /// Each agent carries out a session of its share.
    Session {
        /// The work of the session.
        step: Step,
        /// The number of the share of each agent, from 0.
        shares: Vec<u32>,
    },
}

impl PlanText {
    /// Returns the text.
    ///
    /// # Errors
    /// Refuses words that contain a secret as text.
    pub fn write(&self) -> Result<String, Failure> {
        if let Some(shown) = redact::literal_secret(&self.words) {
            return Err(Failure::usage(format!(
                "`{shown}` contains a secret, which is not sent to other hosts: write @FILE or ${{ENV}}, which each host reads itself"
            )));
        }
        serde_json::to_string(self).map_err(Failure::could_not_run)
    }

    /// Parses the text.
    ///
    /// # Errors
    /// Fails if the text is malformed. The message does not quote it.
    pub fn read(text: &str) -> Result<Self, Failure> {
        let plan = serde_json::from_str(text).ok().filter(|plan: &Self| plan.words.len() <= WORDS_MAX);
        plan.ok_or_else(malformed)
    }
}

pub fn malformed() -> Failure {
    Failure::could_not_run("the plan of the run is malformed")
}

/// The part of an agent in the load of a command.
pub struct Job {
    /// The command that makes the load: `get`, `put` or `mix`. With `--pair`, it has only the URL of this agent.
    pub command: LoadCommand,
    /// The part of this agent.
    pub part: Part,
    /// The load of a search, with the number of agents.
    search: Option<(SearchLoad, line::Settings, NonZeroU64)>,
}

impl Job {
    /// Returns part `index` of `of` parts of the load.
    pub fn of(text: &PlanText, index: u32, of: u32) -> Result<Self, Failure> {
        let command = LoadCommand::parse(text.words.iter().map(Into::into))?;
        refuse_standard_input(&command)?;
        let too_high = || Failure::could_not_run("the number of this agent is too high");
        let part = Part::new(index, of).ok_or_else(too_high)?;
        let agents = NonZeroU64::new(of.into()).ok_or_else(too_high)?;
        let (mut command, search) = match (command, text.search) {
            // A fill is not one load, so another function makes its parts.
            (LoadCommand::Fill(_), _) => return Err(malformed()),
            (LoadCommand::Line(args), Some(load)) => {
                let (mut flags, args) = args.parts();
                let settings = line::Settings::of(&args, flags.common());
                settings.set_flags(load, &mut flags);
                (flags.into_command(), Some((load, settings, agents)))
            }
            (LoadCommand::Line(_), None) | (_, Some(_)) => return Err(malformed()),
            (command, None) => (command, None),
        };
        if command.common().fleet.pair {
            pair(command.urls_mut(), index as usize, of as usize)?;
        }
        Ok(Self { command, part, search })
    }

    /// Returns the plan of the whole load, and the options of the run.
    pub fn plan(&self) -> Result<(Plan, RunOptions), Failure> {
        let (plan, options) = self.command.plan()?;
        let plan = match &self.search {
            Some((load, settings, agents)) => settings.shape(*load, *agents, plan),
            None => plan,
        };
        Ok((plan, options))
    }

    /// Returns whether the run may end without reaching its target. Otherwise an unreachable target is an error.
    pub fn may_be_unreachable(&self) -> bool {
        self.search.as_ref().is_some_and(|(load, ..)| *load != SearchLoad::Before)
    }

    /// Returns whether this host keeps the run directory after the run.
    pub fn is_kept(&self) -> bool {
        self.search.as_ref().is_none_or(|(load, ..)| matches!(load, SearchLoad::Level(_)))
    }
}

/// Refuses a list on standard input, which belongs to the coordinator and its messages.
pub fn refuse_standard_input(command: &LoadCommand) -> Result<(), Failure> {
    let args = match command {
        LoadCommand::Get(args) => &**args,
        LoadCommand::Line(args) => &args.get,
        LoadCommand::Put(_) | LoadCommand::Mix(_) | LoadCommand::Fill(_) => return Ok(()),
    };
    let list = args.url_file.as_deref().and_then(Path::to_str);
    if matches!(list, Some("-" | "/dev/stdin")) {
        return Err(Failure::usage("each host reads the list itself, so it must be a file on each host"));
    }
    Ok(())
}

/// Removes the URLs of the other agents. Words that are not URLs are names of objects, which all agents share.
pub fn pair(urls: &mut Vec<String>, index: usize, of: usize) -> Result<(), Failure> {
    let count = urls.iter().filter(|word| word.contains("://")).count();
    if count != of {
        return Err(Failure::usage(format!(
            "--pair needs one URL per host: the command has {count} URLs and {of} hosts"
        )));
    }
    let mut number = 0;
    urls.retain(|word| {
        let is_url = word.contains("://");
        number += usize::from(is_url);
        !is_url || number == index + 1
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn text(command: &str, search: Option<SearchLoad>) -> PlanText {
        PlanText { words: words(&format!("plimsoll {command}")), search, fill: None }
    }

    #[test]
    fn a_plan_comes_back() {
        let loads = [SearchLoad::Before, SearchLoad::Level(7), SearchLoad::Recovery].map(Some);
        for search in [None].into_iter().chain(loads) {
            let plan = text("get http://a/ -u @secret -H Authorization:${TOKEN}", search);
            assert_eq!(PlanText::read(&plan.write().unwrap()).unwrap(), plan);
        }
        for load in [FillLoad::Survey, FillLoad::Session { step: Step::AfterStop, shares: vec![1, 0] }] {
            let plan = PlanText { fill: Some(load), ..text("fill s3://b/a --count 5 --size 1KiB", None) };
            assert_eq!(PlanText::read(&plan.write().unwrap()).unwrap(), plan);
            assert!(Job::of(&plan, 0, 1).is_err(), "a fill is not one load");
        }
        for text in ["", "{}", "[]", r#"{"words":[1]}"#, r#"{"words":"a"}"#, r#"{"words":[],"search":{"level":-1}}"#] {
            assert!(PlanText::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_secret_as_text_is_not_sent_and_not_shown() {
        for flags in
            ["-u me:CANARY", "http://me:CANARY@host/", "--secret-key=CANARY", "http://h/?X-Amz-Signature=CANARY"]
        {
            let refused = text(&format!("get {flags}"), None).write().unwrap_err().into_message();
            assert!(refused.contains("contains a secret") && !refused.contains("CANARY"), "{refused}");
        }
        for flags in ["-u @file", "--user=@file", "-u@file", "http://me:${PW}@host/", "-u me:${PW}"] {
            assert!(text(&format!("get {flags}"), None).write().is_ok(), "{flags}");
        }
    }

    #[test]
    fn the_parts_of_a_level_are_the_level() {
        let parts = |command: &str, load| -> Vec<Plan> {
            let job = |index| Job::of(&text(command, Some(load)), index, 3).unwrap();
            (0..3).map(job).map(|job| job.plan().unwrap().0.split(job.part).unwrap()).collect()
        };
        let slots = |plan: &Plan| plan.load.in_flight_max();
        let of_level = parts("line http://a/ -d 3s --level-max 1m", SearchLoad::Level(8));
        assert_eq!(of_level.iter().map(slots).collect::<Vec<_>>(), [3, 3, 2]);
        assert!(of_level.iter().all(|plan| plan.stop.time == Some(std::time::Duration::from_secs(60))));
        assert!(of_level.iter().all(|plan| plan.slices.is_some()));
        for load in [SearchLoad::Before, SearchLoad::Recovery] {
            let few = parts("line put http://a/ --count 5 --size 1KiB --on rate", load);
            assert!(few.iter().all(|plan| slots(plan) == 1 && plan.stop.ops.is_some_and(|ops| ops.get() == 5)));
        }
        let refused = |command, search| Job::of(&text(command, search), 0, 1).is_err();
        assert!(refused("line http://a/", None) && refused("get http://a/", Some(SearchLoad::Before)));
    }

    #[test]
    fn a_paired_agent_has_one_url_and_all_names() {
        let of = |index| {
            let mut urls = words("http://a/ name http://b/");
            pair(&mut urls, index, 2).unwrap();
            urls.join(" ")
        };
        assert_eq!((of(0).as_str(), of(1).as_str()), ("http://a/ name", "name http://b/"));
        let refused = pair(&mut words("http://a/"), 0, 2).unwrap_err().into_message();
        assert!(refused.contains("1 URLs and 2 hosts"), "{refused}");
    }
}
