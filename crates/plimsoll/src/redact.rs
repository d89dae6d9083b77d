//! Removes secrets from everything that is saved or shown.

use crate::command::serve::{ACCESS_KEY, PASSWORD, SECRET_KEY};
use wire::url::Url;
use wire::{Header, is_secret_name};

const HIDDEN: &str = "***";
/// Flags whose whole value is a secret.
const SECRET_FLAGS: [&str; 7] = ["-C", "--cookie", "-u", "--user", "--access-key", "--secret-key", "--session-token"];

/// Returns the command line without its secrets.
pub fn command_line(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut previous: Option<String> = None;
    let mut shown = Vec::new();
    for word in words {
        let short = unbundled(&word);
        let text = match previous.as_deref() {
            Some(flag) if SECRET_FLAGS.contains(&flag) => HIDDEN.to_owned(),
            Some("-H" | "--header" | "--expect-header") => header(&word),
            Some("--connection") => connection(&word),
            Some("--set") => variable(&word),
            _ => Some(joined(&short)).filter(|text| *text != short).unwrap_or_else(|| word.clone()),
        };
        shown.push(text);
        previous = Some(short);
    }
    shown
}

/// Returns the first word of a command line that contains a secret as text, with the secret hidden. References to secrets
/// (`@FILE`, `${ENV}`) are not secrets, and neither are the published keys of the servers that a study starts.
pub fn literal_secret(words: &[String]) -> Option<String> {
    let shown = command_line(words.iter().cloned());
    // Credentials in a URL are removed and not replaced by [`HIDDEN`], so check the word itself.
    let is_secret = |word: &str, shown: &str| shown.contains(HIDDEN) || (word.contains("://") && word.contains('@'));
    let is_known = |word: &str| is_reference(word) || is_published(word);
    let hides = |(word, shown): &(&String, String)| *word != shown && is_secret(word, shown) && !is_known(word);
    words.iter().zip(shown).find(hides).map(|(_, shown)| shown)
}

/// Returns whether a word is a reference to a secret, or a flag whose value is such a reference.
fn is_reference(word: &str) -> bool {
    let value = match word.strip_prefix("--") {
        Some(long) => long.split_once('=').map_or("", |(_, value)| value),
        None => word.strip_prefix('-').and_then(|short| short.get(1..)).unwrap_or(word),
    };
    value.starts_with('@') || value.contains("${")
}

/// Returns whether a word is a flag with a key or a password that `serve` accepts by default.
fn is_published(word: &str) -> bool {
    let password = format!(":{PASSWORD}");
    let flags = [("--access-key", ACCESS_KEY), ("--secret-key", SECRET_KEY), ("--user", password.as_str())];
    flags.iter().any(|(flag, value)| word == format!("{flag}={value}"))
}

/// Removes leading letters that are flags without a value: `-ku me:secret` becomes `-u me:secret`.
fn unbundled(word: &str) -> String {
    match word.strip_prefix('-').filter(|letters| !letters.starts_with('-')) {
        Some(letters) => format!("-{}", letters.trim_start_matches(['k', 'I'])),
        None => word.to_owned(),
    }
}

/// Hides secrets in an argument. The argument may contain a flag with its value, or a URL.
fn joined(word: &str) -> String {
    for flag in SECRET_FLAGS {
        let value =
            if flag.starts_with("--") { word.strip_prefix(&format!("{flag}=")) } else { word.strip_prefix(flag) };
        if value.is_some_and(|value| !value.is_empty()) {
            let mark = if flag.starts_with("--") { "=" } else { "" };
            return format!("{flag}{mark}{HIDDEN}");
        }
    }
    for flag in ["--header=", "--expect-header=", "-H"] {
        if let Some(value) = word.strip_prefix(flag).filter(|value| !value.is_empty()) {
            return format!("{flag}{}", header(value));
        }
    }
    if let Some(pair) = word.strip_prefix("--set=") {
        return format!("--set={}", variable(pair));
    }
    if let Some(value) = word.strip_prefix("--connection=") {
        return format!("--connection={}", connection(value));
    }
    for flag in ["", "--proxy=", "--url=", "--otlp=", "--fleet="] {
        if let Some(url) = word.strip_prefix(flag).filter(|url| url.contains("://")) {
            return format!("{flag}{}", url_text(url));
        }
    }
    word.to_owned()
}

