//! `plimsoll prepare`: makes a dataset on a target, once. A second time nothing is written.
//!
//! It is no measured load: what the server cannot do for the moment is repeated, with pauses, and counted.

use super::dataset;
use super::load::retry::{Retries, is_transient};
use super::load::stored::{Patience, Stored, s3_error};
use super::load::{self, place::Place, s3, stored};
use crate::execute::watched::{interrupted, watched};
use crate::execute::{self, Print};
use crate::failure::Failure;
use crate::say;
use content::{Content, Dataset};
use engine::OpEntry;
use engine::plan::{BodyPlan, Plan, RequestPlan, Source};
use engine::single_requests::{Answered, try_each};
use measure::units::ByteSize;
use measure::{AttemptOutcome, OpKind};
use report::JsonPrepared;
use report::number::{count, plural, time};
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

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
there. Nothing is measured: requests that fail for the moment (500, 503, SlowDown, connections) are repeated with
pauses. `put` measures writing. --help-all prints every flag.";

const DEFAULT_CONCURRENCY: NonZeroU64 = NonZeroU64::new(16).expect("16 is not 0");
/// Objects that are written before the next ones are begun: what is kept of each is small, and bounded so.
const CHUNK: u64 = 1 << 16;

/// Carries it out.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    check(args)?;
    let place = Place::of(&args.urls, &args.s3)?;
    let dataset = args.objects.dataset(args.dataset_seed)?;
    let stored = Stored::reach(&args.common, &place, Patience::Repeat)?;
    if args.make_bucket {
        stored.make_bucket()?;
    }
    let bytes = u64::try_from(dataset.total_bytes()).unwrap_or(u64::MAX);
    let objects = format!("{}, {}", plural(dataset.count(), "object"), ByteSize(bytes).human());
    let mut made = JsonPrepared::new(dataset.count(), bytes);
    let told = match stored.dataset()? {
        Some(there) if there == dataset => format!("{objects} there already: nothing was written"),
        Some(_) => {
            return Err(Failure::could_not_run(
                "another dataset was prepared there: `plimsoll cleanup` with this location deletes it, or choose another prefix",
            ));
        }
        None => {
            let begun = Instant::now();
            let mut writing = Writing::new(args, &place, &stored, &dataset)?;
            writing.all()?;
            stored.keep(&dataset)?;
            made.written = writing.written;
            made.seconds = begun.elapsed().as_secs_f64();
            let repeated = writing.retries.by_cause().iter();
            made.repeated = repeated.map(|(cause, number)| ((*cause).to_owned(), *number)).collect();
            format!("prepared {objects} in {}{}", time(made.seconds * 1e9), writing.retries.told())
        }
    };
    show(&args.common, &told, serde_json::to_string_pretty(&made))
}

/// Prints what was done, in the form that was asked for.
pub fn show(args: &load::Args, told: &str, json: serde_json::Result<String>) -> Result<ExitCode, Failure> {
    match load::output(args).print {
        Print::Json => execute::print_json(json)?,
        Print::None => {}
        Print::Text | Print::Ab | Print::Httpbench => say::out(&format!("{told}\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses flags that mean nothing where nothing is measured.
fn check(args: &Args) -> Result<(), Failure> {
    let (load, shown, checks) = (&args.common.load, &args.common.shown, &args.common.checks);
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
            "{flag}: prepare measures nothing: leave it out, or measure writing with `put`"
        ))),
        None => Ok(()),
    }
}

/// Objects on their way to the target.
struct Writing<'a> {
    place: &'a Place,
    plan: &'a Plan,
    dataset: &'a Dataset,
    request: RequestPlan,
    concurrency: NonZeroU64,
    written: u64,
    retries: Retries,
}

impl<'a> Writing<'a> {
    fn new(args: &Args, place: &'a Place, stored: &'a Stored<'_>, dataset: &'a Dataset) -> Result<Self, Failure> {
        let content = Arc::new(Content::new(dataset.description().seed));
        let body = Some(BodyPlan::of(Source::Content(content)));
        let request = RequestPlan { body, ..stored::request(&args.common, place, "PUT", OpKind::Put)? };
        let concurrency = args.common.load.concurrency.unwrap_or(DEFAULT_CONCURRENCY);
        let retries = Retries::default();
        Ok(Self { place, plan: stored.plan(), dataset, request, concurrency, written: 0, retries })
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

    /// Writes the objects with these numbers, again and again until all are written.
    fn chunk(&mut self, mut missing: Vec<u64>) -> Result<(), Failure> {
        while !missing.is_empty() {
            let targets = Arc::new(self.place.chosen(self.dataset.clone(), &missing));
            let plan = Plan { targets, ..self.plan.clone() };
            let (before, total) = (self.written, self.dataset.count());
            let describe = |seen, _| format!("preparing: {} of {}", count(before + seen), count(total));
            let tried = watched(describe, |tick| try_each(&plan, self.request.clone(), self.concurrency, tick));
            let tried = tried.map_err(|error| Failure::could_not_run(error.to_string()))?;
            let good = |answered: &Option<Answered>| answered.is_some_and(|it| it.outcome == AttemptOutcome::OK);
            let written = tried.outcomes.iter().filter(|answered| good(answered)).count() as u64;
            self.written += written;
            if tried.interrupted {
                return Err(interrupted(format!("interrupted: {}", self.stand())));
            }
            for Answered { outcome, status } in tried.outcomes.iter().flatten().copied() {
                if outcome == AttemptOutcome::OK {
                    continue;
                }
                if !is_transient(outcome, status) {
                    return Err(self.refused(tried.example.as_ref(), &plan));
                }
                self.retries.note(outcome.cause);
            }
            missing =
                missing.iter().zip(&tried.outcomes).filter(|(_, it)| !good(it)).map(|(number, _)| *number).collect();
            if written > 0 {
                self.retries.progress();
            }
            if !missing.is_empty() && !self.retries.pause() {
                return Err(match sys::signals::interrupts().count {
                    0 => self.refused(tried.example.as_ref(), &plan),
                    _ => interrupted(format!("interrupted: {}", self.stand())),
                });
            }
        }
        Ok(())
    }

    /// Why writing ends before all is written.
    fn refused(&self, example: Option<&OpEntry>, plan: &Plan) -> Failure {
        let why = example.map_or_else(
            || "no request ended".to_owned(),
            |example| {
                let url = crate::redact::url_text(&plan.targets.url(example.subject));
                let status = example.status.map_or(String::new(), |status| format!(", status {status}"));
                let error = s3_error(example.message.as_deref().unwrap_or_default());
                format!("PUT of {url} failed: {}{status}{error}", example.outcome.cause.about())
            },
        );
        Failure::could_not_run(format!("{why}; {}{}", self.stand(), self.retries.told()))
    }

    fn stand(&self) -> String {
        let total = count(self.dataset.count());
        format!("{} of {total} objects are written: the same command writes all of them again", count(self.written))
    }
}
