//! The owners of a list of objects in a cluster.

use super::{NAME_MAX, is_owned};
use crate::command::get;
use crate::execute;
use crate::failure::Failure;
use crate::input_file::{Limits, Lines};
use crate::load::dataset_location::DatasetLocation;
use crate::load::location_client::{LocationClient, Patience};
use crate::load::retry::RetryLimit;
use crate::load::{count, s3};
use crate::progress::{requests_failed, requests_interrupted, with_progress};
use engine::StopReason;
use engine::owners::{Owner, Owners, find_owners};
use engine::plan::{Plan, Targets};
use measure::units::format_span;
use report::escape::bounded;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wire::Url;
use wire::s3::S3Location;

/// Maximum number of objects in a list. Ten million names and their URLs take about 1.5 GB of memory.
const NAMES_MAX: usize = 10_000_000;

/// Flags for access to a cluster. Each flag has the same meaning as in `get`.
#[derive(clap::Args, Debug, Clone)]
pub struct ClusterFlags {
    /// Number of operations in flight.
    #[arg(short = 'c', long, value_name = "N", default_value = "16", value_parser = count::<NonZeroU64>)]
    pub concurrency: NonZeroU64,
    /// Header to send, e.g. 'Accept: text/html'; @FILE reads one per line.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Cookie to send, e.g. name=value; or @FILE.
    #[arg(short = 'C', long = "cookie", value_name = "NAME=VALUE")]
    pub cookies: Vec<String>,
    /// Basic authentication; also from the URL, @FILE or ${ENV}.
    #[arg(short = 'u', long = "user", value_name = "USER:PASSWORD")]
    pub user: Option<String>,
    /// Connect to another host or port, as in curl. RULE is HOST:PORT:TO_HOST:TO_PORT; any part may be empty.
    #[arg(long, value_name = "RULE")]
    pub connect_to: Vec<String>,
    /// Trust the CA certificates in this PEM file instead of the system's.
    #[arg(long, value_name = "FILE")]
    pub cacert: Vec<PathBuf>,
    /// Do not verify the server's certificate.
    #[arg(long)]
    pub insecure: bool,
    /// Use HTTP/2. With https, the client offers HTTP/2 by ALPN, and the server may choose HTTP/1.1. With http, the
    /// server must accept HTTP/2 without negotiation (prior knowledge).
    #[arg(long)]
    pub http2: bool,
    /// Also follow redirects from https:// to http://.
    #[arg(long)]
    pub allow_downgrade: bool,
    /// Also follow redirects from a public address to a private one.
    #[arg(long)]
    pub allow_private_redirects: bool,
}

impl ClusterFlags {
    /// Returns a command line of `get` that accesses `url` with these flags.
    pub fn words(&self, url: &str) -> Vec<String> {
        let mut words = vec!["get".to_owned(), format!("-c{}", self.concurrency)];
        let mut flag = |name: &str, values: &[String]| {
            words.extend(values.iter().flat_map(|value| [name.to_owned(), value.clone()]));
        };
        flag("-H", &self.headers);
        flag("-C", &self.cookies);
        flag("-u", self.user.as_slice());
        flag("--connect-to", &self.connect_to);
        for (name, is_on) in [
            ("--insecure", self.insecure),
            ("--http2", self.http2),
            ("--allow-downgrade", self.allow_downgrade),
            ("--allow-private-redirects", self.allow_private_redirects),
        ] {
            words.extend(is_on.then(|| name.to_owned()));
        }
        words.extend(["--".to_owned(), url.to_owned()]);
        words
    }

    /// Returns the flags of `get` for `url`.
    fn get_args(&self, url: &str) -> Result<get::Args, Failure> {
        let mut args = get::Args::of_words(self.words(url))?;
        args.common.tls.cacert.clone_from(&self.cacert);
        Ok(args)
    }

    /// Returns the plan of `get` for `url`. The caller must set the load of this plan.
    pub fn plan(&self, url: &str) -> Result<Plan, Failure> {
        get::plan::of(&self.get_args(url)?)
    }

    /// Returns the flags for access to another server. Headers and credentials are only for the cluster.
    fn of_other_server(&self) -> Self {
        Self { headers: Vec::new(), cookies: Vec::new(), user: None, http2: false, ..self.clone() }
    }
}

/// The source of the objects' names.
#[derive(Clone, Copy)]
pub enum Names<'a> {
    /// A file with one name per line.
    File(&'a Path),
    /// The keys in a bucket, `s3://BUCKET` or `s3://BUCKET/PREFIX`.
    Bucket(&'a str, &'a s3::Args),
}

/// A list of objects with their owners.
pub struct ObjectOwners {
    plan: Plan,
    names: Vec<Box<str>>,
    found: Owners,
    entry: String,
}

