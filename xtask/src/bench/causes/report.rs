//! The JSON report of the program.

use super::limit::Limit;
use crate::process::ProcessEnd;
use serde::Deserialize;
use serde_json::Value;

/// Minimum share of the offered operations that must have ended. With a lower share, the schedule was not kept.
const ENDED_MIN: f64 = 0.99;

/// Result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResultWord {
    /// Usable, and all objectives were met.
    Pass,
    /// Usable, and an objective was missed.
    Fail,
    /// Not usable.
    Unusable,
    /// Interrupted before its end.
    Partial,
    /// The program refused to run, with a reason.
    Refused,
}

impl ResultWord {
    /// Returns the word that the program prints.
    pub fn text(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Unusable => "UNUSABLE",
            Self::Partial => "PARTIAL",
            Self::Refused => "REFUSED",
        }
    }

    fn of_code(code: i64) -> Option<Self> {
        match code {
            0 => Some(Self::Pass),
            1 => Some(Self::Fail),
            3 => Some(Self::Unusable),
            4 => Some(Self::Refused),
            _ => None,
        }
    }
}

/// A printed percentile of response times. Its values are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// Quantile, from 0 to 1.
    pub q: f64,
    /// Lower end of the percentile's interval, or the value itself. If the lower end is unknown, as in `≤ 26 ms`, this
    /// is 0.
    pub low: f64,
    /// Upper end of the percentile's interval, or the value itself. If the upper end is unknown, this is infinite.
    pub high: f64,
}

/// The parts of a report that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Result.
    pub word: ResultWord,
    /// Reported limit.
    pub limit: Limit,
    /// Offered operations.
    pub offered: u64,
    /// Operations that succeeded.
    pub ok: u64,
    /// Operations that failed because of the target.
    pub failed: u64,
    /// Printed percentiles.
    pub printed: Vec<Printed>,
    /// Contradictions within the report.
    pub contradictions: Vec<&'static str>,
}

impl Report {
    /// Parses a report. `end` contains the program's exit code.
    ///
    /// # Errors
    /// Returns the reason if the report cannot be parsed.
    pub fn parse(text: &str, end: ProcessEnd) -> Result<Self, String> {
        let ProcessEnd::Code(code) = end else { return Err(format!("the program ended with {end}")) };
        let by_code = ResultWord::of_code(code.into()).ok_or_else(|| format!("unexpected exit code {code}"))?;
        if by_code == ResultWord::Refused && text.trim().is_empty() {
            let nothing = Self {
                word: by_code,
                limit: Limit::NotDetermined,
                offered: 0,
                ok: 0,
                failed: 0,
                printed: Vec::new(),
                contradictions: Vec::new(),
            };
            return Ok(nothing);
        }
        let report: Value = serde_json::from_str(text).map_err(|error| format!("no report: {error}"))?;
        let word = word(&report).unwrap_or(by_code);
        let number = |place| report.pointer(place).and_then(Value::as_u64).unwrap_or(0);
        let (offered, ok) = (number("/operations/offered"), number("/operations/ok"));
        let failed = number("/operations/failed");
        let (limit, printed) = (limit(&report)?, printed(&report));
        let mut output = Self { word, limit, offered, ok, failed, printed, contradictions: Vec::new() };
        output.contradictions = output.contradictions(by_code, &report);
        Ok(output)
    }

    /// Returns whether too few of the offered operations ended.
    pub fn is_short(&self) -> bool {
        ((self.ok + self.failed) as f64) < ENDED_MIN * self.offered as f64
    }

    fn contradictions(&self, by_code: ResultWord, report: &Value) -> Vec<&'static str> {
        let stated = report.pointer("/result/exit_code").and_then(Value::as_i64).and_then(ResultWord::of_code);
        let model = report.pointer("/setup/model").or_else(|| report.pointer("/asked/model"));
        let open = model.and_then(Value::as_str) == Some("open");
        let all_ok = self.offered > 0 && self.ok == self.offered;
        let rules = [
            (self.word != by_code && self.word != ResultWord::Partial, "the result and the exit code differ"),
            (stated.is_some_and(|stated| stated != by_code), "the stated exit code differs from the actual one"),
            (
                open && all_ok && notes(report, "rate_not_made"),
                "all operations succeeded, but the rate was not reached",
            ),
            (
                open && self.is_short() && self.word == ResultWord::Pass && self.limit.is_client(),
                "PASS although the client missed operations",
            ),
        ];
        rules.into_iter().filter(|(holds, _)| *holds).map(|(_, text)| text).collect()
    }
}

/// Returns the result word. Older programs report the result only through their exit code.
fn word(report: &Value) -> Option<ResultWord> {
    let text = report.pointer("/result/word").or_else(|| report.get("result"))?.as_str()?;
    match text.to_ascii_uppercase().as_str() {
        "PASS" => Some(ResultWord::Pass),
        "FAIL" => Some(ResultWord::Fail),
        "UNUSABLE" => Some(ResultWord::Unusable),
        "PARTIAL" => Some(ResultWord::Partial),
        _ => None,
    }
}

fn limit(report: &Value) -> Result<Limit, String> {
    let named = report.pointer("/limited_by/name").or_else(|| report.get("limited_by")).ok_or("no limited_by")?;
    Limit::deserialize(named).map_err(|error| format!("limited_by: {error}"))
}

