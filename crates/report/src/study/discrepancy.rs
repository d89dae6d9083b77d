//! Objects that succeed on one target and fail on another. The shares of success in tables do not show which objects
//! these are.
//!
//! Objects on two targets are the same object if they have the same number in the targets' lists. The operations come
//! from the operation log, so the study needs the setting `log-ops`.

use crate::number::{count, plural};
use crate::text::{Style, paragraph};
use measure::{AttemptClass, Enumerated, OpKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use store::OpRecord;

/// Maximum number of objects per target to compare.
const OBJECTS_MAX: usize = 1_000_000;
/// Maximum number of objects to list.
const NAMED_MAX: usize = 10;

/// The outcomes of all operations of a target, by object.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    outcomes: BTreeMap<u64, Outcomes>,
    left_out: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Outcomes {
    ok: u64,
    failed: u64,
    class: Option<AttemptClass>,
}

impl Objects {
    /// Adds an operation. Only reads count, because the numbers of other operations refer to other lists of objects.
    pub fn add(&mut self, op: &OpRecord) {
        if !matches!(op.kind, OpKind::Get | OpKind::GetRange | OpKind::Head) {
            return;
        }
        if self.outcomes.len() >= OBJECTS_MAX && !self.outcomes.contains_key(&op.url) {
            self.left_out = true;
            return;
        }
        let outcomes = self.outcomes.entry(op.url).or_default();
        match op.class {
            AttemptClass::Ok => outcomes.ok += 1,
            // The end of the run, or this client, cut the operation off. This shows nothing about the object.
            AttemptClass::InflightAtEnd
            | AttemptClass::Interrupted
            | AttemptClass::ClientResource
            | AttemptClass::Internal => {}
            class => {
                outcomes.failed += 1;
                outcomes.class.get_or_insert(class);
            }
        }
    }
}

/// The objects of a cell that succeed on one target and fail on another.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Discrepancy {
    /// Name of the cell.
    pub cell: String,
    /// Target on which all operations on these objects succeeded.
    pub succeeds_on: String,
    /// Target on which all operations on these objects failed.
    pub fails_on: String,
    /// Number of these objects.
    pub objects: u64,
    /// Number of objects that were requested from both targets.
    pub requested: u64,
    /// The first of these objects, at most 10.
    pub first: Vec<FailingObject>,
    /// `true` if there were too many objects to compare all of them.
    pub left_out: bool,
}

/// An object that fails on one target.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailingObject {
    /// Number of the object in the run's list, counted from 0.
    pub object: u64,
    /// Class of the first failure.
    pub class: String,
    /// Number of failed operations on the object.
    pub failed: u64,
}

impl Discrepancy {
    /// Returns the objects that succeed on one target and fail on the other; `None` if there is no such object.
    #[must_use]
    pub fn between(
        cell: &str,
        (succeeds_on, good): (&str, &Objects),
        (fails_on, bad): (&str, &Objects),
    ) -> Option<Self> {
        let both = good.outcomes.iter().filter_map(|(object, one)| Some((*object, one, bad.outcomes.get(object)?)));
        let differ = |(_, one, other): &(u64, &Outcomes, &Outcomes)| {
            one.ok > 0 && one.failed == 0 && other.ok == 0 && other.failed > 0
        };
        let named = |(object, _, other): (u64, &Outcomes, &Outcomes)| FailingObject {
            object,
            class: other.class.map(|class| class.name().to_owned()).unwrap_or_default(),
            failed: other.failed,
        };
        let objects = both.clone().filter(differ).count() as u64;
        (objects > 0).then(|| Self {
            cell: cell.to_owned(),
            succeeds_on: succeeds_on.to_owned(),
            fails_on: fails_on.to_owned(),
            objects,
            requested: both.clone().count() as u64,
            first: both.filter(differ).take(NAMED_MAX).map(named).collect(),
            left_out: good.left_out || bad.left_out,
        })
    }

    /// Returns the discrepancy as a sentence.
    pub(crate) fn sentence(&self) -> String {
        let named = self.first.iter().map(|object| format!("#{} {}", object.object, object.class));
        let more = if self.objects > self.first.len() as u64 { ", …" } else { "" };
        let (objects, of) = (plural(self.objects, "object"), count(self.requested));
        let left_out = if self.left_out { "; there are too many objects to compare all" } else { "" };
        format!(
            "in {}, {objects} of {of} succeed on {} and fail on {}: {}{more}{left_out}",
            self.cell,
            self.succeeds_on,
            self.fails_on,
            named.collect::<Vec<_>>().join(", ")
        )
    }
}

/// Formats discrepancies for people. The text is empty if there are none.
#[must_use]
pub fn text(list: &[Discrepancy]) -> String {
    fitting_text(list, &Style::default())
}

/// Like [`text`], but not wider than the style.
#[must_use]
pub fn fitting_text(list: &[Discrepancy], style: &Style) -> String {
    let lines: String = list.iter().map(|one| paragraph(&one.sentence(), style)).collect();
    if lines.is_empty() { lines } else { format!("\ndiffering objects\n{lines}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::{fits, long_name};
    use measure::{Cause, Instant};

    fn op(url: u64, class: AttemptClass) -> OpRecord {
        OpRecord {
            op: 0,
            kind: OpKind::Get,
            url,
            intended: Instant::ZERO,
            started: Instant::ZERO,
            sent: None,
            first_byte: None,
            end: Instant::ZERO,
            attempts: 1,
            status: None,
            class,
            cause: Cause::None,
            body_bytes: 0,
            bytes: 0,
            range: None,
            connect_nanos: None,
            handshake_nanos: None,
            slot: 0,
            hops: Vec::new(),
        }
    }

    fn objects(ends: &[(u64, AttemptClass)]) -> Objects {
        let mut objects = Objects::default();
        ends.iter().for_each(|(url, class)| objects.add(&op(*url, *class)));
        objects
    }

    #[test]
    fn only_objects_with_a_clear_outcome_on_both_targets_count() {
        use AttemptClass::{Http4xx, InflightAtEnd, Ok, TimeoutHead};
        let a = objects(&[(1, Ok), (2, Ok), (3, Ok), (4, Http4xx), (5, Ok), (2, Ok)]);
        let b = objects(&[(1, Ok), (2, Http4xx), (2, TimeoutHead), (3, Http4xx), (3, Ok), (4, Ok), (5, InflightAtEnd)]);
        let found = Discrepancy::between("c", ("a", &a), ("b", &b)).unwrap();
        let expected = FailingObject { object: 2, class: Http4xx.name().to_owned(), failed: 2 };
        assert_eq!((found.objects, found.requested, found.first), (1, 5, vec![expected]));
        let back = Discrepancy::between("c", ("b", &b), ("a", &a)).unwrap();
        assert_eq!(back.first[0].object, 4);
        assert_eq!(Discrepancy::between("c", ("a", &a), ("a", &a)), None);
        assert!(text(&[back]).contains("  in c, 1 object of 5 succeed on b and fail on a: #4 http_4xx\n"));
    }

    #[test]
    fn sentences_fit_with_long_names() {
        use AttemptClass::{Http4xx, Ok};
        let (a, b) = (objects(&[(1, Ok)]), objects(&[(1, Http4xx)]));
        let names = ["c", "a", "b"].map(long_name);
        let found = Discrepancy::between(&names[0], (&names[1], &a), (&names[2], &b)).unwrap();
        fits("differing objects", |style| fitting_text(std::slice::from_ref(&found), style));
    }
}