/// Hides a secret in the value of a scenario variable, such as `password=x`.
fn variable(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, _)) if is_secret_name(name) => format!("{name}={HIDDEN}"),
        Some((name, value)) => format!("{name}={}", joined(value)),
        None => pair.to_owned(),
    }
}

/// Hides all values of a backend login, such as `sftp,hostname=h,password=p`. Each value may be a secret.
fn connection(text: &str) -> String {
    let shown = |(index, part): (usize, &str)| match part.split_once('=') {
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None if index == 0 => part.to_owned(),
        None => HIDDEN.to_owned(),
    };
    text.split(',').enumerate().map(shown).collect::<Vec<_>>().join(",")
}

/// Returns a header field as a line. Hides the value if it is a secret.
pub fn of_header(header: &Header) -> String {
    let value = if header.is_secret() { HIDDEN } else { header.value.as_str() };
    format!("{}: {value}", header.name.as_str())
}

/// Returns a header line. Hides the value if it is a secret.
fn header(line: &str) -> String {
    match Header::parse(line) {
        Ok(header) if header.is_secret() => of_header(&header),
        Ok(_) => line.to_owned(),
        // A line that cannot be parsed may contain a secret, so hide all of it.
        Err(_) => HIDDEN.to_owned(),
    }
}

/// Returns a URL without its password and its secret parameters. A text with an `@` that is not a URL is hidden.
pub fn url_text(text: &str) -> String {
    let shown = match Url::parse(text) {
        Ok(url) => url.to_string(),
        Err(_) if text.contains('@') => return HIDDEN.to_owned(),
        Err(_) => text.to_owned(),
    };
    let Some((before, query)) = shown.split_once('?') else { return shown };
    let parameters = query.split_inclusive(['&', ';']).map(|parameter| match parameter.split_once('=') {
        // A name with percent-encoded characters may be a disguised name of a secret, so hide its value too.
        Some((name, value)) if is_secret_name(name) || name.contains('%') => {
            let separator: String = value.matches(['&', ';']).collect();
            format!("{name}={HIDDEN}{separator}")
        }
        _ => parameter.to_owned(),
    });
    format!("{before}?{}", parameters.collect::<String>())
}

/// Returns the text of a scenario and the variables set for it, without secrets. Settings are treated like flags on the
/// command line. A variable is hidden if its name is typical of a secret, or if a secret setting refers to the
/// variable.
pub fn scenario(text: &str, set: &[(String, String)]) -> (String, Vec<(String, String)>) {
    let mut named: Vec<String> = Vec::new();
    study::scenario::replace_values(text, &mut |name, value, is_variable| {
        if !is_variable && hidden_value(name, value).is_some() {
            named.extend(value.split("${").skip(1).filter_map(|rest| rest.split('}').next()).map(str::to_owned));
        }
        None
    });
    let of_variable = |name: &str, value: &str| {
        let secret = is_secret_name(name) || named.iter().any(|known| known == name);
        if secret { Some(HIDDEN.to_owned()) } else { hidden_value(name, value) }
    };
    let shown = study::scenario::replace_values(text, &mut |name, value, is_variable| match is_variable {
        true => of_variable(name, value),
        false => hidden_value(name, value),
    });
    let pair =
        |(name, value): &(String, String)| (name.clone(), of_variable(name, value).unwrap_or_else(|| value.clone()));
    (shown, set.iter().map(pair).collect())
}

/// Returns whether the value of a setting contains a secret.
pub fn is_secret(name: &str, value: &str) -> bool {
    hidden_value(name, value).is_some()
}

