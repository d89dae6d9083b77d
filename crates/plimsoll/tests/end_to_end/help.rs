//! Tests of the help texts: each page fits on a screen, and every flag is explained.

use crate::support::TestDir;

const COMMANDS: [&str; 24] = [
    "demo",
    "get",
    "put",
    "mix",
    "prepare",
    "cleanup",
    "generate",
    "owners",
    "redirects",
    "line",
    "fill",
    "run",
    "collect",
    "serve",
    "report",
    "compare",
    "merge",
    "export",
    "doctor",
    "link",
    "agent",
    "fleet",
    "schema",
    "completions",
];
const LINES: usize = 40;
const COLUMNS: usize = 110;

#[test]
fn help_fits_a_screen() {
    let place = TestDir::new();
    let pages = std::iter::once(vec!["--help"]).chain(COMMANDS.map(|command| vec![command, "--help"]));
    for words in pages {
        let ended = place.run(&words);
        ended.expect(0);
        let lines: Vec<&str> = ended.stdout.lines().collect();
        assert!((3..=LINES).contains(&lines.len()), "{words:?}: {} lines", lines.len());
        let wide: Vec<_> = lines.iter().filter(|line| line.chars().count() > COLUMNS).collect();
        assert!(wide.is_empty(), "{words:?}: {wide:?}");
        assert!(ended.stderr.is_empty(), "{words:?}: {}", ended.stderr);
    }
}

#[test]
fn every_flag_is_explained() {
    let place = TestDir::new();
    let pages = COMMANDS.iter().flat_map(|command| [vec![*command, "--help"], vec![*command, "--help-all"]]);
    let mut flags = 0;
    for words in pages.filter(|words| {
        words[1] != "--help-all"
            || ["get", "put", "mix", "prepare", "cleanup", "run", "collect", "serve"].contains(&words[0])
    }) {
        let ended = place.run(&words);
        ended.expect(0);
        let lines: Vec<&str> = ended.stdout.lines().collect();
        for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.trim_start().starts_with('-')) {
            if !line.starts_with("  ") || line.trim_start().starts_with("- ") {
                continue;
            }
            flags += 1;
            // The explanation must follow after two spaces on the same line, or be indented on the next line.
            let beside = line.trim_start().split_once("  ").is_some_and(|(_, text)| !text.trim().is_empty());
            let below =
                lines.get(number + 1).is_some_and(|next| next.starts_with("          ") && !next.trim().is_empty());
            assert!(beside || below, "{words:?}: `{line}` is not explained");
        }
    }
    assert!(flags > 60, "only {flags} flags were checked");
}

#[test]
fn every_command_is_explained() {
    let place = TestDir::new();
    let help = place.run(["--help"]).stdout;
    for command in COMMANDS {
        let line = help.lines().find(|line| line.trim_start().starts_with(command));
        let text = line.unwrap_or_else(|| panic!("no {command} in {help}")).trim_start()[command.len()..].trim();
        assert!(text.len() > 10, "{command} is not explained");
    }
    for code in ["0", "1", "2", "3", "4", "130/143"] {
        assert!(help.contains(&format!("{code} ")), "exit code {code} is not explained");
    }
}

#[test]
fn the_version_is_printed() {
    let ended = TestDir::new().run(["--version"]);
    ended.expect(0);
    assert_eq!(ended.stdout, format!("plimsoll {}\n", env!("CARGO_PKG_VERSION")));
}
