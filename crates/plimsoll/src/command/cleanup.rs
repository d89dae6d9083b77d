//! `plimsoll cleanup`: deletes what `prepare` and runs of `mix` made, and nothing else. A bucket is never emptied: every key
//! that is deleted is one that follows from the dataset.

use super::dataset;
use super::load::stored::{Patience, Stored, Upload, s3_error};
use super::load::{self, place::Place, s3, stored};
use super::prepare::show;
use crate::execute::watched::{interrupted, watched};
use crate::execute::{self, Print};
use crate::failure::Failure;
use content::Dataset;
use engine::plan::{Batch, BatchSize, Checks, Lot, Plan, RequestPlan, Targets, fresh_number, fresh_prefix};
use engine::single_requests::{Ended, aborting, each};
use measure::OpKind;
use report::number::plural;
use report::{JsonAborted, JsonCleaned};
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::Arc;
use wire::s3::DeleteResult;

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
    "Deletes the objects of the dataset that was prepared there, those that `mix` wrote beside them, and the description;
in S3 it also aborts open multipart uploads of these objects. --help-all prints every flag.";

const DEFAULT_CONCURRENCY: NonZeroU64 = NonZeroU64::new(16).expect("16 is not 0");
/// Objects that are named at once where they cannot be listed.
const CHUNK: u64 = 1 << 16;

/// Carries it out.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    let place = Place::of(&args.urls, &args.s3)?;
    let stored = Stored::reach(&args.common, &place, Patience::Repeat)?;
    let dataset = match args.objects.is_given() {
        true => args.objects.dataset(args.dataset_seed)?,
        false => stored.dataset()?.ok_or_else(|| {
            Failure::usage(
                "no dataset was prepared there: nothing is deleted; where `prepare` did not end, describe it, like --count 100 --size 1MiB",
            )
        })?,
    };
    let mut delete = Delete::new(args, &place)?;
    let mut cleaned = JsonCleaned::new();
    let (aborted, uploads) = delete.uploads(&stored, &place, &dataset)?;
    cleaned.uploads = uploads;
    let objects = delete.all(stored.plan(), place.targets(dataset.clone()))?;
    (cleaned.dataset_objects, cleaned.missing) = (objects.count(), objects.missing());
    let mixed = delete.mixed(&stored, &place, &dataset)?;
    cleaned.mixed_objects = mixed.deleted();
    stored.forget()?;
    let told = format!("{}; {}{aborted}", objects.told(), mixed.told());
    let json = serde_json::to_string_pretty(&cleaned);
    if let Mixed::InPart(_) = mixed {
        // The message below has the same in words.
        if load::output(&args.common).print == Print::Json {
            execute::print_json(json)?;
        }
        let all = fresh_prefix(dataset.description().seed.0);
        return Err(Failure::could_not_run(format!(
            "{told}: a run of `mix` did not end, and plain HTTP cannot list what it wrote: delete {all}* at the server"
        )));
    }
    show(&args.common, &told, json)
}

/// What became of the objects that runs of `mix` wrote next to the dataset.
enum Mixed {
    /// So many are gone.
    Deleted(u64),
    /// No run is known to have written any, and there is no way to ask.
    NoneKnown,
    /// So many are gone. A run that did not end may have written others, and it is not known which.
    InPart(u64),
}

impl Mixed {
    fn told(&self) -> String {
        match *self {
            Self::Deleted(count) => format!("and {} that runs had written", plural(count, "object")),
            Self::NoneKnown => "no run of `mix` is known to have written more".to_owned(),
            Self::InPart(0) => "what runs had written is left".to_owned(),
            Self::InPart(count) => {
                format!("and {} that earlier runs had written, the rest is left", plural(count, "object"))
            }
        }
    }

    fn deleted(&self) -> u64 {
        match *self {
            Self::Deleted(count) | Self::InPart(count) => count,
            Self::NoneKnown => 0,
        }
    }
}

/// How objects are deleted.
struct Delete {
    one: RequestPlan,
    /// Several with one request, as long as the server is not known to refuse that.
    batch: Option<RequestPlan>,
    concurrency: NonZeroU64,
}

/// Objects that are gone.
enum Gone {
    /// Each was asked for on its own, and those that are missing were not there.
    OneByOne { deleted: u64, missing: u64 },
    /// S3 counts as deleted what was not there.
    InBatches(u64),
}

impl Gone {
    fn told(&self) -> String {
        match *self {
            Self::OneByOne { deleted, missing: 0 } => format!("deleted {}", plural(deleted, "object")),
            Self::OneByOne { deleted, missing } => {
                format!("deleted {}, {missing} were not there", plural(deleted, "object"))
            }
            Self::InBatches(gone) => {
                format!("gone: {} of the dataset (S3 does not tell which were there)", plural(gone, "object"))
            }
        }
    }

    fn count(&self) -> u64 {
        match *self {
            Self::OneByOne { deleted, .. } => deleted,
            Self::InBatches(gone) => gone,
        }
    }

    fn missing(&self) -> Option<u64> {
        match *self {
            Self::OneByOne { missing, .. } => Some(missing),
            Self::InBatches(_) => None,
        }
    }
}

impl Delete {
    fn new(args: &Args, place: &Place) -> Result<Self, Failure> {
        let one = stored::request(&args.common, place, "DELETE", OpKind::Delete)?;
        let batch = RequestPlan::delete_batch(Batch { of: Lot::Targets, most: BatchSize::MAX });
        let batch = RequestPlan { headers: one.headers.clone(), ..batch };
        let concurrency = args.common.load.concurrency.unwrap_or(DEFAULT_CONCURRENCY);
        Ok(Self { one, batch: Some(batch).filter(|_| place.can_list), concurrency })
    }

