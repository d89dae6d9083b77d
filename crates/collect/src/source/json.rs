//! Values in JSON documents.

use super::picked::{self, Parsed, Picked};
use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use measure::series::{FailureClass, Number, PollFailure};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// Maximum length of a path in bytes.
const PATH_BYTES_MAX: usize = 1000;

/// A path to a value in a JSON document (RFC 9535), such as `$.wallet.confirmed`.
#[derive(Clone, PartialEq)]
pub struct JsonPath {
    text: Box<str>,
    query: JpQuery,
}

impl fmt::Debug for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JsonPath").field(&self.text).finish()
    }
}

/// Error for a text that is not a valid JSONPath.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSONPath (RFC 9535); use a form such as $.wallet.confirmed or $.disks[0].free")]
pub struct JsonPathError;

impl FromStr for JsonPath {
    type Err = JsonPathError;

    fn from_str(text: &str) -> Result<Self, JsonPathError> {
        if text.len() > PATH_BYTES_MAX || !text.starts_with('$') {
            return Err(JsonPathError);
        }
        let query = parse_json_path(text).map_err(|_| JsonPathError)?;
        Ok(Self { text: text.into(), query })
    }
}

/// Returns the values in a JSON document.
pub(super) fn values(body: &[u8], picked: &[Picked<JsonPath>]) -> Parsed {
    let document: Value = serde_json::from_slice(body)
        .map_err(|error| PollFailure::new(FailureClass::NotUnderstood, &format!("not JSON ({error})")))?;
    let mut wrong = None;
    let values: Vec<Option<Number>> = picked
        .iter()
        .map(|picked| match value(&document, &picked.pick) {
            Ok(value) => value,
            Err(problem) => {
                let detail = format!("{}: {} {problem}", picked.column.name, picked.pick.text);
                wrong.get_or_insert_with(|| PollFailure::new(FailureClass::NotUnderstood, &detail));
                None
            }
        })
        .collect();
    let failure = wrong.or_else(|| picked::missing(picked, &values));
    Ok((values, failure))
}

/// Returns the value at a path, or `None` if it is missing. The error is the second part of a sentence, such as `cannot
/// be evaluated`.
fn value(document: &Value, path: &JsonPath) -> Result<Option<Number>, String> {
    let found = js_path_process(&path.query, document).map_err(|_| "cannot be evaluated".to_owned())?;
    let value = match found.as_slice() {
        [] => return Ok(None),
        [one] => one.val,
        several => return Err(format!("finds {} values instead of one", several.len())),
    };
    match value {
        Value::Null => Ok(None),
        Value::Bool(flag) => Ok(Some(Number::from(u64::from(*flag)))),
        Value::Number(number) => Ok(Number::parse(&number.to_string())),
        Value::String(text) => Number::parse(text).map(Some).ok_or_else(|| "is a text that is no number".to_owned()),
        Value::Array(_) | Value::Object(_) => Err("is a list or an object, not a number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::series::{Column, ColumnKind, ColumnUnit};
    use proptest::prelude::*;

    fn picked(path: &str) -> Picked<JsonPath> {
        let column = Column::new("x", ColumnKind::Gauge, ColumnUnit::Count).unwrap();
        Picked { column, pick: path.parse().unwrap(), required: true }
    }

    fn one(body: &str, path: &str) -> (Option<String>, Option<String>) {
        let (values, failure) = values(body.as_bytes(), &[picked(path)]).unwrap();
        (values[0].as_ref().map(ToString::to_string), failure.map(|failure| failure.detail))
    }

    #[test]
    fn numbers_and_texts_of_numbers_are_values() {
        let body = r#"{"a":{"b":17,"big":"1230000000000000000000000","on":true},"list":[{"n":1.5},{"n":-2}]}"#;
        for (path, expected) in [
            ("$.a.b", "17"),
            ("$.a.big", "1230000000000000000000000"),
            ("$['a'].on", "1"),
            ("$.list[1].n", "-2"),
            ("$.list[?@.n > 1].n", "1.5"),
        ] {
            assert_eq!(one(body, path), (Some(expected.to_owned()), None), "{path}");
        }
    }

    #[test]
    fn what_is_no_single_number_is_blank_with_a_reason() {
        let body = r#"{"a":{"b":17},"list":[1,2],"text":"abc","none":null}"#;
        for (path, reason) in [
            ("$.gone", "x"),
            ("$.none", "x"),
            ("$.a", "x: $.a is a list or an object, not a number"),
            ("$.text", "x: $.text is a text that is no number"),
            ("$.list[*]", "x: $.list[*] finds 2 values instead of one"),
        ] {
            assert_eq!(one(body, path), (None, Some(reason.to_owned())), "{path}");
        }
        let failure = values(b"<html>", &[picked("$.a")]).unwrap_err();
        assert_eq!(failure.class, FailureClass::NotUnderstood);
        assert!(failure.detail.starts_with("not JSON"), "{failure:?}");
    }

    #[test]
    fn texts_that_are_no_path_are_refused() {
        let deep = format!("${}", "[?@".repeat(300));
        for text in ["", "a.b", "$.", "$[", "$.a,b", &deep] {
            assert_eq!(text.parse::<JsonPath>(), Err(JsonPathError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_and_no_body_panics(path in "\\$[\\[\\]?@.*a-c0-9'\"<>=()]{0,30}", body in ".{0,60}") {
            if let Ok(path) = path.parse::<JsonPath>() {
                let picked = Picked { pick: path, ..picked("$") };
                let _ = values(body.as_bytes(), std::slice::from_ref(&picked));
                let _ = values(br#"{"a":[1,{"b":"2"}],"c":null}"#, &[picked]);
            }
        }
    }
}
