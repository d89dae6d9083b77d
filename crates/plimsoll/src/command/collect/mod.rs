//! `plimsoll collect`: polls metrics to a time series.

mod args;
mod show;

pub use args::Args;

use crate::collectors::{Access, Collect};
use crate::console;
use crate::failure::{Exit, Failure};
use crate::progress::exit_of_interrupt;
use crate::saved::{cannot_save, unix_ms};
use args::{ColumnFlag, Place};
use collect::csv::{CsvError, CsvWriter, Latency};
use collect::poll::{AtEnd, POLL_MAX, Poller};
use collect::schedule::Schedule;
use collect::set::{Address, Set};
use collect::source::{Format, HttpSource, JsonPath, Picked, Selector, Source};
use measure::series::Poll;
use measure::{Clock, Instant, MonotonicClock};
use show::Shown;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use store::{CollectedBegin, CollectedWriter};

/// Minimum time between two polls.
const EVERY_MIN: Duration = Duration::from_millis(100);

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.every < EVERY_MIN {
        return Err(Failure::usage("--every must be at least 100ms"));
    }
    let _ = sys::signals::catch_interrupts();
    let sources = sources(args)?;
    let (clock, started_unix_ms) = (MonotonicClock::start(), unix_ms());
    let mut poller = Poller::new(sources, clock, args.every).map_err(|error| {
        Failure::usage(format!("{error}; name a set and a URL, or use --host, --process, --ssh or --probe"))
    })?;
    let mut outputs = Outputs::open(args, &poller, started_unix_ms)?;
    let until = args.duration.map(|duration| clock.now() + duration);
    let stop = || is_interrupted() || until.is_some_and(|until: Instant| clock.now() >= until);
    let (mut polls, mut failed, mut any) = (0, None, false);
    poller.run(Schedule::new(args.every), AtEnd::Stop, &stop, &mut |poll| {
        polls += 1;
        any |= poll.values.iter().any(Option::is_some);
        match outputs.take(poll) {
            Ok(()) if args.polls.is_some_and(|most| polls >= most.get()) => ControlFlow::Break(()),
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                failed = Some(failure);
                ControlFlow::Break(())
            }
        }
    });
    outputs.end()?;
    match failed {
        Some(failure) => Err(failure),
        None if is_interrupted() => Ok(exit_of_interrupt().into()),
        None if !any => Err(Failure::could_not_run("no poll found any value; the failures are listed above")),
        None => Ok(Exit::Good.into()),
    }
}

fn is_interrupted() -> bool {
    sys::signals::interrupts().count > 0
}

/// Returns all sources that the flags name.
fn sources(args: &Args) -> Result<Vec<Source>, Failure> {
    let access = Access { flags: http_flags(args), ssh_config: args.ssh_config.clone(), system: None };
    let mut sources = endpoints(args, &access)?;
    let hosts = args.host.then_some(Collect::Host).into_iter();
    let remote = args.ssh.iter().cloned().map(Collect::Ssh);
    let processes = args.process.iter().map(|text| Collect::process(text));
    let probes = args.probe.iter().cloned().map(Collect::Probe);
    for collect in hosts.chain(remote).chain(processes).chain(probes) {
        sources.extend(collect.sources(&access, POLL_MAX)?);
    }
    Ok(sources)
}

/// Returns the HTTP flags as arguments of `get`.
fn http_flags(args: &Args) -> Vec<String> {
    let headers = args.headers.iter().map(|header| format!("--header={header}"));
    let user = args.user.iter().map(|user| format!("--user={user}"));
    let files = args.cacert.iter().map(|file| format!("--cacert={}", file.display()));
    let insecure = args.insecure.then(|| "--insecure".to_owned());
    headers.chain(user).chain(files).chain(insecure).collect()
}

