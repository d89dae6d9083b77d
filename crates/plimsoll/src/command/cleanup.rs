//! `plimsoll cleanup`: deletes what `prepare` and runs of `mix` wrote, and nothing else. The command never empties a
//! bucket. The command deletes only keys that it derives from the dataset's description.

use super::prepare::show;
use crate::failure::Failure;
use crate::load::dataset;
use crate::load::location_client::{LocationClient, Patience, Upload, s3_error};
use crate::load::machines;
use crate::load::retry::RetryLimit;
use crate::load::{self, dataset_location::DatasetLocation, location_client, s3};
use crate::progress::{requests_interrupted, with_progress};
use crate::saved::{self, OutputFormat};
use content::Dataset;
use engine::plan::{Batch, BatchObjects, BatchSize, Checks, Plan, RequestPlan, Targets, fresh_number, fresh_prefix};
use engine::single_requests::{Ended, aborting, each};
use measure::OpKind;
use report::number::plural;
use report::{JsonAborted, JsonCleaned};
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::Arc;
use wire::s3::DeleteResult;

/// The flags of `cleanup`.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER, mut_args(machines::hide))]
pub struct Args {
    /// Location of the dataset: s3://BUCKET/PREFIX, or http://host:port/path.
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// The flags that are common to all commands that generate load.
    #[command(flatten)]
    pub common: load::Args,
    /// The dataset. These flags are needed only if `prepare` did not complete.
    #[command(flatten)]
    pub objects: dataset::Args,
    /// Seed of bytes, sizes and directories.
    #[arg(long, value_name = "N", value_parser = load::seed, default_value = "1", hide_short_help = true)]
    pub dataset_seed: u64,
    /// The settings of S3.
    #[command(flatten)]
    pub s3: s3::Args,
}

const AFTER: &str = "Deletes the objects of the prepared dataset, the objects that `mix` wrote, and the \
    dataset's description. In S3, it also aborts open multipart uploads of these objects. --help-all prints every \
    flag.";

