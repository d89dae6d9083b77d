//! `plimsoll prepare`: writes a dataset to a target, unless the target already has it.
//!
//! Preparing is not a measured load. Transient failures are retried with pauses, and counted.

use crate::console;
use crate::failure::Failure;
use crate::load::dataset;
use crate::load::location_client::{LocationClient, Patience, s3_error};
use crate::load::retry::Retries;
use crate::load::{self, dataset_location::DatasetLocation, location_client, s3};
use crate::progress::{requests_interrupted, with_progress};
use crate::saved::{self, OutputFormat};
use content::{Content, Dataset};
use engine::OpEntry;
use engine::plan::{BodyPlan, Plan, RequestPlan, Source, is_transient};
use engine::single_requests::{RequestOutcome, try_each};
use measure::units::ByteSize;
use measure::{AttemptOutcome, OpKind};
use report::JsonPrepared;
use report::number::{count, plural, time};
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// The flags of `prepare`.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER)]
pub struct Args {
    /// Location of the dataset: s3://BUCKET/PREFIX, or http://host:port/path (one per server).
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// The dataset.
    #[command(flatten)]
    pub objects: dataset::Args,
    /// Seed of bytes, sizes and directories.
    #[arg(long, value_name = "N", value_parser = load::seed, default_value = "1")]
    pub dataset_seed: u64,
    /// Create the bucket first, unless it exists.
    #[arg(long)]
    pub make_bucket: bool,
    /// The flags that all commands that make load share.
    #[command(flatten)]
    pub common: load::Args,
    /// The settings of S3.
    #[command(flatten)]
    pub s3: s3::Args,
}

const AFTER: &str = "The dataset's description is stored in .plimsoll-dataset.json next to its objects, where `mix`, `cleanup` and \
    another `prepare` find it. Nothing is measured: transient failures (500, 503, SlowDown, connections) are \
    retried with pauses. Use `put` to measure writes. --help-all prints every flag.";

const DEFAULT_CONCURRENCY: NonZeroU64 = NonZeroU64::new(16).expect("16 is not 0");
/// Number of objects to write at a time. This limits the memory for their results.
const CHUNK: u64 = 1 << 16;

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    check(args)?;
    let location = DatasetLocation::of(&args.urls, &args.s3)?;
    let dataset = args.objects.dataset(args.dataset_seed)?;
    let stored = LocationClient::new(&args.common, &location, Patience::Repeat)?;
    if args.make_bucket {
        stored.create_bucket()?;
    }
    let bytes = u64::try_from(dataset.total_bytes()).unwrap_or(u64::MAX);
    let objects = format!("{}, {}", plural(dataset.count(), "object"), ByteSize(bytes).human());
    let mut made = JsonPrepared::new(dataset.count(), bytes);
    let message = match stored.dataset()? {
        Some(there) if there == dataset => format!("{objects} exist already: nothing was written"),
        Some(_) => {
            return Err(Failure::could_not_run(
                "another dataset was prepared there: delete it with `plimsoll cleanup` and this location, or choose another prefix",
            ));
        }
        None => {
            let begun = Instant::now();
            let mut writing = Writing::new(args, &location, &stored, &dataset)?;
            writing.all()?;
            stored.write_dataset(&dataset)?;
            made.written = writing.written;
            made.seconds = begun.elapsed().as_secs_f64();
            let retried = writing.retries.by_cause().iter();
            made.retried = retried.map(|(cause, number)| ((*cause).to_owned(), *number)).collect();
            format!("prepared {objects} in {}{}", time(made.seconds * 1e9), writing.retries.description())
        }
    };
    show(&args.common, &message, serde_json::to_string_pretty(&made))
}

