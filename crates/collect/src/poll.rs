//! The poller, which polls all sources at the same time and limits the time of each poll.

use crate::schedule::Schedule;
use crate::source::{Reading, Source};
use measure::series::{COLUMNS_MAX, Column, FailureClass, Poll, PollFailure, SourcePoll};
use measure::{Clock, Instant, MonotonicClock};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

/// Maximum time limit of a poll. This limit applies to long intervals.
pub const POLL_MAX: Duration = Duration::from_secs(30);
/// Minimum time limit of a poll. This limit applies to short intervals.
const POLL_MIN: Duration = Duration::from_millis(200);
/// While no poll is due, the poller checks at this interval whether it must stop.
const CHECK: Duration = Duration::from_millis(50);
/// Maximum number of sources of a poller. The poller starts a thread for each source.
const SOURCES_MAX: usize = 32;

/// The reason why sources cannot be polled together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PollerError {
    /// There is nothing to poll.
    #[error("there is nothing to collect")]
    Nothing,
    /// There are too many sources.
    #[error("there are {0} sources, but the maximum is {SOURCES_MAX}")]
    Sources(usize),
    /// There are too many columns.
    #[error("there are {0} columns, but the maximum is {COLUMNS_MAX}")]
    Columns(usize),
    /// The name of a column is not valid.
    #[error("the column name {0:?} is not valid; use 1 to 64 letters, digits, _, -, . or :")]
    Name(String),
}

/// The last action of a poller that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// A last poll, so that counters have their final values. The last poll is omitted if the previous poll is recent.
    PollOnceMore,
    /// No further poll.
    Stop,
}

/// A poller of several sources.
#[derive(Debug)]
pub struct Poller {
    sources: Vec<Source>,
    /// Number of columns of each source.
    widths: Vec<usize>,
    columns: Vec<Column>,
    clock: MonotonicClock,
    bound: Duration,
}

impl Poller {
    /// Creates a poller whose times are on `clock`. If several columns have the same name, a number is added to the
    /// later names. `every` is the time between two polls. `every` is also the time limit of a poll, but this limit is
    /// at least 200 ms and at most 30 s.
    ///
    /// # Errors
    /// Returns an error if there is nothing to poll, if there are too many sources or columns, or if the name of a
    /// column is not valid.
    pub fn new(sources: Vec<Source>, clock: MonotonicClock, every: Duration) -> Result<Self, PollerError> {
        if sources.is_empty() {
            return Err(PollerError::Nothing);
        }
        if sources.len() > SOURCES_MAX {
            return Err(PollerError::Sources(sources.len()));
        }
        let each: Vec<Vec<Column>> = sources.iter().map(Source::columns).collect();
        let widths = each.iter().map(Vec::len).collect();
        let columns = distinct(each.into_iter().flatten())?;
        if columns.len() > COLUMNS_MAX {
            return Err(PollerError::Columns(columns.len()));
        }
        Ok(Self { sources, widths, columns, clock, bound: bound(every) })
    }

    /// Sets the clock for the times of polls.
    #[must_use]
    pub fn with_clock(self, clock: MonotonicClock) -> Self {
        Self { clock, ..self }
    }

    /// Returns the columns of all sources.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns descriptions of the sources, without secrets.
    #[must_use]
    pub fn sources(&self) -> Vec<String> {
        self.sources.iter().map(Source::name).collect()
    }

    /// Returns whether a source makes HTTP requests.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        self.sources.iter().any(Source::is_http)
    }

    /// Polls all sources at the same time. `missed` is the number of polls that were missed since the previous poll.
    pub fn poll(&mut self, missed: u64) -> Poll {
        let (start, start_unix_ms) = (self.clock.now(), unix_ms());
        let readings = self.read();
        let mut poll = Poll {
            start,
            end: self.clock.now(),
            start_unix_ms,
            end_unix_ms: unix_ms(),
            request_micros: 0,
            missed,
            sources: Vec::with_capacity(readings.len()),
            values: Vec::with_capacity(self.columns.len()),
        };
        for (mut reading, took) in readings {
            poll.request_micros += u64::try_from(reading.requests.as_micros()).unwrap_or(0);
            let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            poll.sources.push(SourcePoll { nanos, failure: reading.failure.take() });
            poll.values.append(&mut reading.values);
        }
        assert_eq!(poll.values.len(), self.columns.len(), "each source has one value per column");
        poll
    }

    /// Reads each source in its own thread, so that a slow source does not delay the others.
    fn read(&mut self) -> Vec<(Reading, Duration)> {
        let bound = self.bound;
        let timed = move |source: &mut Source| {
            let begun = std::time::Instant::now();
            (source.read(bound), begun.elapsed())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = self.sources.iter_mut().map(|source| scope.spawn(move || timed(source))).collect();
            let failed = |width: usize| Reading::failed(width, PollFailure::new(FailureClass::Internal, ""));
            let ends = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
            ends.zip(&self.widths).map(|(end, width)| end.unwrap_or((failed(*width), bound))).collect()
        })
    }

    /// Polls on schedule until `stop` returns `true`, or `take` returns `Break`. `take` gets each poll.
    pub fn run(
        &mut self,
        mut schedule: Schedule,
        at_end: AtEnd,
        stop: &dyn Fn() -> bool,
        take: &mut dyn FnMut(Poll) -> ControlFlow<()>,
    ) {
        let origin = self.clock.now();
        let (mut missed, mut last): (u64, Option<Instant>) = (0, None);
        loop {
            while self.clock.now().since(origin) < schedule.due() && !stop() {
                let left = schedule.due().saturating_sub(self.clock.now().since(origin));
                std::thread::sleep(left.min(CHECK));
            }
            if stop() {
                break;
            }
            let poll = self.poll(missed);
            last = Some(poll.end);
            missed = schedule.ended(poll.end.since(origin));
            if take(poll).is_break() {
                return;
            }
        }
        let is_old = last.is_none_or(|last| self.clock.now().since(last) >= schedule.every() / 2);
        if at_end == AtEnd::PollOnceMore && is_old {
            let poll = self.poll(missed);
            let _ = take(poll);
        }
    }
}

