//! Differences between runs in the load and in the conditions, but not in the targets.

use super::usable::is_usable;
use super::{ComparedRun, Comparison};
use crate::escape::escape;
use crate::limit::rates_are_lower_bounds;
use crate::number::count;
use store::{Begin, SavedRun, Server};

/// Settings of the network path to a target, which do not change the load on the target.
const CONNECTION_SETTINGS: [&str; 6] =
    ["proxy", "unix_socket", "connect_to", "local_address", "tls_certificates", "merged"];

/// Differences between two runs, as phrases.
struct Differences(Vec<String>);

impl Differences {
    fn add(&mut self, what: &str, one: &str, other: &str) {
        if one != other {
            self.0.push(format!("{what} ({} and {})", shown(one), shown(other)));
        }
    }
}

/// Returns the differences between two runs, as phrases. The address of the target and the version of the program may
/// differ, but the path of the URL must be the same.
#[must_use]
pub fn run_differences(a: &SavedRun, b: &SavedRun) -> Vec<String> {
    let mut found = Differences(load_differences(&a.begin, &b.begin));
    first_responses(&mut found, a, b);
    let (a, b) = (&a.begin, &b.begin);
    found.add("protocol", &schemes(a), &schemes(b));
    found.add("servers", &servers(a).to_string(), &servers(b).to_string());
    found.add("certificates", checked(a), checked(b));
    found.add("seed", &a.seed.to_string(), &b.seed.to_string());
    let on = |loopback: bool| if loopback { "this host" } else { "another host" };
    found.add("host of the target", on(a.loopback), on(b.loopback));
    found.add("client's host", &a.host.name, &b.host.name);
    found.add("client's cores", &a.host.cores.to_string(), &b.host.cores.to_string());
    found.add("threads", &a.threads.to_string(), &b.threads.to_string());
    found.0
}

/// Returns the differences in load, as phrases. Unlike [`run_differences`], this function ignores differences in the
/// environment, such as hosts, servers and seeds.
#[must_use]
pub fn load_differences(a: &Begin, b: &Begin) -> Vec<String> {
    let mut found = Differences(Vec::new());
    found.add("load", &a.load, &b.load);
    found.add("load model", &format!("{:?}", a.model), &format!("{:?}", b.model));
    found.add("stages", &format!("{:?}", a.levels), &format!("{:?}", b.levels));
    found.add("number of URLs", &a.urls.to_string(), &b.urls.to_string());
    if a.targets.len() == b.targets.len() {
        // The lists may be long, so name only the paths that differ.
        a.targets.iter().zip(&b.targets).for_each(|(a, b)| found.add("paths", path(a), path(b)));
    } else {
        found.add("paths", &paths(a), &paths(b));
    }
    found.add("build", build(a), build(b));
    let names = a.settings.iter().chain(&b.settings).map(|(name, _)| name.as_str());
    let mut seen: Vec<&str> = Vec::new();
    for name in names.filter(|name| !CONNECTION_SETTINGS.contains(name)) {
        if !seen.contains(&name) {
            seen.push(name);
            found.add(name, &setting(a, name), &setting(b, name));
        }
    }
    found.0
}

/// Maximum difference between the sizes of an object in two runs, as a share. With a smaller difference, the object
/// counts as the same.
const SIZE_TOLERANCE: f64 = 0.01;

/// Adds the differences between the first successful responses: the versions of HTTP and TLS, and the size of a single
/// object.
fn first_responses(found: &mut Differences, a: &SavedRun, b: &SavedRun) {
    let server = |run: &SavedRun| run.end.as_ref().and_then(|end| end.server.clone());
    let (Some(one), Some(other)) = (server(a), server(b)) else { return };
    let tls = |server: &Server| server.tls.as_ref().map(|tls| tls.version.clone()).unwrap_or_default();
    found.add("HTTP version of responses", &one.http_version, &other.http_version);
    found.add("TLS version", &tls(&one), &tls(&other));
    let (size, other_size) = (one.document_bytes, other.document_bytes);
    let same = size.abs_diff(other_size) as f64 <= SIZE_TOLERANCE * size.max(other_size) as f64;
    if a.begin.urls == 1 && !same {
        found.add("size of the first response", &bytes(size), &bytes(other_size));
    }
}

