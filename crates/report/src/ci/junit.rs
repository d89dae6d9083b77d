//! JUnit XML for Jenkins, GitLab, GitHub's reporters and Gradle. The elements are `testsuites`, `testsuite`, and
//! `testcase` with `failure`, `error` or `skipped`. Times are in seconds.

use super::{Case, Outcome, Suite};
use std::fmt::Write;

/// Returns the suite as a JUnit file.
#[must_use]
pub fn junit(suite: &Suite) -> String {
    let count = |of: fn(&Outcome) -> bool| suite.cases.iter().filter(|case| of(&case.outcome)).count();
    let totals = format!(
        "name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        xml(&suite.name),
        suite.cases.len(),
        count(|outcome| matches!(outcome, Outcome::Failed(_))),
        count(|outcome| matches!(outcome, Outcome::Error(_) | Outcome::CutOff(_))),
        count(|outcome| matches!(outcome, Outcome::Skipped(_))),
        suite.seconds,
    );
    let mut text =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n  <testsuite {totals}>\n");
    suite.cases.iter().for_each(|case| write_case(&mut text, case));
    text + "  </testsuite>\n</testsuites>\n"
}

fn write_case(text: &mut String, case: &Case) {
    let (name, class) = (xml(&case.name), xml(&case.class));
    let _ = write!(text, "    <testcase name=\"{name}\" classname=\"{class}\" time=\"{:.3}\"", case.seconds);
    let metrics = xml(&case.metrics);
    let element = match &case.outcome {
        Outcome::Passed => None,
        Outcome::Failed(why) => {
            Some(format!("<failure message=\"{}\" type=\"objective\">{metrics}</failure>", xml(why)))
        }
        Outcome::Error(why) => Some(error(why, "unusable", &metrics)),
        Outcome::CutOff(why) => Some(error(why, "cut off", &metrics)),
        Outcome::Skipped(why) => Some(format!("<skipped message=\"{}\"/>", xml(why))),
    };
    text.push_str(&element.map_or_else(|| "/>\n".to_owned(), |element| format!(">{element}</testcase>\n")));
}

fn error(why: &str, kind: &str, metrics: &str) -> String {
    format!("<error message=\"{}\" type=\"{kind}\">{metrics}</error>", xml(why))
}

/// Escapes text for an element or an attribute. Characters that XML 1.0 does not allow become U+FFFD.
fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' => safe.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quick_xml::Reader;
    use quick_xml::events::Event;

    fn suite(name: &str, outcome: Outcome) -> Suite {
        let case = Case {
            class: name.to_owned(),
            name: name.to_owned(),
            seconds: 10.0,
            outcome,
            metrics: format!("{name}\n{name}"),
        };
        Suite { name: name.to_owned(), cases: vec![case], seconds: 10.0 }
    }

    /// Returns all elements of an XML text, each with its attributes.
    fn parse(text: &str) -> Vec<(String, Vec<(String, String)>)> {
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_end_names = true;
        let mut found = Vec::new();
        loop {
            match reader.read_event().unwrap_or_else(|error| panic!("{error}: {text}")) {
                Event::Start(element) | Event::Empty(element) => {
                    let attributes = element.attributes().map(|attribute| {
                        let attribute = attribute.unwrap_or_else(|error| panic!("{error}: {text}"));
                        let key = attribute.key.as_ref().to_owned();
                        let raw = attribute.value.clone();
                        (key, quick_xml::escape::unescape(&raw).unwrap().into_owned())
                    });
                    let attributes = attributes.collect();
                    found.push((element.name().as_ref().to_owned(), attributes));
                }
                Event::Eof => return found,
                _ => {}
            }
        }
    }

    fn value<'a>(elements: &'a [(String, Vec<(String, String)>)], element: &str, attribute: &str) -> &'a str {
        let (_, attributes) = elements.iter().find(|(name, _)| name == element).unwrap();
        &attributes.iter().find(|(name, _)| name == attribute).unwrap().1
    }

    #[test]
    fn readers_find_elements_and_attributes() {
        let text = junit(&suite("response p99 <= 20ms", Outcome::Failed("it is \"not\" met".to_owned())));
        let elements = parse(&text);
        let names: Vec<&str> = elements.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["testsuites", "testsuite", "testcase", "failure"]);
        assert_eq!(value(&elements, "testsuite", "failures"), "1");
        assert_eq!(value(&elements, "testsuite", "errors"), "0");
        assert_eq!(value(&elements, "testcase", "name"), "response p99 <= 20ms");
        assert_eq!(value(&elements, "testcase", "time"), "10.000");
        assert_eq!(value(&elements, "failure", "message"), "it is \"not\" met");
        let passed = parse(&junit(&suite("x", Outcome::Passed)));
        assert_eq!(passed.len(), 3);
    }

    proptest! {
        #[test]
        fn any_text_stays_one_attribute(text in "(?s:.{0,60})") {
            let elements = parse(&junit(&suite(&text, Outcome::Error(text.clone()))));
            prop_assert_eq!(elements.len(), 4);
            let plain = |c: char| if (c.is_control() && c != '\n') || matches!(c, '\u{fffe}' | '\u{ffff}') { '\u{fffd}' } else { c };
            let wanted: String = text.chars().map(plain).collect();
            prop_assert_eq!(value(&elements, "error", "message"), wanted.as_str());
        }
    }
}
