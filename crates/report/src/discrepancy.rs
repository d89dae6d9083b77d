//! Objects that end well on one target and fail on another: what a table of shares does not tell.
//!
//! Objects are those of the same number in the lists of both targets, which get the same sequence. Made from the logs of
//! operations, so only where a study keeps them (`log-ops`).

use crate::number::{count, plural};
use measure::{AttemptClass, Enumerated, OpKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use store::OpRecord;

/// Objects of a target that are looked at; those with higher numbers are counted as left out.
const OBJECTS_MAX: usize = 1_000_000;
/// Objects that are named.
const NAMED_MAX: usize = 10;

/// How the operations on each object of a target ended.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    ends: BTreeMap<u64, Ends>,
    left_out: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    ok: u64,
    failed: u64,
    class: Option<AttemptClass>,
}

impl Objects {
    /// Adds the end of an operation. What does not read is about objects of other lists.
    pub fn add(&mut self, op: &OpRecord) {
        if !matches!(op.kind, OpKind::Get | OpKind::GetRange | OpKind::Head) {
            return;
        }
        if self.ends.len() >= OBJECTS_MAX && !self.ends.contains_key(&op.url) {
            self.left_out = true;
            return;
        }
        let ends = self.ends.entry(op.url).or_default();
        match op.class {
            AttemptClass::Ok => ends.ok += 1,
            // The run was over, or this client gave up: nothing is known of the object.
            AttemptClass::InflightAtEnd
            | AttemptClass::Interrupted
            | AttemptClass::ClientResource
            | AttemptClass::Internal => {}
            class => {
                ends.failed += 1;
                ends.class.get_or_insert(class);
            }
        }
    }
}

/// Objects that one target of a cell serves and another one does not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Discrepancy {
    /// What the cell is called.
    pub cell: String,
    /// The target on which all operations on them ended well.
    pub well_on: String,
    /// The target on which all failed.
    pub failed_on: String,
    /// How many objects.
    pub objects: u64,
    /// How many were asked for on both.
    pub of: u64,
    /// The first of them.
    pub first: Vec<Differing>,
    /// Whether there were too many objects to look at all.
    pub left_out: bool,
}

/// One of these objects.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Differing {
    /// Its number in the list of the run, from 0.
    pub object: u64,
    /// How its first operation failed.
    pub class: String,
    /// Operations on it that failed.
    pub failed: u64,
}

impl Discrepancy {
    /// What ends well on one target and fails on the other; `None` when there is no such object.
    #[must_use]
    pub fn between(
        cell: &str,
        (well_on, well): (&str, &Objects),
        (failed_on, failed): (&str, &Objects),
    ) -> Option<Self> {
        let both = well.ends.iter().filter_map(|(object, one)| Some((*object, one, failed.ends.get(object)?)));
        let differ =
            |(_, one, other): &(u64, &Ends, &Ends)| one.ok > 0 && one.failed == 0 && other.ok == 0 && other.failed > 0;
        let named = |(object, _, other): (u64, &Ends, &Ends)| Differing {
            object,
            class: other.class.map(|class| class.name().to_owned()).unwrap_or_default(),
            failed: other.failed,
        };
        let objects = both.clone().filter(differ).count() as u64;
        (objects > 0).then(|| Self {
            cell: cell.to_owned(),
            well_on: well_on.to_owned(),
            failed_on: failed_on.to_owned(),
            objects,
            of: both.clone().count() as u64,
            first: both.filter(differ).take(NAMED_MAX).map(named).collect(),
            left_out: well.left_out || failed.left_out,
        })
    }
}

impl Discrepancy {
    /// It in words.
    pub(crate) fn sentence(&self) -> String {
        let named = self.first.iter().map(|object| format!("#{} {}", object.object, object.class));
        let more = if self.objects > self.first.len() as u64 { ", …" } else { "" };
        let (objects, of) = (plural(self.objects, "object"), count(self.of));
        let left_out = if self.left_out { "; there were too many to look at all" } else { "" };
        format!(
            "{}: {objects} of {of} end well on {} and fail on {}: {}{more}{left_out}",
            self.cell,
            self.well_on,
            self.failed_on,
            named.collect::<Vec<_>>().join(", ")
        )
    }
}

/// The list for people; nothing where there is none.
#[must_use]
pub fn text(list: &[Discrepancy]) -> String {
    let lines: String = list.iter().map(|one| format!("  {}\n", one.sentence())).collect();
    if lines.is_empty() { lines } else { format!("\ndiffering objects\n{lines}") }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn only_what_is_clear_on_both_is_told() {
        use AttemptClass::{Http4xx, InflightAtEnd, Ok, TimeoutHead};
        let a = objects(&[(1, Ok), (2, Ok), (3, Ok), (4, Http4xx), (5, Ok), (2, Ok)]);
        let b = objects(&[(1, Ok), (2, Http4xx), (2, TimeoutHead), (3, Http4xx), (3, Ok), (4, Ok), (5, InflightAtEnd)]);
        let found = Discrepancy::between("c", ("a", &a), ("b", &b)).unwrap();
        let expected = Differing { object: 2, class: Http4xx.name().to_owned(), failed: 2 };
        assert_eq!((found.objects, found.of, found.first), (1, 5, vec![expected]));
        let back = Discrepancy::between("c", ("b", &b), ("a", &a)).unwrap();
        assert_eq!(back.first[0].object, 4);
        assert_eq!(Discrepancy::between("c", ("a", &a), ("a", &a)), None);
        assert!(text(&[back]).contains("c: 1 object of 5 end well on b and fail on a: #4 http_4xx"));
    }
}
