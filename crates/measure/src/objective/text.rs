//! The text form of objectives, used by users and in saved runs.

use super::{Metric, Objective, ObjectiveError, Timed};
use crate::sample::OpKind;
use crate::units::{ByteSize, Rate, format_span, parse_share, parse_span};
use crate::values::Enumerated;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

const EXAMPLES: &str = "for example 'success >= 99.9%', 'response p99 <= 500ms', 'ttfb p95 <= 100ms', 'rate >= 1000', \
                     'goodput >= 1GB/s' or 'speed p5 >= 10MB/s'";

const CONDITION_EXAMPLES: &str = "for example 'success < 50%', 'response p99 > 5s' or 'speed p5 < 1MB/s'";

impl Objective {
    /// Returns the objective that a run misses if the condition is true. For example, the condition `success < 50%`
    /// returns the objective `success >= 50%`.
    ///
    /// # Errors
    /// Fails if the text is not a condition, or if it is a condition on a rate. Rates are known only at the end of a
    /// run.
    pub fn missed_when(condition: &str) -> Result<Self, ObjectiveError> {
        let wrong = |why: &str| ObjectiveError(format!("`{condition}`: {why}; {CONDITION_EXAMPLES}"));
        let (metric, sign, value) = parts(condition).ok_or_else(|| wrong("a condition needs < or >"))?;
        let objective = bounded(metric, value).map_err(|why| wrong(&why))?;
        match (objective.tolerated(), sign == objective.metric.sign()) {
            (None, _) => Err(wrong("a rate is only known at the end of a run")),
            (Some(_), true) => Err(wrong("this bound is met by a good run, but a condition must describe a bad run")),
            (Some(_), false) => Ok(objective),
        }
    }

    /// Returns the condition that [`Self::missed_when`] parses to this objective.
    #[must_use]
    pub fn condition(&self) -> String {
        let text = self.to_string();
        if self.metric.sign() == '<' { text.replacen("<=", ">", 1) } else { text.replacen(">=", "<", 1) }
    }
}

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        let wrong = |why: &str| ObjectiveError(format!("`{text}`: {why}; {EXAMPLES}"));
        let (metric, sign, value) = parts(text).ok_or_else(|| wrong("an objective needs <= or >="))?;
        let objective = bounded(metric, value).map_err(|why| wrong(&why))?;
        match objective.metric.sign() {
            own if own == sign => Ok(objective),
            '<' => Err(wrong("a time takes <=")),
            _ => Err(wrong("this metric takes >=")),
        }
    }
}

/// Parses the metric and the value of a bound. The metric may be preceded by a kind of operations.
fn bounded(text: &str, value: &str) -> Result<Objective, String> {
    let text = &text.to_ascii_lowercase();
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let kind = OpKind::ALL.iter().copied().find(|kind| kind.name() == first);
    let metric = metric_of(if kind.is_some() { rest.trim() } else { text })?;
    if kind.is_some() && matches!(metric, Metric::Rate | Metric::Goodput) {
        return Err(format!("rates apply to all operations, not to `{first}` alone"));
    }
    Ok(Objective { metric, kind, bound: bound_of(metric, value)? })
}

/// Splits the text of a bound into metric, sign and value.
fn parts(text: &str) -> Option<(&str, char, &str)> {
    let (metric, rest) = text.split_at(text.find(['<', '>', '≤', '≥'])?);
    let mut rest = rest.chars();
    let sign = match rest.next()? {
        '≤' => '<',
        '≥' => '>',
        sign => sign,
    };
    // `=<` is a common way to write `<=`.
    Some((metric.trim().trim_end_matches('=').trim_end(), sign, rest.as_str().trim_start_matches('=').trim()))
}

impl Metric {
    /// Returns the sign of a bound on this metric: `<` for at most, `>` for at least.
    fn sign(self) -> char {
        match self {
            Self::Time(..) => '<',
            Self::Success | Self::Rate | Self::Goodput | Self::Speed(_) => '>',
        }
    }
}

fn metric_of(text: &str) -> Result<Metric, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match words[..] {
        ["success"] => Metric::Success,
        ["rate"] => Metric::Rate,
        ["goodput"] => Metric::Goodput,
        ["speed", q] => Metric::Speed(quantile_of(q)?),
        ["response", q] => Metric::Time(Timed::Response, quantile_of(q)?),
        ["service", q] => Metric::Time(Timed::Service, quantile_of(q)?),
        ["ttfb", q] => Metric::Time(Timed::Ttfb, quantile_of(q)?),
        [q] if q == "max" || q.starts_with('p') => Metric::Time(Timed::Response, quantile_of(q)?),
        ["error" | "errors" | "failed" | "failure" | "failures"] => {
            return Err(format!("there is no metric `{text}`; bound the share of successes"));
        }
        ["latency" | "duration" | "time", ..] => {
            return Err(format!("there is no metric `{text}`; name a percentile of the response times"));
        }
        _ => return Err(format!("there is no metric `{text}`")),
    })
}

