//! GitHub's workflow commands. GitHub shows these lines of the standard output on the page of the workflow and in the
//! pull request.
//!
//! <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>

use super::{Outcome, Suite};
use std::fmt::Write;

/// Returns one line for each case that failed, is unusable, or was not decided. Returns an empty text if all cases
/// passed.
#[must_use]
pub fn annotations(suite: &Suite) -> String {
    let mut text = String::new();
    for case in &suite.cases {
        let (command, title, why) = match &case.outcome {
            Outcome::Passed => continue,
            Outcome::Failed(why) => ("error", "objective missed", why),
            Outcome::CutOff(why) => ("error", "cut off", why),
            Outcome::Error(why) => ("error", "numbers cannot be used", why),
            Outcome::Skipped(why) => ("warning", "objective not judged", why),
        };
        let title = property(&format!("plimsoll: {title}: {}", case.class));
        let _ =
            writeln!(text, "::{command} title={title}::{}", data(&format!("{}: {why}\n{}", case.name, case.metrics)));
    }
    text
}

/// Escapes the text of a command. A line break would end the command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a command. A comma would end the property, and a colon would end the list of properties.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::Case;

    #[test]
    fn a_command_stays_one_line_and_one_command() {
        let hostile = "a::b,c%0A\r\n::error::x";
        let case = |outcome| Case {
            class: hostile.to_owned(),
            name: hostile.to_owned(),
            seconds: 1.0,
            outcome,
            metrics: "VALID\nmore".to_owned(),
        };
        let cases = vec![case(Outcome::Passed), case(Outcome::Failed("100 % more".to_owned()))];
        let text = annotations(&Suite { name: String::new(), cases, seconds: 2.0 });
        assert_eq!(text.lines().count(), 1, "{text}");
        let (title, message) = text.strip_prefix("::error title=").unwrap().split_once("::").unwrap();
        assert_eq!(title, "plimsoll%3A objective missed%3A a%3A%3Ab%2Cc%250A%0D%0A%3A%3Aerror%3A%3Ax");
        assert!(message.contains("100 %25 more%0AVALID%0Amore"), "{message}");
    }
}
