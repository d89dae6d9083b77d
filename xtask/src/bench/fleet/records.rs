//! The records that simulated agents send: those of a short real run, one of whose seconds is repeated.

use crate::embedded_server::EmbeddedServer;
use crate::failure::{Result, failure};
use crate::process::{Affinity, ProcessEnd, start};
use fleet::message::{Part, RunId};
use measure::{Instant, Interval, Stage};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use store::{Begin, End, EndReason, FleetPart, Record};

/// Length of the real run in seconds. One of its middle seconds is repeated.
const SECONDS: u64 = 3;
/// Length of a second in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// The records of a part of a run.
#[derive(Clone)]
pub struct Records {
    begin: Begin,
    /// The intervals of all seconds, as lines.
    pub seconds: Vec<String>,
    /// The last record, as a line.
    pub end: String,
}

impl Records {
    /// Makes a run against an embedded server, and returns the records of a longer run with the same intervals.
    pub fn of_real_run(program: &Path, rate: u64, seconds: u64, directory: &Path) -> Result<Self> {
        let server = EmbeddedServer::start(program, &[], Affinity::AllCores, directory)?;
        let out = directory.join("real");
        let mut command = Command::new(program);
        let (url, rate, time) = (format!("{}/blackhole/1KiB", server.url), rate.to_string(), format!("{SECONDS}s"));
        command.args(["get", &url, "-R", &rate, "-d", &time, "--print", "none", "--out"]).arg(&out);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let run = start(&mut command, Affinity::AllCores)?.finish(Duration::from_secs(60))?;
        if run.end != ProcessEnd::Code(0) {
            return Err(failure(format_args!("the real run ended with {}", run.end)));
        }
        let (mut begin, mut interval, mut end) = (None, None, None);
        let read = store::for_each_record(&out, |record| match record {
            Record::Begin(found) => begin = Some(*found),
            Record::Interval(found) if found.stage == Stage::Measured && found.start.as_nanos() == SECOND => {
                interval = Some(*found);
            }
            Record::End(found) => end = Some(*found),
            _ => {}
        });
        read.map_err(failure)?;
        let (Some(mut begin), Some(interval), Some(end)) = (begin, interval, end) else {
            return Err(failure("the real run has no second to repeat"));
        };
        begin.duration_ms = Some(seconds * 1000);
        let second = |number: u64| line(&Record::Interval(Box::new(at_second(&interval, number))));
        let end = End { reason: EndReason::Completed, at: Instant::from_nanos(seconds * SECOND), ..end };
        let seconds = (0..seconds).map(second).collect::<Result<_>>()?;
        Ok(Self { begin, seconds, end: line(&Record::End(Box::new(end)))? })
    }

    /// Returns the first record of a part.
    pub fn begin(&self, run: &RunId, part: Part) -> Result<String> {
        let load = self.begin.load.clone();
        let part = Some(FleetPart { run: run.as_str().to_owned(), index: part.index, of: part.of, load });
        line(&Record::Begin(Box::new(Begin { part, ..self.begin.clone() })))
    }
}

fn at_second(interval: &Interval, number: u64) -> Interval {
    let at = |second: u64| Instant::from_nanos(second * SECOND);
    Interval { start: at(number), end: at(number + 1), ..interval.clone() }
}

fn line(record: &Record) -> Result<String> {
    serde_json::to_string(record).map_err(failure)
}
