//! The report of a run: the one place that reads the program's JSON.

use super::causes::Limit;
use crate::process::End;
use serde::Deserialize;
use serde_json::Value;

/// A schedule was kept when this share of what it asked for was carried out.
const CARRIED_OUT_MIN: f64 = 0.99;

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// Usable, objectives met.
    Pass,
    /// Usable, an objective missed.
    Fail,
    /// Not to be used.
    Unusable,
    /// Cut off.
    Partial,
    /// The program could not run, and reported why.
    Refused,
}

impl Word {
    /// As printed.
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

/// A printed percentile of response times, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// Which, from 0 to 1.
    pub q: f64,
    /// Lower end of its interval, or the value itself; 0 where it is unknown, as in `≤ 26 ms`.
    pub low: f64,
    /// Upper end of its interval, or the value itself; infinite where it is unknown.
    pub high: f64,
}

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The result.
    pub word: Word,
    /// What set the limit.
    pub limit: Limit,
    /// Operations that the load asked for.
    pub offered: u64,
    /// Operations that succeeded.
    pub ok: u64,
    /// Operations that failed at the target.
    pub failed: u64,
    /// Percentiles.
    pub printed: Vec<Printed>,
    /// Statements that cannot be true together.
    pub contradictions: Vec<&'static str>,
}

impl Output {
    /// Reads a report; `Err` with the reason when it is none.
    pub fn read(text: &str, end: End) -> Result<Self, String> {
        let End::Code(code) = end else { return Err(format!("the program ended by {end}")) };
        let by_code = Word::of_code(code.into()).ok_or_else(|| format!("unexpected exit code {code}"))?;
        if by_code == Word::Refused && text.trim().is_empty() {
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

    /// Whether too few of the operations that were asked for were carried out.
    pub fn is_short(&self) -> bool {
        ((self.ok + self.failed) as f64) < CARRIED_OUT_MIN * self.offered as f64
    }

    fn contradictions(&self, by_code: Word, report: &Value) -> Vec<&'static str> {
        let stated = report.pointer("/result/exit_code").and_then(Value::as_i64).and_then(Word::of_code);
        let open = report.pointer("/asked/model").and_then(Value::as_str) == Some("open");
        let all_ok = self.offered > 0 && self.ok == self.offered;
        let rules = [
            (self.word != by_code && self.word != Word::Partial, "the result and the exit code differ"),
            (stated.is_some_and(|stated| stated != by_code), "the stated exit code is another"),
            (open && all_ok && notes(report, "rate_not_made"), "all operations succeeded, but the rate was not made"),
            (
                open && self.is_short() && self.word == Word::Pass && self.limit.is_client(),
                "PASS with operations that the client missed",
            ),
        ];
        rules.into_iter().filter(|(holds, _)| *holds).map(|(_, text)| text).collect()
    }
}

/// The result word. Programs without such a field show it by their exit code alone.
fn word(report: &Value) -> Option<Word> {
    let text = report.pointer("/result/word").or_else(|| report.get("result"))?.as_str()?;
    match text.to_ascii_uppercase().as_str() {
        "PASS" => Some(Word::Pass),
        "FAIL" => Some(Word::Fail),
        "UNUSABLE" => Some(Word::Unusable),
        "PARTIAL" => Some(Word::Partial),
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
    // Older programs print no ranges at all.
    let has_ranges = quantiles.iter().any(|quantile| quantile.get("low_nanos").is_some());
    let each = quantiles.into_iter().filter_map(|quantile| one(quantile, has_ranges));
    // The maximum is one operation, not a percentile.
    each.filter(|printed| printed.q < 1.0).collect()
}

/// A percentile that was printed, and not only named. An end that is not stated is unknown.
fn one(quantile: &Value, has_ranges: bool) -> Option<Printed> {
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

    fn read(report: &Value, code: i32) -> Output {
        Output::read(&report.to_string(), End::Code(code)).unwrap()
    }

    #[test]
    fn a_report_is_read_with_and_without_a_result_word() {
        let old = json!({"verdict": "valid", "limited_by": "shared_host", "operations": {"offered": 9, "ok": 9},
            "asked": {"model": "open"}, "notes": [{"name": "rate_not_made"}],
            "times": {"response": {"quantiles": [{"q": 0.5, "nanos": 2_000_000}, {"q": 0.999, "nanos": null}, {"q": 1.0, "nanos": 9_000_000}]}}});
        let output = read(&old, 3);
        assert_eq!((output.word, output.limit, output.offered, output.ok), (Word::Unusable, Limit::SharedHost, 9, 9));
        assert_eq!(output.printed, [Printed { q: 0.5, low: 0.002, high: 0.002 }]);
        assert_eq!(output.contradictions.len(), 1);

        let new = json!({"result": {"word": "PASS", "exit_code": 0}, "limited_by": {"name": "rate"},
            "operations": {"offered": 9, "ok": 9}, "asked": {"model": "open"},
            "times": {"response": {"quantiles": [{"q": 0.5, "nanos": 2e6, "interval": [1e6, 3e6]}]}}});
        let output = read(&new, 0);
        assert_eq!((output.word, output.limit), (Word::Pass, Limit::Rate));
        assert_eq!(output.printed, [Printed { q: 0.5, low: 0.001, high: 0.003 }]);
        assert_eq!(output.contradictions, [""; 0]);
        assert_eq!(read(&new, 3).contradictions.len(), 2);
    }

    #[test]
    fn an_end_that_is_not_stated_is_unknown() {
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
    fn what_failed_was_carried_out_and_what_was_dropped_was_not() {
        let run = |offered, ok, failed| {
            let operations = json!({"offered": offered, "ok": ok, "failed": failed});
            read(&json!({"limited_by": "rate", "operations": operations}), 0).is_short()
        };
        assert!(!run(1000, 990, 0) && !run(1000, 0, 990) && run(1000, 989, 0) && !run(0, 0, 0));
    }

    #[test]
    fn a_refusal_has_no_report() {
        assert_eq!(Output::read("", End::Code(4)).unwrap().word, Word::Refused);
        assert!(Output::read("", End::Code(0)).is_err());
        assert!(Output::read("{}", End::Signal(11)).is_err());
    }
}
