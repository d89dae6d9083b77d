//! Labels of the figures' breakdowns: values that were seen, and the two things that are no value.
//!
//! A server chooses the values of its headers, so "no such header" and "more values than are told apart" must not be values
//! themselves. They are variants here, and in saved runs they are texts where a value is an object.

use crate::bounded;
use crate::outcome::OpOutcome;
use crate::sample::{LabelId, OpSample};
use crate::stats::{Dimension, Group, GroupStats};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Different values of one dimension that a thread tells apart; all further ones are [`Label::Other`].
pub const VALUES_OF_A_THREAD: usize = 64;
/// Bytes of a value that are kept.
pub const VALUE_BYTES_MAX: usize = 256;

/// What figures are of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Label {
    /// This value; at most [`VALUE_BYTES_MAX`] bytes.
    #[serde(rename = "value")]
    Value(String),
    /// There was no value: an answer without the header, or with nothing in it.
    #[serde(rename = "(absent)")]
    Absent,
    /// Values beyond those that are told apart, together.
    #[serde(rename = "other")]
    Other,
}

impl Label {
    /// The value, where there is one.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Other => None,
        }
    }
}

/// `{"value":"…"}`, `"(absent)"` or `"other"`. Any other text is a value as it was saved before there were objects.
impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Bounded(#[serde(deserialize_with = "bounded::text::<_, VALUE_BYTES_MAX>")] String);

        struct LabelVisitor;
        impl<'de> Visitor<'de> for LabelVisitor {
            type Value = Label;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a label: an object with a value, or a text")
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

/// One thread's labels of one dimension, and the figures of the running interval for each.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    labels: Vec<Label>,
    /// How many of them are values.
    values: usize,
    figures: Vec<Option<Box<GroupStats>>>,
}

impl Groups {
    /// The number of a value, which is new, known, or one too many.
    pub(crate) fn value(&mut self, text: &str) -> LabelId {
        let text = &text[..text.floor_char_boundary(VALUE_BYTES_MAX)];
        match self.labels.iter().position(|label| label.value() == Some(text)) {
            Some(known) => LabelId(known as u16),
            None if self.values == VALUES_OF_A_THREAD => self.special(Label::Other),
            None => {
                self.values += 1;
                self.add(Label::Value(text.to_owned()))
            }
        }
    }

    /// The number of the label for operations without a value.
    pub(crate) fn absent(&mut self) -> LabelId {
        self.special(Label::Absent)
    }

    fn special(&mut self, label: Label) -> LabelId {
        match self.labels.iter().position(|known| *known == label) {
            Some(known) => LabelId(known as u16),
            None => self.add(label),
        }
    }

    fn add(&mut self, label: Label) -> LabelId {
        self.labels.push(label);
        self.figures.push(None);
        LabelId((self.labels.len() - 1) as u16)
    }

    /// All labels, in the order of their numbers.
    pub(crate) fn all(&self) -> &[Label] {
        &self.labels
    }

    /// The label of that number.
    pub(crate) fn get(&self, label: LabelId) -> &Label {
        self.labels.get(usize::from(label.0)).unwrap_or(&Label::Other)
    }

    #[inline]
    pub(crate) fn count(&mut self, label: LabelId, sample: &OpSample) {
        let stats = self.figures[usize::from(label.0)].get_or_insert_default();
        if sample.outcome == OpOutcome::Ok {
            stats.ok += 1;
            stats.ok_bytes += sample.body_bytes;
            stats.response.record(sample.response_nanos());
        } else {
            stats.failed += 1;
        }
    }

    /// Takes the figures of the interval that is over.
    pub(crate) fn take(&mut self, dimension: Dimension) -> impl Iterator<Item = Group> + '_ {
        let labelled = self.labels.iter().zip(&mut self.figures);
        labelled.filter_map(move |(label, figures)| {
            figures.take().map(|stats| Group { dimension, label: label.clone(), stats: *stats })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_bounded() {
        let mut groups = Groups::default();
        for index in 0..1000 {
            groups.value(&format!("label {index}"));
        }
        assert_eq!(groups.labels.len(), VALUES_OF_A_THREAD + 1);
        assert_eq!(groups.value("one more"), groups.value("and another"));
        assert_eq!(groups.value("label 3"), LabelId(3));
        assert_eq!(groups.labels.last(), Some(&Label::Other));
        let absent = groups.absent();
        assert_eq!(
            (absent, groups.labels.len()),
            (groups.absent(), VALUES_OF_A_THREAD + 2),
            "it has a row in any case"
        );
        let mut groups = Groups::default();
        groups.value(&"ä".repeat(500));
        assert!(groups.labels[0].value().unwrap().len() <= VALUE_BYTES_MAX);
    }

    #[test]
    fn a_value_is_never_taken_for_something_else() {
        let mut groups = Groups::default();
        let (absent, said) = (groups.absent(), groups.value("(absent)"));
        assert_ne!(absent, said);
        for index in 0..VALUES_OF_A_THREAD - 2 {
            groups.value(&index.to_string());
        }
        let said = groups.value("other");
        assert_ne!(groups.value("one too many"), said);
    }

    #[test]
    fn labels_are_read_as_they_were_saved() {
        for label in [Label::Value("(absent)".into()), Label::Value("other".into()), Label::Absent, Label::Other] {
            let text = serde_json::to_string(&label).unwrap();
            assert_eq!(serde_json::from_str::<Label>(&text).unwrap(), label, "{text}");
        }
        assert_eq!(serde_json::to_string(&Label::Value("a".into())).unwrap(), r#"{"value":"a"}"#);
        // Before there were objects.
        for (text, label) in [("\"(absent)\"", Label::Absent), ("\"other\"", Label::Other)] {
            assert_eq!(serde_json::from_str::<Label>(text).unwrap(), label);
        }
        assert_eq!(serde_json::from_str::<Label>("\"node-1\"").unwrap(), Label::Value("node-1".into()));
        for wrong in ["{}", "1", r#"{"text":"a"}"#, r#"{"value":1}"#, r#"{"value":"a","value":"b"}"#] {
            assert!(serde_json::from_str::<Label>(wrong).is_err(), "{wrong}");
        }
    }
}
