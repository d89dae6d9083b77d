//! Tests with runs that have known properties, and with random runs.

use super::*;
use crate::sample::OpKind;
use crate::stats::{Dimension, Group, GroupStats};
use crate::values::random::Random;
use crate::{Enumerated, Label};

const OPEN: Model = Model::Open { in_flight_max: 100 };

/// Returns a run whose counters agree. In the run, `ok` operations succeeded after 1 ms, and `failed` operations
/// failed.
pub fn run(ok: u64, failed: u64) -> Summary {
    let mut summary = Summary::default();
    summary.measured.seconds = 10.0;
    let tally = &mut summary.stats.measured;
    (tally.scheduled, tally.started, tally.attempts) = (ok + failed, ok + failed, ok + failed);
    (tally.ok, tally.failed) = (ok, failed);
    (0..ok).for_each(|_| tally.classes.add(AttemptClass::Ok));
    (0..failed).for_each(|_| tally.classes.add(AttemptClass::Reset));
    let kind = summary.stats.kind_mut(OpKind::Get);
    (kind.ok, kind.failed) = (ok, failed);
    (0..ok).for_each(|_| kind.response.record(1_000_000));
    let stats = GroupStats { ok, failed, ..GroupStats::default() };
    summary.stats.groups.push(Group { dimension: Dimension::Host, label: Label::Value("a".into()), stats });
    summary.all = summary.stats.all_kinds();
    summary
}

fn result(summary: &Summary, ending: &Ending, outage_seconds: u64) -> RunResult {
    let objectives = [Objective::DEFAULT];
    let accept_not_enough_data = false;
    RunResult::of(&RunFacts {
        summary,
        model: OPEN,
        objectives: &objectives,
        ending,
        outage: Duration::from_secs(outage_seconds),
        accept_not_enough_data,
        path: None,
    })
}

fn word_of(summary: &Summary) -> (ResultWord, u8) {
    let result = result(summary, &Ending::Completed, 0);
    (result.word, result.exit.code())
}

#[test]
fn runs_that_meet_their_objectives_pass() {
    assert_eq!(word_of(&run(1000, 0)), (ResultWord::Pass, 0));
    assert_eq!(word_of(&run(990, 10)), (ResultWord::Pass, 0));
    assert_eq!(word_of(&run(980, 20)), (ResultWord::Fail, 1));
}

#[test]
fn runs_without_a_success_fail_for_that_reason() {
    let failed = result(&run(0, 100), &Ending::Completed, 0);
    assert_eq!((failed.word, failed.exit), (ResultWord::Fail, ExitStatus::Failed));
    assert!(matches!(failed.reasons[0], Reason::NothingSucceeded { failed: 100, .. }), "{:?}", failed.reasons);
    // If no operation ended, the default objective cannot be judged.
    let empty = result(&run(0, 0), &Ending::Completed, 0);
    assert!(matches!(empty.reasons[..], [Reason::NotEnoughData(_)]), "{:?}", empty.reasons);
    assert_eq!(empty.exit.code(), 1);
}

#[test]
fn an_outage_fails_a_run_that_meets_its_objectives() {
    let out = result(&run(100_000, 10), &Ending::Completed, 3);
    assert_eq!((out.word, out.exit.code()), (ResultWord::Fail, 1));
    assert_eq!(out.reasons, [Reason::Outage { length: Duration::from_secs(3) }]);
}

#[test]
fn wrong_content_fails_a_run_even_in_the_warm_up() {
    for outside in [false, true] {
        let mut summary = run(1000, 0);
        let tally = if outside { &mut summary.stats.outside } else { &mut summary.stats.measured };
        tally.causes.add(Cause::ContentDiffers);
        summary.stats.measured.dropped += 7;
        let result = result(&summary, &Ending::Completed, 0);
        assert_eq!(result.reasons[0], Reason::WrongContent { responses: 1 });
        assert!(!result.accounting.violations.is_empty(), "this run must also have counters that disagree");
        assert_eq!((result.word, result.exit.code()), (ResultWord::Fail, 1));
    }
}

#[test]
fn counters_that_disagree_make_any_run_unusable() {
    let mut summary = run(0, 100);
    summary.stats.measured.scheduled += 1;
    assert_eq!(word_of(&summary), (ResultWord::Unusable, 3));
}

#[test]
fn runs_that_were_cut_off_are_partial_unless_they_failed() {
    let interrupted = Ending::CutOff(CutOff::Interrupted { signal: 2 });
    let of = |summary: &Summary, ending: &Ending| {
        let result = result(summary, ending, 0);
        (result.word, result.exit.code())
    };
    assert_eq!(of(&run(10, 0), &interrupted), (ResultWord::Partial, 130));
    assert_eq!(of(&run(0, 0), &interrupted), (ResultWord::Partial, 130));
    assert_eq!(of(&run(0, 10), &interrupted), (ResultWord::Fail, 130));
    assert_eq!(of(&run(10, 0), &Ending::CutOff(CutOff::Merged { runs: 2 })), (ResultWord::Partial, 0));
    let merged = Ending::CutOff(CutOff::Merged { runs: 2 });
    assert_eq!(
        of(&run(0, 0), &merged),
        (ResultWord::Fail, 1),
        "merged runs count as complete, so missing data is a failure"
    );
    assert_eq!(of(&run(10, 0), &Ending::CutOff(CutOff::NoEnd)), (ResultWord::Partial, 0));
    assert_eq!(of(&run(10, 0), &Ending::CutOff(CutOff::DiskFull)), (ResultWord::Partial, 4));
    assert_eq!(of(&run(0, 100), &Ending::Unreachable { detail: "refused".into() }), (ResultWord::Fail, 4));
}

