//! Parsers for the values of flags.

use measure::units::parse_span;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Parses a time span.
pub fn span(text: &str) -> Result<Duration, String> {
    parse_span(text).map_err(|error| error.to_string())
}

/// Parses the value of `-d`, the time to measure. The error message mentions --body-file if the value looks like
/// a request body, because `-d` is the body in curl, hey and oha.
pub fn measured_time(text: &str) -> Result<Duration, String> {
    let is_like_body = text.contains(['=', '{', '@', '"']);
    let hint = if is_like_body { "; for a request body, use --body-file FILE" } else { "" };
    span(text).map_err(|error| format!("{error}{hint}"))
}

/// Parses the name of an output file. Refuses a URL and a directory: the user probably gave no file name, and the value
/// is the next argument.
pub fn output_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let what = match text.contains("://") {
        true => "a URL",
        false if path.is_dir() => "a directory",
        false => return Ok(path),
    };
    Err(format!("`{text}` is {what}, not a file name; name a file, or put the flag at the end"))
}

/// Parses a time above 0.
pub fn timeout(text: &str) -> Result<Duration, String> {
    let span = span(text)?;
    if span.is_zero() { Err("the time must be above 0".into()) } else { Ok(span) }
}

/// Parses a whole number above 0. `N` is a type without zero, such as `NonZeroU64`. Digits may be grouped with `_`.
pub fn count<N: FromStr>(text: &str) -> Result<N, String> {
    let digits = text.replace('_', "");
    digits.parse().map_err(|_| match is_number(&digits) {
        true => format!("`{text}` is too large"),
        false => format!("`{text}` is not a whole number above 0"),
    })
}

/// Parses the seed of random choices or of object content.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| match is_number(text) {
        true => format!("`{text}` is too large; the maximum is {}", u64::MAX),
        false => format!("`{text}` is not a seed; use a whole number"),
    })
}

/// Returns whether a text is a whole number above 0, even if the number is too large for any type.
fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte != b'0')
}

/// Parses a status code.
pub fn status(text: &str) -> Result<u16, String> {
    let code = text.parse().ok().filter(|code| (100..600).contains(code));
    code.ok_or_else(|| format!("`{text}` is not a status code; use a list such as 200,206"))
}

/// Parses an IP address.
pub fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| format!("`{text}` is not an IP address; use a form such as 192.0.2.1 or 2001:db8::1"))
}

/// Parses a stage of the load: its duration and the level at its end.
pub fn stage(text: &str) -> Result<(Duration, f64), String> {
    let wrong = || format!("`{text}` is not a stage; use TIME:LEVEL, for example 10s:100");
    let (time, level) = text.split_once(':').ok_or_else(wrong)?;
    let level: f64 = level.parse().ok().filter(|level: &f64| level.is_finite() && *level >= 0.0).ok_or_else(wrong)?;
    Ok((span(time)?, level))
}

/// Parses a success rate in percent. Values up to 1 need the percent sign, because a user who types 0.99 rarely means
/// 0.99 %.
pub fn success(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if 0.0 < share && share <= 1.0 => {
            Err(format!("`{text}` could be a fraction or a percentage; write {}% or {text}%", share * 100.0))
        }
        _ => percent(text),
    }
}

/// Parses a percentage from 0 to 100.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    number.ok_or_else(|| format!("`{text}` is not a percentage; use a form such as 99 or 99.9%"))
}