fn bytes(value: u64) -> String {
    format!("{} B", count(value))
}

fn shown(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { format!("`{}`", escape(text)) }
}

fn build(begin: &Begin) -> &'static str {
    if begin.debug_build { "debug" } else { "release" }
}

fn checked(begin: &Begin) -> &'static str {
    if begin.insecure { "not checked" } else { "checked" }
}

/// Splits a URL into scheme, authority and the rest.
fn parts(target: &str) -> (&str, &str, &str) {
    let (scheme, rest) = target.split_once("://").unwrap_or(("", target));
    let at = rest.find('/').unwrap_or(rest.len());
    (scheme, &rest[..at], &rest[at..])
}

fn path(target: &str) -> &str {
    match parts(target).2 {
        "" => "/",
        path => path,
    }
}

/// Returns the paths of all targets: their URLs without scheme and address.
fn paths(begin: &Begin) -> String {
    begin.targets.iter().map(|target| path(target)).collect::<Vec<_>>().join(" ")
}

fn schemes(begin: &Begin) -> String {
    let mut schemes: Vec<&str> = begin.targets.iter().map(|target| parts(target).0).collect();
    schemes.sort_unstable();
    schemes.dedup();
    schemes.join(" and ")
}

/// Returns the number of different addresses among the recorded targets.
fn servers(begin: &Begin) -> usize {
    let mut servers: Vec<&str> = begin.targets.iter().map(|target| parts(target).1).collect();
    servers.sort_unstable();
    servers.dedup();
    servers.len()
}

fn setting(begin: &Begin, name: &str) -> String {
    let values = begin.settings.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
    values.collect::<Vec<_>>().join(" · ")
}

/// Returns the differences between the first run and every other run (see [`run_differences`]).
#[must_use]
pub fn all_differences(base: &[ComparedRun], new: &[ComparedRun]) -> Vec<String> {
    let mut runs = base.iter().chain(new);
    let Some(first) = runs.next() else { return Vec::new() };
    let mut all: Vec<String> = Vec::new();
    for other in runs {
        for difference in run_differences(&first.run, &other.run) {
            if !all.contains(&difference) {
                all.push(difference);
            }
        }
    }
    all
}

fn limited(runs: &[ComparedRun]) -> usize {
    runs.iter().filter(|run| rates_are_lower_bounds(&run.run)).count()
}

/// Returns how many runs the client limited, such as `3 of 6`.
#[must_use]
pub fn limited_of(runs: &[ComparedRun]) -> String {
    format!("{} of {}", count(limited(runs) as u64), count(runs.len() as u64))
}

/// Returns the conditions that make the numbers of both sides equally less reliable (such as a debug build), as
/// phrases.
#[must_use]
pub fn shared_caveats(comparison: &Comparison<'_>) -> Vec<String> {
    let (base, new) = (comparison.base, comparison.new);
    let mut caveats = Vec::new();
    let all = |of: fn(&Begin) -> bool| base.iter().chain(new).all(|run| of(&run.run.begin));
    if all(|begin| begin.loopback) {
        caveats.push("client and target share one host".to_owned());
    }
    if all(|begin| begin.debug_build) {
        caveats.push("debug build".to_owned());
    }
    if all(|begin| begin.insecure) {
        caveats.push("certificates not checked".to_owned());
    }
    // If the client limited more runs of one side than of the other, another note reports this.
    if limited(base) + limited(new) > 0 && comparison.limited_side.is_none() {
        let (base, new) = (limited_of(base), limited_of(new));
        caveats.push(format!("the client limited {base} and {new} runs, whose rates are lower bounds"));
    }
    caveats
}

/// Returns a sentence for each run that is compared although it is unusable.
#[must_use]
pub fn unusable_each(runs: &[ComparedRun]) -> Vec<String> {
    let sentence =
        |run: &ComparedRun| is_usable(&run.run).err().map(|reason| format!("{} is UNUSABLE: {reason}", run.name));
    runs.iter().filter_map(sentence).collect()
}
