//! The result of several runs together, and that of a search, for text, HTML, JSON and JUnit.

use crate::json::{NoteText, ResultOfRun};
use crate::load_line::LoadLine;
use crate::number::{count, plural};
use crate::result;
use crate::study::Study;
use measure::{ExitStatus, ResultWord};
use store::SavedRun;

/// Results that are reasons for that of all runs, and their names in records. The most important comes first.
const REASONS: [(ResultWord, &str); 3] =
    [(ResultWord::Unusable, "unusable"), (ResultWord::Fail, "fail"), (ResultWord::Partial, "partial")];

/// One of several.
struct One {
    word: ResultWord,
    exit: ExitStatus,
    /// Its first reason in words, if it is known.
    why: Option<String>,
}

/// The result of several runs of the same load.
#[must_use]
pub fn of_repeats(runs: &[SavedRun]) -> ResultOfRun {
    let one = |run: &SavedRun| {
        let result = result::of(run);
        One { word: result.word, exit: result.exit, why: result.reasons.first().map(result::text) }
    };
    together(&runs.iter().map(one).collect::<Vec<_>>(), "run")
}

/// The result of a study: that of all trials together, and PARTIAL where some are missing.
#[must_use]
pub fn of_study(study: &Study) -> ResultOfRun {
    let trials = study.trials.iter().map(|trial| One { word: trial.result, exit: trial.exit, why: None });
    let lines =
        study.lines.iter().map(|trial| One { word: result::of_line(&trial.line), exit: trial.line.exit, why: None });
    let all: Vec<One> = trials.chain(lines).collect();
    let mut joint = together(&all, "trial");
    joint.exit_code = exit_of(study.broken_off.into_iter().chain(all.iter().map(|one| one.exit))).code();
    if study.count() == 0 || study.missing() > 0 {
        joint.word = ResultWord::of_all([joint.word, ResultWord::Partial]);
        let text = match study.missing() {
            0 => "no trial is there".to_owned(),
            missing => format!("{} of {} are not there", count(missing), plural(study.planned, "trial")),
        };
        joint.reasons.push(NoteText { name: "missing".into(), text });
    }
    joint
}

/// The result of a search for the load line, which a signal ended where there is one.
#[must_use]
pub fn of_line(line: &LoadLine, signal: Option<i32>) -> (ResultOfRun, ExitStatus) {
    let word = result::of_line(line);
    let reason = || NoteText { name: line.found.name().into(), text: line.sentence() };
    let reasons = (word != ResultWord::Pass).then(reason).into_iter().collect();
    let exit = exit_of_search(word, signal);
    (ResultOfRun { word, exit_code: exit.code(), reasons }, exit)
}

fn exit_of_search(word: ResultWord, signal: Option<i32>) -> ExitStatus {
    match (signal, word) {
        (Some(signal), _) => ExitStatus::Interrupted(signal),
        (None, ResultWord::Pass | ResultWord::Partial) => ExitStatus::Good,
        (None, ResultWord::Unusable) => ExitStatus::Unusable,
        (None, ResultWord::Fail) => ExitStatus::Failed,
    }
}

fn together(all: &[One], what: &str) -> ResultOfRun {
    let reason = |(word, name): (ResultWord, &str)| {
        let mut same = all.iter().filter(|one| one.word == word).peekable();
        let why = same.peek()?.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let (some, of) = (count(same.count() as u64), plural(all.len() as u64, what));
        Some(NoteText { name: name.into(), text: format!("{} in {some} of {of}{why}", word.text()) })
    };
    ResultOfRun {
        word: ResultWord::of_all(all.iter().map(|one| one.word)),
        exit_code: exit_of(all.iter().map(|one| one.exit)).code(),
        reasons: REASONS.into_iter().filter_map(reason).collect(),
    }
}

/// The exit code of several together: 4, interrupted, 3, 1, 0.
fn exit_of(all: impl Iterator<Item = ExitStatus>) -> ExitStatus {
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
    use measure::result::load_line::{Found, LoadUnit};

    #[test]
    fn the_worst_one_decides_word_and_exit_code() {
        let one = |word, exit, why: &str| One { word, exit, why: Some(why.to_owned()) };
        let all = [
            one(ResultWord::Pass, ExitStatus::Good, ""),
            one(ResultWord::Fail, ExitStatus::Failed, "p99 missed"),
            one(ResultWord::Unusable, ExitStatus::Unusable, "late"),
            one(ResultWord::Fail, ExitStatus::Failed, "an outage"),
        ];
        let joint = together(&all, "run");
        assert_eq!((joint.word, joint.exit_code), (ResultWord::Unusable, 3));
        let texts: Vec<&str> = joint.reasons.iter().map(|reason| reason.text.as_str()).collect();
        assert_eq!(texts, ["UNUSABLE in 1 of 4 runs: late", "FAIL in 2 of 4 runs: p99 missed"]);
        let interrupted = one(ResultWord::Partial, ExitStatus::Interrupted(15), "interrupted");
        let [pass, fail, ..] = all;
        let joint = together(&[pass, fail, interrupted], "run");
        assert_eq!((joint.word, joint.exit_code), (ResultWord::Fail, 143));
        let none = together(&[], "run");
        assert_eq!((none.word, none.exit_code, none.reasons.len()), (ResultWord::Pass, 0, 0));
    }

    #[test]
    fn what_was_found_decides_the_result_of_a_search() {
        let found = |found: Option<Found>, by_client: bool| {
            let mut line = LoadLine::of((LoadUnit::Rate, 1), None, found, Vec::new());
            line.limited_by_client = by_client;
            let signal = found.and_then(Found::signal);
            let (result, _) = of_line(&line, signal);
            (result.word, result.exit_code, result.reasons.first().map(|reason| reason.name.clone()))
        };
        let (line, named) = (Found::Line { passed: 400, failed: 800 }, |name: &str| Some(name.to_owned()));
        assert_eq!(found(Some(line), false), (ResultWord::Pass, 0, None));
        assert_eq!(found(Some(line), true), (ResultWord::Unusable, 3, named("line")));
        assert_eq!(found(Some(Found::AtLeast { passed: 800 }), true), (ResultWord::Pass, 0, None));
        assert_eq!(found(Some(Found::Below { failed: 1 }), false), (ResultWord::Fail, 1, named("below")));
        assert_eq!(found(Some(Found::Below { failed: 1 }), true), (ResultWord::Unusable, 3, named("below")));
        let interrupted = |signal| Found::Interrupted { passed: None, signal };
        assert_eq!(found(Some(interrupted(2)), false), (ResultWord::Partial, 130, named("interrupted")));
        assert_eq!(found(Some(interrupted(15)), false), (ResultWord::Partial, 143, named("interrupted")));
        assert_eq!(found(None, false), (ResultWord::Partial, 0, named("unfinished")));
    }
}
