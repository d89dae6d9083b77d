//! Stop rules, which are conditions for ending a fill early.

use measure::units::{ByteSize, DataRate, format_span, parse_span};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

const EXAMPLES: &str = "for example 'trailing 24h bandwidth < 50Mbit/s', 'time >= 14d', 'bytes >= 10TB', 'files >= 50000' or \
                        'gone > 1h'";

/// A condition that ends a fill. After the condition is met, no further upload starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopRule {
    /// The average bandwidth of file data over the last `window` is below `least`. This rule is first checked after a
    /// whole window.
    TrailingBandwidth {
        /// Length of the window. Only time during which the fill ran counts.
        window: Duration,
        /// The lowest acceptable bandwidth.
        least: DataRate,
    },
    /// The fill has run for this time. Time between the sessions of a fill does not count.
    Time(Duration),
    /// At least this many bytes of files are acknowledged.
    Bytes(ByteSize),
    /// At least this many files are acknowledged.
    Files(u64),
    /// Nothing was sent to the target or received from it for longer than this time.
    Gone(Duration),
}

/// An error from parsing a [`StopRule`], with examples of valid rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {why}; {EXAMPLES}")]
pub struct StopRuleError {
    text: String,
    why: String,
}

impl FromStr for StopRule {
    type Err = StopRuleError;

    fn from_str(text: &str) -> Result<Self, StopRuleError> {
        parse(text).map_err(|why| StopRuleError { text: text.to_owned(), why })
    }
}

fn parse(text: &str) -> Result<StopRule, String> {
    let sign = text.find(['<', '>', '≥', '≤']).ok_or("a stop rule needs < or >=")?;
    let (left, right) = text.split_at(sign);
    let below = right.starts_with(['<', '≤']);
    let value = right.trim_start_matches(['<', '>', '≥', '≤', '=']).trim();
    let words: Vec<String> = left.split_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let at_least = |rule| if below { Err(format!("`{}` takes >=", words.join(" "))) } else { Ok(rule) };
    match words[..] {
        ["trailing", window, "bandwidth"] if below => {
            let least = value.parse::<DataRate>().map_err(|error| error.to_string())?;
            Ok(StopRule::TrailingBandwidth { window: span(window)?, least })
        }
        ["trailing", _, "bandwidth"] => Err("a bandwidth takes <".into()),
        ["time"] => at_least(StopRule::Time(span(value)?)),
        ["gone"] => at_least(StopRule::Gone(span(value)?)),
        ["bytes"] => {
            at_least(StopRule::Bytes(value.parse().map_err(|error: measure::units::UnitError| error.to_string())?))
        }
        ["files"] => {
            let digits: String = value.chars().filter(|c| !matches!(c, '_' | ',')).collect();
            at_least(StopRule::Files(digits.parse().map_err(|_| format!("`{value}` is not a number of files"))?))
        }
        _ => Err(format!("there is no quantity `{}`", words.join(" "))),
    }
}

/// Parses a non-zero time span with a unit.
fn span(text: &str) -> Result<Duration, String> {
    if text.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(format!("`{text}` has no unit; write {text}h or {text}s"));
    }
    match parse_span(text).map_err(|error| error.to_string())? {
        Duration::ZERO => Err(format!("`{text}` must be longer than 0")),
        span => Ok(span),
    }
}

impl fmt::Display for StopRule {
    /// Formats the rule in the syntax of the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TrailingBandwidth { window, least } => {
                write!(f, "trailing {} bandwidth < {least}", format_span(*window))
            }
            Self::Time(time) => write!(f, "time >= {}", format_span(*time)),
            Self::Bytes(bytes) => write!(f, "bytes >= {bytes}"),
            Self::Files(files) => write!(f, "files >= {files}"),
            Self::Gone(time) => write!(f, "gone > {}", format_span(*time)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rules_of_the_study_are_understood() {
        let floor: StopRule = "trailing 24h bandwidth < 50Mbit/s".parse().unwrap();
        let day = Duration::from_secs(86_400);
        assert_eq!(floor, StopRule::TrailingBandwidth { window: day, least: DataRate::bits_per_second(50_000_000) });
        assert_eq!(
            "trailing 1h bandwidth<3Mbit/s".parse::<StopRule>().unwrap().to_string(),
            "trailing 1h bandwidth < 3Mbit/s"
        );
        assert_eq!("time >= 14d".parse(), Ok(StopRule::Time(14 * day)));
        assert_eq!("bytes > 10TB".parse(), Ok(StopRule::Bytes(ByteSize(10_000_000_000_000))));
        assert_eq!("files >= 50,000".parse(), Ok(StopRule::Files(50_000)));
        assert_eq!("gone > 1h".parse(), Ok(StopRule::Gone(Duration::from_secs(3600))));
    }

    #[test]
    fn errors_contain_the_fix() {
        for (text, fix) in [
            ("bandwidth", "needs < or >="),
            ("trailing 24h bandwidth > 50Mbit/s", "takes <"),
            ("trailing 24 bandwidth < 50Mbit/s", "24h"),
            ("trailing 24h bandwidth < 50Mbps", "50Mbit/s for bits"),
            ("time < 1h", "takes >="),
            ("time >= 0s", "longer than 0"),
            ("files >= many", "not a number"),
            ("money >= 3", "no quantity `money`"),
        ] {
            let message = text.parse::<StopRule>().unwrap_err().to_string();
            assert!(message.contains(fix) && message.starts_with(&format!("`{text}`")), "{message}");
        }
    }

    proptest! {
        #[test]
        fn display_parses_back(window in 1_u64..366 * 86_400, bits in 0_u64..1 << 50, files in any::<u64>()) {
            let window = Duration::from_secs(window);
            let least = DataRate::bits_per_second(bits);
            for rule in [
                StopRule::TrailingBandwidth { window, least },
                StopRule::Time(window),
                StopRule::Gone(window),
                StopRule::Files(files),
                StopRule::Bytes(ByteSize(files)),
            ] {
                prop_assert_eq!(rule.to_string().parse::<StopRule>(), Ok(rule));
            }
        }

        #[test]
        fn never_panics(text in ".{0,40}") {
            let _ = text.parse::<StopRule>();
        }
    }
}
