//! The share of one host in a fill of several hosts (`--hosts`, `--fleet`).
//!
//! A share is an ordinary fill of every N-th object: the objects of a share are a part of the dataset
//! (`ObjectSet::Dataset` with a `Part`). Journal, recovery and reading back therefore need no second way. The identity
//! of the share contains its number. Its directory and its journal stay on the host that uploads it.
//!
//! The host sends reports about the share. Their counts are sums over all sessions, so the last report of a lost agent
//! counts too. The coordinator adds the reports up (`json/fill/hosts.rs` in the crate `report`).
//! `end_to_end/fleet_fill.rs` kills agents and coordinators.

use super::Args;
use super::budget::Budget;
use super::objects::Objects;
use super::phases::{self, Uploads};
use super::session::Session;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::saved;
use engine::plan::{Part, Plan};
use fill::stop_rule::StopRule;
use measure::Distribution;
use report::JsonFill;
use report::fill::Costs;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use store::fill_directory::Share;
use store::journal::SessionEnd;
use store::{SavedFill, SavedRun};

/// Time between two reports.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// Maximum time to wait for an earlier session, which may still end its uploads in flight.
const LOCK_WAIT: Duration = Duration::from_secs(90);
/// Maximum number of sessions and of events in a report. The newest ones are kept.
const ROWS_SENT_MAX: usize = 5;
/// Maximum number of characters in the name of a fill.
const NAME_CHARS_MAX: usize = 100;

/// The work of a session of all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Everything that the flags select.
    Upload,
    /// Everything except uploads, after a stop rule has ended them.
    AfterStop,
}

/// A record that an agent sends during a fill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ShareRecord {
    /// The shares of this fill that the host already has.
    Held(Vec<HeldShare>),
    /// The state of the agent's share, about once per second.
    Fill(Box<JsonFill>),
    /// The state of the agent's share at the end of the session, with the times of all of its uploads.
    End {
        /// The state.
        fill: Box<JsonFill>,
        /// The times of the uploads in nanoseconds.
        uploads: Distribution,
    },
}

/// A share that a host has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldShare {
    /// The share.
    pub share: Share,
    /// Its state.
    pub fill: JsonFill,
}

