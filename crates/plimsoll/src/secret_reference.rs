//! References to secrets: `@FILE` or `${NAME}`.

use crate::failure::Failure;
use crate::input_file;
use std::path::Path;

/// Replaces `@FILE` with the first line of the file, and `${NAME}` with the value of the environment variable. Such
/// references keep secrets off the command line.
pub fn expand(text: &str, flag: &str) -> Result<String, Failure> {
    if let Some(path) = text.strip_prefix('@') {
        let content = input_file::read_text(Path::new(path))?;
        return Ok(content.lines().next().unwrap_or_default().to_owned());
    }
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
