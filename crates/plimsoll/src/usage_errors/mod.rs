//! Messages for errors that the command line parser finds.

mod misread_words;
mod other_tools;
mod similar_commands;

pub use misread_words::{check_single_dashes, with_help_flag};

use crate::command::get;
use crate::command::load_command::LoadCommand;
use crate::failure::Failure;
use crate::redact;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::Path;
use wire::Url;

/// Returns the message for an error of the command line parser `P`: the mistake, its place, and the fix.
pub fn explain<P: CommandFactory>(error: &clap::Error, words: &[OsString]) -> Failure {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return Failure::Shown(error.render().to_string()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return Failure::NoCommand(format!("no command given\n\n{}", error.render()));
        }
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            return Failure::usage(unknown_command(word, error, &P::command()));
        }
        ErrorKind::UnknownArgument | ErrorKind::ValueValidation => {
            // Other words may be values, or flags of this command that another tool has too.
            let is_meant = |word: &&str| argument.is_some_and(|flag| word.starts_with(flag));
            let typed = words.iter().filter_map(|word| word.to_str()).filter(is_meant);
            if let Some(hint) = typed.filter_map(other_tools::long_hint).next() {
                return Failure::usage(hint);
            }
        }
        ErrorKind::ArgumentConflict => {
            if let Some(message) = conflict(error) {
                return Failure::usage(message);
            }
        }
        ErrorKind::InvalidUtf8 => {
            // Do not show the argument itself, because it may contain a secret.
            let at = words.iter().position(|word| word.to_str().is_none()).unwrap_or_default();
            return Failure::usage(format!("argument {at} is not UTF-8: percent-encode such bytes of a URL as %XX"));
        }
        ErrorKind::MissingRequiredArgument => {
            if let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) {
                return Failure::usage(format!("missing argument: {}; {}", missing.join(", "), help(words)));
            }
        }
        _ => {}
    }
    match (error.kind(), argument) {
        (ErrorKind::UnknownArgument, Some(argument)) => {
            // Suggest only flags with the same first letter. Other flags are rarely what the user meant.
            let first = |flag: &str| flag.trim_start_matches('-').chars().next();
            let nearest = context(ContextKind::SuggestedArg).filter(|flag| first(flag) == first(argument));
            let hint = negative_value(argument, words).or_else(|| other_tools::hint(argument));
            Failure::usage(hint.unwrap_or_else(|| unknown(argument, nearest, words)))
        }
        (ErrorKind::ValueValidation, Some(argument)) => {
            let flag = argument.split(' ').next().unwrap_or(argument);
            let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            let value = context(ContextKind::InvalidValue).unwrap_or_default();
            // Add the value, unless the message already contains it.
            let shown = if why.contains(&format!("`{value}`")) || why.starts_with(value) {
                String::new()
            } else {
                format!(" {value}")
            };
            Failure::usage(format!("{flag}{shown}: {why}"))
        }
        (ErrorKind::TooManyValues, Some(argument)) => {
            let flag = argument.split(' ').next().unwrap_or(argument);
            let value = redact::url_text(context(ContextKind::InvalidValue).unwrap_or_default());
            Failure::usage(format!("{flag} takes no value, but has `{value}` (in a scenario, write true or false)"))
        }
        _ => Failure::usage(one_line(error)),
    }
}

/// Refuses a target without a scheme, such as `localhost:8080/file`. The message contains the complete URL.
///
/// # Errors
/// Fails if the first target has no scheme, and is a valid URL with `http://`.
pub fn check_scheme(load: &mut LoadCommand) -> Result<(), Failure> {
    let may_be_name = match load {
        LoadCommand::Get(args) => may_be_name(args),
        LoadCommand::Line(args) => may_be_name(&args.get),
        LoadCommand::Put(_) | LoadCommand::Mix(_) | LoadCommand::Fill(_) => false,
    };
    let is_search = matches!(load, LoadCommand::Line(_));
    let message = match load.urls_mut().first().map(String::as_str) {
        Some(kind @ ("put" | "mix")) if is_search => Some(format!("write `plimsoll line {kind}`, and flags after it")),
        Some(typed) if !may_be_name => with_scheme(typed),
        _ => None,
    };
    message.map_or(Ok(()), |message| Err(Failure::usage(message)))
}

/// Returns whether a target may be the name of an object or of a bucket. The plan then has a better message.
fn may_be_name(args: &get::Args) -> bool {
    args.list || args.dialect.system.is_some()
}

/// Returns the message for a target that lacks only `http://`.
fn with_scheme(typed: &str) -> Option<String> {
    // A file is more likely a list of URLs than a host.
    let is_incomplete = !typed.contains("://") && !Path::new(typed).exists();
    let url = Some(format!("http://{typed}")).filter(|url| is_incomplete && Url::parse(url).is_ok())?;
    Some(format!("`{}` has no scheme: write {}", redact::url_text(typed), redact::url_text(&url)))
}

/// Returns the message for an unknown command.
fn unknown_command(typed: &str, error: &clap::Error, parser: &clap::Command) -> String {
    let word = redact::url_text(typed);
    let proposed = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => names.as_slice(),
        _ => &[],
    };
    let near = similar_commands::nearest(typed, proposed, parser);
    let fix = if word.contains("://") {
        format!("write `plimsoll get {word}`")
    } else if ["attack", "bench", "benchmark", "load"].contains(&typed) {
        "write `plimsoll get URL`".to_owned()
    } else if near.is_empty() {
        "see `plimsoll --help` for all commands".to_owned()
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    format!("unknown command `{word}`: {fix}")
}

