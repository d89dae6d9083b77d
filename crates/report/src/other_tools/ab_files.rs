//! The files of `ab -e` and `ab -g`, for spreadsheets and gnuplot scripts.
//!
//! Headers and number formats are the same as in ab's files. As in [`super::ab`], the times include only successful
//! operations. Total is response time, wait is TTFB, and processing is total minus connect.

use crate::export::ExportError;
use measure::{AttemptClass, Distribution};
use std::io::{self, Write};
use store::OpRecord;
use store::Utc;

/// Writes the file of `ab -e`. For each percentage of requests, the file contains the time within which these requests
/// were served.
///
/// # Errors
/// If writing fails.
pub fn percentages(response: &Distribution, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Percentage served,Time in ms")?;
    let count = response.count();
    if count == 0 {
        return out.flush();
    }
    for percent in 0..=100_u64 {
        // ab uses sorted[n·p/100 + ½], counted from 0. For small n, ab reads beyond the end of its array.
        let index = (u128::from(count) * u128::from(percent) + 50) / 100;
        let rank = (index + 1).min(u128::from(count));
        let nanos = match percent {
            0 => response.min(),
            100 => response.max(),
            _ => response.quantile((rank as f64 - 0.5) / count as f64),
        };
        writeln!(out, "{percent},{:.3}", nanos.unwrap_or(0) as f64 / 1e6)?;
    }
    out.flush()
}

/// Maximum number of requests in memory for sorting. A request takes 32 bytes.
const REQUESTS_MAX: usize = 8_000_000;

/// A line of `ab -g`. Times are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    total_micros: u64,
    started_unix_ms: u64,
    connect_micros: u64,
    wait_micros: u64,
}

/// The requests for the file of `ab -g`, which is sorted by total time.
#[derive(Debug, Default)]
pub struct Gnuplot {
    requests: Vec<Request>,
}

impl Gnuplot {
    /// Adds an operation of a run that began at `started_unix_ms`. Failed operations are left out, as in ab's file.
    ///
    /// # Errors
    /// If there are too many operations to keep in memory.
    pub fn add(&mut self, started_unix_ms: u64, op: &OpRecord) -> Result<(), ExportError> {
        if op.class != AttemptClass::Ok {
            return Ok(());
        }
        if self.requests.len() == REQUESTS_MAX {
            return Err(ExportError::Form(format!(
                "ab's file is sorted by time, and at most {REQUESTS_MAX} operations can be sorted; use --as ops-csv, which \
                 writes all of them"
            )));
        }
        let connect = op.connect_nanos.unwrap_or(0).saturating_add(op.handshake_nanos.unwrap_or(0));
        let wait = op.sent.zip(op.first_byte).map_or(0, |(sent, first)| first.nanos_since(sent));
        self.requests.push(Request {
            total_micros: op.end.nanos_since(op.intended) / 1000,
            started_unix_ms: started_unix_ms.saturating_add(op.started.as_nanos() / 1_000_000),
            connect_micros: connect / 1000,
            wait_micros: wait / 1000,
        });
        Ok(())
    }

    /// Sorts the requests and writes the file.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.requests.sort_unstable();
        writeln!(out, "starttime\tseconds\tctime\tdtime\tttime\twait")?;
        for request in &self.requests {
            let processing = request.total_micros.saturating_sub(request.connect_micros);
            writeln!(
                out,
                "{}\t{}\t{}\t{}\t{}\t{}",
                ctime(request.started_unix_ms),
                request.started_unix_ms / 1000,
                round_ms(request.connect_micros),
                round_ms(processing),
                round_ms(request.total_micros),
                round_ms(request.wait_micros),
            )?;
        }
        out.flush()
    }
}

/// Rounds microseconds to milliseconds as ab does.
fn round_ms(micros: u64) -> u64 {
    micros.saturating_add(500) / 1000
}

/// Formats a time in UTC as C's ctime does: `Sun Nov 22 02:22:48 2026`.
fn ctime(unix_ms: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let Utc { year, month, day, hour, minute, second } = Utc::from_unix_ms(unix_ms);
    let weekday = usize::try_from(unix_ms / 86_400_000 % 7).ok().and_then(|day| DAYS.get(day)).unwrap_or(&"");
    let month = usize::try_from(month.saturating_sub(1)).ok().and_then(|month| MONTHS.get(month)).unwrap_or(&"");
    format!("{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02} {year}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_by_ctime() {
        assert_eq!(ctime(0), "Thu Jan 01 00:00:00 1970");
        assert_eq!(ctime(1_795_314_168_999), "Sun Nov 22 02:22:48 2026");
    }

    /// Compares the result with ab's own formula, except where ab's formula reads beyond the end of the array.
    #[test]
    fn percentages_are_those_of_the_sorted_values() {
        let mut response = Distribution::default();
        let values: Vec<u64> = (1..=200).map(|value| value * 1_000_000).collect();
        values.iter().for_each(|value| response.record(*value));
        let mut out = Vec::new();
        percentages(&response, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 102);
        for (percent, line) in text.lines().skip(1).enumerate() {
            let index = ((0.5 + 200.0 * percent as f64 / 100.0) as usize).min(199);
            let index = [index, 0][usize::from(percent == 0)];
            let found: f64 = line.split_once(',').unwrap().1.parse().unwrap();
            let truth = values[index] as f64 / 1e6;
            assert!((found - truth).abs() <= truth * 1e-3, "{line}: {truth}");
        }
    }
}