/// Returns the limit on the time of a poll.
fn bound(every: Duration) -> Duration {
    every.clamp(POLL_MIN, POLL_MAX)
}

fn unix_ms() -> u64 {
    u64::try_from(sys::clock::realtime().as_millis()).unwrap_or(u64::MAX)
}

/// Returns the columns with distinct names: the second `a` becomes `a.2`.
fn distinct(columns: impl Iterator<Item = Column>) -> Result<Vec<Column>, PollerError> {
    let mut taken = HashSet::new();
    let column = |column: Column| {
        let numbered = (2..).map(|number: usize| format!("{}.{number}", column.name));
        let free = std::iter::once(column.name.clone()).chain(numbered).find(|name| !taken.contains(name));
        let name = free.filter(|name| Column::is_name(name)).ok_or_else(|| PollerError::Name(column.name.clone()))?;
        taken.insert(name.clone());
        Ok(Column { name, ..column })
    };
    columns.map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{ConnectProbe, HostSource, Place};
    use measure::series::{ColumnKind, ColumnUnit};
    use std::cell::Cell;

    fn column(name: &str) -> Column {
        Column { name: name.to_owned(), kind: ColumnKind::Gauge, unit: ColumnUnit::Count }
    }

    #[test]
    fn names_are_distinct() {
        let columns = distinct(["a", "b", "a", "a.2", "a"].into_iter().map(column)).unwrap();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "a.2", "a.2.2", "a.3"]);
        let error = distinct(["a,b"].into_iter().map(column)).unwrap_err();
        assert_eq!(error, PollerError::Name("a,b".into()));
    }

    #[test]
    fn all_sources_are_polled_and_one_failure_leaves_the_others() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let refused = Source::Connect(ConnectProbe::new(&port, "probe").unwrap());
        let host = HostSource::start(Place::Here, "host", "/".into(), POLL_MAX).unwrap();
        let mut poller =
            Poller::new(vec![refused, Source::Host(host)], MonotonicClock::start(), Duration::from_secs(5)).unwrap();
        let poll = poller.poll(3);
        assert_eq!((poll.sources.len(), poll.missed, poll.request_micros), (2, 3, 0));
        assert!(poll.sources[0].failure.is_some() && poll.sources[1].failure.is_none(), "{:?}", poll.sources);
        assert_eq!(poll.values[0], None);
        let memory = poller.columns().iter().position(|column| column.name == "host_memory_used").unwrap();
        assert!(poll.values[memory].is_some() && poll.end >= poll.start && poll.end_unix_ms >= poll.start_unix_ms);
        assert!(!poller.has_requests());
    }

    #[test]
    fn a_poller_stops_when_it_is_told_and_polls_once_more() {
        let host = || vec![Source::Host(HostSource::start(Place::Here, "host", "/".into(), POLL_MAX).unwrap())];
        let every = Duration::from_millis(40);
        let mut poller = Poller::new(host(), MonotonicClock::start(), every).unwrap();
        let count = Cell::new(0);
        poller.run(Schedule::new(every), AtEnd::PollOnceMore, &|| count.get() >= 3, &mut |_| {
            count.set(count.get() + 1);
            ControlFlow::Continue(())
        });
        assert!((3..=4).contains(&count.get()), "{}", count.get());
        let mut poller = Poller::new(host(), MonotonicClock::start(), every).unwrap();
        let mut polls = 0;
        poller.run(Schedule::new(every), AtEnd::PollOnceMore, &|| true, &mut |_| {
            polls += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(polls, 1, "the final poll is taken");
        assert_eq!(Poller::new(Vec::new(), MonotonicClock::start(), every).err(), Some(PollerError::Nothing));
    }
}
