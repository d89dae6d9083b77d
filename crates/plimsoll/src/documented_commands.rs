//! Tests that the commands on documentation pages and in the files of `deploy/` are valid. The commands are not run.
//! The test parses them, and creates the plans of loads over plain HTTP.

use crate::cli::{self, Command};
use crate::failure::Failure;
use std::ffi::OsString;
use std::path::Path;

const PAGES: [(&str, &str, usize); 4] = [
    ("coming-from.md", include_str!("../../../docs/coming-from.md"), 30),
    ("deploy/kubernetes", include_str!("../../../deploy/kubernetes/README.md"), 2),
    ("fleet.md", include_str!("../../../docs/fleet.md"), 8),
    ("metrics.md", include_str!("../../../docs/metrics.md"), 1),
];

/// Returns the commands of a page: code in the text and in tables, and lines of code blocks that begin with `$`.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for line in page.lines() {
        if let Some(command) = line.trim_start().strip_prefix("$ ").filter(|command| command.starts_with("plimsoll ")) {
            commands.push(command.to_owned());
            continue;
        }
        let code = line.split('`').skip(1).step_by(2);
        let is_command =
            |code: &&str| code.starts_with("plimsoll ") && !code.ends_with(" URL") && !code.ends_with(" DIR");
        commands.extend(code.filter(is_command).map(|code| code.replace("\\|", "|")));
    }
    commands
}

/// Splits a command into words, as a shell does. Words may be in single quotes.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    for letter in command.chars() {
        match letter {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    assert!(!is_quoted, "a quote is not closed: {command}");
    words.extend(word);
    words
}

/// Checks a command. Files that it names are in `files`.
fn check(command: &str, files: &Path) -> Result<(), Failure> {
    let path = |word: String| {
        let is_file = ["urls.txt", "body.json"].contains(&word.as_str());
        if is_file { files.join(word).into_os_string() } else { OsString::from(word) }
    };
    match cli::parse(words(command).into_iter().map(path))? {
        // The plan of a load on S3 needs keys.
        Command::Load(load) if !command.contains("s3://") => load.check(),
        _ => Ok(()),
    }
}

#[test]
fn every_command_of_the_pages_is_valid() {
    let files = tempfile::tempdir().expect("can create a directory");
    std::fs::write(files.path().join("urls.txt"), "http://host/a\nhttp://host/b\n").expect("can write a file");
    std::fs::write(files.path().join("body.json"), "{}").expect("can write a file");
    for (name, page, least) in PAGES {
        let commands = commands(page);
        assert!(commands.len() >= least, "only {} commands in {name}", commands.len());
        for command in commands {
            let checked = check(&command, files.path()).map_err(Failure::into_message);
            assert!(checked.is_ok(), "{name}: {command}: {checked:?}");
        }
    }
}

/// Returns the command that a manifest for Kubernetes starts in its container of plimsoll.
fn command_of_manifest(manifest: &str) -> String {
    let lines = manifest.lines().map(str::trim).skip_while(|line| *line != "args:").skip(1);
    let words = lines.filter(|line| !line.starts_with('#')).map_while(|line| line.strip_prefix("- "));
    std::iter::once("plimsoll").chain(words).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_commands_that_are_deployed_are_valid() {
    let unit = include_str!("../../../deploy/systemd/plimsoll-agent.service");
    let unit =
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/")).expect("it starts a command");
    let agents = command_of_manifest(include_str!("../../../deploy/kubernetes/agents.yaml"));
    let command = command_of_manifest(include_str!("../../../deploy/kubernetes/command.yaml"));
    assert!(agents.ends_with(" --once") && command.contains(" --agents=3 "), "{agents}; {command}");
    for command in [unit, &agents, &command] {
        let checked = check(command, Path::new("")).map_err(Failure::into_message);
        assert!(checked.is_ok(), "{command}: {checked:?}");
    }
}

#[test]
fn words_are_split_as_by_a_shell() {
    assert_eq!(words("a  -H 'b: c' d'e f'g ''"), ["a", "-H", "b: c", "de fg", ""]);
}
