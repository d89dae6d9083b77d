//! The report of a run: the one place that reads the program's JSON.

use super::causes::Limit;
use crate::process::End;
use serde::Deserialize;
use serde_json::Value;

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
    /// Lower end of its interval, or the value itself.
    pub low: f64,
    /// Upper end of its interval, or the value itself.
    pub high: f64,
}

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The result.
    pub word: Word,
    /// What set the limit.
    pub limit: Limit,
    /// Operations that the load asked for, and those that succeeded.
    pub offered: u64,
    /// Operations that succeeded.
    pub ok: u64,
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
                printed: Vec::new(),
                contradictions: Vec::new(),
            };
            return Ok(nothing);
        }
        let report: Value = serde_json::from_str(text).map_err(|error| format!("no report: {error}"))?;
        let word = word(&report).unwrap_or(by_code);
        let number = |place| report.pointer(place).and_then(Value::as_u64).unwrap_or(0);
        let (offered, ok) = (number("/operations/offered"), number("/operations/ok"));
        let mut output =
            Self { word, limit: limit(&report)?, offered, ok, printed: printed(&report), contradictions: Vec::new() };
        output.contradictions = output.contradictions(by_code, &report);
        Ok(output)
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
                open && !all_ok && self.word == Word::Pass && self.limit.is_client(),
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
    // The maximum is one operation, not a percentile.
    quantiles.into_iter().flatten().filter_map(one).filter(|printed| printed.q < 1.0).collect()
}

fn one(quantile: &Value) -> Option<Printed> {
    let seconds = |value: &Value| value.as_f64().map(|nanos| nanos / 1e9);
    let value = quantile.get("nanos").and_then(seconds);
    let end = |index, name| {
        let interval = quantile.get("interval").and_then(|interval| interval.get(index)).or_else(|| quantile.get(name));
        interval.and_then(seconds).or(value)
    };
    Some(Printed { q: quantile.get("q")?.as_f64()?, low: end(0, "low_nanos")?, high: end(1, "high_nanos")? })
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
    fn a_refusal_has_no_report() {
        assert_eq!(Output::read("", End::Code(4)).unwrap().word, Word::Refused);
        assert!(Output::read("", End::Code(0)).is_err());
        assert!(Output::read("{}", End::Signal(11)).is_err());
    }
}
