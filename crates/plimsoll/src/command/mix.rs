//! `plimsoll mix`: a load of several kinds of requests, each with a weight, on a prepared dataset.

use crate::failure::Failure;
use crate::load::dataset;
use crate::load::location_client::{LocationClient, Patience};
use crate::load::{self, dataset_location::DatasetLocation, location_client, s3};
use content::{Content, Dataset};
use engine::plan::{
    Batch, BatchObjects, BatchSize, BodyPlan, Choice, Mix, Pick, Plan, RangeChoice, RequestPlan, ResponseBody, Source,
    Then,
};
use measure::OpKind;
use measure::units::ByteSize;
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::Arc;

/// The flags of `mix`.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER, mut_arg("total", |flag| flag.hide_short_help(true)), mut_arg("count", |flag| flag.hide_short_help(true)), mut_arg("size", |flag| flag.hide_short_help(true)), mut_arg("cookies", |flag| flag.hide_short_help(true)), mut_arg("no_follow", |flag| flag.hide_short_help(true)), mut_arg("expect_status", |flag| flag.hide_short_help(true)))]
pub struct Args {
    /// Location of the dataset: s3://BUCKET/PREFIX, or http://host:port/path (one URL per server).
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// Weight of reads of whole objects.
    #[arg(long, value_name = "N")]
    pub get: Option<u32>,
    /// Weight of reads of random ranges. --range sets their size.
    #[arg(long, value_name = "N", requires = "range")]
    pub get_range: Option<u32>,
    /// Weight of HEAD requests.
    #[arg(long, value_name = "N")]
    pub head: Option<u32>,
    /// Weight of writes, which create new objects next to the dataset.
    #[arg(long, value_name = "N")]
    pub put: Option<u32>,
    /// Weight of deletions. A deletion deletes the oldest object that this run wrote. If none is left, it writes one
    /// instead.
    #[arg(long, value_name = "N")]
    pub delete: Option<u32>,
    /// Delete up to this many objects (1 to 1000) with one request (S3). With 1, each object has its own DELETE
    /// request.
    #[arg(long, value_name = "N", default_value = "1", value_parser = batch_size, hide_short_help = true)]
    pub delete_batch: BatchSize,
    /// Weight of listings (S3). Each listing reads pages of 1000 keys below the prefix.
    #[arg(long, value_name = "N")]
    pub list: Option<u32>,
    /// Size of ranges, e.g. 1MiB.
    #[arg(long, value_name = "SIZE")]
    pub range: Option<ByteSize>,
    /// Maximum number of pages of a listing.
    #[arg(long, value_name = "N", default_value = "10", value_parser = load::count::<std::num::NonZeroU32>, hide_short_help = true)]
    pub pages_max: std::num::NonZeroU32,
    /// Compare every byte that is read with the dataset's content; a difference fails the run.
    #[arg(long)]
    pub verify: bool,
    /// The flags that are common to all commands that generate load.
    #[command(flatten)]
    pub common: load::Args,
    /// The dataset. These flags are needed only if `prepare` did not write the dataset.
    #[command(flatten)]
    pub objects: dataset::Args,
    /// Seed of bytes, sizes and directories.
    #[arg(long, value_name = "N", value_parser = load::seed, default_value = "1", hide_short_help = true)]
    pub dataset_seed: u64,
    /// The settings of S3.
    #[command(flatten)]
    pub s3: s3::Args,
}

const AFTER: &str = "Default weights: --get 45 --head 30 --put 15 --delete 10. `plimsoll prepare` writes the dataset. `plimsoll \
    cleanup` deletes the dataset and the objects that runs wrote. --help-all prints every flag.";

/// Default weights, the same as in the load tester warp.
const USUAL: [(OpKind, u32); 4] = [(OpKind::Get, 45), (OpKind::Head, 30), (OpKind::Put, 15), (OpKind::Delete, 10)];

fn batch_size(text: &str) -> Result<BatchSize, String> {
    let size = BatchSize::new(load::count(text)?);
    size.ok_or_else(|| format!("one request can delete at most {} objects", BatchSize::MAX.get()))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let plan = plan(args)?;
    let _ = sys::signals::catch_interrupts();
    let place = unlisted(args, &plan)?;
    remembered(args, place.as_ref(), || load::run_and_show(plan, &args.common))
}

/// Runs `load`. If [`unlisted`] returned a `place`, also records there the objects that `load` writes.
pub fn remembered<T>(
    args: &Args,
    place: Option<&DatasetLocation>,
    load: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Some(place) = place else { return load() };
    LocationClient::new(&args.common, place, Patience::Once)?.record_mix(load)
}

/// Returns the location to which the plan writes objects, if the location cannot list objects. `cleanup` then needs a
/// record of the written objects.
pub fn unlisted(args: &Args, plan: &Plan) -> Result<Option<DatasetLocation>, Failure> {
    let place = DatasetLocation::of(&args.urls, &args.s3)?;
    let writes = plan.mix.shares().any(|(share, request)| share > 0.0 && makes_objects(request));
    Ok(Some(place).filter(|place| writes && !place.can_list))
}

/// Returns whether a request may write objects next to the dataset.
fn makes_objects(request: &RequestPlan) -> bool {
    match request.pick {
        Pick::Fresh | Pick::Written { .. } => true,
        Pick::Batch(Batch { objects, .. }) => matches!(objects, BatchObjects::Written { .. }),
        Pick::Target | Pick::Container => false,
    }
}

