//! Parser of JSON documents, with a limit on the length of each list. Errors include the path of the invalid value.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde_path_to_error::Track;

use crate::error::ParseError;

/// Maximum number of contracts, metrics, buckets or uploads in one response.
pub(crate) const ENTRIES_MAX: usize = 100_000;

/// Parses a document.
pub(crate) fn parse<T: DeserializeOwned>(request: &'static str, body: &[u8]) -> Result<T, ParseError> {
    parse_seed(request, body, PhantomData)
}

/// Parses a document with a seed, which contains state for the deserialization.
pub(crate) fn parse_seed<'de, S: DeserializeSeed<'de>>(
    request: &'static str,
    body: &'de [u8],
    seed: S,
) -> Result<S::Value, ParseError> {
    if body.trim_ascii().is_empty() {
        return Err(ParseError::new(request, "the body is empty"));
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let mut track = Track::new();
    let parsed = seed.deserialize(serde_path_to_error::Deserializer::new(&mut json, &mut track));
    let value =
        parsed.map_err(|error| ParseError::of_json(request, &serde_path_to_error::Error::new(track.path(), error)))?;
    json.end().map_err(|error| ParseError::new(request, &error.to_string()))?;
    Ok(value)
}

/// Parses a list. An empty body and `null` mean an empty list.
pub(crate) fn parse_list<T: DeserializeOwned>(request: &'static str, body: &[u8]) -> Result<Vec<T>, ParseError> {
    if body.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    parse::<Listed<T>>(request, body).map(|listed| listed.0)
}

/// A document that is one list.
struct Listed<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        list::<D, T, ENTRIES_MAX>(deserializer).map(Self)
    }
}

/// Deserializes a list of at most `MAX` entries, as a function for `deserialize_with`; `null` means an empty list.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MAX: usize>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let mut entries = Vec::new();
    each::<D, T>(deserializer, MAX, &mut |entry| entries.push(entry))?;
    Ok(entries)
}

/// Calls `take` with each entry of a list of at most `most` entries; `null` means an empty list.
pub(crate) fn each<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    most: usize,
    take: &mut dyn FnMut(T),
) -> Result<(), D::Error> {
    deserializer.deserialize_any(Entries { most, take })
}

struct Entries<'a, T> {
    most: usize,
    take: &'a mut dyn FnMut(T),
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or null")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut count = 0;
        while let Some(entry) = entries.next_element()? {
            if count == self.most {
                return Err(A::Error::custom(format_args!("the list has more than {} entries", self.most)));
            }
            count += 1;
            (self.take)(entry);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Debug)]
    struct Document {
        #[serde(deserialize_with = "list::<_, _, 2>")]
        numbers: Vec<u64>,
    }

    fn problem(body: &str) -> String {
        parse::<Document>("GET /x of siad", body.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn lists_have_a_limit_and_may_be_null() {
        assert_eq!(parse::<Document>("x", br#"{"numbers":[1,2],"more":{}}"#).unwrap().numbers, [1, 2]);
        assert!(parse::<Document>("x", br#"{"numbers":null}"#).unwrap().numbers.is_empty());
        assert!(problem(r#"{"numbers":[1,2,3]}"#).contains("at numbers: the list has more than 2 entries"));
        assert!(parse_list::<u64>("x", b" \n").unwrap().is_empty());
        assert!(parse_list::<u64>("x", b"null").unwrap().is_empty());
        assert_eq!(parse_list::<u64>("x", b"[7]\n").unwrap(), [7]);
    }

    #[test]
    fn errors_name_the_request_and_the_place() {
        let begin = "cannot read the response to GET /x of siad: ";
        for (body, rest) in [
            (r#"{"numbers":[1,"2"]}"#, "at numbers[1]: invalid type: string \"2\", expected u64"),
            ("{}", "missing field `numbers`"),
            (r#"{"numbers":{}}"#, "at numbers: invalid type: map, expected a list or null"),
            ("", "the body is empty"),
            ("404 page not found\n", "invalid type: integer `404`, expected struct Document"),
            ("<html>", "expected value"),
            (r#"{"numbers":[]} x"#, "trailing characters"),
        ] {
            let error = problem(body);
            assert!(error.starts_with(&format!("{begin}{rest}")), "{body}: {error}");
        }
    }

    #[test]
    fn a_quoted_text_of_the_server_stays_one_short_line() {
        let error = problem(&format!(r#"{{"numbers":["\u001b[31m{}"]}}"#, "x".repeat(10_000)));
        assert!(error.chars().count() < 320 && !error.contains('\u{1b}') && error.ends_with('…'), "{error}");
    }
}
