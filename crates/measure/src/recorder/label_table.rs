//! Labels that one thread has used, and the results of this thread for each label in the current interval.

use crate::sample::outcome::OpOutcome;
use crate::sample::{LabelId, OpSample};
use crate::stats::label::{Label, VALUE_BYTES_MAX, VALUES_OF_A_THREAD};
use crate::stats::{Dimension, Group, GroupStats};

/// Labels of one dimension (host, size or header). A label keeps its index for the whole run.
#[derive(Debug, Default)]
pub(super) struct LabelTable {
    labels: Vec<Label>,
    /// Number of labels that are values. Special groups such as [`Label::Other`] are not included.
    values: usize,
    /// Results of the current interval, indexed by label.
    stats: Vec<Option<Box<GroupStats>>>,
}

impl LabelTable {
    /// Returns the label of a value, or [`Label::Other`] if there are too many values.
    pub fn value(&mut self, text: &str) -> LabelId {
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

    /// Returns the label of responses without a value ([`Label::Absent`]).
    pub fn absent(&mut self) -> LabelId {
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
        self.stats.push(None);
        LabelId((self.labels.len() - 1) as u16)
    }

    /// Returns all labels, sorted by index.
    pub fn all(&self) -> &[Label] {
        &self.labels
    }

    /// Returns the label with an index.
    pub fn get(&self, label: LabelId) -> &Label {
        self.labels.get(usize::from(label.0)).unwrap_or(&Label::Other)
    }

    /// Counts an operation that ended.
    #[inline]
    pub fn count(&mut self, label: LabelId, sample: &OpSample) {
        let stats = self.stats[usize::from(label.0)].get_or_insert_default();
        if sample.outcome == OpOutcome::Ok {
            stats.ok += 1;
            stats.ok_bytes += sample.body_bytes;
            stats.response.record(sample.response_nanos());
        } else {
            stats.failed += 1;
        }
    }

    /// Takes the results of the current interval as groups of `dimension`.
    pub fn take(&mut self, dimension: Dimension) -> impl Iterator<Item = Group> + '_ {
        let labelled = self.labels.iter().zip(&mut self.stats);
        labelled.filter_map(move |(label, stats)| {
            stats.take().map(|stats| Group { dimension, label: label.clone(), stats: *stats })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_a_limit() {
        let mut table = LabelTable::default();
        for index in 0..1000 {
            table.value(&format!("label {index}"));
        }
        assert_eq!(table.labels.len(), VALUES_OF_A_THREAD + 1);
        assert_eq!(table.value("one more"), table.value("and another"));
        assert_eq!(table.value("label 3"), LabelId(3));
        assert_eq!(table.labels.last(), Some(&Label::Other));
        let absent = table.absent();
        assert_eq!(
            (absent, table.labels.len()),
            (table.absent(), VALUES_OF_A_THREAD + 2),
            "operations without a value get a label of their own"
        );
        let mut table = LabelTable::default();
        table.value(&"ä".repeat(500));
        assert!(table.labels[0].value().unwrap().len() <= VALUE_BYTES_MAX);
    }

    #[test]
    fn values_are_never_mistaken_for_special_labels() {
        let mut table = LabelTable::default();
        let (absent, value) = (table.absent(), table.value("(absent)"));
        assert_ne!(absent, value);
        for index in 0..VALUES_OF_A_THREAD - 2 {
            table.value(&index.to_string());
        }
        let value = table.value("other");
        assert_ne!(table.value("one too many"), value);
    }
}