/// Returns the message for two flags that exclude each other. Returns `None` if the error does not name the flags.
fn conflict(error: &clap::Error) -> Option<String> {
    let name = |text: &str| text.split(' ').next().unwrap_or(text).to_owned();
    let Some(ContextValue::String(one)) = error.get(ContextKind::InvalidArg) else { return None };
    let others = match error.get(ContextKind::PriorArg)? {
        ContextValue::String(other) => vec![name(other)],
        ContextValue::Strings(others) => others.iter().map(|other| name(other)).collect(),
        _ => return None,
    };
    let (one, others) = (name(one), others.join(", "));
    if one == others {
        return Some(format!("{one} is given twice: give it once"));
    }
    Some(format!("{one} and {others} exclude each other: leave out one of them"))
}

/// Returns a hint that names the help page of the command.
fn help(words: &[OsString]) -> String {
    let command = words.get(1).and_then(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    match command {
        Some(command) => format!("see `plimsoll {command} --help-all` for all flags"),
        // Most programs of this kind have no commands.
        None if words.iter().any(|word| word.to_string_lossy().contains("://")) => {
            "write the command first: `plimsoll get` and the flags".to_owned()
        }
        None => "see `plimsoll --help` for all commands".to_owned(),
    }
}

/// Returns a hint for a negative value that looks like a flag, such as `-d -1s`. The hint shows only the part of the
/// value that clap parses as a flag.
fn negative_value(argument: &str, words: &[OsString]) -> Option<String> {
    let is_negative =
        |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let belongs_to =
        |flag: &str, value: &str| flag.starts_with('-') && !is_negative(flag) && value.starts_with(argument);
    let mut pairs = words.iter().zip(words.iter().skip(1)).filter(|_| is_negative(argument));
    let flag =
        pairs.find_map(|(flag, value)| flag.to_str().filter(|flag| belongs_to(flag, value.to_str().unwrap_or(""))))?;
    Some(format!("{flag} has the negative value `{argument}…`: leave out the minus sign"))
}

/// Returns the message for an unknown flag or an unexpected argument.
fn unknown(argument: &str, nearest: Option<&str>, words: &[OsString]) -> String {
    let help = help(words);
    if !argument.starts_with('-') && words.get(1).is_some_and(|word| word == "compare") {
        return "name the runs by flags: plimsoll compare --base BEFORE --new AFTER".to_owned();
    }
    if !argument.starts_with('-') {
        return format!("unexpected argument `{}`: {help}", redact::url_text(argument));
    }
    match nearest {
        Some(flag) => format!("unknown flag `{argument}`: did you mean {flag}? {help}"),
        None => format!("unknown flag `{argument}`: {help}"),
    }
}

/// Returns clap's message as one line, without the usage.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let wanted = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    wanted.collect::<Vec<_>>().join(" ").replacen("error: ", "", 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    /// Returns the text that the command line parser prints for the words after `plimsoll`.
    fn printed(words: &[&str]) -> String {
        let words = std::iter::once(&"plimsoll").chain(words).map(OsString::from);
        cli::parse(words).expect_err("the words are refused, or ask for help").into_message()
    }

    #[test]
    fn the_nearest_command_is_suggested() {
        for (typed, command) in [
            ("pt", "put"),
            ("gte", "get"),
            ("reprot", "report"),
            ("cmp", "compare"),
            ("serv", "serve"),
            ("genrate", "generate"),
        ] {
            let text = printed(&[typed]);
            assert!(text.ends_with(&format!(": did you mean {command}?")), "{text}");
        }
        assert!(printed(&["attack"]).ends_with("write `plimsoll get URL`"));
        assert!(printed(&["nonsense"]).ends_with("see `plimsoll --help` for all commands"));
    }

    #[test]
    fn a_target_without_a_scheme_is_shown_as_a_url() {
        for command in ["get", "put", "mix", "line", "fill"] {
            let text = printed(&[command, "127.0.0.1:18080/x"]);
            assert!(text.ends_with("has no scheme: write http://127.0.0.1:18080/x"), "{command}: {text}");
        }
        let text = printed(&["line", "--on", "rate", "put", "http://127.0.0.1:18080/x"]);
        assert_eq!(text, "write `plimsoll line put`, and flags after it");
        let text = printed(&["get", "me:CANARY@host/x"]);
        assert!(text.ends_with("write http://host/x") && !text.contains("CANARY"), "{text}");
    }

    #[test]
    fn other_targets_are_not_taken_for_urls_without_a_scheme() {
        let file = tempfile::NamedTempFile::new().expect("can create a file");
        let file = file.path().to_str().expect("the path is UTF-8").to_owned();
        for target in ["http://host/x", "s3://bucket/prefix", "ftp://host/x", "", &file] {
            assert_eq!(with_scheme(target), None, "{target}");
        }
        for words in [["a/b", "--as=piece", "-n1"], ["bucket/prefix", "--list", "-n1"]] {
            let words = ["plimsoll", "get"].into_iter().chain(words).map(OsString::from);
            assert!(cli::parse(words).is_ok(), "the plan refuses this with a better message");
        }
    }

    #[test]
    fn unknown_long_flags_get_the_hint_of_their_tool() {
        for (flag, fix) in [
            ("--u_latency", "write --full"),
            ("--warp-client", "write --hosts"),
            ("--bucket", "write s3://BUCKET/PREFIX as the target"),
            ("--no-color", "NO_COLOR=1"),
        ] {
            let text = printed(&["get", "http://127.0.0.1:9/", flag]);
            assert!(text.contains(fix), "{text}");
        }
    }
}