    fn all(&mut self, plan: &Plan, targets: Targets) -> Result<Gone, Failure> {
        let plan = Plan { targets: Arc::new(targets), ..plan.clone() };
        if let Some(batch) = &self.batch {
            let ended = self.each(&plan, batch)?;
            if !knows_no_batches(&ended) {
                return judged(&ended).map(|()| Gone::InBatches(ended.good + ended.missing));
            }
            self.batch = None;
        }
        let ended = self.each(&plan, &self.one)?;
        judged(&ended).map(|()| Gone::OneByOne { deleted: ended.good, missing: ended.missing })
    }

    fn each(&self, plan: &Plan, request: &RequestPlan) -> Result<Ended, Failure> {
        let total = plan.targets.count();
        let describe = |seen, _| format!("deleting: {seen} of {total}");
        let ended = watched(describe, |tick| each(plan, request.clone(), self.concurrency, tick));
        let ended = ended.map_err(|error| Failure::could_not_run(error.to_string()))?;
        if ended.interrupted {
            let deleted = plural(ended.good, "object");
            return Err(interrupted(format!("interrupted: {deleted} deleted; the same command goes on")));
        }
        Ok(ended)
    }

    /// Deletes what runs wrote next to the dataset.
    fn mixed(&mut self, stored: &Stored<'_>, place: &Place, dataset: &Dataset) -> Result<Mixed, Failure> {
        if place.can_list {
            return self.listed(stored, place, dataset).map(Mixed::Deleted);
        }
        let Some(mixed) = stored.mixed()? else { return Ok(Mixed::NoneKnown) };
        let mut deleted = 0;
        for mut numbers in mixed.numbers() {
            while !numbers.is_empty() {
                let end = numbers.end.min(numbers.start.saturating_add(CHUNK));
                let chunk = (numbers.start..end).collect();
                deleted += self.all(stored.plan(), place.fresh(dataset.clone(), chunk))?.count();
                numbers.start = end;
            }
        }
        stored.forget_mixed()?;
        Ok(if mixed.open { Mixed::InPart(deleted) } else { Mixed::Deleted(deleted) })
    }

    /// Deletes what runs wrote and a listing shows.
    fn listed(&mut self, stored: &Stored<'_>, place: &Place, dataset: &Dataset) -> Result<u64, Failure> {
        let mut deleted = 0;
        let mut before = Vec::new();
        loop {
            // Always the first page: what was on it is gone then.
            let numbers = stored.fresh(dataset)?;
            if numbers.is_empty() {
                return Ok(deleted);
            }
            if numbers == before {
                return Err(Failure::could_not_run("objects that runs had written are listed and can not be deleted"));
            }
            let gone = self.all(stored.plan(), place.fresh(dataset.clone(), numbers.clone()))?;
            deleted += gone.count();
            before = numbers;
        }
    }

    /// Aborts open multipart uploads of the objects that are deleted here. What is said of it, with the counts.
    fn uploads(
        &self,
        stored: &Stored<'_>,
        place: &Place,
        dataset: &Dataset,
    ) -> Result<(String, Option<JsonAborted>), Failure> {
        if !place.can_list {
            return Ok((String::new(), None));
        }
        let open = match stored.open_uploads() {
            Ok(open) => open,
            // Not every server knows them, and objects can be deleted all the same.
            Err(why) => {
                let why = why.into_message();
                return Ok((format!("; open multipart uploads can not be listed ({why})"), None));
            }
        };
        let seed = dataset.description().seed.0;
        let is_ours = |upload: &&Upload| {
            let key = upload.key.strip_prefix(place.prefix.as_str());
            key.is_some_and(|key| dataset.index_of(key).is_some() || fresh_number(seed, key).is_some())
        };
        let ours: Vec<_> = open.iter().filter(is_ours).collect();
        let others = (open.len() - ours.len()) as u64;
        let plan = aborting(stored.plan(), ours.iter().map(|upload| (0, place.path(&upload.key), &*upload.id)));
        let ended = self.each(&plan, &RequestPlan { checks: Checks::default(), ..self.one.clone() })?;
        judged(&ended).map_err(|failure| failure.and("open multipart uploads are left"))?;
        let aborted = ended.good + ended.missing;
        let mut told = String::new();
        if aborted > 0 {
            told = format!("; aborted {}", plural(aborted, "open multipart upload"));
        }
        if others > 0 {
            told += &format!("; {} of other objects left alone", plural(others, "open multipart upload"));
        }
        Ok((told, Some(JsonAborted { aborted, others })))
    }
}

/// Whether a server has refused batches as such, and not what was in one.
fn knows_no_batches(ended: &Ended) -> bool {
    let refused = ended.example.as_ref().is_some_and(|example| matches!(example.status, Some(405 | 501)));
    refused && ended.good + ended.missing == 0
}

fn judged(ended: &Ended) -> Result<(), Failure> {
    let Some(example) = &ended.example else { return Ok(()) };
    let status = example.status.map_or(String::new(), |status| format!(", status {status}"));
    let message = example.message.as_deref().unwrap_or_default();
    let said = DeleteResult::parse(message).ok();
    let code = said.as_ref().and_then(|said| said.errors.first()).map(|error| format!(", {}", error.code));
    Err(Failure::could_not_run(format!(
        "{} could not be deleted ({}{status}{}); the same command goes on",
        plural(ended.failed, "object"),
        example.outcome.cause.about(),
        code.unwrap_or_else(|| s3_error(message)),
    )))
}
