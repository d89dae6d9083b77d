//! `plimsoll cleanup`: deletes what `prepare` and runs of `mix` made, and nothing else. A bucket is never emptied: every key
//! that is deleted is one that follows from the dataset.

use super::dataset;
use super::load::{self, place::Place, s3, stored, stored::Stored};
use crate::execute::watched::{interrupted, watched};
use crate::failure::Failure;
use crate::say;
use content::Dataset;
use engine::exchange::{Ended, each};
use engine::plan::{Plan, RequestPlan, Targets};
use measure::OpKind;
use report::number::plural;
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::Arc;

/// Whose objects are deleted.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER)]
pub struct Args {
    /// Where the dataset lies: s3://BUCKET/PREFIX, or http://host:port/path.
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// What all commands that make load have in common.
    #[command(flatten)]
    pub common: load::Args,
    /// The objects, when `prepare` did not end.
    #[command(flatten)]
    pub objects: dataset::Args,
    /// What bytes, sizes and directories depend on.
    #[arg(long, value_name = "N", value_parser = load::seed, default_value = "1", hide_short_help = true)]
    pub dataset_seed: u64,
    /// How S3 is spoken.
    #[command(flatten)]
    pub s3: s3::Args,
}

const AFTER: &str =
    "Deletes the objects of the dataset that was prepared there, those that `mix` wrote beside them (in S3, where they
can be listed), and the description. --help-all prints every flag.";

const DEFAULT_CONCURRENCY: NonZeroU64 = NonZeroU64::new(16).expect("16 is not 0");

/// Carries it out.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    let place = Place::of(&args.urls, &args.s3)?;
    let stored = Stored::reach(&args.common, &place)?;
    let dataset = match args.objects.is_given() {
        true => args.objects.dataset(args.dataset_seed)?,
        false => stored.dataset()?.ok_or_else(|| {
            Failure::usage(
                "no dataset was prepared there: nothing is deleted; where `prepare` did not end, describe it, like --count 100 --size 1MiB",
            )
        })?,
    };
    let concurrency = args.common.load.concurrency.unwrap_or(DEFAULT_CONCURRENCY);
    let delete = Delete { request: stored::request(&args.common, &place, "DELETE", OpKind::Delete)?, concurrency };
    let objects = delete.all(stored.plan(), place.targets(dataset.clone()))?;
    let fresh = delete.fresh(&stored, &place, &dataset)?;
    stored.forget()?;
    let missing = if objects.missing == 0 { String::new() } else { format!(", {} were not there", objects.missing) };
    say::out(&format!(
        "deleted {}{missing}; and {} that runs had written\n",
        plural(objects.good, "object"),
        plural(fresh, "object"),
    ))?;
    Ok(ExitCode::SUCCESS)
}

struct Delete {
    request: RequestPlan,
    concurrency: NonZeroU64,
}

impl Delete {
    fn all(&self, plan: &Plan, targets: Targets) -> Result<Ended, Failure> {
        let total = targets.count();
        let plan = Plan { targets: Arc::new(targets), ..plan.clone() };
        let describe = |seen, _| format!("deleting: {seen} of {total}");
        let ended = watched(describe, |tick| each(&plan, self.request.clone(), self.concurrency, tick));
        let ended = ended.map_err(|error| Failure::could_not_run(error.to_string()))?;
        if ended.interrupted {
            let deleted = plural(ended.good, "object");
            return Err(interrupted(format!("interrupted: {deleted} deleted; the same command goes on")));
        }
        match &ended.example {
            None => Ok(ended),
            Some(example) => {
                let status = example.status.map_or(String::new(), |status| format!(", status {status}"));
                Err(Failure::could_not_run(format!(
                    "{} could not be deleted ({}{status}); the same command goes on",
                    plural(ended.failed, "object"),
                    example.outcome.cause.about()
                )))
            }
        }
    }

    /// Deletes what runs wrote beside the dataset: found by listing, since nobody else knows which there are.
    fn fresh(&self, stored: &Stored<'_>, place: &Place, dataset: &Dataset) -> Result<u64, Failure> {
        if !place.can_list {
            return Ok(0);
        }
        let mut deleted = 0;
        loop {
            // Always the first page: what was on it is gone then.
            let keys = stored.fresh_keys(dataset)?;
            if keys.is_empty() {
                return Ok(deleted);
            }
            let ended = self.all(stored.plan(), place.several(&keys)?)?;
            deleted += ended.good;
            if ended.good == 0 {
                return Err(Failure::could_not_run("objects that runs had written are listed and can not be deleted"));
            }
        }
    }
}