/// Parses a quantile, such as `p99.9` or `max`.
fn quantile_of(text: &str) -> Result<f64, String> {
    if text == "max" {
        return Ok(1.0);
    }
    let percent: Option<f64> = text.strip_prefix('p').and_then(|number| number.parse().ok());
    let percent = percent.ok_or_else(|| format!("`{text}` is not a percentile"))?;
    // p0 is not a useful bound, because every operation takes at least this long.
    if percent > 0.0 && percent <= 100.0 {
        Ok(percent / 100.0)
    } else {
        Err(format!("`{text}`: a percentile is above 0 and at most 100"))
    }
}

fn bound_of(metric: Metric, text: &str) -> Result<f64, String> {
    // A number and its unit may be separated, as in `20 ms`.
    let text = &text.split_whitespace().collect::<String>();
    match metric {
        Metric::Success => match text.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => {
                Err(format!("`{text}` has no unit; write {}%", tidy(share * 100.0)))
            }
            Ok(percent) if (1.0..=100.0).contains(&percent) => Err(format!("`{text}` has no unit; write {text}%")),
            _ => parse_share(text).map_err(|error| error.to_string()),
        },
        Metric::Time(..) => {
            if is_bare(text) {
                return Err(format!("`{text}` has no unit; write {text}ms or {text}s"));
            }
            let span = parse_span(text).map_err(|error| error.to_string())?;
            Ok(span.as_nanos() as f64)
        }
        Metric::Rate => {
            let number = text.strip_suffix("/s").unwrap_or(text);
            number.trim().parse::<Rate>().map(Rate::as_f64).map_err(|error| error.to_string())
        }
        Metric::Goodput | Metric::Speed(_) => {
            let size = text
                .strip_suffix("/s")
                .ok_or_else(|| format!("the metric needs a speed, such as 1GB/s (got `{text}`)"))?
                .trim();
            if is_bare(size) {
                return Err(format!("`{text}` has no unit; write {size}MB/s or {size}B/s"));
            }
            if let Some(prefix) =
                size.strip_suffix('b').filter(|rest| rest.ends_with(['k', 'K', 'm', 'M', 'g', 'G', 't', 'T', 'i']))
            {
                return Err(format!("`{text}`: b could mean bits; write {prefix}B/s for bytes (8 bits each)"));
            }
            size.parse::<ByteSize>().map(|size| size.0 as f64).map_err(|error| error.to_string())
        }
    }
}

/// Returns whether a text ends in a number without a unit. An objective must have a unit, because tools disagree about
/// the default unit.
fn is_bare(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_digit() || c == '.')
}

/// Writes the part of an objective before the sign.
impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quantile = |q: f64| if q >= 1.0 { "max".to_owned() } else { format!("p{}", tidy(q * 100.0)) };
        match *self {
            Self::Success => f.write_str("success"),
            Self::Time(timed, q) => write!(f, "{} {}", timed.name(), quantile(q)),
            Self::Rate => f.write_str("rate"),
            Self::Goodput => f.write_str("goodput"),
            Self::Speed(q) => write!(f, "speed {}", quantile(q)),
        }
    }
}

/// Writes a text that parses to the same objective.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (metric, bound) = (self.metric, self.bound);
        if let Some(kind) = self.kind {
            write!(f, "{} ", kind.name())?;
        }
        match metric {
            Metric::Success => write!(f, "{metric} >= {}%", tidy(bound * 100.0)),
            Metric::Time(..) => write!(f, "{metric} <= {}", format_span(Duration::from_nanos(bound as u64))),
            Metric::Rate => write!(f, "{metric} >= {bound}"),
            Metric::Goodput | Metric::Speed(_) => write!(f, "{metric} >= {}/s", ByteSize(bound as u64)),
        }
    }
}

/// Removes the rounding error of dividing by 100 and multiplying by 100 again.
fn tidy(percent: f64) -> f64 {
    (percent * 1e9).round() / 1e9
}

impl Serialize for Objective {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Reads the text form, or the form in records of earlier versions, `{"success_at_least": 0.99}`.
impl<'de> Deserialize<'de> for Objective {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Saved {
            Text(#[serde(deserialize_with = "crate::values::bounded::text::<_, 256>")] String),
            Share { success_at_least: f64 },
        }
        match Saved::deserialize(deserializer)? {
            Saved::Text(text) => text.parse().map_err(D::Error::custom),
            Saved::Share { success_at_least: share } if (0.0..=1.0).contains(&share) => {
                Ok(Self::success_at_least(share))
            }
            Saved::Share { success_at_least: share } => {
                Err(D::Error::custom(format!("{share} is not a share from 0 to 1")))
            }
        }
    }
}