#[test]
fn timeouts_of_a_client_that_hardly_ran_do_not_fail_the_target() {
    let mut summary = run(0, 100);
    summary.all.affected.failed = 100;
    summary.limits.seconds = 10.0;
    for (throttled, word) in [(0.0, ResultWord::Fail), (9.0, ResultWord::Unusable)] {
        summary.limits.throttled = throttled;
        let result = result(&summary, &Ending::Completed, 0);
        let blamed = result.reasons.iter().any(|reason| matches!(reason, Reason::NothingSucceeded { .. }));
        assert_eq!((result.word, blamed), (word, word == ResultWord::Fail), "{:?}", result.reasons);
        let client = limited_by(&summary, &OPEN).is_client();
        assert_eq!(
            client,
            word == ResultWord::Unusable,
            "the client is reported as the limit exactly if the run is UNUSABLE"
        );
    }
}

/// A few operations succeed before the CPU quota is used up.
#[test]
fn outages_of_a_client_that_hardly_ran_do_not_fail_the_target() {
    let mut summary = run(10, 90);
    summary.all.affected.failed = 90;
    summary.limits.seconds = 10.0;
    for (throttled, word) in [(0.0, ResultWord::Fail), (9.0, ResultWord::Unusable)] {
        summary.limits.throttled = throttled;
        assert_eq!(result(&summary, &Ending::Completed, 9).word, word);
    }
}

#[test]
fn missing_descriptors_make_a_run_unusable() {
    let mut summary = run(900, 100);
    let classes = &mut summary.stats.measured.classes;
    *classes = crate::Counts::default();
    (0..900).for_each(|_| classes.add(AttemptClass::Ok));
    (0..100).for_each(|_| classes.add(AttemptClass::ClientResource));
    let result = result(&summary, &Ending::Completed, 0);
    assert_eq!(result.reasons[0], Reason::ClientResources { attempts: 100, of: 1000 });
    assert_eq!((result.word, result.exit.code()), (ResultWord::Unusable, 3));
}

/// The word for the result, the reasons and the exit code must agree for any counts.
#[test]
fn word_reasons_and_exit_code_never_contradict_each_other() {
    let mut random = Random::new(11);
    for round in 0..3000 {
        let mut summary = run(random.below(400) as u64, random.below(30) as u64);
        let tally = &mut summary.stats.measured;
        match random.below(5) {
            0 => tally.causes.add(Cause::ALL[random.below(Cause::ALL.len())]),
            1 => tally.dropped += 1 + random.below(50) as u64,
            2 => (0..random.below(20)).for_each(|_| tally.classes.add(AttemptClass::ClientResource)),
            _ => {}
        }
        if random.below(3) == 0 {
            summary.stats.measured.scheduled = summary.stats.measured.started + summary.stats.measured.dropped;
        }
        let endings = [
            Ending::Completed,
            Ending::Aborted { condition: "p99 > 1s".into() },
            Ending::Unreachable { detail: String::new() },
            Ending::CutOff(CutOff::Interrupted { signal: 15 }),
            Ending::CutOff(CutOff::NoEnd),
            Ending::CutOff(CutOff::Merged { runs: 3 }),
            Ending::CutOff(CutOff::DiskFull),
            Ending::CutOff(CutOff::Failed { detail: String::new() }),
        ];
        let ending = &endings[random.below(endings.len())];
        let texts = ["success >= 99%", "p99 <= 2ms", "p99.99 <= 2ms", "p50 <= 100us", "rate >= 20", "ttfb p50 <= 1ms"];
        let objectives: Vec<Objective> =
            texts.iter().filter(|_| random.below(2) == 0).map(|text| text.parse().unwrap()).collect();
        let path = (random.below(4) == 0).then(|| {
            let emulators = [EmulatorHealth::Good, EmulatorHealth::CpuTooSlow, EmulatorHealth::MemoryTooSmall];
            (vec!["rate down".to_owned(); random.below(2)], emulators[random.below(3)])
        });
        let facts = RunFacts {
            summary: &summary,
            model: if random.below(2) == 0 { OPEN } else { Model::Closed { concurrency: 8 } },
            objectives: &objectives,
            ending,
            outage: Duration::from_secs((random.below(4) / 3) as u64),
            accept_not_enough_data: random.below(2) == 0,
            path: path.as_ref().map(|(differences, emulator)| PathFacts { differences, emulator: *emulator }),
        };
        let result = RunResult::of(&facts);
        let context = || format!("seed 11, round {round}: {result:?}");
        assert_eq!(result.word == ResultWord::Pass, result.reasons.is_empty(), "{}", context());
        let code = result.exit.code();
        match result.word {
            ResultWord::Pass => assert_eq!(code, 0, "{}", context()),
            ResultWord::Fail => assert!(matches!(code, 1 | 4 | 143), "{}", context()),
            ResultWord::Unusable => assert!(matches!(code, 3 | 4 | 143), "{}", context()),
            ResultWord::Partial => assert!(matches!(code, 0 | 4 | 143), "{}", context()),
        }
        let wrong = WRONG_CONTENT.iter().any(|cause| summary.stats.measured.causes.get(*cause) > 0);
        assert!(!wrong || result.word == ResultWord::Fail, "{}", context());
        let sound =
            |(differences, emulator): &(Vec<String>, _)| differences.is_empty() && *emulator == EmulatorHealth::Good;
        let other_path = path.as_ref().is_some_and(|path| !sound(path));
        let unusable = !wrong && (!result.accounting.violations.is_empty() || other_path);
        assert!(!unusable || result.word == ResultWord::Unusable, "{}", context());
        let missed = result.objectives.iter().any(|judged| judged.outcome == ObjectiveOutcome::Missed);
        assert!(!missed || matches!(result.word, ResultWord::Fail | ResultWord::Unusable), "{}", context());
    }
}
