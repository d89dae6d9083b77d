//! `plimsoll prepare`: makes a dataset on a target, once. A second time nothing is written.

use super::dataset;
use super::load::{self, place::Place, s3, stored, stored::Stored};
use crate::failure::{Exit, Failure};
use crate::say;
use content::{Content, Dataset};
use engine::plan::{BodyPlan, Choice, Mix, RequestPlan, Source};
use measure::OpKind;
use measure::units::ByteSize;
use report::number::plural;
use std::process::ExitCode;
use std::sync::Arc;

/// Which dataset is made, and where.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER)]
pub struct Args {
    /// Where the objects go: s3://BUCKET/PREFIX, or http://host:port/path (several for several servers).
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// The objects.
    #[command(flatten)]
    pub objects: dataset::Args,
    /// What bytes, sizes and directories depend on.
    #[arg(long, value_name = "N", value_parser = load::seed, default_value = "1")]
    pub dataset_seed: u64,
    /// Make the bucket first, unless it is there.
    #[arg(long)]
    pub make_bucket: bool,
    /// What all commands that make load have in common.
    #[command(flatten)]
    pub common: load::Args,
    /// How S3 is spoken.
    #[command(flatten)]
    pub s3: s3::Args,
}

const AFTER: &str = "Remembers the dataset in .plimsoll-dataset.json beside its objects: `mix`, `cleanup` and a second `prepare` find it
there. --help-all prints every flag.";

/// Carries it out.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let load = &args.common.load;
    if load.duration.is_some() || load.requests.is_some() || load.bytes.is_some() || args.common.shown.repeat.get() > 1
    {
        return Err(Failure::usage("prepare writes each object once: leave out -d, -n, --bytes and --repeat"));
    }
    let place = Place::of(&args.urls, &args.s3)?;
    let dataset = args.objects.dataset(args.dataset_seed)?;
    let stored = Stored::reach(&args.common, &place)?;
    if args.make_bucket {
        stored.make_bucket()?;
    }
    match stored.dataset()? {
        Some(there) if there == dataset => {
            say::out(&format!("{} there already: nothing was written\n", objects(&dataset)))?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(_) => {
            return Err(Failure::could_not_run(
                "another dataset was prepared there: `plimsoll cleanup` with this location deletes it, or choose another prefix",
            ));
        }
        None => {}
    }
    let (runs, exit) = load::carry_out(write(args, &place, &dataset)?, &args.common)?;
    let written: u64 = runs.iter().map(|run| run.summary().stats.measured.ok).sum();
    if written < dataset.count() {
        let missing = dataset.count() - written;
        let exit = if exit == Exit::Good { Exit::CouldNotRun } else { exit };
        return Err(Failure::Message(
            exit,
            format!("{} could not be written: the same command writes all of them again", plural(missing, "object")),
        ));
    }
    stored.keep(&dataset)?;
    say::note(&format!("prepared {}", objects(&dataset)));
    Ok(exit.into())
}

fn objects(dataset: &Dataset) -> String {
    let bytes = ByteSize(u64::try_from(dataset.total_bytes()).unwrap_or(u64::MAX));
    format!("{}, {}", plural(dataset.count(), "object"), bytes.human())
}

fn write(args: &Args, place: &Place, dataset: &Dataset) -> Result<engine::Plan, Failure> {
    let content = Arc::new(Content::new(dataset.description().seed));
    let body = BodyPlan::of(Source::Content(content));
    let request = stored::request(&args.common, place, "PUT", OpKind::Put)?;
    let asked = load::Asked {
        targets: place.targets(dataset.clone()),
        choice: Choice::RoundRobin,
        once: true,
        mix: Mix::one(RequestPlan { body: Some(body), ..request }),
        auth: place.auth.clone(),
        spread: place.spread,
    };
    load::plan(&args.common, asked)
}
