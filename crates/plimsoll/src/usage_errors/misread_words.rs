//! Words that clap would misread. They are found before the command line is parsed.

use super::other_tools;
use crate::command::load_command::LoadCommand;
use crate::failure::Failure;
use clap::Subcommand;
use std::ffi::OsString;

/// Replaces the command `help` by `--help`, and also `--help-all` if the command has no longer list of flags.
///
/// Clap's own command `help` would print the long list of each command.
pub fn with_help_flag(mut words: Vec<OsString>, parser: &clap::Command) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    let has_long_list = command_of(&words, parser).get_arguments().any(|flag| flag.get_long() == Some("help-all"));
    let flags = words.iter_mut().take_while(|word| *word != "--");
    for word in flags.filter(|word| !has_long_list && *word == "--help-all") {
        *word = "--help".into();
    }
    words
}

/// Refuses long flags with a single dash, as in vegeta and hey.
///
/// Clap would parse such a word as short flags: `-connections 5` as `-c onnections`, and `-http2` as `-h`, which prints
/// the help. Commands that make no load are not checked, because their short flags may accept any value: in `collect`,
/// `-output` is `-o utput`.
///
/// # Errors
/// Fails with the replacement of the first such flag.
pub fn check_single_dashes(words: &[OsString], parser: &clap::Command) -> Result<(), Failure> {
    let typed: Vec<&str> =
        words.iter().take_while(|word| *word != "--").map(|word| word.to_str().unwrap_or_default()).collect();
    if !typed.get(1).is_some_and(|name| LoadCommand::has_subcommand(name)) {
        return Ok(());
    }
    let command = command_of(words, parser);
    let pairs = typed.iter().zip(typed.iter().skip(1));
    let hint = pairs
        .filter(|(previous, _)| !takes_next_word(command, previous))
        .find_map(|(_, word)| other_tools::single_dash_hint(word));
    hint.map_or(Ok(()), |hint| Err(Failure::usage(hint)))
}

/// Returns the command, or the command of a command, that the first words name.
fn command_of<'a>(words: &[OsString], parser: &'a clap::Command) -> &'a clap::Command {
    let names = words.iter().skip(1);
    let found = names.scan(parser, |command, name| {
        *command = command.find_subcommand(name)?;
        Some(*command)
    });
    found.last().unwrap_or(parser)
}

/// Returns whether a word is a flag whose value is the next word.
fn takes_next_word(command: &clap::Command, word: &str) -> bool {
    let mut flags =
        command.get_arguments().filter(|flag| flag.get_action().takes_values() && !flag.is_require_equals_set());
    if let Some(name) = word.strip_prefix("--") {
        let is_alias = |flag: &clap::Arg| flag.get_all_aliases().is_some_and(|names| names.contains(&name));
        return flags.any(|flag| flag.get_long() == Some(name) || is_alias(flag));
    }
    let Some(letters) = word.strip_prefix('-') else { return false };
    let with_value: Vec<char> = flags.filter_map(clap::Arg::get_short).collect();
    // The letters after the first flag with a value are its value, as in `-mPOST`.
    letters.find(|letter| with_value.contains(&letter)).is_some_and(|at| at + 1 == letters.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{self, Cli};
    use clap::CommandFactory;

    fn words(line: &str) -> Vec<OsString> {
        std::iter::once("plimsoll").chain(line.split_whitespace()).map(OsString::from).collect()
    }

    /// Returns the message with which a line is refused before it is parsed.
    fn refused(line: &str) -> Option<String> {
        check_single_dashes(&words(line), &Cli::command()).err().map(Failure::into_message)
    }

    #[test]
    fn long_flags_with_one_dash_are_refused() {
        for (flag, fix) in [
            ("-workers=5", "write -c N"),
            ("-max-workers=5", "write -c N"),
            ("-connections 5", "write -c N"),
            ("-timeout 5s", "write --timeout-total 30s"),
            ("-redirects 5", "write --redirects-max N, or --no-follow"),
            ("-body f", "write --body-file FILE"),
            ("-keepalive", "--no-keepalive"),
            ("-http2", "write --http2"),
            ("-cert x", "write --cert FILE"),
            ("-key x", "write --key FILE"),
            ("-rate=100", "write -R 50"),
            ("-duration=5s", "write -d 10s"),
            ("-disable-redirects", "write --no-follow"),
        ] {
            for command in ["get", "put", "mix", "line", "line put", "fill"] {
                let name = flag.split([' ', '=']).next().unwrap_or(flag);
                let text = refused(&format!("{command} http://host/ -k {flag}")).unwrap_or_default();
                assert!(text.starts_with(&format!("{name} (a flag of ")) && text.contains(fix), "{flag}: {text}");
            }
        }
    }

    #[test]
    fn short_flags_and_values_are_not_refused() {
        for line in [
            "get http://host/ -c64 -d10s -R100 -n1000 -mPOST -HHost:x -kI",
            "get http://host/ -H -rate",
            "get http://host/ -kH -rate",
            "get http://host/ --header -rate",
            "get http://host/ --connections -rate",
            "get http://host/ -- -rate",
            "get http://host/ -rates -rat --rate=5 rate",
            "line put http://host/ --out -name",
            "collect host -output",
            "-rate=5",
        ] {
            assert_eq!(refused(line), None, "{line}");
        }
        assert!(refused("get http://host/ -mPOST -rate=5").is_some(), "POST is the value of -m");
        assert!(refused("get http://host/ --json -rate=5").is_some(), "--json has no value");
    }

    #[test]
    fn help_is_also_a_command() {
        let printed = |line: &str| match cli::parse(words(line)) {
            Err(Failure::Shown(text)) => text,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(printed("help"), printed("--help"));
        assert_eq!(printed("help get"), printed("get --help"));
        assert_eq!(printed("help line put"), printed("line put --help"));
        assert_eq!(printed("help report"), printed("report --help"));
    }

    #[test]
    fn every_command_has_the_flag_help_all() {
        let parser = Cli::command();
        let names = parser.get_subcommands().map(clap::Command::get_name);
        for name in names.chain([""]) {
            let parsed = cli::parse(words(&format!("{name} --help-all")));
            assert!(matches!(&parsed, Err(Failure::Shown(text)) if text.contains("Usage:")), "{name}: {parsed:?}");
        }
        assert_eq!(with_help_flag(words("get --help-all"), &parser), words("get --help-all"));
        assert_eq!(with_help_flag(words("report --help-all"), &parser), words("report --help"));
        assert_eq!(with_help_flag(words("link 1 -- x --help-all"), &parser), words("link 1 -- x --help-all"));
    }
}
