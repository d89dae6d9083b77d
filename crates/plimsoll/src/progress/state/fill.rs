//! The state of a fill.

use measure::units::format_span;
use std::time::Duration;
pub use telemetry::FillPhase as Phase;

/// A fill in progress.
#[derive(Clone, Debug, Default)]
pub struct Fill {
    pub phase: Phase,
    /// URLs of the place to which objects are uploaded.
    pub location: String,
    /// Time since the start of the phase's run.
    pub elapsed: Duration,
    /// Number of stored objects, and of all objects.
    pub objects: (u64, u64),
    /// Bytes of the stored objects, and of all objects.
    pub bytes: (u64, u64),
    /// Number of uploads that failed.
    pub failed: u64,
    /// Bandwidth of the last minute, in bytes per second.
    pub bandwidth: Option<f64>,
    /// Money spent so far.
    pub spent: Option<String>,
    /// Bytes that the target has confirmed, but still has to pack.
    pub waiting: Option<u64>,
    /// Limit on spending.
    pub cap: Option<String>,
    /// Stop rules, each with its value so far.
    pub rules: Vec<(String, Option<String>)>,
}

impl Fill {
    /// Returns the estimated time left, based on the bandwidth.
    pub fn left(&self) -> Option<Duration> {
        let per_second = self.bandwidth.filter(|per_second| *per_second > 0.0)?;
        let (stored, all) = self.bytes;
        Some(Duration::from_secs((all.saturating_sub(stored) as f64 / per_second).min(3.0e9) as u64))
    }

    /// Returns the bytes that wait to be packed in words, if there are any.
    pub fn waiting_text(&self) -> Option<String> {
        let waiting = self.waiting.filter(|waiting| *waiting > 0)?;
        Some(format!("{} to pack", report::number::bytes(waiting)))
    }

    /// Returns the text of the live line: `1h2m 1,200 of 5,000 objects, 12.00 GB of 50.00 GB, 120.00 Mbit/s, 3h left`.
    pub fn line(&self) -> String {
        let left = self.left().map(|left| format!(", {} left", format_span(left)));
        let spent = self.spent.as_ref().map(|spent| format!(", {spent}"));
        let waiting = self.waiting_text().map(|waiting| format!(", {waiting}")).unwrap_or_default();
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        format!(
            "{} {} of {} objects, {} of {}, {}{}{waiting}{failed}{}",
            format_span(Duration::from_secs(self.elapsed.as_secs())),
            report::number::count(self.objects.0),
            report::number::count(self.objects.1),
            report::number::bytes(self.bytes.0),
            report::number::bytes(self.bytes.1),
            self.bandwidth.map_or_else(|| "-".to_owned(), report::number::bit_rate),
            left.unwrap_or_default(),
            spent.unwrap_or_default(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_what_waits_to_be_packed() {
        let fill = |waiting| Fill { bytes: (1_000_000, 2_000_000), waiting, ..Fill::default() };
        assert_eq!(fill(Some(300_000)).line(), "0s 0 of 0 objects, 1.00 MB of 2.00 MB, -, 300.00 kB to pack");
        assert!(!fill(Some(0)).line().contains("to pack"));
    }
}
