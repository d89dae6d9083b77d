//! Labels of groups. A label is a value, or one of two special labels.
//!
//! A server chooses the values of its headers. The labels "no such header" and "too many different values" must
//! therefore differ from every possible value, so they are separate variants. In records, the two special labels are
//! strings, and a value is an object.

use crate::values::bounded;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Maximum number of values of one dimension that a thread distinguishes. Further values become [`Label::Other`].
pub const VALUES_OF_A_THREAD: usize = 64;
/// Maximum length of a value, in bytes. Longer values are cut off.
pub const VALUE_BYTES_MAX: usize = 256;

/// Label of a group of operations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Label {
    /// A value of at most [`VALUE_BYTES_MAX`] bytes.
    #[serde(rename = "value")]
    Value(String),
    /// There is no value, because the response lacks the header, or because the header is empty.
    #[serde(rename = "(absent)")]
    Absent,
    /// Label of all values beyond the limit.
    #[serde(rename = "other")]
    Other,
}

impl Label {
    /// Returns the value; `None` for a special label.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Other => None,
        }
    }
}

/// Reads `{"value":"…"}`, `"(absent)"` or `"other"`. Any other string is a value, as written by earlier versions.
impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Bounded(#[serde(deserialize_with = "bounded::text::<_, VALUE_BYTES_MAX>")] String);

        struct LabelVisitor;
        impl<'de> Visitor<'de> for LabelVisitor {
            type Value = Label;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a label: an object with a value, or a string")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Label, E> {
                Ok(match text {
                    "(absent)" => Label::Absent,
                    "other" => Label::Other,
                    text => Label::Value(Bounded::deserialize(serde::de::value::StrDeserializer::new(text))?.0),
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Label, A::Error> {
                match map.next_entry::<Bounded, Bounded>()? {
                    Some((Bounded(key), Bounded(value))) if key == "value" => Ok(Label::Value(value)),
                    _ => Err(A::Error::missing_field("value")),
                }
            }
        }
        deserializer.deserialize_any(LabelVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_round_trip_through_json() {
        for label in [Label::Value("(absent)".into()), Label::Value("other".into()), Label::Absent, Label::Other] {
            let text = serde_json::to_string(&label).unwrap();
            assert_eq!(serde_json::from_str::<Label>(&text).unwrap(), label, "{text}");
        }
        assert_eq!(serde_json::to_string(&Label::Value("a".into())).unwrap(), r#"{"value":"a"}"#);
        // The form that earlier versions wrote.
        for (text, label) in [("\"(absent)\"", Label::Absent), ("\"other\"", Label::Other)] {
            assert_eq!(serde_json::from_str::<Label>(text).unwrap(), label);
        }
        assert_eq!(serde_json::from_str::<Label>("\"node-1\"").unwrap(), Label::Value("node-1".into()));
        for wrong in ["{}", "1", r#"{"text":"a"}"#, r#"{"value":1}"#, r#"{"value":"a","value":"b"}"#] {
            assert!(serde_json::from_str::<Label>(wrong).is_err(), "{wrong}");
        }
    }
}
