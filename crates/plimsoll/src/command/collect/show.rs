//! The lines that `collect` prints: the values of each poll, and messages when a failure begins or ends.

use crate::console;
use crate::failure::Failure;
use collect::poll::Poller;
use measure::series::{Poll, PollFailure};
use report::escape::bounded;
use std::fmt::Write;
use store::Utc;

/// Maximum length of a line with values, in characters.
const LINE_MAX: usize = 160;
/// Maximum length of a line about a failure, in characters.
const FAILURE_MAX: usize = 400;

/// The state of the output.
pub struct Shown {
    columns: Vec<String>,
    sources: Vec<String>,
    /// The current failure of each source, or `None` if the last poll of the source succeeded.
    failing: Vec<Option<String>>,
    quiet: bool,
}

impl Shown {
    /// Creates the state before the first poll. If `quiet` is true, only failures are printed, and no values.
    pub fn new(poller: &Poller, quiet: bool) -> Self {
        let columns = poller.columns().iter().map(|column| column.name.clone()).collect();
        let sources = poller.sources();
        let failing = vec![None; sources.len()];
        Self { columns, sources, failing, quiet }
    }

    /// Prints the values of a poll. Prints a message only when a failure begins, changes or ends.
    pub fn poll(&mut self, poll: &Poll) -> Result<(), Failure> {
        for line in self.changes(poll) {
            console::eprintln(&bounded(&line, FAILURE_MAX));
        }
        if poll.missed > 0 {
            console::eprintln(&format!("missed {} polls, because a poll took too long", poll.missed));
        }
        if self.quiet { Ok(()) } else { console::print(&self.line(poll)) }
    }

    /// Returns lines about failures that begin or end with a poll.
    fn changes(&mut self, poll: &Poll) -> Vec<String> {
        let mut lines = Vec::new();
        for ((name, before), source) in self.sources.iter().zip(&mut self.failing).zip(&poll.sources) {
            let now = source.failure.as_ref().map(PollFailure::about);
            match (&now, &before) {
                (Some(why), _) if now != *before => lines.push(format!("{name}: {why}; its values stay blank")),
                (None, Some(_)) => lines.push(format!("{name}: works again")),
                _ => {}
            }
            *before = now;
        }
        lines
    }

    fn line(&self, poll: &Poll) -> String {
        let milliseconds = poll.end.since(poll.start).as_millis();
        let mut line = format!("{}  {milliseconds} ms", Utc::from_unix_ms(poll.end_unix_ms));
        for (index, (name, value)) in self.columns.iter().zip(&poll.values).enumerate() {
            let value = value.as_ref().map_or("–", |value| value.as_str());
            if line.chars().count() + name.len() + value.len() + 3 > LINE_MAX {
                let _ = write!(line, "  and {} more", self.columns.len() - index);
                break;
            }
            let _ = write!(line, "  {name} {value}");
        }
        line + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Instant;
    use measure::series::{FailureClass, Number, SourcePoll};

    fn poll(value: Option<u64>) -> Poll {
        let failure = value.is_none().then(|| PollFailure::new(FailureClass::Connect, "refused"));
        Poll {
            start: Instant::ZERO,
            end: Instant::from_nanos(12_000_000),
            start_unix_ms: 0,
            end_unix_ms: 86_400_000,
            request_micros: 0,
            missed: 0,
            sources: vec![SourcePoll { nanos: 1, failure }],
            values: vec![value.map(Number::from); 40],
        }
    }

    #[test]
    fn failures_are_printed_when_they_begin_and_end() {
        let columns = (0..40).map(|index| format!("column_{index}")).collect();
        let mut shown = Shown { columns, sources: vec!["a".into()], failing: vec![None], quiet: false };
        assert_eq!(shown.changes(&poll(Some(1))), [""; 0]);
        assert_eq!(
            shown.changes(&poll(None)),
            ["a: the connection could not be opened: refused; its values stay blank"]
        );
        assert_eq!(shown.changes(&poll(None)), [""; 0]);
        assert_eq!(shown.changes(&poll(Some(1))), ["a: works again"]);
        let line = shown.line(&poll(Some(17)));
        assert!(line.starts_with("1970-01-02 00:00:00 UTC  12 ms  column_0 17  column_1 17"), "{line}");
        assert!(line.ends_with(" more\n") && line.chars().count() < LINE_MAX + 20, "{line}");
    }
}
