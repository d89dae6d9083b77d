//! References to secrets: `@FILE` or `${NAME}`.

use crate::failure::Failure;
use crate::input_file;
use std::path::Path;
use wire::Credentials;

/// Replaces `@FILE` with the first line of the file, and `${NAME}` with the value of the environment variable. Such
/// references keep secrets off the command line.
pub fn expand(text: &str, flag: &str) -> Result<String, Failure> {
    match text.strip_prefix('@') {
        Some(path) => {
            let content = input_file::read_text(Path::new(path))?;
            Ok(content.lines().next().unwrap_or_default().to_owned())
        }
        None => expand_variables(text, flag),
    }
}

/// Returns user and password of a URL that the user typed, separated by a colon. Replaces `${NAME}` as [`expand`] does.
/// Do not call this function for URLs from a list, because a list of unknown origin could send secrets elsewhere.
pub fn of_url(found: &Credentials) -> Result<String, Failure> {
    expand_variables(&format!("{}:{}", found.user(), found.password()), "URL")
}

fn expand_variables(text: &str, flag: &str) -> Result<String, Failure> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) =
            after.split_once('}').ok_or_else(|| Failure::usage(format!("{flag}: `${{` has no closing `}}`")))?;
        let value = std::env::var(name)
            .map_err(|_| Failure::usage(format!("{flag}: environment variable {name} is not set")))?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = tail;
    }
    expanded.push_str(rest);
    Ok(expanded)
}
