//! `plimsoll prepare`: writes a dataset to a target, unless the target already has it.
//!
//! Preparing is not a measured load. The command retries transient failures after pauses, and counts the retries.

use crate::console;
use crate::failure::Failure;
use crate::load::dataset;
use crate::load::each_object::{ObjectRequests, Pass, Search};
use crate::load::location_client::{LocationClient, Patience};
use crate::load::machines;
use crate::load::retry::RetryLimit;
use crate::load::{self, dataset_location::DatasetLocation, location_client, s3};
use crate::saved::{self, OutputFormat};
use content::Content;
use engine::plan::{BodyPlan, RequestPlan, ResponseBody, Source};
use measure::OpKind;
use measure::units::ByteSize;
use report::JsonPrepared;
use report::number::{plural, time};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// The flags of `prepare`.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER, mut_args(machines::hide))]
pub struct Args {
    /// Location of the dataset: s3://BUCKET/PREFIX, or http://host:port/path (one URL per server).
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
    /// Read an existing dataset back, and write missing and damaged objects again.
    #[arg(long)]
    pub repair: bool,
    /// The flags that are common to all commands that generate load.
    #[command(flatten)]
    pub common: load::Args,
    /// The settings of S3.
    #[command(flatten)]
    pub s3: s3::Args,
}

const AFTER: &str = "The dataset's description is stored in .plimsoll-dataset.json next to its objects, where `mix`, `cleanup` and \
    another `prepare` find it. The command measures nothing. Transient failures (500, 503, SlowDown, \
    connection errors) are retried, with a pause before each retry. Use `put` to measure writes. --help-all prints every flag.";

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    check(args)?;
    let location = DatasetLocation::of(&args.urls, &args.s3)?;
    let dataset = args.objects.dataset(args.dataset_seed)?;
    let stored = LocationClient::new(&args.common, &location, Patience::Repeat(RetryLimit::HalfMinute))?;
    if args.make_bucket {
        stored.create_bucket()?;
    }
    let bytes = u64::try_from(dataset.total_bytes()).unwrap_or(u64::MAX);
    let objects = format!("{}, {}", plural(dataset.count(), "object"), ByteSize(bytes).human());
    let mut made = JsonPrepared::new(dataset.count(), bytes);
    let targets = |numbers: &[u64]| location.chosen(dataset.clone(), numbers);
    let mut requests = ObjectRequests::new(&args.common, stored.plan(), &targets, RetryLimit::HalfMinute);
    let begun = Instant::now();
    let is_there = match stored.dataset()? {
        Some(there) if there == dataset => true,
        Some(_) => {
            return Err(Failure::could_not_run(
                "this location has another dataset: delete it with `plimsoll cleanup`, or choose another prefix",
            ));
        }
        None => false,
    };
    let message = if !is_there {
        requests.for_all(&writing(args, &location)?, dataset.count())?;
        stored.write_dataset(&dataset)?;
        made.written = dataset.count();
        format!("prepared {objects}")
    } else if args.repair {
        let bad = requests.for_all(&reading(args, &location)?, dataset.count())?;
        requests.for_chosen(&writing(args, &location)?, &bad)?;
        made.written = bad.len() as u64;
        made.repaired = Some(made.written);
        match made.written {
            0 => format!("read {objects}, and none is missing or damaged"),
            number => format!("read {objects}, and rewrote {} (missing or damaged)", plural(number, "object")),
        }
    } else {
        format!("{objects} exist already, so nothing was written")
    };
    if !is_there || args.repair {
        made.seconds = begun.elapsed().as_secs_f64();
    }
    let retried = requests.retries.by_cause().iter();
    made.retried = retried.map(|(cause, number)| ((*cause).to_owned(), *number)).collect();
    let took = if made.seconds > 0.0 { format!(" in {}", time(made.seconds * 1e9)) } else { String::new() };
    let message = format!("{message}{took}{}", requests.retries.description());
    show(&args.common, &message, serde_json::to_string_pretty(&made))
}

/// Returns the pass that writes objects.
fn writing(args: &Args, location: &DatasetLocation) -> Result<Pass, Failure> {
    let content = Arc::new(Content::new(content::Seed(args.dataset_seed)));
    let body = Some(BodyPlan::of(Source::Content(content)));
    let request = RequestPlan { body, ..location_client::request(&args.common, location, "PUT", OpKind::Put)? };
    Ok(Pass {
        request,
        doing: "preparing",
        done: "are written; the same command writes all of them again",
        search: Search::No,
    })
}

/// Returns the pass that searches for missing and damaged objects.
fn reading(args: &Args, location: &DatasetLocation) -> Result<Pass, Failure> {
    let response_body = ResponseBody::Compared(Arc::new(Content::new(content::Seed(args.dataset_seed))));
    let request =
        RequestPlan { response_body, ..location_client::request(&args.common, location, "GET", OpKind::Get)? };
    Ok(Pass { request, doing: "reading", done: "are read, and nothing is repaired", search: Search::Strict })
}

/// Prints the result in the format that the flags select.
pub fn show(args: &load::Args, message: &str, json: serde_json::Result<String>) -> Result<ExitCode, Failure> {
    match load::run_options(args).format {
        OutputFormat::Json => saved::print_json(json)?,
        OutputFormat::None => {}
        OutputFormat::Text | OutputFormat::Full | OutputFormat::Ab | OutputFormat::Httpbench => {
            console::print(&format!("{message}\n"))?;
        }
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
            "{flag} has no effect, as prepare measures nothing: leave it out, or measure writes with `plimsoll put`"
        ))),
        None => Ok(()),
    }
}