/// Returns the sources of the set or URL that the command line names.
fn endpoints(args: &Args, access: &Access) -> Result<Vec<Source>, Failure> {
    let columns = !args.column.is_empty();
    match args.what.as_slice() {
        [] if columns => Err(Failure::usage("--column needs a URL, for example http://host:9100/metrics")),
        [] => Ok(Vec::new()),
        [name, url] => {
            let set = Set::named(name).ok_or_else(|| unknown_set(name))?;
            if columns {
                return Err(Failure::usage(format!(
                    "--column cannot be combined with the set {name}: leave out one of them"
                )));
            }
            Collect::Set(set, url.clone()).sources(access, POLL_MAX)
        }
        [name] if Set::named(name).is_some() => {
            Err(Failure::usage(format!("the set {name} needs the URL of its system, for example http://localhost/")))
        }
        [url] if !columns => Err(Failure::usage(format!(
            "{} needs --column NAME=PLACE, or the name of a set before it ({})",
            crate::redact::url_text(url),
            set_names()
        ))),
        [url] => {
            let endpoint = access.endpoint(&Address { url: url.clone(), headers: Vec::new() })?;
            Ok(vec![Source::Http(HttpSource::new(endpoint, format(&args.column)?))])
        }
        _ => Err(Failure::usage("only one set or URL is possible; use a separate command for each system")),
    }
}

fn set_names() -> String {
    Set::all().iter().map(|set| set.name()).collect::<Vec<_>>().join(", ")
}

fn unknown_set(name: &str) -> Failure {
    Failure::usage(format!("`{}` is not a set: use one of {}", crate::redact::url_text(name), set_names()))
}

/// Returns the format of the columns. All columns must have the same format.
fn format(columns: &[ColumnFlag]) -> Result<Format, Failure> {
    let mut json: Vec<Picked<JsonPath>> = Vec::new();
    let mut metrics: Vec<Picked<Vec<Selector>>> = Vec::new();
    for ColumnFlag { column, place } in columns {
        let column = column.clone();
        match place {
            Place::Json(path) => json.push(Picked { column, pick: path.clone(), required: true }),
            Place::Metric(selector) => metrics.push(Picked { column, pick: vec![selector.clone()], required: true }),
        }
    }
    match (json.is_empty(), metrics.is_empty()) {
        (false, true) => Ok(Format::Json(json)),
        (true, false) => Ok(Format::Metrics(metrics)),
        _ => {
            Err(Failure::usage("--column: a response is either JSON ($.path) or in the format of Prometheus, not both"))
        }
    }
}

/// All outputs of polls.
struct Outputs {
    csv: Option<CsvWriter>,
    series: Option<CollectedWriter>,
    shown: Shown,
}

impl Outputs {
    fn open(args: &Args, poller: &Poller, started_unix_ms: u64) -> Result<Self, Failure> {
        let latency = if poller.has_requests() { Latency::Shown } else { Latency::Absent };
        let csv = match &args.output {
            Some(path) => {
                let opened = CsvWriter::open(path, poller.columns(), latency);
                Some(opened.map_err(|error| csv_failure(path, &error))?)
            }
            None => None,
        };
        let series = match &args.out {
            Some(directory) => {
                let columns = poller.columns().to_vec();
                let begin = CollectedBegin::new(started_unix_ms, args.every, poller.sources(), columns);
                let opened = CollectedWriter::resume(directory, &begin);
                Some(opened.map_err(|error| cannot_save("the series", &error))?)
            }
            None => None,
        };
        if let (Some(csv), Some(path)) = (&csv, &args.output)
            && csv.is_appended()
        {
            console::eprintln(&format!("appending to {}", path.display()));
        }
        Ok(Self { csv, series, shown: Shown::new(poller, args.quiet) })
    }

    fn take(&mut self, poll: Poll) -> Result<(), Failure> {
        if let Some(csv) = &mut self.csv {
            let written = csv.append(&poll);
            written.map_err(|error| Failure::could_not_run(format!("cannot write to the file of -o: {error}")))?;
        }
        self.shown.poll(&poll)?;
        match &mut self.series {
            Some(series) => series.append(poll).map_err(|error| cannot_save("the series", &error)),
            None => Ok(()),
        }
    }

    fn end(self) -> Result<(), Failure> {
        match self.series {
            Some(series) => series.end().map_err(|error| cannot_save("the series", &error)),
            None => Ok(()),
        }
    }
}

fn csv_failure(path: &Path, error: &CsvError) -> Failure {
    let message = format!("cannot append to {}: {error}", path.display());
    match error {
        CsvError::OtherHeader(_) => Failure::usage(message),
        CsvError::InUse | CsvError::Io(_) => Failure::could_not_run(message),
    }
}
