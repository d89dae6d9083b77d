//! Collectors that the user names on the command line.

use super::Access;
use crate::failure::Failure;
use crate::load::dialect::System;
use clap::ValueEnum;
use collect::set::{Address, Set, SetError};
use collect::source::{ConnectProbe, GetProbe, HostSource, Place, ProcessSource, Select, Source, SshHost};
use measure::series::Column;
use std::str::FromStr;
use std::time::Duration;

/// The free space of the file system that contains this directory is collected.
const DISK: &str = ".";
/// Maximum length of a user-defined part of a column name, in characters.
const LABEL_MAX: usize = 32;

/// A collector that the user names on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collect {
    /// A predefined set of metrics at a URL.
    Set(Set, String),
    /// This host.
    Host,
    /// A remote host.
    Ssh(String),
    /// Processes with this ID or name, on this host or on the named remote host.
    Process(String, Option<String>),
    /// The time to connect to `HOST:PORT`, or the time of a GET request for a URL.
    Probe(String),
}

impl FromStr for Collect {
    type Err = String;

    /// Parses the value of `--collect`: `host`, `ssh=HOST`, `process=NAME`, `probe=HOST:PORT` or `SET=URL`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "host" {
            return Ok(Self::Host);
        }
        let (kind, value) = text.split_once('=').filter(|(_, value)| !value.is_empty()).ok_or_else(forms)?;
        match kind {
            "ssh" => SshHost::new(value, None)
                .map(|_| Self::Ssh(value.to_owned()))
                .map_err(|error| format!("`{value}` is {error}")),
            "process" => Ok(Self::process(value)),
            "probe" => Ok(Self::Probe(value.to_owned())),
            name => Set::named(name).map(|set| Self::Set(set, value.to_owned())).ok_or_else(forms),
        }
    }
}

/// Returns the error message that lists all forms.
fn forms() -> String {
    let names: Vec<&str> = Set::all().iter().map(|set| set.name()).collect();
    format!("use SET=URL (sets: {}), host, ssh=HOST, process=NAME or probe=HOST:PORT", names.join(", "))
}

impl Collect {
    /// Returns the collector of processes, from `NAME`, `PID`, `NAME@HOST` or `PID@HOST`.
    pub fn process(text: &str) -> Self {
        match text.split_once('@').filter(|(name, host)| !name.is_empty() && !host.is_empty()) {
            Some((name, host)) => Self::Process(name.to_owned(), Some(host.to_owned())),
            None => Self::Process(text.to_owned(), None),
        }
    }

    /// Returns the sources to poll. Reads each host once for this, which takes at most the time `bound` per host.
    pub fn sources(&self, access: &Access, bound: Duration) -> Result<Vec<Source>, Failure> {
        Ok(match self {
            Self::Set(set, url) => {
                let access = Access { system: System::from_str(set.name(), false).ok(), ..access.clone() };
                set.sources(url, &mut |address| access.endpoint(address)).map_err(|error| set_failure(*set, error))?
            }
            Self::Host => vec![host(Place::Here, "host", bound)?],
            Self::Ssh(destination) => {
                let host_there = access.host(destination)?;
                let prefix = label(&host_there.short_name());
                vec![host(Place::Ssh(host_there), &prefix, bound)?]
            }
            Self::Process(name, None) if matches!(Select::parse(name), Select::Id(_)) => {
                let prefix = format!("process_{}", label(name));
                vec![Source::Process(ProcessSource::new(Place::Here, Select::parse(name), &prefix))]
            }
            Self::Process(name, None) => {
                vec![Source::Process(ProcessSource::new(Place::Here, Select::parse(name), &label(name)))]
            }
            Self::Process(name, Some(destination)) => {
                let host_there = access.host(destination)?;
                let prefix = label(&format!("{}_{name}", host_there.short_name()));
                vec![Source::Process(ProcessSource::new(Place::Ssh(host_there), Select::parse(name), &prefix))]
            }
            Self::Probe(url) if url.contains("://") => {
                let endpoint = access.endpoint(&Address { url: url.clone(), headers: Vec::new() })?;
                let host = url.split("://").nth(1).unwrap_or_default().split(['/', '?']).next().unwrap_or_default();
                let host = host.rsplit('@').next().unwrap_or_default();
                vec![Source::Get(GetProbe::new(endpoint, &format!("get_{}", label(host))))]
            }
            Self::Probe(target) => {
                let probe = ConnectProbe::new(target, &format!("connect_{}", label(target)))
                    .map_err(|error| Failure::usage(format!("--probe `{target}`: {error}; use HOST:PORT or a URL")))?;
                vec![Source::Connect(probe)]
            }
        })
    }
}

/// Converts a text so that it can be a part of a column name.
fn label(text: &str) -> String {
    let allowed = |letter: char| if letter.is_ascii_alphanumeric() || "-.:".contains(letter) { letter } else { '_' };
    let label: String = text.chars().take(LABEL_MAX).map(allowed).collect();
    debug_assert!(text.is_empty() || Column::is_name(&label), "{label}");
    label
}

fn host(place: Place, prefix: &str, bound: Duration) -> Result<Source, Failure> {
    let source = HostSource::start(place, prefix, DISK.into(), bound);
    source.map(Source::Host).map_err(|failure| Failure::could_not_run(format!("cannot collect: {}", failure.about())))
}

fn set_failure(set: Set, error: SetError<Failure>) -> Failure {
    match error {
        SetError::Connect(failure) => failure,
        SetError::Parameter { example } => {
            Failure::usage(format!("the set {} needs a parameter in the URL, for example {example}", set.name()))
        }
        SetError::Damaged(detail) => Failure::could_not_run(format!("the set {} is damaged: {detail}", set.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_parsed() {
        let parse = |text: &str| text.parse::<Collect>();
        assert_eq!(parse("host"), Ok(Collect::Host));
        assert_eq!(parse("ssh=me@host"), Ok(Collect::Ssh("me@host".into())));
        assert_eq!(parse("process=nginx@host"), Ok(Collect::Process("nginx".into(), Some("host".into()))));
        assert_eq!(parse("process=42"), Ok(Collect::Process("42".into(), None)));
        assert_eq!(parse("probe=host:80"), Ok(Collect::Probe("host:80".into())));
        let siad = Collect::Set(Set::named("siad").unwrap(), "http://:pw@h/?a=b".into());
        assert_eq!(parse("siad=http://:pw@h/?a=b"), Ok(siad));
        for text in ["", "nginx", "nginx=", "gone=http://h/", "ssh=-oProxyCommand=x"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("gone=http://h/").unwrap_err().contains("siad, renterd"));
    }

    #[test]
    fn labels_are_names_of_columns() {
        assert_eq!(label("my program (1)"), "my_program__1_");
        assert_eq!(label(&"é".repeat(100)).len(), LABEL_MAX);
    }

    #[test]
    fn endpoints_report_mistakes_like_get() {
        let set = |url: &str| Collect::Set(Set::named("node").unwrap(), url.to_owned());
        let failure = |url: &str| {
            let made = set(url).sources(&Access::default(), Duration::from_secs(1));
            made.err().map(Failure::into_message).unwrap_or_default()
        };
        assert_eq!(failure("http://localhost:9100"), "");
        assert!(failure("ftp://localhost").contains("scheme"), "{}", failure("ftp://localhost"));
        let lotus = Collect::Set(Set::named("lotus-miner").unwrap(), "http://localhost:1234".to_owned());
        let missing = lotus.sources(&Access::default(), Duration::from_secs(1)).err().map(Failure::into_message);
        assert!(missing.is_some_and(|text| text.contains("?miner=f01234")));
    }
}
