//! The plan of `get`, made from its flags. Reports every mistake in the flags.

use super::args::{Args, Do, Order};
use super::urls;
use crate::failure::Failure;
use crate::input_file;
use crate::load::{
    self,
    dataset_location::DatasetLocation,
    dialect::{self, DialectSettings},
    location_client::{LocationClient, Patience},
    retry::RetryLimit,
};
use content::Content;
use engine::dialect::{Access, Form};
use engine::plan::{
    Auth, BodyPlan, Choice, ExpectedChecksum, Mix, Plan, RangeChoice, RequestPlan, ResponseBody, Spread, Targets, Zipf,
};
use measure::OpKind;
use std::num::NonZeroU64;
use std::sync::Arc;
use wire::gateway::Depth;
use wire::s3::S3Location;
use wire::{ByteRange, Header};

const BODY_BYTES_MAX: u64 = 64 << 20;

/// The objects to request, and the credentials for the requests.
struct RequestedObjects {
    targets: Targets,
    credentials: Option<String>,
    auth: Auth,
    spread: Spread,
    /// The form of the requests, if the user named a system.
    form: Option<Form>,
    /// Query of every request for an object of a dataset.
    query: Option<Box<str>>,
}

/// Returns the objects that the flags select: a list of URLs, one S3 object, a dataset, or objects of a system.
fn requested_objects(args: &Args) -> Result<RequestedObjects, Failure> {
    if args.dialect.system.is_some() {
        return objects_of_system(args);
    }
    let in_s3 = args.urls.iter().any(|text| S3Location::has_scheme(text));
    if args.list && !in_s3 {
        return Err(Failure::usage("--list requires a bucket: write s3://BUCKET or s3://BUCKET/PREFIX"));
    }
    if !in_s3 && !args.objects.is_given() {
        let (targets, credentials) = urls::targets(args)?;
        return Ok(RequestedObjects {
            targets,
            credentials,
            auth: Auth::None,
            spread: Spread::Own,
            form: None,
            query: None,
        });
    }
    if args.url_file.is_some() {
        return Err(Failure::usage("--url-file lists whole URLs: leave it out with s3:// or a dataset"));
    }
    let location = DatasetLocation::with_query(&args.urls, &args.s3)?;
    let targets = if args.list {
        LocationClient::new(&args.common, &location, Patience::Repeat(RetryLimit::HalfMinute))?.list_objects()?
    } else if args.objects.is_given() {
        location.targets(args.objects.dataset(args.dataset_seed)?)
    } else {
        location.one_object()?
    };
    let DatasetLocation { credentials, auth, spread, query, .. } = location;
    Ok(RequestedObjects { targets, credentials, auth, spread, form: None, query })
}

/// Returns the objects of a system: a dataset, or named objects. Names are the arguments that are not URLs, and the
/// lines of a list.
fn objects_of_system(args: &Args) -> Result<RequestedObjects, Failure> {
    let (servers, names): (Vec<_>, Vec<_>) = args.urls.iter().partition(|word| word.contains("://"));
    let servers: Vec<String> = servers.into_iter().cloned().collect();
    let access = if args.call == Some(Do::Ls) { Access::List } else { Access::Read };
    let depth = if args.verify { Depth::Blocks } else { Depth::Structure };
    let settings = DialectSettings { depth, ..load::dialect_settings(&args.common) };
    let Some(system) = args.dialect.locate(access, &servers, &args.s3, settings)? else {
        return Err(Failure::usage("--as needs the name of a system"));
    };
    let (targets, location, form) = if args.objects.is_given() {
        let (location, form) = system.dataset_location()?;
        (location.targets(args.objects.dataset(args.dataset_seed)?), location, form)
    } else {
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        (system.targets(&names, args.url_file.as_deref())?, system.location, system.form)
    };
    let DatasetLocation { credentials, auth, spread, query, .. } = location;
    Ok(RequestedObjects { targets, credentials, auth, spread, form: Some(form), query })
}

/// Returns the checks of response bodies.
fn response_body(args: &Args, targets: &Targets, form: Option<Form>, encoded: bool) -> Result<ResponseBody, Failure> {
    if let Some(wanted) = &args.expect {
        if matches!(wanted, ExpectedChecksum::Given(_)) && targets.count() != 1 {
            return Err(Failure::usage(
                "--expect with a checksum is for a single object: for several objects, use --expect etag or --expect checksum",
            ));
        }
        return Ok(ResponseBody::Hashed(wanted.clone()));
    }
    if let Some(depth) = form.and_then(|form| form.blocks) {
        if args.verify && args.range.is_some() {
            return Err(Failure::usage("--verify checks whole blocks: leave out --range"));
        }
        if args.verify && encoded {
            return Err(Failure::usage("--verify needs unencoded blocks: leave out Accept-Encoding"));
        }
        return Ok(ResponseBody::Gateway(depth));
    }
    match targets.area().and_then(|area| area.set.dataset()) {
        _ if !args.verify => Ok(ResponseBody::Discarded),
        Some(dataset) => Ok(ResponseBody::Compared(Arc::new(Content::new(dataset.description().seed)))),
        None => Err(Failure::usage(
            "--verify needs the flags that described the dataset to `put`, for example --count 100 --size 1MiB",
        )),
    }
}