/// Returns the plan that the flags describe. May request the record of the dataset from its location.
pub fn plan(args: &Args) -> Result<Plan, Failure> {
    let place = DatasetLocation::of(&args.urls, &args.s3)?;
    let weights = weights(args)?;
    let dataset = location_client::dataset(&args.common, &place, &args.objects, args.dataset_seed)?;
    plan_of(args, &place, &weights, dataset)
}

/// Checks the flags without a request. If only the target has the record of the dataset, another dataset replaces it.
pub fn check(args: &Args) -> Result<(), Failure> {
    let place = DatasetLocation::of(&args.urls, &args.s3)?;
    let dataset = args.objects.dataset_or_one_object(args.dataset_seed)?;
    plan_of(args, &place, &weights(args)?, dataset).map(|_| ())
}

fn plan_of(args: &Args, place: &DatasetLocation, weights: &[(OpKind, u32)], dataset: Dataset) -> Result<Plan, Failure> {
    let content = Arc::new(Content::new(dataset.description().seed));
    let requests = requests(args, place, weights, &content)?;
    let mix = Mix::of(requests).ok_or_else(|| Failure::usage("all weights are 0: set a weight, such as --get 1"))?;
    let workload = load::Workload {
        targets: place.targets(dataset),
        choice: Choice::Random,
        once: false,
        mix,
        auth: place.auth.clone(),
        spread: place.spread,
    };
    load::plan(&args.common, workload)
}

/// Returns the kinds of requests with their weights.
fn weights(args: &Args) -> Result<Vec<(OpKind, u32)>, Failure> {
    let named = [
        (OpKind::Get, args.get),
        (OpKind::GetRange, args.get_range),
        (OpKind::Head, args.head),
        (OpKind::Put, args.put),
        (OpKind::Delete, args.delete),
        (OpKind::List, args.list),
    ];
    let given: Vec<_> = named.into_iter().filter_map(|(kind, weight)| Some((kind, weight?))).collect();
    let in_s3 = args.urls.first().is_some_and(|text| wire::s3::S3Location::has_scheme(text));
    if !in_s3 && given.iter().any(|(kind, weight)| *kind == OpKind::List && *weight > 0) {
        return Err(Failure::usage("--list requires an s3:// location: plain HTTP has no listing"));
    }
    let weights = if given.is_empty() { USUAL.to_vec() } else { given };
    if args.delete_batch.get() > 1 {
        if !in_s3 {
            return Err(Failure::usage(
                "--delete-batch requires an s3:// location: plain HTTP deletes one object per request",
            ));
        }
        if !weights.iter().any(|(kind, weight)| *kind == OpKind::Delete && *weight > 0) {
            return Err(Failure::usage(
                "--delete-batch: this mix deletes nothing; set a weight, for example --delete 10",
            ));
        }
    }
    Ok(weights)
}

fn requests(
    args: &Args,
    place: &DatasetLocation,
    weights: &[(OpKind, u32)],
    content: &Arc<Content>,
) -> Result<Vec<(u32, RequestPlan)>, Failure> {
    let of = |method, kind| location_client::request(&args.common, place, method, kind);
    let response_body =
        || if args.verify { ResponseBody::Compared(Arc::clone(content)) } else { ResponseBody::Discarded };
    let body = BodyPlan::of(Source::Content(Arc::clone(content)));
    let put = RequestPlan { body: Some(body), pick: Pick::Fresh, ..of("PUT", OpKind::Put)? };
    // The list starts with the write request, even if its weight is 0, because a deletion without an object to delete
    // writes an object.
    let writes = weights.iter().find(|(kind, _)| *kind == OpKind::Put).map_or(0, |(_, weight)| *weight);
    let mut requests = vec![(writes, put)];
    for (kind, weight) in weights {
        let request = match kind {
            OpKind::Put => continue,
            OpKind::Get => RequestPlan { response_body: response_body(), ..of("GET", *kind)? },
            OpKind::GetRange => {
                let length = args.range.and_then(|size| NonZeroU64::new(size.0));
                let length =
                    length.ok_or_else(|| Failure::usage("--range 0: the size must be above 0, for example 1MiB"))?;
                let range = Some(RangeChoice::Random { length });
                RequestPlan { range, response_body: response_body(), ..of("GET", *kind)? }
            }
            OpKind::Head => of("HEAD", *kind)?,
            OpKind::Delete if args.delete_batch.get() > 1 => {
                let batch = Batch { objects: BatchObjects::Written { instead: 0 }, size_max: args.delete_batch };
                let RequestPlan { headers, checks, .. } = of("POST", *kind)?;
                RequestPlan { headers, checks, ..RequestPlan::delete_batch(batch) }
            }
            OpKind::Delete => RequestPlan { pick: Pick::Written { instead: 0 }, ..of("DELETE", *kind)? },
            _ => RequestPlan {
                pick: Pick::Container,
                query: Some(format!("list-type=2&prefix={}", wire::percent::parameter(&place.prefix)).into()),
                then: Then::Pages { most: args.pages_max.get() },
                response_body: ResponseBody::Kept,
                ..of("GET", *kind)?
            },
        };
        requests.push((*weight, request));
    }
    Ok(requests)
}
