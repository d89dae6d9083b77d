//! Refusals: a one-line message and an exit code.

use super::Ended;

/// Returns the faults of a refusal. A refusal must be a single line, contain all of `words`, and have the exit code
/// `code`.
pub fn refusal_faults(what: &str, ended: &Ended, code: i32, words: &[&str]) -> Vec<String> {
    let Ended { code: found, stdout, stderr } = ended;
    let mut faults = Vec::new();
    let mut check = |good: bool, fault: &str| {
        if !good {
            faults.push(format!("{what}: {fault}: {}", stderr.trim_end()));
        }
    };
    check(*found == Some(code), &format!("exit code {found:?}, not {code}"));
    check(!stderr.contains("panicked") && !stderr.contains("internal error"), "a panic");
    check(stderr.lines().count() == 1, "not one line");
    check(stderr.starts_with("plimsoll: "), "does not start with the program's name");
    check(stderr.trim_end().chars().count() < 300, "too long for a line");
    for word in words {
        check(stderr.contains(word), &format!("`{word}` is missing"));
    }
    check(stdout.is_empty(), "something on standard output");
    faults
}

/// Asserts that a refusal is a single line, contains all of `words`, and has the exit code `code`.
#[track_caller]
pub fn expect_refusal(what: &str, ended: &Ended, code: i32, words: &[&str]) {
    expect_none(&refusal_faults(what, ended, code, words));
}

/// Asserts that there are no faults.
#[track_caller]
pub fn expect_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} mistakes:\n{}", faults.len(), faults.join("\n"));
}