/// Returns the plan that the flags describe.
pub fn of(args: &Args) -> Result<Plan, Failure> {
    args.dialect.check()?;
    if args.call.is_some() && args.dialect.system != Some(dialect::System::Filestash) {
        return Err(Failure::usage("--do requires --as filestash"));
    }
    let RequestedObjects { mut targets, credentials, auth, spread, form, query } = requested_objects(args)?;
    let range = range(args)?;
    if let Some(size) = args.object_size {
        for item in targets.items_mut() {
            item.size = Some(size.0);
        }
    }
    let mut headers = load::headers(&args.common.requests, credentials)?;
    if args.expect == Some(ExpectedChecksum::FromResponse) && matches!(auth, Auth::S3 { .. } | Auth::S3Anonymous) {
        // S3 sends a checksum only if the request asks for it.
        headers.extend(Header::parse("x-amz-checksum-mode: ENABLED"));
    }
    let mut checks = load::checks(&args.common.checks, &headers)?;
    if let Some(form) = form {
        dialect::add_headers(form.headers, &mut headers)?;
        dialect::add_headers(form.expected, &mut checks.headers)?;
        checks.etag_is_name = form.etag_is_name;
    }
    let response_body = response_body(args, &targets, form, checks.encoding_asked)?;
    let request = RequestPlan { checks, response_body, query, ..request(args, headers, range, form)? };
    let choice = match args.order {
        Order::RoundRobin | Order::Once => Choice::RoundRobin,
        Order::Random => Choice::Random,
        Order::Zipf(exponent) => Zipf::new(targets.count(), exponent).map_or(Choice::RoundRobin, Choice::Zipf),
    };
    let workload =
        load::Workload { targets, choice, once: args.order == Order::Once, mix: Mix::one(request), auth, spread };
    load::plan(&args.common, workload)
}

fn range(args: &Args) -> Result<Option<RangeChoice>, Failure> {
    let Some(size) = args.range else { return Ok(None) };
    let length = NonZeroU64::new(size.0)
        .ok_or_else(|| Failure::usage("--range 0: the size must be above 0, for example 1MiB"))?;
    match args.range_at {
        None => Ok(Some(RangeChoice::Random { length })),
        Some(offset) => ByteRange::of_length(offset.0, length.get())
            .map(|range| Some(RangeChoice::Fixed(range)))
            .ok_or_else(|| Failure::usage("--range-at: the range ends beyond 2^64 bytes; use a smaller offset")),
    }
}

fn request(
    args: &Args,
    headers: Vec<Header>,
    range: Option<RangeChoice>,
    form: Option<Form>,
) -> Result<RequestPlan, Failure> {
    if range.is_some() && form.is_some_and(|form| !form.ranges) {
        return Err(Failure::usage("--range: these requests do not support ranges; leave it out"));
    }
    let usual = if args.body_file.is_some() { "POST" } else { form.map_or("GET", |form| form.method) };
    let method = if args.head { "HEAD" } else { args.method.as_deref().unwrap_or(usual) };
    let is_token = !method.is_empty()
        && method.len() <= 32
        && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    if !is_token {
        return Err(Failure::usage(format!(
            "--method `{method}`: use a method such as GET, HEAD, POST, PUT or OPTIONS"
        )));
    }
    if range.is_some() && method != "GET" {
        return Err(Failure::usage(format!("--range requires the method GET, not {method}: leave one of them out")));
    }
    if args.expect.is_some() && method != "GET" {
        return Err(Failure::usage(format!("--expect requires the method GET, not {method}: leave one of them out")));
    }
    let body = match &args.body_file {
        Some(path) => Some(Arc::from(input_file::read_whole(path, BODY_BYTES_MAX, "a request body")?)),
        None if matches!(method, "POST" | "PUT" | "PATCH") => Some(Arc::from([])),
        None => None,
    };
    let kind = match (method, range) {
        ("GET", Some(_)) => OpKind::GetRange,
        ("GET", None) => form.map_or(OpKind::Get, |form| form.kind),
        ("HEAD", _) => OpKind::Head,
        _ => OpKind::Request,
    };
    let body = body.map(BodyPlan::of_bytes);
    Ok(RequestPlan { headers, body, range, ..RequestPlan::new(method, kind) })
}
