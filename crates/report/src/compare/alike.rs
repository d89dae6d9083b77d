//! Whether runs asked the same of their targets, and under the same conditions.

use super::ComparedRun;
use super::usable::is_usable;
use crate::escape::escape;
use crate::number::count;
use crate::standing::is_at_least;
use store::{Begin, SavedRun, Server};

/// Settings that say where a target is and how it is reached, not what is asked of it.
const WAYS: [&str; 6] = ["proxy", "unix_socket", "connect_to", "local_address", "tls_certificates", "merged"];

/// Differences between two runs that are not the target itself, as phrases.
struct Differences(Vec<String>);

impl Differences {
    fn add(&mut self, what: &str, one: &str, other: &str) {
        if one != other {
            self.0.push(format!("{what}: {} and {}", shown(one), shown(other)));
        }
    }
}

/// What two runs differ by that is not the target itself, as phrases. The address of the target may differ, its path may not;
/// so may the version of the program.
#[must_use]
pub fn unlike(a: &SavedRun, b: &SavedRun) -> Vec<String> {
    let mut unlike = Differences(unlike_loads(a, b));
    answers(&mut unlike, a, b);
    let (a, b) = (&a.begin, &b.begin);
    unlike.add("protocol", &schemes(a), &schemes(b));
    unlike.add("servers", &servers(a).to_string(), &servers(b).to_string());
    unlike.add("certificates", checked(a), checked(b));
    unlike.add("seed", &a.seed.to_string(), &b.seed.to_string());
    let on = |loopback: bool| if loopback { "this host" } else { "another host" };
    unlike.add("target on", on(a.loopback), on(b.loopback));
    unlike.add("client's host", &a.host.name, &b.host.name);
    unlike.add("client's cores", &a.host.cores.to_string(), &b.host.cores.to_string());
    unlike.add("threads", &a.threads.to_string(), &b.threads.to_string());
    unlike.0
}

/// As [`unlike`], of runs that are made on machines of their own: where they ran makes no difference.
#[must_use]
pub fn unlike_loads(a: &SavedRun, b: &SavedRun) -> Vec<String> {
    let (a, b) = (&a.begin, &b.begin);
    let mut unlike = Differences(Vec::new());
    unlike.add("load", &a.load, &b.load);
    unlike.add("load model", &format!("{:?}", a.model), &format!("{:?}", b.model));
    unlike.add("stages", &format!("{:?}", a.levels), &format!("{:?}", b.levels));
    unlike.add("number of URLs", &a.urls.to_string(), &b.urls.to_string());
    if a.targets.len() == b.targets.len() {
        // Only those that differ: the lists may be long.
        a.targets.iter().zip(&b.targets).for_each(|(a, b)| unlike.add("paths", path(a), path(b)));
    } else {
        unlike.add("paths", &paths(a), &paths(b));
    }
    unlike.add("build", build(a), build(b));
    let names = a.settings.iter().chain(&b.settings).map(|(name, _)| name.as_str());
    let mut seen: Vec<&str> = Vec::new();
    for name in names.filter(|name| !WAYS.contains(name)) {
        if !seen.contains(&name) {
            seen.push(name);
            unlike.add(name, &setting(a, name), &setting(b, name));
        }
    }
    unlike.0
}

/// A size of the one object that differs by more than this share is another object.
const SIZE_TOLERANCE: f64 = 0.01;

/// What the first good responses differ by: the version of HTTP and TLS, and the size of the one object.
fn answers(unlike: &mut Differences, a: &SavedRun, b: &SavedRun) {
    let server = |run: &SavedRun| run.end.as_ref().and_then(|end| end.server.clone());
    let (Some(one), Some(other)) = (server(a), server(b)) else { return };
    let tls = |server: &Server| server.tls.as_ref().map(|tls| tls.version.clone()).unwrap_or_default();
    unlike.add("HTTP version of responses", &one.http_version, &other.http_version);
    unlike.add("TLS version", &tls(&one), &tls(&other));
    let (size, other_size) = (one.document_bytes, other.document_bytes);
    let same = size.abs_diff(other_size) as f64 <= SIZE_TOLERANCE * size.max(other_size) as f64;
    if a.begin.urls == 1 && !same {
        unlike.add("size of the first response", &bytes(size), &bytes(other_size));
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

/// Scheme, authority and the rest of a URL.
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

/// The targets without scheme and address.
fn paths(begin: &Begin) -> String {
    begin.targets.iter().map(|target| path(target)).collect::<Vec<_>>().join(" ")
}

fn schemes(begin: &Begin) -> String {
    let mut schemes: Vec<&str> = begin.targets.iter().map(|target| parts(target).0).collect();
    schemes.sort_unstable();
    schemes.dedup();
    schemes.join(" and ")
}

/// Different addresses among the targets that are recorded.
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

/// What any of the runs differs by from the first: see [`unlike`]; and whether the client limited most runs of one side alone.
#[must_use]
pub fn unlike_each(base: &[ComparedRun], new: &[ComparedRun]) -> Vec<String> {
    let mut runs = base.iter().chain(new);
    let Some(first) = runs.next() else { return Vec::new() };
    let mut all: Vec<String> = Vec::new();
    for other in runs {
        for difference in unlike(&first.run, &other.run) {
            if !all.contains(&difference) {
                all.push(difference);
            }
        }
    }
    let most = |runs: &[ComparedRun]| 2 * limited(runs) > runs.len();
    if most(base) != most(new) {
        all.push(format!("runs that the client limited: {} and {}", limited_of(base), limited_of(new)));
    }
    all
}

fn limited(runs: &[ComparedRun]) -> usize {
    runs.iter().filter(|run| is_at_least(&run.run)).count()
}

fn limited_of(runs: &[ComparedRun]) -> String {
    format!("{} of {}", count(limited(runs) as u64), count(runs.len() as u64))
}

/// Marks that both sides carry, as phrases.
#[must_use]
pub fn marks(base: &[ComparedRun], new: &[ComparedRun]) -> Vec<String> {
    let mut marks = Vec::new();
    let all = |of: fn(&Begin) -> bool| base.iter().chain(new).all(|run| of(&run.run.begin));
    if all(|begin| begin.loopback) {
        marks.push("client and target share one host".to_owned());
    }
    if all(|begin| begin.debug_build) {
        marks.push("debug build".to_owned());
    }
    if all(|begin| begin.insecure) {
        marks.push("certificates not checked".to_owned());
    }
    if limited(base) + limited(new) > 0 {
        let (base, new) = (limited_of(base), limited_of(new));
        marks.push(format!("the client limited {base} and {new} runs, whose rates are \"at least\""));
    }
    marks
}

/// Runs that are compared though they are not usable, each as a sentence.
#[must_use]
pub fn unusable_each(runs: &[ComparedRun]) -> Vec<String> {
    let sentence =
        |run: &ComparedRun| is_usable(&run.run).err().map(|reason| format!("{} is UNUSABLE: {reason}", run.name));
    runs.iter().filter_map(sentence).collect()
}