/// Returns the name of the fill that all hosts derive from the command: the name of `--out`, or else the location.
pub fn name(args: &Args) -> String {
    let out = args.put.common.output.out.as_ref().map(|out| out.to_string_lossy().into_owned());
    let place = || {
        let url = args.put.urls.first().map(String::as_str).unwrap_or_default();
        let path = url.split_once("://").map_or(url, |(_, path)| path).split(['?', '#']).next().unwrap_or_default();
        path.rsplit_once('@').map_or(path, |(_, path)| path).to_owned()
    };
    let text = out.unwrap_or_else(place);
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = text.chars().map(safe).take(NAME_CHARS_MAX).collect();
    match name.trim_matches('_') {
        "" => "fill".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the shares of a fill in this directory of the host.
pub fn held(shares: &Path) -> Result<Vec<HeldShare>, Failure> {
    let cannot_read =
        |error: std::io::Error| Failure::could_not_run(format!("cannot read {}: {error}", shares.display()));
    let entries = match fs::read_dir(shares) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(cannot_read)?,
    };
    let fills = entries.iter().map(fs::DirEntry::path).filter(|path| SavedFill::is_in(path));
    let held = |path: PathBuf| {
        let fill = saved::fill::read(&path)?;
        let share = fill.identity.share.unwrap_or(Share { index: 0, of: 1 });
        Ok(HeldShare { share, fill: report_to_send(&fill) })
    };
    fills.map(held).collect()
}

/// Returns the report of a fill with a limited length, without costs.
pub fn report_to_send(fill: &SavedFill) -> JsonFill {
    let mut report = report::json_fill(fill, &Costs::none());
    let (sessions, events) = (&mut report.sessions, &mut report.events);
    sessions.drain(..sessions.len().saturating_sub(ROWS_SENT_MAX));
    events.drain(..events.len().saturating_sub(ROWS_SENT_MAX));
    report
}

/// An open share of a fill.
pub struct ShareOfFill {
    args: Args,
    objects: Objects,
    session: Session,
}

impl ShareOfFill {
    /// Opens the share with this part of the objects, in its directory below `shares`. `restrict` may refuse the uploads
    /// before the first request.
    pub fn open(
        mut args: Args,
        part: Part,
        shares: &Path,
        restrict: impl FnOnce(&mut Plan) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        args.check()?;
        args.check_hosts()?;
        // The coordinator decides on the other rules and on the costs, because they are about the sum of all hosts.
        args.stop_when.retain(|rule| !is_about_the_sum(rule));
        (args.prices, args.cap) = (Vec::new(), None);
        // Nothing is shown on this host.
        args.put.common.output.quiet = true;
        args.put.common.output.view = None;
        let mut objects = Objects::of_part(&args, None, part)?;
        args.put.common.load.concurrency = std::num::NonZeroU64::new(objects.upload.load.in_flight_max());
        restrict(&mut objects.upload)?;
        objects.prepare()?;
        let directory = shares.join(format!("{}-of-{}", u64::from(part.index()) + 1, part.of()));
        let session = Session::open(&args, &objects, &directory, LOCK_WAIT)?;
        Ok(Self { args, objects, session })
    }

    /// Ends the session before its first request.
    pub fn cancel(self) -> Result<(), Failure> {
        self.session.close(&Ok(SessionEnd::Interrupted)).map(|_| ())
    }

    /// Carries out a session, and sends reports.
    ///
    /// # Errors
    /// Fails if the session could not go on, for example because the disk of this host is full.
    pub fn carry_out(self, step: Step, send: &(dyn Fn(ShareRecord) + Sync)) -> Result<(), Failure> {
        let Self { args, objects, mut session } = self;
        let uploads = match step {
            Step::Upload => Uploads::of(&args),
            Step::AfterStop => Uploads::AbortOpen,
        };
        let mut budget = Budget::of(&args)?;
        let (result, reason, fill, uploads) = thread::scope(|scope| {
            let (running, over) = channel::<()>();
            let published = session.published();
            scope.spawn(move || send_reports(&published, &over, send));
            let progress = Progress::default();
            let result = phases::carry_out((&args, uploads), &objects, &mut budget, &mut session, &progress);
            let (directory, reason) = session.close(&result)?;
            // Reading all sessions can take long, and the coordinator must not take this host for lost.
            let fill = saved::fill::read(&directory)?;
            let uploads = upload_times(&fill);
            drop(running);
            Ok::<_, Failure>((result, reason, fill, uploads))
        })?;
        send(ShareRecord::End { fill: Box::new(report_to_send(&fill)), uploads });
        match (reason, result) {
            (SessionEnd::Interrupted, _) => Ok(()),
            (SessionEnd::DiskFull, _) => Err(Failure::could_not_run("its disk is full")),
            (_, Err(failure)) => Err(failure),
            (SessionEnd::Failed, Ok(_)) => Err(Failure::could_not_run(report::fill::result(&fill).reasons.join("; "))),
            (_, Ok(_)) => Ok(()),
        }
    }
}

/// Sends the newest report until `over` is closed.
fn send_reports(published: &Mutex<JsonFill>, over: &Receiver<()>, send: &(dyn Fn(ShareRecord) + Sync)) {
    loop {
        let report = published.lock().unwrap_or_else(PoisonError::into_inner).clone();
        send(ShareRecord::Fill(Box::new(report)));
        match over.recv_timeout(REPORT_EVERY) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Returns the times of all uploads of all sessions that succeeded. A run that was killed counts up to its last record.
fn upload_times(fill: &SavedFill) -> Distribution {
    let mut times = Distribution::default();
    for (_, session) in &fill.sessions {
        let runs = fs::read_dir(session).into_iter().flatten().flatten();
        let uploads = runs.filter(|run| run.file_name().to_string_lossy().starts_with(phases::UPLOAD_RUN));
        // A run that was killed before its first record has no times.
        for run in uploads.filter_map(|run| SavedRun::read(&run.path()).ok()) {
            times.merge(&run.summary().all.response);
        }
    }
    times
}

/// Returns whether the coordinator decides on a rule of a fill of several hosts. Each host decides on the others for
/// itself.
pub fn is_about_the_sum(rule: &StopRule) -> bool {
    !matches!(rule, StopRule::Gone(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::load_command::LoadCommand;

    fn args(words: &str) -> Args {
        let words = format!("plimsoll fill {words} --count 5 --size 1KiB");
        match LoadCommand::parse(words.split(' ').map(Into::into)).unwrap() {
            LoadCommand::Fill(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_name_of_a_fill_is_a_plain_name_of_a_directory() {
        for (words, expected) in [
            ("s3://bucket/a/b", "bucket_a_b"),
            ("http://${ME}@host:80/up?key=1", "host_80_up"),
            ("http://host/ --out ../..", "fill"),
            ("http://host/ --out /data/fills/one", "data_fills_one"),
        ] {
            assert_eq!(name(&args(words)), expected, "{words}");
        }
    }
}
