//! Messages for errors that the command line parser finds.

mod other_tools;

use crate::failure::Failure;
use crate::redact;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

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
            let word = redact::url_text(context(ContextKind::InvalidSubcommand).unwrap_or_default());
            let fix = match error.get(ContextKind::SuggestedSubcommand) {
                _ if word.contains("://") => format!("write `plimsoll get {word}`"),
                Some(ContextValue::Strings(near)) if !near.is_empty() => format!("did you mean {}?", near.join(" or ")),
                _ if ["attack", "bench", "benchmark", "load"].contains(&word.as_str()) => {
                    "write `plimsoll get URL`".to_owned()
                }
                _ => anagram(&word, &P::command()).map_or_else(
                    || "see `plimsoll --help` for all commands".to_owned(),
                    |name| format!("did you mean {name}?"),
                ),
            };
            return Failure::usage(format!("unknown command `{word}`: {fix}"));
        }
        ErrorKind::UnknownArgument | ErrorKind::ValueValidation => {
            // Clap parses the long flags of hey, such as -cpus, as short flags with a value. Another command may have a
            // flag with the name of another tool's flag.
            let is_meant = |word: &&str| !word.starts_with("--") || argument.is_some_and(|flag| word.starts_with(flag));
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

/// Returns the command that has the same letters as a word in another order, such as `get` for `gte`.
fn anagram(word: &str, parser: &clap::Command) -> Option<String> {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let found = parser.get_subcommands().map(clap::Command::get_name).find(|name| letters(name) == letters(word));
    found.map(str::to_owned)
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
        Some(command @ ("get" | "put" | "mix" | "line" | "fill")) => {
            format!("see `plimsoll {command} --help-all` for all flags")
        }
        Some(command) => format!("see `plimsoll {command} --help` for all flags"),
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