/// Prints what was done, in the format that the flags select.
pub fn show(args: &load::Args, message: &str, json: serde_json::Result<String>) -> Result<ExitCode, Failure> {
    match load::run_options(args).format {
        OutputFormat::Json => saved::print_json(json)?,
        OutputFormat::None => {}
        OutputFormat::Text | OutputFormat::Ab | OutputFormat::Httpbench => console::print(&format!("{message}\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses flags that would have no effect, because nothing is measured.
fn check(args: &Args) -> Result<(), Failure> {
    let (load, shown, checks) = (&args.common.load, &args.common.output, &args.common.checks);
    if load.duration.is_some() || load.requests.is_some() || load.bytes.is_some() || shown.repeat.get() > 1 {
        return Err(Failure::usage("prepare writes each object once: leave out -d, -n, --bytes and --repeat"));
    }
    let given = [
        ("-R", load.rate.is_some()),
        ("--stages", !load.stages.is_empty()),
        ("--out", shown.out.is_some()),
        ("--html", shown.html.is_some()),
        ("--log-ops", shown.log_ops),
        ("--objective", !checks.objective.is_empty()),
        ("--abort-when", !checks.abort_when.is_empty()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag}: prepare measures nothing: leave it out, or measure writes with `plimsoll put`"
        ))),
        None => Ok(()),
    }
}

/// The objects to write, and the progress so far.
struct Writing<'a> {
    location: &'a DatasetLocation,
    plan: &'a Plan,
    dataset: &'a Dataset,
    request: RequestPlan,
    concurrency: NonZeroU64,
    written: u64,
    retries: Retries,
}

impl<'a> Writing<'a> {
    fn new(
        args: &Args,
        location: &'a DatasetLocation,
        stored: &'a LocationClient<'_>,
        dataset: &'a Dataset,
    ) -> Result<Self, Failure> {
        let content = Arc::new(Content::new(dataset.description().seed));
        let body = Some(BodyPlan::of(Source::Content(content)));
        let request = RequestPlan { body, ..location_client::request(&args.common, location, "PUT", OpKind::Put)? };
        let concurrency = args.common.load.concurrency.unwrap_or(DEFAULT_CONCURRENCY);
        let retries = Retries::default();
        Ok(Self { location, plan: stored.plan(), dataset, request, concurrency, written: 0, retries })
    }

    fn all(&mut self) -> Result<(), Failure> {
        let count = self.dataset.count();
        let mut first = 0;
        while first < count {
            let end = count.min(first.saturating_add(CHUNK));
            self.chunk((first..end).collect())?;
            first = end;
        }
        Ok(())
    }

    /// Writes the objects with these numbers, and retries until all of them are written.
    fn chunk(&mut self, mut missing: Vec<u64>) -> Result<(), Failure> {
        while !missing.is_empty() {
            let targets = Arc::new(self.location.chosen(self.dataset.clone(), &missing));
            let plan = Plan { targets, ..self.plan.clone() };
            let (before, total) = (self.written, self.dataset.count());
            let describe = |seen, _| format!("preparing: {} of {}", count(before + seen), count(total));
            let tried = with_progress(describe, |tick| try_each(&plan, self.request.clone(), self.concurrency, tick));
            let tried = tried.map_err(|error| Failure::could_not_run(error.to_string()))?;
            let good = |result: &Option<RequestOutcome>| result.is_some_and(|it| it.outcome == AttemptOutcome::OK);
            let written = tried.outcomes.iter().filter(|result| good(result)).count() as u64;
            self.written += written;
            if tried.interrupted {
                return Err(requests_interrupted(format!("interrupted: {}", self.progress())));
            }
            for RequestOutcome { outcome, status } in tried.outcomes.iter().flatten().copied() {
                if outcome == AttemptOutcome::OK {
                    continue;
                }
                if !is_transient(outcome, status) {
                    return Err(self.failure(tried.example.as_ref(), &plan));
                }
                self.retries.count(outcome.cause);
            }
            missing =
                missing.iter().zip(&tried.outcomes).filter(|(_, it)| !good(it)).map(|(number, _)| *number).collect();
            if written > 0 {
                self.retries.note_success();
            }
            if !missing.is_empty() && !self.retries.pause() {
                return Err(match sys::signals::interrupts().count {
                    0 => self.failure(tried.example.as_ref(), &plan),
                    _ => requests_interrupted(format!("interrupted: {}", self.progress())),
                });
            }
        }
        Ok(())
    }

    /// Returns the failure that stops the writing.
    fn failure(&self, example: Option<&OpEntry>, plan: &Plan) -> Failure {
        let why = example.map_or_else(
            || "no request completed".to_owned(),
            |example| {
                let url = crate::redact::url_text(&plan.targets.url(example.subject));
                let status = example.status.map_or(String::new(), |status| format!(", status {status}"));
                let error = s3_error(example.message.as_deref().unwrap_or_default());
                format!("PUT of {url} failed: {}{status}{error}", example.outcome.cause.about())
            },
        );
        Failure::could_not_run(format!("{why}; {}{}", self.progress(), self.retries.description()))
    }

    fn progress(&self) -> String {
        let total = count(self.dataset.count());
        format!("{} of {total} objects are written; the same command writes all of them again", count(self.written))
    }
}
