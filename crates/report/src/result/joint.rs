//! The joint result of several runs. The joint result is the worst result of all runs.

use super::{NamedText, ResultRecord};
use crate::number::{count, plural};
use measure::{ExitStatus, ResultWord};
use store::SavedRun;

/// The results that can be a reason for the joint result, with their names in JSON. The most important one comes first.
const REASONS: [(ResultWord, &str); 3] =
    [(ResultWord::Unusable, "unusable"), (ResultWord::Fail, "fail"), (ResultWord::Partial, "partial")];

/// The result of one run among several.
pub(crate) struct OneResult {
    pub word: ResultWord,
    pub exit: ExitStatus,
    /// First reason for the result in words, if known.
    pub reason: Option<String>,
}

/// Returns the result of several runs of the same load.
#[must_use]
pub(crate) fn of_repeats(runs: &[SavedRun]) -> ResultRecord {
    let one = |run: &SavedRun| {
        let result = super::of(run);
        OneResult { word: result.word, exit: result.exit, reason: result.reasons.first().map(super::text) }
    };
    of_all(&runs.iter().map(one).collect::<Vec<_>>(), "run")
}

/// Returns the joint result of several runs. `what` is the noun for the runs in messages, such as `trial`.
pub(crate) fn of_all(all: &[OneResult], what: &str) -> ResultRecord {
    let reason = |(word, name): (ResultWord, &str)| {
        let mut same = all.iter().filter(|one| one.word == word).peekable();
        let why = same.peek()?.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let (some, of) = (count(same.count() as u64), plural(all.len() as u64, what));
        Some(NamedText { name: name.into(), text: format!("{} in {some} of {of}{why}", word.text()) })
    };
    ResultRecord {
        word: ResultWord::of_all(all.iter().map(|one| one.word)),
        exit_code: exit_of(all.iter().map(|one| one.exit)).code(),
        reasons: REASONS.into_iter().filter_map(reason).collect(),
    }
}

/// Returns the joint exit status. The order of precedence is: could not run, interrupted, unusable, failed, good.
pub(crate) fn exit_of(all: impl Iterator<Item = ExitStatus>) -> ExitStatus {
    let rank = |exit: &ExitStatus| match exit {
        ExitStatus::CouldNotRun => 4,
        ExitStatus::Interrupted(_) => 3,
        ExitStatus::Unusable => 2,
        ExitStatus::Failed => 1,
        ExitStatus::Good => 0,
    };
    all.max_by_key(rank).unwrap_or(ExitStatus::Good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_run_decides_result_and_exit_code() {
        let one = |word, exit, reason: &str| OneResult { word, exit, reason: Some(reason.to_owned()) };
        let all = [
            one(ResultWord::Pass, ExitStatus::Good, ""),
            one(ResultWord::Fail, ExitStatus::Failed, "p99 missed"),
            one(ResultWord::Unusable, ExitStatus::Unusable, "late"),
            one(ResultWord::Fail, ExitStatus::Failed, "an outage"),
        ];
        let joint = of_all(&all, "run");
        assert_eq!((joint.word, joint.exit_code), (ResultWord::Unusable, 3));
        let texts: Vec<&str> = joint.reasons.iter().map(|reason| reason.text.as_str()).collect();
        assert_eq!(texts, ["UNUSABLE in 1 of 4 runs: late", "FAIL in 2 of 4 runs: p99 missed"]);
        let interrupted = one(ResultWord::Partial, ExitStatus::Interrupted(15), "interrupted");
        let [pass, fail, ..] = all;
        let joint = of_all(&[pass, fail, interrupted], "run");
        assert_eq!((joint.word, joint.exit_code), (ResultWord::Fail, 143));
        let none = of_all(&[], "run");
        assert_eq!((none.word, none.exit_code, none.reasons.len()), (ResultWord::Pass, 0, 0));
    }
}