/// Reads the names, and requests the owner of each object.
pub fn find_object_owners(url: &str, names: Names, reach: &ClusterFlags) -> Result<ObjectOwners, Failure> {
    let mut plan = reach.plan(url)?;
    let Some(base) = plan.targets.listed(0).filter(|base| base.query().is_none()) else {
        return Err(Failure::usage("the URL has a query: write only the path of the folder or bucket"));
    };
    let (names, targets) = match names {
        Names::File(path) => read(&base, path)?,
        Names::Bucket(location, s3) => list(&base, location, s3, reach)?,
    };
    plan.targets = Arc::new(targets);
    execute::prepare(&mut plan)?;
    let total = names.len() as u64;
    let describe = |seen, elapsed| progress(seen, total, elapsed);
    let found = with_progress(describe, |tick| find_owners(&plan, reach.concurrency, tick)).map_err(requests_failed)?;
    if found.reason == Some(StopReason::Interrupted) {
        return Err(requests_interrupted("interrupted while finding owners: nothing was written"));
    }
    Ok(ObjectOwners { entry: base.origin().to_string(), plan, names, found })
}

fn progress(seen: u64, total: u64, elapsed: Duration) -> String {
    let left = elapsed.as_secs_f64() * total.saturating_sub(seen) as f64 / seen.max(1) as f64;
    let left = Duration::from_secs(left.min(1e9).round() as u64);
    format!("finding owners: {seen} of {total}  {} left", format_span(left))
}

/// Reads a list of names. Returns the names, and the URLs of the objects on the entry server.
fn read(base: &Url, path: &Path) -> Result<(Vec<Box<str>>, Targets), Failure> {
    let (mut names, mut targets) = (Vec::new(), Targets::default());
    let mut lines = Lines::open(path, Limits::LIST)?;
    while let Some((name, place)) = lines.next_whole()? {
        let refused = |why: &str| Failure::usage(format!("{place}: {why}"));
        if name.is_empty() {
            continue;
        }
        if name.trim() != name {
            return Err(refused("the name starts or ends with a blank, which is probably a mistake; remove the blank"));
        }
        if names.len() == NAMES_MAX {
            return Err(refused(&format!("more than {NAMES_MAX} names; split the list")));
        }
        let url = base.below(name).map_err(|error| refused(&error.to_string()))?;
        if !targets.push(&url) {
            return Err(refused("too many different hosts; split the list"));
        }
        names.push(name.into());
    }
    if names.is_empty() {
        return Err(Failure::usage(format!("{} contains no name: write one per line", path.display())));
    }
    Ok((names, targets))
}

/// Lists a bucket. Returns the keys, and the URLs of the objects on the entry server.
fn list(base: &Url, location: &str, s3: &s3::Args, reach: &ClusterFlags) -> Result<(Vec<Box<str>>, Targets), Failure> {
    if !S3Location::has_scheme(location) {
        return Err(Failure::usage("--list requires a bucket: write s3://BUCKET or s3://BUCKET/PREFIX"));
    }
    let args = reach.of_other_server().get_args(location)?;
    let bucket = DatasetLocation::of(&[location.to_owned()], s3)?;
    let keys = LocationClient::new(&args.common, &bucket, Patience::Repeat(RetryLimit::HalfMinute))?.list_keys()?;
    let mut targets = Targets::default();
    for key in &keys {
        let refused = |why: &dyn Display| {
            let key = bounded(key, NAME_MAX);
            Failure::could_not_run(format!("key `{key}`: {why}; write the other keys to a file for --names"))
        };
        let url = base.below(key).map_err(|error| refused(&error))?;
        if !targets.push(&url) {
            return Err(refused(&"too many different hosts"));
        }
    }
    Ok((keys, targets))
}

impl ObjectOwners {
    /// Returns the names as they are in the list.
    pub fn names(&self) -> &[Box<str>] {
        &self.names
    }

    /// Returns the plan that requests every object from the entry server.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the host and port of the entry server.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// Returns the host and port of an object's owner.
    pub fn owner(&self, index: usize) -> Option<String> {
        match self.found.owners.get(index)? {
            Owner::Entry => Some(self.entry.clone()),
            Owner::Redirected(item) => {
                let item = self.found.redirected.items().get(*item as usize)?;
                Some(self.found.redirected.origins().get(item.origin as usize)?.to_string())
            }
            Owner::Unknown | Owner::Lost { .. } => None,
        }
    }

    /// Returns the URL of an object on the server that owns the object.
    pub fn url(&self, index: usize) -> Option<String> {
        let text = |targets: &Targets, item: usize| targets.listed(item).map(|url| url.to_string());
        match self.found.owners.get(index)? {
            Owner::Entry => text(&self.plan.targets, index),
            Owner::Redirected(item) => text(&self.found.redirected, *item as usize),
            Owner::Unknown | Owner::Lost { .. } => None,
        }
    }

    /// Returns the objects of each owner. Keys are host and port.
    pub fn by_owner(&self) -> BTreeMap<String, Vec<usize>> {
        let mut owners: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, _) in self.found.owners.iter().enumerate().filter(|(_, owner)| is_owned(owner)) {
            if let Some(owner) = self.owner(index) {
                owners.entry(owner).or_default().push(index);
            }
        }
        owners
    }

    /// Returns the objects without an owner: name, status and reason.
    pub fn failures(&self) -> impl Iterator<Item = (&str, Option<u16>, &'static str)> {
        self.names.iter().zip(&self.found.owners).filter_map(|(name, owner)| match owner {
            Owner::Lost { status, outcome } => Some((name.as_ref(), *status, outcome.cause.about())),
            Owner::Unknown => Some((name.as_ref(), None, "not requested: the run had ended")),
            Owner::Entry | Owner::Redirected(_) => None,
        })
    }
}
