//! Values in the text format of Prometheus and in OpenMetrics.
//!
//! The existing crates for this format are not maintained, or have a license that this project does not accept. These
//! crates also allocate a value for each line of a response, and responses can have a hundred thousand lines. This
//! parser parses only the lines of selected metrics.

use super::picked::{self, Parsed, Picked};
use measure::series::{FailureClass, Number, PollFailure};
use std::collections::HashMap;
use std::str::FromStr;

/// Maximum length of a selector in bytes.
const SELECTOR_BYTES_MAX: usize = 1000;

/// A selector of series of a metric, such as `node_cpu_seconds_total{mode!="idle"}`. The values of all matching series
/// are added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    name: String,
    labels: Vec<LabelMatch>,
}

/// A condition on a label. A series without the label has the empty value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LabelMatch {
    name: String,
    value: String,
    /// `true` for `=`, `false` for `!=`.
    equal: bool,
}

/// Error for a text that is not a valid selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a metric; use its name, or a form such as requests_total{{code=\"200\",method!=\"HEAD\"}}")]
pub struct SelectorError;

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let text = text.trim();
        let (name, rest) = split_name(text).filter(|_| text.len() <= SELECTOR_BYTES_MAX).ok_or(SelectorError)?;
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest).ok_or(SelectorError)?,
            None => (Vec::new(), rest),
        };
        if !rest.is_empty() {
            return Err(SelectorError);
        }
        Ok(Self { name: name.to_owned(), labels })
    }
}

impl Selector {
    fn matches(&self, found: &[LabelMatch]) -> bool {
        self.labels.iter().all(|wanted| {
            let value = found.iter().find(|label| label.name == wanted.name).map_or("", |label| &label.value);
            (value == wanted.value) == wanted.equal
        })
    }
}

/// Splits a text after the name of a metric.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty() && !name.starts_with(|letter: char| letter.is_ascii_digit())).then_some((name, rest))
}

/// Parses labels up to the closing brace, and returns them with the rest of the text.
fn labels(text: &str) -> Option<(Vec<LabelMatch>, &str)> {
    let (mut rest, mut labels) = (text.trim_start(), Vec::new());
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, after) = split_name(rest)?;
        let after = after.trim_start();
        let (equal, after) = match after.strip_prefix("!=") {
            Some(after) => (false, after),
            None => (true, after.strip_prefix('=')?),
        };
        let (value, after) = quoted(after.trim_start())?;
        labels.push(LabelMatch { name: name.to_owned(), value, equal });
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if after.starts_with('}') => after,
            None => return None,
        };
    }
}

/// Parses a value in quotes, and returns it with the rest of the text.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let (mut value, mut escaped) = (String::new(), false);
    for (at, letter) in inner.char_indices() {
        match (letter, escaped) {
            ('n', true) => value.push('\n'),
            (_, true) => value.push(letter),
            ('\\', false) => {
                escaped = true;
                continue;
            }
            ('"', false) => return Some((value, &inner[at + 1..])),
            (_, false) => value.push(letter),
        }
        escaped = false;
    }
    None
}

/// The series that a selector has matched so far.
#[derive(Clone, Debug, Default)]
struct Found {
    /// Number of series.
    series: u64,
    /// The value of the first series, with the digits of the response.
    first: Option<Number>,
    sum: f64,
}

/// Returns the values in a response.
pub(super) fn values(body: &[u8], picked: &[Picked<Vec<Selector>>]) -> Parsed {
    let text = String::from_utf8_lossy(body);
    let wanted: Vec<&Selector> = picked.iter().flat_map(|picked| &picked.pick).collect();
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, selector) in wanted.iter().enumerate() {
        by_name.entry(&selector.name).or_default().push(index);
    }
    let mut found = vec![Found::default(); wanted.len()];
    let (mut lines, mut wrong) = (0_u64, None);
    for (line, number) in text.lines().map(str::trim).zip(1_u64..) {
        // A line that begins with a brace has the metric's name in quotes within the braces (Prometheus 3). Selectors
        // cannot select such metrics.
        if line.is_empty() || line.starts_with(['#', '{']) {
            continue;
        }
        let read = split_name(line).and_then(|(name, rest)| match by_name.get(name) {
            None => Some(()),
            Some(indexes) => add(rest, indexes, &wanted, &mut found),
        });
        match read {
            Some(()) => lines += 1,
            None => _ = wrong.get_or_insert(number),
        }
    }
    if let Some(number) = wrong {
        let detail = format!("line {number} is not in the format of Prometheus");
        if lines == 0 {
            return Err(PollFailure::new(FailureClass::NotUnderstood, &detail));
        }
        let values = columns(picked, &found);
        return Ok((values, Some(PollFailure::new(FailureClass::NotUnderstood, &detail))));
    }
    let values = columns(picked, &found);
    let failure = picked::missing(picked, &values);
    Ok((values, failure))
}

/// Adds the sample of a line to each selector that matches its labels. `rest` is the line after the metric's name.
/// Returns `None` if `rest` cannot be parsed.
fn add(rest: &str, indexes: &[usize], wanted: &[&Selector], found: &mut [Found]) -> Option<()> {
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let text = rest.split_whitespace().next()?;
    let Some(number) = Number::parse(text) else {
        // Infinite values and NaN are valid, but are not added up.
        return text.parse::<f64>().is_ok().then_some(());
    };
    for index in indexes.iter().filter(|index| wanted[**index].matches(&labels)) {
        let Found { series, first, sum } = &mut found[*index];
        *series += 1;
        *sum += number.as_f64();
        first.get_or_insert_with(|| number.clone());
    }
    Some(())
}

/// Returns the value of each column. The value comes from the column's first selector that has matched a series.
fn columns(picked: &[Picked<Vec<Selector>>], found: &[Found]) -> Vec<Option<Number>> {
    let mut found = found.iter();
    let value = |picked: &Picked<Vec<Selector>>| {
        let own: Vec<&Found> = found.by_ref().take(picked.pick.len()).collect();
        let first = own.into_iter().find(|found| found.series > 0)?;
        if first.series == 1 { first.first.clone() } else { Number::of_f64(first.sum) }
    };
    picked.iter().map(value).collect()
}

#[cfg(test)]
mod tests;