/// Returns the redacted value of a setting, or `None` if it needs no redaction.
fn hidden_value(name: &str, value: &str) -> Option<String> {
    let flag = format!("--{name}=");
    let whole = format!("{flag}{value}");
    let shown = joined(&whole);
    // The value of any setting may be a URL.
    let shown = if shown == whole { joined(value) } else { shown.strip_prefix(&flag).unwrap_or(HIDDEN).to_owned() };
    // Parsing may change the spelling of a URL. Keep a URL without secrets as the user typed it.
    (shown != value && (shown.contains(HIDDEN) || value.contains('@'))).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_a_scenario_is_shown() {
        let text = "\
name: t
vars: {pw: CANARY, axis: CANARY, api_key: CANARY, host: kept}
targets:
  a: {url: 'http://me:CANARY@host/?b=1', user: 'me:${pw}'}
  b: {url: ['http://${host}/', \"http://h/?token=CANARY\"], header: ['Authorization: CANARY', 'X-Kept: kept']}
settings:
  secret-key: CANARY
  connection: sftp,password=CANARY
matrix:
  connection: {disk: 'sftp,hostname=h,password=CANARY', other: 'sftp,password=${axis}'}
  user: {admin: 'me:CANARY'}
";
        let set = [("pw", "CANARY"), ("url", "http://me:CANARY@h/"), ("host", "kept")];
        let set = set.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (shown, set) = scenario(text, &set);
        assert!(!shown.contains("CANARY") && !format!("{set:?}").contains("CANARY"), "{shown} {set:?}");
        assert_eq!(shown.matches("kept").count(), 2, "{shown}");
        assert!(shown.contains("'http://${host}/'") && set[2].1 == "kept", "{shown}");
        let read =
            study::scenario::Scenario::parse(&shown, &set, &|_| None).expect("a redacted scenario is a valid scenario");
        assert_eq!(read.targets.len(), 2);
        assert_eq!(scenario(&shown, &set).0, shown, "redacting again changed something");
    }

    #[test]
    fn no_secret_of_a_command_line_is_shown() {
        let words = [
            "plimsoll",
            "get",
            "-H",
            "Authorization: Bearer CANARY",
            "-HCookie: CANARY",
            "--header=X-Api-Key: CANARY",
            "-C",
            "a=CANARY",
            "-Ca=CANARY",
            "--cookie=a=CANARY",
            "-u",
            "me:CANARY",
            "-ume:CANARY",
            "--user=me:CANARY",
            "http://me:CANARY@host/",
            "http://host/?X-Amz-Signature=CANARY&b=1",
            "http://host/?a=1;token=CANARY;c=2&X%2DAmz%2DSignature=CANARY&sessionId=CANARY",
            "--proxy=http://me:CANARY@host:1/",
            "--otlp",
            "https://me:CANARY@host/",
            "--otlp=https://me:CANARY@host/",
            "http://me:CANARY@",
            "-H",
            "not a header CANARY",
            "-kume:CANARY",
            "-kIu",
            "me:CANARY",
            "-kHCookie: CANARY",
            "--expect-header",
            "Set-Cookie: CANARY",
            "--expect-header=Set-Cookie: CANARY",
            "--access-key",
            "CANARY",
            "--secret-key=CANARY",
            "--session-token",
            "CANARY",
            "--connection",
            "sftp,username=CANARY,password=CAN,CANARY",
            "--connection=sftp,password=CANARY",
            "--set",
            "api_token=CANARY",
            "--set=url=http://me:CANARY@host/",
        ];
        let shown = command_line(words.map(str::to_owned)).join(" ");
        assert!(!shown.contains("CANARY"), "{shown}");
        assert!(shown.contains("&b=1") && shown.contains(";c=2&") && shown.contains("Authorization: ***"), "{shown}");
    }

    #[test]
    fn published_keys_of_own_servers_are_no_secrets() {
        let secret = |word: &str| literal_secret(&[word.to_owned()]).is_some();
        assert!(!secret("--secret-key=plimsoll-secret") && !secret("--user=:plimsoll"));
        assert!(secret("--secret-key=plimsoll-secret2") && secret("--user=me:plimsoll"));
    }

    #[test]
    fn words_without_secrets_are_unchanged() {
        let words = ["plimsoll", "get", "-H", "X-Test: 1", "-c", "10", "http://host/a?b=c"].map(str::to_owned);
        assert_eq!(command_line(words.clone()), words);
    }
}
