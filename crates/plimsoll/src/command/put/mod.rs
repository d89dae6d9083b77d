//! `plimsoll put`: a quick write load, of made bytes or of files. Bodies are streamed and never held.

mod files;

use super::dataset;
use super::load::{self, dialect, place::Place, s3};
use crate::failure::Failure;
use clap::ValueEnum;
use content::Content;
use engine::dialect::Ask;
use engine::plan::{
    Answers, BodyPlan, Checks, Choice, Framing, Mix, Multipart, Plan, RequestPlan, Source, Targets, Then,
};
use measure::OpKind;
use measure::units::ByteSize;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// What is written, where, how much, for how long.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER)]
pub struct Args {
    /// Where objects go: http://host:port/path (several for several servers; keys go behind the path, and
    /// a query stays), or s3://BUCKET/PREFIX.
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// The objects.
    #[command(flatten)]
    pub objects: dataset::Args,
    /// Send files: those of a directory with all below it, or one file. Instead of made bytes.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["total", "count", "size", "prefix", "directories", "dataset_seed"])]
    pub from: Option<PathBuf>,
    /// What all commands that make load have in common.
    #[command(flatten)]
    pub common: load::Args,
    /// How objects are sent: put or post [default: put, or what the system wants].
    #[arg(short = 'm', long, value_enum, ignore_case = true, value_name = "METHOD", hide_possible_values = true)]
    pub method: Option<Method>,
    /// Frame bodies by chunks instead of by their length.
    #[arg(long)]
    pub chunked: bool,
    /// Ask the server to agree before a body is sent (Expect: 100-continue).
    #[arg(long)]
    pub expect_continue: bool,
    /// Write objects in parts of this size (S3 multipart upload), like 16MiB; S3 wants 5 MiB at least.
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["chunked", "expect_continue"])]
    pub multipart: Option<ByteSize>,
    /// Parts of one object that are on their way at once.
    #[arg(long, value_name = "N", default_value = "4", value_parser = load::count::<NonZeroU32>, requires = "multipart", hide_short_help = true)]
    pub parts: NonZeroU32,
    /// What bytes, sizes and directories depend on.
    #[arg(long, value_name = "N", value_parser = load::seed, default_value = "1", hide_short_help = true)]
    pub dataset_seed: u64,
    /// How S3 is spoken.
    #[command(flatten)]
    pub s3: s3::Args,
    /// How a system is asked.
    #[command(flatten)]
    pub dialect: dialect::Args,
}

/// How objects are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// PUT.
    Put,
    /// POST.
    Post,
}

const AFTER: &str = "Without -n or -d every object is written once. --help-all prints every flag.";

/// Carries it out.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    load::run(plan(args)?, &args.common)
}

/// What would be written.
pub fn plan(args: &Args) -> Result<Plan, Failure> {
    args.dialect.check()?;
    let spoken = args.dialect.spoken(Ask::Write, &args.urls, &args.s3, load::beside(&args.common))?;
    let (place, form) = match spoken {
        None => (Place::with_query(&args.urls, &args.s3)?, None),
        Some(spoken) => spoken.area().map(|(place, form)| (place, Some(form)))?,
    };
    if args.chunked && args.common.requests.http10 {
        return Err(Failure::usage("--chunked: HTTP/1.0 knows no chunks; leave out --http1.0"));
    }
    let (targets, source) = objects(args, &place)?;
    let mut headers = load::headers(&args.common.requests, place.credentials.clone())?;
    let checks = load::checks(&args.common.checks, &headers)?;
    dialect::add_headers(form.map_or(&[], |form| form.headers), &mut headers)?;
    let framing = if args.chunked { Framing::Chunked } else { Framing::Length };
    let method = match args.method {
        None => form.map_or("PUT", |form| form.method),
        Some(Method::Put) => "PUT",
        Some(Method::Post) => "POST",
    };
    let body = BodyPlan { source, framing, expect_continue: args.expect_continue };
    let request = RequestPlan {
        headers,
        body: Some(body),
        checks,
        query: place.query.clone(),
        ..RequestPlan::new(method, OpKind::Put)
    };
    let mix = match args.multipart {
        None => Mix::one(request),
        Some(_) if args.s3.has_trailer() => {
            return Err(Failure::usage(
                "--multipart: checksums behind the parts are not supported; --payload unsigned, signed or chunks",
            ));
        }
        Some(size) if place.can_list && args.method != Some(Method::Post) => in_parts(&request, size, args.parts)?,
        Some(_) => return Err(Failure::usage("--multipart is for PUT to s3:// locations")),
    };
    let load = &args.common.load;
    let counted = load.duration.is_some() || load.requests.is_some() || load.bytes.is_some();
    let asked = load::Asked {
        once: !counted && load.stages.is_empty() && load.ops_per_slot.is_none(),
        targets,
        choice: Choice::RoundRobin,
        mix,
        auth: place.auth,
        spread: place.spread,
    };
    load::plan(&args.common, asked)
}

/// The requests of a multipart upload: it is begun, each part is as `whole` would be, and it is
/// completed, or given up.
fn in_parts(whole: &RequestPlan, size: ByteSize, parallel: NonZeroU32) -> Result<Mix, Failure> {
    let bytes = NonZeroU64::new(size.0).ok_or_else(|| Failure::usage("--multipart 0: give a size, like 16MiB"))?;
    let plan = Multipart { part: 1, complete: 2, abort: 3, bytes, parallel };
    let of = |method, query: &str| RequestPlan {
        headers: whole.headers.clone(),
        checks: whole.checks.clone(),
        query: Some(query).filter(|query| !query.is_empty()).map(Into::into),
        ..RequestPlan::new(method, OpKind::PutMultipart)
    };
    let message = |source| Some(BodyPlan::of(source));
    let empty = message(Source::Bytes(Arc::from([])));
    let begin = RequestPlan { body: empty, answers: Answers::Kept, then: Then::Parts(plan), ..of("POST", "uploads=") };
    let part = RequestPlan { body: whole.body.clone(), ..of("PUT", "") };
    let complete = RequestPlan { body: message(Source::Own), answers: Answers::Kept, ..of("POST", "") };
    let abort = RequestPlan { checks: Checks::default(), ..of("DELETE", "") };
    let requests = vec![(1, begin), (0, part), (0, complete), (0, abort)];
    Mix::of(requests).ok_or_else(|| Failure::usage("--multipart: the requests make no mix"))
}

/// The objects, and where their bytes come from.
fn objects(args: &Args, place: &Place) -> Result<(Targets, Source), Failure> {
    match &args.from {
        Some(path) => files::targets(path, place),
        None => {
            let dataset = args.objects.dataset(args.dataset_seed)?;
            let content = Content::new(dataset.description().seed);
            Ok((place.targets(dataset), Source::Content(Arc::new(content))))
        }
    }
}