fn printed(report: &Value) -> Vec<Printed> {
    let quantiles = report.pointer("/times/response/quantiles").and_then(Value::as_array);
    let quantiles: Vec<&Value> = quantiles.into_iter().flatten().collect();
    // Older programs do not print intervals.
    let has_ranges = quantiles.iter().any(|quantile| quantile.get("low_nanos").is_some());
    let each = quantiles.into_iter().filter_map(|quantile| percentile(quantile, has_ranges));
    // The maximum (`q` = 1) is a single operation, not a percentile.
    each.filter(|printed| printed.q < 1.0).collect()
}

/// Returns a percentile, if it has a value. An end of the interval that is missing from the report is unknown.
fn percentile(quantile: &Value, has_ranges: bool) -> Option<Printed> {
    let seconds = |value: &Value| value.as_f64().map(|nanos| nanos / 1e9);
    let q = quantile.get("q")?.as_f64()?;
    if let Some(interval) = quantile.get("interval") {
        let end = |index| interval.get(index).and_then(seconds);
        return Some(Printed { q, low: end(0).unwrap_or(0.0), high: end(1)? });
    }
    let value = quantile.get("nanos").and_then(seconds)?;
    if quantile.get("state").and_then(Value::as_str) == Some("longer_than") {
        return Some(Printed { q, low: value, high: f64::INFINITY });
    }
    let low = if has_ranges { quantile.get("low_nanos").and_then(seconds).unwrap_or(0.0) } else { value };
    Some(Printed { q, low, high: value })
}

fn notes(report: &Value, name: &str) -> bool {
    let notes = report.get("notes").and_then(Value::as_array);
    notes.into_iter().flatten().any(|note| note.get("name").and_then(Value::as_str) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(report: &Value, code: i32) -> Report {
        Report::parse(&report.to_string(), ProcessEnd::Code(code)).unwrap()
    }

    #[test]
    fn a_report_is_parsed_with_and_without_a_result_word() {
        let old = json!({"verdict": "valid", "limited_by": "shared_host", "operations": {"offered": 9, "ok": 9},
            "asked": {"model": "open"}, "notes": [{"name": "rate_not_made"}],
            "times": {"response": {"quantiles": [{"q": 0.5, "nanos": 2_000_000}, {"q": 0.999, "nanos": null}, {"q": 1.0, "nanos": 9_000_000}]}}});
        let output = read(&old, 3);
        assert_eq!(
            (output.word, output.limit, output.offered, output.ok),
            (ResultWord::Unusable, Limit::SharedHost, 9, 9)
        );
        assert_eq!(output.printed, [Printed { q: 0.5, low: 0.002, high: 0.002 }]);
        assert_eq!(output.contradictions.len(), 1);

        let new = json!({"result": {"word": "PASS", "exit_code": 0}, "limited_by": {"name": "rate"},
            "operations": {"offered": 9, "ok": 9}, "asked": {"model": "open"},
            "times": {"response": {"quantiles": [{"q": 0.5, "nanos": 2e6, "interval": [1e6, 3e6]}]}}});
        let output = read(&new, 0);
        assert_eq!((output.word, output.limit), (ResultWord::Pass, Limit::Rate));
        assert_eq!(output.printed, [Printed { q: 0.5, low: 0.001, high: 0.003 }]);
        assert_eq!(output.contradictions, [""; 0]);
        assert_eq!(read(&new, 3).contradictions.len(), 2);
    }

    #[test]
    fn an_interval_end_that_is_not_stated_is_unknown() {
        let quantiles = json!([
            {"q": 0.5, "nanos": 4e6, "low_nanos": 4e6, "state": "value"},
            {"q": 0.75, "nanos": 4e6, "low_nanos": 2e6, "state": "value"},
            {"q": 0.9, "nanos": 4e6, "low_nanos": 0, "state": "value"},
            {"q": 0.95, "nanos": 4e6, "low_nanos": null, "state": "value"},
            {"q": 0.98, "nanos": 4e6, "state": "value"},
            {"q": 0.99, "nanos": 4e6, "low_nanos": 4e6, "state": "longer_than"},
            {"q": 0.999, "nanos": null, "low_nanos": null, "state": "too_few"},
        ]);
        let report = json!({"times": {"response": {"quantiles": quantiles}}});
        let ends: Vec<_> = printed(&report).iter().map(|printed| (printed.low * 1e3, printed.high * 1e3)).collect();
        let longer = (4.0, f64::INFINITY);
        assert_eq!(ends, [(4.0, 4.0), (2.0, 4.0), (0.0, 4.0), (0.0, 4.0), (0.0, 4.0), longer]);
    }

    #[test]
    fn failed_operations_ended_and_dropped_ones_did_not() {
        let run = |offered, ok, failed| {
            let operations = json!({"offered": offered, "ok": ok, "failed": failed});
            read(&json!({"limited_by": "rate", "operations": operations}), 0).is_short()
        };
        assert!(!run(1000, 990, 0) && !run(1000, 0, 990) && run(1000, 989, 0) && !run(0, 0, 0));
    }

    #[test]
    fn a_refusal_has_no_report() {
        assert_eq!(Report::parse("", ProcessEnd::Code(4)).unwrap().word, ResultWord::Refused);
        assert!(Report::parse("", ProcessEnd::Code(0)).is_err());
        assert!(Report::parse("{}", ProcessEnd::Signal(11)).is_err());
    }
}
