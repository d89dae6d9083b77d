//! Which runs can be compared: those that may be used, and that asked the same of their targets.

use crate::escape::escape;
use crate::result;
use crate::standing::limited_by;
use measure::LimitedBy;
use std::fmt;
use store::{Begin, SavedRun};

/// Why a run must not be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// The books do not balance.
    Invalid,
    /// The client's side set the limit: the figures are the client's, not the target's.
    Limited(LimitedBy),
    /// The measured window was never reached.
    NoWindow,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid => f.write_str("its books do not balance"),
            Self::Limited(by) => write!(f, "it was limited by: {by}, so its figures are not the target's"),
            Self::NoWindow => f.write_str("its measured window was never reached"),
        }
    }
}

/// Why a run must not be compared; `None` when it can be.
#[must_use]
pub fn unusable(run: &SavedRun) -> Option<Unusable> {
    let limit = limited_by(run);
    if !result::of(run).accounting.violations.is_empty() {
        Some(Unusable::Invalid)
    } else if run.summary().measured.seconds <= 0.0 {
        Some(Unusable::NoWindow)
    } else {
        limit.is_client().then_some(Unusable::Limited(limit))
    }
}

/// Settings that say where a target is and how it is reached, not what is asked of it.
const WAYS: [&str; 6] = ["proxy", "unix_socket", "connect_to", "local_address", "tls_certificates", "merged"];

/// What two runs differ by that is not the target itself, as phrases. The address of the target may differ, its path may not;
/// so may the version of the program.
#[must_use]
pub fn unlike(a: &SavedRun, b: &SavedRun) -> Vec<String> {
    let mut unlike = unlike_loads(a, b);
    let (a, b) = (&a.begin, &b.begin);
    for (what, one, other) in
        [("client's host", &a.host.name, &b.host.name), ("threads", &a.threads.to_string(), &b.threads.to_string())]
    {
        if one != other {
            unlike.push(format!("{what}: {} and {}", shown(one), shown(other)));
        }
    }
    unlike
}

/// As [`unlike`], of runs that are made on machines of their own: where they ran makes no difference.
#[must_use]
pub fn unlike_loads(a: &SavedRun, b: &SavedRun) -> Vec<String> {
    let (a, b) = (&a.begin, &b.begin);
    let mut unlike = Vec::new();
    let mut differ = |what: &str, one: &str, other: &str| {
        if one != other {
            unlike.push(format!("{what}: {} and {}", shown(one), shown(other)));
        }
    };
    differ("load", &a.load, &b.load);
    differ("load model", &format!("{:?}", a.model), &format!("{:?}", b.model));
    differ("stages", &format!("{:?}", a.levels), &format!("{:?}", b.levels));
    differ("paths", &paths(a), &paths(b));
    differ("number of URLs", &a.urls.to_string(), &b.urls.to_string());
    differ("build", build(a), build(b));
    let names = a.settings.iter().chain(&b.settings).map(|(name, _)| name.as_str());
    let mut seen: Vec<&str> = Vec::new();
    for name in names.filter(|name| !WAYS.contains(name)) {
        if !seen.contains(&name) {
            seen.push(name);
            differ(name, &setting(a, name), &setting(b, name));
        }
    }
    unlike
}

fn shown(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { format!("`{}`", escape(text)) }
}

fn build(begin: &Begin) -> &'static str {
    if begin.debug_build { "debug" } else { "release" }
}

/// The targets without scheme and address.
fn paths(begin: &Begin) -> String {
    let path = |target: &String| {
        let rest = target.split_once("://").map_or(target.as_str(), |(_, rest)| rest);
        rest.find('/').map_or("/", |at| &rest[at..]).to_owned()
    };
    begin.targets.iter().map(path).collect::<Vec<_>>().join(" ")
}

fn setting(begin: &Begin, name: &str) -> String {
    let values = begin.settings.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
    values.collect::<Vec<_>>().join(" · ")
}