const DEFAULT_CONCURRENCY: NonZeroU64 = NonZeroU64::new(16).expect("16 is not 0");
/// Number of objects that are deleted in one pass, if the server cannot list objects.
const CHUNK: u64 = 1 << 16;

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    let place = DatasetLocation::of(&args.urls, &args.s3)?;
    let stored = LocationClient::new(&args.common, &place, Patience::Repeat(RetryLimit::HalfMinute))?;
    let dataset = match args.objects.is_given() {
        true => args.objects.dataset(args.dataset_seed)?,
        false => stored.dataset()?.ok_or_else(|| {
            Failure::usage(
                "this location has no dataset, so nothing was deleted; if `prepare` did not complete, describe the dataset, for example --count 100 --size 1MiB",
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
    cleaned.mix_objects = mixed.deleted();
    stored.delete_dataset_record()?;
    let message = format!("{}; {}{aborted}", objects.description(), mixed.description());
    let json = serde_json::to_string_pretty(&cleaned);
    if let Mixed::InPart(_) = mixed {
        // In other formats, the message below contains the counts.
        if load::run_options(&args.common).format == OutputFormat::Json {
            saved::print_json(json)?;
        }
        let all = fresh_prefix(dataset.description().seed.0);
        return Err(Failure::could_not_run(format!(
            "{message}; a run of `mix` did not complete, so some of its objects may be left, and plain HTTP cannot list them: delete {all}* on the server"
        )));
    }
    show(&args.common, &message, json)
}

/// Outcome of deleting the objects that runs of `mix` wrote next to the dataset.
enum Mixed {
    /// All objects that runs wrote were deleted. The value is the number of these objects.
    Deleted(u64),
    /// There is no record of any run, and objects cannot be listed.
    NoneKnown,
    /// This many objects were deleted. More objects may be left, because a run that did not complete may have written
    /// objects that are not in the record.
    InPart(u64),
}

impl Mixed {
    fn description(&self) -> String {
        match *self {
            Self::Deleted(count) => format!("and {} that runs wrote", plural(count, "object")),
            Self::NoneKnown => "there is no record of a run of `mix`".to_owned(),
            Self::InPart(0) => "no object of a run of `mix` was deleted".to_owned(),
            Self::InPart(count) => format!("and {} that earlier runs wrote", plural(count, "object")),
        }
    }

    fn deleted(&self) -> u64 {
        match *self {
            Self::Deleted(count) | Self::InPart(count) => count,
            Self::NoneKnown => 0,
        }
    }
}

/// The requests that delete objects.
struct Delete {
    one: RequestPlan,
    /// Request that deletes several objects. `None` if the server does not support such requests.
    batch: Option<RequestPlan>,
    concurrency: NonZeroU64,
}

/// Outcome of deleting objects.
enum Gone {
    /// Each object was deleted by its own request. `missing` objects did not exist.
    OneByOne { deleted: u64, missing: u64 },
    /// Number of objects that were deleted or did not exist. S3 does not distinguish deleted objects from missing ones.
    InBatches(u64),
}

impl Gone {
    fn description(&self) -> String {
        match *self {
            Self::OneByOne { deleted, missing: 0 } => format!("deleted {}", plural(deleted, "object")),
            Self::OneByOne { deleted, missing } => {
                format!("deleted {}, {missing} did not exist", plural(deleted, "object"))
            }
            Self::InBatches(gone) => {
                format!("deleted {} of the dataset (S3 does not report which existed)", plural(gone, "object"))
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
    fn new(args: &Args, place: &DatasetLocation) -> Result<Self, Failure> {
        let one = location_client::request(&args.common, place, "DELETE", OpKind::Delete)?;
        let batch = RequestPlan::delete_batch(Batch { objects: BatchObjects::Targets, size_max: BatchSize::MAX });
        let batch = RequestPlan { headers: one.headers.clone(), ..batch };
        let concurrency = args.common.load.concurrency.unwrap_or(DEFAULT_CONCURRENCY);
        Ok(Self { one, batch: Some(batch).filter(|_| place.can_list), concurrency })
    }

    fn all(&mut self, plan: &Plan, targets: Targets) -> Result<Gone, Failure> {
        let plan = Plan { targets: Arc::new(targets), ..plan.clone() };
        if let Some(batch) = &self.batch {
            let ended = self.each(&plan, batch)?;
            if !refuses_batches(&ended) {
                return check_success(&ended).map(|()| Gone::InBatches(ended.good + ended.missing));
            }
            self.batch = None;
        }
        let ended = self.each(&plan, &self.one)?;
        check_success(&ended).map(|()| Gone::OneByOne { deleted: ended.good, missing: ended.missing })
    }

    fn each(&self, plan: &Plan, request: &RequestPlan) -> Result<Ended, Failure> {
        let total = plan.targets.count();
        let describe = |seen, _| format!("deleting: {seen} of {total}");
        let ended = with_progress(describe, |tick| each(plan, request.clone(), self.concurrency, tick));
        let ended = ended.map_err(|error| Failure::could_not_run(error.to_string()))?;
        if ended.interrupted {
            let deleted = plural(ended.good, "object");
            return Err(requests_interrupted(format!(
                "interrupted: {deleted} deleted; the same command deletes the rest"
            )));
        }
        Ok(ended)
    }

    /// Deletes the objects that runs of `mix` wrote next to the dataset.
    fn mixed(
        &mut self,
        stored: &LocationClient<'_>,
        place: &DatasetLocation,
        dataset: &Dataset,
    ) -> Result<Mixed, Failure> {
        if place.can_list {
            return self.listed(stored, place, dataset).map(Mixed::Deleted);
        }
        let Some(mixed) = stored.mix_record()? else { return Ok(Mixed::NoneKnown) };
        let mut deleted = 0;
        for mut numbers in mixed.numbers() {
            while !numbers.is_empty() {
                let end = numbers.end.min(numbers.start.saturating_add(CHUNK));
                let chunk = (numbers.start..end).collect();
                deleted += self.all(stored.plan(), place.fresh(dataset.clone(), chunk))?.count();
                numbers.start = end;
            }
        }
        stored.delete_mix_record()?;
        Ok(if mixed.open { Mixed::InPart(deleted) } else { Mixed::Deleted(deleted) })
    }

    /// Lists the objects that runs of `mix` wrote, and deletes them.
    fn listed(
        &mut self,
        stored: &LocationClient<'_>,
        place: &DatasetLocation,
        dataset: &Dataset,
    ) -> Result<u64, Failure> {
        let mut deleted = 0;
        let mut before = Vec::new();
        loop {
            // Always list the first page. When its objects are deleted, the next objects move to the first page.
            let numbers = stored.list_mix_objects(dataset)?;
            if numbers.is_empty() {
                return Ok(deleted);
            }
            if numbers == before {
                return Err(Failure::could_not_run(
                    "cannot delete objects that runs wrote: the server still lists them; try again later",
                ));
            }
            let gone = self.all(stored.plan(), place.fresh(dataset.clone(), numbers.clone()))?;
            deleted += gone.count();
            before = numbers;
        }
    }

    /// Aborts open multipart uploads of the dataset's objects. Returns a message and the counts.
    fn uploads(
        &self,
        stored: &LocationClient<'_>,
        place: &DatasetLocation,
        dataset: &Dataset,
    ) -> Result<(String, Option<JsonAborted>), Failure> {
        if !place.can_list {
            return Ok((String::new(), None));
        }
        let open = match stored.open_uploads() {
            Ok(open) => open,
            // Some servers cannot list uploads. Objects can still be deleted there.
            Err(why) => {
                let why = why.into_message();
                return Ok((format!("; cannot list open multipart uploads ({why})"), None));
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
        check_success(&ended).map_err(|failure| failure.and("open multipart uploads are left"))?;
        let aborted = ended.good + ended.missing;
        let mut message = String::new();
        if aborted > 0 {
            message = format!("; aborted {}", plural(aborted, "open multipart upload"));
        }
        if others > 0 {
            message += &format!("; kept {} of other objects", plural(others, "open multipart upload"));
        }
        Ok((message, Some(JsonAborted { aborted, others })))
    }
}

/// Returns whether the server supports no batches at all. A server that supports batches may still refuse a batch
/// because of its content.
fn refuses_batches(ended: &Ended) -> bool {
    let refused = ended.example.as_ref().is_some_and(|example| matches!(example.status, Some(405 | 501)));
    refused && ended.good + ended.missing == 0
}

fn check_success(ended: &Ended) -> Result<(), Failure> {
    let Some(example) = &ended.example else { return Ok(()) };
    let status = example.status.map_or(String::new(), |status| format!(", status {status}"));
    let message = example.message.as_deref().unwrap_or_default();
    let result = DeleteResult::parse(message).ok();
    let code = result.as_ref().and_then(|result| result.errors.first()).map(|error| format!(", {}", error.code));
    Err(Failure::could_not_run(format!(
        "cannot delete {} ({}{status}{}); the same command tries again",
        plural(ended.failed, "object"),
        example.outcome.cause.about(),
        code.unwrap_or_else(|| s3_error(message)),
    )))
}
